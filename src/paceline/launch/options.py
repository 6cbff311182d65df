"""What a person asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What ``paceline run`` was asked for; ``None`` means: decide."""

    target: str
    module: bool = False
    script_args: tuple[str, ...] = ()
    workers: int | None = None
    strategy: str = "auto"
    replicas_per_worker: int = 1
    devices: tuple[str, ...] | None = None
    run_dir: str | None = None
    seed: int | None = None
    env: tuple[tuple[str, str], ...] = ()
    dry_run: bool = False
    verbose_communication: bool = False
    communication: str = "auto"
    start_timeout_s: float = 300.0
    grace_s: float = 30.0
    all_output: bool = False
    quiet: bool = False
