"""What the store and the workers cost: a million tiny rows, with and without them.

The baseline is the same evaluation, serial and without a folder; the promise is at most 20 % more through the
store and two processes. The parts do next to nothing, so all that is timed beside the metrics is overhead.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.hot import Hot

ROWS, PART, PER_UNIT = 1_000_000, 50_000, 50
LEVELS = {"gender": ("female", "male"), "age": tuple(f"{decade}0s" for decade in range(9))}


def _task() -> Any:
    from evenhand.core.engine import finished
    from evenhand.core.records import blocks
    from evenhand.core.results import Coverage
    from evenhand.core.task import Answers, Codec, Dataset, Task
    from evenhand.files import inputs
    from evenhand.metrics.means import Mean, Rate

    def load(folder: Path, options: Any) -> Any:
        facts = tuple(inputs.hash_of(folder / f"{name}.npy") for name in ("unit", *LEVELS))
        truth = {name: np.load(folder / f"{name}.npy") for name in ("unit", *LEVELS)}
        return Dataset("1", (), truth, LEVELS, facts)

    class Scores(Codec[Any]):
        def read(self, path: Path, dataset: Any, options: Any) -> Any:
            fact = inputs.hash_of(path)
            return Answers({"scores": np.load(path)}, Coverage(ROWS, ROWS), (fact,))

        def write(self, path: Path, answers: Iterable[Any], dataset: Any, options: Any) -> None:
            np.save(path, np.array([score for _, score in answers]))

    def record(dataset: Any, predictions: Any, options: Any, tools: Any) -> Iterator[Any]:
        shared = [dataset.truth["unit"], *(dataset.truth[name] for name in LEVELS), predictions.get("scores")]
        parts = [(rows.start, rows.stop) for rows in blocks(ROWS, PART)]
        yield from finished(tools.engine.map(record_part, parts, shared=shared))

    return Task(
        name="bench/tiny",
        summary="A million rows that cost nothing.",
        load=load,
        codec=Scores(),
        record=record,
        metrics=lambda options: (Rate("found", "found"), Mean("score", "score")),
        attributes=tuple(LEVELS),
    )


def record_part(part: tuple[int, int], place: Any) -> Any:
    """The rows of one range."""
    from evenhand.core.records import Attribute, Records

    rows = slice(*part)
    unit, *members, scores = place.shared
    return Records(
        {
            "item": np.arange(*part),
            "unit": unit[rows],
            "found": scores[rows] >= 0.5,
            "score": scores[rows],
        },
        {
            name: Attribute.coded(codes[rows], levels)
            for (name, levels), codes in zip(LEVELS.items(), members, strict=True)
        },
    )


def prepare() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="bench-runs-"))
    rng = np.random.default_rng(3)
    unit = np.arange(ROWS) // PER_UNIT
    np.save(folder / "unit.npy", unit)
    for name, levels in LEVELS.items():
        np.save(folder / f"{name}.npy", rng.integers(0, len(levels), unit[-1] + 1).astype(np.int8)[unit])
    np.save(folder / "scores.npy", rng.random(ROWS).astype(np.float32))
    return folder


def _evaluate(folder: Path, engine: str, *, stored: bool, draws: int) -> None:
    from evenhand import engines, run

    runs = folder / "runs" if stored else None
    if runs is not None:
        shutil.rmtree(runs, ignore_errors=True)
    run.evaluate(_task(), folder / "scores.npy", folder, engine=engines.parse(engine), runs=runs, draws=draws)


def overhead(
    name: str, what: str, engine: str, *, stored: bool, draws: int = 2000, goal: str = "at most 1.2 times the peer"
) -> Hot:
    return Hot(
        name=f"runs/{name}",
        what=what,
        prepare=prepare,
        ours=lambda folder: _evaluate(folder, engine, stored=stored, draws=draws),
        peer=lambda folder: _evaluate(folder, "serial", stored=False, draws=draws),
        peer_name="serial, nothing stored",
        peer_here=True,
        peer_repeat=3,
        goal=goal,
    )


HOT = [
    overhead("store_and_processes", "evaluate 1 M rows through the store and processes:2", "processes:2", stored=True),
    overhead("store", "evaluate 1 M rows through the store, serial", "serial", stored=True),
    overhead("processes", "evaluate 1 M rows on processes:2, nothing stored", "processes:2", stored=False),
    overhead(
        "values_only",
        "the same with store and processes, without draws",
        "processes:2",
        stored=True,
        draws=0,
        goal="the peer and the start of two workers, about 0.3 s on an idle machine",
    ),
]
