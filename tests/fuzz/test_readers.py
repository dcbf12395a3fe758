"""Every reader under seeded mutations of files that it reads: an error of ours, or a result; never anything else.

In all some 6,600 mutations, marked slow; a few of each run with the quick tests. EVENHAND_FUZZ multiplies their number,
EVENHAND_FUZZ_SEED shifts them. A failure names the seed and leaves the file that caused it beside the test's data.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import resource
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from demos import quick_options

import evenhand as eh
from evenhand.core.errors import EvenhandError
from evenhand.files import arrays, pickles

sys.path.insert(0, str(Path(__file__).parent))
from mutations import mutate

SCALE = float(os.environ.get("EVENHAND_FUZZ", "1"))
SEED = int(os.environ.get("EVENHAND_FUZZ_SEED", "0"))
MOST_SECONDS = 60.0  # of the processor: a reader that hangs, not one that another process slows down
MOST_BYTES = 10**9  # beyond what the process had before
SMALL = 3 << 20
PICTURES = (".png", ".jpg", ".jpeg", ".mp4")


def hammer(
    name: str, files: list[Path], read: Callable[[Path], object], count: float, keep: Path, *, pictures: bool = False
) -> None:
    """Mutate one of the files, read, put it back; so many times."""
    files = sorted(
        path for path in files if 0 < path.stat().st_size < SMALL and (pictures or path.suffix not in PICTURES)
    )
    failures = []
    for number in range(max(1, round(count))):
        rng = random.Random(f"{name} {SEED + number}")
        path = rng.choice(files)
        before = path.read_bytes()
        path.write_bytes(mutate(before, path.name, rng))
        case = f"{name}, mutation {SEED + number} of {path.name}"
        started, before_reading = time.process_time(), memory(reset=True)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read(path)
        except EvenhandError:
            pass
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            shutil.copy(path, keep / f"{name.replace('/', '-')}-{number}-{path.name}")
            failures.append(f"{case}: {type(error).__name__}: {str(error)[:200]}")
        finally:
            path.write_bytes(before)
        if (took := time.process_time() - started) > MOST_SECONDS:
            failures.append(f"{case}: {took:.0f} s")
        if (grown := memory() - before_reading) > MOST_BYTES:
            failures.append(f"{case}: {grown / 1e9:.1f} GB")
    assert failures == [], "\n".join(failures)


def memory(*, reset: bool = False) -> int:
    """The largest memory of this process since it was last reset, in bytes."""
    if reset and Path("/proc/self/clear_refs").exists():
        Path("/proc/self/clear_refs").write_text("5")
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


@pytest.fixture(params=[pytest.param(0.01, id="quick"), pytest.param(1.0, id="slow", marks=pytest.mark.slow)])
def share(request: pytest.FixtureRequest) -> float:
    return float(request.param) * SCALE


FAMILIES = {"fairface": 250, "uccs": 250, "ijb": 150, "pairs": 150, "table": 250, "fhibe": 50, "synthesis": 40}


@pytest.mark.parametrize("family", FAMILIES)
def test_data_and_predictions_of(family: str, share: float, tmp_path: Path):
    if share < 0.1 and family != "fairface":
        pytest.skip("the others take longer: they run with the slow tests")
    demos = eh.demo(family, tmp_path / "data")
    for made in demos if share >= 0.1 else demos[:1]:
        files = [path for root in {made.data, made.predictions} for path in below(root)]
        options = quick_options(made)  # what is read is the same

        def read(path: Path, made: eh.Demo = made, options: Mapping[str, object] = options) -> None:
            eh.evaluate(made.task, made.predictions, data=made.data, options=options, draws=0, permutations=0, depth=1)

        hammer(made.task, files, read, FAMILIES[family] * share / len(demos), tmp_path)


@pytest.fixture(scope="module")
def run(demos_of: Callable[[str], Sequence[eh.Demo]], tmp_path_factory: pytest.TempPathFactory) -> eh.Run:
    made, runs = demos_of("fairface")[0], tmp_path_factory.mktemp("run") / "runs"
    return eh.evaluate(made.task, made.predictions, data=made.data, runs=runs, draws=0, permutations=0)


def test_stored_runs(run: eh.Run, share: float, tmp_path: Path):
    assert run.folder is not None
    copy = tmp_path / "run"
    shutil.copytree(run.folder, copy)

    def read(path: Path) -> None:
        eh.report(copy, path=tmp_path / "report.html")
        opened = eh.load(copy)
        opened.records()
        eh.report(opened, path=tmp_path / "report.json", form="json")

    hammer("stored run", [path for path in below(copy) if "predictions" not in path.parts], read, 160 * share, tmp_path)


REQUIREMENTS = """
[[require]]
name = "accurate enough"
metric = "gender"
output = "accuracy"
at_least = 0.5

[[require]]
metric = "gender"
output = "accuracy"
group = "race=Latino_Hispanic"
at_least = 0.1
"""


def test_requirements(run: eh.Run, share: float, tmp_path: Path):
    path = tmp_path / "gate.toml"
    path.write_text(REQUIREMENTS)
    hammer("requirements", [path], lambda path: eh.gate(run, path), 600 * share, tmp_path)


def test_settings(share: float, tmp_path: Path):
    from evenhand.api import settings_of

    path = tmp_path / "settings.toml"
    path.write_text('draws = 100\nseed = 3\nconfidence = 0.9\ncorrection = "holm"\nmargin = 0.01\n')
    hammer("settings", [path], settings_of, 500 * share, tmp_path)


def test_arrays(share: float, tmp_path: Path):
    np.save(tmp_path / "a.npy", np.arange(200, dtype=np.float32).reshape(20, 10))
    np.savez(tmp_path / "a.npz", ids=np.array(["a", "b"]), values=np.eye(2))
    entry = '"{}":{{"dtype":"{}","shape":[2],"data_offsets":[{},{}]}}'
    head = f"{{{entry.format('x', 'F32', 0, 8)},{entry.format('y', 'BF16', 8, 12)}}}".encode()
    (tmp_path / "a.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + bytes(12))
    (tmp_path / "a.pkl").write_bytes(pickle.dumps({"x": [1.0, 2.0, {"y": (3, "z")}], "n": np.arange(9.0)}, protocol=2))
    readers = {
        ".npy": arrays.read_npy,
        ".npz": arrays.read_npz,
        ".safetensors": arrays.read_safetensors,
        ".pkl": pickles.load_plain,
    }
    files = [tmp_path / f"a{suffix}" for suffix in readers]
    hammer("arrays", files, lambda path: readers[path.suffix](path), 2200 * share, tmp_path)


def test_tables(share: float, tmp_path: Path):
    """A user's table in every format, and COCO detections."""
    rows = {"y": ["a", "b", "a", "b"] * 10, "p": ["a", "a", "b", "b"] * 10, "g": ["x", "y"] * 20, "s": [0.5, 0.25] * 20}
    frame = pl.DataFrame(rows)
    frame.write_csv(tmp_path / "t.csv")
    frame.write_csv(tmp_path / "t.tsv", separator="\t")
    frame.write_ndjson(tmp_path / "t.jsonl")
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ipc(tmp_path / "t.arrow")
    files = sorted(tmp_path.glob("t.*"))

    def read(path: Path) -> None:
        options = {"truth": "y", "prediction": "p"}
        eh.evaluate("table/labels", path, options=options, by=["g"], draws=0, permutations=0, depth=1)

    hammer("table", files, read, 400 * share, tmp_path)


def test_descriptions(share: float, tmp_path: Path):
    """The small files that say what is where: submissions in TOML, the watchlist tool's YAML, answers of endpoints."""
    from evenhand.benchmarks.fairface.normalise.lenient import parse
    from evenhand.benchmarks.ijb.submission import Parts
    from evenhand.compat.uccs.config import load_files

    (tmp_path / "ijb.toml").write_text('embeddings = "e.npy"\nfaces = "f.csv"\n[scores]\nA = "a.npy"\nB = "b.npy"\n')
    (tmp_path / "uccs.yaml").write_text("data_directory: data\neval:\n  iou: 0.5\n  detection:\n    files: [a.txt]\n")
    (tmp_path / "reply.json").write_text('{"gender": "male", "age": [20, 30], "race": {"White": 0.25}}')

    def read(path: Path) -> None:
        if path.suffix == ".toml":
            Parts.of(path, ("A", "B"))
        elif path.suffix == ".yaml":
            load_files([path])
        else:
            with contextlib.suppress(ValueError):  # whoever calls it knows no file
                parse(path.read_bytes().decode("utf-8", "replace"))

    hammer("description", sorted(tmp_path.glob("*.*")), read, 900 * share, tmp_path)


def test_journals(share: float, tmp_path: Path):
    from evenhand.store.journal import Journal, asked_before, read_journal

    journal = Journal(tmp_path / "journal", most_answers=2)
    for number in range(5):
        journal.ask(f"{number}.jpg")
        journal.add(f"{number}.jpg", {"answer": "male", "vector": np.arange(3.0)})
    journal.close()

    def read(path: Path) -> None:
        asked_before(tmp_path / "journal")
        read_journal(tmp_path / "journal")

    hammer("journal", list(below(tmp_path / "journal")), read, 800 * share, tmp_path)


def below(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
    else:
        yield from (path for path in sorted(root.rglob("*")) if path.is_file())
