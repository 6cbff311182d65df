"""One worker fails, in the way that is asked for."""

import os
import signal
import sys
import time
from pathlib import Path

import paceline

time.sleep(0.5)
if paceline.rank() == 1:
    if sys.argv[1] == "exception":
        Path("/nonexistent/labels.csv").read_text(encoding="utf-8")
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(60)
