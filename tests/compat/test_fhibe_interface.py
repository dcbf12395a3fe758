"""The published interface of FHIBE's tool: names, arguments, files, error classes and texts, numbers."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from face_tables import write_faces
from fhibe_classical import EXAMPLES
from PIL import Image

from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.codec import encode_mask
from evenhand.benchmarks.fhibe.demo import make_subjects, write_bodies
from evenhand.benchmarks.fhibe.tasks import task_named
from evenhand.compat.fhibe import BaseModelWrapper, BiasReport, evaluate_task
from evenhand.compat.fhibe.evaluate.provenance import FILENAME, Provenance, read_provenance, write_provenance
from evenhand.compat.fhibe.reporting.figures import FigureAxes, FigureBar, FigureLine, FigureText
from evenhand.core.errors import OptionError, RunError
from evenhand.run import evaluate

BODY = ("data/processed/fhibe_downsampled/fhibe_downsampled.csv", "fhibe_downsampled")
PAIR = ["pronoun", "age"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fhibe")
    people = make_subjects(24, "interface")
    write_bodies(folder, people, images=2, size=(160, 120), pixels=True)
    write_faces(folder, people, images=2, size=64, pixels=True)
    return folder


@pytest.fixture(scope="module")
def results(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder of four tasks."""
    folder = tmp_path_factory.mktemp("results")
    for task in ("person_localization", "keypoint_estimation", "body_parts_detection", "face_verification"):
        run(root, folder, task, model=EXAMPLES[task]())
    return folder


def run(root: Path, results: Path, task: str, **more: Any) -> Path:
    face = task in vocabulary.FACE_TASKS
    dataset = "fhibe_face_crop_align" if face else "fhibe"
    arguments: dict[str, Any] = {
        "data_rootdir": str(root), "dataset_name": dataset, "model": None, "model_name": "m", "task_name": task,
        "attributes": PAIR, "results_rootdir": str(results), "cuda": False, **more,
    }  # fmt: skip
    evaluate_task(**arguments)
    mini = results / "mini" if more.get("use_mini_dataset") else results
    return mini / task / (dataset if face else "fhibe_downsampled") / "m"


def made(root: Path, results: Path, task: str, **more: Any) -> BiasReport:
    dataset = "fhibe_face_crop_align" if task in vocabulary.FACE_TASKS else "fhibe"
    return BiasReport(
        model_name="m", task_name=task, data_rootdir=str(root), dataset_version="1", results_base_dir=str(results),
        dataset_name=dataset, **{"downsampled": True, **more},
    )  # fmt: skip


def content(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text())


def store(results: Path, task: str, answers: Any, dataset: str = "fhibe_downsampled") -> Path:
    folder = results / task / dataset / "m"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model_outputs.json").write_text(json.dumps(answers))
    return folder


def images(root: Path, name: str = BODY[1]) -> list[str]:
    import csv

    with (root / "data/processed" / name / f"{name}.csv").open() as file:
        return [row["filepath"] for row in csv.DictReader(file)]


# Signatures


def test_the_functions_take_the_published_arguments_in_their_order() -> None:
    assert list(inspect.signature(evaluate_task).parameters) == [
        "data_rootdir", "dataset_name", "model", "model_name", "task_name", "metrics", "attributes", "use_mini_dataset",
        "mini_dataset_size", "downsampled", "reuse_model_outputs", "results_rootdir", "cuda", "task_kwargs",
    ]  # fmt: skip
    assert list(inspect.signature(BiasReport).parameters) == [
        "model_name", "task_name", "data_rootdir", "dataset_version", "results_base_dir", "dataset_name", "results_dir",
        "downsampled", "use_mini_dataset",
    ]  # fmt: skip
    methods = {
        "get_attr_scores": "intersectional_results metric_name attr_name group_largest_regions",
        "calculate_disparity": "intersectional_results attributes_to_consider metric_name group_largest_regions k "
        "min_group_size",
        "make_disparity_table": "intersectional_results attributes_to_consider metric_name group_largest_regions",
        "plot_iou_vs_threshold": "savefig fig_savename",
        "plot_oks_vs_threshold": "savefig fig_savename",
        "plot_pck_vs_threshold": "savefig fig_savename",
        "plot_metric_by_intersectional_group": "metric_name attr_name intersectional_results group_largest_regions "
        "show_medians show_significance savefig fig_savename",
        "generate_pdf_report": "attributes group_largest_regions show_significance_on_plots report_savename",
        "get_metric_thresholds": "metric_name",
        "get_available_metrics": "",
        "validate_metric": "metric_name",
    }
    for name, arguments in methods.items():
        assert list(inspect.signature(getattr(BiasReport, name)).parameters)[1:] == arguments.split(), name


# Errors


@pytest.mark.parametrize(
    ("changed", "kind", "text"),
    [
        ({"reuse_model_outputs": False}, ValueError, "model cannot be None"),
        ({"dataset_name": "coco"}, ValueError, "dataset: coco must be one of"),
        ({"task_name": "face_parsing"}, KeyError, "not found in list of available tasks for dataset: fhibe"),
        ({"attributes": "age"}, ValueError, "Attributes must be a list"),
        ({"attributes": [3]}, ValueError, "Attributes must be strings"),
        ({"attributes": ["hat"]}, ValueError, "hat is not a valid attribute. It must be one of"),
        ({"metrics": "AR_IOU"}, ValueError, "metrics must be a dictionary, list, or None"),
        ({"metrics": {"AR_IOU": [0.5]}}, ValueError, "must map to a dict"),
        ({"metrics": {"AR_IOU": {}}}, KeyError, "dict must have a 'thresholds' key"),
        ({"metrics": {"AR_IOU": {"thresholds": 0.5}}}, ValueError, "must map to a list"),
        ({"metrics": {"AR_IOU": {"thresholds": [], "x": 1}}}, KeyError, "Key: x should not be present in"),
        ({"metrics": ["PCK"]}, ValueError, "Metric: PCK is not implemented for task: person_localization"),
        ({"data_rootdir": "/nowhere"}, RuntimeError, "Combined annotation file not found"),
        ({"model_name": "other"}, FileNotFoundError, "Model outputs file expected at"),
        ({"use_mini_dataset": True, "mini_dataset_size": 10_000}, ValueError, "10000 rows"),
    ],
)
def test_a_wrong_argument_raises_the_published_class_with_the_published_phrase(
    changed: dict[str, Any], kind: type[Exception], text: str, root: Path, results: Path
) -> None:
    with pytest.raises(kind, match=text):
        run(root, results, **{"task": "person_localization", "reuse_model_outputs": True, **_renamed(changed)})


def _renamed(changed: dict[str, Any]) -> dict[str, Any]:
    return {"task" if name == "task_name" else name: value for name, value in changed.items()} | (
        {"dataset_name": "fhibe"} if "task_name" in changed else {}
    )


@pytest.mark.parametrize(
    ("keypoints", "text"),
    [
        ([], "empty list of custom keypoints"),
        ([1], "is not a string"),
        (["Tail"], "is not a valid FHIBE keypoint"),
        (["Left eye", "Nose"], "not in the correct order"),
    ],
)
def test_wrong_keypoints_are_refused_with_the_published_phrases(
    keypoints: Any, text: str, root: Path, results: Path
) -> None:
    with pytest.raises(ValueError, match=text):
        run(root, results, "keypoint_estimation", reuse_model_outputs=True, custom_keypoints=keypoints)


def test_arguments_that_a_task_does_not_know_are_ignored_and_said(
    root: Path, results: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(root, results, "person_localization", reuse_model_outputs=True, custom_keypoints=["Tail"], colour="red")
    assert "custom_keypoints has no meaning for person_localization" in caplog.text
    assert "colour has no meaning" in caplog.text


@pytest.mark.parametrize(
    ("task", "member"),
    [("face_parsing", "map_ears_to_skin"), ("face_encoding", "save_encoding"), ("face_super_resolution", "save_array")],
)
def test_a_wrapper_without_what_its_task_needs_is_an_attribute_error(
    task: str, member: str, root: Path, tmp_path: Path
) -> None:
    class Bare(BaseModelWrapper):
        def data_preprocessor(self, img_filepaths: list[str], **kwargs: Any) -> list[str]:
            return img_filepaths

        def __call__(self, batch: Any) -> Any:
            return [{}]

    with pytest.raises(AttributeError, match=f"Model must have a '{member}'"):
        run(root, tmp_path, task, model=Bare(None))


# Attributes and helpers of the report


def test_the_report_knows_its_folders_tasks_and_metrics_as_text(root: Path, results: Path) -> None:
    report = made(root, results, "keypoint_estimation")
    assert report.results_base_dir == str(results)
    assert report.results_dir == str(results / "keypoint_estimation" / "fhibe_downsampled" / "m")
    assert report.dataset_base == "fhibe"
    assert report.dataset_name == "fhibe_downsampled"
    assert set(report.valid_tasks) == {
        "person_localization", "keypoint_estimation", "body_parts_detection", "face_verification"
    }  # fmt: skip
    assert sorted(report.get_available_metrics()) == ["AR_OKS", "PCK"]
    assert report.get_metric_thresholds("AR_OKS") == "0.50, 0.55, 0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90, 0.95"
    assert report.get_metric_thresholds("PCK") == "0.10, 0.20, 0.30, 0.40, 0.50, 0.60, 0.70, 0.80, 0.90"
    assert made(root, results, "face_verification").get_metric_thresholds("VAL") is None
    assert made(root, results, "face_verification").dataset_base == "fhibe_face"
    parts = made(root, results, "body_parts_detection")
    assert parts.get_metric_thresholds("ACC_DET") == "0.50"
    assert parts.evaluated_body_parts == ["Face", "Hand"]
    assert report.validate_metric("pck") == "PCK"
    with pytest.raises(ValueError, match="AR_IOU is not a valid metric for task: keypoint_estimation"):
        report.validate_metric("AR_IOU")
    with pytest.raises(ValueError, match="Task: face_parsing has not yet been evaluated for this model: m"):
        made(root, results, "face_parsing")


def test_a_report_can_be_given_its_results_folder(root: Path, results: Path) -> None:
    folder = results / "person_localization" / "fhibe_downsampled" / "m"
    report = made(root, results, "person_localization", results_dir=str(folder), downsampled=False)
    assert report.results_dir == str(folder)
    assert report.get_available_metrics() == ["AR_IOU"]


def test_scores_of_one_attribute_are_a_list_of_rows(root: Path, results: Path) -> None:
    report = made(root, results, "person_localization")
    stored = content(Path(report.results_dir), "intersectional_results_AR_IOU.json")
    rows = report.get_attr_scores(stored, "AR_IOU", "age", group_largest_regions=True)
    assert set(rows[0]) == {"age", "AR_IOU"}
    assert len(rows) == sum(entry["Class_Size"] for entry in stored["['age']"].values())
    parts = made(root, results, "body_parts_detection")
    stored = content(Path(parts.results_dir), "intersectional_results_ACC_DET.json")
    assert set(parts.get_attr_scores(stored, "ACC_DET", "pronoun", True)[0]) == {"pronoun", "Body Part", "ACC_DET"}
    faces = made(root, results, "face_verification")
    stored = content(Path(faces.results_dir), "intersectional_results_VAL.json")
    rows = faces.get_attr_scores(stored, "VAL", "pronoun", True)
    assert set(rows[0]) == {"pronoun", "VAL", "VAL_Error", "class_size"}


def test_disparities_and_their_table_take_the_published_keywords(root: Path, results: Path) -> None:
    report = made(root, results, "person_localization")
    scores = {"['0. She/her/hers']": [0.1] * 30, "['1. He/him/his']": [0.8, 0.9] * 15}
    stored = {
        "['pronoun']": {
            key: {"scores": value, "AR_IOU": float(np.mean(value)), "Class_Size": len(value)}
            for key, value in scores.items()
        }
    }
    found = report.calculate_disparity(
        intersectional_results=stored, attributes_to_consider=["pronoun"], metric_name="AR_IOU",
        group_largest_regions=True, k=1, min_group_size=20,
    )  # fmt: skip
    assert found[0][:5] == ["['pronoun']", "['0. She/her/hers']", 30, "['1. He/him/his']", 30]
    table = report.make_disparity_table(stored, ["pronoun"], "AR_IOU", True)
    assert table is not None
    assert table[2][2] == "0.10/0.10 (30)"
    entry = {"scores": [0.5] * 30, "AR_IOU": 0.5, "Class_Size": 30}
    same = {"['pronoun']": dict.fromkeys(scores, entry)}
    assert report.make_disparity_table(same, ["pronoun"], "AR_IOU", True) is None


def test_figures_are_drawn_saved_and_refused_as_published(root: Path, results: Path, tmp_path: Path) -> None:
    boxes, poses = made(root, results, "person_localization"), made(root, results, "keypoint_estimation")
    drawn = {
        "iou": boxes.plot_iou_vs_threshold,
        "oks": poses.plot_oks_vs_threshold,
        "pck": poses.plot_pck_vs_threshold,
    }
    for name, plot in drawn.items():
        figure = plot(savefig=True, fig_savename=str(tmp_path / f"{name}.png"))
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        figure.savefig(tmp_path / f"{name}.svg", dpi=300)
        assert "<svg" in (tmp_path / f"{name}.svg").read_text()
    for plot, text in (
        (poses.plot_iou_vs_threshold, "IoU cannot be plotted for task"),
        (boxes.plot_oks_vs_threshold, "OKS is only available for task: keypoint_estimation"),
        (boxes.plot_pck_vs_threshold, "PCK is only available for task: keypoint_estimation"),
    ):
        with pytest.raises(RuntimeError, match=text):
            plot()
    for task, metric in (
        ("person_localization", "ar_iou"), ("body_parts_detection", "AR_DET"), ("face_verification", "VAL"),
    ):  # fmt: skip
        made(root, results, task).plot_metric_by_intersectional_group(
            metric_name=metric, attr_name="age", intersectional_results=None, group_largest_regions=True,
            show_medians=True, show_significance=True, savefig=True, fig_savename=str(tmp_path / f"{task}.png"),
        )  # fmt: skip
        assert (tmp_path / f"{task}.png").is_file()


def test_the_report_writes_the_published_pictures(root: Path, results: Path) -> None:
    path = made(root, results, "keypoint_estimation").generate_pdf_report(
        attributes=PAIR, group_largest_regions=True, show_significance_on_plots=True, report_savename="own.pdf"
    )
    assert path.read_bytes().startswith(b"%PDF")
    assert {file.name for file in path.parent.glob("*.png")} == {
        "oks_thresh.png", "pck_thresh.png",
        *(f"intersectional_results_{metric}_{name}.png" for metric in ("PCK", "AR_OKS") for name in PAIR),
    }  # fmt: skip


@pytest.mark.parametrize("write", ["plot_iou_vs_threshold", "plot_metric", "generate_pdf_report", "savefig"])
def test_a_report_overwrites_nothing_that_it_reads(write: str, tmp_path: Path) -> None:
    write_bodies(tmp_path, make_subjects(6, "overwritten"), images=1, size=(160, 120), pixels=True)
    run(tmp_path, tmp_path / "r", "person_localization", model=EXAMPLES["person_localization"]())
    report = made(tmp_path, tmp_path / "r", "person_localization")
    writers = {
        "plot_iou_vs_threshold": lambda name: report.plot_iou_vs_threshold(True, name),
        "plot_metric": lambda name: report.plot_metric_by_intersectional_group(
            "AR_IOU", "age", savefig=True, fig_savename=name
        ),
        "generate_pdf_report": lambda name: report.generate_pdf_report(PAIR, report_savename=name),
        "savefig": lambda name: report.plot_iou_vs_threshold().savefig(name),
    }
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for given in {path.suffix: path for path in before}.values():
        link = tmp_path / f"link{given.suffix}"
        link.symlink_to(given)
        for output in (given, link):
            with pytest.raises(OptionError, match="would overwrite it"):
                writers[write](str(output))
    assert {path: path.read_bytes() for path in before} == before
    if write != "generate_pdf_report":
        for _ in range(2):  # a figure of its own may be written again
            writers[write](str(Path(report.results_dir) / "own.svg"))


def test_results_that_are_no_json_are_named(root: Path, tmp_path: Path) -> None:
    folder = run(root, tmp_path, "person_localization", model=EXAMPLES["person_localization"]())
    (folder / "detailed_results_iou_threshold.json").write_bytes(b"%PDF\x80")
    with pytest.raises(RunError, match=r"detailed_results_iou_threshold\.json is not JSON"):
        made(root, tmp_path, "person_localization").plot_iou_vs_threshold()


def test_prepared_rows_of_verification_come_in_the_order_in_which_evaluate_task_asks_for_them(root: Path) -> None:
    from evenhand.compat.fhibe.evaluate.utils import get_eval_api, prepare_evaluation
    from evenhand.core.options import parse

    name, task = "fhibe_face_crop_align", task_named("face_verification")
    table = get_eval_api(name, "fhibe_face", root, root / "data/processed")
    _, paths, _ = prepare_evaluation(table, "face_verification", name, None, "m", root, cuda=False)
    samples = task.load(root, parse(task.options, {})).samples
    assert len(paths) > 16  # fewer are sorted in another way
    assert paths == [str(root / sample.id) for sample in samples]
    pytest.importorskip("pandas")
    frame = table.dataframe.convert_dtypes()  # missing cells are `pandas.NA`, which is neither true nor false
    frame.loc[frame["filepath"] == paths[0], "multiple_subjects"] = None
    table.dataframe = frame
    _, fewer, _ = prepare_evaluation(table, "face_verification", name, None, "m", root, cuda=False)
    assert set(fewer) < set(paths)


# What scripts read off figures


def test_bars_lines_and_marks_can_be_read_off_the_figures(root: Path, results: Path, tmp_path: Path) -> None:
    boxes = made(root, results, "person_localization")
    stored = content(Path(boxes.results_dir), "intersectional_results_AR_IOU.json")
    curve = content(Path(boxes.results_dir), "detailed_results_iou_threshold.json")
    line = boxes.plot_iou_vs_threshold().axes[0].lines[0]
    assert line.get_xdata() == pytest.approx([float(key) for key in curve])
    assert line.get_ydata() == pytest.approx([float(entry["summary"]) for entry in curve.values()])
    axes = boxes.plot_metric_by_intersectional_group("AR_IOU", "age").axes[0]
    assert [bar.get_height() for bar in axes.patches] == pytest.approx(
        [entry["AR_IOU"] for entry in stored["['age']"].values()]
    )
    assert len(axes.get_lines()) == len(axes.patches)  # an error bar each
    assert axes.texts == []
    centres = [bar.get_x() + bar.get_width() / 2 for bar in axes.patches]
    assert centres == pytest.approx(list(range(len(centres))))


def test_lines_are_found_among_others_and_do_not_change_with_the_arrays_they_give() -> None:
    first, second = FigureLine([0, 1], [2, 3]), FigureLine([0, 1, 2], [4, 5, 6])
    axes = FigureAxes([first])
    assert [first, second].index(second) == 1
    assert first != second
    assert first in axes.lines
    assert second not in axes.lines
    first.get_ydata()[:] = 9
    assert first.get_ydata().tolist() == [2.0, 3.0]
    assert FigureLine(np.arange(2.0), np.arange(2.0)).get_xdata().flags.owndata


def test_parts_of_a_figure_list_what_can_be_asked_of_them() -> None:
    assert {"get_xdata", "get_ydata", "x", "y"} <= set(dir(FigureLine([0], [1])))
    assert {"get_height", "get_width", "get_x", "centre"} <= set(dir(FigureBar(1.0, 0.5, 0.8)))
    assert {"get_text", "text"} <= set(dir(FigureText("***")))
    assert {"get_lines", "get_xticklabels", "tick_labels"} <= set(dir(FigureAxes()))
    assert FigureBar(1.0, 0.5, 0.8).get_x() == pytest.approx(0.6)


def test_further_keys_beside_the_metrics_of_an_evaluation_are_ignored(tmp_path: Path) -> None:
    write_provenance(tmp_path, {"AR_IOU": Provenance(("age",), (0.5,), None, None, "outputs", "table")})
    written = read_provenance(tmp_path)
    content = json.loads((tmp_path / FILENAME).read_text())
    (tmp_path / FILENAME).write_text(json.dumps({"version": 2, **content, "tool": {"name": "another"}}))
    assert read_provenance(tmp_path) == written
    assert list(written) == ["AR_IOU"]


def test_a_bracket_with_asterisks_is_a_line_and_a_text(root: Path, results: Path) -> None:
    report = made(root, results, "person_localization")
    scores = {"['0. She/her/hers']": [0.1] * 30, "['1. He/him/his']": [0.8, 0.9] * 15, "['5. Prefer not to say']": []}
    entries = {key: {"scores": few, "AR_IOU": 0.0, "Class_Size": len(few)} for key, few in scores.items()}
    stored = {"['pronoun']": entries}
    figure = report.plot_metric_by_intersectional_group("AR_IOU", "pronoun", stored, show_significance=True)
    axes = figure.axes[0]
    assert [bar.get_height() for bar in axes.patches] == pytest.approx([0.1, 0.85])
    assert len(axes.lines) == 3
    assert [text.get_text() for text in axes.texts] == ["***"]
    assert axes.lines[-1].get_xdata().tolist() == [0, 0, 1, 1]


def test_the_bars_of_body_parts_come_part_by_part_and_then_the_legend(root: Path, results: Path) -> None:
    report = made(root, results, "body_parts_detection")
    stored = content(Path(report.results_dir), "intersectional_results_AR_DET.json")["['pronoun']"]
    heights = [
        bar.get_height() for bar in report.plot_metric_by_intersectional_group("AR_DET", "pronoun").axes[0].patches
    ]
    expected = [
        entry[part]["AR_DET"] for part in ("Face", "Hand") for entry in stored.values() if entry[part]["scores"]
    ]
    assert heights[:-2] == pytest.approx(expected)
    assert len(heights) == len(expected) + 2


def test_the_error_bars_of_verification_are_two_caps_a_bar(root: Path, results: Path) -> None:
    report = made(root, results, "face_verification")
    stored = content(Path(report.results_dir), "intersectional_results_VAL.json")["['pronoun']"]
    axes = report.plot_metric_by_intersectional_group("VAL", "pronoun").axes[0]
    entries = list(stored.values())
    assert [bar.get_height() for bar in axes.patches] == pytest.approx([entry["VAL"] for entry in entries], nan_ok=True)
    for place, entry in enumerate(entries):
        caps = [line.get_ydata()[0] for line in axes.get_lines() if int(line.get_xdata()[0]) == place]
        if entry["VAL"] is not None:
            error = entry["VAL_Error"]
            assert caps == pytest.approx([entry["VAL"] - error, entry["VAL"] + error])


def test_a_report_needs_no_version_and_no_results(root: Path, results: Path, tmp_path: Path) -> None:
    report = BiasReport(
        model_name="m", task_name="person_localization", data_rootdir=str(root), results_base_dir=str(results),
        dataset_name="fhibe", results_dir=str(tmp_path / "none"), downsampled=True,
    )  # fmt: skip
    assert report.generate_pdf_report(attributes=PAIR).read_bytes().startswith(b"%PDF")
    with pytest.raises(TypeError, match="results_base_dir"):
        BiasReport("m", "person_localization", str(root), "1")


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        ({"task_name": "bad"}, ValueError, "Task: bad has not yet been evaluated for this model: m"),
        ({"plot": "plot_pck_vs_threshold"}, RuntimeError, "PCK is only available for task: keypoint_estimation."),
        ({"plot": "plot_oks_vs_threshold"}, RuntimeError, "OKS is only available for task: keypoint_estimation"),
        ({"model": None}, ValueError, "If reuse_model_outputs is not True, model cannot be None."),
        (
            {"custom_keypoints": []},
            ValueError,
            "You cannot provide an empty list of custom keypoints. Please provide a valid list of keypoints or set "
            "custom_keypoints=None.",
        ),
    ],
)
def test_texts_that_scripts_compare_are_the_published_ones_to_the_letter(
    call: dict[str, Any], kind: type[Exception], text: str, root: Path, results: Path
) -> None:
    def attempt() -> None:
        if "plot" in call:
            getattr(made(root, results, "person_localization"), call["plot"])()
        elif "task_name" in call:
            made(root, results, call["task_name"])
        elif "model" in call:
            run(root, results, "person_localization")
        else:
            run(root, results, "keypoint_estimation", reuse_model_outputs=True, **call)

    with pytest.raises(kind) as raised:
        attempt()
    assert str(raised.value) == text


# Helpers under the published names


@pytest.mark.parametrize("task", [*vocabulary.BODY_TASKS, *vocabulary.FACE_TASKS])
def test_the_rows_of_every_task_are_prepared_as_a_frame(task: str, root: Path, tmp_path: Path) -> None:
    from evenhand.compat.fhibe.evaluate.utils import get_eval_api, prepare_evaluation

    face = task in vocabulary.FACE_TASKS
    name, base = ("fhibe_face_crop_align", "fhibe_face") if face else ("fhibe_downsampled", "fhibe")
    processed = root / "data" / "processed"
    table = get_eval_api(name, base, str(root), str(processed))
    mini = get_eval_api(name, base, str(root), str(processed), use_mini_dataset=True, mini_dataset_size=10)
    assert len(mini.dataframe) == 10
    assert len(mini.dataframe.columns) == len(table.dataframe.columns) + 1
    assert mini.intersectional_column_names == ("pronoun", "age", "apparent_skin_color", "ancestry")
    assert list(mini.age_map.values())[-1] == "[60, +]"
    frame, paths, more = prepare_evaluation(
        eval_api=table, task_name=task, dataset_name=name, model=EXAMPLES[task](), model_name="m",
        current_results_dir=str(tmp_path), cuda=False,
    )  # fmt: skip
    assert 0 < len(paths) <= len(frame) <= len(table.dataframe)
    assert set(frame["age"].to_list()) <= set(table.age_map.values())
    expected = {
        "person_localization": {"gt_column_name": "person_bbox"},
        "person_parsing": {"to_rle": True, "gt_column_name": "person_mask"},
        "face_localization": {"gt_column_name": "face_bbox"},
        "face_super_resolution": {"aligned": True},
    }
    if task in expected:
        assert more == expected[task]
    if task == "keypoint_estimation":
        assert more["kpt_oks_sigmas"][:3] == pytest.approx([0.026, 0.025, 0.025])
        with pytest.raises(ValueError, match="A keypoint you specified: 0 is not a string"):
            prepare_evaluation(table, task, name, None, "m", str(tmp_path), custom_keypoints=[0])
    if task == "body_parts_detection":
        assert all("Face" in parts for parts in frame["visible_body_parts"].to_list())


def test_the_published_checks_of_arguments_are_there() -> None:
    from evenhand.compat.fhibe.evaluate import utils
    from evenhand.compat.fhibe.evaluate.constants import TASK_DICT, VALID_DATASET_NAMES

    assert utils.validate_metrics("keypoint_estimation", {}) == ["PCK", "AR_OKS"]
    asked = {"pck": {"thresholds": [0.1, 0.5]}}
    assert utils.validate_metrics("keypoint_estimation", asked) == {"PCK": {"thresholds": [0.1, 0.5]}}
    assert utils.validate_attributes("fhibe", ["age", "pronoun"]) == ["pronoun", "age"]
    utils.validate_dataset_and_task("face_parsing", "fhibe_face_crop_align", "fhibe_face")
    with pytest.raises(ValueError, match="must be one of") as raised:
        utils.validate_dataset_and_task("person_localization", "abc", "fhibe")
    assert str(raised.value) == f"dataset: abc must be one of {VALID_DATASET_NAMES}"
    with pytest.raises(KeyError, match="Task name: x not found in list of available tasks for dataset: fhibe"):
        utils.validate_dataset_and_task("x", "fhibe", "fhibe")
    assert sorted(TASK_DICT["fhibe_face"]) == sorted(vocabulary.FACE_TASKS)
    with pytest.raises(NotImplementedError, match=r"^This function is not implemented for metric: gpg$"):
        utils.format_threshold_results({}, "gpg")


def test_stored_face_scores_stand_in_for_label_maps_that_are_gone(
    root: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = tmp_path / "data"
    write_faces(data, make_subjects(6, "gone"), images=2, size=64, pixels=True)
    folder = run(data, tmp_path / "r", "face_parsing", model=EXAMPLES["face_parsing"]())
    before = content(folder, "intersectional_results_F1.json")
    scores = content(folder, "F1_scores.json")
    moved = {str(Path("/elsewhere") / Path(key).name): entry for key, entry in reversed(scores.items())}
    (folder / "F1_scores.json").write_text(json.dumps(moved))
    for path in (data / "data/processed").rglob("combined.png"):
        path.unlink()
    run(data, tmp_path / "r", "face_parsing", reuse_model_outputs=True)
    assert content(folder, "intersectional_results_F1.json") == before
    assert "F1_scores.json are used instead" in caplog.text


def test_the_helpers_of_demo_scripts_are_there(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from evenhand.compat.fhibe import common

    monkeypatch.chdir(tmp_path)
    assert common.get_project_root() == str(tmp_path)
    common.create_folders(tmp_path / "a" / "b.json")
    common.save_json_file(str(tmp_path / "a" / "b.json"), {"x": [1]}, indent=2)
    assert common.read_json_file(str(tmp_path / "a" / "b.json")) == {"x": [1]}
    with pytest.raises(ValueError, match="Length of list_1"):
        common.check_list_lengths([1], [])
    path = str(root / images(root)[0])
    data = common.ImageDataset([path], exif_transpose=False, transform=np.asarray)
    assert len(data) == 1
    batch = common.pil_image_collate_function([data[0]])
    assert batch["image_paths"] == [path]
    assert batch["images"][0].shape == (160, 120, 3)
    assert common.open_image_with_pil(path, grayscale=True).mode == "L"
    assert common.open_image_with_pil(str(tmp_path / "none.png")) is None


@pytest.mark.torch
def test_the_loader_gives_batches_of_pictures_with_their_paths(root: Path) -> None:
    pytest.importorskip("torch")
    from evenhand.compat.fhibe.common import image_data_loader_from_paths, pil_image_collate_function

    paths = [str(root / name) for name in images(root)[:3]]
    loader = image_data_loader_from_paths(
        transform=None, image_paths_1=paths, batch_size=2, num_workers=0, collate_fn=pil_image_collate_function
    )
    assert [len(batch["images"]) for batch in loader] == [2, 1]
    assert len(image_data_loader_from_paths(None, paths, paths, num_workers=0)) == 2


SCRIPT = """
import sys
from fhibe_eval_api.common.data import ImageDataset, pil_image_collate_function
from fhibe_eval_api.common.loaders import image_data_loader_from_paths
from fhibe_eval_api.common.utils import get_project_root, open_image_with_pil, read_json_file
from fhibe_eval_api.evaluate import evaluate_task
from fhibe_eval_api.evaluate.evaluate import evaluate_task as same
from fhibe_eval_api.evaluate.utils import _decode_mask
from fhibe_eval_api.models.base_model import BaseModelWrapper
from fhibe_eval_api.reporting import BiasReport
from fhibe_eval_api.reporting.reporting import BiasReport as again
assert same is evaluate_task and again is BiasReport
assert "torch" not in sys.modules

class Boxes(BaseModelWrapper):
    def data_preprocessor(self, img_filepaths, **kwargs):
        return [[path] for path in img_filepaths]
    def __call__(self, batch):
        return [{"bboxes": [[10.0, 10.0, 90.0, 150.0]], "scores": [1.0], "labels": [0]}]

evaluate_task(
    data_rootdir=sys.argv[1], dataset_name="fhibe", model=Boxes(None), model_name="m",
    task_name="person_localization", attributes=["age"], results_rootdir=sys.argv[2],
)
report = BiasReport("m", "person_localization", sys.argv[1], "1", sys.argv[2], "fhibe", downsampled=True)
print(report.get_available_metrics())
assert "torch" not in sys.modules, "torch was imported only to ask for a GPU"
"""


def test_a_script_for_the_published_package_runs_unchanged_and_without_torch(root: Path, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "evenhand.compat.fhibe", tmp_path / "script.py", root, tmp_path / "results"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "['AR_IOU']" in done.stdout


# Numbers that the published code gives, through the drop-in and through `evenhand evaluate`


def value(task: str, folder: Path, root: Path, metric: str, output: str, **options: Any) -> float | None:
    found = evaluate(task_named(task), folder, root, options=options, by=[], draws=0).results.estimates
    return next(one.number for one in found if (one.metric, one.output) == (metric, output))


def test_face_parsing_takes_pixels_without_a_label_for_background(root: Path, tmp_path: Path) -> None:  # B1
    data = tmp_path / "data"
    write_faces(data, make_subjects(2, "one"), images=1, size=64, pixels=True)
    labels = np.zeros((64, 64), dtype=np.uint8)
    labels[:, 33:] = 1
    for path in (data / "data/processed").rglob("combined.png"):
        Image.fromarray(labels).save(path)
    answer = {"detections_rle": {"1": encode_mask(np.eye(64, dtype=bool))}}
    stored = store(
        tmp_path, "face_parsing", dict.fromkeys(images(data, "fhibe_face_crop_align"), answer), "fhibe_face_crop_align"
    )
    folder = run(data, tmp_path, "face_parsing", reuse_model_outputs=True)
    scores = next(iter(content(folder, "F1_scores.json").values()))
    assert round(scores["background"], 3) == 0.677
    mean = value("face_parsing", stored, data, "F1", "mean")
    assert mean == pytest.approx((scores["background"] + scores["skin"]) / 2)


def test_answers_of_none_score_nothing_and_are_stored_as_published(root: Path, tmp_path: Path) -> None:  # B6
    class Silent(BaseModelWrapper):
        def data_preprocessor(self, img_filepaths: list[str], **kwargs: Any) -> list[list[str]]:
            return [[path] for path in img_filepaths]

        def __call__(self, batch: list[str]) -> Any:
            return [self.model]

    nothing = {"detections": None, "scores": None}
    for answer in ({"bboxes": None}, {}, {"bboxes": [], "scores": [], "labels": []}):
        folder = run(root, tmp_path, "person_localization", model=Silent(answer))
        assert set(map(str, content(folder, "model_outputs.json").values())) == {str(nothing)}
        assert set(content(folder, "gt_bbox_iou_scores.json")) == {0.0}
    folder = run(root, tmp_path, "person_parsing", model=Silent({"masks": None}))
    assert set(content(folder, "gt_mask_iou_scores.json")) == {0.0}
    assert value("person_parsing", folder, root, "AR_MASK", "recall") == 0.0
    folder = run(root, tmp_path, "keypoint_estimation", model=Silent({}))
    assert value("keypoint_estimation", folder, root, "PCK", "mean") == 0.0


def test_a_mini_data_set_over_a_full_file_of_body_parts(tmp_path: Path) -> None:  # B7
    data = tmp_path / "data"
    write_bodies(data, make_subjects(8, "together"), images=2, size=(160, 120), together=1.0)  # two people each
    answers = {image: {"detections": [{"Face": 0.9}, {"Face": 0.1}]} for image in images(data)}
    store(tmp_path / "mini", "body_parts_detection", answers)
    options = {"use_mini_dataset": True, "mini_dataset_size": 12, "reuse_model_outputs": True}
    folder = run(data, tmp_path, "body_parts_detection", **options)
    rows = content(folder, "body_part_detections.json")
    assert len(rows) == 12
    shown = [
        row["filepath"]
        for row in content(folder, "detailed_results_body_parts_ACC_DET_threshold.json")["0.50"]["individual_results"]
    ]
    alone = [row["Face"] for row, path in zip(rows, shown, strict=True) if shown.count(path) == 1]
    assert alone
    assert set(alone) == {0.9}  # the first mapping, whichever of the two people the row is
    mean = value("body_parts_detection", folder, data, "ACC_DET", "mean:Face", mini=12)
    assert mean == pytest.approx(np.mean([row["Face"] >= 0.5 for row in rows]))


def test_thresholds_with_three_decimals_are_judged_as_given(root: Path, tmp_path: Path) -> None:  # B10
    run(root, tmp_path, "person_localization", model=EXAMPLES["person_localization"]())
    grid = [0.505, 0.925, 0.9375]
    folder = run(
        root, tmp_path, "person_localization", reuse_model_outputs=True, metrics={"AR_IOU": {"thresholds": grid}}
    )
    overlaps = np.array(content(folder, "gt_bbox_iou_scores.json"))
    expected = float(np.mean([(overlaps >= level).mean() for level in grid]))
    assert list(content(folder, "results_iou_threshold.json")) == [f"{level:.2f}" for level in grid]
    report = made(root, tmp_path, "person_localization").content(("age",))
    everyone = report.statistics.everyone("AR_IOU")
    assert everyone is not None
    assert everyone.number == pytest.approx(expected)
    assert report.pages[0].thresholds == tuple(grid)
    assert value("person_localization", folder, root, "AR_IOU", "recall", thresholds=tuple(grid)) == everyone.number


def test_the_file_of_val_has_combinations_without_groups(tmp_path: Path) -> None:  # B11
    data = tmp_path / "data"
    write_faces(data, make_subjects(3, "few"), images=2, size=32, pixels=True)
    folder = run(
        data,
        tmp_path,
        "face_verification",
        model=EXAMPLES["face_verification"](),
        attributes=["pronoun", "age", "scene"],
    )
    stored = content(folder, "intersectional_results_VAL.json")
    assert len(stored) == 7
    assert stored["['pronoun', 'age', 'scene']"] == {}


def test_numeric_ids_stay_numbers_and_rows_without_an_attribute_are_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = tmp_path / "data"
    write_bodies(data, make_subjects(4, "numbers"), images=1, size=(160, 120), together=0.0)
    table = data / BODY[0]
    text = table.read_text()
    for number in range(4):
        text = text.replace(f",subject{number:04d},", f",{number},")
    head, first, *rest = text.splitlines()
    place = head.split(",").index("age")
    assert place > 0
    import csv
    import io

    cells = next(csv.reader([first]))
    cells[place] = ""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    table.write_text("\n".join([head, line.getvalue(), *rest]) + "\n")
    store(tmp_path, "person_localization", {name: {} for name in images(data)})
    folder = run(data, tmp_path, "person_localization", reuse_model_outputs=True, attributes=["age"])
    rows = next(iter(content(folder, "detailed_results_iou_threshold.json").values()))["individual_results"]
    assert [row["subject_id"] for row in rows] == [0, 1, 2, 3]
    assert "1 of 4 rows have no age" in caplog.text


def test_one_missing_encoding_is_named(root: Path, tmp_path: Path) -> None:
    folder = run(root, tmp_path, "face_encoding", model=EXAMPLES["face_encoding"](), metrics=["PSNR"])
    missing = sorted((folder / "face_encodings").iterdir())[3]
    missing.unlink()
    with pytest.raises(FileNotFoundError, match=missing.name):
        run(root, tmp_path, "face_encoding", reuse_model_outputs=True, metrics=["PSNR"])


def test_a_row_without_segments_has_an_empty_mask(tmp_path: Path) -> None:
    import csv

    data = tmp_path / "data"
    write_bodies(data, make_subjects(3, "bare"), images=1, size=(160, 120), together=0.0)
    csv.field_size_limit(1 << 30)
    with (data / BODY[0]).open() as file:
        rows = list(csv.DictReader(file))
    rows[0]["segments"] = "nan"
    with (data / BODY[0]).open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    for task in ("person_parsing", "keypoint_estimation"):
        store(tmp_path, task, {name: {} for name in images(data)})
        run(data, tmp_path, task, reuse_model_outputs=True)


# Fresh, or said to be stale


def test_a_report_after_the_outputs_were_replaced_says_that_its_numbers_are_stale(root: Path, tmp_path: Path) -> None:
    folder = run(root, tmp_path, "person_localization", model=EXAMPLES["person_localization"]())
    report = made(root, tmp_path, "person_localization")
    assert report.content(("age",)).notes == []
    stored = content(folder, "model_outputs.json")
    (folder / "model_outputs.json").write_text(json.dumps(dict.fromkeys(stored)))
    stale = report.content(("age",))
    assert stale.notes[0].startswith("Stale:")
    assert not stale.statistics.estimates
    run(root, tmp_path, "person_localization", reuse_model_outputs=True)
    fresh = report.content(("age",))
    assert fresh.notes == []
    everyone = fresh.statistics.everyone("AR_IOU")
    assert everyone is not None
    assert everyone.number == 0.0


def test_a_metric_of_earlier_outputs_is_left_out_beside_a_fresh_one(root: Path, tmp_path: Path) -> None:
    folder = run(root, tmp_path, "keypoint_estimation", model=EXAMPLES["keypoint_estimation"]())
    stored = content(folder, "model_outputs.json")
    (folder / "model_outputs.json").write_text(json.dumps({key: {"detections": []} for key in stored}))
    run(root, tmp_path, "keypoint_estimation", reuse_model_outputs=True, metrics=["PCK"])
    shown = made(root, tmp_path, "keypoint_estimation").content(("age",))
    assert [page.metric for page in shown.pages] == ["PCK"]
    assert "AR_OKS is left out" in shown.notes[0]
    provenance = folder / "evenhand_evaluation.json"
    earlier = json.loads(provenance.read_text())
    for entry in earlier["metrics"].values():
        del entry["hashes"]  # as earlier versions wrote it, with hashes of another kind
    provenance.write_text(json.dumps(earlier))
    found_by_evaluating_again = made(root, tmp_path, "keypoint_estimation").content(("age",))
    provenance.unlink()  # as another tool leaves it
    for shown in (found_by_evaluating_again, made(root, tmp_path, "keypoint_estimation").content(("age",))):
        assert [page.metric for page in shown.pages] == ["PCK"]
        assert "not those of the model outputs" in shown.notes[0]


def test_body_parts_are_judged_at_the_thresholds_of_the_run(root: Path, tmp_path: Path) -> None:  # B3
    run(root, tmp_path, "body_parts_detection", model=EXAMPLES["body_parts_detection"]())
    grid = {"AR_DET": {"thresholds": [0.05]}, "ACC_DET": {"thresholds": [0.01]}}
    folder = run(root, tmp_path, "body_parts_detection", reuse_model_outputs=True, metrics=grid)
    shown = made(root, tmp_path, "body_parts_detection").content(("pronoun",))
    for metric in grid:
        stored = content(folder, f"intersectional_results_{metric}.json")["['pronoun']"]
        for key, entry in stored.items():
            (estimate,) = [
                one
                for one in shown.statistics.of(metric, "pronoun", "mean:Face")
                if str([one.group.terms[0][1]]) == key
            ]
            assert estimate.number == pytest.approx(entry["Face"][metric])


def test_regions_reach_groups_pairs_and_the_correction(root: Path, tmp_path: Path) -> None:  # B8
    run(root, tmp_path, "person_localization", model=EXAMPLES["person_localization"](), attributes=["nationality"])
    report = made(root, tmp_path, "person_localization")
    counts = {}
    for regions in (True, False):
        shown = report.content(("nationality",), regions=regions)
        groups = {one.group.terms[0][1] for one in shown.statistics.of("AR_IOU", "nationality")}
        assert (groups <= set(vocabulary.NATIONALITY_REGIONS)) == regions
        listed = {row[0] for row in shown.pages[0].figures["nationality"].data.rows}
        assert ("Kenyan" in listed) == (not regions)
        counts[regions] = max((one.family_size for one in shown.statistics.contrasts), default=0)
    assert counts[True] <= counts[False]


def test_an_undefined_difference_is_a_dash_and_the_reason_is_said(root: Path, results: Path) -> None:
    from evenhand.reporting.rounding import cell

    shown = made(root, results, "face_verification").content(("age",))
    table = shown.pages[0].figures["age"].data
    assert "Not compared because" in table.columns
    assert cell(table.rows[0][1]) != "0.000"


# Every number on its scale


@pytest.mark.parametrize(
    "task", ["person_localization", "keypoint_estimation", "body_parts_detection", "face_verification"]
)
def test_no_estimate_leaves_the_scale_of_its_metric(task: str, root: Path, results: Path) -> None:
    shown = made(root, results, task).content(tuple(PAIR))
    entry = task_named(task)
    scales = {
        (metric.name, output): scale
        for metric in entry.metrics(entry.options())
        for output, scale in metric.scales.items()
    }
    bounded = [one for one in shown.statistics.estimates if (one.metric, one.output) in scales]
    assert bounded
    for one in bounded:
        scale = scales[one.metric, one.output]
        for end in (one.number, one.low, one.high):
            assert end is None or scale.low - 1e-12 <= end <= scale.high + 1e-12, one
    for contrast in shown.statistics.contrasts:
        span = scales[contrast.metric, contrast.output].span
        assert contrast.low is None or contrast.low >= -span - 1e-12
        assert contrast.high is None or contrast.high <= span + 1e-12


def test_an_attribute_with_many_groups_is_drawn_in_pieces_that_keep_their_names(tmp_path: Path) -> None:  # B4
    from evenhand.compat.fhibe.reporting.document import sections
    from evenhand.core.page import Figure

    entry = {"scores": [0.5] * 25, "AR_IOU": 0.5, "Class_Size": 25}
    groups = {str([f"{number}. Nationality {number}"]): entry for number in range(100)}
    folder = tmp_path / "person_localization" / "fhibe_downsampled" / "m"
    folder.mkdir(parents=True)
    (folder / "intersectional_results_AR_IOU.json").write_text(json.dumps({"['nationality']": groups}))
    shown = made(tmp_path, tmp_path, "person_localization").content(("nationality",), regions=False)
    drawn = [block for section in sections(shown) for block in section.blocks if isinstance(block, Figure)]
    assert [len(figure.data.rows) for figure in drawn] == [30, 30, 30, 10]
