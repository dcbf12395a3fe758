"""Parquet and Arrow files that are cut short, damaged or bombs: an error in words, and nothing else on the screen."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from evenhand.benchmarks.table.frame import read_table
from evenhand.core.errors import DataError

WRITERS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    "t.parquet": lambda frame, path: frame.write_parquet(path),
    "t.arrow": lambda frame, path: frame.write_ipc(path),
    "t.feather": lambda frame, path: frame.write_ipc(path, compression="lz4"),
}
READ = """
import sys
from pathlib import Path
from evenhand.benchmarks.table.frame import read_table
from evenhand.core.errors import DataError
for name in sys.argv[1:]:
    try:
        read_table(Path(name))
    except DataError as error:
        assert "Panic" not in str(error) and len(str(error)) < 600, error
print("alive")
"""


def small_table(path: Path) -> bytes:
    count = 60
    columns = {
        "y": ["a", "b", "c"] * (count // 3),
        "s": [n / 7 for n in range(count)],
        "g": [n % 5 for n in range(count)],
    }
    WRITERS[path.name](pl.DataFrame(columns), path)
    return path.read_bytes()


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_cut_short_at_every_tenth_byte_is_an_error_in_words(name: str, tmp_path: Path):
    path = tmp_path / name
    data = small_table(path)
    assert read_table(path).rows == 60
    for length in range(0, len(data), 10):
        path.write_bytes(data[:length])
        with pytest.raises(DataError, match=name):
            read_table(path)


@pytest.mark.parametrize("name", WRITERS)
def test_a_damaged_file_prints_no_backtrace(name: str, tmp_path: Path):
    data = small_table(tmp_path / name)
    paths = []
    for number in range(120):
        rng = random.Random(number)
        damaged = bytearray(data)
        place = rng.randrange(len(data) - 8)
        damaged[place : place + 8] = rng.choice((b"\xff" * 8, b"\0" * 8, rng.randbytes(8), data[:8]))
        paths.append(tmp_path / f"{number}.{name}")
        paths[-1].write_bytes(damaged)
    command = [sys.executable, "-c", READ, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("alive\n", "")


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_a_column_that_would_expand_without_end_is_refused(name: str, tmp_path: Path):
    rows = 20_000_000
    one = pl.repeat(1, rows, dtype=pl.Int64, eager=True)
    frame = pl.DataFrame([one.alias(f"c{place}") for place in range(10)])
    if name == "t.parquet":
        frame.write_parquet(tmp_path / name, row_group_size=rows)
    else:
        frame.write_ipc(tmp_path / name, compression="zstd")
    assert (tmp_path / name).stat().st_size < 5 << 20
    with pytest.raises(DataError, match=r"would become at least 1.6 GB"):
        read_table(tmp_path / name)
