"""DeepFace behind its call signature: recorded dictionaries, since its weights are not part of the tests."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

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
    module = ModuleType("deepface.DeepFace")
    module.analyze = recorded
    monkeypatch.setitem(sys.modules, "deepface", ModuleType("deepface"))
    monkeypatch.setitem(sys.modules, "deepface.DeepFace", module)


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


REAL = """
import sys, json
sys.path.extend(sys.argv[3:])
import numpy as np
from deepface.modules import modeling

WEIGHTS = {"Age": 35.4, "Gender": [0.9, 0.1], "Race": [0.1, 0.1, 0.5, 0.1, 0.1, 0.1]}

class Stub:  # a network without its weights
    def __init__(self, name):
        self.name = name
    def predict(self, picture):
        return np.asarray(WEIGHTS[self.name], dtype=np.float32) if self.name != "Age" else np.float64(WEIGHTS["Age"])

modeling.build_model = lambda task, model_name: Stub(model_name)
import evenhand
outcome = evenhand.predict("fairface", "deepface:skip", data=sys.argv[1], runs=sys.argv[2])
print(json.dumps([outcome.answered, str(outcome.file), dict(outcome.unanswered)]))
"""


def installed(install) -> str:
    """Where the real package is: the folder that EVENHAND_DEEPFACE names, or one into which it is installed here."""
    wanted = ["deepface", "werkzeug"]  # the wheel imports the second without asking for it
    known = os.environ.get("EVENHAND_DEEPFACE")
    return known or str(next((install(*wanted) / "lib").glob("python*/site-packages")))


@pytest.mark.slow
def test_the_real_package_is_called_and_what_it_returns_is_read(pictures, tmp_path, install):
    pictures(3)
    rows = "".join(f"val/{n}.png,30-39,Female,Black,True\n" for n in range(1, 4))
    (tmp_path / "fairface_label_val.csv").write_text("file,age,gender,race,service_test\n" + rows)
    arguments = [sys.executable, "-c", REAL, tmp_path, tmp_path / "runs", installed(install)]
    done = subprocess.run(arguments, capture_output=True, text=True, env={**os.environ, "DEEPFACE_HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr[-2000:]
    answered, file, unanswered = json.loads(done.stdout.splitlines()[-1])
    assert (answered, unanswered) == (3, {})
    record = json.loads(Path(file).read_text().splitlines()[0])
    assert record["raw_output"][0]["dominant_gender"] == "Woman"
    for task, metric in (("gender", "gender"), ("race", "race"), ("age", "single_bin")):
        run = evenhand.evaluate(f"fairface/{task}", file, data=tmp_path, draws=0)
        assert run.results.get(metric, "accuracy").number == 1.0
        assert run.results.facts["families"] == {"deepface": 3}
