import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.cli.split import split

OURS = {"--workers": True, "--seed": True, "--quiet": False, "--help": False}


def parts(args, of_script=()):
    result = split(args, OURS, lambda target, module: frozenset(of_script))
    return result.own, result.target, result.module, result.script_args


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["t.py"], ([], "t.py", False, [])),
        (["--workers", "2", "t.py"], (["--workers", "2"], "t.py", False, [])),
        (["t.py", "--workers", "2"], (["--workers", "2"], "t.py", False, [])),
        (["t.py", "--workers=2", "--epochs", "3"], (["--workers=2"], "t.py", False, ["--epochs", "3"])),
        (["--quiet", "t.py", "a", "--quiet", "b"], (["--quiet", "--quiet"], "t.py", False, ["a", "b"])),
        (["t.py", "--quiet=1"], ([], "t.py", False, ["--quiet=1"])),
        (["t.py", "--", "--workers", "2", "--", "x"], ([], "t.py", False, ["--workers", "2", "--", "x"])),
        (["--", "t.py", "--workers", "2"], ([], "t.py", False, ["--workers", "2"])),
        (["t.py", "--workers", "2", "--", "--seed", "1"], (["--workers", "2"], "t.py", False, ["--seed", "1"])),
        (["-m", "pkg.train", "--workers", "2", "-m", "x"], (["--workers", "2"], "pkg.train", True, ["-m", "x"])),
        (["-mpkg.train", "x"], ([], "pkg.train", True, ["x"])),
        (["--seed", "1", "-m", "pkg"], (["--seed", "1"], "pkg", True, [])),
        (["t.py", "--help"], ([], "t.py", False, ["--help"])),
        (["--help"], (["--help"], None, False, [])),
        (["t.py", "--work", "2"], ([], "t.py", False, ["--work", "2"])),
        (["t.py", "-x", "-", "--workers"], (["--workers"], "t.py", False, ["-x", "-"])),
        (["--unknown", "t.py"], (["--unknown"], "t.py", False, [])),
        ([], ([], None, False, [])),
        (["-m"], ([], None, True, [])),
        (["--workers"], (["--workers"], None, False, [])),
    ],
)
def test_who_gets_what(args, expected):
    assert parts(args) == expected


def test_an_option_that_the_script_has_too_is_the_scripts_behind_it_and_ours_before_it():
    args = ["--seed", "1", "t.py", "--seed", "2", "--workers", "3"]
    assert parts(args, {"--seed"}) == (["--seed", "1", "--workers", "3"], "t.py", False, ["--seed", "2"])


def test_what_was_decided_is_noted():
    result = split(["t.py", "--seed=2", "--workers", "3"], OURS, lambda target, module: frozenset({"--seed"}))
    assert (result.taken, result.left) == (["--workers 3"], ["--seed"])


def test_the_script_is_not_read_where_nothing_depends_on_it():
    def never(target, module):
        raise AssertionError

    assert split(["--workers", "2", "t.py", "--epochs", "3", "--", "--seed"], OURS, never).target == "t.py"


WORDS = st.lists(st.sampled_from(["--workers", "--quiet", "--x", "1", "-m", "--seed=3", "t.py", "-", ""]), max_size=8)


@given(WORDS)
def test_after_the_separator_everything_is_the_scripts_in_order(words):
    assert parts(["t.py", "--", *words])[3] == words
    assert parts(["--", "t.py", *words])[3] == words


@given(WORDS)
def test_no_word_is_lost(words):
    own, _, _, script_args = parts(["t.py", *words])
    assert sorted([*own, *script_args]) == sorted(words)
