"""Every notebook runs from top to bottom, in an empty folder."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does, and give the value of its last line."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)  # noqa: S102  # our own notebooks
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None  # noqa: S307  # as above


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_runs_from_top_to_bottom(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    shown = [run_cell("".join(cell["source"]), names) for cell in cells]
    run = names["run"]
    assert run.results.estimates
    assert run.results.task in repr(run)
    assert "<table>" in run._repr_html_() or "<table><caption>" in run._repr_html_()
    assert len(names["rows"]) == run.results.rows
    assert shown[-1].read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_every_family_has_a_notebook() -> None:
    from evenhand import registry

    assert {path.stem for path in NOTEBOOKS} == set(registry.names(registry.BENCHMARKS))
