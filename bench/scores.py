"""10⁸ pair scores from disk to operating points by group, streamed in parts.

    python -m bench.scores                              ten million scores
    python -m bench.scores --scores 100000000           as it is promised: under 60 s and 1 GB

On disk are single-precision scores and two columns of whole-number template ids, in shards; beside them the person
and the group of every template. The reading and counting are timed and run in a process of their own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

TEMPLATES, PEOPLE, SHARD = 50_000, 10_000, 10_000_000
RATES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
GROUPS = {"light": [0], "medium": [1], "dark": [2]}


def write(folder: Path, scores: int) -> None:
    """Shards of made-up comparisons, one in a thousand of them genuine."""
    rng = np.random.default_rng(3)
    person = rng.integers(0, PEOPLE, TEMPLATES).astype(np.int32)
    np.save(folder / "person.npy", person)
    np.save(folder / "group.npy", rng.integers(-1, 3, PEOPLE)[person].astype(np.int16))
    by_person = np.argsort(person, kind="stable").astype(np.int32)
    for number, start in enumerate(range(0, scores, SHARD)):
        size = min(SHARD, scores - start)
        first = rng.integers(0, TEMPLATES, size, dtype=np.int32)
        second = rng.integers(0, TEMPLATES, size, dtype=np.int32)
        mates = np.flatnonzero(rng.random(size, dtype=np.float32) < 0.001)
        place = rng.integers(0, TEMPLATES - 1, len(mates))
        first[mates], second[mates] = by_person[place], by_person[place + 1]
        score = rng.standard_normal(size, dtype=np.float32) * np.float32(0.1)
        score[person[first] == person[second]] += np.float32(0.4)
        for name, column in (("score", score), ("first", first), ("second", second)):
            np.save(folder / f"{name}-{number:03d}.npy", column)


def measure(folder: Path) -> dict[str, Any]:
    """Read everything twice and give the points; what it took."""
    from evenhand.core.engine import total
    from evenhand.metrics.score_stream import count, look, pair_blocks, points_by_group, wanted_bins

    person, group = np.load(folder / "person.npy"), np.load(folder / "group.npy")
    shards = sorted(path.stem.partition("-")[2] for path in folder.glob("score-*.npy"))

    def blocks(shard: str) -> Any:
        columns = (np.load(folder / f"{name}-{shard}.npy", mmap_mode="r") for name in ("score", "first", "second"))
        return pair_blocks(*columns, person, group)

    begin, begin_cpu = time.perf_counter(), time.process_time()
    counted = total(count(blocks(shard), len(GROUPS)) for shard in shards)
    assert counted is not None
    wanted = wanted_bins(counted, GROUPS, RATES)
    looked = total(look(blocks(shard), wanted) for shard in shards)
    assert looked is not None
    points = points_by_group(counted, looked, GROUPS, RATES)
    return {
        "scores": int(counted.impostors.sum()) + len(counted.genuine),
        "seconds": time.perf_counter() - begin,
        "cpu_seconds": time.process_time() - begin_cpu,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "points": [[point.group, point.rate, point.own.tar, point.shared.fmr] for point in points],
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scores", description=__doc__.splitlines()[0])
    parser.add_argument("--scores", type=int, default=10_000_000)
    parser.add_argument("--in", dest="folder", type=Path, help="where the shards are written; a temporary folder")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.folder)))
        return
    with tempfile.TemporaryDirectory(prefix="evenhand-bench-") as name:
        folder = given.folder or Path(name)
        write(folder, given.scores)
        command = [sys.executable, "-m", "bench.scores", "--measure", "--in", str(folder)]
        said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    if given.json:
        print(json.dumps(said))
        return
    print(f"{said['scores']:,} scores: {said['seconds']:.1f} s ({said['cpu_seconds']:.1f} s of CPU), ", end="")
    print(f"{said['peak_mb']:,.0f} MB")
    for group, rate, tar, fmr in said["points"]:
        print(f"{group:>10}  FMR {rate:<8g} TAR {tar:.4f}   FMR at everyone's threshold {fmr:.2e}")


if __name__ == "__main__":
    main()
