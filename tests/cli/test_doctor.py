import json

from paceline import versions
from paceline.cli import doctor
from paceline.doctor.ask import Answer
from paceline.doctor.report import Report, gather


def report(kind="tested", devices=None, repairs=None):
    installed = versions.Installed(
        python="3.13.0", tensorflow="2.21.0", keras="3.15.1", distributions={"tensorflow-cpu": "2.21.0"}
    )
    return Report(
        paceline="0",
        system="Linux",
        installed=installed,
        verdict=versions.Verdict(kind=kind, reason="because"),
        devices=devices or Answer(value=[{"name": "CPU:0", "type": "CPU"}]),
        repairs=repairs or Answer(value=[]),
    )


def test_a_fit_machine():
    lines = doctor.lines(report())
    assert "TensorFlow  2.21.0 (tensorflow-cpu)" in lines
    assert "devices     CPU:0" in lines


def test_active_repairs_are_listed():
    repair = {
        "name": "mean",
        "title": "scalar mean",
        "thread": "keras#1",
        "applies": "all",
        "active": True,
        "reason": "",
    }
    assert "  active  mean: scalar mean [keras#1]" in doctor.lines(report(repairs=Answer(value=[repair])))


def test_what_is_not_known_is_said():
    lines = doctor.lines(report(repairs=Answer(fault="exit code 1")))
    assert "repairs     unknown: exit code 1" in lines


def test_refused_versions_and_missing_devices_make_it_unfit():
    assert report().is_fit
    assert not report(kind="refused").is_fit
    assert not report(devices=Answer(fault="no")).is_fit


def test_the_command_prints_what_was_gathered(call, monkeypatch):
    monkeypatch.setattr(doctor, "gather", lambda environ: report(kind="refused"))
    result = call("doctor", "--json")
    assert result.code == 78
    assert json.loads(result.out)["verdict"]["kind"] == "refused"


def test_without_tensorflow_no_process_is_started(monkeypatch):
    monkeypatch.setattr(versions, "TENSORFLOW_DISTRIBUTIONS", ())
    found = gather({})
    assert found.devices.fault == "TensorFlow is not installed"
    assert not found.is_fit
