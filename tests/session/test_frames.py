"""TensorFlow keeps, of an operation's stack, the script's and Keras' frames, not paceline's: a failure lists them."""

import threading

import keras
import pytest
import tensorflow as tf
from tensorflow.python.util import tf_stack

from paceline.session import frames
from paceline.training import run

OURS = run.__file__  # stands for all files of the package
FUNCTIONS = """
def passes_on(function):
    return function()

def makes():
    return tf.zeros([2]).op
"""


def functions_of(file):
    scope = {"tf": tf}
    exec(compile(FUNCTIONS, file, "exec"), scope)  # noqa: S102  two functions with any file's name
    return scope["passes_on"], scope["makes"]


@pytest.fixture
def installed(monkeypatch):
    """Puts the filter in place for one test."""
    stacks = tf_stack._source_filter_stacks
    monkeypatch.setattr(stacks, "default_factory", stacks.default_factory)
    before = {thread: stack[0] for thread, stack in stacks.items()}
    frames.install()
    yield
    for thread, first in before.items():
        stacks[thread][0] = first


def files(make):
    """Returns the files, outermost first, that TensorFlow would list if the operation of `make` failed."""
    with tf.Graph().as_default():
        return [frame.filename for frame in make().traceback.get_user_frames()]


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("file", ["script.py", OURS])
def test_frames_between_and_below_the_scripts_are_left_out(file):
    found = files(lambda: functions_of(OURS)[0](functions_of(file)[1]))
    assert __file__ in found and OURS not in found
    assert ("script.py" in found) == (file == "script.py")


@pytest.mark.usefixtures("installed")
def test_so_they_are_under_a_filter_of_tensorflows():
    with tf_stack.CurrentModuleFilter():  # as AutoGraph has it
        found = files(lambda: functions_of(OURS)[0](functions_of("script.py")[1]))
    assert "script.py" in found and OURS not in found


@pytest.mark.usefixtures("installed")
def test_they_are_shown_where_the_script_has_keras_show_its_own():
    keras.config.disable_traceback_filtering()
    try:
        assert OURS in files(lambda: functions_of(OURS)[0](functions_of("script.py")[1]))
    finally:
        keras.config.enable_traceback_filtering()


@pytest.mark.usefixtures("installed")
def test_a_replicas_thread_has_them_left_out_from_its_first_operation_on():
    passes_on, makes = functions_of(OURS)
    made = []

    def in_thread():
        graph = tf.compat.v1.get_default_graph()

        def replica():
            with graph.as_default():
                made.append(makes())

        thread = threading.Thread(target=passes_on, args=(replica,))
        thread.start()
        thread.join()
        return made[0]

    found = files(in_thread)
    assert __file__ in found and not {OURS, threading.__file__} & set(found)


def test_a_tensorflow_without_such_filters_is_left_alone(monkeypatch):
    monkeypatch.delattr(tf_stack, "_source_filter_stacks")
    frames.install()
