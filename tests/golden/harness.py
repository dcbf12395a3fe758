"""Published numbers as tests.

A case is any folder below a family's folder with an `expected.json`, or whatever else the
family's module claims (files of normalisation rows, recipes). `families/<family>.py` offers
`cases(folder)`, which yields a `Case` for each; the harness checks that every file is claimed,
runs them, and counts what was compared.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.core.metric import Undefined

HERE = Path(__file__).parent
DEFAULT_ROOT = HERE / "cases"
MANIFEST = HERE / "manifest.sha256"


@dataclass(frozen=True)
class Case:
    """One thing to check: its name, the files that belong to it, and the check itself."""

    name: str
    files: frozenset[Path]
    check: Callable[[Checks], None]


@dataclass
class Checks:
    """Comparisons that were made, and those that failed, by name."""

    made: int = 0
    failures: list[str] = field(default_factory=list)

    def true(self, name: str, condition: bool, message: str = "") -> None:
        """Count one comparison."""
        self.made += 1
        if not condition:
            self.failures.append(f"{name}: {message or 'not as expected'}")

    def equal(self, name: str, got: Any, expected: Any) -> None:
        """Exactly equal; a null is an undefined value, "inf" is infinity."""
        got, expected = plain(got), plain(expected)
        self.true(name, got == expected, f"got {_short(got)}, expected {_short(expected)}")

    def close(self, name: str, got: Any, expected: Any, *, rel: float = 0.0, abs: float = 1e-9) -> None:  # noqa: A002
        """Numbers within a tolerance, element by element in lists and mappings; everything else equal."""
        got, expected = plain(got), plain(expected)
        wrong = _first_difference(got, expected, rel, abs)
        self.true(name, wrong is None, wrong or "")

    def refused(self, name: str, call: Callable[[], Any], *mentions: str) -> None:
        """The call raises one of our errors, and its message has every one of `mentions`."""
        try:
            got = call()
        except EvenhandError as error:
            lacking = [word for word in mentions if word not in str(error)]
            self.true(name, not lacking, f"the message {str(error)!r} does not mention {lacking}")
        except Exception as error:  # any other exception is a failure of ours to be named
            self.true(name, False, f"raised {type(error).__name__}: {error}, which is not an EvenhandError")
        else:
            self.true(name, False, f"was not refused; got {_short(got)}")


def plain(value: Any) -> Any:
    """A value as JSON would have it: undefined and NaN as None, arrays as lists, infinities as numbers."""
    if isinstance(value, Undefined) or value is None:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return [plain(part) for part in value.tolist()]
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(part) for part in value]
    if isinstance(value, str) and value in ("inf", "-inf"):
        return float(value)
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def read_expected(path: Path) -> Any:
    """What a case expects, without the words in it that are documentation, however deep they stand."""
    return _compared(json.loads(path.read_text(encoding="utf-8")))


def _compared(told: Any) -> Any:
    if isinstance(told, list):
        return [_compared(part) for part in told]
    if isinstance(told, dict):
        return {key: _compared(part) for key, part in told.items() if not _is_documentation(key, part)}
    return told


def _is_documentation(key: str, part: Any) -> bool:
    quirk = isinstance(part, dict) and part.get("quirk") is True
    return quirk or key in ("note", "comment", "reference") or key.endswith("_DO_NOT_USE")


def root() -> Path:
    """Where the cases are: EVENHAND_GOLDEN, or our own copies."""
    named = os.environ.get("EVENHAND_GOLDEN", "")
    return Path(named) if named else DEFAULT_ROOT


def required() -> frozenset[str]:
    """Families that must be there: EVENHAND_GOLDEN_REQUIRE, separated by commas."""
    return frozenset(name.strip() for name in os.environ.get("EVENHAND_GOLDEN_REQUIRE", "").split(",") if name.strip())


@cache
def family_module(family: str) -> ModuleType | None:
    """The module that knows a family's cases; None when there is none, or when it needs torch and that is missing."""
    path = HERE / "families" / f"{family}.py"
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location(f"golden_{family}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as missing:
        if missing.name != "torch":
            raise
        return None
    return module


def families(folder: Path) -> list[str]:
    """The families that have a folder below the root."""
    return sorted(path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def collect(folder: Path, family: str) -> list[Case]:
    """All cases of a family, and one that fails by name for what nobody claims."""
    module = family_module(family)
    assert module is not None
    found: list[Case] = list(module.cases(folder / family))
    return [*found, *_unclaimed(folder / family, found)]


def _unclaimed(folder: Path, found: Sequence[Case]) -> Iterator[Case]:
    claimed = {path.resolve() for case in found for path in case.files}
    left = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.resolve() not in claimed and not path.name.upper().startswith(("README", "LICENSE"))
    )

    def fail(checks: Checks) -> None:
        checks.true("a case was found", bool(found), f"{folder} has no case that we know")
        for path in left:
            checks.true(str(path.relative_to(folder)), False, "no case claims this file")

    if left or not found:
        yield Case("(unclaimed files)", frozenset(), fail)


def changed_copies() -> list[str]:
    """Our copies whose content is not what the manifest says."""
    wrong = []
    listed = {}
    for line in MANIFEST.read_text(encoding="utf-8").splitlines():
        digest, name = line.split("  ", 1)
        listed[name] = digest
    there = {str(path.relative_to(DEFAULT_ROOT)): path for path in DEFAULT_ROOT.rglob("*") if path.is_file()}
    for name in sorted(set(listed) | set(there)):
        if name not in there:
            wrong.append(f"{name} is missing")
        elif name not in listed:
            wrong.append(f"{name} is not in the manifest")
        elif hashlib.sha256(there[name].read_bytes()).hexdigest() != listed[name]:
            wrong.append(f"{name} was changed")
    return wrong


def _first_difference(got: Any, expected: Any, rel: float, tolerance: float, where: str = "") -> str | None:
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        if set(got) != set(expected):
            return f"{where or 'keys'}: got {sorted(got)}, expected {sorted(expected)}"
        pairs: list[tuple[str, Any, Any]] = [(f"{where}.{key}", got[key], expected[key]) for key in expected]
    elif isinstance(expected, list) and isinstance(got, list):
        if len(got) != len(expected):
            return f"{where or 'list'}: {len(got)} entries, expected {len(expected)}"
        pairs = [(f"{where}[{index}]", a, b) for index, (a, b) in enumerate(zip(got, expected, strict=True))]
    else:
        return _number_difference(got, expected, rel, tolerance, where)
    for place, a, b in pairs:
        if (wrong := _first_difference(a, b, rel, tolerance, place)) is not None:
            return wrong
    return None


def _number_difference(got: Any, expected: Any, rel: float, tolerance: float, where: str) -> str | None:
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (got, expected))
    if numeric and not (math.isinf(got) or math.isinf(expected)):
        fine = abs(got - expected) <= max(tolerance, rel * abs(expected))
    else:
        fine = got == expected
    return None if fine else f"{where} got {_short(got)}, expected {_short(expected)}".strip()


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "…"
