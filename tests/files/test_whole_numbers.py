"""Whole numbers without a header, parsed from blocks of bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenhand.files import whole_numbers
from evenhand.files.inputs import hash_of
from evenhand.files.whole_numbers import parse_whole_numbers


@pytest.mark.parametrize(("separator", "end"), [(",", "\n"), (" ", "\n"), ("\t", "\n"), (",", "\r\n")])
def test_numbers_of_one_to_eight_digits_are_read_over_the_ends_of_blocks(
    tmp_path: Path, separator: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_numbers, "_BLOCK", 257)
    rng = np.random.default_rng(3)
    table = rng.integers(0, 10 ** rng.integers(1, 9, (500, 3)))
    text = end.join(separator.join(str(number) for number in row) for row in table.tolist())
    path = tmp_path / "numbers.txt"
    for content in (text, text + end, "\ufeff" + text):
        path.write_bytes(content.encode())
        columns, fact = parse_whole_numbers(path, 3, "," if separator == "," else " ")
        assert columns is not None
        assert np.array_equal(np.column_stack(columns), table)
        assert fact == hash_of(path)


@pytest.mark.parametrize(
    "text",
    ["1,2\n3\n", "1,2\n3,x\n", "a,b\n1,2\n", "1,2,3\n", "123456789,1\n", "1,,2\n", "-1,2\n", "1 ,2\n", '"1",2\n'],
)
def test_anything_else_is_left_to_those_who_name_the_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text("5,6\n" * 3 + text, newline="")
    columns, fact = parse_whole_numbers(path, 2, ",")
    assert columns is None
    assert fact == hash_of(path)


def test_an_empty_file_has_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    path.write_bytes(b"")
    columns, _ = parse_whole_numbers(path, 2, ",")
    assert columns is not None
    assert [len(column) for column in columns] == [0, 0]
