"""The shell completes verbs and the names of tasks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EVENHAND = Path(sys.executable).with_name("evenhand")


@pytest.mark.parametrize(
    ("line", "place", "expected"),
    [("evenhand rep", 1, {"report"}), ("evenhand evaluate fairface/g", 2, {"fairface/gender"})],
)
def test_bash_completes(line: str, place: int, expected: set[str]):
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(place), "_EVENHAND_COMPLETE": "complete_bash"}
    done = subprocess.run([EVENHAND], env={**os.environ, **asked}, capture_output=True, text=True, check=False)
    assert set(done.stdout.split()) == expected
