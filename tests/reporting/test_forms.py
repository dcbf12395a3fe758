"""Tables for papers and programs, the PDF, the model card, MLflow."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pytest
import yaml

from evenhand.core.errors import OptionError
from evenhand.reporting.forms import FORMS, card, write_csv, write_json, write_latex, write_markdown, write_report
from evenhand.reporting.pdf import pdf, source
from evenhand.reporting.reported import Reported, report_page


def lines(path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_csv_has_every_value_and_files_beside_it_have_the_rest(results, tmp_path):
    write_csv([Reported(results)], tmp_path / "r.csv")
    values = lines(tmp_path / "r.csv")
    assert [float(row["value"]) for row in values if row["output"] == "rate"] == [0.8125, 0.9, 0.725, 0.5, 0.75]
    assert lines(tmp_path / "r-pairs.csv")[0]["verdict"] == "large"
    assert float(lines(tmp_path / "r-gaps.csv")[0]["gap_by_chance"]) == 0.03
    assert {row["what"]: row["count"] for row in lines(tmp_path / "r-coverage.csv")}["rows without tone"] == "8"
    assert len(lines(tmp_path / "r-curves.csv")) == 15
    assert len(lines(tmp_path / "r-matrices.csv")) == 6


def test_the_json_has_every_number_to_the_last_bit(results, tmp_path):
    write_json([Reported(results)], tmp_path / "r.json")
    found = json.loads((tmp_path / "r.json").read_text())["results"][0]
    assert found["estimates"][0]["value"] == 0.8125
    assert found["summaries"][0]["reference"]["mean"] == 0.03


def test_markdown_shows_names_as_they_are(hostile, tmp_path):
    write_markdown([Reported(hostile)], tmp_path / "r.md")
    text = (tmp_path / "r.md").read_text()
    assert "<img" not in text.replace("\\<img", "")
    assert "## Differences between groups" in text


def test_latex_escapes_what_it_would_interpret(results, tmp_path):
    write_latex([Reported(results)], tmp_path / "r.tex")
    text = (tmp_path / "r.tex").read_text()
    assert text.count("\\begin{tabular}") == text.count("\\end{tabular}") == 3
    assert "tone dark & 180 & 72.5 \\% {[}66.0, 78.0{]}" in text


def test_the_pdf_is_the_same_bytes_twice_and_has_the_sections(results):
    page = report_page([Reported(results)])
    first = pdf(page)
    assert first.startswith(b"%PDF")
    assert first == pdf(page)
    text = source(page)
    for title in (
        "Summary",
        "Differences between groups",
        "All pairs of groups",
        "Curves",
        "What was answered",
        "Method",
    ):
        assert f'= #"{title}"' in text


def test_hostile_names_do_not_run_in_the_pdf(hostile):
    hostile = replace(hostile, model='#sys.version "\\ ] $x$')
    assert pdf(report_page([Reported(hostile)])).startswith(b"%PDF")


def test_the_model_card_says_the_worst_group_beside_the_whole(results):
    front = card([results]).split("---\n")[1]
    entry = yaml.safe_load(front)["model-index"][0]
    assert entry["name"] == "a"
    found = entry["results"][0]
    assert [metric["value"] for metric in found["metrics"]] == [0.8125, 0.725, 0.175]
    assert found["metrics"][0]["confidence_interval"] == [0.78, 0.84]
    assert "worst group (tone=dark)" in found["metrics"][1]["name"]
    assert found["task"] == {"type": "made", "name": "made/up"}
    assert "No evidence of a difference is not evidence of no difference." in card([results])


def test_a_form_that_is_not_known_is_refused_with_those_that_are(tmp_path):
    with pytest.raises(OptionError, match="html, pdf, csv"):
        write_report([], tmp_path / "x", "docx")
    assert set(FORMS) == {"html", "pdf", "csv", "json", "markdown", "latex", "card"}


@pytest.mark.filterwarnings("ignore:codecs.open:DeprecationWarning")  # of MLflow with Python 3.14
def test_a_run_is_logged_to_a_local_mlflow_folder(results, tmp_path, monkeypatch):
    from evenhand.reporting.tracking import log_run

    for name in ("MLFLOW_ALLOW_FILE_STORE", "MLFLOW_DISABLE_TELEMETRY"):
        monkeypatch.setenv(name, "true")
    key = log_run(Reported(results), str(tmp_path / "mlruns"))
    run = next((tmp_path / "mlruns").glob(f"*/{key}"))
    assert (run / "metrics" / "match.rate").read_text().split()[1] == "0.8125"
    assert float((run / "metrics" / "group" / "match.rate tone_dark").read_text().split()[1]) == 0.725
    assert float((run / "metrics" / "gap" / "tone").read_text().split()[1]) == 0.175
    assert (run / "params" / "task").read_text() == "made/up"
    assert {path.name for path in (run / "artifacts").iterdir()} == {"report.html", "results.json"}


def test_an_mlflow_that_does_not_take_a_run_is_an_error_of_ours_with_its_reason(results):
    from evenhand.core.errors import StorageError
    from evenhand.reporting.tracking import log_run

    with pytest.raises(StorageError, match="nowhere://"):
        log_run(Reported(results), "nowhere://x")


def test_the_password_of_an_mlflow_server_is_not_shown(results):
    from evenhand.core.errors import StorageError
    from evenhand.reporting.tracking import log_run

    with pytest.raises(StorageError, match="did not take the run") as refused:
        log_run(Reported(results), "http://me:hushhush@127.0.0.1:9")
    assert "hushhush" not in str(refused.value)


def test_junit_is_well_formed_for_any_name(tmp_path):
    from dataclasses import make_dataclass
    from xml.etree import ElementTree

    from evenhand.reporting.forms import write_junit

    outcome = make_dataclass("Outcome", ["name", "met", "message"])
    name = "a\x00\x1b\ud800\ufffe\uffff<&>\"'\U0001f600]]>"
    write_junit([outcome(name, False, name)], name, tmp_path / "gate.xml")
    case = ElementTree.parse(tmp_path / "gate.xml").getroot()[0][0]
    assert case.get("name") == "a" + "�" * 5 + "<&>\"'\U0001f600]]>"
