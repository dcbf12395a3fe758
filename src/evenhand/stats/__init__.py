"""Differences that can be relied on: intervals, contrasts between groups, comparisons of models.

`intervals`, `contrasts`, `ranks`, `summaries`, `paired` and `differentials` are arrays in, arrays out; inside their
arrays NaN means "not defined". `analyse` stands over them: from the cells of a tally it gives every metric and
group the interval that fits, tests the groups against each other, and says what may be said. Names are loaded when
they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.stats.analysis import Analysis, analyse, work_asked
    from evenhand.stats.comparison import Comparison, GapContrast, ModelContrast, compare
    from evenhand.stats.multiplicity import Correction
    from evenhand.stats.settings import Settings
    from evenhand.stats.verification import VerificationSheet, verification_sheet

_HOMES = {
    "analysis": ("Analysis", "analyse", "work_asked"),
    "comparison": ("Comparison", "GapContrast", "ModelContrast", "compare"),
    "multiplicity": ("Correction",),
    "settings": ("Settings",),
    "verification": ("VerificationSheet", "verification_sheet"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Analysis",
    "Comparison",
    "Correction",
    "GapContrast",
    "ModelContrast",
    "Settings",
    "VerificationSheet",
    "analyse",
    "compare",
    "verification_sheet",
    "work_asked",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOME_OF:
        raise AttributeError(f"module 'evenhand.stats' has no attribute {name!r}")
    return getattr(import_module(f"evenhand.stats.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
