"""What is printed where: results on standard output, messages and progress on standard error."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

ProgressHook = Callable[[int, int | None, str], None]


def out() -> Console:
    """Standard output, for people."""
    return Console(highlight=False, soft_wrap=False)


def err() -> Console:
    """Standard error: warnings, progress, what went wrong."""
    return Console(stderr=True, highlight=False)


def print_json(document: Any) -> None:
    """One JSON document on standard output, and nothing else there."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def warn(message: str) -> None:
    """A warning on standard error."""
    err().print(f"[yellow]warning:[/] {escape(message)}", soft_wrap=True)


def escape(text: str) -> str:
    """Text that rich prints as it is, without control characters."""
    from rich.markup import escape as escape_markup

    text = text.replace("\N{NO-BREAK SPACE}", " ")
    return escape_markup("".join(char if char.isprintable() or char in "\n\t" else "�" for char in text))


_LINE_SECONDS = 30.0


def _progress_lines() -> ProgressHook:
    """A hook for logs: a line of text every half a minute."""
    start = last = time.monotonic()

    def hook(done: int, total: int | None, what: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _LINE_SECONDS:
            last = now
            of = f" of {total:,}" if total else ""
            err().print(f"{done:,}{of} {what} after {now - start:,.0f} s", markup=False, highlight=False)

    return hook


@contextmanager
def progress(quiet: bool = False) -> Iterator[ProgressHook]:
    """A hook that draws, from the first second, what is being done, for how long, and how long it will take.

    Where there is no terminal, it writes a line every half a minute.
    """
    console = err()
    if quiet:
        yield lambda done, total, what: None
        return
    if not console.is_terminal:
        yield _progress_lines()
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    bar = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True)
    rows: dict[str, tuple[TaskID, float]] = {}
    reading = bar.add_task("reading data and predictions", total=None, rate="")
    bar.start()

    def hook(done: int, total: int | None, what: str) -> None:
        now = time.monotonic()
        if not rows:
            bar.update(reading, visible=False)
        if what not in rows:
            rows[what] = (bar.add_task(what, total=total, rate=""), now)
        task, began = rows[what]
        rate = f"{done / (now - began):,.0f}/s" if now > began and done else ""
        bar.update(task, completed=done, total=total, rate=rate)

    try:
        yield hook
    finally:
        bar.stop()
