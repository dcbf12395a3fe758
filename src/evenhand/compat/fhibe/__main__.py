"""Run a script that was written for the published package: `python -m evenhand.compat.fhibe SCRIPT [ARGUMENTS]`."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from evenhand.compat.fhibe.alias import install_alias


def main() -> None:
    """Run the script named on the command line as `python SCRIPT` would, with the alias in place."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit("usage: python -m evenhand.compat.fhibe SCRIPT [ARGUMENTS]")
    install_alias()
    sys.argv = sys.argv[1:]
    sys.path.insert(0, str(Path(sys.argv[0]).resolve().parent))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
