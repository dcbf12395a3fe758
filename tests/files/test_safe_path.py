"""A module in the current folder never runs, whatever standard name it has."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import evenhand

SOURCE = Path(evenhand.__file__).parent
EVENHAND = Path(sys.executable).with_name("evenhand")


def imported_names() -> set[str]:
    """The top-level name of every module that the package imports anywhere, and a few that starting Python needs."""
    found = {"evenhand", "pip", "sitecustomize", "usercustomize", "resource", "selectors", "tokenize", "random", "ray"}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found.update(alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - {"__future__"}


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """A current folder in which every module that we import is a trap."""
    for name in imported_names():
        (tmp_path / f"{name}.py").write_text(
            f"open({str(tmp_path / 'sprung')!r}, 'a').write({name!r} + '\\n')\nraise SystemExit('trap')\n"
        )
    return tmp_path


def sprung(folder: Path) -> list[str]:
    path = folder / "sprung"
    return sorted(set(path.read_text().split())) if path.exists() else []


def test_the_traps_work(trapped: Path):
    subprocess.run([sys.executable, "-m", "pip", "--version"], cwd=trapped, capture_output=True, check=False)
    assert sprung(trapped)


ENGINE = """
import os, sys
sys.path[:] = [entry for entry in sys.path if entry]
sys.path.append({tests!r})
os.chdir({folder!r})
import parts
from evenhand.core.engine import finished
from evenhand.engines import parse
work = parts.square if {engine!r} != "ray:1" else lambda part, place: part * part
if __name__ == "__main__":
    print(list(finished(parse({engine!r}).map(work, [1, 2, 3]))))
    sys.path.insert(0, {files!r})
    from listening import addresses
    print(sorted(addresses(os.environ.get("RAY_AUTH_TOKEN", "none"))))
"""


def run_engine(trapped: Path, engine: str) -> None:
    tests = str(Path(__file__).parents[1] / "engines")
    code = ENGINE.format(tests=tests, files=str(Path(__file__).parent), folder=str(trapped), engine=engine)
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    values, listening = done.stdout.splitlines()[-2:]
    assert values == "[1, 4, 9]", done.stderr
    assert sprung(trapped) == []
    assert listening == ("['127.0.0.1']" if engine == "ray:1" else "[]")


def test_no_worker_process_runs_what_lies_in_the_current_folder(trapped: Path):
    run_engine(trapped, "processes:2")


@pytest.mark.ray
def test_no_ray_worker_runs_what_lies_in_the_current_folder_and_ray_listens_on_loopback(trapped: Path):
    run_engine(trapped, "ray:1")


@pytest.mark.parametrize(
    "command",
    [
        ("tasks",),
        ("doctor",),
        ("demo", "fairface", "--engine", "processes:2", "--runs", "runs"),
    ],
)
def test_no_command_runs_what_lies_in_the_current_folder(trapped: Path, command: tuple[str, ...]):
    done = subprocess.run([EVENHAND, *command], cwd=trapped, capture_output=True, text=True, check=False)
    assert sprung(trapped) == []
    assert "trap" not in done.stderr


def test_pip_is_asked_for_its_settings_in_isolation(trapped: Path):
    code = "import os; os.chdir({!r}); from evenhand.instruments import packages; packages.pip_registries()"
    subprocess.run([sys.executable, "-P", "-c", code.format(str(trapped))], capture_output=True, check=True)
    assert sprung(trapped) == []


def test_the_setting_is_gone_afterwards():
    from evenhand.files.safe_path import safe_path

    before = dict(os.environ)
    with safe_path():
        assert os.environ["PYTHONSAFEPATH"] == "1"
    assert dict(os.environ) == before
