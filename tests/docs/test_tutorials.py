"""What the documentation shows is run: commands, Python and the lines that they are said to print.

A fenced block is run when its first line says so: `console run` (each `$ ` line by a shell; `exit=1` when the last is
to fail), `python run`; `toml file=NAME` is written to a file. The blocks of one page run one after the other in one
empty folder. Lines below a command must occur in what it prints, but for spaces.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from evenhand.cli.main import main

DOCS = Path(__file__).parents[2] / "docs"
WIDE = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}


class Block(NamedTuple):
    """A fenced block of a page."""

    kind: str
    marks: tuple[str, ...]
    text: str
    line: int


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page that are marked to be run or written.

    >>> list(blocks("```python run\\nprint(1)\\n```"))
    [Block(kind='python', marks=('run',), text='print(1)', line=1)]
    """
    for match in re.finditer(r"^```(\w+) ([^\n]+)\n(.*?)^```$", text + "\n", re.MULTILINE | re.DOTALL):
        line = text[: match.start()].count("\n") + 1
        yield Block(match[1], tuple(match[2].split()), match[3].rstrip("\n"), line)


def commands(block: Block) -> Iterator[tuple[str, list[str]]]:
    """The commands of a console block, each with the lines that it is said to print."""
    command, said = "", []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, said
            command, said = line[2:], []
        elif line.strip() and line.strip() != "…":
            said.append(line)
    if command:
        yield command, said


def run(command: list[str], folder: Path) -> tuple[int, str]:
    """The exit code of a command and all that it printed."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        **WIDE,
    }
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)
    return done.returncode, done.stdout + done.stderr


def said_by(command: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The same of a line for the shell; a plain command of ours runs in this process, which is much faster."""
    words = shlex.split(command)
    if words[0] != "evenhand" or any(sign in command for sign in "|<>;&$`"):
        return run(["sh", "-c", command], folder)
    arguments = [name for word in words[1:] for name in (expanded(word) if "*" in word else [word])]
    capfd.readouterr()
    code = main(arguments)
    return code, "".join(capfd.readouterr())


def expanded(pattern: str) -> list[str]:
    """What a shell makes of a pattern in the working folder."""
    return sorted(str(path) for path in Path().glob(pattern))


def squeezed(text: str) -> str:
    """A text without spaces at all, since tables and long lines are laid out by width."""
    return re.sub(r"\s+", "", text)


class Demonstration(NamedTuple):
    """The command that most pages begin with, run once for all of them: what it wrote and what it printed."""

    folder: Path
    printed: str

    def printed_by(self, command: str) -> str | None:
        """What such a command of a page prints; None of another command."""
        match = re.fullmatch(r"evenhand demo fairface --runs (\S+)", command)
        return re.sub(r"\bdemo(?=/|$)", match[1], self.printed, flags=re.MULTILINE) if match else None


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demonstration:
    folder = tmp_path_factory.mktemp("demo")
    code, printed = run([sys.executable, "-m", "evenhand.cli.main", "demo", "fairface", "--runs", "demo"], folder)
    assert code == 0, printed
    return Demonstration(folder / "demo", printed)


PAGES = sorted(path for path in DOCS.rglob("*.md") if any(True for _ in blocks(path.read_text(encoding="utf-8"))))


def test_there_are_pages_to_run() -> None:
    names = {path.stem for path in PAGES}
    assert {"researcher", "team", "engineer", "index", "uccs", "fairface", "ijb", "his_evaluators"} <= names


LONG = {"his_evaluators"}  # runs the demonstration of synthesis, with all its networks


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(path, id=path.relative_to(DOCS).as_posix(), marks=[pytest.mark.slow] * (path.stem in LONG))
        for path in PAGES
    ],
)
def test_a_page_does_what_it_says(
    page: Path, demo: Demonstration, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in WIDE.items():
        monkeypatch.setenv(name, value)
    text = page.read_text(encoding="utf-8")
    for name in set(re.findall(r"evenhand demo fairface --runs ([\w-]+)", text)):
        shutil.copytree(demo.folder, tmp_path / name)
    for block in blocks(text):
        where = f"{page.name}, line {block.line}"
        for mark in block.marks:
            if mark.startswith("file="):
                (tmp_path / mark.removeprefix("file=")).write_text(block.text + "\n", encoding="utf-8")
        if "run" not in block.marks:
            continue
        if block.kind == "python":
            code, printed = run([sys.executable, "-c", block.text], tmp_path)
            assert code == 0, f"{where}\n{printed}"
            continue
        assert block.kind == "console", where
        wanted = next((int(mark.removeprefix("exit=")) for mark in block.marks if mark.startswith("exit=")), 0)
        listed = list(commands(block))
        for number, (command, said) in enumerate(listed, start=1):
            printed_before = demo.printed_by(command)
            code, printed = (0, printed_before) if printed_before else said_by(command, tmp_path, capfd)
            assert code == (wanted if number == len(listed) else 0), f"{where}: {command}\n{printed}"
            for line in said:
                assert squeezed(line) in squeezed(printed), f"{where}: {command}\nsays {line!r}, printed:\n{printed}"
