"""No file of 5 MB takes a gigabyte, and every one is answered, whatever is in it.

What each takes of the processor is measured by `python tests/files/hostile.py`, which fails above ten seconds; here a
file that is far beyond them is ended, so that a busy machine fails nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from hostile import FILES, MOST, cost_of

from evenhand.core.errors import DataError
from evenhand.files import delimited, text_files


@pytest.mark.slow
@pytest.mark.parametrize("what", FILES)
def test_a_hostile_file_of_5_mb_is_answered_within_a_gigabyte(what: str, tmp_path: Path):
    name, content = FILES[what]
    path = tmp_path / name
    path.write_bytes(content(MOST))
    assert path.stat().st_size < MOST * 1.03
    cost = cost_of(path)
    assert not cost.message.startswith("ended with status"), cost
    assert cost.gigabytes < 1, cost


@pytest.mark.parametrize("what", ["a field too few, 22 MB", "lists 300 deep", "500 MB of zeros, LZMA"])
def test_a_small_one_is_answered_with_a_message_or_read(what: str, tmp_path: Path):
    name, content = FILES[what]
    (tmp_path / name).write_bytes(content(MOST // 100))
    cost = cost_of(tmp_path / name)
    assert not cost.message.startswith("ended with status"), cost
    assert cost.gigabytes < 0.4, cost


def test_the_cells_of_a_compressed_table_have_a_limit_that_its_message_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    name, content = FILES["one letter per cell, 22 MB"]
    (tmp_path / name).write_bytes(content(MOST // 100))
    assert len(delimited.read_table(tmp_path / name)) > 20_000
    monkeypatch.setattr(text_files, "MOST_CELLS", 1000)
    monkeypatch.setattr(text_files, "_CELLS_PER_BYTE", 1)
    with pytest.raises(DataError, match=r"expand to more than .* cells.* expand it yourself.* EVENHAND_MOST_CELLS"):
        delimited.read_table(tmp_path / name)


def test_more_wrong_lines_than_anybody_reads_are_not_collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(delimited, "MOST_ISSUES", 10)
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + b"1\n" * 1000)
    with pytest.raises(DataError, match=r"line 2: 1 fields, but the header has 2 columns. \(10 or more others;"):
        delimited.read_table(tmp_path / "t.csv")
