"""The job's strategy is what TensorFlow falls back to: in every thread, after clear_session, inside functions."""

from __future__ import annotations

import threading

import keras
import pytest
import tensorflow as tf

from paceline.collectives.transport import Alone
from paceline.strategies.default import set_default, unset_default
from paceline.strategies.job import JobStrategy


@pytest.fixture
def strategy():
    made = JobStrategy.create(Alone(), "/cpu:0", lambda dataset: dataset)
    set_default(made)
    yield made
    unset_default()


def test_it_is_an_instance_of_what_scripts_name(strategy):
    for named in (
        tf.distribute.MirroredStrategy,
        tf.distribute.MultiWorkerMirroredStrategy,
        tf.distribute.experimental.MultiWorkerMirroredStrategy,
        tf.distribute.OneDeviceStrategy,
        tf.distribute.Strategy,
    ):
        assert isinstance(strategy, named)


def test_it_is_seen_everywhere(strategy):
    seen = {"main": tf.distribute.get_strategy()}
    thread = threading.Thread(target=lambda: seen.update(thread=tf.distribute.get_strategy()))
    thread.start()
    thread.join()
    keras.backend.clear_session()
    seen["after clear_session"] = tf.distribute.get_strategy()

    @tf.function
    def traced():
        seen["in a function"] = tf.distribute.get_strategy()

    traced()
    assert seen == dict.fromkeys(("main", "thread", "after clear_session", "in a function"), strategy)
    assert tf.distribute.has_strategy()


def test_its_scope_can_be_entered_and_left_as_usual(strategy):
    with strategy.scope():
        with strategy.scope():
            assert tf.distribute.get_strategy() is strategy
        variable = tf.Variable(1.0)
    assert tf.distribute.get_strategy() is strategy
    assert strategy.extended.variable_created_in_scope(variable)


def test_another_strategy_cannot_be_mixed_in_silently(strategy):
    other = JobStrategy.create(Alone(), "/cpu:0", lambda dataset: dataset)
    with other.scope(), pytest.raises(RuntimeError), strategy.scope():
        pass


def test_without_it_everything_is_as_before():
    assert not tf.distribute.has_strategy()
    assert tf.distribute.get_replica_context() is not None
