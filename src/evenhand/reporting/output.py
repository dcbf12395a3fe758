"""Files that reports are written to: the whole file or none."""

from __future__ import annotations

from pathlib import Path


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
