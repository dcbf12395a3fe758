"""Without torch, tests that are marked so are skipped; files that import it at their top are named at the end.

No example that Hypothesis makes has a deadline: on a busy machine it would fail for its time.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("evenhand", deadline=None)
settings.load_profile("evenhand")

HAS_TORCH = importlib.util.find_spec("torch") is not None
_left_out: set[str] = set()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    if HAS_TORCH or not collection_path.match("test_*.py"):
        return None
    if not re.search(r"^(import|from) torch\b", collection_path.read_text(encoding="utf-8"), flags=re.M):
        return None
    _left_out.add(collection_path.name)
    return True


def pytest_runtest_setup(item: pytest.Item) -> None:
    if not HAS_TORCH and item.get_closest_marker("torch"):
        pytest.skip("torch is not installed")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if _left_out:
        terminalreporter.write_line(f"torch is not installed; not run: {', '.join(sorted(_left_out))}")
