"""A run that is incomplete, damaged or of another version: the page says what is missing and shows the rest."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from evenhand import api
from evenhand.core.errors import RunError
from evenhand.reporting.html import page_html
from evenhand.reporting.reported import report_page, reported_folder

CASE = Path(__file__).parents[1] / "golden" / "cases" / "fairface" / "plain_csv_two_models"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    asked = {"data": CASE, "by": ("gender",), "draws": 20, "permutations": 20, "runs": folder}
    run = api.evaluate("fairface/gender", CASE / "predictions_model_a.csv", model="a", **asked)
    assert run.folder is not None
    return run.folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "run"))


def page(folder: Path) -> str:
    return page_html(report_page([reported_folder(folder)]))


def test_a_whole_run_has_no_problems(folder):
    assert reported_folder(folder).problems == ()


def test_a_run_without_results_says_so_and_shows_what_it_was_made_of(folder):
    (folder / "results.json").unlink()
    text = page(folder)
    assert "results.json is not there" in text
    assert "fairface/gender" in text
    assert "Input files" in text


def test_a_file_that_was_cut_off_shows_the_values_that_are_whole(folder):
    path = folder / "results.json"
    path.write_bytes(path.read_bytes()[:9000])
    found = reported_folder(folder)
    assert found.results.estimates
    assert any("could be read and are shown" in problem for problem in found.problems)
    assert "What is missing" in page(folder)


def test_a_file_that_is_no_json_is_said(folder):
    (folder / "run.json").write_bytes(b"\x00\x01")
    found = reported_folder(folder)
    assert any("run.json can't be read" in problem for problem in found.problems)
    assert found.results.estimates  # results.json is whole


def test_a_newer_format_is_shown_without_what_is_not_known(folder):
    for name in ("run.json", "results.json"):
        path = folder / name
        document = json.loads(path.read_text())
        document["format"] = 99
        document["of the future"] = {"x": 1}
        if name == "results.json":
            document["estimates"][0]["of the future"] = 1
        path.write_text(json.dumps(document))
    found = reported_folder(folder)
    assert any("format 99" in problem for problem in found.problems)
    assert found.results.get("gender", "accuracy").number is not None


def test_rows_that_are_gone_are_said_and_the_numbers_stay(folder):
    shutil.rmtree(folder / "records")
    found = reported_folder(folder)
    assert any("rows can't be read" in problem for problem in found.problems)
    assert "accuracy" in page(folder)


def test_a_run_that_keeps_no_rows_says_what_can_not_be_done(folder):
    path = folder / "run.json"
    document = json.loads(path.read_text())
    document["stored"]["rows"] = False
    path.write_text(json.dumps(document))
    assert any("keeps no rows" in problem for problem in reported_folder(folder).problems)


def test_values_of_the_wrong_kind_are_counted_and_left_out(folder):
    path = folder / "results.json"
    document = json.loads(path.read_text())
    document["estimates"][0]["rows"] = "many"
    path.write_text(json.dumps(document))
    assert any("1 of " in problem and "estimates" in problem for problem in reported_folder(folder).problems)


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(RunError, match="is not a run"):
        reported_folder(tmp_path)
