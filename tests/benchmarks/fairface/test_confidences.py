"""Confidences that models state, in every form they come in, and their evaluation."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import evenhand
from evenhand.benchmarks.fairface.confidences import stated_confidences
from evenhand.core.metric import Grid


@pytest.mark.parametrize(
    ("payload", "gender"),
    [
        ({"gender": "male", "confidence": {"gender": 0.9}}, 0.9),
        ({"gender": "male", "confidence": {"Gender": "90%"}}, 0.9),
        ({"gender": "male", "gender_confidence": 90}, 0.9),
        ({"gender": {"label": "male", "confidence": 0.25}}, 0.25),
        ({"result": {"gender": "male", "gender_confidence": 0.5}}, 0.5),
        ({"gender": {"Man": 99.0, "Woman": 1.0}, "dominant_gender": "Man"}, 0.99),
        ({"gender": {"Man": 0.3, "Woman": 0.7}}, 0.7),
        ("Sure: {'gender': 'male', 'confidence': {'gender': 1}} as asked", 1.0),
        ({"gender": "male", "face_confidence": 0.99}, None),
        ({"gender": "male", "confidence": 0.9}, None),
        ({"gender": "male", "gender_confidence": "high"}, None),
        ({"gender": "male", "gender_confidence": -1}, None),
        ("a man", None),
        (None, None),
        ("{" * 200, None),
    ],
)
def test_confidences_are_found_in_every_form(payload: Any, gender: float | None) -> None:
    found = stated_confidences(payload).gender
    assert math.isnan(found) if gender is None else found == pytest.approx(gender)


def test_a_model_that_states_confidences_is_judged_by_them(tmp_path: Path) -> None:
    labels, answers = ["file,age,gender,race,service_test"], []
    for number in range(1, 81):
        truth = "Male" if number % 2 else "Female"
        labels.append(f"val/{number}.jpg,20-29,{truth},White,True")
        said = truth if number % 4 else "Male"  # right in 60 of 80 cases
        answer = {"gender": said, "confidence": {"gender": 0.95}} if number > 8 else {"gender": said}
        answers.append(json.dumps({"image_path": f"val/{number}.jpg", "raw_output": json.dumps(answer)}))
    (tmp_path / "fairface_label_val.csv").write_text("\n".join(labels) + "\n")
    (tmp_path / "answers.jsonl").write_text("\n".join(answers) + "\n")
    run = evenhand.evaluate(
        "fairface/gender",
        tmp_path / "answers.jsonl",
        data=tmp_path,
        options={"confidence": "on"},
        by=["gender"],
        draws=50,
        permutations=20,
        runs=tmp_path / "runs",
    )
    error = run.results.get("confidence", "expected_calibration_error")
    assert error.value == pytest.approx(0.95 - 54 / 72)
    assert error.missing == 8
    assert error.low is not None
    table = run.results.get("confidence", "reliability").value
    assert isinstance(table, Grid)
    assert table.values[0].tolist() == pytest.approx([72, 0.95, 54 / 72])
    page = evenhand.report(run, path=tmp_path / "report.html").read_text()
    assert "Can its confidence be believed?" in page
