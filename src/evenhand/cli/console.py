"""What is printed where: results on standard output, messages and progress on standard error."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.segment import Segment

from evenhand.core.printing import json_escaped, printable

LINES = "\n"  # what of a text of several lines is kept
ProgressHook = Callable[[int, int | None, str], None]


class _PlainConsole(Console):
    """A console on which no text of others moves the cursor, changes colours or turns the writing direction."""

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        shown = (part if part.control else part._replace(text=printable(part.text)) for part in buffer)
        return super()._render_buffer(shown)


def out() -> Console:
    """Standard output, for people."""
    return _PlainConsole(highlight=False, soft_wrap=False)


def say(text: str, style: str | None = None) -> None:
    """A line for people on standard output, as it is and never broken."""
    out().print(escape(text), style=style, soft_wrap=True)


def err() -> Console:
    """Standard error: warnings, progress, what went wrong."""
    return _PlainConsole(stderr=True, highlight=False)


def print_json(document: Any) -> None:
    """One JSON document on standard output, and nothing else there; typed values in it as they stand in files."""
    from evenhand.store.plain import to_plain

    is_unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    text = json.dumps(document, indent=2, ensure_ascii=not is_unicode, allow_nan=False, default=to_plain)
    sys.stdout.write(json_escaped(text) + "\n")


def warn(message: str) -> None:
    err().print(f"[yellow]warning:[/] {escape(message)}", soft_wrap=True)


def escape(text: str, keep: str = "") -> str:
    """Text that rich prints as it is, without control characters but those to keep."""
    from rich.markup import escape as escape_markup

    return escape_markup(printable(text.replace("\N{NO-BREAK SPACE}", " "), keep))


_LINE_SECONDS = 30.0
READING = "reading data and predictions"


def counted(done: int, total: int | None, what: str, seconds: float) -> str:
    """What has been done, how fast, and how long the rest will take; only what it is where nothing is counted.

    >>> counted(0, None, "measuring", 3.0), counted(50, 200, "answers", 10.0), counted(7, None, "parts recorded", 0.0)
    ('measuring', '50 of 200 answers, 5.0/s, 30 s left', '7 parts recorded')
    """
    if not done and not total:
        return what
    text = f"{done:,} of {total:,} {what}" if total else f"{done:,} {what}"
    if not done or seconds <= 0:
        return text
    rate = done / seconds
    text += f", {rate:,.0f}/s" if rate >= 10 else f", {rate:.1f}/s"
    return f"{text}, {(total - done) / rate:,.0f} s left" if total and total > done else text


@contextmanager
def progress(name: str, quiet: bool = False) -> Iterator[ProgressHook]:
    """A hook that draws, from the first second, what is being done, for how long, and how long it will take.

    Where there is no terminal, it writes a line every half a minute.
    """
    console = err()
    begun = last = time.monotonic()
    phase, phase_begun = READING, begun

    def described(done: int, total: int | None, what: str) -> str:
        nonlocal phase, phase_begun
        now = time.monotonic()
        if what != phase:
            phase, phase_begun = what, now
        return f"{name}: {counted(done, total, what, now - phase_begun)}"

    if quiet:
        yield lambda done, total, what: None
        return
    if not console.is_terminal:

        def line(done: int, total: int | None, what: str) -> None:
            nonlocal last
            text, now = described(done, total, what), time.monotonic()
            if now - last >= _LINE_SECONDS:
                last = now
                console.print(f"{text} after {now - begun:,.0f} s", markup=False, highlight=False, soft_wrap=True)

        yield line
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description}", markup=False)
    bar = Progress(SpinnerColumn(), text, BarColumn(bar_width=20), TimeElapsedColumn(), console=console, transient=True)
    row = bar.add_task(described(0, None, READING), total=None)

    def draw(done: int, total: int | None, what: str) -> None:
        bar.update(row, description=described(done, total, what), completed=done, total=total)

    with bar:
        yield draw
