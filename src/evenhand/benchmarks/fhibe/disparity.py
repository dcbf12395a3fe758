"""Which groups the published report calls worst and best: pairs, table and bars, number for number.

The pair procedure itself is in `evenhand.stats.published`: rank tests on pooled scores, the lower median is
"worst", significant when p < 0.05 / number of pairs of the same attributes (and part). It is kept for comparison
with published reports; `evenhand evaluate` gives the statistics to judge by. A metric whose medians are
negative has pairs and p values but no disparity.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from operator import attrgetter
from typing import Protocol

import numpy as np

from evenhand.benchmarks.fhibe import attributes, vocabulary
from evenhand.benchmarks.fhibe.grouping import subsets
from evenhand.core.records import Array, Attribute
from evenhand.stats.published import MIN_SCORES, MOST_LISTED, tested_pairs

MIN_GROUP = MIN_SCORES
_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
_LABEL_WIDTH = 30
_COMPARED = attrgetter("worst", "worst_scores", "best", "best_scores", "disparity", "p_value", "z", "significant")


@dataclass(frozen=True)
class Pair:
    """Two groups of one attribute combination, as the published report compares them."""

    by: str  # the attribute combination
    part: str | None  # for body parts
    worst: str
    worst_size: int
    best: str
    best_size: int
    disparity: float | None  # None where a median is negative
    p_value: float | None
    effect: float | None  # z without tie correction, or Cohen's d; signed, of the first group
    significant: bool  # p below 0.05 / number of pairs of the same groups

    @property
    def row(self) -> list[str | int | float | None]:
        """In the published layout."""
        where = [self.by] if self.part is None else [self.by, self.part]
        numbers = [self.disparity, self.p_value, self.effect]
        return [*where, self.worst, self.worst_size, self.best, self.best_size, *numbers]


def rank_tests(groups: Mapping[str, Array], by: str = "", part: str | None = None) -> tuple[Pair, ...]:
    """Every unordered pair of groups by the published rank test; groups in declared order.

    >>> rank_tests({"a": [0.1] * 30, "b": [0.5, 0.6] * 15})[0].worst
    'a'
    """
    tests = tested_pairs({name: np.asarray(scores, dtype=np.float64) for name, scores in groups.items()})
    return tuple(Pair(by, part, *_COMPARED(test)) for test in tests)


class GroupedScores(Protocol):
    """The scores of one metric by group, whether they come from rows or from a results file."""

    @property
    def metric(self) -> str: ...
    @property
    def parts(self) -> tuple[str, ...] | None: ...

    def groups(self, by: Sequence[str], part: str | None) -> Mapping[str, Array]:
        """Every group of an attribute combination with its scores, in published order."""


@dataclass(frozen=True)
class ScoredRows:
    """The scores of one metric, row by row, with the attributes of the rows. Parts have a column each."""

    metric: str
    people: Mapping[str, Attribute]
    scores: Array  # (rows,) or (rows, parts); NaN where undefined
    parts: tuple[str, ...] | None = None

    def groups(self, by: Sequence[str], part: str | None) -> dict[str, Array]:
        """Every group of an attribute combination with its scores, in published order."""
        scores = self.scores if self.parts is None else self.scores[:, self.parts.index(str(part))]
        rows = np.flatnonzero(~np.isnan(scores))
        subset = next(subset for subset in subsets(self.people, by, rows) if len(subset.by) == len(by))
        return {key: scores[subset.members(group)] for group, key in enumerate(subset.keys())}


def disparities(
    scored: GroupedScores,
    asked: Sequence[str],
    *,
    largest_regions: bool = True,
    size: int = 0,
    min_group: int | None = MIN_GROUP,
) -> tuple[Pair, ...]:
    """All significant pairs over the attribute combinations of a size (0: every size), in published order."""
    names = attributes.canonical(asked)
    significant: list[Pair] = []
    for length in range(1, len(names) + 1) if size == 0 else [size]:
        for by, part in product(combinations(names, length), scored.parts or (None,)):
            groups = _eligible(scored.groups(by, part), by, largest_regions=largest_regions, min_group=min_group)
            significant += [pair for pair in rank_tests(groups, attributes.group_key(by), part) if pair.significant]
    return tuple(significant)


def disparity_table(
    scored: GroupedScores, asked: Sequence[str], *, largest_regions: bool = True
) -> list[list[str]] | None:
    """The cells of the report's table, title and header first; None when nothing was significant."""
    pairs = disparities(scored, asked, largest_regions=largest_regions, size=1)
    if not pairs:
        return None
    shown = sorted(pairs, key=lambda pair: -(pair.disparity if pair.disparity is not None else -1.0))[:MOST_LISTED]
    has_parts = scored.parts is not None
    header = ["Attribute(s)", *(["Body Part"] if has_parts else []), "Worst group", "Worst mean/median (class size)",
              "Best group", "Best mean/median (class size)",
              "Disparity" if has_parts else "Mean/median disparity", "P value", "Effect size"]  # fmt: skip
    title = [f"Attributes with highest disparities in {scored.metric} performance", *[""] * (len(header) - 1)]
    return [title, header, *(_table_row(scored, pair) for pair in shown)]


@dataclass(frozen=True)
class Bars:
    """One attribute's bars: labels with sizes, means, and the marks of significant pairs."""

    labels: tuple[str, ...]
    heights: tuple[float, ...]
    sizes: tuple[int, ...]
    groups: tuple[str, ...]
    stars: tuple[str, ...]
    pairs: tuple[Pair, ...]  # the pairs that the stars belong to


def bars(scored: GroupedScores, attribute: str, *, largest_regions: bool = True, part: str | None = None) -> Bars:
    """The bars that the report draws for one attribute; of body parts those of one part, by default the first.

    The number of asterisks divides by the number of *significant* pairs, though the text beside the
    plot says pairs tested (Q5).
    """
    part = None if scored.parts is None else part or scored.parts[0]
    every = scored.groups((attribute,), part)
    groups = _eligible(every, (attribute,), largest_regions=largest_regions, min_group=None)
    pairs = disparities(scored, (attribute,), largest_regions=largest_regions, size=1) if part is None else ()
    values = [attributes.parse_key(key)[0] for key in groups]
    labels = tuple(
        textwrap.fill(f"{attributes.display_value(attribute, value)} ({len(members)})", _LABEL_WIDTH)
        for value, members in zip(values, groups.values(), strict=True)
    )
    return Bars(
        labels,
        tuple(float(np.mean(members)) if len(members) else float("nan") for members in groups.values()),
        tuple(len(members) for members in groups.values()),
        tuple(values),
        tuple(
            next((mark for level, mark in _STARS if (pair.p_value or 0.0) < level / len(pairs)), "") for pair in pairs
        ),
        pairs,
    )


def _eligible(
    groups: Mapping[str, Array], by: Sequence[str], *, largest_regions: bool, min_group: int | None
) -> dict[str, Array]:
    regional = [place for place, name in enumerate(by) if largest_regions and name in vocabulary.REGIONS]
    eligible = {}
    for key, scores in groups.items():
        if regional:
            values = attributes.parse_key(key)
            if any(values[place] not in vocabulary.REGIONS[by[place]] for place in regional):
                continue
        if min_group is None or len(scores) >= min_group:
            eligible[key] = scores
    return eligible


def _table_row(scored: GroupedScores, pair: Pair) -> list[str]:
    by = attributes.parse_key(pair.by)
    groups = scored.groups(by, pair.part)
    worst, best = groups[pair.worst], groups[pair.best]
    median_gap = "–" if pair.disparity is None else f"{pair.disparity:.2f}"
    names = by if pair.part is not None else [attributes.display_name(name) for name in by]
    mean_gap = 1 - float(np.mean(worst)) / float(np.mean(best)) if np.mean(best) else 0.0
    p, effect = pair.p_value or 0.0, abs(pair.effect or 0.0)
    return [
        _bullets(names),
        *([pair.part] if pair.part is not None else []),
        _bullets(attributes.display_group(by, attributes.parse_key(pair.worst))),
        f"{np.mean(worst):.2f}/{np.median(worst):.2f} ({len(worst)})",
        _bullets(attributes.display_group(by, attributes.parse_key(pair.best))),
        f"{np.mean(best):.2f}/{np.median(best):.2f} ({len(best)})",
        median_gap if pair.part is not None else f"{mean_gap:.2f} / {median_gap}",
        "< 0.001" if p < 0.001 else f"{p:.3f}",
        f"{effect:.2f}",
    ]


def _bullets(names: Sequence[str]) -> str:
    return "<br/>".join(f"&#8226; {name}" for name in names)


def plain_cell(cell: str) -> str:
    """A cell of the published table without its markup.

    >>> plain_cell("&#8226; Apparent Skin Color<br/>&#8226; Age")
    'Apparent Skin Color, Age'
    """
    return cell.replace("&#8226; ", "").replace("<br/>", ", ")
