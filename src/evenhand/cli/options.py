"""The options that verbs share, and what people type turned into what the verbs take."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from evenhand import registry
from evenhand.core.errors import OptionError
from evenhand.core.options import facts
from evenhand.core.records import Group


def task_names(incomplete: str) -> list[str]:
    """The tasks that begin with what was typed, for the completion of shells."""
    listed = (entry.name for family in registry.benchmarks() for entry in (*family.tasks, *family.questions))
    return [name for name in listed if name.startswith(incomplete)]


TaskName = Annotated[str, typer.Argument(help="family/task", autocompletion=task_names)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Set = Annotated[list[str] | None, typer.Option("--set", help="An option of the task, key=value; repeat for more.")]
Data = Annotated[Path, typer.Option("--data", help="the data folder")]
DataOrTable = Annotated[
    Path | None, typer.Option("--data", help="the data folder; of a table, the file with the truth")
]
Runs = Annotated[Path, typer.Option("--runs", help="where runs are kept")]
EngineName = Annotated[str, typer.Option("--engine", help="serial, threads:N, processes:N, ray, ray://…")]
_FILE = Annotated[
    Path | None, typer.Option("--settings", help="a TOML file of settings; options given here go before it")
]
_TYPES: dict[Any, type] = {int: int, float: float, bool: bool, float | None: float}


def system(text: str) -> tuple[str, Path]:
    """A system's name and file: `NAME=FILE`; without a name it is empty, and the file tells it.

    >>> system("mine=a/b.txt"), system("a/b.txt")
    (('mine', PosixPath('a/b.txt')), ('', PosixPath('a/b.txt')))
    """
    match = re.fullmatch(r"([A-Za-z0-9_.+@ -]+)=(.+)", text)
    if match is not None and not Path(text).exists():
        return match[1], Path(match[2])
    return "", Path(text)


def with_options(systems: Sequence[str], options: Sequence[str]) -> tuple[list[str], list[str]]:
    """Systems, and what stands among them but is an option: `--set truth=y prediction=p` sets both.

    >>> with_options(["v1=a.csv", "prediction=p"], ["truth", "prediction"])
    (['v1=a.csv'], ['prediction=p'])
    """
    files: list[str] = []
    further: list[str] = []
    for text in systems:
        name, equals, value = text.partition("=")
        is_option = bool(equals) and name in options and not Path(text).exists() and not Path(value).is_file()
        (further if is_option else files).append(text)
    return files, further


def assignments(given: Iterable[str]) -> dict[str, str]:
    """Options from `key=value` texts.

    >>> assignments(["taxonomy=fine"])
    {'taxonomy': 'fine'}
    """
    options: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise OptionError(f"--set {text!r} is not an option: write key=value, such as taxonomy=fine.")
        if name in options:
            raise OptionError(f"--set gives {name!r} twice: {options[name]!r} and {value!r}.")
        options[name] = value
    return options


def names(text: str | None) -> tuple[str, ...] | None:
    """Names separated by commas; None when nothing was said, none for an empty text.

    >>> names("age, pronoun"), names(None), names("")
    (('age', 'pronoun'), None, ())
    """
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def group(terms: Sequence[str]) -> Group:
    """A group from `attribute=level` texts.

    >>> str(group(["age=70+"]))
    'age=70+'
    """
    pairs = []
    for text in terms:
        name, equals, level = text.partition("=")
        if not equals:
            raise OptionError(f"{text!r} is not a group: write attribute=level, such as age=70+.")
        pairs.append((name.strip(), level.strip()))
    return Group(tuple(pairs))


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for every setting; its parameter `settings` gets them as one object."""
    from evenhand.stats.settings import Settings

    hints = get_type_hints(Settings)
    own = inspect.signature(command)
    types = get_type_hints(command, localns={"Settings": Settings}, include_extras=True)
    listed = [fact for fact in facts(Settings) if fact.name in Settings.names()]

    @functools.wraps(command)
    def wrapped(settings_file: Path | None = None, **given: Any) -> None:
        from evenhand import api

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
