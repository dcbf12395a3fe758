"""Detections in COCO's format."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh


def coco(folder: Path, seed: int = 1) -> tuple[Path, Path, Path]:
    rng = np.random.default_rng(seed)
    images = [{"id": n + 1, "width": 200, "height": 200} for n in range(40)]
    annotations: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    groups = ["annotation_id,tone"]
    for image in images:
        for _ in range(int(rng.integers(1, 5))):
            where = {"image_id": image["id"], "category_id": int(rng.integers(1, 4))}
            x, y = rng.integers(0, 150, 2)
            box = [float(x), float(y), 40.0, 40.0]
            number = len(annotations) + 1
            dark = number % 3 == 0
            annotations.append({"id": number, **where, "bbox": box, "area": 1600.0, "iscrowd": 0})
            if rng.random() < 0.1:
                annotations[-1] |= {"bbox": [box[0], box[1], 80.0, 80.0], "area": 6400.0, "iscrowd": 1}
            groups.append(f"{number},{'dark' if dark else 'light'}")
            if rng.random() < (0.5 if dark else 0.9):
                moved = [box[0] + float(rng.normal(0, 3)), box[1] + float(rng.normal(0, 3)), 40.0, 38.0]
                results.append({**where, "bbox": moved, "score": float(rng.random())})
        if rng.random() < 0.5:
            alarm = [float(rng.integers(0, 150)), float(rng.integers(0, 150)), 30.0, 30.0]
            results.append({**where, "bbox": alarm, "score": float(rng.random()) * 0.6})
    truth = {
        "images": images,
        "annotations": annotations,
        "categories": [{"id": n, "name": str(n)} for n in (1, 2, 3, 9)],
    }
    paths = folder / "truth.json", folder / "results.json", folder / "groups.csv"
    for path, text in zip(paths, (json.dumps(truth), json.dumps(results), "\n".join(groups)), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_averages_are_those_of_pycocotools_and_groups_differ(tmp_path: Path, seed: int) -> None:
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    truth, results, groups = coco(tmp_path, seed)
    options = {"groups": groups, "score": 0.0}
    run = eh.evaluate("table/detection", results, data=truth, options=options, by=["tone"], draws=50, permutations=50)
    with contextlib.redirect_stdout(io.StringIO()):
        theirs = COCO(str(truth))
        judged = COCOeval(theirs, theirs.loadRes(str(results)), "bbox")
        judged.evaluate()
        judged.accumulate()
        judged.summarize()
    for name, place in (("AP", 0), ("AP50", 1), ("AP75", 2), ("AR", 8)):
        assert run.results.get("detection", name).value == pytest.approx(judged.stats[place], abs=1e-9), name
    recall = {tone: run.results.get("recall", group=eh.Group.of(tone=tone)).number for tone in ("dark", "light")}
    assert recall["dark"] < recall["light"]  # type: ignore[operator]
    assert 36 <= run.results.get("recall").units <= 40  # an image with nothing but crowds has no rows
    estimate = run.results.get("AP", group=eh.Group.of(tone="dark"))
    assert 0 <= estimate.low < estimate.number < estimate.high <= 1  # type: ignore[operator]


def test_at_most_a_hundred_detections_of_an_image_count(tmp_path: Path) -> None:
    box = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10]}
    far = {**box, "bbox": [50, 50, 10, 10]}
    truth = {"images": [{"id": 1}], "annotations": [{"id": 1, **box}], "categories": [{"id": 1}]}
    results = [{**far, "score": 0.9 - n / 1000} for n in range(100)] + [{**box, "score": 0.1}]
    for name, document in (("truth", truth), ("results", results)):
        (tmp_path / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    run = eh.evaluate("table/detection", tmp_path / "results.json", data=tmp_path / "truth.json", draws=0)
    assert run.results.get("AR").value == 0
    assert any("1 detections beyond the best 100" in text for text in run.results.warnings)


def test_files_that_are_not_cocos_are_refused(tmp_path: Path) -> None:
    truth, results, _ = coco(tmp_path)
    (tmp_path / "odd.json").write_text('[{"image_id": 1}]', encoding="utf-8")
    for data, predictions, message in (
        (results, results, "no COCO ground truth"),
        (truth, tmp_path / "odd.json", "a detection has no 'category_id'"),
        (truth, truth, "expected a list of detections"),
    ):
        with pytest.raises(eh.InputError, match=message):
            eh.evaluate("table/detection", predictions, data=data, draws=0)
    with pytest.raises(eh.OptionError, match="groups=FILE"):
        eh.evaluate("table/detection", results, data=truth, by=["tone"], draws=0)


def test_a_category_that_is_listed_twice_moves_no_box(tmp_path: Path) -> None:
    truth, results, _ = coco(tmp_path)
    once = eh.evaluate("table/detection", results, data=truth, draws=0, permutations=0).results
    document = json.loads(truth.read_text(encoding="utf-8"))
    document["categories"].insert(1, document["categories"][0])
    truth.write_text(json.dumps(document), encoding="utf-8")
    twice = eh.evaluate("table/detection", results, data=truth, draws=0, permutations=0).results
    assert [one.value for one in once.estimates] == [one.value for one in twice.estimates]
