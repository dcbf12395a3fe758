"""The fixture itself: a page that throws is heard, and a machine without a browser says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def test_a_page_that_throws_is_heard(open_page, complaints, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("<!doctype html><title>t</title><script>throw new Error('planted')</script>", encoding="utf-8")
    open_page(path)
    assert [text for text in complaints if "planted" in text]
    complaints.clear()


@pytest.mark.parametrize(
    ("asked", "code", "said"),
    [("", 0, "1 skipped"), ("required", 1, "EVENHAND_BROWSER=required")],
    ids=["skip", "fail"],
)
def test_without_a_browser_tests_are_skipped_unless_one_is_required(asked, code, said):
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-k", "throws", str(Path(__file__))]
    environment = {**os.environ, "PATH": "", "EVENHAND_BROWSER": asked}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout
    assert said in done.stdout
