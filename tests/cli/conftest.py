"""A run of the smallest family, made once for all tests of the verbs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
from saying import CASE, Command, Said

from evenhand.cli.main import main

SNAPSHOTS = Path(__file__).parent / "snapshots"
CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"


def _is_older(package: str) -> bool:
    """Whether a package is older than the one that the kept texts were written with."""
    kept = re.search(rf"^{package}==([\d.]+)", CONSTRAINTS.read_text(), flags=re.MULTILINE)
    assert kept is not None
    return [int(part) for part in version(package).split(".")[:2]] < [int(part) for part in kept[1].split(".")[:2]]


@pytest.fixture
def evenhand(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command in this process, 80 columns wide, without colours."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr("evenhand.cli.console._LINE_SECONDS", float("inf"))  # a slow machine prints the same

    def run(*arguments: object) -> Said:
        capfdbinary.readouterr()
        code = main([str(argument) for argument in arguments])
        printed = capfdbinary.readouterr()
        return Said(code, printed.out.decode(), printed.err.decode())

    return run


@pytest.fixture
def snapshot() -> Callable[..., None]:
    """Compare a text with the kept one; EVENHAND_SNAPSHOTS=write keeps the new one."""

    def check(name: str, text: str, *paths: Path) -> None:
        for path in paths:
            text = text.replace(str(path), "DIR")
        text = re.sub(r"\b[0-9a-f]{8}\b", "FINGERP1", text)
        text = "\n".join(line.rstrip() for line in text.splitlines()).strip() + "\n"
        kept = SNAPSHOTS / f"{name}.txt"
        if os.environ.get("EVENHAND_SNAPSHOTS") == "write":
            kept.write_text(text, encoding="utf-8")
        if text != kept.read_text(encoding="utf-8") and _is_older("typer"):
            pytest.skip("older releases of typer set help and errors differently")
        assert text == kept.read_text(encoding="utf-8")

    return check


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two evaluated systems: `a` and `b` of fairface/gender."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("a", "b"):
        path = CASE / f"predictions_model_{name}.csv"
        arguments = ["evaluate", "fairface/gender", f"{name}={path}", "--data", CASE, "--by", "gender,race"]
        arguments += ["--draws", "200", "--permutations", "200", "--runs", folder, "--json"]
        assert main([str(argument) for argument in arguments]) == 0
    return folder


@pytest.fixture
def first(runs: Path) -> Path:
    """The run folder of system `a`."""
    return next((runs / "fairface" / "gender" / "a").iterdir())


@pytest.fixture
def second(runs: Path) -> Path:
    """The run folder of system `b`."""
    return next((runs / "fairface" / "gender" / "b").iterdir())
