"""Run a script that was written for the published package: `python -m evenhand.compat.fhibe SCRIPT [ARGUMENTS]`."""

from __future__ import annotations

import runpy
import sys
import traceback
from pathlib import Path
from types import TracebackType

from evenhand.compat.fhibe import install_alias
from evenhand.core.printing import printable


def main() -> None:
    """Run the script named on the command line as `python SCRIPT` would, with the alias in place."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit("usage: python -m evenhand.compat.fhibe SCRIPT [ARGUMENTS]")
    install_alias()
    sys.excepthook = _print_error
    sys.argv = sys.argv[1:]
    sys.path.insert(0, str(Path(sys.argv[0]).resolve().parent))
    runpy.run_path(sys.argv[0], run_name="__main__")


def _print_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an error that ends the script as Python does, but without control characters of names in it."""
    sys.stderr.write(printable("".join(traceback.format_exception(kind, error, trace))))


if __name__ == "__main__":
    main()
