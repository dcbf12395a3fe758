"""JSON objects whose keys are image paths: read without unpacking, matched to images, written as a stream.

Keys are image paths of whatever data root the file was made with, so they are matched by the end of
the path. Values stay as text until somebody asks for them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from evenhand.core.errors import PredictionError, RunError
from evenhand.files import inputs
from evenhand.files.writing import open_file


def top_level(data: bytes, path: Path) -> Mapping[str, bytes | msgspec.Raw]:
    """The entries of a JSON object, each still as text; falls back to a parser that knows NaN."""
    try:
        return msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        content = json.loads(inputs.decode(data, path, PredictionError))
    except (ValueError, RecursionError) as error:
        if data.lstrip()[:1] not in (b"{", b"["):
            raise PredictionError(
                f"{path} is not JSON but begins with {data[:40].decode('utf-8', 'replace')!r}. Predictions are a JSON "
                "object that maps the path of every image to its answer; `evenhand describe TASK` shows an example."
            ) from None
        raise PredictionError(f"{path} is not JSON: {error}. Was it written to the end?") from None
    if not isinstance(content, dict):
        raise PredictionError(f"{path} holds a {type(content).__name__}, but a mapping from image paths was expected.")
    return {str(key): json.dumps(value).encode() for key, value in content.items()}


def parse(data: bytes) -> Any:
    """A JSON value; NaN and Infinity, which the published tool writes, are read too."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        if isinstance(error, RecursionError):
            raise ValueError("nested too deep") from None
        return json.loads(data)


def read_stored(path: Path) -> Any:
    """The JSON of a file that an evaluation wrote."""
    try:
        return parse(inputs.read(path, RunError).data)
    except ValueError as error:
        raise RunError(f"{path} is not JSON: {error}. Was it changed or cut? Evaluate again.") from None


def match_keys(raw: Mapping[str, Any], ids: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Answers by sample id, and the keys that match none.

    Exact paths first, then paths that end in an id, then the last two components where these are
    unique on both sides.

    >>> match_keys({"/old/root/data/a/b.png": 1, "other": 2}, ["data/a/b.png"])
    ({'data/a/b.png': 1}, ['other'])
    """
    known = set(ids)
    prefix = _common_root(raw, known)
    if prefix is not None:
        return {key[len(prefix) :]: value for key, value in raw.items()}, []
    by_tail: dict[str, str | None] = {}
    for name in ids:
        by_tail[_tail(name)] = None if _tail(name) in by_tail else name
    matched: dict[str, Any] = {}
    extra = []
    for key, value in raw.items():
        image = _match(key, known, by_tail)
        if image is None or (image in matched and key != image):
            extra.append(key)
        else:
            matched[image] = value
    return matched, extra


def write_entries(path: Path, entries: Iterable[tuple[str, Any]]) -> None:
    """Write a JSON object entry by entry, whole or not at all."""
    with open_file(path, flush=False) as file:
        separator = "{"
        for key, value in entries:
            text = json.dumps(value, allow_nan=False, default=_json_default)
            file.write(f"{separator}{json.dumps(key)}: {text}")
            separator = ", "
        file.write("{}" if separator == "{" else "}")


def _common_root(raw: Mapping[str, Any], known: set[str]) -> str | None:
    """What stands before the path of an image in every key; None when the keys are not so simple."""
    first = next(iter(raw), "")
    parts = first.split("/")
    ends = ("/".join(parts[start:]) for start in range(len(parts)))
    end = next((end for end in ends if end in known), None)
    if end is None:
        return None
    prefix = first[: len(first) - len(end)]
    simple = all(key.startswith(prefix) and key[len(prefix) :] in known for key in raw)
    return prefix if simple else None


def _match(key: str, known: set[str], by_tail: Mapping[str, str | None]) -> str | None:
    if key in known:
        return key
    name = by_tail.get(_tail(key))
    if name is not None:
        return name
    parts = PurePosixPath(key.replace("\\", "/")).parts
    ends = ("/".join(parts[start:]) for start in range(1, len(parts)))
    return next((end for end in ends if end in known), None)


def _tail(path: str) -> str:
    return "/".join(path.replace("\\", "/").split("/")[-2:])


def _json_default(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} can't be written as JSON")
