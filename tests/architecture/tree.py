"""The package as text: its modules, what each imports, and the words it uses."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@cache
def modules() -> dict[str, Path]:
    """Every module of the package, by its dotted name."""
    return {_dotted(path): path for path in sorted(SOURCE.rglob("*.py"))}


@cache
def parsed(name: str) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(modules()[name].read_text(encoding="utf-8"))


@cache
def imported(name: str) -> frozenset[str]:
    """The modules of the package that a module imports when it runs, anywhere in it, or names in full in a string.

    A name that a package loads on first use counts as an import of the module it comes from.
    """
    targets: set[str] = set()
    packages: dict[str, str] = {}  # what a package is called in this module
    for node in _running(parsed(name)):
        if isinstance(node, ast.Import):
            targets.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(name, node)
            targets.add(base)
            for alias in node.names:
                targets.add(f"{base}.{alias.name}")
                targets.add(lazy_names(base).get(alias.name, base))
                packages[alias.asname or alias.name] = f"{base}.{alias.name}"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            package = packages.get(node.value.id, "")
            targets.add(lazy_names(package).get(node.attr, package))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            targets.add(node.value.partition(":")[0])
    targets |= {f"{prefix}{text}" for prefix in _prefixes(name) for text in _strings(name)}
    return frozenset(parent for target in targets for parent in _with_parents(target) if parent in modules())


def entry_points() -> set[str]:
    """The modules that pyproject.toml names: the program and every plug-in of ours."""
    groups = [PROJECT["scripts"], *PROJECT["entry-points"].values()]
    return {target.partition(":")[0] for group in groups for target in group.values()}


def class_definitions() -> dict[str, list[str]]:
    """Where each class name is defined, as dotted module names; classes inside functions and classes included."""
    where: dict[str, list[str]] = {}
    for name in modules():
        for node in ast.walk(parsed(name)):
            if isinstance(node, ast.ClassDef):
                where.setdefault(node.name, []).append(name)
    return where


@cache
def words(name: str) -> tuple[tuple[int, str], ...]:
    """Every name and every text in the code of a module, with its line; docstrings are not code."""
    nodes = list(ast.walk(parsed(name)))
    bodies = [node.body for node in nodes if isinstance(node, DOCUMENTED)]
    docstrings = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    found: list[tuple[int, str]] = []
    for node in nodes:
        if isinstance(node, ast.stmt | ast.expr) and id(node) not in docstrings:
            named = [getattr(node, field, None) for field in ("id", "attr", "name", "arg", "module", "value")]
            aliases = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom | ast.Import) else []
            found += [(node.lineno, word) for word in (*named, *aliases) if isinstance(word, str)]
    return tuple(found)


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """Every node below, without the blocks that only type checkers read."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and _is_type_checking(child.test)):
            yield from _running(child)


def _prefixes(name: str) -> set[str]:
    """What a module, not a package, puts before names that it imports at run time: `f"evenhand.cli.{verb}"`."""
    if modules()[name].name == "__init__.py":
        return set()
    starts = [node.values[0] for node in ast.walk(parsed(name)) if isinstance(node, ast.JoinedStr) and node.values]
    texts = [start.value for start in starts if isinstance(start, ast.Constant) and isinstance(start.value, str)]
    return {text for text in texts if text.startswith("evenhand.") and text.endswith(".")}


def _strings(name: str) -> set[str]:
    """The texts of a module, and those of the JSON files beside it that it names."""
    constants = [node.value for node in ast.walk(parsed(name)) if isinstance(node, ast.Constant)]
    texts = {value for value in constants if isinstance(value, str)}
    beside = [modules()[name].with_name(text) for text in texts if text.endswith(".json") and "/" not in text]
    listed = [path.read_text(encoding="utf-8") for path in beside if path.is_file()]
    return texts.union(*(re.findall(r'"([^"]*)"', content) for content in listed))


def _is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


@cache
def lazy_names(package: str) -> dict[str, str]:
    """The names that a package declares for type checkers and loads on first use, with the modules they come from."""
    if package not in modules():
        return {}
    blocks = [node for node in parsed(package).body if isinstance(node, ast.If) and _is_type_checking(node.test)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: _absolute(package, node) for node in imports for alias in node.names}


def _dotted(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _absolute(name: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = name if modules()[name].name == "__init__.py" else name.rpartition(".")[0]
    for _ in range(node.level - 1):
        package = package.rpartition(".")[0]
    return f"{package}.{node.module}" if node.module else package


def _with_parents(target: str) -> list[str]:
    parts = target.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts) + 1)]
