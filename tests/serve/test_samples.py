"""What a page shows of a row: its pictures, with boxes, masks and keypoints of truth and answer drawn on them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand import api
from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.codec import encode_mask, write_outputs
from evenhand.benchmarks.fhibe.demo import make_subjects, write_bodies
from evenhand.serve.listing import key_of

SHAPES = {"person_localization": "<polygon", "person_parsing": "<polygon", "keypoint_estimation": "<circle"}


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`data` with drawn people, and `runs` of a model that is right about them."""
    folder = tmp_path_factory.mktemp("people")
    rows = write_bodies(folder / "data", make_subjects(6, "samples"), images=1, together=0.0, pixels=True)
    for task in SHAPES:
        answers: dict[str, Any] = {}
        for row in rows:
            points = row.figure.keypoints()
            found: Any = list(row.figure.box())
            scores: Any = [0.9]
            if task == "person_parsing":
                found = encode_mask(row.figure.mask(*row.size))
            if task == "keypoint_estimation":
                found = [list(points[name]) for name in vocabulary.KEYPOINTS]
                scores = [[0.9] * len(found)]
            answers[row.image] = {"detections": [found], "scores": scores}
        path = write_outputs(task, answers, folder / "answers" / task / "model_outputs.json")
        options: dict[str, Any] = {"data": folder / "data", "by": ["pronoun"], "draws": 0, "permutations": 0}
        api.evaluate(f"fhibe/{task}", path, model="exact", runs=folder / "runs", **options)
    return folder


@pytest.mark.parametrize("task", SHAPES)
def test_truth_and_answer_are_drawn_on_the_picture(people: Path, client_of: Callable[..., Any], task: str) -> None:
    run = next((people / "runs" / "fhibe" / task / "exact").iterdir())
    client = client_of(people)
    key = key_of(run, people / "runs")
    gallery = client.get(f"/run/{key}/gallery").text
    assert gallery.count('<svg class="marks" viewBox="0.0 0.0 192.0 256.0"') == 6
    for side in ("truth", "answer"):
        assert f'{SHAPES[task]} class="{side}"' in gallery
    assert "answered by the model" in gallery
    sample = re.search(r'href="(/run/\w+/row/0[^"]*)"', gallery)
    assert sample is not None
    page = client.get(sample[1].replace("&amp;", "&")).text
    assert 'class="marks"' in page
    assert re.search(r"<strong>(overlap \(IoU\)|share of keypoints found \(PCK\)) [01]\.\d\d</strong>", page)


def test_without_the_answers_the_truth_is_drawn_alone(people: Path, client_of: Callable[..., Any]) -> None:
    run = next((people / "runs" / "fhibe" / "person_localization" / "exact").iterdir())
    stored = run / "predictions" / "model_outputs.json"
    answers = stored.read_bytes()
    manifest = json.loads((run / "run.json").read_text(encoding="utf-8"))
    assert manifest["stored"]["predictions"]
    stored.write_text("{", encoding="utf-8")
    try:
        gallery = client_of(people).get(f"/run/{key_of(run, people / 'runs')}/gallery").text
    finally:
        stored.write_bytes(answers)
    assert '<polygon class="truth"' in gallery
    assert '<polygon class="answer"' not in gallery
