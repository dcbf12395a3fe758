"""Differences that can be relied on: intervals, contrasts between groups, comparisons of models.

`intervals`, `contrasts`, `ranks` and `summaries` are arrays in, arrays out; inside their arrays NaN means "not
defined". `analyse` stands over them: from the cells of a tally it gives every metric and group the interval that fits,
tests the groups against each other, and says what may be said. Names are loaded when they are first used.
"""

from typing import Any

_MODULE_OF = {
    "Analysis": "analysis",
    "Comparison": "comparison",
    "Correction": "multiplicity",
    "GapContrast": "comparison",
    "ModelContrast": "comparison",
    "Settings": "settings",
    "VerificationSheet": "verification",
    "analyse": "analysis",
    "compare": "comparison",
    "verification_sheet": "verification",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _MODULE_OF:
        raise AttributeError(f"module 'evenhand.stats' has no attribute {name!r}")
    return getattr(import_module(f"evenhand.stats.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
