"""`doctor`, `cache` and `weights`: this machine, and what lies on it."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from evenhand import __version__, registry
from evenhand.cli.catalogue import Json
from evenhand.cli.console import escape, out, print_json
from evenhand.cli.draw import draw_table
from evenhand.cli.evaluating import Runs
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


def mount(app: typer.Typer) -> None:
    """Add the verbs of this module."""
    app.command("doctor")(doctor)
    app.command("cache")(cache)
    app.command("weights")(weights)


def doctor(as_json: Json = False) -> None:
    """Say what works on this machine, and what is missing."""
    extras = [
        {
            "extra": extra,
            "for": purpose,
            "here": importlib.util.find_spec(module) is not None,
            "install": f"pip install 'evenhand[{extra}]'",
        }
        for extra, (module, purpose) in EXTRAS.items()
    ]
    plugins = registry.plugins()
    facts = {
        "evenhand": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "executable": sys.executable,
        "chromium": shutil.which("chromium") or "",
    }
    broken = [plugin for plugin in plugins if plugin.problem]
    from evenhand.cli.weights import out_of_the_box

    networks = out_of_the_box()
    limits = [
        {"family": family.name, "metrics": metrics, "why": why}
        for family in registry.benchmarks()
        for metrics, why in (family.limits() if family.limits is not None else ())
    ]
    if as_json:
        from evenhand.store.plain import to_plain

        print_json(
            {
                "machine": facts,
                "extras": extras,
                "networks": networks,
                "limits": limits,
                "plugins": to_plain(plugins),
                "ok": not broken,
            }
        )
        return
    console = out()
    draw_table(console, Table("Machine", ("", ""), tuple((name, value or "–") for name, value in facts.items())))
    rows = tuple(
        (
            str(extra["extra"]),
            "yes" if extra["here"] else "no",
            str(extra["for"]),
            "" if extra["here"] else str(extra["install"]),
        )
        for extra in extras
    )
    draw_table(console, Table("Extras", ("extra", "here", "for", "install with"), rows))
    console.print(escape(networks["summary"]), soft_wrap=True)
    if limits:
        console.print("\nMetrics that can't be computed here", style="bold")
    for limit in limits:
        console.print(escape(f"- {limit['family']}: {limit['metrics']}: {limit['why']}"), soft_wrap=True)
    listed = tuple(
        (plugin.kind.rpartition(".")[2], plugin.name, plugin.package, plugin.problem or "ok") for plugin in plugins
    )
    draw_table(console, Table("Plug-ins", ("entry point", "name", "package", "state"), listed))
    for plugin in broken:
        console.print(
            f"[red]broken plug-in[/] {escape(plugin.name)} ({escape(plugin.package)}): {escape(plugin.problem)}",
            soft_wrap=True,
        )
    console.print(
        "everything that is registered loads"
        if not broken
        else f"{len(broken)} plug-in(s) do not load; the others work"
    )


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
        from evenhand.store.plain import to_plain

        print_json({"entries": to_plain(entries), "freed": emptied.bytes if emptied else 0})
        return
    console = out()
    rows = tuple((entry.name, entry.kind, entry.files, entry.bytes, entry.in_use) for entry in entries)
    if rows:
        draw_table(console, Table("Caches", ("cache", "kind", "files", "bytes", "in use"), rows))
    else:
        console.print(f"no caches below {escape(str(runs))}", soft_wrap=True)
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
    from evenhand.cli.weights import get, show

    if action is None:
        show(folder, as_json)
    else:
        get(action, names or [], folder, as_json)
