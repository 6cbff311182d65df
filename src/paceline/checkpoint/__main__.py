"""What the command line asks a throwaway process: ``python -m paceline.checkpoint '{"do": "examine", ...}'``.

The last line of its output is the answer, JSON; ``fault`` in it says why there is none.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from paceline.checkpoint_dir.examine import Depth, examine
from paceline.errors import PacelineError


def answer(question: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answer to a question, a value that json can write.

    Args:
        question: `do`: `examine` (`root`, `depth`, `only`) or `convert` (`root`, `name`, `out`, `script`).
    """
    try:
        if question["do"] == "examine":
            from paceline.checkpoint.remote import RemotePlace

            place = RemotePlace(question["root"])
            return examine(place, depth=Depth(question["depth"]), only=question["only"]).as_dict()
        from paceline.checkpoint.convert import convert

        return asdict(convert(question["root"], question["name"], question["out"], question["script"]))
    except PacelineError as error:
        parts = {name: getattr(error, name) for name in ("what", "got", "expected", "fix")}
        return {"fault": error.what, "error": {"exit_code": error.exit_code, **parts}}
    except OSError as error:
        return {"fault": error.strerror or str(error)}


if __name__ == "__main__":
    # What a script prints must not be taken for the answer: it is the last line.
    said = answer(json.loads(sys.argv[1]))
    print("\n" + json.dumps(said), flush=True)  # noqa: T201 - the answer
