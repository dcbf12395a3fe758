"""Build the wheel, install it without extras in a clean environment, and try it there.

python .ci/plain.py [FOLDER]       FOLDER: where the environment is made; a temporary one by default
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_MEGABYTES = 350  # what NumPy and Polars bring is 255 of them


def size(folder: Path) -> float:
    """Megabytes of the files in a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def main(folder: Path) -> None:
    wheels = folder / "wheels"
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, ROOT)
    (wheel,) = wheels.glob("*.whl")
    print(f"wheel: {wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB")
    venv.create(folder / "env", with_pip=True)
    before = size(folder / "env")
    python, evenhand = folder / "env" / "bin" / "python", folder / "env" / "bin" / "evenhand"
    run(python, "-m", "pip", "install", "--quiet", wheel)
    brought = size(folder / "env") - before
    print(f"a plain install brings {brought:.0f} MB")
    started = time.perf_counter()
    run(evenhand, "--help")
    print(f"evenhand --help: {time.perf_counter() - started:.2f} s")
    run(evenhand, "demo", "--runs", folder / "demo")
    data = folder / "demo" / "data" / "fairface"
    answers = next(
        path for path in sorted(data.rglob("*")) if path.suffix in (".jsonl", ".csv") and "label" not in path.name
    )
    run(
        evenhand,
        "evaluate",
        "fairface/gender",
        f"again={answers}",
        "--data",
        data,
        "--runs",
        folder / "runs",
        "--draws",
        "100",
    )
    (results,) = (folder / "runs").rglob("results.json")
    for form in ("html", "csv", "json", "markdown", "card"):
        run(evenhand, "report", results.parent, "--format", form, "-o", folder / f"report.{form}")
    if brought > MOST_MEGABYTES:
        sys.exit(f"a plain install brings {brought:.0f} MB, more than {MOST_MEGABYTES}")


def run(*command: object) -> None:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, cwd=tempfile.gettempdir()
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}")
    for line in done.stderr.splitlines():
        if line.startswith("warning: ") and "left out" in line:
            print(line)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]).absolute())
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
