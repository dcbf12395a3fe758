"""Subprocesses and workers find the tiny family."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def settled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are compared across processes; a source file that someone saves meanwhile must not tell them apart."""
    monkeypatch.setattr("evenhand.run.evaluation.code_facts", lambda functions: {})


@pytest.fixture
def tiny_data(tmp_path: Path) -> tuple[Path, Path]:
    """A data folder and a file of predictions."""
    import tiny

    return tiny.write_data(tmp_path)
