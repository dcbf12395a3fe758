"""Parquet and Arrow files that are cut short, damaged or bombs: an error in words, and nothing else on the screen."""

from __future__ import annotations

import os
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
    with pytest.raises(DataError, match=r"may need 7.2 GB of memory .* EVENHAND_MOST_CELLS"):
        read_table(tmp_path / name)


CUT = """
import os, sys, threading, time
from pathlib import Path
from evenhand.core.errors import DataError
from evenhand.files.columnar import read_parquet
path = Path(sys.argv[1])
maps = Path("/proc/self/maps")
seen, done = [], threading.Event()
def watch():
    while not done.is_set():
        if maps.exists() and path.name in maps.read_text():
            seen.append(True)
threading.Thread(target=watch, daemon=True).start()
assert len(read_parquet(path, DataError)) == 1_000_000
done.set()
threading.Timer(0.05, os.truncate, (path, 1000)).start()
try:
    while True:
        read_parquet(path, DataError)
except DataError as error:
    print("mapped" if seen else "read", path.name in str(error))
"""


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="Polars maps files by name on this system")
def test_a_file_is_not_mapped_and_may_be_cut_short_while_it_is_read(tmp_path: Path):
    path = tmp_path / "a%20b[1]#?.parquet"  # nothing in a name is a pattern or an escape
    noise = random.Random(0).randbytes(8_000_000)
    pl.DataFrame({"x": pl.Series(memoryview(noise).cast("q").tolist())}).write_parquet(path)
    done = subprocess.run([sys.executable, "-c", CUT, str(path)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("read True\n", "", 0)


def test_a_table_of_many_flags_is_no_bomb(tmp_path: Path):
    flags = pl.repeat(1, 400_000, dtype=pl.Int64, eager=True)
    frame = pl.DataFrame([flags.alias(f"flag{place}") for place in range(41)])
    frame.write_parquet(tmp_path / "flags.parquet")
    table = read_table(tmp_path / "flags.parquet")
    assert (table.rows, len(table.columns)) == (400_000, 41)


@pytest.mark.parametrize(
    ("text", "words"), [("5e7", "50000000"), ("many", "EVENHAND_MOST_CELLS is 'many', but a number")]
)
def test_a_limit_is_set_by_a_number(text: str, words: str):
    code = "from evenhand.files.text_files import MOST_CELLS; print(MOST_CELLS)"
    environment = {**os.environ, "EVENHAND_MOST_CELLS": text}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert words in done.stdout + done.stderr
