"""A shell script stops a release where the planted group fails, and lets the one pass that only looks worse."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import evenhand

EXAMPLE = Path(__file__).parents[2] / "examples" / "release"


@pytest.fixture(scope="module")
def run(demos_of: Callable[[str], Sequence[evenhand.Demo]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    demo = next(made for made in demos_of("fairface") if made.task == "fairface/gender")
    places = {"data": demo.data, "runs": tmp_path_factory.mktemp("runs")}
    found = evenhand.evaluate(demo.task, demo.predictions, options=demo.options, **places)
    assert found.folder is not None
    return found.folder


def release(run: Path, require: str, folder: Path) -> tuple[int, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["sh", str(EXAMPLE / "release.sh"), str(run), str(EXAMPLE / require)]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": path}, check=False
    )
    return done.returncode, done.stdout


def test_the_planted_group_stops_the_release(run: Path, tmp_path: Path) -> None:
    code, said = release(run, "by_race.toml", tmp_path)
    assert code == 1
    assert "FAILED" in said
    assert "released" not in said
    assert "<failure" in (tmp_path / "gate.xml").read_text(encoding="utf-8")


def test_the_group_that_only_looks_worse_lets_it_pass(run: Path, tmp_path: Path) -> None:
    code, said = release(run, "by_age.toml", tmp_path)
    assert code == 0, said
    assert said.endswith("released\n")
