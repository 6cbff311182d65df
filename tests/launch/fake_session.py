"""Stands in for ``paceline.session``: behaves, on each rank, as the test's first script argument says."""

import atexit
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

from paceline.errors import ConfigurationRefused
from paceline.journal.status import Phase
from paceline.session.script import run_script
from paceline.worker.signals import restore_signals


def main(job, rank, journal, status):
    behaviours = json.loads(job["script"]["argv"][0])
    name, _, argument = str(behaviours.get(str(rank), "ok")).partition(":")
    if name != "never_ready":
        journal.event("ready")
    else:
        status.set_phase(Phase.CONNECT)
    code = globals()[f"do_{name}"](job, rank, status, argument)
    journal.event("end", exit_code=code)
    return code


def do_ok(job, rank, status, argument):
    print(f"hello from {rank}")
    print(f"whisper from {rank}", file=sys.stderr)
    return 0


def do_first(job, rank, status, argument):
    """Does in the first attempts what is told, a behaviour for each, and then ends well."""
    behaviours = argument.split(";")
    status.set_step(10 * (job["attempt"] + 1) if "advances" in behaviours else 10)
    behaviours = [behaviour for behaviour in behaviours if behaviour != "advances"]
    if job["attempt"] >= len(behaviours):
        print(f"attempt {job['attempt']} ends well")
        return 0
    name, _, rest = behaviours[job["attempt"]].partition(":")
    return globals()[f"do_{name}"](job, rank, status, rest)


def do_stop(job, rank, status, argument):
    """Is stopped in a step, while its peer waits in a collective."""
    status.enter_collective()
    status.set_step(10)
    status.set_phase(Phase.STEP)
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(60)


def do_return(job, rank, status, argument):
    return int(argument)


def do_native(job, rank, status, argument):
    os.write(2, b"I0000 from C++\n")
    print("from Python", file=sys.stderr)
    return 0


def do_exit(job, rank, status, argument):
    sys.exit(int(argument) if argument.isdecimal() else argument or None)


def do_raise(job, rank, status, argument):
    raise ValueError(argument or f"boom on {rank}")


def do_script(job, rank, status, argument):
    """Runs a script as the session does, without TensorFlow."""
    return run_script({"kind": "path", "target": argument, "argv": ["a"]})


def do_print(job, rank, status, argument):
    sys.stdout.write("x" * int(argument))
    return 0


def do_lose_peer(job, rank, status, argument):
    """Raises what TensorFlow raises when a peer is gone."""

    class UnavailableError(Exception):
        pass

    UnavailableError.__qualname__ = "UnavailableError"
    raise UnavailableError


def do_late_exit(job, rank, status, argument):
    """Ends a moment later than its peer says that it is gone."""
    seconds, _, code = argument.partition(":")
    time.sleep(float(seconds))
    if code:
        os._exit(int(code))
    os.kill(os.getpid(), signal.SIGKILL)


def do_late_raise(job, rank, status, argument):
    time.sleep(0.2)
    raise RuntimeError("a peer is gone")


def do_refuse(job, rank, status, argument):
    raise ConfigurationRefused("This cannot work.", got="a test", fix="nothing to paste")


def do_wait(job, rank, status, argument):
    status.set_step(7)
    status.set_phase(Phase.REDUCE)
    time.sleep(60)
    return 0


def do_comes_late(job, rank, status, argument):
    """Reaches its second collective so many seconds after the others."""
    status.enter_collective()
    if rank == 1:
        status.set_phase(Phase.CALLBACK)
        time.sleep(float(argument))
    status.enter_collective()
    status.set_step(8)
    status.set_phase(Phase.REDUCE)
    time.sleep(0.0 if rank == 1 else float(argument))
    return 0


def do_suicide(job, rank, status, argument):
    print("last words", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.Signals[argument])
    time.sleep(60)


def do_ignore(job, rank, status, argument):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        time.sleep(60)


def do_own_handler(job, rank, status, argument):
    """Does what a script does that saves its own way when it is told to end."""

    def save_and_end(number, frame):
        time.sleep(float(argument))
        print("saved", flush=True)
        sys.exit(5)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, save_and_end)
    time.sleep(60)


def do_finally(job, rank, status, argument):
    """Saves in a ``finally`` block."""
    try:
        time.sleep(60)
    finally:
        time.sleep(float(argument))
        print("saved", flush=True)


def do_long_step(job, rank, status, argument):
    """Is in C code for a while, as in a step or a compilation, and saves when it hears that it shall end."""

    class Timespec(ctypes.Structure):
        _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))

    libc = ctypes.CDLL(None)
    mutex = ctypes.create_string_buffer(128)
    libc.pthread_mutex_init(mutex, None)
    libc.pthread_mutex_lock(mutex)
    until = Timespec(int(time.time() + float(argument)), 0)
    try:
        libc.pthread_mutex_timedlock(mutex, ctypes.byref(until))
    finally:
        print("saved", flush=True)
    time.sleep(60)


def do_slow_exit(job, rank, status, argument):
    """Takes its time after the script is over."""
    atexit.register(time.sleep, 60)
    return 0


def do_close_all(job, rank, status, argument):
    """Closes what is open, as programs do that make themselves daemons."""
    os.closerange(3, 256)
    time.sleep(0.5)
    return 0


def do_no_text(job, rank, status, argument):
    class NoTextError(Exception):
        def __str__(self):
            raise RuntimeError

    raise NoTextError


def do_stuck(job, rank, status, argument):
    """Waits in C code for a lock that it holds itself: no handler of Python's can run."""
    libc = ctypes.CDLL(None)
    # What TensorFlow does when it creates a server: a handler below Python's replaces ours.
    libc.signal(signal.SIGTERM, 1)
    assert restore_signals()
    mutex = ctypes.create_string_buffer(128)
    libc.pthread_mutex_init(mutex, None)
    libc.pthread_mutex_lock(mutex)
    libc.pthread_mutex_lock(mutex)


def do_never_ready(job, rank, status, argument):
    time.sleep(60)


def do_family(job, rank, status, argument):
    """Starts children that outlive their parent: one in the same session, one in a session of its own."""
    sleep = shutil.which("sleep")
    subprocess.Popen([sleep, "300"])
    subprocess.Popen([sleep, "300"], start_new_session=True)
    subprocess.Popen(["sh", "-c", f"trap '' TERM; {sleep} 300 & {sleep} 300"])
    if argument == "end":
        return 0
    time.sleep(60)
    return None


def do_end_alone(job, rank, status, argument):
    status.set_phase(Phase.END)
    return 0


def do_threads(job, rank, status, argument):
    """Ends its main thread while another still works, as a script may."""
    threading.Thread(target=lambda: (time.sleep(0.5), print("the thread has ended"))).start()
    return 0


def do_show(job, rank, status, argument):
    print(json.dumps({"environ": dict(os.environ), "cpus": sorted(os.sched_getaffinity(0)), "job": job}))
    return 0


def do_terminal(job, rank, status, argument):
    size = os.get_terminal_size(1) if os.isatty(1) else None
    print(f"tty={os.isatty(1)} size={tuple(size) if size else None}")
    for step in range(3):
        sys.stdout.write(f"\rstep {step}")
        sys.stdout.flush()
        time.sleep(0.4)
    print("\ndone")
    return 0


def do_read(job, rank, status, argument):
    print(f"{rank} read {sys.stdin.read()!r}")
    return 0


def do_mpi_wait(job, rank, status, argument):
    from mpi4py import MPI

    status.set_phase(Phase.REDUCE)
    MPI.COMM_WORLD.Barrier()
    MPI.COMM_WORLD.Barrier()
    return 0


def do_mpi_raise(job, rank, status, argument):
    from mpi4py import MPI

    MPI.COMM_WORLD.Barrier()
    raise ValueError("boom in MPI")


def do_mpi(job, rank, status, argument):
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    total = world.allreduce(rank + 1)
    world.Barrier()
    inodes = set()
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            inodes.add(os.readlink(f"/proc/self/fd/{descriptor}"))
        except OSError:
            continue
    internet = []
    for table in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6"):
        with open(f"/proc/self/net/{table}") as file:
            rows = [line.split() for line in file][1:]
        internet += [(table, row[1]) for row in rows if f"socket:[{row[9]}]" in inodes]
    answer = {"total": total, "size": world.Get_size(), "internet": internet}
    print(f"MPI {json.dumps(answer)}", flush=True)
    time.sleep(float(argument or 0))
    if argument == "":
        MPI.Finalize()
    return 0
