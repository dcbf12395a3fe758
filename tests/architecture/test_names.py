"""One class per name, families inside their folders, and no metaphors among the names."""

from __future__ import annotations

import ast
import re

import tree

FAMILIES = ("fairface", "fhibe", "ijb", "pairs", "synthesis", "table", "uccs")
# Where a family may be named outside its own folders, and why.
NAMED = {
    "evenhand": "the families are attributes of the package: `evenhand.fhibe`",
    "evenhand.fairface": "so that `from evenhand.fairface import read` works",
    "evenhand.fhibe": "so that `from evenhand.fhibe import write_outputs` works",
    "evenhand.api": "`evaluate_table` is a verb of the package, over the family `table`",
}
METAPHORS = re.compile(
    r"^_*(Desk|Crew|Hand|Bench|Posted|Stint|Keeping|Kept|Honest|Lazily|Few|Meeting|Looked|Shelf|Fence|Trouble|Door|Room"
    r"|House|Said|Told|told|heard|said)$"
)


def test_no_class_name_is_used_twice() -> None:
    twice = {name: where for name, where in tree.class_definitions().items() if len(where) > 1}
    assert not twice, "\n".join(f"{name}: {', '.join(where)}" for name, where in sorted(twice.items()))


def test_no_class_or_function_is_named_by_a_metaphor() -> None:
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    named = [
        f"{name}: {node.name}"
        for name in tree.modules()
        for node in ast.walk(tree.parsed(name))
        if isinstance(node, kinds) and METAPHORS.match(node.name)
    ]
    assert not named, "\n".join(named)


def test_no_package_outside_a_family_imports_it() -> None:
    strays = []
    for name in tree.modules():
        for family in FAMILIES:
            folder = f"evenhand.benchmarks.{family}"
            own = (folder, f"evenhand.compat.{family}", "evenhand.compat.his_evaluators", "evenhand.compat.fairlearn")
            if name in NAMED or name.startswith(own):
                continue
            if any(target.startswith(folder) for target in tree.imported(name)):
                strays.append(f"{name} imports {folder}")
    assert not strays, "\n".join(strays)


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
