"""``paceline doctor``: say whether this machine is fit to train."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from paceline.doctor.report import Report, gather
from paceline.errors import EXIT_REFUSED


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(*, as_json: bool) -> int:
    """Say whether this machine is fit to train: versions, devices, active repairs.

    Ends with 78 where training would be refused, else with 0.
    """
    report = gather(os.environ)
    click.echo(json.dumps(report.as_dict(), indent=2) if as_json else "\n".join(lines(report)))
    return 0 if report.is_fit else EXIT_REFUSED


def lines(report: Report) -> list[str]:
    """Returns the report for a person."""
    installed, verdict = report.installed, report.verdict
    text = [
        f"paceline    {report.paceline}",
        f"system      {report.system}",
        f"Python      {installed.python}",
        f"TensorFlow  {_distributions(report)}",
        f"Keras       {installed.keras or 'not installed'}",
        f"verdict     {verdict.kind}: {verdict.reason}",
    ]
    if verdict.fix:
        text.append(f"  {'fix:':<10}{verdict.fix}")
    if len(installed.distributions) > 1:
        text.append("warning     several TensorFlow distributions write into one folder; keep one of them")
    return [*text, *_devices(report), *_repairs(report)]


def _distributions(report: Report) -> str:
    found = report.installed.distributions
    return ", ".join(f"{version} ({name})" for name, version in found.items()) or "not installed"


def _devices(report: Report) -> list[str]:
    if report.devices.fault:
        return [f"devices     unknown: {report.devices.fault}"]
    return [f"devices     {', '.join(str(device['name']) for device in report.devices.value) or 'none'}"]


def _repairs(report: Report) -> list[str]:
    if report.repairs.fault:
        return [f"repairs     unknown: {report.repairs.fault}"]
    return ["repairs", *(f"  {_repair(repair)}" for repair in report.repairs.value)]


def _repair(repair: dict[str, Any]) -> str:
    state = "active" if repair.get("active") else "idle"
    reason = f" ({repair['reason']})" if repair.get("reason") else ""
    return f"{state:<8}{repair.get('name')}: {repair.get('title')} [{repair.get('thread')}]{reason}"
