"""What is served, and who may access it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ServeSettings:
    """The folders that may be read, and how much work a comparison is."""

    runs: Path
    data: tuple[Path, ...] = ()
    draws: int = 2000  # of a comparison; as many as `evenhand compare` draws
