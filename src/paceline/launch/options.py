"""What a person asked for: the options of ``paceline run`` as one frozen value."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal, get_args

from paceline.cluster.local import DEVICES_VARIABLE
from paceline.errors import ConfigurationRefused, UsageError
from paceline.step_options import StepOptions
from paceline.tuning.ring import RingTuning

StrategyName = Literal["auto", "one-device", "mirrored", "multi-worker", "parameter-server", "tpu"]

STRATEGIES: tuple[str, ...] = get_args(StrategyName)
NOT_YET = ("parameter-server", "tpu")
ONE_PROCESS = ("one-device", "mirrored")
"""Strategies that are one process by their nature."""

MAX_SEED = 2**32 - 1  # Source: numpy.random.seed, which keras.utils.set_random_seed calls
OURS_ALONE = ("TF_CONFIG", "PACELINE_JOB", "PACELINE_RANK", DEVICES_VARIABLE)
"""Variables that the launcher sets itself in every worker."""

CHECKPOINT_WRITERS = ("one", "sharded")

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_DEVICE = re.compile(r"([0-9]{1,4}|(GPU|MIG)-[A-Za-z0-9/-]+)\Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOptions:
    """What ``paceline run`` was asked for; ``None`` means: decide.

    Attributes:
        target: Path of the script, or name of the module.
        module: Whether ``target`` is a module (``-m``).
        script_args: What the script finds in ``sys.argv[1:]``.
        workers: Number of processes of the whole job.
        strategy: One of ``STRATEGIES``.
        replicas_per_worker: Copies of the model in one process.
        devices: GPU ids that the job may use; empty: none, None: all that are visible.
        run_dir: Folder of the run, or None for a new one under ``runs/``.
        seed: Seed of the job, 0 to 2**32 - 1.
        env: Variables that each worker gets in addition.
        dry_run: Whether to show the plan and start nothing.
        verbose_communication: Whether workers log what their collectives do.
        communication: How replicas are summed; see ``StepOptions``, as for the next three.
        wire_dtype: What gradients travel as between workers.
        bucket_mb: Size of the pieces that gradients are summed in; 0: one piece.
        jit: Whether XLA compiles the step.
        start_timeout_s: How long workers may take to meet.
        grace_s: Time between SIGTERM and SIGKILL, which the script has for its handlers and ``finally`` blocks.
        all_output: Whether the output of every worker is shown, not the chief's alone.
        quiet: Whether only the chief's own output is shown, and no live view.
        checkpoint_dir: Where checkpoints are kept, or None for a folder of the run, if they are at all.
        checkpoint_every: How often: ``("auto", 0)``, ``("steps", n)`` or ``("seconds", s)``.
        keep_checkpoints: How many of the newest stay.
        keep_every_s: Of the older ones one in so many seconds stays too.
        checkpoint_writers: One of ``CHECKPOINT_WRITERS``.
        resume: ``auto``, ``never``, or the directory of an earlier run.
        max_restarts: How often the job is started again where that may help.
        stall_timeout_s: How long no worker may come further, or None: learned from how long steps take.
        ring: How RING moves a buffer, where ``paceline tune`` measures it.
    """

    target: str
    module: bool = False
    script_args: tuple[str, ...] = ()
    workers: int | None = None
    strategy: str = "auto"
    replicas_per_worker: int | None = None
    devices: tuple[str, ...] | None = None
    run_dir: str | None = None
    seed: int | None = None
    env: tuple[tuple[str, str], ...] = ()
    dry_run: bool = False
    verbose_communication: bool = False
    communication: str = "auto"
    wire_dtype: str = "float32"
    bucket_mb: float = 0.0
    jit: str = "auto"
    start_timeout_s: float = 300.0
    grace_s: float = 30.0
    all_output: bool = False
    quiet: bool = False
    checkpoint_dir: str | None = None
    checkpoint_every: tuple[str, float] | None = None
    keep_checkpoints: int = 3
    keep_every_s: float | None = None
    checkpoint_writers: str = "one"
    resume: str = "auto"
    max_restarts: int = 0
    stall_timeout_s: float | None = None
    ring: RingTuning | None = None

    @property
    def has_checkpoints(self) -> bool:
        """Whether checkpoints are taken."""
        asked = self.checkpoint_dir is not None or self.checkpoint_every is not None or self.max_restarts > 0
        return asked or self.resume not in ("auto", "never")

    @property
    def step(self) -> StepOptions:
        """What was chosen about a step."""
        return StepOptions(
            communication=self.communication, wire_dtype=self.wire_dtype, bucket_mb=self.bucket_mb, jit=self.jit
        )

    def __post_init__(self) -> None:
        _ = self.step  # refuses bad values
        self._check_numbers()
        self._check_words()
        self._check_checkpoints()
        self._check_devices()
        self._check_env()
        self._check_together()

    def _check_numbers(self) -> None:
        if self.workers is not None and self.workers < 1:
            _usage("a job needs at least one worker", f"--workers {self.workers}", "1 or more", "--workers 1")
        if self.replicas_per_worker is not None and self.replicas_per_worker < 1:
            got = f"--replicas-per-worker {self.replicas_per_worker}"
            _usage("a worker needs at least one replica", got, "1 or more", "--replicas-per-worker 1")
        if self.seed is not None and not 0 <= self.seed <= MAX_SEED:
            _usage("the seed is out of range", f"--seed {self.seed}", f"0 to {MAX_SEED}", "--seed 1")
        if not (math.isfinite(self.start_timeout_s) and self.start_timeout_s > 0):
            got = f"--start-timeout {self.start_timeout_s}"
            _usage("nothing waits forever, and nothing starts in no time", got, "more than 0 s", "--start-timeout 5m")
        if self.max_restarts < 0:
            _usage(
                "no job is started again so often",
                f"--max-restarts {self.max_restarts}",
                "0 or more",
                "--max-restarts 3",
            )
        if self.stall_timeout_s is not None and not (math.isfinite(self.stall_timeout_s) and self.stall_timeout_s > 0):
            got = f"--stall-timeout {self.stall_timeout_s:g}"
            _usage("every worker stands still for a moment", got, "more than 0 s, or auto", "--stall-timeout auto")
        if not (math.isfinite(self.grace_s) and self.grace_s >= 0):
            _usage("the grace time is no time", f"--grace {self.grace_s}", "0 s or more", "--grace 30s")

    def _check_words(self) -> None:
        if not self.target:
            _usage("there is nothing to run", "an empty name", "a script or -m MODULE", "paceline run train.py")
        if self.run_dir is not None and not self.run_dir.strip():
            _usage("the run directory has no name", f"--run-dir {self.run_dir!r}", "a folder", "--run-dir runs/first")
        if self.strategy not in STRATEGIES:
            _usage("a strategy is not known", f"--strategy {self.strategy}", " | ".join(STRATEGIES), "--strategy auto")
        if self.all_output and self.quiet:
            got, expected = "--all-output --quiet", "one of the two"
            _usage("all output and quiet contradict each other", got, expected, "leave out --quiet")

    def _check_checkpoints(self) -> None:
        kind, number = self.checkpoint_every or ("auto", 0)
        if kind != "auto" and not (math.isfinite(number) and number > 0):
            got = f"--checkpoint-every {number:g}{'steps' if kind == 'steps' else 's'}"
            _usage("checkpoints are so often that nothing is trained", got, "more than 0", "--checkpoint-every auto")
        if self.keep_checkpoints < 1:
            got = f"--keep-checkpoints {self.keep_checkpoints}"
            _usage("the newest checkpoint has to stay", got, "1 or more", "--keep-checkpoints 3")
        if self.keep_every_s is not None and not (math.isfinite(self.keep_every_s) and self.keep_every_s > 0):
            got = f"--keep-every {self.keep_every_s:g}s"
            _usage("no checkpoint is that often", got, "more than 0 s", "--keep-every 1h")
        if self.checkpoint_writers not in CHECKPOINT_WRITERS:
            got = f"--checkpoint-writers {self.checkpoint_writers}"
            _usage("nobody writes checkpoints so", got, " | ".join(CHECKPOINT_WRITERS), "--checkpoint-writers one")
        for name, text in (("--checkpoint-dir", self.checkpoint_dir), ("--resume", self.resume)):
            if text is not None and not text.strip():
                _usage("a directory has no name", f"{name} ''", "a directory", f"{name} ckpt")

    def _check_devices(self) -> None:
        devices = self.devices or ()
        got = f"--devices {','.join(devices)}"
        for device in devices:
            if not _DEVICE.match(device):
                expected = "GPU ids as nvidia-smi -L shows them, as in 0,1 or GPU-8f3c..."
                _usage("a device is not a GPU id", f"{got} ({device!r})", expected, "--devices 0,1")
        if len(set(devices)) != len(devices):
            _usage("a device is given twice", got, "each GPU once", f"--devices {','.join(dict.fromkeys(devices))}")

    def _check_env(self) -> None:
        for name, value in self.env:
            got = f"--env {name}={value}"
            if not _ENV_NAME.match(name) or "\0" in value:
                _usage("a variable cannot be set", got, "NAME=VALUE", "--env MY_NAME=value")
            if name in OURS_ALONE:
                raise ConfigurationRefused(
                    f"{name} is set by paceline itself, for each worker",
                    got=got,
                    expected="another variable",
                    fix=f"--devices {value or repr('')}" if name == DEVICES_VARIABLE else f"leave out --env {name}=...",
                )

    def _check_together(self) -> None:
        if self.strategy in NOT_YET:
            raise ConfigurationRefused(
                f"the strategy {self.strategy} is not there yet; it comes with a later version",
                got=f"--strategy {self.strategy}",
                expected=" | ".join(name for name in STRATEGIES if name not in NOT_YET),
                fix="--strategy multi-worker",
            )
        if self.strategy in ONE_PROCESS and (self.workers or 1) > 1:
            raise ConfigurationRefused(
                f"the strategy {self.strategy} is one process",
                got=f"--strategy {self.strategy} --workers {self.workers}",
                expected="one worker, or a strategy for several",
                fix=f"--strategy multi-worker --workers {self.workers}",
            )
        workers, replicas = self.workers or 1, self.replicas_per_worker or 1
        if self.strategy == "one-device" and replicas > 1:
            raise ConfigurationRefused(
                "one device holds one replica",
                got=f"--strategy one-device --replicas-per-worker {replicas}",
                expected="one replica, or a strategy for several",
                fix=f"--strategy mirrored --replicas-per-worker {replicas}",
            )
        if workers > 1 and replicas > 1:
            raise ConfigurationRefused(
                "each of several workers has one replica",
                got=f"--workers {workers} --replicas-per-worker {replicas}",
                expected="several workers of one replica, or one worker of several",
                fix=f"--workers {workers * replicas}, or --workers 1 --replicas-per-worker {workers * replicas}",
            )


def _usage(what: str, got: str, expected: str, fix: str) -> None:
    raise UsageError(what, got=got, expected=expected, fix=fix)
