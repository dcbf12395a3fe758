"""Small drawn videos in the folders of a published data set, shared by the tests of the family."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.benchmarks.synthesis.demo import cast_of_videos, write_videos


@pytest.fixture(scope="session")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four drawn people, three frames each, with protocol, attributes and features."""
    data = tmp_path_factory.mktemp("videos")
    write_videos(data, cast_of_videos(4), frames=3, size=32)
    return data
