"""What the documentation names is there: modules, functions and their parameters, verbs and options, files."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from evenhand import registry
from evenhand.cli.main import application

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "evenhand"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(SOURCE.rglob("DEVIATIONS.md")),
]
FOLDERS = "|".join(["src", "docs", "tests", "bench", "examples", *(path.name for path in SOURCE.iterdir())])


@pytest.fixture(params=PAGES, ids=[path.relative_to(ROOT).as_posix() for path in PAGES])
def page(request: pytest.FixtureRequest) -> str:
    path: Path = request.param
    return path.read_text(encoding="utf-8")


def test_python_on_a_page_uses_names_and_parameters_that_exist(page: str) -> None:
    for code in re.findall(r"^```python[^\n]*\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        module = ast.parse(code)
        known = dict(_imported(module))
        for node in ast.walk(module):
            if isinstance(node, ast.Attribute):
                _value(node, known)
            elif isinstance(node, ast.Call) and (function := _value(node.func, known)) is not None:
                _assert_fits(node, function)


def test_commands_on_a_page_have_the_options_that_they_are_given(page: str) -> None:
    for verb, rest in re.findall(r"\bevenhand ([a-z_]+)((?: (?:[^\n`|]|\\\n)*)?)", page):
        if verb in _options():
            given = re.findall(r"(?<![\w-])(--?[a-z][\w-]*)", rest.partition("#")[0])
            assert [option for option in given if option not in _options()[verb]] == [], f"evenhand {verb}{rest}"


def test_verbs_on_a_page_exist(page: str) -> None:
    verbs = {*_options(), *registry.names(registry.COMMANDS)}
    assert set(re.findall(r"(?:`|^\$ )evenhand ([a-z_]+)\b(?!\.)", page, re.MULTILINE)) <= verbs


def test_dotted_names_on_a_page_exist(page: str) -> None:
    for name in re.findall(r"`(evenhand(?:\.\w+)+)[`(]", page):
        if name not in registry.KINDS:  # groups of entry points look the same
            _resolved(name)


def test_files_on_a_page_exist(page: str) -> None:
    for name in re.findall(rf"`((?:{FOLDERS})/[\w./*]+)`", page):
        assert any(True for folder in (ROOT, SOURCE) for _ in folder.glob(name)), name


@cache
def _options() -> dict[str, set[str]]:
    group: Any = typer.main.get_command(application())
    return {
        verb: {"-h", "--help", *(option for entry in command.params for option in (*entry.opts, *entry.secondary_opts))}
        for verb, command in group.commands.items()
    }


def _imported(module: ast.Module) -> Iterator[tuple[str, Any]]:
    """What a block imports from the package, by the name it has there."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "evenhand":
                    imported = importlib.import_module(alias.name)
                    yield alias.asname or "evenhand", imported if alias.asname else importlib.import_module("evenhand")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "evenhand":
            for alias in node.names:
                yield alias.asname or alias.name, _resolved(f"{node.module}.{alias.name}")


def _resolved(name: str) -> Any:
    """The module or the member of a module that a dotted name names."""
    parent, _, member = name.rpartition(".")
    try:
        return importlib.import_module(name)
    except ImportError:
        return getattr(_resolved(parent), member)


def _value(node: ast.expr, known: dict[str, Any]) -> Any:
    """What a name or a member of an imported module or class is; None for anything else."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, known)
        return getattr(owner, node.attr) if inspect.ismodule(owner) or inspect.isclass(owner) else None
    return None


def _assert_fits(call: ast.Call, function: Any) -> None:
    parameters = inspect.signature(function).parameters.values()
    text = ast.unparse(call)
    if not any(entry.kind is entry.VAR_KEYWORD for entry in parameters):
        assert {word.arg for word in call.keywords if word.arg} <= {entry.name for entry in parameters}, text
    if not any(entry.kind is entry.VAR_POSITIONAL for entry in parameters):
        by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        assert len(call.args) <= sum(entry.kind in by_place for entry in parameters), text
