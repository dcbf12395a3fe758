"""Without torch, tests that are marked so are skipped; files that import it at their top are named at the end.

No example that Hypothesis makes has a deadline: on a busy machine it would fail for its time.
`demos_of` gives the demonstrations of a family to tests that only read them.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from evenhand.core.task import Demo

settings.register_profile("evenhand", deadline=None)
settings.load_profile("evenhand")

HAS_TORCH = importlib.util.find_spec("torch") is not None
_left_out: set[str] = set()


@pytest.fixture(scope="session")
def demos_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Sequence[Demo]]:
    """The demonstrations of a family, written once per process: a test that changes their files writes its own."""
    from evenhand import api

    @cache
    def written(family: str) -> Sequence[Demo]:
        return api.demo(family, tmp_path_factory.mktemp("demos") / family)

    return written


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
