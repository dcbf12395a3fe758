"""A family that lives outside the package is installed, found and run; a broken one harms nobody."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "third_party_family"


def run(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment that sees our packages, with the example installed by pip."""
    folder = tmp_path_factory.mktemp("fresh")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    made = folder / "bin" / "python"
    ours = sysconfig.get_path("purelib")
    site = Path(run(made, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (site / "ours.pth").write_text(f"{ours}\nimport site; site.addsitedir({ours!r})\n", encoding="utf-8")
    install = ("install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", EXAMPLE)
    run(sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", made, *install)
    return made


def test_it_is_short_and_imports_from_evenhand_alone() -> None:
    lines = (EXAMPLE / "evenhand_smiles.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120
    assert [line for line in lines if "import" in line and "evenhand" in line] == ["import evenhand as eh"]


def test_it_is_listed_described_and_demonstrated(python: Path, tmp_path: Path) -> None:
    def evenhand(*arguments: object) -> str:
        return run(python, "-m", "evenhand.cli.main", *arguments)

    assert "smiles/smiling" in evenhand("tasks")
    assert "accuracy" in evenhand("describe", "smiles/smiling")
    shown = json.loads(evenhand("demo", "smiles", "--runs", tmp_path, "--json"))
    assert shown["demos"] == [
        {"task": "smiles/smiling", "run": shown["demos"][0]["run"], "planted": "age=old", "found": True,
         "chance": "age=middle", "over_read": False}
    ]  # fmt: skip


def test_a_broken_plug_in_is_named_and_harms_nothing_else(python: Path) -> None:
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    info = site / "broken_family-0.1.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-family\nVersion: 0.1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(
        "[evenhand.benchmarks]\nbroken = no_such_module:benchmark\n", encoding="utf-8"
    )
    shown = json.loads(run(python, "-m", "evenhand.cli.main", "doctor", "--json"))
    broken = [plugin["name"] for plugin in shown["plugins"] if plugin["problem"]]
    assert broken == ["broken"]
    assert shown["ok"] is False
    assert "smiles/smiling" in run(python, "-m", "evenhand.cli.main", "tasks")
