"""N replicas compute what one device computes, and all hold the same bits.

Every case of `cases.TABLE` runs in every gang of `gangs.GANGS` that takes it; `plain` is
Keras by itself, without paceline, and is what the others are compared with.

Tolerance. A sum of n float32 numbers has a relative error of about `sqrt(n) * 2**-24`
(6e-8), and N replicas add the same numbers in another order. A step passes on the
differences of the one before; measured over the table's steps (4 to 24 of them) they stay
below 1e-6 on values of order 1. A case's `rtol` and `atol` (`cases.table.Case`) leave a factor
of about ten. What is wrong by a weight, a row or a factor is wrong by 1e-3 and more.
A case with another tolerance says why beside it.
"""

from __future__ import annotations

import numpy as np
import pytest
from cases import TABLE, Case
from gangs import GANGS, Gang, Result

#: The first test that asks for a gang waits for all of its cases.
pytestmark = pytest.mark.timeout(2400)

PLAIN, ONE, *MORE_THAN_ONE = GANGS


def takes(gang: Gang, case: Case) -> bool:
    return gang.whole or gang.name in case.on or (gang.core and "core" in case.on)


def pairs(gangs: list[Gang], kind: str, condition=lambda case: True):
    found = []
    for gang in gangs:
        for case in TABLE:
            if not condition(case):
                continue
            marks = [pytest.mark.support(feature=case.feature, strategy=gang.strategy, transport=gang.transport)]
            reason = case.known.get(f"{gang.name} {kind}") or case.known.get(f"* {kind}")
            if reason and gang.name != "one":
                marks.append(pytest.mark.xfail(reason=reason, strict=True))
            if case.newest_only:
                marks.append(pytest.mark.newest_only)
            if not takes(gang, case):
                marks.append(pytest.mark.every_gang)
            if "core" not in case.on or gang.name not in ("one", "two"):
                # The oldest tested versions run the core of the table, on one worker and on two.
                marks.append(pytest.mark.whole_table)
            found.append(pytest.param(gang, case, id=f"{gang.name}-{case.name}", marks=marks))
    return found


def results_of(gangs, gang: Gang, case: Case) -> list[Result]:
    results = [gangs[gang.name].result(case.name, rank) for rank in range(gang.workers)]
    for rank, result in enumerate(results):
        assert result.error is None, f"worker {rank} of {gang.name}:\n{(result.error or {})['traceback']}"
    return results


def same_bits(first, other) -> bool:
    return np.array_equal(first, other, equal_nan=first.dtype.kind == "f")


@pytest.mark.parametrize(("gang", "case"), pairs(MORE_THAN_ONE, "alike", lambda case: not case.raises))
def test_all_workers_hold_the_same_bits(gangs, gang, case):
    first, *others = results_of(gangs, gang, case)
    for other in others:
        assert list(other.arrays) == list(first.arrays)
        different = [n for n, a in first.arrays.items() if not same_bits(a, other.arrays[n])]
        assert not different
    assert all(a.all() for name, a in first.arrays.items() if name.endswith("/exact"))
    copies = {name: a for name, a in first.arrays.items() if name.startswith("variable/")}
    replicas = 2 if gang.strategy == "mirrored" else 1
    assert not [n for n, a in copies.items() if a.shape[0] not in {1, replicas}]
    assert not [n for n, a in copies.items() if not all(same_bits(a[0], c) for c in a)]


def far_from(plain: Result, result: Result, case: Case) -> dict[str, str]:
    """Returns what is further from the reference than the tolerance, by name."""
    mine, far = result.arrays, {}
    far |= {name: "is missing" for name in plain.arrays if name not in mine}
    far |= {name: "is too much" for name in mine if name not in plain.arrays}
    for name, right in plain.arrays.items():
        if name in far:
            continue
        got = mine[name][:1] if name.startswith("variable/") else mine[name]
        if got.shape != right.shape:
            far[name] = f"shape {got.shape}, should be {right.shape}"
        elif right.dtype.kind == "f":
            if not np.allclose(got, right, rtol=case.rtol, atol=case.atol, equal_nan=True):
                far[name] = f"{np.ravel(got)[:6]}, should be {np.ravel(right)[:6]}"
        elif not np.array_equal(got, right):
            far[name] = f"{np.ravel(got)[:6]}, should be {np.ravel(right)[:6]}"
    return far


@pytest.mark.parametrize(
    ("gang", "case"), pairs(MORE_THAN_ONE, "values", lambda case: case.like_one_device and not case.raises)
)
def test_it_is_what_one_device_computes(gangs, gang, case):
    result = results_of(gangs, gang, case)[0]
    assert all(a.all() for name, a in result.arrays.items() if name.endswith("/exact"))
    reference = ONE if case.stock_is_wrong else PLAIN
    far = far_from(results_of(gangs, reference, case)[0], result, case)
    assert not far, "\n".join(f"{name}: {text}" for name, text in far.items())


@pytest.mark.parametrize(("gang", "case"), pairs([ONE], "values", lambda case: not case.stock_is_wrong))
def test_one_worker_is_plain_keras(gangs, gang, case):
    # Also what replicas change or are refused for: one replica has none of that.
    result = results_of(gangs, gang, case)[0]
    assert all(a.all() for name, a in result.arrays.items() if name.endswith("/exact"))
    far = far_from(results_of(gangs, PLAIN, case)[0], result, case)
    assert not far, "\n".join(f"{name}: {text}" for name, text in far.items())


@pytest.mark.parametrize(("gang", "case"), pairs([ONE], "values", lambda case: bool(case.stock_is_wrong)))
def test_one_worker_is_right_where_plain_keras_is_wrong(gangs, gang, case):
    result = results_of(gangs, gang, case)[0]
    assert all(a.all() for name, a in result.arrays.items() if name.endswith("/exact"))
    plain = gangs["plain"].result(case.name)
    # Fails once Keras is mended: then it is the reference.
    assert plain.error is not None or far_from(plain, result, case), case.stock_is_wrong


@pytest.mark.parametrize(("gang", "case"), pairs(MORE_THAN_ONE, "refused", lambda case: bool(case.raises)))
def test_every_worker_is_refused(gangs, gang, case):
    for rank in range(gang.workers):
        error = gangs[gang.name].result(case.name, rank).error
        assert error is not None
        assert case.raises in error["text"]


@pytest.mark.parametrize(
    ("gang", "case"), pairs(MORE_THAN_ONE, "alike", lambda case: case.name == "dropout_masks_differ")
)
def test_replicas_draw_different_dropout_masks(gangs, gang, case):
    arrays = results_of(gangs, gang, case)[0].arrays
    masks = next(a for name, a in arrays.items() if name.endswith("masks"))[0]
    seen = [tuple(mask) for mask in masks if mask.any()]
    assert len(seen) == len(set(seen)) == (gang.workers if gang.workers > 1 else 2)
