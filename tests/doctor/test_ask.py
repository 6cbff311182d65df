import os

from paceline import versions
from paceline.doctor.ask import ask
from paceline.doctor.report import gather


def test_the_last_line_is_the_answer():
    assert ask(["-c", "print('noise'); print('[1]')"], os.environ).value == [1]


def test_no_answer_is_a_fault_that_names_the_reason():
    assert ask(["-c", "import sys; sys.exit('broken')"], os.environ).fault == "exit code 1: broken"
    assert ask(["-c", "print('no json')"], os.environ).fault == "exit code 0"
    assert ask(["-c", ""], os.environ).fault == "exit code 0"


def test_no_answer_in_time_is_a_fault():
    assert "0.2 s" in ask(["-c", "import time; time.sleep(60)"], os.environ, limit_s=0.2).fault


def test_the_devices_of_this_machine_are_those_that_tensorflow_sees():
    found = gather(os.environ)
    if versions.installed().tensorflow is None:
        assert found.devices.fault
    else:
        assert any(device["type"] == "CPU" for device in found.devices.value)
