"""Runs a job on this machine: looks, plans, starts the workers, watches them, ends them."""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from paceline.launch import checkpointing, restart, rundir, streams
from paceline.launch.attempt import Attempt
from paceline.launch.facts import collect
from paceline.launch.interrupts import Interrupts
from paceline.launch.options import RunOptions
from paceline.launch.plan import JobPlan, make_plan
from paceline.launch.report import Report
from paceline.launch.screen import Screen
from paceline.launch.script import check_script

_POLL_S = 0.05
# Terminals that show the controls of a live view as letters: an editor's shell, a CI log.
_PLAIN_TERMINALS = ("", "dumb", "unknown")


def run(
    options: RunOptions,
    *,
    environ: Mapping[str, str] | None = None,
    session_module: str | None = None,
) -> int:
    """Runs a job on this machine and returns its exit code; call in the main thread.

    Args:
        options: What was asked for.
        environ: The environment that workers inherit; ``None``: this process' own.
        session_module: Stands in for ``paceline.session`` in tests.

    Raises:
        ConfigurationRefused: Before anything is started.
    """
    streams.open_missing()
    environ = dict(os.environ if environ is None else environ)
    cwd = Path.cwd()
    check_script(options.target, module=options.module, cwd=cwd)
    earlier = checkpointing.look(options, cwd)
    options = earlier.options
    seed = secrets.randbelow(2**31) if earlier.seed is None else earlier.seed
    plan = make_plan(options, collect(environ), cwd=str(cwd), drawn_seed=seed)
    plan = checkpointing.add(plan, options, earlier, cwd)
    if options.dry_run:
        _show(plan)
        return 0
    stem = options.target if options.module else Path(options.target).stem
    directory = rundir.create(options.run_dir, stem, cwd)
    rundir.write_json(directory.plan, plan.to_json())
    rundir.write_json(
        directory.decisions, {"schema": 1, "decisions": [asdict(decision) for decision in plan.decisions]}
    )
    interrupts = Interrupts()
    can_draw = environ.get("TERM", "") not in _PLAIN_TERMINALS
    screen = Screen(with_view=can_draw and not options.quiet, is_ending=lambda: interrupts.first is not None)
    report = Report(plan, directory.attempt(0), screen, quiet=options.quiet)
    report.begin(directory.path)
    checkpointing.prepare(earlier, report.note)
    began = time.monotonic()
    with interrupts:
        code = _run_attempts(
            Attempt(
                plan=plan,
                directory=directory,
                number=0,
                environ=environ,
                screen=screen,
                report=report,
                interrupts=interrupts,
                all_output=options.all_output,
                session_module=session_module,
            ),
            options.max_restarts,
        )
    report.end(code, time.monotonic() - began)
    return code


def _run_attempts(first: Attempt, max_restarts: int) -> int:
    """Runs attempts until one is the last, and returns its exit code."""
    history: list[restart.Outcome] = []
    while True:
        number = len(history)
        first.report.attempt_begins(first.directory.attempt(number))
        history.append(replace(first, number=number).run())
        choice = restart.decide(history, max_restarts)
        if choice.again:
            first.report.restarts(choice, max_restarts, first.newest_checkpoint())
            _wait(choice.wait_s, first.interrupts)
        if first.interrupts.first is not None:  # it came while the attempt ended, or before the next one
            return 128 + first.interrupts.first
        if not choice.again:
            if max_restarts and history[-1].kind not in (restart.Kind.DONE, restart.Kind.STOPPED):
                first.report.ends_for_good(choice)
            return history[-1].code


def _wait(seconds: float, interrupts: Interrupts) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0 and interrupts.first is None:
        time.sleep(min(_POLL_S, left))


def _show(plan: JobPlan) -> None:
    """Prints the plan: for people on stderr, as JSON on stdout."""
    for decision in plan.decisions:
        print(f"paceline: {decision.name}: {decision.value}  ({decision.reason})", file=sys.stderr)
    print(json.dumps(plan.to_json(), indent=2, ensure_ascii=False))
