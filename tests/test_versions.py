import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline import versions
from paceline.errors import VersionRefused


def verdict(python="3.13.0", tensorflow="2.21.0", keras="3.15.1", environ=None, platform="linux"):
    return versions.judge(python=python, tensorflow=tensorflow, keras=keras, environ=environ or {}, platform=platform)


@pytest.mark.parametrize(
    ("python", "tensorflow", "keras", "kind"),
    [
        ("3.10.13", "2.19.0", "3.10.0", "tested"),
        ("3.10.13", "2.21.0", "3.12.1", "tested"),
        ("3.11.7", "2.21.0", "3.15.0", "tested"),
        ("3.12.1", "2.21.0", "3.15.1", "tested"),
        ("3.13.0", "2.21.1", "3.15.1", "tested"),
        ("3.10.13", "2.20.0", "3.11.3", "likely"),
        ("3.12.1", "2.20.0", "3.15.0", "likely"),
        ("3.12.1", "2.19.0", "3.10.0", "likely"),
        ("3.13.0", "2.22.0-dev20261101", "3.16.0", "likely"),
        ("3.14.0", "2.21.0", "3.15.1", "likely"),
        ("3.9.18", "2.19.0", "3.10.0", "refused"),
        ("3.12.1", "2.18.1", "3.10.0", "refused"),
        ("3.12.1", "2.16.1", "3.15.0", "refused"),
        ("3.12.1", "2.19.0", "3.9.2", "refused"),
        ("3.12.1", "2.19.0", "3.8.0", "refused"),
        ("3.12.1", "2.19.0", "3.7.0", "refused"),
        ("3.12.1", "2.19.0", "3.6.0", "refused"),
        ("3.12.1", "2.19.0", "2.15.0", "refused"),
        ("3.12.1", None, "3.15.0", "refused"),
        ("3.12.1", "2.21.0", None, "refused"),
    ],
)
def test_the_table_of_combinations(python, tensorflow, keras, kind):
    assert verdict(python, tensorflow, keras).kind == kind


@pytest.mark.parametrize(
    ("environ", "word"),
    [
        ({"TF_USE_LEGACY_KERAS": "1"}, "tf_keras"),
        ({"TF_USE_LEGACY_KERAS": "True"}, "tf_keras"),
        ({"KERAS_BACKEND": "jax"}, "jax"),
    ],
)
def test_variables_that_choose_another_keras_are_refused(environ, word):
    found = verdict(environ=environ)
    assert found.kind == "refused"
    assert word in found.reason


@pytest.mark.parametrize(
    "environ", [{"TF_USE_LEGACY_KERAS": "0"}, {"KERAS_BACKEND": "tensorflow"}, {"KERAS_BACKEND": ""}]
)
def test_harmless_values_of_the_same_variables_are_not(environ):
    assert verdict(environ=environ).kind == "tested"


@pytest.mark.parametrize(
    ("platform", "kind"), [("linux", "tested"), ("darwin", "likely"), ("win32", "refused"), ("cygwin", "refused")]
)
def test_platforms(platform, kind):
    assert verdict(platform=platform).kind == kind


@pytest.mark.parametrize(("keras", "thread"), [("3.7.0", "21061"), ("3.9.2", "21061"), ("3.6.0", "19891")])
def test_a_keras_known_to_be_wrong_is_refused_with_the_thread_that_says_so(keras, thread):
    assert f"keras-team/keras#{thread}" in verdict(keras=keras).reason


def test_a_refusal_is_an_error_with_the_versions_and_the_fix():
    found = verdict(keras="3.7.0")
    with pytest.raises(VersionRefused) as caught:
        found.raise_if_refused(got="Keras 3.7.0")
    assert "Keras 3.7.0" in str(caught.value)
    assert "pip install" in caught.value.fix


def test_what_is_not_refused_raises_nothing():
    verdict().raise_if_refused()


def test_the_environment_of_the_tests_is_read_from_metadata():
    found = versions.installed()
    assert found.python.startswith("3.")
    assert set(found.distributions) <= set(versions.TENSORFLOW_DISTRIBUTIONS)


def test_a_distribution_that_is_not_there_has_no_version(monkeypatch):
    monkeypatch.setattr(versions, "TENSORFLOW_DISTRIBUTIONS", ("paceline-there-is-no-such-thing",))
    found = versions.installed()
    assert found.tensorflow is None
    assert versions.judge_installed({}, found).kind == "refused"


@given(python=st.text(), tensorflow=st.none() | st.text(), keras=st.none() | st.text(), platform=st.text())
def test_any_text_gets_a_verdict(python, tensorflow, keras, platform):
    assert verdict(python, tensorflow, keras, {}, platform).kind in {"tested", "likely", "refused"}
