"""Rows as Parquet: to the last bit, and readable by others."""

import io

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from hypothesis.extra import numpy as arrays

from evenhand.core.errors import RunError
from evenhand.core.records import Attribute, Records
from evenhand.store.rows import from_parquet, to_parquet

DTYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "U5", "S4")
LEVELS = ("light", "dark", "(missing)", "light | dark")


@some.composite
def records(draw: some.DrawFn) -> Records:
    rows = draw(some.integers(0, 6))
    columns = {}
    for dtype in draw(some.lists(some.sampled_from(DTYPES), min_size=1, max_size=4, unique=True)):
        shape = (rows, *draw(some.sampled_from([(), (3,), (2, 2)] if dtype[0] not in "S" else [()])))
        elements = some.text("aé\n€", max_size=5) if dtype[0] == "U" else None
        columns[f"column {dtype}"] = draw(arrays.arrays(dtype, shape, elements=elements))
    chosen = some.none() | some.sets(some.sampled_from(LEVELS))
    members = draw(some.lists(chosen, min_size=rows, max_size=rows))
    return Records(columns, {"tone": Attribute.many(members, LEVELS), "none": Attribute.silent(rows, ("a",))})


@given(records())
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_rows_come_back_to_the_last_bit_and_to_the_same_bytes(rows: Records):
    data = to_parquet(rows)
    back = from_parquet(data)
    assert list(back.columns) == list(rows.columns)
    for name, column in rows.columns.items():
        assert (back[name].dtype, back[name].shape) == (column.dtype, column.shape)
        assert back[name].tobytes() == column.tobytes()
    for name, attribute in rows.attributes.items():
        found = back.attributes[name]
        assert found.levels == attribute.levels
        assert found.codes.dtype == attribute.codes.dtype
        assert np.array_equal(found.codes, attribute.codes)
        assert np.array_equal(found.patterns, attribute.patterns)
    assert to_parquet(back) == data


def test_another_tool_reads_levels_as_words():
    tone = Attribute.many([{"light"}, {"light", "dark"}, (), None], ("light", "dark"))
    frame = pl.read_parquet(io.BytesIO(to_parquet(Records({"item": np.arange(4)}, {"tone": tone}))))
    assert frame["attribute:tone"].to_list() == ["light", "light | dark", "(missing)", None]


def test_levels_that_no_row_has_survive():
    tone = Attribute.of(["dark"], levels=("light", "dark", "medium"))
    back = from_parquet(to_parquet(Records({"item": np.arange(1)}, {"tone": tone})))
    assert back.attributes["tone"].levels == ("light", "dark", "medium")


def test_a_column_of_objects_is_refused_by_name():
    with pytest.raises(TypeError, match="column 'truth' has the type object"):
        to_parquet(Records({"truth": np.array([object()])}, {}))


@pytest.mark.parametrize("keep", [0, 3, 100, -1])
def test_a_damaged_file_is_refused_with_its_name(keep: int):
    data = to_parquet(Records({"item": np.arange(1000)}, {}))
    with pytest.raises(RunError, match=r"part-0000\.parquet can't be read as rows"):
        from_parquet(data[:keep], "part-0000.parquet")


def test_a_table_of_someone_else_is_refused():
    file = io.BytesIO()
    pl.DataFrame({"a": [1]}).write_parquet(file)
    with pytest.raises(RunError, match="was not written by evenhand"):
        from_parquet(file.getvalue())
