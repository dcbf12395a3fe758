"""The pairs of a stored run, left on disk until they are looked at.

A run has thousands of pairs, which make most of `results.json`. A report of a hundred runs shows those of one output
of each: a line is decoded when its output is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import msgspec

from evenhand.core.errors import RunError
from evenhand.core.results import Contrast
from evenhand.files import inputs
from evenhand.store.plain import from_plain, loads

_BEGIN, _BETWEEN, _END = b'\n"contrasts": [\n', b",\n", b"\n]"


@dataclass(frozen=True, eq=False)
class StoredContrasts(Sequence[Contrast]):
    """The pairs in a part of a file; reads like a tuple of `Contrast`."""

    path: Path
    start: int
    stop: int
    changed: int  # when the file was written, in nanoseconds

    def __len__(self) -> int:
        return self._text().count(_BETWEEN) + 1

    def __iter__(self) -> Iterator[Contrast]:
        return iter(self._decoded(self._text().split(_BETWEEN)))

    @overload
    def __getitem__(self, at: int) -> Contrast: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Contrast, ...]: ...
    def __getitem__(self, at: int | slice) -> Contrast | tuple[Contrast, ...]:
        lines = self._text().split(_BETWEEN)
        return self._decoded(lines[at]) if isinstance(at, slice) else self._decoded([lines[at]])[0]

    def of_output(self, metric: str, output: str, order: int | None = None) -> tuple[Contrast, ...]:
        """The pairs of one output, of all orders of intersections or of one."""
        begins = b'{"metric":%b,"output":%b,"first":' % (msgspec.json.encode(metric), msgspec.json.encode(output))
        text = self._text()
        start, last = text.find(begins), text.rfind(begins)
        if start < 0:
            return ()
        stop = text.find(_BETWEEN, last)
        lines = text[start : None if stop < 0 else stop].split(_BETWEEN)
        # Between two terms stand these signs, which no encoded text can hold.
        return self._decoded(
            [
                line
                for line in lines
                if line.startswith(begins) and order in (None, line.count(b'"],["', 0, line.find(b',"second":')) + 1)
            ]
        )

    def _text(self) -> bytes:
        with inputs.opened(self.path, RunError) as file:
            if os.fstat(file.fileno()).st_mtime_ns != self.changed:
                raise RunError(f"{self.path} was changed while it was read. Do it again.")
            file.seek(self.start)
            return file.read(self.stop - self.start)

    def _decoded(self, lines: Sequence[bytes]) -> tuple[Contrast, ...]:
        try:
            pairs: tuple[Contrast, ...] = from_plain(loads(b"[%b]" % b",".join(lines)), tuple[Contrast, ...])
        except ValueError as error:
            raise RunError(
                f"{self.path} can't be read: {error}. The run is damaged; evaluate again with --force."
            ) from None
        return pairs


def without_contrasts(data: bytes, path: Path) -> tuple[bytes, StoredContrasts] | None:
    """The JSON of results without their pairs, and the pairs; None where the file is not as we write it."""
    start = data.find(_BEGIN) + len(_BEGIN)
    stop = data.find(_END, start)
    if start < len(_BEGIN) or stop < 0:
        return None
    return data[:start] + data[stop:], StoredContrasts(path, start, stop, path.stat().st_mtime_ns)
