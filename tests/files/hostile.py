"""Files of at most 5 MB that would become gigabytes or take minutes, and what reads them, each in a process of its own.

`python tests/files/hostile.py` prints the table of `docs/security.md`.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

MOST = 5_000_000
MOST_SECONDS = 10
HEAD = b"y,p,g,s\n"


class Cost(NamedTuple):
    """What the reading of a file took, and the last line that was printed."""

    gigabytes: float
    seconds: float  # of the processor
    size: int
    message: str


READ = """
import sys, warnings
from pathlib import Path
import evenhand as eh
from evenhand.core.errors import EvenhandError
from evenhand.files.arrays import read_npz, read_safetensors
from evenhand.files.pickles import load_plain
warnings.simplefilter("ignore")
path = Path(sys.argv[1])
readers = {".npz": read_npz, ".safetensors": read_safetensors, ".pkl": load_plain, ".pt": load_plain}
quick = dict(draws=0, permutations=0, depth=1)
try:
    if path.suffix in readers:
        readers[path.suffix](path)
    elif path.suffix == ".json":
        results = path.parent / "results"
        results.write_text('[{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 1}]')
        eh.evaluate("table/detection", results, data=path, **quick)
    else:
        eh.evaluate("table/labels", path, options={"truth": "y", "prediction": "p"}, by=["g"], **quick)
    print("read")
except EvenhandError as error:
    print(str(error).replace(str(path), path.name))
print(next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")))
"""


def cost_of(path: Path) -> Cost:
    """Reads a file in a process of its own, which is ended where it goes far beyond what is promised."""
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))

    command = [sys.executable, "-c", READ, str(path)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=limit)
    assert child.stdout is not None
    with child.stdout as output:
        lines = output.read().splitlines()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = status
    message, peak = lines[-2:] if status == 0 else (f"ended with status {status}: {lines[-1:]}", "0")
    return Cost(int(peak) * 1024 / 1e9, used.ru_utime + used.ru_stime, path.stat().st_size, message)


def _compressed(line: bytes, text: int, head: bytes = HEAD) -> Callable[[int], bytes]:
    """One line again and again; at full size so many bytes of text, and random names until it has 5 MB."""

    def content(size: int) -> bytes:
        packed = gzip.compress(head + line * (text * size // MOST // len(line)), 1)
        noise = random.Random(0).randbytes(max(size - len(packed), 0) * 4 // 5).hex().encode()
        width = line.count(b",")
        rows = [noise[at : at + 60] + b",x" * width for at in range(0, len(noise), 60)]
        return packed + gzip.compress(b"\n".join(rows) + b"\n", 1)

    return content


def _parquet(rows: int, **values: object) -> Callable[[int], bytes]:
    def content(size: int) -> bytes:
        columns = {name: pl.repeat(value, rows * size // MOST, eager=True) for name, value in values.items()}
        stream = io.BytesIO()
        pl.DataFrame(columns).write_parquet(stream)
        return stream.getvalue()

    return content


def _arrow(size: int) -> bytes:
    stream = io.BytesIO()
    columns = {name: pl.repeat(1, 40_000_000 * size // MOST, eager=True) for name in "ypg"}
    pl.DataFrame(columns).write_ipc(stream, compression="zstd")
    return stream.getvalue()


def _npz(method: int) -> Callable[[int], bytes]:
    def content(size: int) -> bytes:
        member, stream = io.BytesIO(), io.BytesIO()
        np.save(member, np.zeros(500_000_000 * size // MOST, np.uint8))
        with zipfile.ZipFile(stream, "w", method) as archive:
            archive.writestr("a.npy", member.getvalue())
        return stream.getvalue()

    return content


def _safetensors(size: int) -> bytes:
    numbers = 2 * (size * 2 // 5)
    entry = {"dtype": "BF16", "shape": [numbers // 2], "data_offsets": [0, numbers]}
    head = json.dumps({str(number): entry for number in range(140)}).encode()
    return len(head).to_bytes(8, "little") + head + bytes(numbers)


def _names(size: int) -> bytes:
    columns = b",".join(b'"c%d":1' % number for number in range(size // 100))
    return b"{" + columns + b"}\n" + b"{}\n" * ((size - len(columns)) // 3)


def _wide(size: int) -> bytes:
    columns = size // 100 - 4
    names = b"y,p,g,s," + b",".join(b"c%d" % number for number in range(columns)) + b"\n"
    return names + (b"a," * (columns + 3) + b"a\n") * ((size - len(names)) // (2 * columns + 8))


def _categories(size: int) -> bytes:
    ids = [{"id": number} for number in range(size // 50)]
    box = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}
    return json.dumps({"images": ids, "categories": ids, "annotations": [box]}).encode()


FILES: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "one letter per cell, 130 MB": ("a.csv.gz", _compressed(b"a,b,c,d\n", 130_000_000)),
    "one letter per cell, 22 MB": ("b.csv.gz", _compressed(b"a,b,c,d\n", 22_000_000)),
    "empty cells, 11 MB": ("c.csv.gz", _compressed(b",,,\n", 11_000_000)),
    "cells of eight letters, 100 MB": ("d.csv.gz", _compressed(b"abcdefgh,bcdefghi,cdefghij,defghijk\n", 100_000_000)),
    "every second line blank, 20 MB": ("e.csv.gz", _compressed(b"a,b,c,d\n\n", 20_000_000)),
    "line breaks in quotes, 25 MB": ("f.csv.gz", _compressed(b'a,b,"c\n",d\n', 25_000_000)),
    "a field too few, 22 MB": ("g.csv.gz", _compressed(b"a,b,c\n", 22_000_000)),
    "blank lines alone, 130 MB": ("h.csv.gz", _compressed(b"\n", 130_000_000)),
    "a cell of 125 MB": ("i.csv.gz", lambda size: _compressed(b"a" * (25 * size) + b",b,c,d\n", 26 * MOST)(size)),
    "50,000 columns": ("j.csv", _wide),
    "a million blank lines": ("k.csv", lambda size: HEAD + b"a,b,c,d\n" + b"\n" * size),
    "line breaks in quotes": ("l.csv", lambda size: HEAD + b'a,b,"c\n",d\n' * (size // 11)),
    "50,000 columns with line breaks": (
        "L.csv",
        lambda size: _wide(size) + b'"\n"' + b",a" * (size // 100 - 1) + b"\n",
    ),
    "a cell of 5 MB": ("m.csv", lambda size: HEAD + b"a" * size + b",b,c,d\n"),
    "100 levels in every line": ("n.jsonl", lambda size: (b'{"y":' * 100 + b"1" + b"}" * 100 + b"\n") * (size // 602)),
    "8 levels in every line": ("o.jsonl", lambda size: (b'{"y":' * 7 + b"1" + b"}" * 7 + b"\n") * (size // 44)),
    "lists 300 deep": ("p.jsonl", lambda size: (b'{"y":' + b"[" * 300 + b"]" * 300 + b"}\n") * (size // 608)),
    "50,000 names, then empty rows": ("q.jsonl", _names),
    "a million images × categories": ("r.json", _categories),
    "ten million rows of three texts": ("s.parquet", _parquet(10_000_000, y="a", p="b", g="c")),
    "four million rows of three texts": ("t.parquet", _parquet(4_000_000, y="a", p="b", g="c")),
    "a hundred million truth values": ("u.parquet", _parquet(100_000_000, y=True, p=True, g=True)),
    "texts of 5,000 letters": ("v.parquet", _parquet(1_000_000, y="a" * 5000, p="b", g="c")),
    "forty million equal numbers": ("w.arrow", _arrow),
    "500 MB of zeros, deflated": ("x.npz", _npz(zipfile.ZIP_DEFLATED)),
    "500 MB of zeros, LZMA": ("y.npz", _npz(zipfile.ZIP_LZMA)),
    "140 arrays on the same bytes": ("z.safetensors", _safetensors),
    "three million dictionaries": ("A.pkl", lambda size: b"\x80\x02](" + b"}" * (size * 29 // 50) + b"e."),
    "half a million small dictionaries": ("B.pkl", lambda size: pickle.dumps({n: {} for n in range(size // 11)}, 2)),
    "tuples in tuples": ("C.pkl", lambda size: b"\x80\x02)" + b"\x85" * (size * 29 // 50) + b"."),
}


if __name__ == "__main__":
    dear = []
    print("| file of 5 MB or less | size | memory | processor | answer |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for what, (name, content) in FILES.items():
            path = Path(folder) / name
            path.write_bytes(content(MOST))
            cost = cost_of(path)
            answer = "read" if cost.message == "read" else cost.message[:90]
            kind = name.partition(".")[2]
            print(
                f"| {what} (`.{kind}`) | {cost.size / 1e6:.1f} MB | {cost.gigabytes:.2f} GB | {cost.seconds:.1f} s "
                f"| {answer} |",
                flush=True,
            )
            path.unlink()
            if cost.seconds >= MOST_SECONDS or cost.gigabytes >= 1:
                dear.append(what)
    if dear:
        sys.exit(f"more than {MOST_SECONDS} s or 1 GB: {', '.join(dear)}")
