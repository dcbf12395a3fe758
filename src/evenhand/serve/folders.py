"""Which files may be read: those that really lie below one of the named folders.

"Really" means after all symbolic links were followed, so a link that leads out of a folder is no way out of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.errors import InputError


class OutsideError(InputError):
    """A file that lies outside the folders that may be read."""


@dataclass(frozen=True)
class ServedFolders:
    """The folders that may be read, with links resolved."""

    roots: tuple[Path, ...]

    @classmethod
    def of(cls, folders: Iterable[Path]) -> ServedFolders:
        return cls(tuple(Path(folder).resolve() for folder in folders))

    def holds(self, path: Path) -> bool:
        try:
            self.inside(path)
        except OutsideError:
            return False
        return True

    def inside(self, path: Path) -> Path:
        """The real path of a file or folder that lies inside; raises OutsideError for any other."""
        try:
            real = Path(path).resolve()
        except (OSError, ValueError, RuntimeError):  # a loop of links, a name with a null byte
            raise OutsideError(f"{path!s} can't be followed to a file.") from None
        if not any(real == root or real.is_relative_to(root) for root in self.roots):
            raise OutsideError(
                f"A file lies outside the folders that are served, so it is not read: {path!s}. "
                "Name its folder with --data if it should be."
            )
        return real

    def check_tree(self, folder: Path) -> None:
        """Check every name below a folder; raises OutsideError for the first that leads out."""
        self.inside(folder)
        for parent, folders, files in os.walk(folder):
            for name in (*folders, *files):
                path = Path(parent, name)
                if path.is_symlink():
                    self.inside(path)
