"""Runs ``paceline.launch.local.run`` as the command line does: options as JSON in the first argument."""

import json
import sys

from paceline.errors import PacelineError
from paceline.launch import verdict
from paceline.launch.local import run
from paceline.launch.options import RunOptions


def main(text):
    options = json.loads(text)
    verdict.WAIT_LIMIT_S = options.pop("wait_limit_s", verdict.WAIT_LIMIT_S)
    verdict.END_LIMIT_S = options.pop("end_limit_s", verdict.END_LIMIT_S)
    for name in ("script_args", "devices"):
        if options.get(name) is not None:
            options[name] = tuple(options[name])
    options["env"] = tuple(map(tuple, options.get("env", ())))
    try:
        return run(RunOptions(**options), session_module="fake_session")
    except PacelineError as error:
        print(f"paceline: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
