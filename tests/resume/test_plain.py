import collections
import json
import math
import random

import numpy as np
import pytest
from numpy.random import bit_generator

from paceline.resume import randoms
from paceline.resume.plain import NotPlain, decode, encode, replaced

VALUES = [
    None, True, 3, 2**127, "text", -0.0, 0.1, math.inf, [1, [2.5, None]], (1, "a"), {"a": {1: (2,)}}, {1, 2}, b"\0\xff",
    frozenset({"x"}), collections.deque([1, 2], maxlen=3), collections.Counter("aab"),
    collections.OrderedDict([("b", 1), ("a", 2)]), np.float32(0.1), np.int64(-7), {},
]  # fmt: skip


def through(value):
    arrays = {}
    text = json.dumps(encode(value, arrays, "v"))
    return decode(json.loads(text), arrays)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_plain_values_come_back_as_they_were(value):
    back = through(value)
    assert back == value
    assert type(back) is type(value)


def test_what_json_cannot_say_comes_back_bit_by_bit():
    array = np.array([1.0, math.nan, -0.0, 1e-45], np.float32)
    back = through({"weights": [array, array.astype(np.float16)]})["weights"]
    assert back[0].tobytes() == array.tobytes() and back[1].dtype == np.float16
    assert math.isnan(through(math.nan))
    assert math.copysign(1, through(-0.0)) == -1


GENERATORS = [random.Random, np.random.default_rng, np.random.RandomState]


@pytest.mark.parametrize("make", GENERATORS)
def test_generators_draw_on(make):
    generator = make(3)
    draw = generator.random if hasattr(generator, "random") else generator.rand
    draw()
    kept = {"state": generator}
    arrays = {}
    encoded = json.loads(json.dumps(encode(kept, arrays, "v")))
    expected = [draw() for _ in range(3)]
    again = decode(encoded, arrays)["state"]
    assert [again.random() if hasattr(again, "random") else again.rand() for _ in range(3)] == expected
    same = replaced(generator, decode(encoded, arrays)["state"])
    assert same is generator and [draw() for _ in range(3)] == expected


def test_neither_way_asks_for_entropy(monkeypatch):
    generators = [make(3) for make in GENERATORS]
    monkeypatch.setattr(bit_generator, "randbits", lambda bits: pytest.fail(f"{bits} bits were asked for"))
    arrays = {}
    encoded = encode([*generators, randoms.capture()["numpy"]], arrays, "v")
    assert len(decode(encoded, arrays)) == 4


@pytest.mark.parametrize("value", [object(), [object()], {"a": print}, np.array([object()]), np.array(["a"])], ids=str)
def test_the_rest_is_refused(value):
    with pytest.raises(NotPlain):
        encode(value, {}, "v")


def test_something_that_contains_itself_is_refused():
    value = []
    value.append(value)
    with pytest.raises(NotPlain):
        encode(value, {}, "v")


def test_lists_and_dicts_that_others_hold_stay_the_same_objects():
    held = [1]
    assert replaced(held, [2, 3]) is held
    assert held == [2, 3]
    known = {"a": 1}
    assert replaced(known, {"b": 2}) is known
    assert replaced((1,), (2,)) == (2,)
