"""A page as one HTML file that needs nothing else.

Figures are SVG in the markup: they are there without JavaScript, in mail, under any content security policy and in
print. The page's one script makes them and long tables interactive. `page_html` is a pure function from a page to a
text. Without a nonce the page carries a content security policy of its own, with the hashes of its style and
script; with a nonce it carries none, and the server that made the nonce sends the policy. Neither needs
`unsafe-inline` or `unsafe-eval`: there are no handlers and no style attributes in the markup.

The script gets tables as packed columns: a column of numbers is its doubles in base 64, a column of texts the places of
its texts in a pool that all tables share. A table of a hundred thousand rows then costs less than half of what
its digits would, and the page needs no row of markup for what nobody scrolls to.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.page import Cell, Figure, Interval, Lines, Section, Table, Text
from evenhand.core.results import Verdict
from evenhand.files.writing import write_file
from evenhand.reporting import canvas, drawing
from evenhand.reporting.rounding import best_cells, cell, is_number

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_ROWS = 200  # rows of a table written as markup; longer ones are drawn in the page


@dataclass(frozen=True)
class Link:
    """Where a page leads besides its own sections."""

    text: str
    address: str


@dataclass(frozen=True)
class Article:
    title: str
    sections: Sequence[Section]
    kicker: str = ""  # the small line above the title
    note: str = ""  # beside the title in the contents of a page of several parts


@dataclass(frozen=True)
class Page:
    title: str
    articles: Sequence[Article]
    kicker: str = ""
    facts: Sequence[str] = ()  # one line below the title: data, date, size
    links: Sequence[Link] = ()


@dataclass
class _Data:
    """What the page's script needs: the tables behind figures and long tables, as packed columns.

    Texts and packed columns are kept once, known by their place; systems that saw the same groups share their columns.
    """

    texts: dict[str, int] = field(default_factory=dict)
    blobs: dict[str, int] = field(default_factory=dict)
    tables: list[dict[str, Any]] = field(default_factory=list)
    figures: list[dict[str, Any]] = field(default_factory=list)

    def table(self, table: Table) -> int:
        """The number of a table that the script can draw."""
        columns = list(zip(*table.rows, strict=True)) if table.rows else [() for _ in table.columns]
        packed = {"title": table.title, "names": table.columns, "rows": len(table.rows), "muted": sorted(table.muted)}
        self.tables.append({**packed, "columns": list(map(self._column, columns))})
        return len(self.tables) - 1

    def figure(self, figure: Figure) -> int:
        """The number of a figure that the script can draw."""
        name = figure.name or figure.title
        about: dict[str, Any] = {"table": self.table(figure.data), "name": name, "title": figure.title}
        if isinstance(figure.chart, Lines):
            chart, domain = figure.chart, drawing.domains(figure.chart, figure.data)
            about["lines"] = {"log_x": chart.log_x, "log_y": chart.log_y, "steps": chart.steps, "domain": domain}
            about["lines"]["columns"] = [chart.line, chart.x, chart.y]
        self.figures.append(about)
        return len(self.figures) - 1

    def _column(self, values: Sequence[Any]) -> dict[str, Any]:
        """A column as its kind and the place of its bytes.

        Kinds: `t` texts (places of texts), `w` whole numbers, `n` numbers, `i` intervals, with reasons where
        there is no value. Places and whole numbers are unsigned, four bytes each; numbers are doubles.
        """
        kinds = set(map(type, values))
        if kinds == {int} and min(values) >= 0 and max(values) < 2**32:
            return {"kind": "w", "v": self._packed(values, "<u4")}
        kinds.discard(type(None))
        if kinds and kinds <= {int, float}:
            return {"kind": "n", "v": self._packed(values)}
        units = {value.unit for value in values if isinstance(value, Interval)}
        if kinds and kinds <= {Interval, int, float} and len(units) == 1:
            parts = [value if isinstance(value, Interval) else Interval(value) for value in values]
            column: dict[str, Any] = {"kind": "i", "v": self._packed([p.value for p in parts])}
            if units != {""}:
                column["u"] = units.pop()
            for name, limits in (("l", [p.low for p in parts]), ("h", [p.high for p in parts])):
                if any(limit is not None for limit in limits):
                    column[name] = self._packed(limits)
            if any(p.reason for p in parts):
                column["r"] = self._packed_texts([p.reason for p in parts])
            return column
        return {"kind": "t", "v": self._packed_texts(list(map(cell, values)))}

    def _packed_texts(self, texts: Sequence[str]) -> int:
        return self._packed([self.texts.setdefault(text, len(self.texts)) for text in texts], "<u4")

    def _packed(self, values: Sequence[Any], kind: str = "<f8") -> int:
        array = np.array([math.nan if value is None else value for value in values], dtype=kind)
        return self.blobs.setdefault(base64.b64encode(array.tobytes()).decode("ascii"), len(self.blobs))


def write_page(page: Page, path: Path) -> Path:
    write_file(path, page_html(page).encode("utf-8"))
    return path


def page_html(page: Page, *, nonce: str | None = None) -> str:
    """The page as a text; everything in it is escaped."""
    templates, data = environment("evenhand.reporting"), _Data()
    own = {"style": asset("page.css"), "script": asset("page.js")}
    body = templates.get_template("page.html.j2").render(page=page, data=data)
    policy = None if nonce else _policy(**own)
    shell = templates.get_template("shell.html.j2")
    return shell.render(title=page.title, body=body, data=_json(data), nonce=nonce, policy=policy, **own)


def environment(package: str) -> Environment:
    """The templates of a package, in which everything is escaped, with what they need to draw blocks."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader(package), autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    templates.tests.update(
        a_text=lambda block: isinstance(block, Text),
        a_figure=lambda block: isinstance(block, Figure),
        curves=lambda figure: isinstance(figure.chart, Lines),
        a_number=is_number,
        a_verdict=lambda value: value in {verdict.value for verdict in Verdict},
        long=lambda table: len(table.rows) > MOST_ROWS,
    )
    templates.filters.update(
        cell=cell, best=best_cells, exact=exact, drawings=drawings, alone=partial(drawing.svg, alone=True)
    )
    return templates


def drawings(figure: Figure) -> str:
    """A figure for wide and for narrow windows; the narrow one is hidden where no style says otherwise."""
    wide = drawing.svg(figure, drawing.WIDE).replace('class="plot"', 'class="plot for-wide"', 1)
    narrow = drawing.svg(figure, drawing.NARROW).replace('class="plot"', 'class="plot for-narrow" display="none"', 1)
    return wide + narrow


def _policy(style: str, script: str) -> str:
    """The content security policy of a page that stands alone."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii") for text in (script, style)]
    return (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def exact(value: Cell) -> str:
    """The unrounded number, for whoever points at it."""
    if isinstance(value, Interval):
        if value.value is None:
            return value.reason
        limits = "" if value.low is None or value.high is None else f" [{value.low!r}, {value.high!r}]"
        return f"{value.value!r}{limits}"
    return repr(value) if isinstance(value, float) else ""


def _json(data: _Data) -> str:
    """The data as JSON that no markup can end."""
    plain = {
        "texts": list(data.texts),
        "blobs": list(data.blobs),
        "tables": data.tables,
        "figures": data.figures,
        "lines": {"light": canvas.LINE_COLOURS, "dark": canvas.DARK_LINE_COLOURS, "dashes": canvas.DASHES},
    }
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def asset(name: str) -> str:
    """The text of a file that comes with the package: a style, a script, the head of a document."""
    return (resources.files("evenhand.reporting") / "assets" / name).read_text(encoding="utf-8")
