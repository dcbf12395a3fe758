"""Files that reports are written to: the whole file or none."""

from __future__ import annotations

from pathlib import Path

from evenhand.files.writing import write_file


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file."""
    write_file(path, data)
