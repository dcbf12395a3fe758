"""One class per name, families inside their folders, and no metaphors among the names."""

from __future__ import annotations

import ast
import re

import tree

import evenhand

FAMILIES = sorted(path.parent.name for path in (tree.SOURCE / "evenhand" / "benchmarks").glob("*/__init__.py"))
# Drop-ins that are not named after the family that they are for.
DROP_INS = {"evenhand.compat.his_evaluators": "synthesis", "evenhand.compat.fairlearn": "table"}
# Where a family may be imported outside its own folders, and why.
IMPORTING = {
    "evenhand": "the families are attributes of the package: `evenhand.fhibe`",
    "evenhand.fairface": "so that `from evenhand.fairface import read` works",
    "evenhand.fhibe": "so that `from evenhand.fhibe import write_outputs` works",
    "evenhand.api": "`evaluate_table` is a verb of the package, over the family `table`",
}
# Where the code names one without importing it, and why. "pairs" and "table" are words of every day and not looked for.
NAMED = IMPORTING | {
    "evenhand.instruments.comparers": "the published setting `fhibe` of PSNR and LPIPS, beside others'",
    "evenhand.instruments.pictures": "how that setting loads a picture",
    "evenhand.instruments.pixels": "the published settings of PSNR, by name",
    "evenhand.files.inputs": "a message names the option of synthesis tasks that raises the limit",
}
METAPHORS = re.compile(
    r"_*(desk|crew|hand|bench|posted|stint|keeping|kept|honest|lazily|few|meeting|looked|shelf|fence|trouble|door|room"
    r"|house|said|told|heard|whom)",
    re.IGNORECASE,
)
PLAIN = ("few", "FEW", "kept", "KEPT")  # as functions, locals and constants these say what they hold


def is_metaphor(name: str) -> bool:
    return METAPHORS.fullmatch(name) is not None and name.strip("_") not in PLAIN


def test_no_class_name_is_used_twice() -> None:
    twice = {name: where for name, where in tree.class_definitions().items() if len(where) > 1}
    assert not twice, "\n".join(f"{name}: {', '.join(where)}" for name, where in sorted(twice.items()))


def test_no_class_or_function_is_named_by_a_metaphor() -> None:
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    named = [
        f"{name}: {node.name}"
        for name in tree.modules()
        for node in ast.walk(tree.parsed(name))
        if isinstance(node, kinds) and is_metaphor(node.name)
    ]
    assert not named, "\n".join(named)


def test_no_local_or_parameter_is_named_by_a_metaphor() -> None:
    named = []
    for name in tree.modules():
        for node in ast.walk(tree.parsed(name)):
            is_bound = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            word = node.id if is_bound else node.arg if isinstance(node, ast.arg) else ""
            if is_metaphor(word):
                named.append(f"{name}, line {node.lineno}: {word}")
    assert not named, "\n".join(named)


def family_of(name: str) -> str:
    """The family whose folder or drop-in a module is in; empty for others."""
    drop_in = next((family for package, family in DROP_INS.items() if name.startswith(package)), "")
    parts = name.split(".")
    is_own = len(parts) > 2 and parts[1] in ("benchmarks", "compat") and parts[2] in FAMILIES
    return drop_in or (parts[2] if is_own else "")


def test_no_package_outside_a_family_imports_it() -> None:
    strays = []
    for name in set(tree.modules()) - set(IMPORTING):
        for target in tree.imported(name):
            family = target.split(".")[2] if target.startswith("evenhand.benchmarks.") else ""
            if family and family != family_of(name):
                strays.append(f"{name} imports {target}")
    assert not strays, "\n".join(sorted(strays))


def test_no_code_outside_a_family_names_it() -> None:
    family = re.compile(rf"(?<![a-z])({'|'.join(sorted(set(FAMILIES) - {'pairs', 'table'}))})(?![a-z])", re.IGNORECASE)
    strays = set()
    for name in set(tree.modules()) - set(NAMED):
        for line, word in tree.words(name):
            match = family.search(word)
            if match and match[1].lower() != family_of(name):
                strays.add(f"{name}, line {line}: {word[:60]!r}")
    assert not strays, "\n".join(sorted(strays))


def test_every_exception_is_still_one() -> None:
    family = re.compile("|".join(FAMILIES), re.IGNORECASE)
    assert [name for name in NAMED if not any(family.search(word) for _, word in tree.words(name))] == []


def test_every_family_is_an_attribute_of_the_package() -> None:
    assert [name for name in FAMILIES if getattr(evenhand, name).benchmark.name != name] == []


def test_every_family_has_the_same_modules() -> None:
    usual = ("data", "codec", "record", "tasks", "demo")
    modules = set(tree.modules())
    lacking = [
        name
        for family in FAMILIES
        for name in (f"evenhand.benchmarks.{family}.{module}" for module in usual)
        if name not in modules
    ]
    assert not lacking, ", ".join(lacking)
