"""What looks like a slip in the names of groups and classes: one value written in two ways, or none written out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

# Not "none", "-" or "na": they are levels too (glasses: none; NA, Native American).
_MISSING_TEXTS = frozenset({"nan", "n/a", "#n/a", "<na>", "nat", "null", "?"})
_MOST_SHOWN = 3


def alike_levels(name: str, levels: Sequence[str]) -> Iterator[str]:
    """Says when levels differ in case or blanks only.

    >>> next(alike_levels("tone", ["Light brown", "light_brown"]))
    "tone has values that differ only in case or blanks ('Light brown', 'light_brown'): write the same value alike"
    """
    alike: dict[str, list[str]] = {}
    for level in levels:
        alike.setdefault(_alike_text(level), []).append(level)
    if same := [group for group in alike.values() if len(group) > 1]:
        shown = "; ".join(", ".join(map(repr, group)) for group in same[:_MOST_SHOWN])
        yield f"{name} has values that differ only in case or blanks ({shown}): write the same value alike"


def doubtful_levels(name: str, levels: Sequence[str]) -> Iterator[str]:
    """The same of groups, and whether one of them is what a missing value is written as."""
    yield from alike_levels(name, levels)
    if missing := [level for level in levels if level.casefold() in _MISSING_TEXTS]:
        shown = ", ".join(map(repr, missing))
        yield f"{name} holds the text {shown}, which is taken as a value: leave the cell empty where none is known"


def _alike_text(text: str) -> str:
    return " ".join(text.casefold().replace("_", " ").split())
