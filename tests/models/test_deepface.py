"""DeepFace behind its call signature: recorded dictionaries, since its weights are not part of the tests."""

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import evenhand
from evenhand.core.errors import ModelError
from evenhand.core.task import Sample, Unanswered
from evenhand.models.deepface import DeepFaceModel, provider


def recorded(
    img_path,
    actions=("emotion", "age", "gender", "race"),
    enforce_detection=True,
    detector_backend="opencv",
    align=True,
    expand_percentage=0,
    silent=False,
    anti_spoofing=False,
):
    """What DeepFace 0.0.93 answers for a picture, with its NumPy numbers."""
    assert list(actions) == ["gender", "race", "age"]
    if img_path.endswith("2.png"):
        raise ValueError("Face could not be detected")
    return [
        {
            "age": np.int64(31),
            "region": {"x": 0, "y": 0, "w": 4, "h": 4, "left_eye": None, "right_eye": None},
            "face_confidence": np.float64(0.0),
            "gender": {"Woman": np.float32(97.5), "Man": np.float32(2.5)},
            "dominant_gender": "Woman",
            "race": {"asian": 2.0, "indian": 1.0, "black": 1.0, "white": 95.0, "middle eastern": 1.0},
            "dominant_race": "white",
        }
    ]


@pytest.fixture
def deepface(monkeypatch):
    module = ModuleType("deepface")
    module.DeepFace = SimpleNamespace(analyze=recorded)
    monkeypatch.setitem(sys.modules, "deepface", module)


def test_pictures_are_analysed_one_by_one(deepface, samples, tmp_path):
    given = [*samples(3), Sample("gone", (tmp_path / "gone.png",))]
    answers = dict(provider().predict(iter(given)))
    assert answers["1"][0]["age"] == 31
    assert isinstance(answers["1"][0]["age"], int)
    assert answers["2"] == Unanswered("ValueError: Face could not be detected")
    assert "does not exist" in answers["gone"].reason
    json.dumps(answers["1"])


def test_the_detector_and_settings_are_passed_on():
    seen = {}

    def analyse(**arguments):
        seen.update(arguments)
        return []

    model = DeepFaceModel(analyse, detector="retinaface", settings={"align": "false"})
    list(model.predict(iter([Sample("a", (Path(__file__),))])))
    assert seen["detector_backend"] == "retinaface"
    assert seen["align"] is False
    assert seen["enforce_detection"] is False
    assert model.name == "deepface:retinaface"
    assert model.facts["detector"] == "retinaface"


def test_a_deepface_that_never_works_stops_the_work(samples):
    def broken(**arguments):
        raise RuntimeError("no weights")

    with pytest.raises(ModelError, match="no weights"):
        list(DeepFaceModel(broken).predict(iter(samples(12))))


def test_without_deepface_the_advice_is_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "deepface", None)
    with pytest.raises(ModelError, match="pip install deepface"):
        provider()


def test_answers_of_deepface_are_evaluated_from_the_file_they_are_written_to(deepface, pictures, tmp_path):
    paths = pictures(4)
    rows = "".join(f"val/{path.name},30-39,Female,White,True\n" for path in paths)
    (tmp_path / "fairface_label_val.csv").write_text("file,age,gender,race,service_test\n" + rows)
    outcome = evenhand.predict("fairface", provider(), data=tmp_path, runs=tmp_path / "runs")
    assert outcome.answered == 3
    assert list(outcome.unanswered) == ["val/2.png"]
    run = evenhand.evaluate("fairface/age", outcome.file, data=tmp_path, draws=0, permutations=0)
    assert run.results.get("bin_overlap_accuracy_inclusive", "accuracy").number == 0.75
    assert run.results.facts["zero_face_confidence"] == 3
