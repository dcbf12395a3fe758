"""What the verbs print, word for word, and how they end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from saying import CASE, PREDICTIONS, Command

Snapshot = Callable[..., None]
EVALUATE = ("evaluate", "fairface/gender", PREDICTIONS, "--data", CASE)


def test_help_fits_on_a_screen_and_says_what_to_type_next(evenhand: Command) -> None:
    said = evenhand("--help")
    assert said.code == 0
    assert len(said.out.splitlines()) <= 42
    assert "evenhand demo" in said.out


def test_the_version_is_printed(evenhand: Command) -> None:
    assert evenhand("--version").out.startswith("evenhand 0.")


def test_tasks_are_listed_for_people_and_for_programs(evenhand: Command) -> None:
    assert "fairface/gender" in evenhand("tasks").out
    document = json.loads(evenhand("tasks", "--json").out)
    assert "fairface/gender" in [task["task"] for task in document["tasks"]]


def test_describe_says_what_a_task_needs(evenhand: Command) -> None:
    said = evenhand("describe", "fairface/gender").out
    for word in ("Data", "Predictions", "Example", "Metrics", "Options", "Licence duties", "accuracy"):
        assert word in said
    document = json.loads(evenhand("describe", "fairface/gender", "--json").out)
    assert document["metrics"][0]["outputs"]["accuracy"] == "higher"


def test_evaluate_prints_the_summary_the_groups_and_the_run(
    evenhand: Command, snapshot: Snapshot, tmp_path: Path
) -> None:
    path = PREDICTIONS
    said = evenhand(
        "evaluate", "fairface/gender", f"a={path}", "--data", CASE, "--by", "gender,race", "--runs", tmp_path
    )
    assert said.code == 0
    snapshot("evaluate", said.out, tmp_path)


def test_json_is_the_only_thing_on_standard_output(evenhand: Command, tmp_path: Path) -> None:
    path = PREDICTIONS
    arguments = ("--data", CASE, "--by", "gender", "--draws", 0, "--runs", tmp_path, "--json")
    said = evenhand("evaluate", "fairface/gender", path, *arguments)
    document = json.loads(said.out)
    assert document["runs"][0]["results"]["task"] == "fairface/gender"
    again = json.loads(evenhand("evaluate", "fairface/gender", path, *arguments).out)
    assert again["runs"][0]["reused"] is True


def test_the_number_of_groups_is_said_before_deep_intersections(evenhand: Command, tmp_path: Path) -> None:
    said = evenhand(*EVALUATE, "--depth", 3, "--draws", 10, "--permutations", 10, "--runs", tmp_path)
    assert said.code == 0
    assert "depth 3 means 209 groups" in said.err


def test_a_dry_run_writes_nothing(evenhand: Command, tmp_path: Path, snapshot: Snapshot) -> None:
    path = PREDICTIONS
    runs = tmp_path / "runs"
    said = evenhand("evaluate", "fairface/gender", f"a={path}", "--data", CASE, "--dry-run", "--runs", runs)
    assert said.code == 0
    assert not runs.exists()
    assert "takes   about" in said.out
    snapshot("dry_run", said.out.partition("takes")[0], tmp_path, CASE)


def test_rows_show_what_is_behind_a_number(evenhand: Command, first: Path, tmp_path: Path) -> None:
    said = evenhand("rows", first, "--group", "race=Indian", "--worst", 2)
    assert "2 worst rows of " in said.out
    assert "Indian" in said.out
    csv = evenhand("rows", first, "--group", "race=Indian", "--format", "csv").out
    assert csv.splitlines()[0].startswith("item,")
    target = tmp_path / "rows.parquet"
    assert evenhand("rows", first, "--format", "parquet", "-o", target).code == 0
    assert target.stat().st_size > 1000


def test_models_are_compared_on_the_same_units(
    evenhand: Command, first: Path, second: Path, runs: Path, snapshot: Snapshot
) -> None:
    said = evenhand("compare", first, second, "--draws", 200)
    assert said.code == 0
    snapshot("compare", said.out, runs)
    document = json.loads(evenhand("compare", first, second, "--draws", 200, "--json").out)
    assert document[0]["first"] == "a"


def test_a_difference_is_explained_by_inputs_and_rows(evenhand: Command, first: Path, second: Path) -> None:
    said = evenhand("diff", first, second)
    assert "Different inputs" in said.out
    assert "Rows that changed, worst first" in said.out
    assert "Same inputs" in evenhand("diff", first, first).out


def test_a_gate_opens_and_shuts(evenhand: Command, first: Path, tmp_path: Path) -> None:
    require = tmp_path / "release.toml"
    require.write_text('[[require]]\nmetric = "gender"\noutput = "accuracy"\nat_least = 0.5\n')
    assert evenhand("gate", first, "--require", require).code == 0
    require.write_text('[[require]]\nmetric = "gender"\noutput = "accuracy"\nat_least = 0.99\n')
    junit = tmp_path / "gate.xml"
    said = evenhand("gate", first, "--require", require, "--junit", junit)
    assert said.code == 1
    assert "FAILED: 1 of 1 requirement not met" in said.out
    assert "<failure" in junit.read_text()
    assert json.loads(evenhand("gate", first, "--require", require, "--json").out)["met"] is False


def test_a_plan_says_how_many_subjects_are_needed(evenhand: Command, first: Path, snapshot: Snapshot) -> None:
    snapshot("plan", evenhand("plan", "--margin", 0.05, "--rate", 0.8, "--images", 5, "--correlation", 0.4).out)
    assert "difference" in evenhand("plan", "--subjects", 100, "--rate", 0.7).out
    assert "What these groups can show" in evenhand("plan", "--run", first).out
    assert evenhand("plan").code == 2


@pytest.mark.parametrize(
    ("form", "suffix"), [("html", "html"), ("csv", "csv"), ("json", "json"), ("markdown", "md"), ("latex", "tex")]
)
def test_reports_are_written_in_every_form(
    evenhand: Command, first: Path, tmp_path: Path, form: str, suffix: str
) -> None:
    path = tmp_path / f"report.{suffix}"
    assert evenhand("report", first, "--format", form, "-o", path).code == 0
    assert "accuracy" in path.read_text()


def test_a_report_goes_into_the_run_by_default(evenhand: Command, first: Path) -> None:
    assert evenhand("report", first).code == 0
    assert (first / "report" / "report.html").exists()


def test_doctor_cache_and_weights_say_what_is_here(evenhand: Command, runs: Path) -> None:
    assert "everything that is registered loads" in evenhand("doctor").out
    assert json.loads(evenhand("doctor", "--json").out)["ok"] is True
    assert json.loads(evenhand("cache", "--runs", runs, "--json").out) == {"entries": [], "freed": 0}
    listed = evenhand("weights").out
    assert all(word in listed for word in ("licence", "sha-256", "files are here"))
    assert evenhand("weights", "get").code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("describe", "fairface/gendre"), "Did you mean 'fairface/gender'"),
        (("describe", "farface/gender"), "There is no task 'farface/gender'"),
        (
            (*EVALUATE, "--by", "rase"),
            "Did you mean 'race'",
        ),
        (
            (*EVALUATE, "--set", "taxnomy=fine"),
            "There is no option 'taxnomy'",
        ),
        (
            (*EVALUATE, "--set", "taxonomy"),
            "write key=value",
        ),
        (
            (*EVALUATE, "--rows", "some"),
            "auto, none or all",
        ),
        (
            (*EVALUATE, "--engine", "rows:2"),
            "There is no engine",
        ),
        (
            (*EVALUATE, "--draws", "-1"),
            "expected 0 or more",
        ),
        (
            (
                "evaluate",
                "fairface/gender",
                PREDICTIONS,
                PREDICTIONS,
                "--data",
                CASE,
            ),
            "the same name",
        ),
        (("rows", CASE), "run.json"),
        (("compare", CASE, CASE), "run.json"),
    ],
)
def test_bad_usage_ends_with_two_and_a_sentence(
    evenhand: Command, arguments: tuple[object, ...], message: str, tmp_path: Path
) -> None:
    extra = ("--runs", tmp_path) if arguments[0] == "evaluate" else ()
    said = evenhand(*arguments, *extra)
    assert said.code == 2
    assert message in said.err
    assert said.out == ""


def test_a_missing_argument_is_bad_usage(evenhand: Command) -> None:
    assert evenhand("evaluate").code == 2
    assert evenhand("no-such-verb").code == 2
