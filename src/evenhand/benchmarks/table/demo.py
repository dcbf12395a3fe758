"""A table with a planted difference, and a second model that is better on average and worse for one group."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evenhand.core.task import Demo
from evenhand.files.writing import make_folder, write_file

GROUPS, AGES = ("A", "B", "C"), ("18-29", "30-49", "50+")
_PRODUCTION = {"A": 0.80, "B": 0.80, "C": 0.80}
_CANDIDATE = {"A": 0.94, "B": 0.94, "C": 0.68}
GATE = """# The candidate must not be worse than the model in production: not overall, and for no group.
[[require]]
metric = "labels"
output = "accuracy"
not_worse_than = "{production}"
margin = 0.02
"""


def write(folder: Path) -> Sequence[Demo]:
    """Two models on one table of 240 subjects; the candidate is worse for group C."""
    make_folder(folder)
    for name, rates in (("production", _PRODUCTION), ("candidate", _CANDIDATE)):
        write_file(folder / f"{name}.csv", _table(rates))
    # Where `evenhand demo` keeps runs: RUNS/data/table holds the data, RUNS/table/labels/production the runs.
    write_file(folder / "release.toml", GATE.format(production="../../table/labels/production"))
    options = {"key": "image", "unit": "subject", "truth": "label", "prediction": "predicted", "by": "group,age"}
    story = "better on average than production.csv, and worse for group C: the gate not_worse_than stops it"
    return [
        Demo(
            "table/labels",
            folder / "candidate.csv",
            folder / "candidate.csv",
            "group=C",
            "age=50+",
            story,
            options,
            folder / "production.csv",
            folder / "release.toml",
        ),
    ]


def _table(rates: dict[str, float]) -> str:
    """The same rows whatever the rates; only the predictions differ."""
    rng = np.random.default_rng(2)
    lines = ["image,subject,group,age,label,predicted"]
    for subject in range(240):
        group, age = GROUPS[subject % 3], AGES[subject // 3 % 3]
        rows = int(rng.integers(2, 9))
        labels, chances = rng.integers(0, 2, rows), rng.random(rows)
        skill = np.random.default_rng(subject).beta(20 * rates[group], 20 * (1 - rates[group]))
        for row, (label, chance) in enumerate(zip(labels, chances, strict=True)):
            predicted = label if chance < skill else 1 - label
            lines.append(f"s{subject:03d}-{row},s{subject:03d},{group},{age},{label},{predicted}")
    return "\n".join(lines) + "\n"
