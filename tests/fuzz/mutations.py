"""Files as accidents and attackers leave them: mutations that know what the file is."""

from __future__ import annotations

import io
import json
import random
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

DEEP = 100_000
TOKENS = (
    "", " ", "nan", "NaN", "inf", "-inf", "1e999", "-1e999", "-1", "0", "1" * 400, "9" * 25, "-9223372036854775809",
    "1.5e-320", "0x10", "1_000", "1,000", "true", "null", "None", '"', "'", '""', "\\", "\t", ";", ",", "|", "\x00",
    "\x1b[31m", "\ufeff", "\u202e", "é", "😀", "a" * 70_000, "../../etc/passwd", "/etc/passwd", "=1+1", "<script>",
    "{", "[", "{}", "[]", "%s%n", "${x}", "\r", "\u2028",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**63, -(2**63) - 1, 10**400, 1e308, -0.0, "", "x", "nan", [], {}, [[]], [None],
    {"a": None}, {"": {}}, "a" * 50_000, "\x00", "\ud7ff", [0] * 1000, [[0, 0], [1]],
)  # fmt: skip


def mutate(data: bytes, name: str, rng: random.Random) -> bytes:
    """A file's content after one to three mutations, most of which keep its format."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(_kinds(name))(data, rng)
    return data


def _kinds(name: str) -> tuple[Callable[[bytes, random.Random], bytes], ...]:
    if name.endswith(".json"):
        return (_json, _json, _json, _text, _bytes, _nested_json)
    if name.endswith((".jsonl", ".ndjson")):
        return (_json_lines, _json_lines, _text, _bytes)
    if name.endswith((".csv", ".txt", ".tsv", ".toml", ".yaml", ".yml")) or name == "asked":
        if name.endswith((".toml", ".yaml", ".yml")):
            return (_text, _text, _lines, _bytes, _nested_text, _nested_text)
        return (_text, _text, _text, _lines, _bytes)
    if name.endswith(".npy"):
        return (_npy_header, _npy_header, _bytes)
    if name.endswith(".npz"):
        return (_zip, _zip, _bytes)
    if name.endswith(".safetensors"):
        return (_safetensors, _safetensors, _bytes)
    if name.endswith((".parquet", ".arrow")):
        return (_tail, _tail, _bytes)
    if name.endswith((".pkl", ".pickle", ".pt", ".pth")):
        return (_pickle, _pickle, _bytes)
    return (_bytes,)


def _bytes(data: bytes, rng: random.Random) -> bytes:
    kind = rng.randrange(6)
    place = rng.randrange(len(data) + 1)
    if kind == 0:
        return data[:place]
    if kind == 1:
        return data + rng.randbytes(rng.randrange(1, 200))
    if kind == 2:
        return data[:place] + rng.randbytes(rng.randrange(1, 9)) + data[place + rng.randrange(9) :]
    if kind == 3:  # the head is where lengths are
        head = bytearray(data[:64])
        for _ in range(rng.randrange(1, 5)):
            if head:
                head[rng.randrange(len(head))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
        return bytes(head) + data[64:]
    if kind == 4:
        return data[place:] + data[:place]
    return b""


def _text(data: bytes, rng: random.Random) -> bytes:
    """One cell or word replaced."""
    lines = data.split(b"\n")
    number = rng.randrange(len(lines))
    for mark in (b",", b"\t", b";", b" "):
        if mark in lines[number]:
            cells = lines[number].split(mark)
            cells[rng.randrange(len(cells))] = _token(rng)
            if rng.random() < 0.2:
                cells.insert(rng.randrange(len(cells)), _token(rng))
            lines[number] = mark.join(cells)
            break
    else:
        lines[number] = _token(rng)
    return b"\n".join(lines)


def _lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    number = rng.randrange(len(lines))
    kind = rng.randrange(5)
    if kind == 0:
        del lines[number]
    elif kind == 1:
        lines.insert(number, lines[rng.randrange(len(lines))])
    elif kind == 2:
        rng.shuffle(lines)
    elif kind == 3:
        return rng.choice((b"\r", b"\r\n", b"\x85", b"")).join(lines)
    else:
        return data.decode("utf-8", "replace").encode(rng.choice(("utf-16", "utf-8-sig", "utf-32")))
    return b"\n".join(lines)


def _token(rng: random.Random) -> bytes:
    return rng.choice(TOKENS).encode("utf-8", "surrogatepass")


def _json(data: bytes, rng: random.Random) -> bytes:
    """One value replaced, removed, renamed or doubled."""
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        return _text(data, rng)
    places: list[tuple[Any, Any]] = []
    waiting = [whole]
    while waiting and len(places) < 5000:
        value = waiting.pop()
        if isinstance(value, dict):
            places += [(value, key) for key in value]
            waiting += value.values()
        elif isinstance(value, list):
            places += [(value, index) for index in range(len(value))]
            waiting += value
    if not places:
        return json.dumps(rng.choice(VALUES)).encode()
    parent, key = rng.choice(places)
    kind = rng.randrange(5)
    if kind == 0:
        del parent[key]
    elif kind == 1 and isinstance(parent, dict):
        parent[_token(rng).decode()] = parent.pop(key)
    elif kind == 2 and isinstance(parent, list):
        parent.append(parent[key])
    else:
        parent[key] = rng.choice(VALUES)
    return json.dumps(whole).encode()


def _nested_json(data: bytes, rng: random.Random) -> bytes:
    deep = b"[" * DEEP + b"]" * DEEP if rng.random() < 0.5 else b'{"a":' * DEEP + b"1" + b"}" * DEEP
    place = data.find(b":")
    return deep if place < 0 or rng.random() < 0.5 else data[: place + 1] + deep + b"," + data[place + 1 :]


def _json_lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    number = rng.randrange(len(lines))
    lines[number] = rng.choice((_json, _nested_json))(lines[number], rng) if lines[number] else _token(rng)
    return b"\n".join(lines)


def _nested_text(data: bytes, rng: random.Random) -> bytes:
    """Depth, aliases, chains and numbers as TOML and YAML have them."""
    lines = data.split(b"\n")
    bomb = rng.choice((
        b"x = " + b"[" * DEEP,
        b"x = " + b"[" * 900 + b"]" * 900,
        b"x = " + b"{a=" * 5000,
        b"a" + b".a" * 20_000 + b" = 1",
        b"x = " + b"9" * 5000,
        b"x: " + b"[" * 20_000,
        b"x: " + b"{a: " * 10_000,
        b"x: " + b"9" * 5000,
        b"a: &a {k: 1}\n" + b"\n".join(b"b%d: &b%d {x: *a, y: *a}" % (n, n) for n in range(40)),
        b"k0: '" + b"{k0}" * 500 + b"'",
        b"x: !!python/object/apply:os.system ['true']",
        b"x: 2020-99-99",
    ))  # fmt: skip
    lines.insert(rng.randrange(len(lines) + 1), bomb)
    return b"\n".join(lines)


def _tail(data: bytes, rng: random.Random) -> bytes:
    """Bytes of the footer, where Parquet and Arrow keep schema, lengths and places."""
    tail = bytearray(data[-1000:])
    for _ in range(rng.randrange(1, 6) if tail else 0):
        tail[rng.randrange(len(tail))] = rng.choice((0, 1, 0x15, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return data[:-1000] + bytes(tail)


def _pickle(data: bytes, rng: random.Random) -> bytes:
    """Instructions put in at some place, or the end replaced by a bomb."""
    snippet = rng.choice((
        b"cos\nsystem\n(S'true'\ntR",
        b"c__builtin__\neval\n(S'1'\ntR",
        b"cnumpy\nndarray\n(I1000000000000\ntR",
        b"]" + b"q\x00(" + b"h\x00" * 5000 + b"l" * 3,
        b"(" * 20_000,
        b"]" * 20_000 + b"a" * 20_000,
        b"L" + b"9" * 5000 + b"L\n",
        b"X\xff\xff\xff\x7f",
        b"0" * 5, b"R", b"b", b"\x85R", b"h\xff", b"j\xff\xff\xff\xff", b"\x95\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"B\xff\xff\xff\x7f", b"Q", b"\x81", b"(d(s.", b"\x80\x09",
    ))  # fmt: skip
    place = rng.randrange(2, len(data)) if len(data) > 2 else 0
    return data[:place] + snippet + data[place + rng.choice((0, 0, 1, 5)) :]


def _npy_header(data: bytes, rng: random.Random) -> bytes:
    head = rng.choice((
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 4)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 1099511627776)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (4,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 0)}",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,)}",
        "{'descr': '<M8[ns]', 'fortran_order': True, 'shape': (4,)}",
        "{'descr': '<f2', 'fortran_order': 1, 'shape': 4}",
        "__import__('os').system('true')",
        "[" * 3000,
        "",
    ))  # fmt: skip
    text = head.encode() + b"\n"
    length = rng.choice((len(text), len(text), len(text) + 1000, 0))
    return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + text + data[128:]


def _zip(data: bytes, rng: random.Random) -> bytes:
    """A member replaced by a mutated one, a bomb, or one with a hostile name."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as source:
            members = {name: source.read(name) for name in source.namelist()}
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError):
        return _bytes(data, rng)
    if not members:
        return data
    name = rng.choice(sorted(members))
    kind = rng.randrange(4)
    if kind == 0:
        members[name] = _npy_header(members[name], rng)
    elif kind == 1:
        members[name] = members[name][:128] + bytes(40_000_000)
    elif kind == 2:
        members["../" + name] = members.pop(name)
    else:
        members[name] = b"\x80\x04cos\nsystem\n(S'true'\ntR."
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        for member, content in members.items():
            target.writestr(member, content)
    return made.getvalue()


def _safetensors(data: bytes, rng: random.Random) -> bytes:
    length = int.from_bytes(data[:8], "little")
    head = data[8 : 8 + length]
    if rng.random() < 0.3:
        return rng.choice((2**63, 2**40, 0, 2 * length % 2**64)).to_bytes(8, "little") + data[8:]
    changed = _json(head, rng)
    return len(changed).to_bytes(8, "little") + changed + data[8 + length :]
