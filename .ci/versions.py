"""Golden and quick tests with the oldest and the newest versions that pyproject.toml allows, and with other Pythons.

    python .ci/versions.py [lowest] [newest] [python3.12] … [--folder FOLDER] [-- ARGUMENTS OF PYTEST]

Without names: all that are possible here. `lowest` takes the oldest version of every direct dependency (uv's
lowest-direct); test tools are always the newest. With --folder, environments are kept there and used again. Packages
that have no build for a Python are named and left out; tests that need them skip.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
TORCH = "torch==2.13.0"  # the exact pin gets the CPU build where there is one; others pull gigabytes of CUDA packages
EXTRAS = ("pixels", "http", "data", "serve", "pdf", "models")
TOOLS = (
    "pytest",
    "hypothesis",
    "pytest-xdist",
    "scikit-image",
    "hatchling",
    "editables",
    "import-linter",
    "mlflow-skinny",
)
TESTS = ("-m", "not slow and not ray and not browser", "-n", "2", "--dist", "worksteal")


def interpreters() -> dict[str, str]:
    """Other Pythons of this machine, by name."""
    others = {}
    for minor in range(11, 16):
        name = f"python3.{minor}"
        places = [*map(str, Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/{name}")), shutil.which(name)]
        path = next((place for place in places if place), None)
        if path and minor != sys.version_info.minor:
            others[name] = path
    return others


def carriers() -> list[str]:
    """The packages that carry weights of networks, as the Makefile names them."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    return re.findall(r"\S+==\S+", re.search(r"^CARRIERS := (.*)$", text, flags=re.M)[1])  # type: ignore[index]  # the Makefile has it


def environment(folder: Path, python: str) -> Path:
    if python == sys.executable:
        venv.create(folder, with_pip=True)
    else:
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
    return folder / "bin" / "python"


def pip(python: Path, *arguments: object, check: bool = True) -> bool:
    command = [str(python), "-m", "pip", "install", "--quiet", "--prefer-binary", *map(str, arguments)]
    return subprocess.run(command, check=check).returncode == 0


def lowest(folder: Path) -> list[str]:
    """Every package at the oldest version that pyproject.toml allows."""
    tool = environment(folder / "uv", sys.executable)
    pip(tool, "uv")
    extras = [part for extra in EXTRAS for part in ("--extra", extra)]
    command = [str(tool.with_name("uv")), "pip", "compile", "--quiet", "--resolution", "lowest-direct", *extras]
    pins = subprocess.run([*command, str(ROOT / "pyproject.toml")], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^[\w.-]+==\S+", pins, flags=re.M)


def newest() -> list[str]:
    """What pyproject.toml asks for, with the extras of the tests."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *(name for extra in EXTRAS for name in project["optional-dependencies"][extra])]


def has_cpu_build(python: Path) -> bool:
    """Whether torch's pin would bring the CPU build; asked without installing."""
    command = [str(python), "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps", "--report", "-", TORCH]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    installs = json.loads(done.stdout)["install"] if done.returncode == 0 else []
    return any(entry["metadata"]["version"].endswith("+cpu") for entry in installs) or sys.platform == "darwin"


def prepare(name: str, folder: Path) -> None:
    """Make an environment with everything that the tests need; what could not be had is written beside it."""
    python = environment(folder / "env", interpreters().get(name, sys.executable))
    required = lowest(folder) if name == "lowest" else newest()
    left_out = []
    if has_cpu_build(python):
        required.append(TORCH)
    else:
        left_out.append(f"{TORCH} (no CPU build)")
    if not pip(python, *required, *TOOLS, check=name not in interpreters()):
        left_out += [each for each in (*required, *TOOLS) if not pip(python, each, check=False)]
    left_out += [each for each in carriers() if not pip(python, "--no-deps", each, check=False)]
    pip(python, "--no-deps", "--no-build-isolation", "--editable", ROOT)
    (folder / "left_out").write_text(", ".join(left_out))


def attempt(name: str, folder: Path, tests: list[str]) -> bool:
    if not (folder / "left_out").exists():
        prepare(name, folder)
    left_out = (folder / "left_out").read_text()
    print(f"versions: {name}: left out: {left_out or 'nothing'}", flush=True)
    command = [str(folder / "env" / "bin" / "python"), "-m", "pytest", "-q", *TESTS, *tests]
    if left_out:
        command.append("--doctest-ignore-import-errors")
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def main(arguments: list[str]) -> int:
    end = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=["lowest", "newest", *interpreters()])
    parser.add_argument("--folder", type=Path)
    asked, tests, failed = parser.parse_args(arguments[:end]), arguments[end + 1 :], []
    for name in asked.names or ["lowest", "newest", *interpreters()]:
        print(f"versions: {name}", flush=True)
        with tempfile.TemporaryDirectory() as temporary:
            if not attempt(name, asked.folder.absolute() / name if asked.folder else Path(temporary), tests):
                failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all versions passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
