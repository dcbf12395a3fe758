"""One cluster for all tests of this folder."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

for folder in (Path(__file__).parent, Path(__file__).parents[1] / "engines", Path(__file__).parents[1] / "run"):
    sys.path.insert(0, str(folder))

from cluster import Cluster  # noqa: E402


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A head and two nodes."""
    before = dict(os.environ)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = Cluster()
        try:
            made.add_nodes(2)
            yield made
        finally:
            made.stop()
            os.environ.clear()
            os.environ.update(before)
