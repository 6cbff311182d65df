"""SIGTERM while a fit takes checkpoints: the main thread goes on, and ends by itself in time, or is ended."""

import signal
import subprocess
import sys
import time

import pytest

PROGRAM = """
import sys, time
from paceline.worker.signals import SignalWatch

grace_s, in_fit, after_s = float(sys.argv[1]), sys.argv[2] == "fit", float(sys.argv[3])
watch = SignalWatch(on_signal=lambda name: print("heard", name, flush=True), grace_s=grace_s)
watch.restore()
watch.defer(lambda: in_fit)
print("ready", flush=True)
try:
    while not watch.was_told:
        time.sleep(0.02)
    time.sleep(after_s)  # to the next step that all agree on
    print("checkpoint", flush=True)
    sys.exit(3)
finally:
    print("finally", flush=True)
"""


@pytest.fixture
def worker():
    started = []

    def start(grace_s, where, after_s):
        command = [sys.executable, "-c", PROGRAM, str(grace_s), where, str(after_s)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        assert started[-1].stdout.readline() == "ready\n"
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def finish(process):
    code = process.wait(30)
    return code, process.stdout.read().split()


def test_the_main_thread_ends_by_itself_after_its_checkpoint(worker):
    process = worker(20, "fit", 0.5)
    process.send_signal(signal.SIGTERM)
    assert finish(process) == (3, ["heard", "SIGTERM", "checkpoint", "finally"])


def test_the_same_wish_said_twice_is_one(worker):
    process = worker(20, "fit", 1.5)
    for _ in range(3):
        process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
    assert finish(process)[0] == 3


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_at_once(worker, second):
    process = worker(60, "fit", 60)
    process.send_signal(signal.SIGTERM)
    time.sleep(1.3)
    process.send_signal(second)
    code, words = finish(process)
    assert code in (143, 130, 1)  # ended by the thread, by SystemExit or by KeyboardInterrupt, whichever comes first
    assert "checkpoint" not in words


def test_the_grace_time_is_the_longest_that_it_takes(worker):
    process = worker(0.5, "fit", 60)
    process.send_signal(signal.SIGTERM)
    assert finish(process) == (143, ["heard", "SIGTERM"])


def test_outside_of_a_fit_it_interrupts_as_ever(worker):
    process = worker(20, "script", 0)
    process.send_signal(signal.SIGTERM)
    code, words = finish(process)
    assert code == 143 and "finally" in words and "checkpoint" not in words
