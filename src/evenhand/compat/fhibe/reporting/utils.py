"""Helpers of the published report that scripts import: pair tests, and names as the report prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from evenhand.benchmarks.fhibe import attributes
from evenhand.benchmarks.fhibe.disparity import Pair, Tested, rank_tests
from evenhand.core.records import Array
from evenhand.stats.published import ALPHA, median_disparity


def find_significant_pairs(
    data: Mapping[str, Sequence[float]], alpha: float = ALPHA, statistic: str = "t"
) -> list[list[Any]] | None:
    """Pairs of groups that differ by a t test (`t`) or a rank test (`U`), corrected for their number; None without any.

    A pair is worst group, its size, best group, its size, disparity, p, effect size.
    """
    tested = (rank_tests if statistic == "U" else mean_tests)({key: np.asarray(data[key], dtype=float) for key in data})
    pairs = [pair for pair in tested.pairs if pair.p_value is not None and pair.p_value < alpha / len(tested.pairs)]
    return [pair.row[1:] for pair in pairs] or None


def format_attribute_name(attribute_name: str) -> str:
    """An attribute's name as the report prints it.

    >>> format_attribute_name("location_country")
    'Location Country'
    """
    return attributes.display_name(attribute_name)


def format_single_attribute_value(attribute_name: str, attribute_value: str) -> str:
    """The one value in a group's key, as the report prints it.

    >>> format_single_attribute_value("ancestry", "['0. Africa']")
    'Africa'
    """
    return attributes.display_value(attribute_name, attributes.parse_key(attribute_value)[0])


def format_attribute_list(attribute_names: Sequence[str], attribute_values: Sequence[str]) -> list[str]:
    """The values of a group, as the report prints them."""
    return attributes.display_group(attribute_names, attribute_values)


def mean_tests(groups: Mapping[str, Array]) -> Tested:
    """The published variant with t tests and Cohen's d (pooled), which its report never uses."""
    names, pairs = list(groups), []
    for first, second in combinations(names, 2):
        a, b = np.asarray(groups[first], dtype=np.float64), np.asarray(groups[second], dtype=np.float64)
        worst, best = (first, second) if np.median(a) < np.median(b) else (second, first)
        sizes = (len(groups[worst]), len(groups[best]))
        p, d = _t_test(a, b)
        gap = median_disparity(float(np.median(a)), float(np.median(b)))
        pairs.append(Pair(worst, sizes[0], best, sizes[1], gap, p, d))
    return Tested(
        tuple(pairs), tuple(pair for pair in pairs if pair.p_value is not None and pair.p_value < ALPHA / len(pairs))
    )


def _t_test(first: Array, second: Array) -> tuple[float | None, float | None]:
    """p of the pooled t test and Cohen's d; infinite between two constants, undefined between equal ones."""
    from evenhand.stats.distributions import t_two_sided

    n1, n2 = len(first), len(second)
    freedom = n1 + n2 - 2
    if n1 < 1 or n2 < 1 or freedom < 1:
        return None, None
    squares = float(((first - first.mean()) ** 2).sum() + ((second - second.mean()) ** 2).sum())
    difference = float(first.mean() - second.mean())
    if squares == 0:
        return (None, None) if difference == 0 else (0.0, float(np.copysign(np.inf, difference)))
    pooled = float(np.sqrt(squares / freedom))
    t = difference / (pooled * float(np.sqrt(1 / n1 + 1 / n2)))
    return float(t_two_sided(t, freedom)), difference / pooled
