"""Results with hostile names, as the tests of `reporting` make them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def made() -> Any:
    """The module that makes small results by hand."""
    path = Path(__file__).parents[2] / "reporting" / "conftest.py"
    found = importlib.util.spec_from_file_location("made_results_of_reporting", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module
