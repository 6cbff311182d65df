"""`kill -9` of a writer at random moments: what was complete stays complete, and nothing half is taken for whole."""

import json
import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parent / "programs" / "kills.py"
TIMES = 60


def test_kills_at_random_moments(tmp_path):
    seed = int.from_bytes(os.urandom(4), "little")
    done = subprocess.run(
        [sys.executable, PROGRAM, tmp_path, str(TIMES), str(seed)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    result = json.loads(done.stdout)
    assert result["faults"] == [], f"seed {seed}"
    assert result["states"]["unfinished"] > 0, "no kill hit a writer while it wrote"
    assert result["last"] >= TIMES
    assert not [name for name in result["left"] if name.startswith(".")]
