"""What a script can ask: the strategy, its rank, whether it is the chief."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from paceline.session import chosen
from paceline.step_options import BETWEEN_PROCESSES, IN_ONE_PROCESS, StepOptions


@dataclass(frozen=True, kw_only=True)
class State:
    """This process's place in its job.

    Attributes:
        strategy: The job's strategy.
        rank: This worker's rank.
        num_workers: Number of workers.
        asked: Step options that the command line gave.
        transport: How tensors are summed over workers.
        has_options: Whether the script has given step options.
    """

    strategy: Any
    rank: int
    num_workers: int
    asked: StepOptions = field(default_factory=StepOptions)
    transport: str = "none"
    has_options: bool = False


_current: list[State] = []


def enter(state: State) -> None:
    """Says what this process is. Once, before the script."""
    _current[:] = [state]


def current() -> State | None:
    """Returns this process's place in its job, None outside of one."""
    return _current[0] if _current else None


def strategy(options: StepOptions | None = None) -> Any:
    """Returns the job's strategy, a `tf.distribute.Strategy`; without a job, one over this process's devices.

    Called by every worker, with the same options. Collective: no.

    Args:
        options: How steps compute and communicate from now on. What `paceline run` was given wins, and
            the communication of a job is fixed when it starts; what is without effect is said.

    Raises:
        UsageError: The options are no `StepOptions`.
    """
    if options is not None:
        chosen.check_type(options)
    if not _current:
        from paceline.session.alone import start_alone

        enter(start_alone(options or StepOptions()))
    if options is not None:
        enter(_with_options(_current[0], options))
    return _current[0].strategy


def _with_options(state: State, options: StepOptions) -> State:
    """Puts a script's options in place, says what of them is without effect, and returns the new state."""
    from paceline.training.decisions import tell

    extended = state.strategy.extended
    before: StepOptions = extended.step_options
    running: str
    choices: tuple[str, ...]
    if state.num_workers > 1:
        running, choices = state.transport, BETWEEN_PROCESSES
    elif state.strategy.num_replicas_in_sync > 1:
        running, choices = before.communication, IN_ONE_PROCESS
    else:
        running, choices = "none", ()
    after, told = chosen.settle(state.asked, options, before, running=running, choices=choices)
    if state.has_options:
        told.append(chosen.describe_change(before, after))
    extended.step_options = after
    for line in filter(None, told):
        tell(line)
    return replace(state, has_options=True)


def rank() -> int:
    """Returns this worker's rank, 0 without a job. Collective: no."""
    return _current[0].rank if _current else 0


def num_workers() -> int:
    """Returns the number of workers of the job, 1 without one. Collective: no."""
    return _current[0].num_workers if _current else 1


def is_chief() -> bool:
    """Returns whether this worker is the one that writes files of the script's own. Collective: no.

    A plain `open(path, "w")` in a script runs on every worker; put it under `if paceline.is_chief():`.
    """
    return rank() == 0
