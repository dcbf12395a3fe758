"""Finds families, engines, model providers, instruments and commands by entry point.

Ours are found the way everybody's are. Nothing is imported until it is asked for, and a
plug-in that does not import is named by `doctor` and harms nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol

from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.task import Benchmark, Question, Task

BENCHMARKS = "evenhand.benchmarks"
ENGINES = "evenhand.engines"
INSTRUMENTS = "evenhand.instruments"
MODELS = "evenhand.models"
COMMANDS = "evenhand.commands"
KINDS = (BENCHMARKS, ENGINES, INSTRUMENTS, MODELS, COMMANDS)


class Command(Protocol):
    """A command of its own below `evenhand`, with the interface of a published tool."""

    name: str
    summary: str

    def main(self, argv: Sequence[str]) -> int: ...


class PluginError(EvenhandError):
    """A plug-in that is there but can't be used."""


@dataclass(frozen=True)
class Plugin:
    """One entry, as `doctor` shows it."""

    kind: str
    name: str
    target: str
    package: str
    problem: str  # empty when it loads


def names(kind: str) -> tuple[str, ...]:
    """What is registered under a kind of entry point, sorted."""
    return tuple(sorted(_entries(kind)))


def load(kind: str, name: str) -> Any:
    """The object registered under a kind of entry point; raises with the nearest names, or with what is broken."""
    entries = _entries(kind)
    if name not in entries:
        raise UnknownNameError(kind.rpartition(".")[2].rstrip("s"), name, sorted(entries))
    return _load(entries[name])


def benchmark(name: str) -> Benchmark:
    """The family of that name."""
    family = load(BENCHMARKS, name)
    if not isinstance(family, Benchmark):
        raise PluginError(f"The entry point {name!r} is a {type(family).__name__}; a Benchmark was expected.")
    return family


def benchmarks() -> Iterator[Benchmark]:
    """Every family that loads."""
    for name in names(BENCHMARKS):
        try:
            yield benchmark(name)
        except PluginError:
            continue


def question(name: str) -> Question[Any, Any]:
    """The task or question of that name or alias: `family/task`, or `family` for a family's own question."""
    family = name.partition("/")[0]
    if family in _entries(BENCHMARKS):
        return benchmark(family).find(name)
    every = [entry.name for found in benchmarks() for entry in found.tasks]
    raise UnknownNameError("task", name, every, "`evenhand tasks` lists them.")


def task(name: str) -> Task[Any, Any]:
    """The task of that name or alias."""
    asked = question(name)
    if not isinstance(asked, Task):
        known = [entry.name for entry in benchmark(name.partition("/")[0]).tasks]
        raise UnknownNameError("task", name, known, "It can be asked with `predict`, but has nothing to evaluate.")
    return asked


def plugins() -> tuple[Plugin, ...]:
    """Everything registered, with what is wrong with it."""
    listed = []
    for kind in KINDS:
        for name, entry in sorted(_entries(kind).items()):
            try:
                _load(entry)
                problem = ""
            except PluginError as error:
                problem = str(error)
            package = entry.dist.name if entry.dist is not None else ""
            listed.append(Plugin(kind, name, entry.value, package, problem))
    return tuple(listed)


_KNOWN: dict[tuple[Any, ...], Mapping[str, EntryPoint]] = {}


def _entries(kind: str) -> Mapping[str, EntryPoint]:
    key = (kind, entry_points, *sys.path)  # else a report of many runs would look through all packages for each
    if key not in _KNOWN:
        _KNOWN[key] = {entry.name: entry for entry in entry_points(group=kind)}
    return _KNOWN[key]


def _load(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except Exception as error:  # whatever a plug-in raises must not harm the others
        raise PluginError(f"The plug-in {entry.name!r} ({entry.value}) does not load: {error}") from error
