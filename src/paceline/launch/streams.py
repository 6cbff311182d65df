"""The launcher's own standard streams: there, whatever started it left out."""

from __future__ import annotations

import os


def open_missing() -> None:
    """Opens the null device on each of the descriptors 0, 1 and 2 that is closed; call before anything is opened.

    A service or ``<&-`` starts us without them. The next pipe or file would get such a number: the worker's stdin would
    be our end of a pipe, and what we print would go into a journal.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest free number
            os.set_inheritable(opened, True)
