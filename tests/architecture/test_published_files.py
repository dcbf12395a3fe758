"""The files with which the project is published say the same as the package, and parse."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import evenhand

ROOT = Path(__file__).parents[2]


def test_the_citation_has_the_version_of_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == evenhand.__version__
    assert citation["license"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"]


def test_the_action_passes_inputs_through_the_environment_only():
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    steps = action["runs"]["steps"]
    assert all("${{" not in step.get("run", "") for step in steps)  # an input in a script could be a command
    text = "\n".join(step.get("run", "") for step in steps)
    assert set(re.findall(r"evenhand (\w+)", text)) == {"evaluate", "report", "gate"}
    (other,) = (step["uses"] for step in steps if "uses" in step)
    assert re.fullmatch(r"actions/upload-artifact@[0-9a-f]{40}", other)  # a commit, which a moved tag does not change


@pytest.mark.slow
def test_the_scripts_of_the_action_evaluate_report_and_gate_a_table(tmp_path: Path):
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    rows = "\n".join(f"{number % 2},{number % 2 if number % 7 else 0},{'ab'[number % 3 == 0]}" for number in range(90))
    (tmp_path / "a table.csv").write_text(f"y,answer,group\n{rows}\n")
    (tmp_path / "release.toml").write_text('[[require]]\nmetric = "accuracy"\nat_least = 0.5\n')
    values = {f"inputs.{name}": entry.get("default", "") for name, entry in action["inputs"].items()} | {
        "inputs.task": "table/labels",
        "inputs.predictions": "my model=a table.csv",
        "inputs.require": "release.toml",
        "inputs.options": "--set truth=y\n--set prediction=answer\n--by group\n\n--draws 50",
    }
    outputs, path = tmp_path / "outputs", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for step in action["runs"]["steps"]:
        if step["name"] in ("Evaluate", "Gate"):
            given = {
                key: re.sub(r"\$\{\{ ([\w.]+) \}\}", lambda match: values[match[1]], text)
                for key, text in step["env"].items()
            }
            environment = {**os.environ, **given, "PATH": path, "GITHUB_OUTPUT": str(outputs)}
            subprocess.run(["bash", "-eo", "pipefail", "-c", step["run"]], env=environment, cwd=tmp_path, check=True)
            values["steps.evaluate.outputs.run"] = outputs.read_text().strip().removeprefix("run=")
    assert {path.name for path in (tmp_path / "evenhand-out").iterdir()} >= {
        "report.html",
        "junit.xml",
        "evaluate.json",
    }


def test_the_image_installs_the_wheel_with_extras_that_exist_and_runs_as_no_root():
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = re.search(r"\[([\w,]+)\]\"", text)
    assert extras is not None
    assert set(extras[1].split(",")) <= set(project["optional-dependencies"])
    assert "\nUSER 1000\n" in text  # the user evenhand, by number


def test_hooks_before_a_commit_are_local():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert {entry["repo"] for entry in hooks["repos"]} == {"local"}


def test_every_extra_is_named_by_doctor():
    from evenhand.cli.housekeeping import EXTRAS

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(EXTRAS) == set(project["optional-dependencies"]) - {"dev", "all"}


@pytest.mark.parametrize("mark", ["ray", "browser"])
def test_make_looks_for_tests_of_a_mark_in_every_folder_that_has_some(mark: str):
    line = next(line for line in (ROOT / "Makefile").read_text().splitlines() if f'"{mark} and not slow"' in line)
    named = [ROOT / word for word in line.split() if word.startswith("tests/")]
    marked = [path for path in (ROOT / "tests").rglob("test_*.py") if f"pytest.mark.{mark}" in path.read_text()]
    elsewhere = [path for path in marked if not any(path == place or place in path.parents for place in named)]
    assert named
    assert elsewhere == []
