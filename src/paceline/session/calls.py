"""Do all workers make the same calls in the same order? Each collective's place among them, in a number.

Workers that do the same enter their n-th collective at the same place: in the same of Keras' calls, inside the same
others, after as many before. A call is counted when it first enters a collective: what one worker does by itself
changes nothing. So two numbers of the same n that are not equal mean that some worker makes a call that others do not,
however early or late each of them comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from paceline.errors import ScriptRefused

if TYPE_CHECKING:
    from paceline.collectives.transport import Exchange

#: The parts of a number, from its last bit: bits of each. Together 63: the page holds signed numbers.
_PLACE_BITS, _SIZE_BITS, _EXCHANGE_BITS, _CALL_BITS, _COUNT_BITS = 24, 12, 3, 3, 12
_SHOWN_CALLS = 4
_PLACES = 1 << _PLACE_BITS
_CALLS = ("", "fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch")
_EXCHANGES: tuple[Exchange, ...] = ("step", "sum", "broadcast", "rows", "bytes", "barrier")
_IN_WORDS = {"rows": "gathering of rows", "bytes": "gathering"}
#: A prime near to the most that the size's bits hold: sizes of tensors are multiples of powers of two.
_SIZES = 4093
#: So many collectives behind, a peer is not compared any more; it would be only where steps exchange nothing.
_KEPT = 1024


class Calls:
    """The calls that this worker is in, and the numbers of its last collectives."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._counted = 0  # how many of the open calls are
        self._count = 0
        self._place = 0
        self._where = 0  # the upper part of a number, of the calls
        self._kept = [0] * _KEPT

    def begins(self, name: str) -> None:
        """Notes that one of Keras' calls begins."""
        self._open.append(name)

    def ends(self) -> None:
        """Notes that the call that began last has ended."""
        self._open.pop()
        self._counted = min(self._counted, len(self._open))
        self._where = self._packed()

    def enters(self, what: Exchange, size: int = 0) -> int:
        """Returns the number of the collective that is entered now."""
        if self._counted < len(self._open):
            self._count += len(self._open) - self._counted
            self._counted = len(self._open)
            self._where = self._packed()
        self._place += 1
        number = self._where << _EXCHANGE_BITS | _EXCHANGES.index(what)
        number = number << _SIZE_BITS | size % _SIZES
        number = number << _PLACE_BITS | self._place % _PLACES
        self._kept[self._place % _KEPT] = number
        return number

    def _packed(self) -> int:
        number = self._count % (1 << _COUNT_BITS)
        for name in [*[""] * _SHOWN_CALLS, *self._open][-_SHOWN_CALLS:]:
            number = number << _CALL_BITS | _CALLS.index(name)
        return number

    @property
    def last(self) -> int:
        """The number of the collective that was entered last; 0: none was."""
        return self._kept[self._place % _KEPT]

    def has_come(self, theirs: int) -> bool:
        """Returns whether a peer has entered as many collectives as this worker."""
        return (theirs - self._place) % _PLACES < _PLACES // 2

    def contradict(self, theirs: int) -> bool:
        """Returns whether a peer has entered another collective where this worker has entered its own."""
        mine = self._kept[theirs % _PLACES % _KEPT]
        return mine != theirs and mine % _PLACES == theirs % _PLACES


def refusal(numbers: Mapping[int, int]) -> ScriptRefused:
    """Returns the error for workers that have entered different collectives.

    Args:
        numbers: What each worker has entered last, by rank.
    """
    calls = {rank: _calls_of(number) for rank, number in numbers.items()}
    if len(set(calls.values())) > 1:
        return ScriptRefused(
            "The workers are in different calls, and each waits for the others in its own.",
            got=_by_worker(calls),
            expected="every worker makes each call of fit, evaluate, predict and their like, in the same order",
            fix="take the call out of the branch on the worker's rank, and only print or write there: "
            "if paceline.is_chief(): print(result)",
        )
    points = {rank: f"{calls[rank]} (call {_count_of(number)})" for rank, number in numbers.items()}
    if len(set(points.values())) == 1:
        points = {rank: f"{calls[rank]} (its next {_exchange_of(number)})" for rank, number in numbers.items()}
    alike = len(set(points.values())) == 1
    return ScriptRefused(
        "The workers have come to different points of their calls, and each waits for the others at its own.",
        got=_by_worker(points) + (", of different sizes" if alike else ""),
        expected="the same calls with as many epochs and steps, and callbacks that do the same on every worker",
        fix="let no argument, no callback and no number of batches depend on the worker's rank",
    )


def _by_worker(texts: Mapping[int, str]) -> str:
    """Returns who is where.

    >>> _by_worker({0: "predict", 1: "fit", 2: "fit"})
    'predict in worker 0, fit in workers 1 and 2'
    """
    ranks: dict[str, list[str]] = {}
    for rank in sorted(texts):
        ranks.setdefault(texts[rank], []).append(str(rank))
    return ", ".join(
        f"{text} in worker{'s' if who[1:] else ''} {' and '.join(filter(None, [', '.join(who[:-1]), who[-1]]))}"
        for text, who in ranks.items()
    )


def _calls_of(number: int) -> str:
    """Returns the calls that a number was given in, the innermost first."""
    number >>= _PLACE_BITS + _SIZE_BITS + _EXCHANGE_BITS
    names = [_CALLS[min(number >> _CALL_BITS * i & 7, len(_CALLS) - 1)] for i in range(_SHOWN_CALLS)]
    return " inside ".join(filter(None, names)) or "the script's own code"


def _count_of(number: int) -> int:
    return number >> _PLACE_BITS + _SIZE_BITS + _EXCHANGE_BITS + _CALL_BITS * _SHOWN_CALLS


def _exchange_of(number: int) -> str:
    what = _EXCHANGES[min(number >> _PLACE_BITS + _SIZE_BITS & 7, len(_EXCHANGES) - 1)]
    return _IN_WORDS.get(what, what)
