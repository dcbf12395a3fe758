"""What every metric must obey. A metric is tested by being listed in a `listed*.py` beside this file."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from laws import Listed

from evenhand.core.engine import total
from evenhand.core.measure import measure
from evenhand.core.metric import Curve, Grid, Metric, Numbers, Undefined
from evenhand.core.records import Attribute, Records, concatenate
from evenhand.core.results import Coverage, Results
from evenhand.core.sparse import SparseMatrix
from evenhand.store.plain import from_plain, loads
from evenhand.store.runs import results_json

HERE = Path(__file__).parent


def _listed() -> list[Listed]:
    found: list[Listed] = []
    for path in sorted(HERE.glob("listed*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found.extend(module.LISTED)
    return found


LISTED = _listed()
every_metric = pytest.mark.parametrize("listed", LISTED, ids=[f"{entry.name}" for entry in LISTED])
seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(0, 40)
quick = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, database=None
)


def same(listed: Listed, got: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Equal values: exactly for counts, to 1e-12 relative (1e-9 near zero) for sums of reals."""
    assert list(got) == list(expected)
    for output, column in got.items():
        other = expected[output]
        assert len(column) == len(other), output
        for cell in range(len(column)):
            assert_same_value(column[cell], other[cell], output, listed.exact)


def assert_same_value(got: Any, expected: Any, output: str, exact: bool) -> None:
    assert type(got) is type(expected), (output, got, expected)
    if isinstance(got, Undefined):
        return
    if isinstance(got, Curve):
        for mine, theirs in ((got.x, expected.x), (got.y, expected.y)):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12, err_msg=output)
    elif isinstance(got, Grid):
        np.testing.assert_allclose(got.values, expected.values, rtol=1e-12, err_msg=output)
    else:
        np.testing.assert_allclose(
            got, expected, rtol=1e-12 if exact else 1e-9, atol=0 if exact else 1e-9, err_msg=output
        )


def values(listed: Listed, rows: Records, cells: np.ndarray | None = None, size: int = 1) -> Mapping[str, Any]:
    state = listed.metric.measure(rows, cells, size)
    return listed.metric.result(state, listed.metric.measure(rows))


@every_metric
@quick
@given(seed=seeds, n=sizes, cut=st.floats(0, 1))
def test_the_state_of_two_parts_is_the_sum_of_their_states(listed: Listed, seed: int, n: int, cut: float) -> None:
    rng = np.random.default_rng(seed)
    rows = listed.make_rows(rng, n)
    cells = rng.integers(0, 3, n)
    first = np.arange(n) < round(cut * n)
    metric = listed.metric
    parts = [metric.measure(rows.take(keep), cells[keep], 3) for keep in (first, ~first)]
    expected = values(listed, rows, cells, 3)
    whole = metric.measure(rows)
    same(listed, metric.result(parts[0] + parts[1], whole), expected)
    same(listed, metric.result(parts[1] + parts[0], whole), expected)


@every_metric
@quick
@given(seed=seeds, n=sizes)
def test_parts_of_any_number_add_along_the_tree(listed: Listed, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    rows = listed.make_rows(rng, n)
    part_of = rng.integers(0, 7, n)
    whole = total(listed.metric.measure(rows.take(part_of == part)) for part in range(7))
    assert whole is not None
    same(listed, listed.metric.result(whole, whole), values(listed, rows))


@every_metric
@quick
@given(seed=seeds, n=sizes)
def test_no_rows_give_the_neutral_state(listed: Listed, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    rows = listed.make_rows(rng, n)
    nothing = rows.take(np.zeros(n, dtype=bool))
    metric = listed.metric
    state = metric.measure(rows) + metric.measure(nothing)
    same(listed, metric.result(state, state), values(listed, rows))


@every_metric
@quick
@given(seed=seeds, n=sizes)
def test_cells_agree_with_selection(listed: Listed, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    rows = listed.make_rows(rng, n)
    cells = rng.integers(0, 4, n)
    metric = listed.metric
    whole = metric.measure(rows)
    together = metric.result(metric.measure(rows, cells, 4), whole)
    for cell in range(4):
        alone = metric.result(metric.measure(rows.take(cells == cell)), whole)
        same(listed, {output: [column[cell]] for output, column in together.items()}, alone)


@every_metric
@quick
@given(seed=seeds, n=sizes, as_sparse=st.booleans())
def test_weights_of_zero_and_one_agree_with_selection(listed: Listed, seed: int, n: int, as_sparse: bool) -> None:
    rng = np.random.default_rng(seed)
    rows = listed.make_rows(rng, n)
    cells = rng.integers(0, 5, n)
    weights = rng.integers(0, 2, (3, 5))
    metric = listed.metric
    whole = metric.measure(rows)
    state = metric.measure(rows, cells, 5).weigh(SparseMatrix.of_table(weights) if as_sparse else weights)
    together = metric.result(state, whole)
    for out in range(3):
        alone = metric.result(metric.measure(rows.take(weights[out][cells] == 1)), whole)
        same(listed, {output: [column[out]] for output, column in together.items()}, alone)


@every_metric
@quick
@given(seed=seeds, n=sizes)
def test_whole_weights_agree_with_repetition(listed: Listed, seed: int, n: int) -> None:
    if not listed.repeats:
        redraws = type(listed.metric).redrawn is not Metric.redrawn
        assert redraws or listed.metric.resampling.value != "bootstrap", (
            "only metrics that are not bootstrapped, or that draw units again by themselves, may refuse repetition"
        )
        return
    rng = np.random.default_rng(seed)
    rows = listed.make_rows(rng, n)
    cells = rng.integers(0, 5, n)
    weights = rng.integers(0, 4, (2, 5))
    metric = listed.metric
    whole = metric.measure(rows)
    together = metric.result(metric.measure(rows, cells, 5).weigh(weights), whole)
    for out in range(2):
        repeated = rows.take(np.repeat(np.arange(n), weights[out][cells]))
        alone = metric.result(metric.measure(repeated), whole)
        same(listed, {output: [column[out]] for output, column in together.items()}, alone)


@every_metric
@quick
@given(seed=seeds, n=sizes)
def test_moved_cells_agree_with_moved_rows(listed: Listed, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    rows = listed.make_rows(rng, n)
    cells = rng.integers(0, 6, n)
    index = rng.integers(0, 4, 6)
    metric = listed.metric
    whole = metric.measure(rows)
    moved = metric.result(metric.measure(rows, cells, 6).place(index, 4), whole)
    same(listed, moved, metric.result(metric.measure(rows, index[cells], 4), whole))


@every_metric
@quick
@given(seed=seeds, n=sizes)
def test_the_order_of_rows_changes_nothing(listed: Listed, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    rows = listed.make_rows(rng, n)
    same(listed, values(listed, rows.take(rng.permutation(n))), values(listed, rows))


@every_metric
def test_ratios_agree_with_the_result(listed: Listed) -> None:
    rng = np.random.default_rng(3)
    rows = listed.make_rows(rng, 60)
    cells = rng.integers(0, 3, 60)
    state = listed.metric.measure(rows, cells, 3)
    found = listed.metric.result(state, listed.metric.measure(rows))
    for output, ratio in listed.metric.ratios(state).items():
        column = found[output]
        assert isinstance(column, Numbers)
        for cell in range(3):
            if ratio.bottom[cell]:
                np.testing.assert_allclose(column.values[cell], ratio.top[cell] / ratio.bottom[cell], rtol=1e-12)


@every_metric
def test_every_output_is_given_for_every_cell(listed: Listed) -> None:
    rng = np.random.default_rng(5)
    rows = listed.make_rows(rng, 30)
    found = values(listed, concatenate([rows, rows]), rng.integers(0, 2, 60), 2)
    assert set(found) == set(listed.metric.outputs)
    assert all(len(column) == 2 for column in found.values())
    assert all(column in rows for column in listed.metric.columns)


@every_metric
def test_results_survive_the_way_to_disk(listed: Listed) -> None:
    rng = np.random.default_rng(9)
    rows = listed.make_rows(rng, 40)
    attribute = Attribute.coded(rng.integers(-1, 4, 40), ("a", "b", "never"))
    labelled = Records({**rows.columns, "unit": rng.integers(0, 12, 40)}, {"group": attribute})
    found = measure(labelled, [listed.metric], ["group"])
    results = Results("task", "model", "data", {}, (), found, Coverage())
    again = from_plain({k: v for k, v in loads(results_json(results)).items() if k != "format"}, Results)
    assert again == results


@every_metric
def test_the_definition_is_a_sentence(listed: Listed) -> None:
    assert len(listed.metric.definition) > 20
