"""What the pages ask for: runs, rows, pictures, comparisons, reports, read and cached."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from threading import Lock, Semaphore
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from evenhand import api
from evenhand.core.errors import InputError, RunError
from evenhand.core.metric import Metric
from evenhand.core.records import Array
from evenhand.core.view import SampleView
from evenhand.reporting.comparison import comparison_page, difference_page
from evenhand.reporting.display import RowLabels, labels_of
from evenhand.reporting.html import Link, page_html
from evenhand.reporting.reported import report_page, reported
from evenhand.run.reopened import metrics_of, task_of
from evenhand.serve.folders import ServedFolders
from evenhand.serve.listing import ProgressMonitor, RunEntry, RunIndex, stamp_of
from evenhand.serve.pictures import NoPictureError, SampleMedia, load_media, pictures_of
from evenhand.serve.selection import RowQuery, ValueChoice, select
from evenhand.stats.comparison import Comparison
from evenhand.store.damaged import InspectedRun, ReadableRows, inspect_run, readable_rows
from evenhand.store.differences import Difference, diff
from evenhand.store.runs import Run

V = TypeVar("V")
P = ParamSpec("P")
_BACK = (Link("Runs", "/"),)


@dataclass(frozen=True)
class ServeSettings:
    """The folders that may be read, and how much work a comparison is."""

    runs: Path
    data: tuple[Path, ...] = ()
    draws: int = 2000  # of a comparison; as many as `evenhand compare` draws


class NotFoundError(InputError):
    """Something that was asked for by a key that belongs to nothing."""


class LRUCache(Generic[V]):
    """The latest `most` values, by key; threads that ask for the same key at the same time wait for one computation.

    >>> squares = LRUCache[int](most=2)
    >>> [squares.get(n, lambda n=n: n * n) for n in (2, 3, 2)], len(squares)
    ([4, 9, 4], 2)
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self._making: dict[Hashable, Lock] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """The value of a key, made when it is not there; what `make` raises is raised, and not kept."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            making = self._making.setdefault(key, Lock())
        with making:
            with self._lock:
                if key in self._values:
                    return self._values[key]
            try:
                value = make()
                with self._lock:
                    self._values[key] = value
                    while len(self._values) > self.most:
                        self._values.popitem(last=False)
            finally:
                with self._lock:
                    self._making.pop(key, None)
        return value


def _kept(
    most: int, *, costly: bool = False
) -> Callable[[Callable[Concatenate[Library, P], V]], Callable[Concatenate[Library, P], V]]:
    """A method whose latest answers are kept until the files of a run that it was asked about change."""

    def kept(method: Callable[Concatenate[Library, P], V]) -> Callable[Concatenate[Library, P], V]:
        @wraps(method)
        def answer(self: Library, /, *asked: P.args, **named: P.kwargs) -> V:
            given = (*enumerate(asked), *sorted(named.items()))
            key = tuple(
                (name, value.key, stamp_of(value.folder)) if isinstance(value, RunEntry) else (name, value)
                for name, value in given
            )

            def made() -> V:
                with self.costly if costly else nullcontext():
                    return method(self, *asked, **named)

            cache: LRUCache[V] = self.caches.setdefault(method.__name__, LRUCache(most))
            return cache.get(key, made)

        return answer

    return kept


class Library:
    """The folders that are served, with what was read from them lately."""

    def __init__(self, settings: ServeSettings) -> None:
        self.settings = settings
        self.data = ServedFolders.of(settings.data)
        self.index = RunIndex(settings.runs)
        self.watch = ProgressMonitor(settings.runs)
        self.caches: dict[str, LRUCache[Any]] = {}  # by method
        self.costly = Semaphore(2)  # comparisons and reports that are made at the same time
        self._placeholder = secrets.token_urlsafe(24)  # stands for the nonce in a report that is kept

    def line(self, key: str) -> RunEntry:
        """The run of a key; raises NotFoundError when there is none."""
        line = self.index.now().find(key)
        if line is None:
            raise NotFoundError("There is no run of that key. It may have been removed or replaced.")
        return line

    @_kept(16)
    def inspected(self, line: RunEntry) -> InspectedRun:
        """What can be read of a run; raises OutsideError when a link in its folder leads out."""
        self.index.allowed.check_tree(line.folder)
        return inspect_run(line.folder)

    @_kept(3)
    def rows(self, line: RunEntry) -> ReadableRows:
        """The rows of a run; raises RunError when there are none to show."""
        return readable_rows(self.inspected(line), self.index.allowed.inside)

    @_kept(16)
    def metrics(self, line: RunEntry) -> tuple[Metric[Any], ...]:
        """The metrics, as the run applied them; none when its family does not tell."""
        return metrics_of(self.whole(line).results)

    @_kept(16)
    def labels(self, line: RunEntry) -> RowLabels:
        """The words for truth and answer of a classification."""
        return labels_of(self.whole(line).results, self.rows(line).records)

    @_kept(32)
    def selected(self, line: RunEntry, query: RowQuery, choice: ValueChoice | None) -> tuple[Array, bool]:
        """The numbers of the rows that a query selects, in its order; kept, since a reader pages through them."""
        task = task_of(self.whole(line).results)
        metric = next((m for m in self.metrics(line) if choice is not None and m.name == choice.metric), None)
        badness = task.badness if task is not None else None
        return select(self.rows(line).records, query, metric, self.labels(line), badness)

    def view(self, line: RunEntry, number: int) -> SampleView:
        """What a page shows of a row; nothing where no data were named or its task has no view."""
        try:
            return self._view(line, number)[0]
        except NoPictureError:
            return SampleView()

    def pictures(self, line: RunEntry, number: int) -> tuple[Path, ...]:
        """The pictures of a row's sample; raises NoPictureError with the reason when there are none."""
        view, media = self._view(line, number)
        rows = self.rows(line).records
        item = str(rows["item"][number]) if "item" in rows and 0 <= number < len(rows) else ""
        return pictures_of(item, view, media, self.data)

    def _view(self, line: RunEntry, number: int) -> tuple[SampleView, SampleMedia]:
        media, rows = self._media(line), self.rows(line).records
        row = {name: column[number] for name, column in rows.columns.items()} if 0 <= number < len(rows) else {}
        return media.view_of(row), media

    @_kept(8)
    def _media(self, line: RunEntry) -> SampleMedia:
        manifest = self.inspected(line).manifest
        if manifest is None:
            raise NoPictureError("Without its run.json it is not known which data the run was made of.")
        if not self.settings.data:
            raise NoPictureError("No data folder was named: start `evenhand serve` with --data DIR to see the picture.")
        return load_media(line.folder, manifest, self.data)

    def whole(self, line: RunEntry) -> Run:
        """A run as the verbs take it; raises RunError with what is missing."""
        inspected = self.inspected(line)
        if inspected.run is None:
            reasons = " ".join(piece.reason for piece in inspected.pieces if piece.is_lost)
            raise RunError(f"{line.name} can't be used for this: it has no whole results. {reasons}")
        return inspected.run

    def report(self, line: RunEntry, nonce: str) -> str:
        """The report of a run as a page; its style and scripts carry the nonce."""
        return self._report(line).replace(self._placeholder, nonce)

    @_kept(8, costly=True)
    def _report(self, line: RunEntry) -> str:
        links = (*_BACK, Link("Groups and rows", f"/run/{line.key}"))
        return page_html(report_page([reported(self.whole(line))], links), nonce=self._placeholder)

    @_kept(8, costly=True)
    def comparison(self, *lines: RunEntry) -> tuple[Comparison, ...]:
        """The first of some runs compared with each of the others; raises RunError when one has lost rows.

        Half of the rows would compare something else.
        """
        for line in lines:
            if problems := self.rows(line).problems:
                raise RunError(f"{line.name} has lost rows, so it can't be compared. {' '.join(problems)}")
        return api.compare(*map(self.whole, lines), draws=self.settings.draws)

    @_kept(8, costly=True)
    def difference(self, first: RunEntry, second: RunEntry) -> Difference:
        return diff(self.whole(first), self.whole(second))

    def page_of(self, verb: str, lines: Sequence[RunEntry], nonce: str) -> str:
        """A comparison or a difference as one page with its figures; its style and scripts carry the nonce."""
        if verb == "diff":
            page = difference_page(self.difference(*lines), _BACK)
        else:
            page = comparison_page(self.comparison(*lines), [self.whole(line).results for line in lines], _BACK)
        return page_html(page, nonce=nonce)
