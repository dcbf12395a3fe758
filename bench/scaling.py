"""Cost against size over three decades, for every verb, with the exponent of a power law.

    python -m bench.scaling                   100 to 100,000 faces; about two minutes
    python -m bench.scaling --most 10000      a decade less
    python -m bench.scaling --json

A verb is the command itself, run in this process on a FairFace of made-up faces; search, all pairs and streamed scores
are what IJB and clusters rest on. Seconds are those of the processor. The exponent is the slope of log cost over log
size; `at the end` is the slope between the two largest sizes, where start-up no longer hides it. 1 is linear.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

LEAST = 100
DRAWS = "200"
MODEL = "def answer(sample):\n    return 'Gender: Male\\nRace: White\\nAge: 20-29'\n"
REQUIREMENT = '[[require]]\nmetric = "gender"\noutput = "accuracy"\nat_least = 0.1\n'


def faces(folder: Path, count: int, seed: int) -> None:
    """Labels, and the answers of two models."""
    chance = random.Random(seed)
    races = ["White", "Black", "Latino_Hispanic", "East Asian", "Southeast Asian", "Indian", "Middle Eastern"]
    labels, answers = ["file,age,gender,race,service_test"], {"first": [], "second": []}
    (folder / "val").mkdir(parents=True)
    for number in range(1, count + 1):
        gender, race = chance.choice(["Male", "Female"]), chance.choice(races)
        labels.append(f"val/{number}.jpg,20-29,{gender},{race},True")
        for name, lines in answers.items():
            said = gender if chance.random() < (0.9 if name == "first" else 0.85) else "Male"
            record = {"image_path": f"val/{number}.jpg", "raw_output": f"Gender: {said}\nRace: {race}\nAge: 20-29"}
            lines.append(json.dumps(record))
    (folder / "fairface_label_val.csv").write_text("\n".join(labels) + "\n", encoding="utf-8")
    for name, lines in answers.items():
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    (folder / "require.toml").write_text(REQUIREMENT, encoding="utf-8")


def command(*words: object) -> str:
    """What a command prints; it must succeed."""
    from evenhand.cli.main import main

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        try:
            code = main([str(word) for word in words])
        except SystemExit as stop:
            code = stop.code
    if code not in (0, None):
        raise RuntimeError(f"evenhand {' '.join(str(word) for word in words)} ended with {code}: {said.getvalue()}")
    return said.getvalue()


def verbs(folder: Path, count: int) -> dict[str, Callable[[], Any]]:
    """Every verb on so many faces, in an order in which each finds what it needs."""
    faces(folder, count, seed=count)
    runs, task = folder / "runs", "fairface/gender"
    data = ("--data", folder, "--runs", runs)
    few = ("--draws", DRAWS, "--permutations", DRAWS)

    def run(name: str) -> Path:
        return next((runs / "fairface" / "gender" / name).iterdir())

    return {
        "check": lambda: command("check", task, folder / "first.jsonl", "--data", folder),
        "predict": lambda: command("predict", task, "--model", f"{folder / 'model.py'}:answer", *data),
        "evaluate": lambda: [
            command("evaluate", task, f"{name}={folder / f'{name}.jsonl'}", *data, *few) for name in ("first", "second")
        ],
        "rows": lambda: command("rows", run("first"), "--format", "csv", "--output", folder / "rows.csv"),
        "compare": lambda: command("compare", run("first"), run("second"), "--draws", DRAWS),
        "diff": lambda: command("diff", run("first"), run("second")),
        "gate": lambda: command("gate", run("first"), "--require", folder / "require.toml"),
        "report": lambda: command("report", run("first")),
    }


def unit(count: int, dimensions: int = 128) -> Any:
    vectors = np.random.default_rng(count).standard_normal((count, dimensions), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def at_scale(folder: Path, count: int) -> dict[str, Callable[[], Any]]:
    """1,000 probes in so many templates, all pairs of a tenth as many, and a hundred times as many streamed scores."""
    from evenhand.engines import parse
    from evenhand.metrics.score_stream import ScoreBlock, look, points_by_group, wanted_bins
    from evenhand.metrics.score_stream import count as counted
    from evenhand.run.stores import points_of_all_pairs
    from evenhand.search.one_to_many import search_stores
    from evenhand.search.stores import open_store

    np.save(folder / "gallery.npy", unit(count))
    np.save(folder / "probes.npy", unit(1_000))
    fewer = max(count // 10, 20)
    np.save(folder / "fewer.npy", unit(fewer))
    rng = np.random.default_rng(1)
    score, same = rng.standard_normal(100 * count, dtype=np.float32), rng.random(100 * count) < 0.01
    cell = rng.integers(0, 3, 100 * count).astype(np.int16)
    groups = {"a": [0], "b": [1], "c": [2]}

    def search() -> None:
        stores = open_store(folder / "probes.npy"), open_store(folder / "gallery.npy")
        search_stores(stores[0], np.arange(1_000), stores[1], np.arange(count), engine=parse("serial"))

    def pairs() -> None:
        who, group = np.arange(fewer) // 2, np.arange(fewer) % 3
        points_of_all_pairs(open_store(folder / "fewer.npy"), who, group, "abc", (1e-3, 1e-2))

    def stream() -> None:
        block = [ScoreBlock(score, same, cell)]
        first = counted(block, 3)
        points_by_group(first, look(block, wanted_bins(first, groups, (1e-3, 1e-2))), groups, (1e-3, 1e-2))

    return {"search 1:N": search, "all pairs": pairs, "streamed scores": stream}


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """The slope of log seconds over log size.

    >>> round(exponent([10, 100, 1000], [0.1, 1.0, 10.0]), 3)
    1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(seconds, 1e-6)), 1)[0])


def measured(most: int) -> list[dict[str, Any]]:
    """Every verb at every size, in CPU seconds; the smallest is run once before, to load what it needs."""
    sizes = [size for size in (LEAST, 10 * LEAST, 100 * LEAST, 1000 * LEAST, 10_000 * LEAST) if size <= most]
    taken: dict[str, list[float]] = {}
    for size in (LEAST, *sizes):
        with tempfile.TemporaryDirectory(prefix="evenhand-scaling-") as name:
            folder = Path(name)
            for verb, work in {**verbs(folder / "faces", size), **at_scale(folder, size)}.items():
                begin = time.process_time()
                work()
                taken.setdefault(verb, []).append(time.process_time() - begin)
    return [
        {
            "verb": verb,
            "sizes": sizes,
            "seconds": seconds[1:],
            "exponent": exponent(sizes, seconds[1:]),
            "at_the_end": exponent(sizes[-2:], seconds[-2:]),
        }
        for verb, seconds in taken.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scaling", description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=1000 * LEAST, help="the largest number of faces")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    os.environ["COLUMNS"] = "100"
    rows = measured(given.most)
    if given.json:
        print(json.dumps(rows))
        return
    for row in rows:
        times = "  ".join(
            f"{size:>7,}: {taken:7.3f} s" for size, taken in zip(row["sizes"], row["seconds"], strict=True)
        )
        print(f"{row['verb']:<16} {times}   n^{row['exponent']:.2f}, at the end n^{row['at_the_end']:.2f}")


if __name__ == "__main__":
    main()
