"""1:N search of a gallery on disk against the bare products of the same run, on threads and on a cluster.

    python -m bench.search_scale                                         2,000 probes in 100,000 templates
    python -m bench.search_scale --gallery 1000000 --probes 20000        as it is promised: 1.5 times the GEMM, 6 GB

The gallery lies in ten mapped shards. The bare GEMM forms the same tiles, on as many threads, and throws them away.
Each side runs in a process of its own; `ray` starts a cluster on this machine with as many workers.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

DIMENSIONS, SHARDS = 512, 10
SIDES = ("gemm", "threads", "ray")


def write(folder: Path, gallery: int, probes: int) -> None:
    """Unit vectors in shards; half of the probes have a mate."""
    rng = np.random.default_rng(4)
    who = rng.integers(0, 2 * gallery, probes)
    searched = rng.standard_normal((probes, DIMENSIONS), dtype=np.float32)
    (folder / "gallery").mkdir()
    size = -(-gallery // SHARDS)
    for number, start in enumerate(range(0, gallery, size)):
        rows = rng.standard_normal((min(size, gallery - start), DIMENSIONS), dtype=np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        np.save(folder / "gallery" / f"{number}.npy", rows)
        mine = np.flatnonzero((who >= start) & (who < start + len(rows)))
        searched[mine] += 5.0 * rows[who[mine] - start]
    searched /= np.linalg.norm(searched, axis=1, keepdims=True)
    np.save(folder / "probes.npy", searched)
    np.save(folder / "who.npy", who)


def _multiply(part: tuple[int, int], place: Any) -> None:
    probes, gallery = place.kept
    vectors = probes.rows(*part)
    buffer = np.empty((len(vectors), 4096), dtype=np.float32)
    for start in range(0, len(gallery), 4096):
        tile = gallery.rows(start, start + 4096)
        np.matmul(vectors, tile.T, out=buffer if len(tile) == 4096 else None)


def _peak(part: int, place: Any) -> float:
    time.sleep(0.05)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(folder: Path, side: str, workers: int) -> dict[str, Any]:
    """One side: seconds, and the largest memory of any of its processes."""
    from evenhand.api import engine_of
    from evenhand.core.engine import finished
    from evenhand.search.one_to_many import search_stores
    from evenhand.search.stores import open_store

    probes, gallery = open_store(folder / "probes.npy"), open_store(folder / "gallery")
    engine = engine_of(f"{'ray' if side == 'ray' else 'threads'}:{workers}")
    list(finished(engine.map(_peak, range(workers))))  # workers are started before the clock is
    if side == "gemm":
        parts = [(start, min(start + 1024, len(probes))) for start in range(0, len(probes), 1024)]
        begin = time.perf_counter()
        list(finished(engine.map(_multiply, parts, setup=lambda: (probes, gallery))))
        ranked = None
    else:
        begin = time.perf_counter()
        found = search_stores(probes, np.load(folder / "who.npy"), gallery, np.arange(len(gallery)), engine=engine)
        ranked = int(((found.above == 0) & found.mated).sum())
    seconds = time.perf_counter() - begin
    peaks = list(finished(engine.map(_peak, range(4 * workers))))
    return {"seconds": seconds, "peak_mb": max(*peaks, _peak(0, None)), "first": ranked}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.search_scale", description=__doc__.splitlines()[0])
    parser.add_argument("--gallery", type=int, default=100_000)
    parser.add_argument("--probes", type=int, default=2_000)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    parser.add_argument("--in", dest="folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side:
        print(json.dumps(measure(given.folder, given.side, given.workers)))
        return
    said: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="evenhand-bench-") as name:
        write(Path(name), given.gallery, given.probes)
        for side in given.sides.split(","):
            command = [sys.executable, "-m", "bench.search_scale", "--side", side, "--in", name]
            command += ["--workers", str(given.workers)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            said[side] = json.loads(done.stdout.strip().splitlines()[-1])
    work = given.gallery * given.probes * DIMENSIONS
    for side, entry in said.items():
        entry["times_gemm"] = entry["seconds"] / said["gemm"]["seconds"] if "gemm" in said else None
        entry["gigamacs"] = work / entry["seconds"] / 1e9
        if not given.json:
            ratio = f", {entry['times_gemm']:.2f} times the GEMM" if entry["times_gemm"] else ""
            print(f"{side:>8}: {entry['seconds']:.1f} s, {entry['gigamacs']:.1f} G multiply-adds/s, "
                  f"{entry['peak_mb']:,.0f} MB at most in a process{ratio}")  # fmt: skip
    if given.json:
        print(json.dumps({"gallery": given.gallery, "probes": given.probes, "workers": given.workers, "sides": said}))


if __name__ == "__main__":
    main()
