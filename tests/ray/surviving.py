"""A task whose parts leave a trace of every time they are computed; also the program that is killed."""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.engine import Workplace, finished
from evenhand.core.options import Options
from evenhand.core.records import Records
from evenhand.core.task import Answers, Codec, Dataset, Sample, Task, Tools
from evenhand.metrics.means import Mean
from evenhand.run import evaluation

PARTS, ROWS = 8, 50


class Part(NamedTuple):
    number: int
    folder: Path
    poisoned: int = -1
    seconds: float = 0.0


class Sums(NamedTuple):
    """An outcome that is no row."""

    number: int
    values: Any


def product(part: Part, place: Workplace) -> bytes:
    return bytes((np.outer(place.shared[0], np.random.default_rng(part.number).random(40)) @ np.ones(40)).tobytes())


def slow_product(part: Part, place: Workplace) -> bytes:
    import ray

    time.sleep(0.25)
    (part.folder / secrets.token_hex(4)).write_text(ray.get_runtime_context().get_node_id())
    return product(part, place)


def rows_of(part: Part, place: Workplace) -> Records:
    _trace(part)
    rng = np.random.default_rng(part.number)
    unit = np.array([f"{part.number}-{row}" for row in range(ROWS)])
    return Records({"item": unit, "unit": unit, "score": rng.random(ROWS)}, {})


def sums_of(part: Part, place: Workplace) -> Sums:
    _trace(part)
    return Sums(part.number, np.random.default_rng(part.number).random(ROWS))


def _trace(part: Part) -> None:
    (part.folder / "done" / f"{part.number}-{secrets.token_hex(4)}").touch()
    time.sleep(part.seconds)
    if part.number == part.poisoned and not (part.folder / "antidote").exists():
        raise ValueError("poisoned")


class Nothing(Codec[float]):
    def read(self, path: Path, dataset: Dataset[Any], options: Any) -> Answers[float]:
        return Answers({})

    def write(self, path: Path, answers: Any, dataset: Dataset[Any], options: Any) -> None:
        raise NotImplementedError


def task(folder: Path, *, poisoned: int = -1, rows: bool = True) -> Task[Any, Any]:
    """Eight parts of fifty rows; rows by the engine, or made here from outcomes that are no rows."""
    (folder / "done").mkdir(exist_ok=True)
    seconds = float(os.environ.get("SLOW", "0"))
    parts = [Part(number, folder, poisoned, seconds) for number in range(PARTS)]

    def record(dataset: Any, answers: Any, options: Any, tools: Tools) -> Iterator[Records]:
        if rows:
            yield from finished(tools.engine.map(rows_of, parts))
            return
        for found in finished(tools.engine.map(sums_of, parts)):
            unit = np.array([f"{found.number}-{row}" for row in range(ROWS)])
            yield Records({"item": unit, "unit": unit, "score": found.values}, {})

    return Task(
        name="surviving/mean",
        summary="A mean.",
        load=lambda data, options: Dataset("1", [Sample("a")], None),
        codec=Nothing(),
        options=Options,
        record=record,
        metrics=lambda options: (Mean("mean", "score"),),
    )


def hold_still() -> None:
    """A run is known by the source of evenhand among other things; a checkout may be edited while tests run."""
    evaluation.code_facts = lambda functions: {}  # type: ignore[assignment]


def computed(folder: Path) -> list[int]:
    """The number of every part that was computed, as often as it was."""
    return sorted(int(path.name.partition("-")[0]) for path in folder.iterdir())


def kept(runs: Path) -> list[int]:
    """The numbers of the parts that an unfinished run has on disk."""
    found = [path for path in runs.rglob("kept/*") if not path.name.startswith(".")]
    return sorted(int(path.stem.split("-")[1]) for path in found)


def main() -> None:
    from evenhand import engines
    from evenhand.run import evaluate
    from evenhand.store.runs import results_json

    hold_still()
    folder, rows = Path(sys.argv[1]), sys.argv[2]
    run = evaluate(
        task(folder, rows=rows == "all"),
        folder / "none",
        folder,
        engine=engines.parse("ray"),
        runs=folder / "runs",
        rows="all" if rows == "all" else "none",
        draws=0,
        permutations=0,
    )
    sys.stdout.buffer.write(results_json(run.results))


if __name__ == "__main__":
    main()
