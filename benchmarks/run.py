"""Measures, prints the tables, and writes them to docs/benchmarks.md.

    python benchmarks/run.py [mlp|cnn|wide|memory|start|sweep|all] [--rounds N]

Wants an otherwise idle machine with at least two cores, and the extras `cpu` and `bench`, jax and tf_keras.
"""

from __future__ import annotations

import argparse
import importlib
import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import machine, plot, report, sweep
from benchmarks.contest import Series, Settings

#: Order of the page; each is a module with TITLE, `measure(settings)` and `render(series, extra)`.
NAMES = ("mlp", "cnn", "wide", "memory", "start", "sweep")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs what was asked for; 1 if a contestant failed."""
    arguments = _parser().parse_args(argv)
    names = NAMES if arguments.what == "all" else (arguments.what,)
    folder = ROOT / "build" / "benchmarks" if arguments.quick else ROOT
    results, page = folder / "benchmarks" / "results", folder / "docs" / "benchmarks.md"
    for path in (results, page.parent):
        path.mkdir(parents=True, exist_ok=True)
    if not arguments.render_only:
        settings = Settings(
            rounds=1 if arguments.quick else arguments.rounds,
            quick=arguments.quick,
            paceline_options=tuple(shlex.split(arguments.paceline_options)),
            has_jit=_knows_jit(),
        )
        facts = machine.facts()
        for name in names:
            print(f"{name}: {_module(name).TITLE}", flush=True)
            _measure(name, settings, facts, results / f"{name}.json")
            _write([name], results, page)
    failed = _write(names, results, page, show=True)
    print(f"written to {page.relative_to(ROOT)}")
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="all", choices=[*NAMES, "all"])
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="how often each contestant runs (default 5)")
    parser.add_argument("--quick", action="store_true", help="prove that everything runs; writes into build/ only")
    parser.add_argument("--paceline-options", default="", metavar="WORDS", help="more options for `paceline run`")
    parser.add_argument("--render-only", action="store_true", help="make the page again from stored results")
    return parser


def _module(name: str) -> Any:
    return importlib.import_module(f"benchmarks.{name}")


def _measure(name: str, settings: Settings, facts: dict[str, Any], path: Path) -> None:
    """Measures one benchmark and stores every round's numbers."""
    words = ["python", "benchmarks/run.py", name, "--rounds", str(settings.rounds)]
    if settings.quick:
        words.append("--quick")
    if settings.paceline_options:
        words += ["--paceline-options", shlex.join(settings.paceline_options)]
    series = _module(name).measure(settings)
    data = {
        "machine": facts,
        "command": shlex.join(words),
        "rounds": max(len(mine.values) for mine in series.values()),
        "series": {key: mine.to_json() for key, mine in series.items()},
    }
    path.write_text(report.compact_json(data), encoding="utf-8")


def _write(names: Sequence[str], results: Path, page: Path, *, show: bool = False) -> bool:
    """Puts the stored results of `names` into the page and returns whether a contestant failed in one of them."""
    sections, failed = {}, False
    for name in names:
        path = results / f"{name}.json"
        if not path.exists():
            continue
        data = json.loads(path.read_text(encoding="utf-8"))
        series = {key: Series(**mine) for key, mine in data["series"].items()}
        extra = {"plot": name == "sweep" and plot.draw(series, page.parent / sweep.PLOT)}
        sections[name] = report.section(_module(name).TITLE, _module(name).render(series, extra), data)
        failed |= any(mine.state() for mine in series.values())
        if show:
            print(f"\n{sections[name]}")
    existing = page.read_text(encoding="utf-8") if page.exists() else ""
    titles = {name: _module(name).TITLE for name in NAMES}
    page.write_text(report.merge(existing, sections, titles), encoding="utf-8")
    return failed


def _knows_jit() -> bool:
    """Returns whether the installed paceline has `--jit`."""
    answer = subprocess.run(
        [sys.executable, "-m", "paceline", "run", "--help"], capture_output=True, text=True, check=False
    )
    return "--jit" in answer.stdout


if __name__ == "__main__":
    raise SystemExit(main())
