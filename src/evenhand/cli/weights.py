"""What `weights` prints."""

from __future__ import annotations

from pathlib import Path

from evenhand.cli.console import escape, out, print_json
from evenhand.cli.draw import draw_table
from evenhand.core.errors import OptionError
from evenhand.core.page import Table


def show(folder: Path | None, as_json: bool) -> None:
    """List every file: what it is for, whether it is here, its licence and where its authors publish it."""
    from evenhand.instruments.weights import list_weights

    found = list_weights(folder)
    if as_json:
        from evenhand.store.plain import to_plain

        print_json({"weights": to_plain(found)})
        return
    rows = tuple(
        (status.weight.name, status.presence.value, ", ".join(status.weight.needed_by), status.weight.licence)
        for status in found
    )
    console = out()
    draw_table(console, Table("Weights", ("name", "here?", "needed by", "licence"), rows))
    console.print(
        "evenhand weights --json has addresses, sizes and hashes; evenhand weights get NAME --to DIR fetches one"
    )


def get(action: str, name: str | None, folder: Path | None, as_json: bool) -> None:
    """Fetch one file, because somebody asked."""
    from evenhand.instruments.weights import get_weight

    if action != "get" or name is None or folder is None:
        raise OptionError("To fetch a file, write: evenhand weights get NAME --to DIR")
    status = get_weight(name, folder)
    if as_json:
        from evenhand.store.plain import to_plain

        print_json(to_plain(status))
        return
    out().print(
        f"{escape(name)}: {status.presence.value}, {escape(str(status.path))} {escape(status.note)}", soft_wrap=True
    )
