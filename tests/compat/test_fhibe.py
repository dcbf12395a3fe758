"""The drop-in: the published calls, folders, files and exceptions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from face_tables import write_faces
from fhibe_classical import EXAMPLES

from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.demo import make_subjects, write_bodies
from evenhand.compat.fhibe import BaseModelWrapper, BiasReport, evaluate_task
from evenhand.core.errors import EvenhandError

FILES = {
    "person_localization": {"gt_bbox_iou_scores", "results_iou_threshold", "detailed_results_iou_threshold"},
    "person_parsing": {"gt_mask_iou_scores", "results_iou_threshold", "detailed_results_iou_threshold"},
    "face_localization": {"gt_bbox_iou_scores", "results_iou_threshold", "detailed_results_iou_threshold"},
    "keypoint_estimation": {"oks_scores", "pck_scores_threshold", "results_oks_threshold"},
    "body_parts_detection": {"body_part_detections", "results_body_parts_AR_DET_threshold"},
    "face_parsing": {"F1_scores"},
    "face_verification": set(),
    "face_encoding": {"psnr_scores"},
}
ATTRIBUTES = ["pronoun", "apparent_skin_color"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up FHIBE with pictures."""
    folder = tmp_path_factory.mktemp("fhibe")
    people = make_subjects(10, "compat")
    write_bodies(folder, people, images=2, size=(160, 120), pixels=True)
    write_faces(folder, people, images=3, size=64, pixels=True)
    return folder


def call(root: Path, task: str, results: Path, **more: Any) -> Path:
    face = task in vocabulary.FACE_TASKS
    dataset = "fhibe_face_crop_align" if face else "fhibe"
    arguments: dict[str, Any] = {
        "data_rootdir": str(root),
        "dataset_name": dataset,
        "model_name": "example",
        "task_name": task,
        "attributes": ATTRIBUTES,
        "results_rootdir": str(results),
        "model": None,
        "cuda": False,
        **more,
    }
    evaluate_task(**arguments)
    mini = "mini" if more.get("use_mini_dataset") else "."
    return results / mini / task / (dataset if face else "fhibe_downsampled") / arguments["model_name"]


@pytest.mark.parametrize("task", sorted(FILES))
def test_an_example_that_looks_at_pixels_runs_and_writes_the_published_files(
    task: str, root: Path, tmp_path: Path
) -> None:
    metrics = ["PSNR"] if task == "face_encoding" else None
    folder = call(root, task, tmp_path, model=EXAMPLES[task](), metrics=metrics)
    there = {path.stem for path in folder.glob("*.json")}
    assert FILES[task] <= there
    names = metrics or vocabulary.DEFAULT_METRICS[task]
    for metric in names:
        content = json.loads((folder / f"intersectional_results_{metric}.json").read_text())
        assert next(iter(content)) == "['pronoun']"
    before = {path.name: path.read_bytes() for path in folder.glob("*.json")}
    call(root, task, tmp_path, reuse_model_outputs=True, metrics=metrics)
    assert {path.name: path.read_bytes() for path in folder.glob("*.json")} == before


def test_the_examples_find_people_in_pixels(root: Path, tmp_path: Path) -> None:
    folder = call(root, "person_localization", tmp_path, model=EXAMPLES["person_localization"]())
    scores = json.loads((folder / "gt_bbox_iou_scores.json").read_text())
    assert np.median(scores) > 0.9


class Boxes(BaseModelWrapper):
    """A wrapped model that finds what it was made with."""

    def data_preprocessor(self, img_filepaths: list[str], **kwargs: Any) -> list[list[str]]:
        return [[path] for path in img_filepaths]

    def __call__(self, batch: list[str]) -> list[dict[str, Any]]:
        return [{"bboxes": [self.model], "scores": [1.0], "labels": [0]}]


def test_two_models_under_one_name_give_the_second_ones_numbers(root: Path, tmp_path: Path) -> None:
    good = call(root, "person_localization", tmp_path, model=EXAMPLES["person_localization"]())
    first = (good / "gt_bbox_iou_scores.json").read_text()
    call(root, "person_localization", tmp_path, model=Boxes([0.0, 0.0, 1.0, 1.0]))
    second = json.loads((good / "gt_bbox_iou_scores.json").read_text())
    assert first != json.dumps(second)
    assert max(second) < 0.1


def test_changed_thresholds_and_changed_size_change_the_result(root: Path, tmp_path: Path) -> None:
    model = EXAMPLES["keypoint_estimation"]()
    folder = call(root, "keypoint_estimation", tmp_path, model=model)
    assert len(json.loads((folder / "pck_scores_threshold.json").read_text())["thresholds"]) == 9
    metrics = {"PCK": {"thresholds": [0.3]}}
    call(root, "keypoint_estimation", tmp_path, reuse_model_outputs=True, metrics=metrics)
    assert json.loads((folder / "pck_scores_threshold.json").read_text())["thresholds"] == [0.3]
    for size in (5, 7):
        mini = call(root, "keypoint_estimation", tmp_path, model=model, use_mini_dataset=True, mini_dataset_size=size)
        assert len(json.loads((mini / "oks_scores.json").read_text())) == size


def test_changed_data_give_the_numbers_of_the_changed_data_whatever_score_files_say(tmp_path: Path) -> None:
    people = make_subjects(6, "changing")
    data = tmp_path / "data"
    write_bodies(data, people, images=1, size=(160, 120), pixels=True)
    folder = call(data, "person_localization", tmp_path / "results", model=EXAMPLES["person_localization"]())
    before = json.loads((folder / "gt_bbox_iou_scores.json").read_text())
    write_bodies(data, people, images=1, size=(160, 120), together=1.0)  # other people in the same pictures
    (folder / "gt_bbox_iou_scores.json").write_text(json.dumps([1.0] * 99))
    call(data, "person_localization", tmp_path / "results", reuse_model_outputs=True)
    after = json.loads((folder / "gt_bbox_iou_scores.json").read_text())
    assert len(after) == 12
    assert after != before


def _recall(run: Any) -> float:
    return float(next(one.number for one in run.results.estimates if one.metric == "AR_IOU"))


def test_by_the_verbs_too_another_model_other_thresholds_and_other_data_give_their_own_numbers(
    root: Path, tmp_path: Path
) -> None:
    from evenhand.benchmarks.fhibe import write_outputs
    from evenhand.benchmarks.fhibe.tasks import task_named
    from evenhand.run import evaluate, predict

    task, runs = task_named("person_localization"), tmp_path / "runs"
    settings: dict[str, Any] = {"model": "one name", "runs": runs, "by": ["pronoun"], "depth": 1, "draws": 0}
    good = predict(task, EXAMPLES["person_localization"](), root, runs=runs).file
    images = list(json.loads(good.read_text()))
    nothing = {"detections": [[0, 0, 1, 1]], "scores": [1]}
    poor = write_outputs("person_localization", dict.fromkeys(images, nothing), tmp_path / "p.json")
    first = evaluate(task, good, root, **settings)
    second = evaluate(task, poor, root, **settings)
    assert _recall(first) > 0.5
    assert _recall(second) == 0.0
    assert evaluate(task, good, root, **settings).reused
    strict = evaluate(task, good, root, options={"thresholds": (0.999,)}, **settings)
    assert _recall(strict) < _recall(first)
    few = evaluate(task, good, root, options={"mini": 5}, **settings)
    assert few.results.rows == 5
    other = tmp_path / "other"
    write_bodies(other, make_subjects(10, "compat"), images=2, size=(160, 120), together=1.0)
    changed = evaluate(task, good, other, options={"missing": "missed"}, **settings)
    assert changed.results.rows > first.results.rows
    assert len({run.manifest.fingerprint for run in (first, second, strict, few, changed)}) == 5


def test_custom_keypoints_are_written_into_the_results(root: Path, tmp_path: Path) -> None:
    names = ["Nose", "Left ankle"]
    folder = call(
        root, "keypoint_estimation", tmp_path, model=EXAMPLES["keypoint_estimation"](), custom_keypoints=names
    )
    content = json.loads((folder / "intersectional_results_PCK.json").read_text())
    assert content["custom_keypoints"] == names


def test_an_image_missing_from_stored_outputs_is_a_key_error_that_counts_them(root: Path, tmp_path: Path) -> None:
    folder = call(root, "person_localization", tmp_path, model=EXAMPLES["person_localization"]())
    stored = json.loads((folder / "model_outputs.json").read_text())
    (folder / "model_outputs.json").write_text(json.dumps(dict(list(stored.items())[2:])))
    with pytest.raises(KeyError, match="no answer for 2 of") as caught:
        call(root, "person_localization", tmp_path, reuse_model_outputs=True)
    assert isinstance(caught.value, EvenhandError)


def test_an_attribute_without_a_column_is_a_key_error(root: Path, tmp_path: Path) -> None:
    table = root / "data/processed/fhibe_downsampled/fhibe_downsampled.csv"
    other = tmp_path / "data/processed/fhibe_downsampled/fhibe_downsampled.csv"
    other.parent.mkdir(parents=True)
    text = table.read_text().replace("apparent_skin_color_hue_lum", "something_else", 1)
    other.write_text(text)
    with pytest.raises(KeyError, match="apparent_skin_color_hue_lum"):
        call(
            tmp_path,
            "person_localization",
            tmp_path / "r",
            model=Boxes([0, 0, 1, 1]),
            attributes=["apparent_skin_color_hue_lum"],
        )


def test_no_attributes_give_empty_results(root: Path, tmp_path: Path) -> None:
    folder = call(root, "person_localization", tmp_path, model=Boxes([0, 0, 1, 1]), attributes=[])
    assert json.loads((folder / "intersectional_results_AR_IOU.json").read_text()) == {}


def report(root: Path, results: Path, task: str, **more: Any) -> BiasReport:
    face = task in vocabulary.FACE_TASKS
    arguments: dict[str, Any] = {
        "model_name": "example",
        "task_name": task,
        "data_rootdir": str(root),
        "dataset_version": "made up",
        "results_base_dir": str(results),
        "dataset_name": "fhibe_face_crop_align" if face else "fhibe",
        **more,
    }
    return BiasReport(**arguments)


@pytest.mark.parametrize("task", ["person_localization", "body_parts_detection", "face_verification", "face_encoding"])
def test_the_report_is_a_pdf_with_its_figures_and_the_same_bytes_again(task: str, root: Path, tmp_path: Path) -> None:
    call(root, task, tmp_path, model=EXAMPLES[task](), metrics=["PSNR"] if task == "face_encoding" else None)
    made = report(root, tmp_path, task).generate_pdf_report(attributes=["pronoun"], report_savename="r.pdf")
    content = made.read_bytes()
    assert content.startswith(b"%PDF")
    assert any(made.parent.glob("*_pronoun.png"))
    assert (
        report(root, tmp_path, task).generate_pdf_report(attributes=["pronoun"], report_savename="r.pdf").read_bytes()
        == content
    )


@pytest.mark.parametrize("task", ["person_localization", "face_parsing"])
def test_the_report_of_a_mini_data_set_has_intervals_too(task: str, root: Path, tmp_path: Path) -> None:
    call(root, task, tmp_path, model=EXAMPLES[task](), use_mini_dataset=True, mini_dataset_size=12)
    made = report(root, tmp_path, task, use_mini_dataset=True)
    everyone = made.content(("pronoun",)).statistics.everyone(vocabulary.DEFAULT_METRICS[task][0])
    assert everyone is not None
    assert everyone.rows == 12
    assert made.generate_pdf_report(["pronoun"]).read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("size", [50, 40])
def test_a_mini_data_set_of_verification_is_judged_whatever_its_size(size: int, tmp_path: Path) -> None:
    write_faces(tmp_path, make_subjects(30, "many"), images=2, size=16, pixels=True)
    results = tmp_path / "results"
    folder = call(
        tmp_path, "face_verification", results, model=EXAMPLES["face_verification"](), use_mini_dataset=True,
        mini_dataset_size=size,
    )  # fmt: skip
    made = report(tmp_path, results, "face_verification", use_mini_dataset=True)
    assert not made.content(("pronoun",)).statistics.problems
    (folder / "evenhand_evaluation.json").unlink()  # as another tool leaves it: only the usual size can be guessed
    assert bool(made.content(("pronoun",)).statistics.problems) == (size != 50)


def test_the_figures_of_body_parts_show_every_part_with_its_own_interval(root: Path, tmp_path: Path) -> None:
    call(root, "body_parts_detection", tmp_path, model=EXAMPLES["body_parts_detection"]())
    content = report(root, tmp_path, "body_parts_detection").content(("pronoun",))
    rows = content.pages[1].figures["pronoun"].data.rows
    assert {row[1] for row in rows} == {"Face", "Hand"}
    assert content.pages[1].metric == "AR_DET"
    for row in rows:
        if row[2].low is not None:
            assert row[2].low <= row[2].value <= row[2].high


def test_the_figures_of_verification_show_the_spread_over_folds_and_compare_by_the_unbiased_rate(
    root: Path, tmp_path: Path
) -> None:
    call(root, "face_verification", tmp_path, model=EXAMPLES["face_verification"]())
    page = report(root, tmp_path, "face_verification").content(("pronoun",)).pages[0]
    table = page.figures["pronoun"].data
    assert all(row[1].low <= row[1].value <= row[1].high for row in table.rows if row[1].low is not None)
    assert "TAR_AT_FAR" in table.columns
    assert page.table is None


def test_the_report_without_data_shows_the_published_numbers_alone(root: Path, tmp_path: Path) -> None:
    call(root, "person_localization", tmp_path, model=Boxes([0.0, 0.0, 60.0, 150.0]))
    report = BiasReport("example", "person_localization", tmp_path / "nowhere", "1", tmp_path, "fhibe")
    content = report.content(("pronoun",))
    assert not content.statistics.estimates
    assert "AR_IOU has no intervals" in content.notes[0]
    assert report.generate_pdf_report(["pronoun"]).is_file()


def test_a_published_results_folder_is_reported_as_it_is(tmp_path: Path) -> None:
    groups = {"['0. She/her/hers']": [0.2] * 30, "['1. He/him/his']": [0.8, 0.9] * 15}
    content = {
        "['pronoun']": {
            key: {"scores": scores, "AR_IOU": float(np.mean(scores)), "Class_Size": 30}
            for key, scores in groups.items()
        }
    }
    folder = tmp_path / "person_localization" / "fhibe_downsampled" / "theirs"
    folder.mkdir(parents=True)
    (folder / "intersectional_results_AR_IOU.json").write_text(json.dumps(content).replace("0.2,", "NaN,", 1))
    report = BiasReport("theirs", "person_localization", tmp_path, "1", tmp_path, "fhibe")
    shown = report.content(("pronoun",)).pages[0]
    assert shown.table is not None
    assert shown.table[2][1] == "&#8226; She/her/hers"
    assert [row[2] for row in shown.figures["pronoun"].data.rows] == [29, 30]  # the bare NaN is no score
    assert report.generate_pdf_report(["pronoun"]).is_file()


def test_the_report_refuses_what_was_not_evaluated_by_name(root: Path, tmp_path: Path) -> None:
    call(root, "person_localization", tmp_path, model=Boxes([0, 0, 1, 1]))
    with pytest.raises(ValueError, match="has not yet been evaluated for this model"):
        report(root, tmp_path, "face_parsing")
    made = report(root, tmp_path, "person_localization", downsampled=False)
    with pytest.raises(ValueError, match="at least one attribute"):
        made.generate_pdf_report(attributes=[])
    with pytest.raises(KeyError, match="Evaluated attributes: pronoun, apparent_skin_color"):
        made.generate_pdf_report(attributes=["age"])


def test_disparities_come_from_the_content_of_a_results_file(root: Path, tmp_path: Path) -> None:
    folder = call(root, "person_localization", tmp_path, model=EXAMPLES["person_localization"]())
    content = json.loads((folder / "intersectional_results_AR_IOU.json").read_text())
    made = report(root, tmp_path, "person_localization")
    assert made.calculate_disparity(content, ["pronoun"], "AR_IOU", k=1) == []


def test_a_wrapped_model_answers_samples_of_the_house(root: Path, tmp_path: Path) -> None:
    from evenhand.benchmarks.fhibe.tasks import task_named
    from evenhand.run import predict

    outcome = predict(task_named("person_localization"), Boxes([0.0, 0.0, 9.0, 9.0]), root, runs=tmp_path)
    stored = json.loads(outcome.file.read_text())
    assert len(stored) == outcome.answered
    assert all(entry["detections"] == [[0.0, 0.0, 9.0, 9.0]] for entry in stored.values())


class _Failing(Boxes):
    """Breaks down after some images."""

    name = "boxes"
    after = 5

    def __call__(self, batch: list[str]) -> list[dict[str, Any]]:
        self.after -= 1
        if self.after < 0:
            raise RuntimeError("out of memory")
        return super().__call__(batch)


def test_after_a_crash_only_the_rest_is_asked(root: Path, tmp_path: Path) -> None:
    from evenhand.benchmarks.fhibe.tasks import task_named
    from evenhand.core.errors import ModelError
    from evenhand.run import predict

    task, model = task_named("person_localization"), _Failing([0.0, 0.0, 9.0, 9.0])
    with pytest.raises(ModelError, match="out of memory"):
        predict(task, model, root, runs=tmp_path)
    model.after = 1000
    outcome = predict(task, model, root, runs=tmp_path, resume=True)
    assert outcome.asked_now == outcome.answered - 5


def test_many_intersections_are_said_before_the_work(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from evenhand.compat.fhibe.evaluate import evaluate as evaluation

    monkeypatch.setattr(evaluation, "_MANY", 10)
    call(root, "person_localization", tmp_path, model=Boxes([0, 0, 1, 1]))
    assert "2 attributes have 3 combinations" in caplog.text


class _Simple:
    """A model of the house: it yields ids with plain answers, in any order."""

    name = "simple"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def predict(self, samples: Any) -> Any:
        for sample in reversed(list(samples)):
            yield sample.id, self.answer


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        ("face_localization", {"detections": [[1, 1, 9, 9]], "scores": [0.5]}),
        ("face_parsing", np.ones((64, 64), dtype=np.uint8)),
        ("face_verification", np.array([0.6, 0.8])),
        ("keypoint_estimation", {"keypoints": [[[1.0, 1.0]] * 17], "scores": [[0.5] * 17]}),
    ],
)
def test_a_simple_model_answers_in_plain_forms(task: str, answer: Any, root: Path, tmp_path: Path) -> None:
    from evenhand.benchmarks.fhibe.tasks import task_named
    from evenhand.run import evaluate, predict

    outcome = predict(task_named(task), _Simple(answer), root, runs=tmp_path)
    run = evaluate(task_named(task), outcome.file, root, by=["pronoun"], depth=1, draws=20, permutations=20)
    assert outcome.answered == run.results.coverage.answered
    assert not outcome.unanswered


class _Measured:
    """What a comparer gives: one number per pair."""

    def __init__(self, count: int) -> None:
        self.positions, self.values, self.problems = np.arange(count), np.full((count, 1), 0.25), ()


class _Comparer:
    def comparisons(self, images: Any, others: Any) -> _Measured:
        return _Measured(len(images))


def test_without_the_weights_of_one_metric_the_others_are_computed_and_it_is_said(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from evenhand.benchmarks.fhibe import pictures
    from evenhand.instruments.errors import WeightsError

    def absent(device: str) -> Any:
        raise WeightsError("the weights 'curricularface' are not here")

    made = {"PSNR": lambda device: _Comparer(), "LPIPS": lambda device: _Comparer(), "CURRICULAR_FACE": absent}
    monkeypatch.setattr(pictures, "_BUILDERS", made)
    folder = call(root, "face_encoding", tmp_path, model=EXAMPLES["face_encoding"](), cuda=False)
    assert {path.name for path in folder.glob("*_scores.json")} == {"psnr_scores.json", "lpips_scores.json"}
    assert "CURRICULAR_FACE was left out" in caplog.text
    with pytest.raises(WeightsError):
        call(root, "face_encoding", tmp_path, reuse_model_outputs=True, metrics=["CURRICULAR_FACE"], cuda=False)


def test_super_resolved_pictures_lie_beside_the_file_that_names_them(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evenhand.benchmarks.fhibe import pictures

    monkeypatch.setattr(pictures, "_BUILDERS", {"LPIPS": lambda device: _Comparer()})
    folder = call(root, "face_super_resolution", tmp_path, model=EXAMPLES["face_super_resolution"](), cuda=False)
    stored = json.loads((folder / "model_outputs.json").read_text())
    assert all(Path(entry["super_res_filename"]).name.startswith("super_") for entry in stored.values())
    assert all(Path(entry["super_res_filename"]).is_file() for entry in stored.values())
    content = json.loads((folder / "intersectional_results_LPIPS.json").read_text())
    assert next(iter(content["['pronoun']"].values()))["LPIPS"] == 0.25


def test_encodings_are_found_under_the_documented_name(root: Path, tmp_path: Path) -> None:
    folder = call(root, "face_encoding", tmp_path, model=EXAMPLES["face_encoding"](), metrics=["PSNR"], cuda=False)
    before = (folder / "psnr_scores.json").read_bytes()
    for path in list((folder / "face_encodings").iterdir()):
        path.rename(path.with_name(path.name.removeprefix("faces_crop_and_align_")))
    call(root, "face_encoding", tmp_path, reuse_model_outputs=True, metrics=["PSNR"], cuda=False)
    assert (folder / "psnr_scores.json").read_bytes() == before


@pytest.mark.slow
@pytest.mark.torch
def test_lpips_of_super_resolution_is_measured_by_the_real_network(root: Path, tmp_path: Path) -> None:
    folder = call(
        root, "face_super_resolution", tmp_path, model=EXAMPLES["face_super_resolution"](), cuda=False,
        use_mini_dataset=True, mini_dataset_size=3,
    )  # fmt: skip
    scores = json.loads((folder / "lpips_scores.json").read_text())
    assert len(scores) == 3
    assert all(0 < score < 1 for score in scores.values())


def test_attributes_are_a_list_and_none_is_no_list(root: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Attributes must be a list of names, not NoneType"):
        call(root, "person_localization", tmp_path, reuse_model_outputs=True, attributes=None)
