"""Which labelled image an answer is about.

Keys come as `val/12.jpg`, with any folders before, as `12.jpg`, as `12` or as a
number. Image numbers repeat across splits, so a path through another split's
folder is about no image of this one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, Final

SPLITS: Final = frozenset({"train", "val", "test"})

_FACE_SUFFIX: Final = re.compile(r"_face\d+$")


class KeyIndex:
    """Finds the label row of a key; the first rule that applies decides.

    Exact; path suffix; file name if unique among the labels; stem if unique.

    >>> index = KeyIndex(["val/12.jpg", "val/13.jpg"])
    >>> [index.find(key) for key in ("/data/val/13.jpg", "12.jpg", 12, "train/12.jpg", "val/99.jpg")]
    [1, 0, 0, None, None]
    """

    def __init__(self, files: Sequence[str]) -> None:
        self._files = files
        self._exact = {file: row for row, file in enumerate(files)}
        self._parts: list[tuple[str, ...]] = []  # of the files; made when a key is not exactly one of them
        self._suffix: dict[str, int | None] = {}  # the end of a path, its file name too
        self._stem: dict[str, int | None] = {}

    def _index(self) -> None:
        self._parts = [_parts(file) for file in self._files]
        for row, parts in enumerate(self._parts):
            self._exact.setdefault("/".join(parts), row)
            for start in range(len(parts)):
                _once(self._suffix, "/".join(parts[start:]), row)
            _once(self._stem, _stem(parts[-1]), row)

    def find(self, key: Any) -> int | None:
        """The row that a key means; None when it means none, or several."""
        exact = self._exact.get(key)
        if exact is not None:
            return exact
        parts = _parts(str(key))
        if not parts:
            return None
        if not self._parts:
            self._index()
        row = self._by_path(parts)
        if row is None and parts[-1] not in self._suffix:
            row = self._stem.get(_stem(parts[-1]))
        return row if row is not None and not self._in_another_split(parts, row) else None

    def _by_path(self, parts: tuple[str, ...]) -> int | None:
        for start in range(len(parts)):
            row = self._exact.get("/".join(parts[start:]))
            if row is not None:
                return row
        row = self._suffix.get("/".join(parts))
        return self._suffix.get(parts[-1]) if row is None else row

    def _in_another_split(self, parts: tuple[str, ...], row: int) -> bool:
        named = SPLITS.intersection(parts[:-1])
        own = SPLITS.intersection(self._parts[row][:-1])
        return bool(named and own and named != own)


def without_face_number(name: str) -> tuple[str, int]:
    """The image of a crop that the FairFace script wrote, and the number of the face in it.

    >>> without_face_number("detected_faces/479_face1.jpg")
    ('479.jpg', 1)
    """
    path = PurePosixPath(name.replace("\\", "/"))
    found = _FACE_SUFFIX.search(path.stem)
    if not found:
        return path.name, 0
    return path.stem[: found.start()] + path.suffix, int(found[0][5:])


def _parts(key: str) -> tuple[str, ...]:
    return tuple(part for part in key.strip().replace("\\", "/").split("/") if part not in ("", "."))


def _stem(name: str) -> str:
    stem, dot, _ = name.rpartition(".")
    return stem if dot and stem else name


def _once(index: dict[str, int | None], key: str, row: int) -> None:
    index[key] = row if key not in index else None
