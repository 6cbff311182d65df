"""What the command line asks a throwaway process: `python -m paceline.checkpoint examine ROOT DEPTH NAME`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from paceline.checkpoint_dir.examine import Depth, examine


def main(arguments: Sequence[str]) -> dict[str, Any]:
    """Returns the answer, a value that json can write; `fault` is in it where there is none."""
    _, root, depth, name = arguments
    from paceline.checkpoint.remote import RemotePlace

    try:
        return examine(RemotePlace(root), depth=Depth(int(depth)), only=name).as_dict()
    except OSError as error:
        return {"fault": error.strerror or str(error)}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:])))  # noqa: T201 - the answer
