"""Two groups' distances between sets, tested by permuting units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import evenhand
from evenhand.core.task import Demo


def test_units_are_permuted_between_groups_when_asked(
    demos_of: Callable[[str], Sequence[Demo]], tmp_path: Path
) -> None:
    demo = next(one for one in demos_of("synthesis") if one.task == "synthesis/cross_imitation")
    run = evenhand.evaluate(
        demo.task,
        demo.predictions,
        data=demo.data,
        options=demo.options,
        by=["clothing"],
        depth=1,
        draws=20,
        permutations=20,
        set_permutations=19,
        runs=tmp_path / "runs",
    )
    tested = [contrast for contrast in run.results.contrasts if contrast.test == "unit_permutation"]
    assert tested
    assert all(contrast.p is not None and 1 / 20 <= contrast.p <= 1 for contrast in tested)
