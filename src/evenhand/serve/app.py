"""The routes of the local page."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from evenhand.core.errors import EvenhandError, OptionError
from evenhand.core.page import Section, Text
from evenhand.core.records import EVERYONE
from evenhand.core.results import Results
from evenhand.reporting.comparison import comparison_sections, difference_sections
from evenhand.reporting.display import RowLabels, names_of_family, names_of_results, row_facts, value_text
from evenhand.serve.folders import OutsideError
from evenhand.serve.guard import AccessPolicy, Guard, report_policy
from evenhand.serve.library import Library, NotFoundError, ServeSettings
from evenhand.serve.listing import MOST, RunEntry, RunFilter, RunState
from evenhand.serve.pages import address, environment, overlay
from evenhand.serve.pictures import FILMS, PICTURES, NoPictureError, size_of, thumbnail
from evenhand.serve.selection import (
    PAGE,
    RowQuery,
    ValueChoice,
    choices,
    chosen,
    contrasts_of,
    scalar_columns,
)
from evenhand.serve.selection import spreads as spreads_of

_STATIC: Mapping[str, str] = {
    "style.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_NO_PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M3 4h2" stroke="#888"/></svg>'
_WIDTHS = (160, 640)  # of small pictures
_VERBS = ("compare", "diff")
_MOST_COMPARED = 8
_MOST_PICTURES = 12  # of one sample
_MOST_ROWS = 50  # changed rows of a difference
_CACHED = {"Cache-Control": "private, max-age=300"}


def make_app(settings: ServeSettings, access: AccessPolicy) -> ASGIApp:
    """The page over some folders, behind an access policy."""
    handlers = _Routes(Library(settings))
    routes = [
        Route("/", handlers.runs),
        Route("/live", handlers.live),
        Route("/live/{key}", handlers.following),
        Route("/run/{key}", handlers.run),
        Route("/run/{key}/report", handlers.report),
        Route("/run/{key}/group", handlers.group),
        Route("/run/{key}/gallery", handlers.gallery),
        Route("/run/{key}/row/{number}", handlers.row),
        Route("/run/{key}/row/{number}/picture/{place}", handlers.picture),
        *(Route(f"/{verb}", partial(handlers.several, verb)) for verb in _VERBS),
        *(Route(f"/{verb}/found", partial(handlers.found, verb)) for verb in _VERBS),
        *(Route(f"/{verb}/page", partial(handlers.found_page, verb)) for verb in _VERBS),
        Route("/static/{name}", handlers.static),
        Route("/favicon.ico", handlers.static),  # browsers ask for it where a page names none
    ]
    problems: Any = {
        HTTPException: handlers.refused,
        NotFoundError: partial(handlers.problem, "Not here", 404),
        OutsideError: partial(handlers.problem, "Not read", 403),
        EvenhandError: partial(handlers.problem, "This can't be shown", 422),
    }
    return Guard(Starlette(routes=routes, exception_handlers=problems), access)


@dataclass(frozen=True)
class SampleCard:
    """One sample of a gallery: truth and answer in words, and what is drawn on its picture."""

    truth: str
    answer: str
    is_wrong: bool
    overlays: tuple[str, ...] = ()  # of each picture
    pictures: int = 1  # how many a gallery shows
    is_part: bool = False  # the picture is cut to what the row is about


@dataclass(frozen=True)
class Selection:
    """A page of selected rows as the templates show it."""

    numbers: tuple[int, ...]  # of the rows in the run
    of: int  # how many rows were selected
    page: int
    pages: int
    is_ordered: bool  # False: the metric does not score single rows, so they are as recorded
    columns: tuple[str, ...]
    cells: list[list[str]]
    cards: list[SampleCard]
    labels: RowLabels
    problems: tuple[str, ...]


class _Routes:
    """Answers requests; every answer is made in a thread of its own, from a library that all share."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.templates = environment()
        folder = files("evenhand.serve").joinpath("static")
        self.assets = {name: folder.joinpath(name).read_bytes() for name in _STATIC}

    # The list

    def runs(self, request: Request) -> Response:
        listing = self.library.index.now()
        run_filter = RunFilter.of(request.query_params)
        lines = run_filter.pick(listing)
        return self._page(
            "runs.html.j2",
            listing=listing,
            run_filter=run_filter,
            lines=lines[:MOST],
            matching=len(lines),
            hidden=run_filter.hidden(lines[:MOST], listing),
            tasks=sorted({line.task for line in listing.lines if line.task}),
            states=list(RunState),
            under_way=self.library.watch.look(listing),
            root=self.library.settings.runs,
        )

    def live(self, request: Request) -> Response:
        """The unfinished runs; tells the list when it should be read again."""
        listing = self.library.index.now()
        under_way = self.library.watch.look(listing)
        response = self._page("live.html.j2", listing=listing, under_way=under_way)
        if request.query_params.get("seen", listing.version) != listing.version:
            response.headers["HX-Trigger"] = "runs-changed"
        return response

    def following(self, request: Request) -> Response:
        """One unfinished run; when it is finished, the way to it."""
        key = request.path_params["key"]
        listing = self.library.index.now()
        progress = next((one for one in self.library.watch.look(listing) if one.key == key), None)
        became = None if progress is not None else self.library.watch.became(key, listing)
        if progress is None and became is None:
            raise NotFoundError("That run is not being made any more. If it was finished or removed, the list knows.")
        return self._page("following.html.j2", found=progress, became=became, key=key)

    # One run

    def run(self, request: Request) -> Response:
        """A run: its values by group, what it was made of, what of it is whole."""
        line = self._line(request)
        inspected = self.library.inspected(line)
        results = inspected.results
        names = names_of_family(line.task) if results is None else names_of_results(results)
        every = choices(results) if results is not None else ()
        number = _whole_number(request.query_params.get("value", "0"))
        values: dict[str, Any] = {"names": names, "every": every, "choice": None, "labels": None}
        if results is not None and number < len(every):
            choice = every[number]
            unit = "%" if names.is_share(choice.metric, choice.output) else ""
            whole = results.get(choice.metric, choice.output)
            values |= {"choice": choice, "spreads": spreads_of(results, choice), "whole": whole, "unit": unit}
        with suppress(EvenhandError):  # without rows there are no samples to lead to
            values["labels"] = self.library.labels(line)
        return self._page("run.html.j2", line=line, found=inspected, **values)

    def report(self, request: Request) -> Response:
        return _nonced(partial(self.library.report, self._line(request)))

    def group(self, request: Request) -> Response:
        """A group: its values, how it compares with others, and its rows, worst first."""
        line, rows = self._line(request), RowQuery.of(request.query_params)
        results, choice = self._values(line, request, "groups")
        group = rows.group
        of_group = [estimate for estimate in results.estimates if estimate.group == group]
        if not of_group and group != EVERYONE:
            raise NotFoundError(f"The run has no group {group}.")
        numbers = [estimate for estimate in of_group if estimate.number is not None]
        selection, reason = None, ""
        try:
            selection = self._selection(line, rows, choice, request)
        except EvenhandError as error:
            reason = str(error)
        return self._page(
            "group.html.j2", line=line, results=results, group=group, choice=choice,
            estimates=numbers if group == EVERYONE else numbers or of_group, selection=selection, reason=reason,
            has_data=bool(self.library.settings.data), query=rows,
            names=names_of_results(results),
            contrasts=contrasts_of(results, choice, group) if choice is not None else (),
        )  # fmt: skip

    def gallery(self, request: Request) -> Response:
        """The samples behind a number or a cell of the confusion matrix: pictures, truth and answer, worst first."""
        line, rows = self._line(request), RowQuery.of(request.query_params)
        results, choice = self._values(line, request, "samples")
        return self._page(
            "gallery.html.j2", line=line, choice=choice, query=rows, names=names_of_results(results),
            selection=self._selection(line, rows, choice, request), has_data=bool(self.library.settings.data),
        )  # fmt: skip

    def _values(self, line: RunEntry, request: Request, what: str) -> tuple[Results, ValueChoice | None]:
        """The results of a run, and the value that a request is about."""
        results, query = self.library.inspected(line).results, request.query_params
        if results is None:
            raise NotFoundError(f"The results of this run can't be read, so its {what} are not known.")
        return results, chosen(results, query.get("metric", ""), query.get("output", ""))

    def _selection(self, line: RunEntry, query: RowQuery, choice: ValueChoice | None, request: Request) -> Selection:
        rows, labels = self.library.rows(line), self.library.labels(line)
        numbers, is_ordered = self.library.selected(line, query, choice)
        pages = max(-(-len(numbers) // PAGE), 1)
        page = min(max(_whole_number(request.query_params.get("page", "1")), 1), pages)
        some = tuple(map(int, numbers[(page - 1) * PAGE : page * PAGE]))
        shown = rows.records.take(np.array(some, dtype=np.int64))
        columns = scalar_columns(shown)
        cells = [[value_text(shown[name][at]) for name in columns] for at in range(len(some))]
        cards = [self._card(line, number, labels, pictures=2) for number in some]
        return Selection(some, len(numbers), page, pages, is_ordered, columns, cells, cards, labels, rows.problems)

    def _card(self, line: RunEntry, number: int, labels: RowLabels, *, pictures: int) -> SampleCard:
        """A sample in words, with the overlays of its first pictures."""
        records = self.library.rows(line).records
        view = self.library.view(line, number)
        truth = labels.truth.word(records, number) or view.truth
        answer = labels.answer.word(records, number) or view.answer
        is_wrong = truth != answer if labels.truth.name else view.is_wrong
        overlays: tuple[str, ...] = ()
        focus = view.focus if pictures < _MOST_PICTURES else None
        if view.marks:
            with suppress(NoPictureError):
                paths = self.library.pictures(line, number)[:pictures]
                overlays = tuple(overlay(view.marks, at, size_of(path), focus) for at, path in enumerate(paths))
        shown = min(pictures, len(view.pictures)) or 1
        return SampleCard(truth, answer, is_wrong, overlays, shown, focus is not None and bool(overlays))

    def row(self, request: Request) -> Response:
        """One row: everything that is known of it, with the picture of its sample, and its neighbours."""
        line, number = self._line(request), _row_number(request)
        rows = self.library.rows(line)
        labels, names = self.library.labels(line), names_of_family(line.task)
        columns, attributes = row_facts(rows.records, number, labels, names)
        pictures: tuple[Path, ...] = ()
        reason = ""
        try:
            pictures = self.library.pictures(line, number)
        except NoPictureError as error:
            reason = str(error)
        params = request.query_params
        query, results = RowQuery.of(params), self.library.whole(line).results
        choice = chosen(results, params.get("metric", ""), params.get("output", ""))
        numbers, _ = self.library.selected(line, query, choice)
        places = np.flatnonzero(numbers == number)
        at = int(places[0]) if len(places) else -1
        before = int(numbers[at - 1]) if at > 0 else None
        after = int(numbers[at + 1]) if 0 <= at < len(numbers) - 1 else None
        films = [path.suffix.casefold() in FILMS for path in pictures]
        return self._page(
            "row.html.j2", line=line, number=number, columns=columns, attributes=attributes, pictures=pictures,
            films=films, reason=reason, query=query, before=before, after=after, at=at, of=len(numbers),
            metric=params.get("metric", ""), output=params.get("output", ""), names=names,
            card=self._card(line, number, labels, pictures=_MOST_PICTURES), classes=bool(labels.truth.name),
        )  # fmt: skip

    def picture(self, request: Request) -> Response:
        """A picture of a row's sample, whole or small."""
        line, number, place = self._line(request), _row_number(request), _row_number(request, "place")
        try:
            paths = self.library.pictures(line, number)
            if place >= len(paths):
                raise NoPictureError("The sample has fewer pictures.")
            path = paths[place]
            width = _whole_number(request.query_params.get("width", "0"))
            if width and path.suffix.casefold() in PICTURES:
                focus = self.library.view(line, number).focus if "part" in request.query_params else None
                small = thumbnail(path, min(_WIDTHS, key=lambda one: abs(one - width)), focus)
                if small is not None:
                    return Response(small, media_type="image/jpeg", headers=_CACHED)
        except NoPictureError as error:
            if "empty" in request.query_params:  # in a list, a row without a picture is no mistake
                return Response(_NO_PICTURE, media_type="image/svg+xml")
            return Response(str(error), status_code=404, media_type="text/plain")
        kind = {**PICTURES, **FILMS}[path.suffix.casefold()]
        return FileResponse(path, media_type=kind, headers=_CACHED)

    # Several runs

    def several(self, verb: str, request: Request) -> Response:
        """Runs of one task that are compared on the same units, or two of which the difference is explained."""
        lines = self._ticked(verb, request)
        keys = [line.key for line in lines]
        if request.query_params.multi_items() != [("baseline", keys[0]), *(("run", key) for key in keys)]:
            return RedirectResponse(address(f"/{verb}", baseline=keys[0], run=keys), status_code=303)
        return self._page("compare.html.j2", lines=lines, keys=keys, verb=verb)

    def found(self, verb: str, request: Request) -> Response:
        """What comparing them found, which may take a moment."""
        lines = self._ticked(verb, request)
        sections: tuple[Section, ...]
        try:
            if verb == "diff":
                sections = difference_sections(self.library.difference(*lines), _MOST_ROWS)
            else:
                results = self.library.whole(lines[0]).results
                each = (comparison_sections(one, results, figures=True) for one in self.library.comparison(*lines))
                sections = tuple(chain.from_iterable(each))
        except EvenhandError as error:
            sections = (Section("This can't be compared", [Text(str(error), "caution")]),)
        return self._page("sections.html.j2", sections=sections)

    def found_page(self, verb: str, request: Request) -> Response:
        """The same as one page with its figures."""
        return _nonced(partial(self.library.page_of, verb, self._ticked(verb, request)))

    # Files and problems

    def static(self, request: Request) -> Response:
        name = request.path_params.get("name", "icon.svg")
        if name not in self.assets:
            raise HTTPException(404)
        return Response(self.assets[name], headers={"Content-Type": _STATIC[name], **_CACHED})

    def refused(self, request: Request, error: Exception) -> Response:
        """What the routes refuse."""
        code = error.status_code if isinstance(error, HTTPException) else 500
        title, message = "Refused", str(error)
        if code == 404:
            title, message = "Not found", "There is nothing at this address."
        return self._page("problem.html.j2", title=title, message=message, code=code)

    def problem(self, title: str, code: int, request: Request, error: Exception) -> Response:
        """An error of ours in its own words."""
        return self._page("problem.html.j2", title=title, message=str(error), code=code)

    def _line(self, request: Request) -> RunEntry:
        return self.library.line(request.path_params["key"])

    def _ticked(self, verb: str, request: Request) -> list[RunEntry]:
        """The ticked runs, the baseline first; a difference is one of two."""
        lines = [self.library.line(key) for key in dict.fromkeys(request.query_params.getlist("run"))]
        baseline = request.query_params.get("baseline", "")
        lines.sort(key=lambda line: (line.key != baseline, line.finished))  # else the older run is the baseline
        if len(lines) < 2:
            raise OptionError(f"{len(lines)} run ticked: tick two or more runs of the same task in the list.")
        if len(lines) > _MOST_COMPARED:
            raise OptionError(f"{len(lines)} runs ticked: at most {_MOST_COMPARED} are compared on one page.")
        return lines[:2] if verb == "diff" else lines

    def _page(self, template: str, *, code: int = 200, **values: Any) -> HTMLResponse:
        text = self.templates.get_template(template).render(**values)
        return HTMLResponse(text.encode("utf-8", "replace"), status_code=code)


def _nonced(page: Callable[[str], str]) -> Response:
    """A page whose style and scripts carry a nonce."""
    nonce = secrets.token_urlsafe(16)
    headers = {"Content-Security-Policy": report_policy(nonce)}
    return HTMLResponse(page(nonce).encode("utf-8", "replace"), headers=headers)


def _whole_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 1


def _row_number(request: Request, name: str = "number") -> int:
    """A number in a path; one that no row could have is not found."""
    text = request.path_params[name]
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise HTTPException(404)
    return int(text)
