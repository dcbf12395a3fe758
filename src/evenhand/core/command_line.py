"""The command lines of published tools."""

from __future__ import annotations

import argparse
from typing import NoReturn

from evenhand.core.printing import printable_lines


class CommandParser(argparse.ArgumentParser):
    """A parser whose messages repeat arguments only as they may be printed."""

    def error(self, message: str) -> NoReturn:
        """Say what can't be understood, and leave with exit code 2."""
        super().error(printable_lines(message))
