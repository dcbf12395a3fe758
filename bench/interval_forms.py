"""Which interval of a bounded mean covers what it promises: 24 forms on subjects of unequal skill and numbers of rows.

python -m bench.interval_forms [TABLES]      tables in each of 24 settings, 4,000 by default

A form is a variance between subjects (CR1, CR2, jackknife), degrees of freedom (subjects − 1, or the fewer that unequal
numbers of rows leave), and a scale on which the limits are symmetric.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from scipy import stats

SCALES = ("identity", "arcsine", "logit", "Wilson's score")
Floats = np.ndarray[Any, np.dtype[np.float64]]


def tables(rng: np.random.Generator, count: int, subjects: int, mean: float, alike: int) -> tuple[Floats, Floats]:
    """(tables, subjects): the sum of the values of each subject, and its number of rows, 1 to 15.

    `alike` is a + b of the beta distribution of skills: the more, the less subjects differ.
    """
    rows = rng.integers(1, 16, (count, subjects))
    skill = rng.beta(alike * mean, alike * (1 - mean), (count, subjects)).clip(1e-6, 1 - 1e-6)[..., np.newaxis]
    values = rng.beta(5 * skill, 5 * (1 - skill), (count, subjects, 15))
    inside = np.arange(15) < rows[..., np.newaxis]
    return (values * inside).sum(axis=2), rows.astype(np.float64)


def intervals(sums: Floats, rows: Floats) -> Iterator[tuple[str, Floats, Floats]]:
    """The name and both limits of every form, for all tables at once."""
    total, subjects = rows.sum(axis=1), rows.shape[1]
    mean = sums.sum(axis=1) / total
    residual = (sums - mean[:, np.newaxis] * rows) / total[:, np.newaxis]
    share = 1 - rows / total[:, np.newaxis]
    variances = {
        "CR1": (residual**2).sum(axis=1) * subjects / (subjects - 1),
        "CR2": (residual**2 / share).sum(axis=1),
        "jackknife": (residual**2 / share**2).sum(axis=1) * (subjects - 1) / subjects,
    }
    fewer = total**2 / (rows**2).sum(axis=1) - 1
    for variance_name, variance in variances.items():
        for freedom_name, freedom in (("subjects − 1", np.full_like(fewer, subjects - 1)), ("fewer", fewer)):
            t, spread = stats.t.ppf(0.975, freedom), np.sqrt(variance)
            for scale in SCALES:
                yield f"{variance_name}, {freedom_name}, {scale}", *limits(mean, spread, t, scale)


def limits(mean: Floats, spread: Floats, t: Floats, scale: str) -> tuple[Floats, Floats]:
    """The limits of means with a standard error, symmetric on a scale."""
    if scale == "identity":
        return mean - t * spread, mean + t * spread
    if scale == "arcsine":
        centre, half = np.arcsin(np.sqrt(mean)), t * spread / (2 * np.sqrt(mean * (1 - mean)))
        return np.sin((centre - half).clip(0, np.pi / 2)) ** 2, np.sin((centre + half).clip(0, np.pi / 2)) ** 2
    if scale == "logit":
        centre, half = np.log(mean / (1 - mean)), t * spread / (mean * (1 - mean))
        return 1 / (1 + np.exp(half - centre)), 1 / (1 + np.exp(-half - centre))
    many = mean * (1 - mean) / spread**2  # the effective number of rows
    centre, half = mean + t**2 / (2 * many), t * np.sqrt(mean * (1 - mean) / many + t**2 / (4 * many**2))
    return (centre - half) / (1 + t**2 / many), (centre + half) / (1 + t**2 / many)


def main(count: int) -> None:
    """Print the least, mean and greatest coverage of every form over all settings, the best last."""
    rng = np.random.default_rng(20)
    coverage: dict[str, list[float]] = {}
    for subjects, mean, alike in product((12, 20, 40, 60), (0.5, 0.8, 0.95), (10, 4)):
        for name, low, high in intervals(*tables(rng, count, subjects, mean, alike)):
            coverage.setdefault(name, []).append(float(((low <= mean) & (mean <= high)).mean()))
    for name, shares in sorted(coverage.items(), key=lambda entry: min(entry[1])):
        print(f"| {name} | {min(shares):.3f} | {sum(shares) / len(shares):.3f} | {max(shares):.3f} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4000)
