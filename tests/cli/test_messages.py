"""Every message of the verbs, word for word: one snapshot per verb, each call with its exit code.

`EVENHAND_SNAPSHOTS=write` keeps new texts; read them before you commit them.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from saying import CASE, Command, Said

from evenhand.cli.main import main

Snapshot = Callable[..., None]
FEW = ("--draws", 20, "--permutations", 20)


DATA, ANSWERS = "data", "data/predictions_model_a.csv"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, two runs, and the files that a user might mix up; everything is named from inside it."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "empty").mkdir()
    shutil.copytree(CASE, folder / DATA, ignore=shutil.ignore_patterns("expected.json"))
    texts = {
        "empty.csv": "",
        "notes.txt": "these are no predictions\n",
        "model.py": MODEL,
        "open.toml": _requirement(0.1),
        "shut.toml": _requirement(0.99),
        "odd.toml": '[[require]]\nmetric = "gendre"\noutput = "accuracy"\nat_least = 0.5\n',
        "broken.toml": "[[require\n",
        "unknown.toml": '[[require]]\nmetric = "gender"\noutput = "accuracy"\nat_last = 0.5\n',
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    with contextlib.chdir(folder):
        for name in ("a", "b"):
            answers = f"{name}=data/predictions_model_{name}.csv"
            line = ["evaluate", "fairface/gender", answers, "--data", DATA, "--by", "gender,race", "--runs", "kept"]
            assert main([*line, "--draws", "200", "--permutations", "200", "--json"]) == 0
            next((folder / "kept/fairface/gender" / name).iterdir()).rename(folder / name)
    return folder


@pytest.fixture
def here(desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the desk, to work in."""
    folder = tmp_path / "desk"
    shutil.copytree(desk, folder)
    monkeypatch.chdir(folder)
    return folder


MODEL = '''
class Always:
    """Says the same of everyone; can't answer the second face."""

    name = "always"

    def predict(self, samples):
        for number, sample in enumerate(samples):
            if number != 1:
                yield sample.id, "Female"


class Raises:
    name = "raises"

    def predict(self, samples):
        raise RuntimeError("no picture today")
        yield


class Stopped:
    name = "stopped"

    def predict(self, samples):
        raise KeyboardInterrupt
        yield


NUMBER = 7
'''


def _requirement(least: float) -> str:
    return f'[[require]]\nname = "good enough"\nmetric = "gender"\noutput = "accuracy"\nat_least = {least}\n'


def _told(call: tuple[object, ...], said: Said) -> str:
    words = " ".join(str(word) for word in call)
    return f"$ evenhand {words}\n{said.out}{said.err}[exit code {said.code}]\n"


def tell(evenhand: Command, *calls: tuple[object, ...]) -> str:
    """The calls one after the other, each as it was typed, with all that it printed."""
    return "\n".join(_told(call, evenhand(*call)) for call in calls)


VERBS = (
    "tasks", "describe", "check", "predict", "evaluate", "rows", "explain", "compare", "diff", "gate", "plan",
    "report", "serve", "doctor", "cache", "weights", "demo",
)  # fmt: skip


def test_help(evenhand: Command, snapshot: Snapshot) -> None:
    snapshot("help", tell(evenhand, ("--help",), *((verb, "--help") for verb in VERBS)))


def test_bad_usage(evenhand: Command, snapshot: Snapshot, here: Path) -> None:
    calls = (
        ("no-such-verb",),
        ("evaluate",),
        ("evaluate", "fairface/gender"),
        ("evaluate", "fairface/gender", ANSWERS, "--no-such-option"),
        ("evaluate", "fairface/gender", ANSWERS, "--draws", "many"),
        ("describe",),
        ("gate", "a"),
        ("predict", "fairface/gender"),
    )
    snapshot("bad_usage", tell(evenhand, *calls), here)


def test_tasks_and_describe(evenhand: Command, snapshot: Snapshot) -> None:
    calls = (
        ("tasks",),
        ("describe", "fairface/gender"),
        ("describe", "ijb/test1"),
        ("describe", "fairface/gendre"),
        ("describe", "nobody/knows"),
        ("describe", "fairface"),
    )
    snapshot("describe", tell(evenhand, *calls))


def test_check(evenhand: Command, snapshot: Snapshot, here: Path) -> None:
    calls = (
        ("check", "fairface/gender", ANSWERS, "--data", DATA),
        ("check", "fairface/gender", "--data", DATA),
        ("check", "fairface/gender", "empty.csv", "--data", DATA),
        ("check", "fairface/gender", "notes.txt", "--data", DATA),
        ("check", "fairface/gender", "absent.csv", "--data", DATA),
        ("check", "fairface/gender", ANSWERS, "--data", "absent"),
        ("check", "fairface/gender", ANSWERS, "--data", "empty"),
    )
    snapshot("check", tell(evenhand, *calls), here)


def test_evaluate(evenhand: Command, snapshot: Snapshot, here: Path) -> None:
    start = ("evaluate", "fairface/gender", ANSWERS, "--data", DATA)
    calls = (
        (*start, "--by", "gender", *FEW),
        (*start, "--by", "gender", *FEW),
        (*start, "--depth", 3, "--draws", 0, "--permutations", 0, "--by", "gender,race,age"),
        (*start, "--dry-run"),
        (*start, "--by", "rase"),
        (*start, "--set", "taxnomy=fine"),
        (*start, "--set", "taxonomy=huge"),
        (*start, "--set", "taxonomy"),
        (*start, "--set", "taxonomy=fine", "--set", "taxonomy=coarse"),
        (*start, "--rows", "some"),
        (*start, "--engine", "rows:2"),
        (*start, "--engine", "serial:2"),
        (*start, "--engine", "threads:many"),
        (*start, "--engine", "processes:0"),
        (*start, "--draws", "-1"),
        (*start[:3], ANSWERS, *start[3:]),
        (*start[:2], "absent.csv", *start[3:]),
        (*start[:2], "empty.csv", *start[3:]),
        (*start[:2], "notes.txt", *start[3:]),
        (*start[:3], "--data", "absent"),
        (*start[:3], "--data", "empty"),
        ("evaluate", "fairface/gendre", ANSWERS, "--data", DATA),
    )
    text = tell(evenhand, *calls)
    text = re.sub(r"(?m)^takes .*", "takes …", text)
    snapshot("evaluate_messages", text, here)


def test_predict(evenhand: Command, snapshot: Snapshot, here: Path) -> None:
    start = ("predict", "fairface/gender", "--data", DATA, "--model")
    calls = (
        (*start, "model.py:Always"),
        (*start, "model.py:Always"),
        (*start, "model.py:Always", "--resume"),
        (*start, "model.py:Raises"),
        (*start, "model.py:Nobody"),
        (*start, "model.py:NUMBER"),
        (*start, "model.py"),
        (*start, "absent.py:Always"),
        (*start, "nobody:knows"),
        (*start, "openai:some-model"),
        (*start, "model.py:Always", "--workers", "0"),
    )
    # A slow machine also prints how far it is.
    text = re.sub(r"(?m)^.* of [\d,]+ answers, .* after [\d.]+ s\n", "", tell(evenhand, *calls))
    snapshot("predict", re.sub(r"\d+(\.\d+)? (s|ms|/s)\b", "… s", text), here)


def test_rows_and_explain(evenhand: Command, snapshot: Snapshot, here: Path) -> None:
    calls = (
        ("rows", "a", "--worst", 2),
        ("rows", "a", "--group", "race=Indian", "--limit", 1),
        ("rows", "a", "--group", "race"),
        ("rows", "a", "--group", "race=Martian"),
        ("rows", "a", "--group", "shoe=42"),
        ("rows", "a", "--format", "xml"),
        ("rows", "empty"),
        ("rows", "absent"),
        ("explain", "a"),
        ("explain", "empty"),
    )
    snapshot("rows", tell(evenhand, *calls), here)


def test_compare_and_diff(evenhand: Command, snapshot: Snapshot, here: Path) -> None:
    calls = (
        ("compare", "a", "b", "--draws", 50, "--page", "both.html"),
        ("compare", "a"),
        ("compare", "a", "a", "--draws", 50),
        ("compare", "a", "empty"),
        ("diff", "a", "b", "--most", 2, "--page", "why.html"),
        ("diff", "a", "a"),
        ("diff", "a", "empty"),
    )
    snapshot("compare_and_diff", tell(evenhand, *calls), here)


def test_gate_and_plan(evenhand: Command, snapshot: Snapshot, here: Path) -> None:
    calls = (
        *(("gate", "a", "--require", f"{name}.toml") for name in ("open", "shut", "odd", "broken", "unknown", "no")),
        ("gate", "empty", "--require", "open.toml"),
        ("plan", "--margin", 0.05),
        ("plan", "--subjects", 100, "--rate", 0.7, "--images", 5, "--correlation", 0.4),
        ("plan", "--run", "a"),
        ("plan",),
        ("plan", "--margin", 0),
        ("plan", "--margin", 0.05, "--rate", 1.5),
        ("plan", "--margin", 0.05, "--power", 1),
        ("plan", "--subjects", 0),
        ("plan", "--margin", 0.05, "--correlation", 2),
    )
    snapshot("gate_and_plan", tell(evenhand, *calls), here)


def test_report_and_serve(evenhand: Command, snapshot: Snapshot, here: Path) -> None:
    calls = (
        ("report", "a", "-o", "page.html"),
        *(("report", "a", "--format", form, "-o", f"table.{form}") for form in ("csv", "json", "markdown", "latex")),
        ("report", "a", "--format", "docx"),
        ("report", "empty"),
        ("report", "absent"),
        ("serve", "absent"),
    )
    snapshot("report", tell(evenhand, *calls), here)


@pytest.mark.torch
@pytest.mark.skipif(find_spec("ray") is None, reason="the table of extras is the one with Ray")
def test_doctor_cache_and_weights(evenhand: Command, snapshot: Snapshot, here: Path) -> None:
    calls = (
        ("cache", "--runs", "kept"),
        ("cache", "--runs", "kept", "--empty"),
        ("cache", "--runs", "absent"),
        ("weights", "get"),
        ("weights", "get", "no-such-weights"),
        ("weights", "fetch", "alexnet"),
    )
    doctor = evenhand("doctor")
    extras = doctor.out[doctor.out.index("Extras") :]
    text = tell(evenhand, *calls) + "\n$ evenhand doctor\n…\n" + extras + f"[exit code {doctor.code}]\n"
    snapshot("housekeeping", text, here, Path(sys.prefix))


def test_demo_two_systems_and_a_stop(evenhand: Command, snapshot: Snapshot, here: Path) -> None:
    both = ("a=data/predictions_model_a.csv", "b=data/predictions_model_b.csv")
    calls = (
        ("demo", "fairface", "--runs", "shown"),
        ("demo", "nobody", "--runs", "shown"),
        ("evaluate", "fairface/gender", *both, "--data", DATA, "--by", "gender", *FEW),
        ("predict", "fairface/gender", "--data", DATA, "--model", "model.py:Stopped"),
    )
    snapshot("demo_and_stop", tell(evenhand, *calls), here)


@pytest.mark.parametrize("verb", ["tasks", "doctor", "weights"])
def test_one_document_and_nothing_else_on_standard_output(evenhand: Command, verb: str) -> None:
    said = evenhand(verb, "--json")
    assert said.code == 0
    assert isinstance(json.loads(said.out), dict)
