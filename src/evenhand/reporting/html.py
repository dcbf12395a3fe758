"""A page as one HTML file that needs nothing else and runs nothing but its own two scripts.

`page_html` is a pure function from a page to a text. Without a nonce the page carries a content security
policy of its own, with the hashes of its style and scripts; with a nonce it carries none, and the server that
made the nonce sends the policy. Neither needs `unsafe-inline` or `unsafe-eval`: there are no handlers and
no style attributes in the markup, and figures are drawn with Vega's expression interpreter.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from evenhand.core.page import FROM_TABLE, Cell, Figure, Interval, Section, Table, Text
from evenhand.core.results import Verdict
from evenhand.reporting import vega
from evenhand.reporting.packing import Pool, packed
from evenhand.reporting.rounding import cell

MOST_ROWS = 200  # rows of a table written as markup; longer ones are drawn in the page


@dataclass(frozen=True)
class Link:
    """Where a page leads besides its own sections."""

    text: str
    address: str


@dataclass(frozen=True)
class Article:
    """One part of a page: a run, a comparison."""

    title: str
    sections: Sequence[Section]
    kicker: str = ""  # the small line above the title


@dataclass(frozen=True)
class Page:
    """What a page says."""

    title: str
    articles: Sequence[Article]
    kicker: str = ""
    links: Sequence[Link] = ()


@dataclass
class _Data:
    """What the page's script needs: figures, and tables as packed columns."""

    pool: Pool = field(default_factory=Pool)
    tables: list[dict[str, Any]] = field(default_factory=list)
    figures: list[dict[str, Any]] = field(default_factory=list)

    def table(self, table: Table) -> int:
        """The number of a table that the script can draw."""
        self.tables.append(packed(table, self.pool))
        return len(self.tables) - 1

    def figure(self, figure: Figure) -> int:
        """The number of a figure that the script can draw."""
        number = self.table(figure.data)
        own = {"spec": figure.spec, "table": number, "kind": figure.kind, "name": figure.name or figure.title}
        self.figures.append(own | {"from_table": figure.spec.get("data") == FROM_TABLE, "title": figure.title})
        return len(self.figures) - 1


def write_page(page: Page, path: Path) -> Path:
    """Write a page and give its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page_html(page), encoding="utf-8")
    return path


def page_html(page: Page, *, nonce: str | None = None) -> str:
    """The page as a text; everything in it is escaped."""
    from jinja2 import Environment, PackageLoader

    environment = Environment(
        loader=PackageLoader("evenhand.reporting"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    tests: dict[str, Any] = {
        "a_text": partial(_is, Text),
        "a_figure": partial(_is, Figure),
        "a_number": lambda value: isinstance(value, int | float | Interval | None) and not isinstance(value, bool),
        "a_verdict": lambda value: value in {verdict.value for verdict in Verdict},
        "long": lambda table: len(table.rows) > MOST_ROWS,
    }
    environment.tests.update(tests)
    environment.filters.update(cell=cell, exact=exact)
    data = _Data()
    style, script, drawing = _asset("page.css"), _asset("page.js"), _asset("vega-embed.js", "vendor")
    body = environment.get_template("page.html.j2").render(page=page, data=data)
    if not data.figures:
        drawing = ""
    return environment.get_template("shell.html.j2").render(
        title=page.title,
        body=body,
        style=style,
        scripts=[text for text in (drawing, script) if text],
        data=_json(data),
        nonce=nonce,
        policy=None if nonce else policy(style, [text for text in (drawing, script) if text]),
    )


def policy(style: str, scripts: Sequence[str]) -> str:
    """The content security policy of a page that stands alone."""
    allowed = " ".join(f"'sha256-{_hash(text)}'" for text in scripts)
    parts = (
        "default-src 'none'",
        f"script-src {allowed}",
        f"style-src 'sha256-{_hash(style)}'",
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(parts)


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
        "texts": list(data.pool.places),
        "blobs": list(data.pool.blobs),
        "tables": data.tables,
        "figures": data.figures,
        "light": vega.theme(),
        "dark": vega.theme(dark=True),
    }
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _asset(name: str, folder: str = "assets") -> str:
    return (resources.files("evenhand.reporting") / folder / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _is(kind: type, value: object) -> bool:
    return isinstance(value, kind)
