"""Names that somebody else chose, through verbs that print them: nothing moves the cursor or forges a line."""

from __future__ import annotations

import csv
import json
import random
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from evenhand.cli.main import main

HOSTILE = (
    "red\x1b[31m", "turned\u202etxt", "bell\x07", "line\nFORGED", "c1\x9b31m", "over\rwrite", "=1+1", "@SUM(1)",
    "<script>alert(1)</script>", "[bold]x[/]", "|pipe|`code`", "![i](http://example.org/p.png)", "\u2066iso\u2069",
    "tab\tFORGED",
)  # fmt: skip
COLUMNS = ("image\x1b[32m", "y", "p\u202e", "g\x1b[1m", "h")


def table(path: Path, seed: int) -> Path:
    rng = random.Random(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for number in range(420):
            truth = rng.choice(("yes\x1b[5m", "no\x9b"))
            level = HOSTILE[number % len(HOSTILE)]
            answer = truth if rng.random() < 0.8 else "yes\x1b[5m"
            writer.writerow((f"{number}{level}", truth, answer, level, HOSTILE[number // 14 % 2]))
    return path


def check_printed(text: str, verb: str) -> None:
    for line in text.split("\n"):
        assert not line.lstrip().startswith("FORGED"), (verb, line)
        bad = [char for char in line if not char.isprintable() and char not in "\t\N{NO-BREAK SPACE}"]
        assert not bad, (verb, bad, line)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Two runs of tables with hostile names, by the option that names them."""
    folder = tmp_path_factory.mktemp("hostile")
    found = {}
    for number in (1, 2):
        arguments = ["evaluate", "table/labels", f"m{number}={table(folder / f'{number}.csv', number)}"]
        arguments += ["--set", "truth=y", "--set", f"prediction={COLUMNS[2]}", "--set", f"key={COLUMNS[0]}"]
        arguments += ["--by", f"{COLUMNS[3]},{COLUMNS[4]}", "--runs", str(folder / "runs"), "--draws", "50"]
        assert main([*arguments, "--permutations", "50"]) == 0
    for path in sorted((folder / "runs").rglob("results.json")):
        found[f"run{len(found) + 1}"] = str(path.parent)
    assert len(found) == 2
    (folder / "gate.toml").write_text(
        '[[require]]\nname = "n\\u001b[31m\\u202e\\nFORGED"\nmetric = "labels"\noutput = "accuracy"\nat_least = 0.99\n'
    )
    return {**found, "gate": str(folder / "gate.toml"), "table": str(folder / "1.csv"), "runs": str(folder / "runs")}


VERBS = (
    "rows {run1}", "rows {run1} --format json", "compare {run1} {run2}",
    "compare {run1} {run2} --json", "compare {run1} {run2} --all", "diff {run1} {run2}", "diff {run1} {run2} --json",
    "gate {run1} --require {gate}", "gate {run1} --require {gate} --json", "cache {runs}", "explain {run1}",
    "report {table}", "uccs evaluation {table}", "uccs scoring --x\x1b[31m 1", "uccs no\x1b[31m\nFORGED",
    "check table/labels {table} --set truth=y --set prediction=p", "rows {table}", "compare {table} {run1}",
)  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_nothing_hostile_is_printed_by(
    verb: str, runs: dict[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.chdir(tmp_path)
    assert main(verb.format(**runs).split(" ")) in (0, 1, 2)
    printed = capsys.readouterr()
    assert printed.out + printed.err
    assert "internal error" not in printed.err
    check_printed(printed.out, verb)
    check_printed(printed.err, verb)
    if "json" in verb and printed.out:
        json.loads(printed.out)


@pytest.mark.parametrize("form", ["html", "csv", "json", "markdown", "card", "latex", "pdf"])
def test_nothing_hostile_runs_in_a_report_as(form: str, runs: dict[str, str], tmp_path: Path):
    path = tmp_path / f"report.{form}"
    assert main(["report", runs["run1"], "--format", form, "-o", str(path)]) == 0
    data = path.read_bytes()
    if form == "pdf":
        assert data.startswith(b"%PDF")
        return
    text = data.decode()
    if form in ("markdown", "card", "latex"):  # the others are data, or shown by a browser
        check_printed(text, form)
    assert "<script>alert(1)" not in text or form in ("csv", "json", "latex")
    if form == "csv":
        cells = [cell for row in csv.reader(text.splitlines()) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "@", "\t", "\r"))]
    if form in ("markdown", "card"):
        assert not re.search(r"(?<!\\\\)!\[i\]\(http", text)
        assert not re.search(r"^FORGED", text, flags=re.MULTILINE)
    if form == "json":
        json.loads(text)


def test_a_gate_with_hostile_names_is_well_formed_junit(runs: dict[str, str], tmp_path: Path):
    assert main(["gate", runs["run1"], "--require", runs["gate"], "--junit", str(tmp_path / "gate.xml")]) == 1
    assert len(list(ElementTree.parse(tmp_path / "gate.xml").getroot().iter("testcase"))) == 1
