"""What the pages ask for: runs, rows, pictures, comparisons, reports, read and cached."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Semaphore
from typing import Any

from evenhand import api
from evenhand.core.errors import InputError, RunError
from evenhand.core.metric import Metric
from evenhand.core.records import Array, Records
from evenhand.core.view import SampleView
from evenhand.reporting.comparison import comparison_page, difference_page
from evenhand.reporting.html import Link, page_html
from evenhand.reporting.reported import report_page, reported
from evenhand.reporting.rows import RowLabels, labels_of
from evenhand.run.reopened import metrics_of, task_of
from evenhand.serve.cache import LRUCache
from evenhand.serve.folders import ServedFolders
from evenhand.serve.listing import RunEntry, RunIndex, RunList, stamp_of
from evenhand.serve.pictures import NoPictureError, SampleMedia, load_media, pictures_of
from evenhand.serve.progress import ProgressMonitor
from evenhand.serve.selection import RowQuery, item_of, select
from evenhand.stats.comparison import Comparison
from evenhand.store.damaged import InspectedRun, inspect_run, readable_rows
from evenhand.store.differences import Difference, diff
from evenhand.store.runs import Run

_BACK = (Link("Runs", "/"),)


@dataclass(frozen=True)
class ServeSettings:
    """The folders that may be read, and how much work a comparison is."""

    runs: Path
    data: tuple[Path, ...] = ()
    draws: int = 2000  # of a comparison; as many as `evenhand compare` draws


class NotFoundError(InputError):
    """Something that was asked for by a key that belongs to nothing."""


@dataclass(frozen=True)
class Rows:
    """The rows of a run that can be read, and what is wrong with the others."""

    records: Records
    problems: tuple[str, ...]


class Library:
    """The folders that are served, with what was read from them lately."""

    def __init__(self, settings: ServeSettings) -> None:
        self.settings = settings
        self.allowed = ServedFolders.of((settings.runs, *settings.data))
        self.index = RunIndex(settings.runs, ServedFolders.of([settings.runs]))
        self.watch = ProgressMonitor(settings.runs, ServedFolders.of([settings.runs]))
        self._inspected = LRUCache[InspectedRun](most=16)
        self._metrics = LRUCache[tuple[Metric[Any], ...]](most=16)
        self._rows = LRUCache[Rows](most=3)
        self._labels = LRUCache[RowLabels](most=16)
        self._selected = LRUCache[tuple[Array, bool]](most=32)
        self._media = LRUCache[SampleMedia](most=8)
        self._compared = LRUCache[tuple[Comparison, ...]](most=8)
        self._differences = LRUCache[Difference](most=8)
        self._reports = LRUCache[str](most=8)
        self._placeholder = secrets.token_urlsafe(24)  # stands for the nonce in a report that is kept
        self._costly = Semaphore(2)  # comparisons and reports that are made at the same time

    def listing(self) -> RunList:
        """All runs."""
        return self.index.now()

    def line(self, key: str) -> RunEntry:
        """The run of a key; raises NotFoundError when there is none."""
        line = self.listing().find(key)
        if line is None:
            raise NotFoundError("There is no run of that key. It may have been removed or replaced.")
        return line

    def inspected(self, line: RunEntry) -> InspectedRun:
        """What can be read of a run; raises OutsideError when a link in its folder leads out."""

        def inspected() -> InspectedRun:
            self.index.allowed.check_tree(line.folder)
            return inspect_run(line.folder)

        return self._inspected.get(self._stamped(line), inspected)

    def rows(self, line: RunEntry) -> Rows:
        """The rows of a run; raises RunError when there are none to show."""
        inspected = self.inspected(line)
        return self._rows.get(self._stamped(line), lambda: Rows(*readable_rows(inspected, self.index.allowed.inside)))

    def metric(self, line: RunEntry, name: str) -> Metric[Any] | None:
        """The metric of that name, as the run applied it; None when its family does not tell."""
        results = self.whole(line).results
        every = self._metrics.get(self._stamped(line), lambda: metrics_of(results))
        return next((metric for metric in every if metric.name == name), None)

    def labels(self, line: RunEntry) -> RowLabels:
        """The words for truth and answer of a classification."""
        return self._labels.get(
            self._stamped(line), lambda: labels_of(self.whole(line).results, self.rows(line).records)
        )

    def selected(self, line: RunEntry, query: RowQuery, metric: Metric[Any] | None) -> tuple[Array, bool]:
        """The numbers of the rows that a query selects, in its order; kept, since a reader pages through them."""
        key = (self._stamped(line), query, metric.name if metric is not None else "")

        def selected() -> tuple[Array, bool]:
            task = task_of(self.whole(line).results)
            badness = task.badness if task is not None else None
            return select(self.rows(line).records, query, metric, self.labels(line), badness)

        return self._selected.get(key, selected)

    def view(self, line: RunEntry, number: int) -> SampleView:
        """What a page shows of a row; nothing where no data were named or its task has no view."""
        try:
            return self._view(line, number)[0]
        except NoPictureError:
            return SampleView()

    def pictures(self, line: RunEntry, number: int) -> tuple[Path, ...]:
        """The pictures of a row's sample; raises NoPictureError with the reason when there are none."""
        view, media = self._view(line, number)
        allowed = ServedFolders.of(self.settings.data)
        return pictures_of(item_of(self.rows(line).records, number), view, media, self.settings.data, allowed)

    def _view(self, line: RunEntry, number: int) -> tuple[SampleView, SampleMedia]:
        inspected = self.inspected(line)
        if inspected.manifest is None:
            raise NoPictureError("Without its run.json it is not known which data the run was made of.")
        if not self.settings.data:
            raise NoPictureError("No data folder was named: start `evenhand serve` with --data DIR to see the picture.")
        manifest = inspected.manifest
        allowed = ServedFolders.of(self.settings.data)
        media = self._media.get(
            self._stamped(line), lambda: load_media(line.folder, manifest, self.settings.data, allowed)
        )
        rows = self.rows(line).records
        row = {name: column[number] for name, column in rows.columns.items()} if 0 <= number < len(rows) else {}
        return media.view_of(row), media

    def whole(self, line: RunEntry) -> Run:
        """A run as the verbs take it; raises RunError with what is missing."""
        inspected = self.inspected(line)
        run = inspected.run
        if run is None:
            reasons = " ".join(piece.reason for piece in inspected.pieces if piece.is_lost)
            raise RunError(f"{line.name} can't be used for this: it has no whole results. {reasons}")
        return run

    def report(self, line: RunEntry, nonce: str) -> str:
        """The report of a run as a page; its style and scripts carry the nonce."""
        run = self.whole(line)

        def made() -> str:
            links = (*_BACK, Link("Groups and rows", f"/run/{line.key}"))
            with self._costly:
                return page_html(report_page([reported(run)], links), nonce=self._placeholder)

        return self._reports.get(self._stamped(line), made).replace(self._placeholder, nonce)

    def comparison(self, lines: Sequence[RunEntry]) -> tuple[Comparison, ...]:
        """The first of some runs compared with each of the others."""
        for line in lines:
            self._check_rows(line)
        runs = [self.whole(line) for line in lines]

        def made() -> tuple[Comparison, ...]:
            with self._costly:
                return api.compare(*runs, draws=self.settings.draws)

        return self._compared.get(tuple(map(self._stamped, lines)), made)

    def difference(self, first: RunEntry, second: RunEntry) -> Difference:
        """Why two runs differ."""
        runs = (self.whole(first), self.whole(second))

        def made() -> Difference:
            with self._costly:
                return diff(*runs)

        return self._differences.get((self._stamped(first), self._stamped(second)), made)

    def page_of(self, verb: str, lines: Sequence[RunEntry], nonce: str) -> str:
        """A comparison or a difference as one page with its figures; its style and scripts carry the nonce."""
        if verb == "diff":
            page = difference_page(self.difference(*lines), _BACK)
        else:
            page = comparison_page(self.comparison(lines), [self.whole(line).results for line in lines], _BACK)
        return page_html(page, nonce=nonce)

    def _check_rows(self, line: RunEntry) -> None:
        """Raises RunError when not all rows of a run can be read: half of them would compare something else."""
        problems = self.rows(line).problems
        if problems:
            raise RunError(f"{line.name} has lost rows, so it can't be compared. {' '.join(problems)}")

    def _stamped(self, line: RunEntry) -> tuple[str, str]:
        return line.key, repr(stamp_of(line.folder))
