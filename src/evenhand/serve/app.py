"""The routes of the local page."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from evenhand.core.errors import EvenhandError, OptionError
from evenhand.core.page import Section, Text
from evenhand.core.records import EVERYONE
from evenhand.reporting.comparison import comparison_sections, difference_sections
from evenhand.serve.filters import MOST, RunFilter
from evenhand.serve.folders import OutsideError
from evenhand.serve.guard import AccessPolicy, Guard, report_policy
from evenhand.serve.library import Library, NotFoundError
from evenhand.serve.listing import RunEntry, RunState
from evenhand.serve.pages import address, environment
from evenhand.serve.pictures import FILMS, PICTURES, NoPictureError, thumbnail
from evenhand.serve.selection import (
    RowPage,
    choices,
    chosen,
    contrasts_of,
    facts_of,
    group_of,
    row_page,
    scalar_columns,
    value_text,
)
from evenhand.serve.selection import spreads as spreads_of
from evenhand.serve.settings import ServeSettings

_STATIC: Mapping[str, str] = {
    "style.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_NO_PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M3 4h2" stroke="#888"/></svg>'
_WIDTHS = (160, 640)  # of small pictures
_MOST_COMPARED = 8
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
        Route("/run/{key}/row/{number:int}", handlers.row),
        Route("/run/{key}/row/{number:int}/picture/{place:int}", handlers.picture),
        Route("/compare", handlers.compare),
        Route("/compare/found", handlers.compared),
        Route("/compare/page", handlers.compared_page),
        Route("/diff", handlers.diff),
        Route("/diff/found", handlers.differing),
        Route("/diff/page", handlers.differing_page),
        Route("/static/{name}", handlers.static),
        Route("/favicon.ico", handlers.icon),  # browsers ask for it where a page names none
    ]
    problems: Any = {
        HTTPException: handlers.refused,
        NotFoundError: handlers.not_here,
        OutsideError: handlers.outside,
        EvenhandError: handlers.in_words,
    }
    return Guard(Starlette(routes=routes, exception_handlers=problems), access)


class _Routes:
    """Answers requests; every answer is made in a thread of its own, from a library that all share."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.templates = environment()
        folder = files("evenhand.serve").joinpath("static")
        self.assets = {name: folder.joinpath(name).read_bytes() for name in _STATIC}

    # The list

    def runs(self, request: Request) -> Response:
        """All runs, filtered and sorted."""
        listing = self.library.listing()
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
        listing = self.library.listing()
        under_way = self.library.watch.look(listing)
        response = self._page("live.html.j2", listing=listing, under_way=under_way)
        if request.query_params.get("seen", listing.version) != listing.version:
            response.headers["HX-Trigger"] = "runs-changed"
        return response

    def following(self, request: Request) -> Response:
        """One unfinished run; when it is finished, the way to it."""
        key = request.path_params["key"]
        listing = self.library.listing()
        found = next((one for one in self.library.watch.look(listing) if one.key == key), None)
        became = None if found is not None else self.library.watch.became(key, listing)
        if found is None and became is None:
            raise NotFoundError("That run is not being made any more. If it was finished or removed, the list knows.")
        return self._page("following.html.j2", found=found, became=became, key=key)

    # One run

    def run(self, request: Request) -> Response:
        """A run: its values by group, what it was made of, what of it is whole."""
        line = self._line(request)
        found = self.library.examined(line)
        query = request.query_params
        choice = spreads = None
        every: Any = ()
        if found.results is not None:
            every = choices(found.results)
            number = _whole_number(query.get("value", "0"))
            choice = every[number] if number < len(every) else None
            spreads = spreads_of(found.results, choice) if choice is not None else ()
        whole = None
        if found.results is not None and choice is not None:
            whole = found.results.get(choice.metric, choice.output)
        return self._page(
            "run.html.j2", line=line, found=found, choice=choice, every=every, spreads=spreads or (), whole=whole
        )

    def report(self, request: Request) -> Response:
        """The report, as `evenhand report` writes it."""
        nonce = secrets.token_urlsafe(16)
        return _nonced(self.library.report(self._line(request), nonce), nonce)

    def group(self, request: Request) -> Response:
        """A group: its values, how it compares with others, and its rows, worst first."""
        line = self._line(request)
        found = self.library.examined(line)
        query = request.query_params
        group = group_of(query.getlist("g"))
        if found.results is None:
            raise NotFoundError("The results of this run can't be read, so its groups are not known.")
        choice = chosen(found.results, query.get("metric", ""), query.get("output", ""))
        estimates = [one for one in found.results.estimates if one.group == group and one.number is not None]
        if not estimates and group != EVERYONE:
            estimates = [one for one in found.results.estimates if one.group == group]
            if not estimates:
                raise NotFoundError(f"The run has no group {group}.")
        shown: RowPage | None = None
        columns: tuple[str, ...] = ()
        cells: list[list[str]] = []
        problems: tuple[str, ...] = ()
        reason = ""
        try:
            rows = self.library.rows(line)
            problems = rows.problems
            metric = self.library.metric(line, choice.metric) if choice is not None else None
            shown = row_page(rows.records, group, metric, _whole_number(query.get("page", "1")))
            columns = scalar_columns(shown.rows)
            cells = [[value_text(shown.rows[name][at]) for name in columns] for at in range(len(shown.numbers))]
        except EvenhandError as error:
            reason = str(error)
        return self._page(
            "group.html.j2", line=line, found=found, group=group, choice=choice, estimates=estimates, shown=shown,
            columns=columns, cells=cells, problems=problems, reason=reason, has_data=bool(self.library.settings.data),
            contrasts=contrasts_of(found.results, choice, group) if choice is not None else (),
        )  # fmt: skip

    def row(self, request: Request) -> Response:
        """One row: everything that is known of it, with the picture of its sample."""
        line, number = self._line(request), request.path_params["number"]
        rows = self.library.rows(line)
        columns, attributes = facts_of(rows.records, number)
        pictures: tuple[Path, ...] = ()
        reason = ""
        try:
            pictures = self.library.pictures(line, number)
        except NoPictureError as error:
            reason = str(error)
        films = [path.suffix.casefold() in FILMS for path in pictures]
        return self._page(
            "row.html.j2", line=line, number=number, columns=columns, attributes=attributes, pictures=pictures,
            films=films, reason=reason, last=len(rows.records) - 1, group=request.query_params.getlist("g"),
            metric=request.query_params.get("metric", ""), output=request.query_params.get("output", ""),
        )  # fmt: skip

    def picture(self, request: Request) -> Response:
        """A picture of a row's sample, whole or small."""
        line, number, place = self._line(request), request.path_params["number"], request.path_params["place"]
        try:
            found = self.library.pictures(line, number)
            if place >= len(found):
                raise NoPictureError("The sample has fewer pictures.")
            path = found[place]
            width = _whole_number(request.query_params.get("width", "0"))
            if width and path.suffix.casefold() in PICTURES:
                small = thumbnail(path, min(_WIDTHS, key=lambda one: abs(one - width)))
                if small is not None:
                    return Response(small, media_type="image/jpeg", headers=_CACHED)
        except NoPictureError as error:
            if "empty" in request.query_params:  # in a list, a row without a picture is no mistake
                return Response(_NO_PICTURE, media_type="image/svg+xml")
            return Response(str(error), status_code=404, media_type="text/plain")
        kind = {**PICTURES, **FILMS}[path.suffix.casefold()]
        return FileResponse(path, media_type=kind, headers=_CACHED)

    # Several runs

    def compare(self, request: Request) -> Response:
        """Runs of one task, compared on the same units."""
        lines = self._ticked(request, at_least=2)
        keys = [line.key for line in lines]
        if request.query_params.multi_items() != [("run", key) for key in keys]:
            return RedirectResponse(address("/compare", run=keys), status_code=303)
        return self._page("compare.html.j2", lines=lines, keys=keys, verb="compare")

    def compared(self, request: Request) -> Response:
        """The comparison itself, which may take a moment."""
        lines = self._ticked(request, at_least=2)
        return self._sections(
            lambda: tuple(
                part
                for one in self.library.comparison(lines)
                for part in comparison_sections(one, self.library.whole(lines[0]).results)
            )
        )

    def compared_page(self, request: Request) -> Response:
        """The comparison as one page with its figures."""
        nonce = secrets.token_urlsafe(16)
        return _nonced(self.library.comparison_page(self._ticked(request, at_least=2), nonce), nonce)

    def diff(self, request: Request) -> Response:
        """Why two runs differ."""
        lines = self._ticked(request, at_least=2)[:2]
        keys = [line.key for line in lines]
        if request.query_params.multi_items() != [("run", key) for key in keys]:
            return RedirectResponse(address("/diff", run=keys), status_code=303)
        return self._page("compare.html.j2", lines=lines, keys=keys, verb="diff")

    def differing(self, request: Request) -> Response:
        """The difference itself."""
        first, second = self._ticked(request, at_least=2)[:2]
        return self._sections(lambda: difference_sections(self.library.difference(first, second), _MOST_ROWS))

    def differing_page(self, request: Request) -> Response:
        """The difference as one page with its figures."""
        nonce = secrets.token_urlsafe(16)
        first, second = self._ticked(request, at_least=2)[:2]
        return _nonced(self.library.difference_page(first, second, nonce), nonce)

    # Files and problems

    def static(self, request: Request) -> Response:
        """The page's own script and style, by name."""
        name = request.path_params["name"]
        if name not in self.assets:
            raise HTTPException(404)
        return Response(self.assets[name], headers={"Content-Type": _STATIC[name], **_CACHED})

    def icon(self, request: Request) -> Response:
        """The sign of the page."""
        return Response(self.assets["icon.svg"], headers={"Content-Type": _STATIC["icon.svg"], **_CACHED})

    def refused(self, request: Request, error: Exception) -> Response:
        """What the routes refuse."""
        code = error.status_code if isinstance(error, HTTPException) else 500
        said = "There is nothing at this address." if code == 404 else str(error)
        return self._page("problem.html.j2", title="Not found" if code == 404 else "Refused", said=said, code=code)

    def not_here(self, request: Request, error: Exception) -> Response:
        """A key that belongs to nothing."""
        return self._page("problem.html.j2", title="Not here", said=str(error), code=404)

    def outside(self, request: Request, error: Exception) -> Response:
        """A file that lies outside the folders that may be read."""
        return self._page("problem.html.j2", title="Not read", said=str(error), code=403)

    def in_words(self, request: Request, error: Exception) -> Response:
        """Whatever else evenhand says."""
        return self._page("problem.html.j2", title="This can't be shown", said=str(error), code=422)

    def _line(self, request: Request) -> RunEntry:
        return self.library.line(request.path_params["key"])

    def _ticked(self, request: Request, at_least: int) -> list[RunEntry]:
        lines = [self.library.line(key) for key in dict.fromkeys(request.query_params.getlist("run"))]
        if len(lines) < at_least:
            raise OptionError(f"{len(lines)} run ticked: tick two or more runs of the same task in the list.")
        if len(lines) > _MOST_COMPARED:
            raise OptionError(f"{len(lines)} runs ticked: at most {_MOST_COMPARED} are compared on one page.")
        return lines

    def _sections(self, make: Callable[[], tuple[Section, ...]]) -> Response:
        try:
            sections = make()
        except EvenhandError as error:
            sections = (Section("This can't be compared", [Text(str(error), "caution")]),)
        return self._page("sections.html.j2", sections=sections)

    def _page(self, template: str, *, code: int = 200, **values: Any) -> HTMLResponse:
        text = self.templates.get_template(template).render(**values)
        return HTMLResponse(text.encode("utf-8", "replace"), status_code=code)


def _nonced(text: str, nonce: str) -> Response:
    headers = {"Content-Security-Policy": report_policy(nonce)}
    return HTMLResponse(text.encode("utf-8", "replace"), headers=headers)


def _whole_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 1
