"""`serve`: the runs of a folder as a local page."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.catalogue import Json
from evenhand.cli.console import err, escape, out, print_json
from evenhand.core.errors import MissingExtraError, OptionError


def mount(app: typer.Typer) -> None:
    """Add the verbs of this module."""
    app.command("serve")(serve)


def serve(
    runs: Annotated[Path, typer.Argument(help="the folder of runs")] = Path("runs"),
    data: Annotated[list[Path] | None, typer.Option("--data", help="a data folder with pictures; repeat")] = None,
    host: Annotated[str, typer.Option(help="address to listen on; other than loopback needs a token")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="port; 0 takes a free one", min=0, max=65535)] = 8765,
    names: Annotated[
        list[str] | None, typer.Option("--name", help="another name under which this machine is reached; repeat")
    ] = None,
    token: Annotated[bool, typer.Option("--token", help="ask for a token on loopback too")] = False,
    as_json: Json = False,
) -> None:
    """Look at runs in the browser, down to the sample.

    Lists, filters, compares and follows runs. It only reads, and only in the folders that are named.
    """
    for package in ("starlette", "uvicorn"):
        if find_spec(package) is None:
            raise MissingExtraError(f"serve needs {package}", "serve")
    for folder in (runs, *(data or [])):
        if not folder.is_dir():
            raise OptionError(f"{folder} is not a folder. Name the folder of runs, and data folders with --data.")
    from evenhand.serve.server import listen
    from evenhand.serve.server import serve as answer
    from evenhand.serve.settings import ServeSettings

    listening = listen(host, port, names=tuple(names or ()), token=token)
    if as_json:
        print_json({"open": listening.address, "runs": str(runs), "data": [str(folder) for folder in data or []]})
        sys.stdout.flush()
    else:
        out().print(f"open:  {escape(listening.address)}", soft_wrap=True)
    if listening.access.token:
        err().print("Whoever has this address can see the runs and the pictures of the data folders.", style="yellow")
    err().print("stop:  Ctrl-C", style="dim")
    answer(ServeSettings(runs.resolve(), tuple(folder.resolve() for folder in data or [])), listening)
