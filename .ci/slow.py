"""Run the slow tests in pieces: what changed, and a fifth of the rest in turn.

A piece is a folder of tests with the package that it tests. It runs when the content of its package or its tests is
not that of the previous commit (by Git's hash of the tree), or when its turn has come, which is every fifth commit.
Pieces that no longer fit into the time limit are named, and come again with the next commits.

    python .ci/slow.py [--minutes 20] [--all]
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
TURNS = 5


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def pieces() -> list[Path]:
    """The folders below tests/ that hold slow tests."""
    folders = {
        path.parent
        for path in (ROOT / "tests").rglob("test_*.py")
        if re.search(r"\bmark\.slow\b", path.read_text(encoding="utf-8"))
    }
    return sorted(folder.relative_to(ROOT) for folder in folders)


def stamp(piece: Path, commit: str) -> tuple[str, str]:
    """What the tests of a piece and the package that they test were, in a commit."""
    package = Path("src/evenhand").joinpath(*piece.parts[1:])
    return git("rev-parse", f"{commit}:{piece}"), git("rev-parse", f"{commit}:{package}")


def is_due(piece: Path, number: int, commits: int, everything: bool) -> bool:
    return everything or number % TURNS == commits % TURNS or stamp(piece, "HEAD") != stamp(piece, "HEAD~1")


def main(arguments: list[str]) -> int:
    minutes = float(arguments[arguments.index("--minutes") + 1]) if "--minutes" in arguments else 20.0
    commits = int(git("rev-list", "--count", "HEAD") or 0)
    due = [piece for number, piece in enumerate(pieces()) if is_due(piece, number, commits, "--all" in arguments)]
    started, failed, left = time.monotonic(), [], []
    for piece in due:
        remaining = minutes * 60 - (time.monotonic() - started)
        if remaining < 60:
            left.append(str(piece))
            continue
        command = [sys.executable, "-m", "pytest", "-q", "-m", "slow", "-W", "ignore:subprocess:ResourceWarning"]
        print(f"slow tests in {piece}", flush=True)
        try:
            code = subprocess.run([*command, str(piece)], cwd=ROOT, check=False, timeout=remaining).returncode
        except subprocess.TimeoutExpired:
            left.append(str(piece))
            continue
        if code not in (0, 5):  # 5: nothing was collected
            failed.append(str(piece))
    print(
        f"slow tests: {len(due) - len(left)} of {len(pieces())} pieces in {(time.monotonic() - started) / 60:.1f} min"
    )
    if left:
        print(f"no time was left for: {', '.join(left)}")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
