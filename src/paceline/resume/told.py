"""What a person is told about fits that go on."""

from __future__ import annotations

from paceline.resume.fits import Fit
from paceline.training import decisions


def what_is_not_exact(fit: Fit) -> None:
    """Says at its begin what of a fit may not come back as it was. Collective: no."""
    training = fit.training
    if training is not None and training.calls_python and training.kind != "PyDataset":
        decisions.tell(
            f"{fit.model.name}: its data ({training.kind}) call Python. After an interruption they are read again up "
            "to their place, and compared; where they give something else (the time, a generator that nobody seeds), "
            "the epoch is begun again"
        )


def another_number(before: int, now: int) -> None:
    """Says what differs where a checkpoint was written by another number of workers. Collective: no."""
    if before != now:
        wrote = "1 worker" if before == 1 else f"{before} workers"
        there_are = "there is 1" if now == 1 else f"there are {now}"
        decisions.tell(
            f"the checkpoint was written by {wrote}, now {there_are}: weights, optimizer, order of the data and "
            "learning rate are the same; dropout strikes other places, and sums are rounded differently"
        )


def goes_on(fit: Fit, where: str) -> str:
    """Returns where a fit goes on."""
    assert fit.saved is not None  # noqa: S101  for mypy
    epoch, place = fit.saved.meta["epoch"] + 1, fit.saved.meta["place"]
    return (
        f"{fit.model.name}: fit {fit.number} goes on from step {fit.saved.step} (epoch {epoch}, after {place} of its "
        f"steps), from {where}"
    )


def different_data(fit: Fit, older: int | None) -> str:
    """Returns what becomes of a fit whose data did not come back.

    Args:
        fit: It.
        older: The job step of the checkpoint that it goes on from instead.
    """
    assert fit.saved is not None  # noqa: S101  for mypy
    kind = fit.training.kind if fit.training is not None else ""
    begin = f"the data ({kind}) did not come back as they were before the checkpoint of step {fit.saved.step}: "
    if older is None:
        return begin + "training goes on from there with what they give now; some samples may come twice or never"
    return begin + f"the epoch is begun again, from step {older}"
