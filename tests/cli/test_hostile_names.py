"""Names that somebody else chose, through verbs that print them: nothing moves the cursor or forges a line."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from evenhand.cli.main import main
from evenhand.compat.fhibe.errors import ArgumentKeyError, OutputsMissingError, logger
from evenhand.compat.his_evaluators.evaluators.base import print_line
from evenhand.core.errors import OptionError
from evenhand.core.printing import printable

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
        assert not line.startswith("FORGED"), (verb, line)
        bad = [char for char in line if not char.isprintable() and char not in "\t\N{NO-BREAK SPACE}"]
        assert not bad, (verb, bad, line)


MODEL = """
class Model:
    name = "m\\x1b[31m\\u202e"

    def predict(self, samples):
        for number, sample in enumerate(samples):
            if number == 7:
                raise ValueError("broken\\x1b[31m\\nFORGED\\u202e")
            yield sample.id, "female\\x1b[31m\\nFORGED"
"""


def write_faces(folder: Path) -> None:
    """A FairFace folder, answers and a model, all with hostile names."""
    with (folder / "fairface_label_val.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("file", "age", "gender", "race", "service_test"))
        for number, name in enumerate(HOSTILE * 3):
            writer.writerow((f"val/{number}{name}.jpg", "20-29", ("Male", "Female")[number % 2], "White", "True"))
    with (folder / "answers.jsonl").open("w", encoding="utf-8") as file:
        for number, name in enumerate(HOSTILE * 3):
            answer = {"image_path": f"val/{number}{name}.jpg", "raw_output": f"Gender: Male {name}"}
            file.write(json.dumps(answer if number else {"image_path": name, "raw_output": name}) + "\n")
    (folder / "model.py").write_text(MODEL, encoding="utf-8")


def write_watchlist(folder: Path) -> None:
    """A UCCS folder in which pictures, conditions and a system have hostile names."""
    names = [f"p{number}{name}.jpg" for number, name in enumerate(HOSTILE) if not set(name) & set("\n\r")]
    faces, detections = [], []
    for number, name in enumerate(names):
        faces.append((name, number, 1 + number % 3, 10, 10, 20, 20, HOSTILE[number % 3]))
        detections.append((name, 0.9, 10, 10, 20, 20, *(0.1 * ((number + n) % 7) for n in range(3))))
    boxes = ("DETECTION_SCORE", "BB_X", "BB_Y", "BB_WIDTH", "BB_HEIGHT")
    tables = {
        "validation.csv": (
            (
                "FILE",
                "FACE_ID",
                "SUBJECT_ID",
                *(f"FACE_{side}" for side in ("X", "Y", "WIDTH", "HEIGHT")),
                "LIGHT\x1b[31m",
            ),
            faces,
        ),
        "gallery.csv": (("FILE", "SUBJECT_ID"), [(f"{n}.png", n) for n in (1, 2, 3)]),
        "scores.txt": (("FILE", *boxes, "S_0001", "S_0002", "S_0003"), detections),
        "detections.txt": (("FILE", *boxes), [row[:6] for row in detections]),
    }
    for name, (header, rows) in tables.items():
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Runs and folders in which all names are hostile, by the word that stands for them in a command."""
    folder = tmp_path_factory.mktemp("hostile")
    for number in (1, 2):
        arguments = ["evaluate", "table/labels", str(table(folder / f"m{number}\x1b[31m.csv", number))]
        arguments += ["--set", "truth=y", "--set", f"prediction={COLUMNS[2]}", "--set", f"key={COLUMNS[0]}"]
        arguments += ["--by", f"{COLUMNS[3]},{COLUMNS[4]}", "--runs", str(folder / "runs"), "--draws", "50"]
        assert main([*arguments, "--permutations", "50"]) == 0
    found = [str(path.parent) for path in sorted((folder / "runs").rglob("results.json"))]
    assert len(found) == 2
    (folder / "gate.toml").write_text(
        '[[require]]\nname = "n\\u001b[31m\\u202e\\nFORGED"\nmetric = "labels"\noutput = "accuracy"\nat_least = 0.99\n'
    )
    for name, write in (("faces", write_faces), ("watchlist", write_watchlist)):
        (folder / name).mkdir()
        write(folder / name)
    words = {name: str(folder / name) for name in ("runs", "faces", "watchlist")}
    return {
        **words, "run1": found[0], "run2": found[1], "gate": str(folder / "gate.toml"),
        "table": str(folder / "m1\x1b[31m.csv"), "bad": "x\x1b[31m\u202e\nFORGED",
        "columns": f"truth=y --set prediction={COLUMNS[2]}",
    }  # fmt: skip


VERBS = (
    "rows {run1}", "rows {run1} --format csv", "rows {run1} --format jsonl", "rows {run1} --json",
    "rows {run1} --group {bad}={bad}", "rows {run1} --format {bad}", "compare {run1} {run2}",
    "compare {run1} {run2} --json", "compare {run1} {run2} --all", "diff {run1} {run2}", "diff {run1} {run2} --json",
    "gate {run1} --require {gate}", "gate {run1} --require {gate} --json", "gate {run1} --require {bad}",
    "cache --runs {runs}", "cache --runs {runs} --json", "cache {bad}", "explain {run1}", "explain {run1} --json",
    "plan --run {run1}", "plan --run {bad}", "report {run1} -o out.html", "report {table}", "report {bad}",
    "rows {table}", "rows {bad}", "compare {table} {run1}", "diff {bad} {run1}", "describe {bad}",
    "describe table/labels", "tasks --{bad}", "{bad}", "demo {bad}", "demo table --{bad}", "doctor --{bad}",
    "doctor --json", "weights {bad}", "weights get {bad}", "serve {bad}", "serve {runs} --host {bad}",
    "serve {runs} --data {bad}", "check table/labels {table} --set truth=y --set prediction=p",
    "check table/labels {table} --set {bad}={bad}", "evaluate table/labels {bad}={table} --set {columns} --by {bad}",
    "evaluate table/labels {bad}={table} --set {columns} --draws 0 --permutations 0 --runs .",
    "evaluate table/labels m={table} --set {columns} --dry-run", "evaluate table/labels m={bad} --set {columns}",
    "evaluate fairface/gender {bad}={faces}/answers.jsonl --data {faces} --runs .",
    "evaluate fairface/gender {faces}/answers.jsonl --data {faces} --runs . --draws 0 --permutations 0 --json",
    "evaluate fairface/gender {faces}/answers.jsonl --data {faces} --runs . --by {bad}",
    "evaluate fairface/gender {faces}/answers.jsonl --data {faces} --settings {bad}",
    "evaluate fairface/{bad} {table}", "evaluate fairface/gender {table} --data {faces}",
    "evaluate fairface/gender {faces}/answers.jsonl --data {faces} --engine {bad}",
    "check fairface/gender {faces}/answers.jsonl --data {faces}", "check fairface/gender {table} --data {faces}",
    "check fairface/gender --data {faces} --json",
    "predict fairface/gender --model {faces}/model.py:Model --data {faces}",
    "predict fairface/gender --model {bad} --data {faces}",
    "predict fairface/gender --model {bad}:{bad} --data {faces}",
    "predict {bad} --model {faces}/model.py:{bad} --data {faces}",
    "predict fairface --model openai:{bad} --data {faces}", "fairface read {bad}", "fairface read {bad} --json",
    "fairface evenness {bad}", "fairface {bad}", "fairface read --{bad} 1",
    "evaluate uccs/detection {watchlist}/detections.txt --data {watchlist} --runs . --draws 0",
    "evaluate uccs/identification {watchlist}/scores.txt --data {watchlist} --runs . --draws 0",
    "check uccs/identification {watchlist}/scores.txt --data {watchlist}",
    "uccs evaluation --data_directory {watchlist} --eval.detection.files {watchlist}/detections.txt --draws 0 "
    "--eval.recognition.files {watchlist}/scores.txt --eval.recognition.labels {bad} --result_directory .",
    "uccs evaluation {table}", "uccs scoring --x\x1b[31m 1", "uccs no\x1b[31m\nFORGED", "uccs evaluation {bad}",
    "uccs scoring --data_directory {watchlist} --scoring.gallery {bad} --scoring.probe {bad} --scoring.results "
    "out.txt",
    "uccs baseline_detection --data_directory {watchlist}", "uccs baseline_recognition --data_directory {watchlist}",
    "ijb modified_bcubed {table} {bad}", "ijb to_lists {bad} {bad}", "ijb cluster {bad}", "ijb {bad}",
    "ijb stream {table}", "evaluate ijb/test1 {bad} --data {bad}", "evaluate pairs/custom {table} --data {table}",
    "evaluate fhibe/face_localization {table} --data {faces}", "evaluate synthesis/pictures {table} --data {faces}",
)  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_nothing_hostile_is_printed_by(
    verb: str,
    places: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
):
    monkeypatch.chdir(tmp_path)
    arguments = [word.format(**places) for word in verb.split(" ")]
    if "{columns}" in verb:
        arguments = [word for part in arguments for word in (part.split(" ") if part.startswith("truth=") else [part])]
    try:
        code = main(arguments)
    except SystemExit as leave:  # argparse
        code = int(leave.code or 0)
    assert code in (0, 1, 2, 3)
    printed = capsys.readouterr()
    assert printed.out + printed.err
    assert "internal error" not in printed.err
    check_printed(printed.err, verb)
    if "jsonl" in verb and "--format" in verb:
        assert [json.loads(line) for line in printed.out.splitlines()]
    elif "--format csv" in verb:  # a cell may have several lines, as every reader of CSV knows
        rows = list(csv.reader(io.StringIO(printed.out, newline="")))
        assert len(rows) == 421
        assert not [cell for row in rows for cell in row if cell.startswith(("=", "@", "\t", "\r"))]
        check_printed(printed.out.replace("\nFORGED", ""), verb)
    else:
        check_printed(printed.out, verb)
        if "--json" in arguments and printed.out:
            json.loads(printed.out)


@pytest.mark.parametrize("form", ["html", "csv", "json", "markdown", "card", "latex", "pdf"])
def test_nothing_hostile_runs_in_a_report_as(form: str, places: dict[str, str], tmp_path: Path):
    path = tmp_path / f"report.{form}"
    assert main(["report", places["run1"], "--format", form, "-o", str(path)]) == 0
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


def test_a_gate_with_hostile_names_is_well_formed_junit(places: dict[str, str], tmp_path: Path):
    assert main(["gate", places["run1"], "--require", places["gate"], "--junit", str(tmp_path / "gate.xml")]) == 1
    assert len(list(ElementTree.parse(tmp_path / "gate.xml").getroot().iter("testcase"))) == 1


def test_errors_and_warnings_of_the_library_and_drop_ins_can_be_printed(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
):
    bad = "x\x1b[31m\u202e\nFORGED"
    for kind in (OptionError, ArgumentKeyError, OutputsMissingError):
        check_printed(str(kind(f"There is no {bad}.")), kind.__name__)
    logger("evenhand.test").warning("%s has no results", bad)
    check_printed(caplog.records[0].getMessage(), "logger")
    print_line(bad)
    check_printed(capsys.readouterr().out, "his_evaluators")


def test_spaces_and_joiners_of_other_scripts_are_printed():
    for text in ("می\u200cخواهم", "山田\u3000太郎", "1\u202f000", "👩\u200d👧", "a\u00a0b"):
        assert printable(text) == text


def test_a_file_of_rows_is_written_in_the_form_of_its_name(places: dict[str, str], tmp_path: Path, capsys):
    assert main(["rows", places["run1"], "-o", str(tmp_path / "rows.csv")]) == 0
    assert main(["rows", places["run1"], "--format", "csv"]) == 0
    assert (tmp_path / "rows.csv").read_bytes().decode() == capsys.readouterr().out
    assert main(["rows", places["run1"], "-o", str(tmp_path / "rows.txt")]) == 2
    assert "csv, jsonl, parquet" in capsys.readouterr().err
