"""How TensorFlow's RING moves a buffer, as one frozen value, and the values that are tried."""

from __future__ import annotations

from dataclasses import dataclass, fields

from paceline.errors import ConfigurationRefused

# Least and most. Source: config.proto, int32 recv_buf_max_chunk (TensorFlow 2.21); more channels or pieces than these
# only take memory: with a million channels a job does not start.
_BOUNDS = {"max_subdivs": (-1, 1024), "chunk_bytes": (-1, 2**31 - 1), "channels": (1, 64)}


@dataclass(frozen=True, kw_only=True)
class RingTuning:
    """How TensorFlow's RING moves a buffer.

    Attributes:
        max_subdivs: Into how many pieces at most a worker's part is cut, each on a ring of its own, until a piece is no
            larger than 4 MiB; 0: 2 pieces at most, -1 (what TensorFlow does by default): not at all.
            Source: tensorflow/core/common_runtime/ring_alg.cc, GenerateSubdivsInCollectiveParams.
        chunk_bytes: Size of the strings that a message is made of; -1: one string, 0 (TensorFlow's default): 4 kB.
        channels: gRPC channels between two workers.

    Raises:
        ConfigurationRefused: A value is none that TensorFlow takes.

    >>> str(RingTuning(max_subdivs=8))
    'max_subdivs 8, chunk_bytes 0, channels 1'
    """

    max_subdivs: int = 0
    chunk_bytes: int = 0
    channels: int = 1

    def __post_init__(self) -> None:
        for name, (least, most) in _BOUNDS.items():
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= most:
                raise ConfigurationRefused(
                    "RING cannot be tuned so.",
                    got=f"{name}: {value!r}",
                    expected=f"a whole number from {least} to {most}",
                    fix="paceline tune",
                )

    def __str__(self) -> str:
        return ", ".join(f"{field.name} {getattr(self, field.name)}" for field in fields(self))


TENSORFLOWS_OWN = RingTuning(max_subdivs=-1)
"""What MultiWorkerMirroredStrategy does. Source: tensorflow/python/ops/collective_ops.py (2.21)."""

TRIED = (
    TENSORFLOWS_OWN,
    RingTuning(),
    RingTuning(max_subdivs=8, chunk_bytes=2**20, channels=4),
    RingTuning(max_subdivs=8),
    RingTuning(chunk_bytes=2**20),
    RingTuning(chunk_bytes=-1, channels=4),
)
"""What ``paceline tune`` tries. The last are the chunk and the channels that DTensor sets
(tensorflow/dtensor/python/accelerator_util.py, 2.21)."""
