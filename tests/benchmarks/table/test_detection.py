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
        where = {"image_id": image["id"], "category_id": 1}
        for _ in range(int(rng.integers(1, 5))):
            x, y = rng.integers(0, 150, 2)
            box = [float(x), float(y), 40.0, 40.0]
            number = len(annotations) + 1
            dark = number % 3 == 0
            annotations.append({"id": number, **where, "bbox": box, "area": 1600.0, "iscrowd": 0})
            groups.append(f"{number},{'dark' if dark else 'light'}")
            if rng.random() < (0.5 if dark else 0.9):
                moved = [box[0] + float(rng.normal(0, 3)), box[1] + float(rng.normal(0, 3)), 40.0, 40.0]
                results.append({**where, "bbox": moved, "score": float(rng.random())})
        if rng.random() < 0.5:
            alarm = [float(rng.integers(0, 150)), float(rng.integers(0, 150)), 30.0, 30.0]
            results.append({**where, "bbox": alarm, "score": float(rng.random()) * 0.6})
    truth = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "face"}]}
    paths = folder / "truth.json", folder / "results.json", folder / "groups.csv"
    for path, text in zip(paths, (json.dumps(truth), json.dumps(results), "\n".join(groups)), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def test_average_precision_is_that_of_pycocotools_and_groups_differ(tmp_path: Path) -> None:
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    truth, results, groups = coco(tmp_path)
    options = {"groups": groups, "score": 0.0}
    run = eh.evaluate("table/detection", results, data=truth, options=options, by=["tone"], draws=50, permutations=50)
    with contextlib.redirect_stdout(io.StringIO()):
        theirs = COCO(str(truth))
        judged = COCOeval(theirs, theirs.loadRes(str(results)), "bbox")
        judged.params.iouThrs = np.array([0.5])
        judged.evaluate()
        judged.accumulate()
    expected = float(judged.eval["precision"][0, :, 0, 0, 2].mean())
    assert run.results.get("AP").value == pytest.approx(expected, abs=1e-9)
    recall = {tone: run.results.get("recall", group=eh.Group.of(tone=tone)).number for tone in ("dark", "light")}
    assert recall["dark"] < recall["light"] - 0.2  # type: ignore[operator]
    assert run.results.get("recall").units == 40


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
