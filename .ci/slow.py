"""Run the slow tests in pieces: a tenth of them with every commit, and what the commit touched.

A piece is a test file, or one test of a file that takes long. Pieces are dealt into ten turns of about equal cost, and
the number of commits says whose turn it is: every piece runs at least with every tenth commit, whatever it costs. A
piece whose tests or package differ from the previous commit's runs at once while the time limit allows; what then has
no time left is named, with the number of commits until its turn.

    python .ci/slow.py [--minutes 2] [--all] [--list]
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
TURNS = 10
AT_ONCE = 2
LONGEST = 1500  # seconds; a piece that takes longer has failed
USUAL = 15.0
SECONDS = {  # as measured, two pieces at a time; tests of a file share its time; the others take about the usual
    "tests/benchmarks/ijb/test_streams.py": 30,
    "tests/benchmarks/synthesis/test_demo.py": 90,
    "tests/benchmarks/synthesis/test_ranking.py": 210,
    "tests/benchmarks/uccs/test_pictures.py": 30,
    "tests/cli/test_kills.py": 420,
    "tests/cli/test_outputs.py": 40,
    "tests/compat/uccs/test_resume.py": 60,
    "tests/docs/test_tutorials.py": 90,
    "tests/files/test_budget.py": 80,
    "tests/files/test_pixels.py": 45,
    "tests/files/test_readers.py": 45,
    "tests/fuzz/test_readers.py::test_arrays": 55,
    "tests/fuzz/test_readers.py::test_data_and_predictions_of": 310,
    "tests/fuzz/test_readers.py::test_stored_runs": 190,
    "tests/metrics/test_distances.py": 40,
    "tests/models/test_deepface.py": 40,
    "tests/models/test_litellm.py": 130,
    "tests/portable/test_demo.py": 240,
    "tests/reporting/test_latex.py": 135,
    "tests/run/test_families.py": 390,
    "tests/run/test_survival.py": 120,
}
SPLIT = ("tests/cli/test_kills.py", "tests/fuzz/test_readers.py", "tests/run/test_families.py")
PACKAGES = {"fuzz": "files", "portable": "scenes", "ray": "engines"}  # tested by a folder of another name


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def pieces() -> dict[str, float]:
    """What pytest is asked to run, piece by piece, and about how many seconds each takes; dearest first."""
    listed: list[str] = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name not in SPLIT and re.search(r"\bmark\.slow\b", path.read_text(encoding="utf-8")):
            listed.append(name)
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "slow", *SPLIT]
    collected = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed += [line for line in collected.splitlines() if line.startswith(SPLIT)]
    names = {piece: (piece, piece.partition("[")[0], piece.partition("::")[0]) for piece in listed}
    shared = Counter(name for some in names.values() for name in set(some))  # pieces of every test and file
    seconds = {
        piece: next((SECONDS[name] / shared[name] for name in some if name in SECONDS), USUAL)
        for piece, some in names.items()
    }
    return dict(sorted(seconds.items(), key=lambda entry: (-entry[1], entry[0])))


def turns(seconds: Mapping[str, float]) -> dict[str, int]:
    """The turn of each piece; the next dearest goes where least is."""
    loads, dealt = [0.0] * TURNS, {}
    for piece, cost in seconds.items():
        dealt[piece] = loads.index(min(loads))
        loads[dealt[piece]] += cost
    return dealt


def stamp(piece: str, commit: str) -> tuple[str, str]:
    """What the file of a piece and the package that it tests were, in a commit."""
    file = Path(piece.partition("::")[0])
    inside = file.parent.relative_to("tests").parts
    package = Path("src/evenhand", PACKAGES.get(inside[0], inside[0]), *inside[1:])
    return git("rev-parse", f"{commit}:{file.as_posix()}"), git("rev-parse", f"{commit}:{package.as_posix()}")


def run(piece: str) -> bool:
    """Whether a piece passed; what it printed is shown when it has ended, since two run at a time."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "slow", "-W", "ignore:subprocess:ResourceWarning", piece]
    started = time.monotonic()
    try:
        done = subprocess.run(
            command, cwd=ROOT, check=False, timeout=LONGEST, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    except subprocess.TimeoutExpired:
        print(f"slow tests: {piece} took more than {LONGEST} s", flush=True)
        return False
    print(f"slow tests: {piece}: {time.monotonic() - started:.0f} s\n{done.stdout}", end="", flush=True)
    return done.returncode in (0, 5)  # 5: none there


def main(arguments: list[str]) -> int:
    minutes = float(arguments[arguments.index("--minutes") + 1]) if "--minutes" in arguments else 2.0
    now = int(git("rev-list", "--count", "HEAD") or 0) % TURNS
    seconds = pieces()
    dealt = turns(seconds)
    if "--list" in arguments:
        for piece, turn in sorted(dealt.items(), key=lambda entry: entry[1]):
            print(turn, f"{seconds[piece]:4.0f} s", piece)
        return 0
    due = [piece for piece, turn in dealt.items() if turn == now or "--all" in arguments]
    changed = [piece for piece in dealt if piece not in due and stamp(piece, "HEAD") != stamp(piece, "HEAD~1")]
    started, left = time.monotonic(), []

    def attempt(piece: str) -> bool:
        if piece in changed and time.monotonic() - started + seconds[piece] > minutes * 60:
            left.append(piece)
            return True
        return run(piece)

    every = (*due, *changed)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        failed = [piece for piece, passed in zip(every, pool.map(attempt, every), strict=True) if not passed]
    took = (time.monotonic() - started) / 60
    print(f"slow tests: {len(due) + len(changed) - len(left)} of {len(dealt)} pieces in {took:.1f} min")
    for piece in left:
        print(f"changed, and no time was left: {piece} runs in {(dealt[piece] - now) % TURNS} commits")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
