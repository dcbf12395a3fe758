"""The reference of the Python API and of the command line, as Markdown made from the objects and the parsers.

A class is shown with its signature, its docstring, its fields or members with the comments beside them in the source,
and its methods; a verb with every argument and option; a command of a family with the help of each of its parts.
"""

from __future__ import annotations

import ast
import inspect
import io
import os
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from typing import Any
from unittest.mock import patch

import typer

from evenhand import __version__, registry
from evenhand.cli.main import VERBS, application

# The modules whose names users import, and which names of each; all that `__all__` lists by default.
MODULES: dict[str, tuple[str, ...]] = {
    "evenhand": (),
    "evenhand.fairface": ("read",),
    "evenhand.fhibe": ("encode_mask", "write_outputs"),
    "evenhand.compat.fhibe": (),
    "evenhand.compat.his_evaluators": (),
    "evenhand.compat.fairlearn": ("MetricFrame",),
}
WIDTH = 110  # characters of a line of code on a page


def python_reference() -> str:
    """Every public name of the package, with signature, docstring, fields and methods."""
    lines = ["# Python API", "", f"evenhand {__version__}. Every public name, from its docstring and its source.", ""]
    for module_name, listed in MODULES.items():
        module = import_module(module_name)
        if module_name != "evenhand":
            lines += [f"## {module_name}", "", *docstring(module), ""]
        for name in sorted(listed or module.__all__, key=str.lower):
            lines += _described_name(name, getattr(module, name), "##" if module_name == "evenhand" else "###")
    return "\n".join(lines)


def _described_name(name: str, value: Any, level: str) -> Iterator[str]:
    yield f"{level} {name}"
    yield ""
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        yield f"`{name} = {value!r}`"
        yield ""
        return
    if value.__name__ != name:
        yield f"Another name of `{value.__name__}`."
        yield ""
        return
    if inspect.isroutine(value) or not (issubclass(value, Enum) or getattr(value, "_is_protocol", False)):
        yield from _signature(name, value)
    yield from docstring(value)
    yield ""
    if inspect.isclass(value):
        yield from _described_fields(value)
        yield from _described_methods(name, value)


def _described_fields(value: type) -> Iterator[str]:
    """The fields of a class, or the members of an enumeration, with what the source says about them."""
    comments = field_comments(value)
    helps = {entry.name: entry.metadata.get("help", "") for entry in fields(value)} if is_dataclass(value) else {}
    if issubclass(value, Enum):
        rows = [(f"`{entry.name}`", f"`{entry.value!r}`", comments.get(entry.name, "")) for entry in value]
        title = "member"
    else:
        hints = {name: hint for base in reversed(value.__mro__) for name, hint in inspect.get_annotations(base).items()}
        named = [entry.name for entry in fields(value)] if is_dataclass(value) else getattr(value, "_fields", ())
        shown = [name for name in named if not name.startswith("_")]
        texts = {name: _type_text(hints.get(name, "")) for name in shown}
        rows = [(f"`{name}`", f"`{texts[name]}`", helps.get(name) or comments.get(name, "")) for name in shown]
        title = "field"
    if issubclass(value, Enum) or any(text for *_, text in rows):
        yield f"| {title} | {'value' if title == 'member' else 'type'} | meaning |"
        yield "| --- | --- | --- |"
        yield from (f"| {name} | {as_cell(kind)} | {as_cell(text)} |" for name, kind, text in rows)
        yield ""


def field_comments(value: type) -> dict[str, str]:
    """By field, also of base classes: the comment at its end in the source, or the lines of comment above it.

    >>> from evenhand.core.metric import Kind
    >>> field_comments(Kind)["MEAN"]
    'every row gives a number'
    """
    comments: dict[str, str] = {}
    for base in reversed(value.__mro__):
        if not base.__module__.startswith("evenhand"):
            continue
        source = textwrap.dedent(inspect.getsource(base))
        lines = source.splitlines()
        definition = ast.parse(source).body[0]
        assert isinstance(definition, ast.ClassDef)
        for node in definition.body:
            target = node.target if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [None])[0]
            if not isinstance(target, ast.Name) or node.end_lineno is None:
                continue
            beside = re.match(r"\s*#(?!\s*(?:type:|noqa))\s*(.*)", lines[node.end_lineno - 1][node.end_col_offset :])
            above = []
            for line in reversed(lines[: node.lineno - 1]):
                if not line.strip().startswith("# "):
                    break
                above.insert(0, line.strip().removeprefix("# "))
            comments[target.id] = beside[1] if beside else " ".join(above)
    return comments


def _described_methods(name: str, value: type) -> Iterator[str]:
    bases = [base.__name__ for base in value.__mro__[1:] if base.__name__ in import_module("evenhand").__all__]
    if bases:
        yield f"Derives from {', '.join(f'`{base}`' for base in bases)}."
        yield ""
    own = {entry.name for entry in fields(value)} if is_dataclass(value) else set()
    for member, inner in sorted(vars(value).items()):
        method = inner.__func__ if isinstance(inner, classmethod | staticmethod) else inner
        wrapped = getattr(method, "fget", None) or getattr(method, "func", None) or method
        if member.startswith("_") or member in own or not inspect.isfunction(wrapped):
            continue
        if not wrapped.__doc__ and any(hasattr(base, member) for base in value.__mro__[1:]):
            continue  # what the base says about it holds
        yield f"**{name}.{member}**" + ("" if wrapped is method else " (property)")
        yield ""
        if wrapped is method:
            yield from _signature(member, getattr(value, member))
        yield from docstring(wrapped)
        yield ""


def _signature(name: str, value: Any) -> Iterator[str]:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return
    parameters = [_parameter_text(entry) for entry in signature.parameters.values() if entry.name != "self"]
    kinds = [entry.kind for entry in signature.parameters.values() if entry.name != "self"]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        parameters.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    gives = (
        "" if signature.return_annotation in (inspect.Signature.empty, None, "None") else signature.return_annotation
    )
    arrow = f" -> {_type_text(gives)}" if gives else ""
    text = f"{name}({', '.join(parameters)}){arrow}"
    if len(text) > WIDTH:
        text = "\n".join([f"{name}(", *(f"    {entry}," for entry in parameters), f"){arrow}"])
    yield from ("```python", text, "```", "")


def _parameter_text(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    kind = "" if parameter.annotation is parameter.empty else f": {_type_text(parameter.annotation)}"
    if parameter.default is parameter.empty:
        return f"{stars}{parameter.name}{kind}"
    return f"{stars}{parameter.name}{kind}{' = ' if kind else '='}{_default_text(parameter.default)}"


def _type_text(hint: Any) -> str:
    """A type as the source writes it.

    >>> _type_text("str | None"), _type_text(int), _type_text(tuple[str, ...])
    ('str | None', 'int', 'tuple[str, ...]')
    """
    if isinstance(hint, str):
        return hint
    if hasattr(hint, "__forward_arg__"):
        return str(hint.__forward_arg__)
    text = hint.__name__ if isinstance(hint, type) and not hasattr(hint, "__args__") else str(hint)
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)


def _default_text(value: Any) -> str:
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_default_text, value)) + ("," if len(value) == 1 else "") + ")"
    text = repr(value)
    if inspect.isclass(value) or inspect.isroutine(value):
        return str(value.__name__)
    return "…" if text == "<factory>" or " object at 0x" in text else text


def docstring(value: Any) -> list[str]:
    """The docstring as Markdown; its examples are code."""
    parts: list[str] = []
    is_code = is_fenced = False
    for line in inspect.cleandoc(value.__doc__ or "").splitlines():
        if line.startswith("```"):
            is_fenced = not is_fenced
            parts.append(line)
            continue
        starts = line.startswith(">>>") and not is_fenced
        if starts and not is_code:
            parts.append("```python")
        if is_code and not line.strip():
            parts.append("```")
        is_code = starts or (is_code and bool(line.strip()))
        parts.append(line if is_code or is_fenced else as_text(line))
    return [*parts, "```"] if is_code else parts


def command_reference() -> str:
    """Every verb with its arguments and options, and the help of every command of a family."""
    group: Any = typer.main.get_command(application())
    lines = ["# Command line", "", f"evenhand {__version__}. Every verb and option, from the parser.", ""]
    lines += [*_parameter_table(group.params), "`-h` or `--help` after any verb prints what is below.", ""]
    for name, command in group.commands.items():
        lines += [f"## evenhand {name}", ""]
        lines += [part for text in inspect.cleandoc(command.help or "").split("\n\n") for part in (as_text(text), "")]
        if name in VERBS:
            lines += ["```sh", VERBS[name].example, "```", ""]
        lines += _parameter_table(command.params)
    lines += ["## Commands of families", "", "Published tools under their own names.", ""]
    for name in registry.names(registry.COMMANDS):
        command = registry.load(registry.COMMANDS, name)
        lines += [f"## evenhand {name}", "", as_text(command.summary), ""]
        overview = printed(command, ["--help"])
        lines += ["```text", overview, "```", ""]
        for part in re.findall(r"^ {2,4}([a-z]\w*)(?: {2,}|$)", overview, re.MULTILINE):
            lines += [f"### evenhand {name} {part}", "", "```text", printed(command, [part, "--help"]), "```", ""]
    return "\n".join(lines)


def _parameter_table(parameters: Sequence[Any]) -> Iterator[str]:
    yield "| argument or option | default | meaning |"
    yield "| --- | --- | --- |"
    for parameter in parameters:
        names = ", ".join(f"`{option}`" for option in (*parameter.opts, *parameter.secondary_opts))
        if parameter.param_type_name == "argument":
            names = f"`{(parameter.metavar or parameter.name).upper()}`"
        is_plain = parameter.default in (None, False) or callable(parameter.default)
        default = "required" if parameter.required else "" if is_plain else str(parameter.default)
        yield f"| {names} | {as_cell(default)} | {as_cell(getattr(parameter, 'help', '') or '')} |"
    yield ""


def printed(command: Any, arguments: list[str]) -> str:
    """What a command of a family prints."""
    with patch.dict(os.environ, {"COLUMNS": str(WIDTH)}), redirect_stdout(io.StringIO()) as out, suppress(SystemExit):
        command.main(arguments)
    return out.getvalue().rstrip()


def as_text(text: str) -> str:
    """Text of an object in Markdown: what is in backticks stays code, the rest is text."""
    parts = text.strip().split("`")
    if len(parts) % 2 == 0:
        parts = [text.strip()]
    plain = [
        re.sub(r"([\\*_\[\]<>|#])", r"\\\1", part) if at % 2 == 0 else f"`{part}`" for at, part in enumerate(parts)
    ]
    return "".join(plain).replace("\n", " ")


def as_cell(text: str) -> str:
    """Text in a cell of a table."""
    return (
        re.sub(r"\s+", " ", text.strip())
        .replace("\\", "\\\\")
        .replace("|", "\\|")
        .replace("<", "&lt;")
        .replace("*", "\\*")
    )
