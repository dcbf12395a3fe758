"""What the published code gets wrong or stumbles over, and what is done here, quirk by quirk."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand.compat.fhibe
from evenhand.benchmarks.fhibe import attributes, codec, data, pictures, write_outputs
from evenhand.benchmarks.fhibe.cells import LiteralError
from evenhand.benchmarks.fhibe.options import FacePictureOptions, FhibeOptions, RecallOptions
from evenhand.benchmarks.fhibe.tasks import task_named
from evenhand.core.errors import PredictionError
from evenhand.core.metric import Direction
from evenhand.core.task import Tools
from evenhand.run import evaluate

IMAGE = "data/raw/s1/i1/main_i1.png"


def test_the_distance_between_pictures_is_better_when_lower_in_every_evaluation() -> None:  # Q14
    (lpips,) = task_named("face_super_resolution").metrics(FacePictureOptions())
    assert lpips.outputs["mean"] is Direction.LOWER


class _Problem:
    picture, reason = "b.png", "no face was found"


class _Aligning:
    """A comparer that could not align the second picture."""

    def comparisons(self, images: Any, others: Any) -> Any:
        found = type("Found", (), {})()
        found.positions, found.values, found.problems = np.array([0, 2]), np.array([[-0.1], [0.7]]), (_Problem(),)
        return found


def test_one_failed_alignment_leaves_out_one_picture_and_is_said(monkeypatch: pytest.MonkeyPatch) -> None:  # Q15
    monkeypatch.setattr(pictures, "_BUILDERS", {"CURRICULAR_FACE": lambda device: _Aligning()})
    said: list[str] = []
    paths = [Path(name) for name in ("a.png", "b.png", "c.png")]
    found = pictures.compare("CURRICULAR_FACE", paths, paths, Tools(warn=said.append), required=True)
    assert np.isnan(found).tolist() == [False, True, False]
    assert "1 of 3 pictures can't be measured" in said[0]
    assert "b.png: no face was found" in said[0]


def test_importing_the_drop_in_touches_no_logging_and_works_in_any_order() -> None:  # Q21
    package = Path(evenhand.compat.fhibe.__file__).parent
    names = sorted((path.stem for path in package.glob("[a-z]*.py")), reverse=True)
    program = "import logging\n" + "\n".join(f"import evenhand.compat.fhibe.{name}" for name in names)
    program += "\nassert not logging.getLogger().handlers and logging.getLogger().level == logging.WARNING"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    assert logging.getLogger("evenhand").handlers == []


@pytest.mark.parametrize(
    "key",
    [
        "__import__('os').system('true')",
        "['a'].__class__",
        "[" * 5000,
        "['" + "9" * 10 + "'",
        "{'a': 1}",
        "[lambda: 0]",
    ],
)
def test_a_hostile_group_key_is_an_error_and_never_run(key: str) -> None:  # Q24
    with pytest.raises(LiteralError):
        attributes.parse_key(key)


def _read(write: Any, text: str) -> Any:
    root = write({})
    (root / "model_outputs.json").write_text(text)
    dataset = data.load("person_localization", root, FhibeOptions())
    return codec.PersonBoxCodec().read(root / "model_outputs.json", dataset, RecallOptions())


@pytest.mark.parametrize(
    "answer",
    [
        '{"detections": ' + "[" * 3000 + "]" * 3000 + "}",
        '{"detections": [["__import__(\'os\')", 0, 1, 1]], "scores": [1]}',
        '{"detections": [[1e999, 0, 1]], "scores": [1]}',
        '{"detections": {"a": 1}, "scores": [1]}',
        '{"detections": [[' + "9" * 5000 + ', 0, 1, 1]], "scores": [1]}',
    ],
)
def test_a_hostile_answer_is_refused_with_its_image(write: Any, answer: str) -> None:  # Q24
    with pytest.raises(PredictionError, match=r"main_i1.png|not JSON"):
        _read(write, f'{{"{IMAGE}": {answer}}}')


def test_a_hostile_image_key_matches_no_image(write: Any) -> None:  # Q24
    with pytest.raises(PredictionError, match="has no answer for 1 of 1 images"):
        _read(write, '{"__import__(\'os\').system(\'true\')": {"detections": [], "scores": []}}')


def test_the_form_of_the_answers_that_was_met_is_recorded(write: Any, tmp_path: Path) -> None:  # Q25
    root = write({}, {"filepath": "b.png", "subject_id": "s2"})
    stored = root / "model_outputs.json"
    found = {"bboxes": [[0, 0, 9, 9]], "scores": [1.0]}
    stored.write_text(json.dumps({IMAGE: found, "b.png": found}))
    run = evaluate(task_named("person_localization"), stored, root, by=[], draws=0)
    assert run.results.facts["form"] == "'bboxes' instead of 'detections'"


def test_a_country_that_is_cleaned_to_none_is_left_out_of_its_groups_and_counted(write: Any) -> None:  # §13
    from evenhand.benchmarks.fhibe import vocabulary

    nowhere = sorted(vocabulary.DROPPED_COUNTRIES)[0]
    root = write({}, {"filepath": "b.png", "location_country": nowhere})
    found = data.load("person_localization", root, FhibeOptions())
    assert "1 of 2 rows have no location_country; they are left out of its groups." in found.warnings
    boxes = {"detections": [[0, 0, 10, 10]], "scores": [1.0]}
    stored = write_outputs("person_localization", {IMAGE: boxes, "b.png": boxes}, root / "o.json")
    run = evaluate(task_named("person_localization"), stored, root, by=["location_country"], depth=1, draws=0)
    assert run.results.missing_attributes == {"location_country": 1}


def test_the_promised_average_over_parts_is_there(write: Any) -> None:  # Q11
    root = write({}, {"filepath": "b.png", "subject_id": "s2"})
    parts = {"detections": [{"Face": 1.0, "Hand": 0.0}]}
    stored = write_outputs("body_parts_detection", {IMAGE: parts, "b.png": parts}, root / "o.json")
    run = evaluate(task_named("body_parts_detection"), stored, root, by=[], draws=0)
    values = {(one.metric, one.output): one.number for one in run.results.estimates}
    assert values["AR_DET", "mean_over_parts"] == 1.0  # nobody shows a hand, so recall is that of faces
    assert values["ACC_DET", "mean_over_parts"] == 1.0
