"""Every module is reached from a command, a plug-in or a public name; what nobody reaches is deleted."""

from __future__ import annotations

import tree

# Modules that users import themselves, by their documented name.
DOCUMENTED = {
    "evenhand": "the package",
    "evenhand.fairface": "what FairFace offers in Python: `from evenhand.fairface import read`",
    "evenhand.fhibe": "what FHIBE offers in Python: `from evenhand.fhibe import write_outputs`",
    "evenhand.compat.fhibe": "the drop-in for scripts written for the published FHIBE package",
    "evenhand.compat.fhibe.__main__": "runs such a script unchanged",
    "evenhand.compat.fhibe.common.data": "a module of the published package's layout",
    "evenhand.compat.fhibe.common.loaders": "a module of the published package's layout",
    "evenhand.compat.fhibe.common.utils": "a module of the published package's layout",
    "evenhand.compat.fhibe.evaluate.constants": "a module of the published package's layout",
    "evenhand.compat.fhibe.reporting.utils": "a module of the published package's layout",
    "evenhand.compat.his_evaluators": "the drop-in for scripts written for the published synthesis evaluators",
    "evenhand.compat.fairlearn": "MetricFrame for scripts written for fairlearn",
}


def reached() -> set[str]:
    public = [module for name in DOCUMENTED for module in tree.lazy_names(name).values()]
    waiting = [name for name in (*tree.entry_points(), *DOCUMENTED, *public) if name in tree.modules()]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(tree.imported(name))
    return seen


def test_every_module_is_reached() -> None:
    unreached = sorted(set(tree.modules()) - reached())
    assert not unreached, f"reached by no command, plug-in or public name: {', '.join(unreached)}"


def test_every_entry_point_names_a_module() -> None:
    assert tree.entry_points() <= set(tree.modules())
