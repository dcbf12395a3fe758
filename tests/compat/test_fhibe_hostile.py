"""The FHIBE drop-in, whole, on data in which somebody else chose every name: ids, pictures, levels, the model."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from face_tables import write_faces
from fhibe_classical import EXAMPLES

from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.demo import make_subjects, write_bodies
from evenhand.benchmarks.fhibe.table import BODY_TABLE, FACE_TABLE, table_path
from evenhand.compat.fhibe import BiasReport, evaluate_task
from evenhand.core.errors import EvenhandError

HOSTILE = (
    "red\x1b[31m", "turned\u202etxt", "bell\x07", "line\nFORGED", "c1\x9b31m", "over\rwrite", "=cmd()|'/c x'!A0",
    "@SUM(1)", "+1", "-1", "<script>alert(1)</script>", "&lt;b&gt;<br/>", "#let x = read(\"/etc/passwd\")",
    "$x$ *b* \\ `c`", "![i](http://example.org/p.png)", "../../../up", "/absolute", "C:\\up", "tab\tFORGED", "quote'\"",
    "%s %d {x}", "long" * 500, "\ufffe\u2028",
)  # fmt: skip
MODEL = "m\x1b[31m\u202e\nFORGED=1+1<b>"
GROUPS = ("=0. cmd()\x1b[31m\nFORGED", "1. <b>\u202e/../up")
FACES = tuple(task for task in vocabulary.FACE_TASKS if task != "face_super_resolution")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root below a folder in which nothing else may appear."""
    folder = tmp_path_factory.mktemp("hostile") / "data"
    people = make_subjects(len(HOSTILE), "hostile")
    write_bodies(folder, people, images=2, size=(96, 72), together=0.0, pixels=True)
    write_faces(folder, people, images=2, size=32, pixels=True)
    rename(folder, BODY_TABLE)
    rename(folder, FACE_TABLE)
    return folder


def rename(root: Path, table: str) -> None:
    """Gives every subject, picture and level of a table a hostile name."""
    path = table_path(root, table)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for number, row in enumerate(rows):
        name = HOSTILE[number // 2 % len(HOSTILE)]
        part = "".join(char for char in name if char not in "/\\\r")[:120]
        image = f"data/raw/{table}/{part}{number}/{part} {number}.png"
        (root / image).parent.mkdir(parents=True)
        (root / row["filepath"]).rename(root / image)
        row |= {"filepath": image, "json_path": f"{image}{name}", "subject_id": f"{name}{number // 2}"}
        row |= {"image_id": f"{name}{number}", "location_country": name, "apparent_skin_color": name}
        row |= {"pronoun": listed(GROUPS[number % 2]), "ancestry": listed(name), "nationality": listed(name)}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def listed(name: str) -> str:
    """A cell with one selection, whose control characters stand in it as they are."""
    return f"['{name}']" if not set(name) & set("'\\") else str([name])


def evaluate(root: Path, task: str, results: Path, **more: Any) -> None:
    evaluate_task(
        data_rootdir=root,
        dataset_name="fhibe_face_crop_align" if task in vocabulary.FACE_TASKS else "fhibe",
        task_name=task,
        results_rootdir=results,
        **{"model": EXAMPLES[task](), "model_name": MODEL, "cuda": False, **more},
    )


def report_on(root: Path, task: str, results: Path) -> BiasReport:
    dataset = "fhibe_face_crop_align" if task in vocabulary.FACE_TASKS else "fhibe"
    return BiasReport(MODEL, task, root, HOSTILE[0], results, dataset, downsampled=True)


def files_below(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def check_printed(text: str) -> None:
    for line in text.split("\n"):
        assert not line.startswith("FORGED"), line
        assert line.replace("\t", "").isprintable(), line


def check_files(folder: Path) -> None:
    """Whatever was written can be shown by a terminal and opened by a spreadsheet."""
    for path in folder.rglob("*.json"):
        text = path.read_text(encoding="utf-8")
        json.loads(text)
        check_printed(text)
    assert not list(folder.rglob("*.csv"))  # the drop-in writes none; `evenhand rows` has its own test


@pytest.mark.parametrize("task", [*vocabulary.BODY_TASKS, *FACES])
def test_a_task_with_hostile_names_is_evaluated_and_reported(
    task: str,
    root: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    data, results = files_below(root.parent), tmp_path / "results"
    attributes = ["pronoun", "apparent_skin_color", "ancestry"]
    metrics = ["PSNR"] if task == "face_encoding" else None
    evaluate(root, task, results, attributes=attributes, metrics=metrics)
    evaluate(root, task, results, attributes=attributes, metrics=metrics, model=None, reuse_model_outputs=True)
    report = report_on(root, task, results)
    path = report.generate_pdf_report(attributes, group_largest_regions=False)
    assert path.read_bytes().startswith(b"%PDF")
    pictures = list(path.parent.glob("*.png"))
    assert len(pictures) >= len(attributes)
    assert all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)
    figure = report.plot_metric_by_intersectional_group(
        report.get_available_metrics()[0], "ancestry", group_largest_regions=False, show_medians=True
    )
    figure.savefig(tmp_path / "figure.svg")
    svg = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert not [char for char in svg if not char.isprintable() and char != "\n"]
    assert "script" not in {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(svg).iter()}
    check_files(results)
    printed = capfd.readouterr()
    check_printed(printed.out + printed.err)
    for record in caplog.records:
        check_printed(record.getMessage())
    aligned = root / "data" / "processed" / "data"  # where the published tool has a model write aligned faces
    assert {path for path in files_below(root.parent) - data if not path.is_relative_to(aligned)} == set()
    assert {path.name for path in tmp_path.iterdir()} == {"work", "results", "figure.svg"}
    assert not list((tmp_path / "work").iterdir())
    assert [path.name for path in (results / task).glob("*/*")] == [MODEL]


@pytest.mark.parametrize("name", ["../up", "a/../../../up", "/up", "", ".", "x\0y", 5])
def test_a_model_name_that_leads_out_of_the_results_is_refused_before_anything_runs(
    name: Any, root: Path, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="can't be the name of a results folder") as refused:
        evaluate(root, "person_localization", tmp_path / "results", model_name=name)
    check_printed(str(refused.value))
    with pytest.raises(ValueError, match="can't be the name of a results folder"):
        BiasReport(name, "person_localization", root, "1", tmp_path, "fhibe")
    assert not list(tmp_path.iterdir())


def test_a_model_of_an_organisation_has_a_folder_in_its_folder(root: Path, tmp_path: Path) -> None:
    evaluate(root, "face_localization", tmp_path, model_name="org/model", attributes=["pronoun"])
    assert (tmp_path / "face_localization" / "fhibe_downsampled" / "org" / "model" / "model_outputs.json").is_file()


def test_a_picture_outside_of_the_data_gets_no_aligned_picture_there(root: Path, tmp_path: Path) -> None:
    class Aligner(EXAMPLES["face_verification"]):  # type: ignore[misc]
        def align_faces(self, **arguments: Any) -> list[bool]:
            raise AssertionError("asked to write outside of the data")

    path = table_path(tmp_path / "data", FACE_TABLE)
    path.parent.mkdir(parents=True)
    text = table_path(root, FACE_TABLE).read_text(encoding="utf-8")
    path.write_text(text.replace("data/raw/", "../../../raw/"), encoding="utf-8")
    with pytest.raises(EvenhandError, match="may lead out of the data folder"):
        evaluate(tmp_path / "data", "face_verification", tmp_path / "results", model=Aligner())


def test_names_that_no_disk_takes_are_an_error_in_words(root: Path, tmp_path: Path) -> None:
    evaluate(root, "face_localization", tmp_path, attributes=["pronoun"])
    report = report_on(root, "face_localization", tmp_path)
    with pytest.raises(EvenhandError, match="The name is too long for this disk"):
        report.generate_pdf_report(["pronoun"], report_savename="x" * 300 + ".pdf")
    with pytest.raises(EvenhandError, match="The name is too long for this disk"):
        evaluate(root, "face_localization", tmp_path, model_name="x" * 300)
    (Path(report.results_dir) / "intersectional_results_x\x1b[31m.json").write_text("{}")
    assert report.get_available_metrics() == ["AR_IOU"]


SCRIPT = """
import sys, tempfile
from fhibe_eval_api.evaluate import evaluate_task
from fhibe_eval_api.models import BaseModelWrapper
from fhibe_eval_api.reporting import BiasReport

class Boxes(BaseModelWrapper):
    def data_preprocessor(self, img_filepaths, **kwargs):
        return [[path] for path in img_filepaths]
    def __call__(self, batch):
        if sys.argv[3] == "breaks":
            raise ValueError(f"broken at {batch[0]}")
        return [{"bboxes": [[10.0, 10.0, 60.0, 90.0]], "scores": [1.0], "labels": [0]}]

name = sys.argv[4]
evaluate_task(
    data_rootdir=sys.argv[1], dataset_name="fhibe", model=Boxes(None), model_name=name, unknown=1,
    task_name="person_localization", attributes=["pronoun"], results_rootdir=sys.argv[2],
)
other = tempfile.mkdtemp(prefix=name.replace("/", "")) if sys.argv[3] == "misses" else sys.argv[2]
BiasReport(name, "person_localization", sys.argv[1], name, other, "fhibe").generate_pdf_report(["pronoun"])
"""


@pytest.mark.parametrize("way", ["works", "breaks", "misses"])
def test_a_script_with_hostile_names_prints_no_control_character(way: str, root: Path, tmp_path: Path) -> None:
    script, results = tmp_path / "script\x1b[31m.py", tmp_path / "results"
    script.write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "temporary").mkdir()
    command = [sys.executable, "-m", "evenhand.compat.fhibe", script, root, results, way, MODEL]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary"), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", check=False, timeout=600, cwd=tmp_path, env=environment
    )
    assert done.returncode == (0 if way == "works" else 1), done.stderr
    printed = done.stdout + done.stderr
    assert printed.replace("\n", "").isprintable(), printed
    assert {path.name for path in tmp_path.iterdir()} <= {script.name, "results", "temporary"}
    if way == "works":
        check_printed(printed)
        check_files(results)
        assert len(list(results.rglob("bias_report.pdf"))) == 1
        assert not list((tmp_path / "temporary").iterdir())
    else:
        assert "Traceback" in done.stderr
        assert ("broken at" if way == "breaks" else "has not yet been evaluated") in done.stderr
