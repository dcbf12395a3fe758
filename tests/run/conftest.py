"""Subprocesses and workers find the tiny family."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def tiny_data(tmp_path: Path) -> tuple[Path, Path]:
    """A data folder and a file of predictions."""
    import tiny

    return tiny.write_data(tmp_path)
