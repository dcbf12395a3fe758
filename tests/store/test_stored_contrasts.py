"""Pairs that stay on disk until they are looked at."""

import json
import os
from pathlib import Path

import pytest

from evenhand import evaluate_table
from evenhand.core.contrasts import contrasts_of
from evenhand.core.errors import RunError
from evenhand.store.runs import open_run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = 240
    table = {
        "truth": [row % 2 for row in range(rows)],
        "prediction": [row % 2 if row % 5 else 0 for row in range(rows)],
        "place": [['a"],["b', "c, d", "e"][row % 3] for row in range(rows)],
        "sex": ["f", "m"] * (rows // 2),
    }
    given = {"truth": "truth", "prediction": "prediction", "by": ["place", "sex"], "depth": 2}
    run = evaluate_table(table, runs=tmp_path, **given)  # type: ignore[arg-type]
    assert run.folder is not None
    return run.folder


def test_pairs_on_disk_are_those_of_the_run(folder: Path) -> None:
    whole, later = open_run(folder).results, open_run(folder, pairs_on_disk=True).results
    assert not isinstance(later.contrasts, tuple)
    assert tuple(later.contrasts) == tuple(whole.contrasts)
    assert len(later.contrasts) == len(whole.contrasts)
    assert later.contrasts[1] == whole.contrasts[1]
    for order in (None, 1, 2):
        pairs = contrasts_of(whole.contrasts, *whole.headline, order=order)  # type: ignore[misc]
        assert pairs
        assert contrasts_of(later.contrasts, *whole.headline, order=order) == pairs  # type: ignore[misc]
    assert contrasts_of(later.contrasts, "none", "such") == ()


def test_a_file_that_was_edited_is_read_at_once_and_one_that_changes_meanwhile_is_an_error(folder: Path) -> None:
    later = open_run(folder, pairs_on_disk=True).results
    path = folder / "results.json"
    content = json.loads(path.read_bytes())
    path.write_text(json.dumps(content), encoding="utf-8")
    os.utime(path, ns=(0, 0))
    with pytest.raises(RunError, match="changed while it was read"):
        tuple(later.contrasts)
    assert isinstance(open_run(folder, pairs_on_disk=True).results.contrasts, tuple)
