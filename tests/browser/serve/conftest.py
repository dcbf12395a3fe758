"""The served page over a folder of runs with pictures, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from evenhand import api

FACES = 60


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`data` with pictures, and `runs` of three models."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "data" / "val").mkdir(parents=True)
    lines = ["file,age,gender,race,service_test"]
    for number in range(1, FACES + 1):
        lines.append(
            f"val/{number}.jpg,20-29,{'Male' if number % 2 else 'Female'},{'White' if number % 3 else 'Black'},True"
        )
        Image.new("RGB", (200, 200), (number * 4 % 256, 90, 120)).save(folder / "data" / "val" / f"{number}.jpg")
    (folder / "data" / "fairface_label_val.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for model, wrong in (("careful", 10), ("hasty", 3), ("middling", 5)):
        said = ["file,gender,race,age"]
        for number in range(1, FACES + 1):
            is_male = bool(number % 2) != (number % wrong == 0)
            said.append(f"val/{number}.jpg,{'Male' if is_male else 'Female'},White,20-29")
        path = folder / f"{model}.csv"
        path.write_text("\n".join(said) + "\n", encoding="utf-8")
        api.evaluate(
            "fairface/gender", path, data=folder / "data", model=model, by=["gender", "race"], draws=100,
            permutations=100, runs=folder / "runs",
        )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def address(place: Path) -> Iterator[str]:
    """Where the page is served."""
    command = [sys.executable, "-m", "evenhand.cli.main", "serve", str(place / "runs"), "--data", str(place / "data")]
    command += ["--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as page:
        assert page.stdout is not None
        try:
            yield page.stdout.readline().split()[1]
        finally:
            page.terminate()
