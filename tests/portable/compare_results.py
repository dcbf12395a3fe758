"""Compare the results of two folders of runs: verdicts and texts equal, values to 1e-9, thresholds to 1e-6.

python tests/portable/compare_results.py FIRST SECOND
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOLERANCE = 1e-9
OF_SCORES = 1e-6  # similarities are single precision, and their last bits are those of the BLAS kernel
_SCORES = ("/threshold", "/score_histogram/edges")


def results_below(folder: Path) -> dict[tuple[str, str], Any]:
    """Every stored result, by task and model; where runs lie depends on nothing that is compared."""
    found = {}
    for path in sorted(folder.rglob("results.json")):
        plain = json.loads(path.read_bytes())
        found[plain["task"], plain["model"]] = plain
    return found


def differences(first: Any, second: Any, where: str = "") -> Iterator[str]:
    """What differs between two JSON values, one line each."""
    if isinstance(first, dict) and isinstance(second, dict):
        for key in sorted(first.keys() | second.keys()):
            if key not in first or key not in second:
                yield f"{where}/{key}: only in one"
            else:
                yield from differences(first[key], second[key], f"{where}/{key}")
    elif isinstance(first, list) and isinstance(second, list):
        if len(first) != len(second):
            yield f"{where}: {len(first)} and {len(second)} entries"
        for number, (one, other) in enumerate(zip(first, second, strict=False)):
            yield from differences(one, other, f"{where}/{number}")
    elif type(first) is float or type(second) is float:
        is_close = isinstance(second, float | int) and isinstance(first, float | int)
        tolerance = OF_SCORES if any(name in where for name in _SCORES) else TOLERANCE
        if not is_close or not math.isclose(first, second, rel_tol=tolerance, abs_tol=tolerance):
            yield f"{where}: {first!r} and {second!r}"
    elif first != second:
        yield f"{where}: {first!r} and {second!r}"


def compare(first: Path, second: Path) -> list[str]:
    """All differences between two folders of runs."""
    one, other = results_below(first), results_below(second)
    if not one:
        return [f"{first}: no results"]
    lines = [f"{key}: only in one" for key in one.keys() ^ other.keys()]
    for key in sorted(one.keys() & other.keys()):
        lines += differences(one[key], other[key], " ".join(key))
    return lines


if __name__ == "__main__":
    found = compare(Path(sys.argv[1]), Path(sys.argv[2]))
    print("\n".join(found) or "no differences")
    sys.exit(bool(found))
