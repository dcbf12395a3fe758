"""Helpers of the published report that scripts import: pair tests, and names as the report prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from evenhand.benchmarks.fhibe import attributes
from evenhand.benchmarks.fhibe.disparity import Pair, rank_tests
from evenhand.core.records import Array
from evenhand.stats.published import ALPHA, median_disparity


def find_significant_pairs(
    data: Mapping[str, Sequence[float]], alpha: float = ALPHA, statistic: str = "t"
) -> list[list[Any]] | None:
    """Pairs of groups that differ by a t test (`t`) or a rank test (`U`), corrected for their number; None without any.

    A pair is worst group, its size, best group, its size, disparity, p, effect size.
    """
    tested = (rank_tests if statistic == "U" else mean_tests)({key: np.asarray(data[key], dtype=float) for key in data})
    rows = [pair.row[1:] for pair in tested if pair.p_value is not None and pair.p_value < alpha / len(tested)]
    return rows or None


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


def mean_tests(groups: Mapping[str, Array]) -> tuple[Pair, ...]:
    """The published variant with t tests and Cohen's d (pooled), which its report never uses."""
    arrays = {name: np.asarray(scores, dtype=np.float64) for name, scores in groups.items()}
    compared, pairs = list(combinations(arrays, 2)), []
    for first, second in compared:
        a, b = float(np.median(arrays[first])), float(np.median(arrays[second]))
        worst, best = (first, second) if a < b else (second, first)
        p, d = _t_test(arrays[first], arrays[second])
        significant = p is not None and p < ALPHA / len(compared)
        sizes = len(arrays[worst]), len(arrays[best])
        pairs.append(Pair("", None, worst, sizes[0], best, sizes[1], median_disparity(a, b), p, d, significant))
    return tuple(pairs)


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
