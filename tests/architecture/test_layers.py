"""The arrows between packages are held by import-linter, and each contract fails when it is broken."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
PACKAGES = (
    "cli",
    "compat",
    "serve",
    "api",
    "run",
    "reporting",
    "registry",
    "benchmarks",
    "scenes",
    "models",
    "engines",
)
PACKAGES += ("instruments", "search", "metrics", "stats", "store", "geometry", "files", "core")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """An empty tree with all packages, two benchmarks, and our contracts."""
    for package in PACKAGES:
        folder = tmp_path / "evenhand" / package
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("")
    (tmp_path / "evenhand" / "__init__.py").write_text("")
    for family in ("ijb", "uccs"):
        (tmp_path / "evenhand" / "benchmarks" / family).mkdir()
        (tmp_path / "evenhand" / "benchmarks" / family / "__init__.py").write_text("")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(tree: Path) -> tuple[int, str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, env=environment, check=False)
    return done.returncode, re.sub(r"\x1b\[\d*m", "", done.stdout)


BROKEN = {
    "Layers": ("core", "import evenhand.cli"),
    "Benchmarks do not know each other": ("benchmarks/ijb", "import evenhand.benchmarks.uccs"),
    "Core is bare": ("core", "import scipy"),
    "SciPy is optional": ("stats", "import scipy"),
    "Light packages": ("stats", "import torch"),
    "Metrics see rows": ("metrics", "import evenhand.geometry"),
}


def test_every_contract_has_a_way_to_break_it() -> None:
    assert set(BROKEN) == {contract["name"] for contract in CONTRACTS}


def test_an_empty_tree_keeps_all_contracts(tree: Path) -> None:
    code, said = lint(tree)
    assert code == 0, said


@pytest.mark.parametrize("contract", BROKEN)
def test_a_broken_contract_is_named(tree: Path, contract: str) -> None:
    package, line = BROKEN[contract]
    (tree / "evenhand" / package / "__init__.py").write_text(line + "\n")
    code, said = lint(tree)
    assert code == 1
    assert f"{contract} BROKEN" in said


def test_importing_the_package_is_light() -> None:
    heavy = ("torch", "ray", "altair", "polars", "scipy", "matplotlib", "pandas", "typer", "PIL", "cv2")
    code = f"import sys, evenhand; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    import evenhand

    for name in evenhand.__all__:
        assert getattr(evenhand, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        evenhand.evalute  # noqa: B018  # the access is what raises
    assert "evaluate" in dir(evenhand)
