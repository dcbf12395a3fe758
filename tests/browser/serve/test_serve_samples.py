"""The gallery in a real browser: every family's pictures, and ten thousand samples."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from evenhand import api
from evenhand.serve.listing import key_of

SAMPLES = 10_000
DRAWN = ("fhibe", "uccs", "ijb")  # families whose rows are boxes, masks or points


@contextmanager
def serving(runs: Path, data: Path) -> Iterator[str]:
    """The address of a page over some folders; it runs in another working directory."""
    command = [sys.executable, "-m", "evenhand.cli.main", "serve", str(runs), "--data", str(data), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/") as page:
        assert page.stdout is not None
        try:
            yield page.stdout.readline().split()[1]
        finally:
            page.terminate()


def loaded(page: Any) -> int:
    """Wait until the pictures of a gallery in view are there; how many are larger than the sign for none."""
    page.wait_for_load_state("networkidle")
    script = "[...document.querySelectorAll('.gallery img')].filter(one => one.complete && one.naturalWidth > 8).length"
    return int(page.evaluate(script))


def test_all_demonstrations_have_pictures_with_what_is_drawn_on_them(
    open_page: Any, demo_runs: dict[str, Path]
) -> None:
    first = next(iter(demo_runs.values()))
    root = next(parent for parent in first.parents if parent.name == "runs")
    with serving(root, root.parent) as address:  # --data names a folder above all data
        for task, folder in demo_runs.items():
            if task.startswith("table/"):
                continue  # a table of labels has no pictures
            page = open_page(f"{address}run/{key_of(folder, root)}/gallery", expect=".gallery img")
            assert loaded(page) > 5, task
            drawn = page.locator(".gallery .marks polygon, .gallery .marks circle").count()
            assert (drawn > 5) == task.startswith(DRAWN), task
            page.locator(".gallery a").first.click()
            page.wait_for_selector(".pictures img")
            page.wait_for_load_state("networkidle")


@pytest.mark.slow
def test_ten_thousand_samples_are_paged_without_a_stutter(open_page: Any, tmp_path: Path) -> None:
    (tmp_path / "data" / "val").mkdir(parents=True)
    one = tmp_path / "data" / "val" / "1.jpg"
    Image.new("RGB", (224, 224), (90, 120, 90)).save(one)
    labels, answers = ["file,age,gender,race,service_test"], ["file,gender,race,age"]
    for number in range(1, SAMPLES + 1):
        if number > 1:
            os.link(one, one.with_name(f"{number}.jpg"))
        gender = "Male" if number % 2 else "Female"
        labels.append(f"val/{number}.jpg,20-29,{gender},White,True")
        answers.append(f"val/{number}.jpg,{'Male' if number % 7 == 0 else gender},White,20-29")
    (tmp_path / "data" / "fairface_label_val.csv").write_text("\n".join(labels) + "\n", encoding="utf-8")
    (tmp_path / "answers.csv").write_text("\n".join(answers) + "\n", encoding="utf-8")
    asked: dict[str, Any] = {"data": tmp_path / "data", "by": ["gender"], "draws": 0, "permutations": 0}
    run = api.evaluate("fairface/gender", tmp_path / "answers.csv", model="m", runs=tmp_path / "runs", **asked)
    assert run.folder is not None
    with serving(tmp_path / "runs", tmp_path / "data") as address:
        page = open_page(f"{address}run/{key_of(run.folder, tmp_path / 'runs')}/gallery", expect=".gallery img")
        assert "10,000 samples" in page.inner_text("main")
        for turned in range(2, 12):
            page.keyboard.press("ArrowRight")
            page.get_by_text(f"page {turned} of 417").wait_for()
            page.wait_for_load_state("load")
        assert page.locator(".gallery img").count() == 24
        page.goto(page.url.split("page=")[0] + "page=417")
        assert page.locator(".gallery img").count() == SAMPLES - 416 * 24
        page.goto("about:blank")  # what it still loads ends before the server does
