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
        (truth, tmp_path / "odd.json", "an entry has no usable 'category_id'"),
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


def warned(folder: Path, change: Any = None, truth_change: Any = None, groups: str = "", **options: Any) -> str:
    truth, results, by_object = coco(folder)
    if change:
        entries = [change(entry) for entry in json.loads(results.read_text())]
        results.write_text(json.dumps(entries))
    if truth_change:
        truth.write_text(json.dumps(truth_change(json.loads(truth.read_text()))))
    if groups:
        by_object.write_text(groups)
    by = ["tone"] if groups else []
    chosen = {**options, **({"groups": by_object} if groups else {})}
    settings = {"draws": 0, "permutations": 0}
    run = eh.evaluate("table/detection", results, data=truth, options=chosen, by=by, settings=settings)
    return "\n".join(run.results.warnings)


def cornered(entry: dict[str, Any]) -> dict[str, Any]:
    x, y, width, height = entry["bbox"]
    return {**entry, "bbox": [x, y, x + width, y + height]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (cornered, "boxes of the detections look like x0, y0, x1, y1"),
        (lambda entry: {**entry, "bbox": [side / 200 for side in entry["bbox"]]}, "look like shares of the image"),
        (lambda entry: {**entry, "image_id": entry["image_id"] % 40 + 1}, "hardly overlap any object"),
        (lambda entry: {**entry, "score": 100 * entry["score"]}, "scores run from"),
    ],
)
def test_detections_of_another_form_are_named(tmp_path: Path, change: Any, words: str) -> None:
    assert words in warned(tmp_path, change)


def test_detections_as_they_should_be_are_not_warned_of_in_any_order(tmp_path: Path) -> None:
    assert warned(tmp_path).endswith("detections lie on crowds and are left out")
    assert "\n" not in warned(tmp_path)
    truth, results, _ = coco(tmp_path)
    settings = {"draws": 0, "permutations": 0}
    first = eh.evaluate("table/detection", results, data=truth, by=(), settings=settings).results
    results.write_text(json.dumps(json.loads(results.read_text())[::-1]))
    turned = eh.evaluate("table/detection", results, data=truth, by=(), settings=settings).results
    assert turned.estimates == first.estimates


def test_annotations_that_look_like_corners_are_named(tmp_path: Path) -> None:
    def change(document: Any) -> Any:
        return {**document, "annotations": [cornered(entry) for entry in document["annotations"]]}

    assert "boxes of the objects of the ground truth look like x0, y0, x1, y1" in warned(tmp_path, truth_change=change)


def test_repeated_detections_are_counted(tmp_path: Path) -> None:
    truth, results, _ = coco(tmp_path)
    entries = json.loads(results.read_text())
    results.write_text(json.dumps(entries + entries[:3]))
    run = eh.evaluate("table/detection", results, data=truth, by=(), settings={"draws": 0, "permutations": 0})
    assert any(warning.startswith("3 of") and "repeat another" in warning for warning in run.results.warnings)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda entry: {name: entry[name] for name in entry if name != "score"}, "no usable 'score'"),
        (lambda entry: {**entry, "bbox": [9, 9, -5, 5]}, "a negative width or height"),
        (lambda entry: {**entry, "image_id": str(entry["image_id"])}, "Found are image_id '"),
    ],
)
def test_detections_that_can_not_be_used_are_refused(tmp_path: Path, change: Any, words: str) -> None:
    with pytest.raises(eh.PredictionError, match=words):
        warned(tmp_path, change)


def test_objects_that_are_listed_twice_or_are_of_no_image_are_refused(tmp_path: Path) -> None:
    with pytest.raises(eh.DataError, match="have the id of another"):
        warned(tmp_path, truth_change=lambda document: {**document, "annotations": document["annotations"] * 2})
    with pytest.raises(eh.DataError, match="its image_id 1 is not listed under images"):
        warned(tmp_path, truth_change=lambda document: {**document, "images": document["images"][1:]})


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ("image_id,tone\n1001,dark\n1002,light", "no 'image_id' occurs in the ground truth"),
        ("image_id,tone\n1,dark\n1,light", "occur more than once"),
    ],
)
def test_groups_that_name_nothing_or_name_it_twice_are_refused(tmp_path: Path, groups: str, words: str) -> None:
    with pytest.raises(eh.DataError, match=words):
        warned(tmp_path, groups=groups)


def test_images_without_a_group_are_counted(tmp_path: Path) -> None:
    assert "38 of 40 images are in no row" in warned(tmp_path, groups="image_id,tone\n1,dark\n2,light")


@pytest.mark.parametrize("overlap", [0, 1.5, 50])
def test_an_overlap_that_no_box_can_have_is_refused(tmp_path: Path, overlap: float) -> None:
    with pytest.raises(eh.OptionError, match="an overlap above 0 and up to 1"):
        warned(tmp_path, overlap=overlap)


def numbered_anew(document: Any) -> Any:
    """Ids that begin anew in every image, as in sets that were merged or converted."""
    of_image: dict[int, int] = {}
    for entry in document["annotations"]:
        of_image[entry["image_id"]] = of_image.get(entry["image_id"], 0) + 1
        entry["id"] = of_image[entry["image_id"]]
    return document


def test_ids_that_begin_anew_in_every_image_are_warned_of_and_needed_for_groups_by_annotation_only(
    tmp_path: Path,
) -> None:
    by_image = "image_id,tone\n" + "\n".join(f"{n + 1},{'dark' if n % 2 else 'light'}" for n in range(40))
    assert "are taken as different objects" in warned(tmp_path, truth_change=numbered_anew)
    assert "are taken as different objects" in warned(tmp_path, truth_change=numbered_anew, groups=by_image)
    with pytest.raises(eh.DataError, match="groups by annotation_id are ambiguous"):
        warned(tmp_path, truth_change=numbered_anew, groups="annotation_id,tone\n1,dark\n2,light")


def test_a_table_of_groups_may_have_a_row_for_every_object_of_an_image(tmp_path: Path) -> None:
    rows = [f"{n + 1},{'dark' if n % 2 else 'light'}" for n in range(40)]
    once = warned(tmp_path, groups="\n".join(["image_id,tone", *rows]))
    assert warned(tmp_path, groups="\n".join(["image_id,tone", *rows, *rows[:30]])) == once


@pytest.mark.parametrize(
    ("change", "form"),
    [
        (lambda x, y, width, height: [x + width / 2, y + height / 2, width, height], "centre x, centre y"),
        (lambda x, y, width, height: [y, x, height, width], "look like y, x, "),
        (lambda x, y, width, height: [2 * x, 2 * y, 2 * width, 2 * height], "height, multiplied by 2"),
        (lambda x, y, width, height: [x / 4, y / 4, width / 4, height / 4], "height, divided by 4"),
    ],
)
def test_boxes_of_many_forms_are_named(tmp_path: Path, change: Any, form: str) -> None:
    said = warned(tmp_path, lambda entry: {**entry, "bbox": change(*entry["bbox"])})
    assert form in said
