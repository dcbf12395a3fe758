"""An option of the command line for every field of `Settings`, made from its name, type and help."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from evenhand import api
from evenhand.core.options import facts
from evenhand.stats.settings import Settings

_FILE = Annotated[
    Path | None, typer.Option("--settings", help="a TOML file of settings; options given here go before it")
]
_TYPES: dict[Any, type] = {int: int, float: float, bool: bool, float | None: float}


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for every setting; its parameter `settings` gets them as one object."""
    hints = get_type_hints(Settings)
    own = inspect.signature(command)
    types = get_type_hints(command, include_extras=True)
    listed = [fact for fact in facts(Settings) if fact.name in Settings.names()]

    @functools.wraps(command)
    def wrapped(settings_file: Path | None = None, **given: Any) -> None:
        mine = {fact.name: given.pop(fact.name) for fact in listed}
        changes = {name: value for name, value in mine.items() if value is not None}
        command(settings=api.settings_of(settings_file, **changes), **given)

    parameters = [
        parameter.replace(annotation=types[name], kind=parameter.KEYWORD_ONLY)
        for name, parameter in own.parameters.items()
        if name != "settings"
    ]
    added = [_parameter("settings_file", _FILE)]
    for fact in listed:
        kind = _TYPES.get(hints[fact.name], str)
        flag = f"--{fact.name.replace('_', '-')}"
        shown = getattr(fact.default, "value", fact.default)
        default = "" if kind is bool or (not shown and shown != 0) else f"; by default {shown}"
        help_text = fact.help + default if kind is not str else f"{fact.help} ({fact.values}{default})"
        added.append(_parameter(fact.name, Annotated[kind | None, typer.Option(flag, help=help_text)]))
    last = [parameter.name for parameter in parameters].index("as_json")
    signature = inspect.Signature([*parameters[:last], *added, *parameters[last:]])
    wrapped.__signature__ = signature  # type: ignore[attr-defined]  # what inspect looks for first
    wrapped.__annotations__ = {entry.name: entry.annotation for entry in [*parameters, *added]}
    del wrapped.__wrapped__  # else its signature would be read
    return wrapped


def _parameter(name: str, kind: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
