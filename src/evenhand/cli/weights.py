"""What `weights` prints."""

from __future__ import annotations

from pathlib import Path

from evenhand.cli.console import escape, out, print_json
from evenhand.core.errors import OptionError


def show(folder: Path | None, as_json: bool) -> None:
    """List every file: what it is for, whether it is here, its licence and where its authors publish it."""
    from evenhand.instruments.weights import list_weights

    found = list_weights(folder)
    if as_json:
        from evenhand.store.plain import to_plain

        print_json({"weights": to_plain(found)})
        return
    console = out()
    for status in found:
        weight = status.weight
        console.print(f"[bold]{escape(weight.name)}[/]  {status.presence.value}", soft_wrap=True)
        facts = {
            "for": f"{weight.measures} ({', '.join(weight.needed_by)})",
            "from": weight.published,
            "licence": weight.licence,
            "size": f"about {weight.size / 1e6:,.1f} MB",
            "sha-256": weight.sha256 or "not told by its authors; pinned at first use",
            "here": f"{status.path or 'no'} {status.note}".strip(),
        }
        for name, fact in facts.items():
            console.print(f"  [dim]{name:>8}[/]  {escape(fact)}", soft_wrap=True)
    here = sum(status.path is not None for status in found)
    console.print(f"\n{here} of {len(found)} files are here. evenhand weights get NAME --to DIR fetches one.")


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
