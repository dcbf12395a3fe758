"""Every verb prints one JSON document with `--json`, has an example, and names no type for a flag."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from saying import CASE, Command

from evenhand.cli.main import VERBS

ASKED: dict[str, Callable[[Path, Path, Path], list[object]]] = {
    "tasks": lambda first, second, folder: [],
    "describe": lambda first, second, folder: ["fairface/gender"],
    "check": lambda first, second, folder: ["fairface/gender", CASE / "predictions_model_a.csv", "--data", CASE],
    "evaluate": lambda first, second, folder: [
        *("fairface/gender", f"a={CASE / 'predictions_model_a.csv'}", "--data", CASE, "--by", "gender"),
        *("--draws", 20, "--permutations", 20, "--runs", folder),
    ],
    "rows": lambda first, second, folder: [first, "--worst", 2],
    "explain": lambda first, second, folder: [first],
    "compare": lambda first, second, folder: [first, second, "--draws", 20],
    "diff": lambda first, second, folder: [first, second],
    "gate": lambda first, second, folder: [first, "--require", folder / "gate.toml"],
    "plan": lambda first, second, folder: ["--margin", 0.1, "--rate", 0.8],
    "report": lambda first, second, folder: [first, "-o", folder / "report.html"],
    "doctor": lambda first, second, folder: [],
    "cache": lambda first, second, folder: ["--runs", folder],
    "weights": lambda first, second, folder: [],
    "demo": lambda first, second, folder: ["table", "--runs", folder / "demo"],
}
ELSEWHERE = {"predict": "tests/cli/test_verbs.py", "serve": "answers until it is stopped: tests/serve/test_server.py"}


def test_every_verb_is_asked_for_json_somewhere():
    assert set(ASKED) | set(ELSEWHERE) == set(VERBS)


@pytest.mark.parametrize("verb", ASKED)
def test_json_is_one_document_on_standard_output(evenhand: Command, runs: Path, tmp_path: Path, verb: str):
    first, second = (next((runs / "fairface" / "gender" / name).iterdir()) for name in ("a", "b"))
    (tmp_path / "gate.toml").write_text('[[require]]\nmetric = "gender"\noutput = "accuracy"\nat_least = 0.1\n')
    said = evenhand(verb, *ASKED[verb](first, second, tmp_path), "--json")
    assert said.code in (0, 1), said.err
    assert isinstance(json.loads(said.out), dict | list), verb


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_an_example_and_no_type_for_a_flag(evenhand: Command, verb: str):
    help_text = evenhand(verb, "--help").out
    assert "--json" in help_text
    assert "<bool>" not in help_text
    assert VERBS[verb].example.split()[:2] == ["evenhand", verb]
    assert "Example: evenhand" in help_text


def test_rows_are_shown_in_words_with_their_counts(evenhand: Command, runs: Path):
    run = next((runs / "fairface" / "gender" / "a").iterdir())
    everything = json.loads(evenhand("rows", run, "--json").out)
    female = json.loads(evenhand("rows", run, "--group", "gender=Female", "--worst", 2, "--json").out)
    assert female["shown"] == 2
    assert 2 < female["rows"] < everything["rows"]
    text = evenhand("rows", run, "--group", "gender=Female", "--worst", 2).out
    assert f"2 worst rows of {female['rows']}" in text
    assert "truth  Female" in text


def test_differences_are_rounded_and_those_of_most_rows_come_first(evenhand: Command, runs: Path):
    first, second = (next((runs / "fairface" / "gender" / name).iterdir()) for name in ("a", "b"))
    values = json.loads(evenhand("diff", first, second, "--json").out)["values"]
    counts = [change["rows"] for change in values]
    assert counts == sorted(counts, reverse=True)
    text = evenhand("diff", first, second).out
    assert " change " in text
    assert re.search(r"\d\.\d{7}", text) is None
