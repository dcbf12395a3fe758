"""Golden cases of verification sets: embeddings and labels in, ten-fold accuracy out."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from harness import Case, Checks, read_expected

from evenhand import api

READINGS = {"flip_none": "none", "flip_sum": "sum"}
TOLERANCE = 1e-12


def cases(folder: Path) -> Iterator[Case]:
    """Every folder with an `expected.json`."""
    for expected in sorted(folder.rglob("expected.json")):
        here = expected.parent
        files = frozenset({expected, here / "inputs.npz"})
        yield Case(str(here.relative_to(folder)), files, _checker(here / "inputs.npz", read_expected(expected)))


def _checker(inputs: Path, expected: Mapping[str, Any]) -> Callable[[Checks], None]:
    def check(checks: Checks) -> None:
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "pairs.csv"
            with np.load(inputs) as arrays:
                lines = [f"{2 * pair},{2 * pair + 1},{int(same)}\n" for pair, same in enumerate(arrays["same"])]
            data.write_text("p1,p2,label\n" + "".join(lines))
            for key, block in expected.items():
                if key == "refused":
                    mentions = [block] if isinstance(block, str) else block if isinstance(block, list) else []
                    checks.refused(key, lambda: _results(inputs, data, "none"), *mentions)
                elif key in READINGS:
                    _compare(checks, key, _results(inputs, data, READINGS[key]), block)
                else:
                    checks.true(key, False, "unknown key")

    return check


def _results(inputs: Path, data: Path, flip: str) -> Any:
    return api.evaluate("pairs/custom", inputs, data=data, options={"flip": flip}, draws=0).results


def _compare(checks: Checks, where: str, results: Any, block: Mapping[str, Any]) -> None:
    (folds,) = [entry for entry in results.facts["folds"] if entry["group"] == "everyone"]
    curve = results.get("ten-fold", "ROC over folds").value
    at = [int(np.abs(curve.threshold - value).argmin()) for value in block.get("at", ())]
    got = {
        "accuracy_mean": results.get("ten-fold", "accuracy").value,
        "accuracy_std": results.get("ten-fold", "std").value,
        "accuracy_folds": folds["accuracy"],
        "threshold_folds": folds["threshold"],
        "tpr_at": curve.y[at],
        "fpr_at": curve.x[at],
        "at": curve.threshold[at],
    }
    for key, value in block.items():
        if key not in got:
            checks.true(f"{where}.{key}", False, "unknown key")
        elif key.endswith("_folds"):
            checks.equal(f"{where}.{key}", got[key], value)
        else:
            checks.close(f"{where}.{key}", got[key], value, abs=TOLERANCE)
