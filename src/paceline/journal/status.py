"""The live status page of a worker: 128 bytes that it maps and others read at any time.

The layout is in ``docs/contracts.md``. Each number is one aligned store of eight bytes, so a reader may see
an old number beside a new one but never half a number. No locks, no system call per step.
"""

from __future__ import annotations

import enum
import math
import mmap
import os
import struct
import time
import warnings
from dataclasses import dataclass

MAGIC = b"PLS1"
PAGE_BYTES = 128
_LAYOUT = struct.Struct("<4sIqqqqddqqqq")

# Index of each eight-byte number in the page; magic and phase share number 0.
_STEP, _COLLECTIVES, _SAVES, _SAMPLES, _LOSS, _UPDATED, _EPOCH, _STEP_IN_EPOCH, _STEPS_PER_EPOCH = range(1, 10)
_ENTERED = 10


class Phase(enum.IntEnum):
    """What a worker is doing."""

    START = 0
    CONNECT = 1
    BUILD = 2
    TRACE = 3
    DATA = 4
    STEP = 5
    REDUCE = 6
    CALLBACK = 7
    CHECKPOINT = 8
    EVALUATE = 9
    PREDICT = 10
    SCRIPT = 11
    END = 12


@dataclass(frozen=True)
class Status:
    """A copy of a status page.

    Attributes:
        phase: What the worker does; an unknown number of a newer version reads as ``SCRIPT``.
        step: Training steps done since the job began.
        collectives: How many collectives the worker has *entered*.
        saves: How many of the chief's writes are complete.
        samples: Samples trained by the whole job.
        loss: Last known loss; NaN is unknown.
        updated: Unix seconds of the last change; 0.0: the worker has not written anything yet.
        epoch: Current epoch, from 0.
        step_in_epoch: Steps done in this epoch.
        steps_per_epoch: -1 is unknown.
    """

    phase: Phase = Phase.START
    step: int = 0
    collectives: int = 0
    saves: int = 0
    samples: int = 0
    loss: float = math.nan
    updated: float = 0.0
    epoch: int = 0
    step_in_epoch: int = 0
    steps_per_epoch: int = -1


class StatusWriter:
    """Writes one worker's page. A call costs well under a microsecond.

    Args:
        path: The file to create. Where it cannot be created (a full disk) the page is kept in
            memory, unseen by others, after one warning.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.is_shared = True  # whether others can see it
        try:
            self._map = _create(os.fspath(path))
        except OSError as error:
            self.is_shared = False
            warnings.warn(f"no live status of this worker: {path}: {error.strerror}", stacklevel=2)
            self._map = mmap.mmap(-1, PAGE_BYTES)
            self._map[: _LAYOUT.size] = _empty_page()[: _LAYOUT.size]
        self._phase = memoryview(self._map).cast("I")
        self._ints = memoryview(self._map).cast("q")
        self._floats = memoryview(self._map).cast("d")

    @property
    def phase(self) -> Phase:
        """The phase that was set last."""
        return Phase(self._phase[1])

    @property
    def collectives(self) -> int:
        """How many collectives this worker has entered."""
        return self._ints[_COLLECTIVES]

    @property
    def saves(self) -> int:
        """How many of the chief's writes are complete."""
        return self._ints[_SAVES]

    def set_phase(self, phase: Phase) -> None:
        """Records what the worker does from now on."""
        self._phase[1] = phase
        self._floats[_UPDATED] = time.time()

    def set_step(
        self,
        step: int,
        epoch: int = 0,
        step_in_epoch: int = 0,
        steps_per_epoch: int = -1,
        samples: int = 0,
        loss: float = math.nan,
    ) -> None:
        """Records how far training is; see ``Status`` for each number."""
        ints = self._ints
        ints[_STEP] = step
        ints[_EPOCH] = epoch
        ints[_STEP_IN_EPOCH] = step_in_epoch
        ints[_STEPS_PER_EPOCH] = steps_per_epoch
        ints[_SAMPLES] = samples
        self._floats[_LOSS] = loss
        self._floats[_UPDATED] = time.time()

    def enter_collective(self, entered: int = 0) -> None:
        """Counts one more collective; call before waiting for the peers.

        Args:
            entered: Which one it is, in a number that the peers compare with theirs (`paceline.session.calls`).
        """
        self._ints[_ENTERED] = entered
        self._ints[_COLLECTIVES] += 1
        self._floats[_UPDATED] = time.time()

    def add_save(self) -> None:
        """Counts one more complete write of the chief."""
        self._ints[_SAVES] += 1
        self._floats[_UPDATED] = time.time()


class StatusReader:
    """Reads another worker's page.

    Args:
        path: The page; it may not exist yet.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._map: mmap.mmap | None = None
        self._ints: memoryview[int] | None = None

    def read(self) -> Status:
        """Returns what the page says now; ``Status()`` where there is no whole page yet."""
        if self._map is None:
            self._map = _open(self._path)
        if self._map is None:
            return Status()
        _, phase, step, collectives, saves, samples, loss, updated, epoch, in_epoch, per_epoch, _ = _LAYOUT.unpack_from(
            self._map
        )
        return Status(
            phase=Phase(phase) if phase <= Phase.END else Phase.SCRIPT,
            step=step,
            collectives=collectives,
            saves=saves,
            samples=samples,
            loss=loss,
            updated=updated,
            epoch=epoch,
            step_in_epoch=in_epoch,
            steps_per_epoch=per_epoch,
        )

    @property
    def collectives(self) -> int | None:
        """How many collectives the worker has entered, None where there is no page; quick enough for every step."""
        return self._number(_COLLECTIVES)

    @property
    def entered(self) -> int | None:
        """Which collective the worker has entered last (`paceline.session.calls`), None where there is no page."""
        return self._number(_ENTERED)

    def _number(self, index: int) -> int | None:
        if self._map is None:
            return None
        if self._ints is None:
            self._ints = memoryview(self._map).cast("q")
        return self._ints[index]

    def close(self) -> None:
        """Lets go of the file."""
        if self._ints is not None:
            self._ints.release()
            self._ints = None
        if self._map is not None:
            self._map.close()
            self._map = None


def _empty_page() -> bytes:
    return _LAYOUT.pack(MAGIC, Phase.START, 0, 0, 0, 0, math.nan, 0.0, 0, 0, -1, 0).ljust(PAGE_BYTES, b"\0")


def _create(path: str) -> mmap.mmap:
    # Written whole and then renamed: a reader never maps a short page. Real bytes rather than a
    # hole: storing into a hole on a full disk would end the process with SIGBUS.
    temporary = f"{path}.{os.getpid()}.tmp"
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        if os.write(descriptor, _empty_page()) != PAGE_BYTES:
            raise OSError(28, "No space left on device")  # noqa: TRY301  the same clean-up as for any other failure
        os.replace(temporary, path)
        return mmap.mmap(descriptor, PAGE_BYTES)
    except OSError:
        os.unlink(temporary)
        raise
    finally:
        os.close(descriptor)


def _open(path: str) -> mmap.mmap | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if os.fstat(descriptor).st_size < PAGE_BYTES:
            return None
        page = mmap.mmap(descriptor, PAGE_BYTES, prot=mmap.PROT_READ)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    if page[:4] != MAGIC:
        page.close()
        return None
    return page
