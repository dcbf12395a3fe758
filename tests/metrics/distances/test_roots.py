"""Fréchet distances where roots lose digits: flat, graded, singular, scaled and nearly equal sets."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import hadamard

from evenhand.metrics.distances import frechet_distance, frechet_of_moments
from evenhand.metrics.distances import roots as roots_module
from evenhand.metrics.distances.frechet import Moments

WIDE = 16
seeds = st.integers(0, 2**32 - 1)
exponents = st.lists(st.integers(-28, 0), min_size=WIDE, max_size=WIDE)  # of deviations, in powers of two


def known_set(deviations: np.ndarray) -> np.ndarray:
    """Rows with a covariance that is known exactly: ± each deviation, along the columns of a Hadamard matrix."""
    along = np.diag(deviations) @ (hadamard(WIDE) / np.sqrt(WIDE))  # powers of two: nothing is rounded
    return np.concatenate([along, -along])


@settings(deadline=None, max_examples=60)
@given(first=exponents, second=exponents, scale=st.integers(-12, 12))
def test_a_distance_known_on_paper_is_met_however_the_deviations_are_spread(
    first: list[int], second: list[int], scale: int
) -> None:
    made, real = (np.ldexp(1.0, np.array(side) + scale) for side in (first, second))
    share = 2 / (2 * WIDE - 1)
    expected, traces = share * ((made - real) ** 2).sum(), share * (made**2 + real**2).sum()
    assert frechet_distance(known_set(made), known_set(real)) == pytest.approx(expected, rel=1e-9, abs=1e-9 * traces)


@settings(deadline=None, max_examples=40)
@given(seed=seeds, rank=st.integers(1, 12), decades=st.floats(0, 8), scale=st.floats(1e-6, 1e6), frames=st.booleans())
def test_equal_sets_are_at_no_distance_singular_graded_or_scaled(
    seed: int, rank: int, decades: float, scale: float, frames: bool
) -> None:
    rng = np.random.default_rng(seed)
    spread = np.geomspace(1.0, 10.0**-decades, 12)
    spread[rank:] = 0.0
    rows = scale * (rng.normal(size=(50, 12)) * spread) @ np.linalg.qr(rng.normal(size=(12, 12)))[0]
    trace = float(rows.var(axis=0, ddof=1).sum())
    if frames:
        found = frechet_distance(rows, rng.permutation(rows))
    else:
        side = Moments(50, rows.mean(axis=0), np.cov(rows, rowvar=False))
        found = frechet_of_moments(side, side)
    assert 0.0 <= found <= 1e-9 * trace


@settings(deadline=None, max_examples=30)
@given(seed=seeds, apart=st.floats(-9, -1))
def test_nearly_equal_sets_are_as_far_apart_as_they_were_scaled(seed: int, apart: float) -> None:
    rows = np.random.default_rng(seed).normal(size=(60, 8))
    rows -= rows.mean(axis=0)
    trace = float(rows.var(axis=0, ddof=1).sum())
    stretched = 1.0 + 10.0**apart
    expected = (stretched - 1.0) ** 2 * trace  # deviations s and t of the same directions: Σ (s − t)²
    assert frechet_distance(rows, stretched * rows) == pytest.approx(expected, rel=1e-6, abs=1e-12 * trace)


@settings(deadline=None, max_examples=40)
@given(
    made=st.lists(st.tuples(st.integers(-99, 99), st.integers(-99, 99)), min_size=3, max_size=9),
    real=st.lists(st.tuples(st.integers(-99, 99), st.integers(-99, 99)), min_size=3, max_size=9),
)
def test_in_two_dimensions_it_is_the_exact_number(made: list[tuple[int, int]], real: list[tuple[int, int]]) -> None:
    exact, traces = in_exact_numbers(made, real)
    found = frechet_distance(np.array(made, float), np.array(real, float))
    assert found == pytest.approx(exact, rel=1e-9, abs=1e-10 * traces)


@settings(deadline=None, max_examples=30)
@given(seed=seeds, made=st.integers(2, 40), real=st.integers(2, 40), wide=st.integers(1, 20))
def test_both_orders_give_the_same_bits_and_nothing_is_negative(seed: int, made: int, real: int, wide: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(made, wide)), np.abs(rng.normal(size=(real, wide)))
    distance = frechet_distance(first, second)
    assert distance == frechet_distance(second, first) >= 0.0
    sides = [Moments(len(x), x.mean(axis=0), np.atleast_2d(np.cov(x, rowvar=False))) for x in (first, second)]
    assert frechet_of_moments(*sides) == frechet_of_moments(*sides[::-1]) >= 0.0


def test_healthy_covariances_need_no_second_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deviations over three decades, as pooled features have them, take the quick way; dead channels do not."""
    asked: list[str] = []
    quick = roots_module.trace_of_root

    def watched(first: np.ndarray, second: np.ndarray, otherwise: object) -> float:
        def second_way() -> float:
            asked.append("singular values")
            return float(otherwise())  # type: ignore[operator]  # the function that was given

        return quick(first, second, second_way)

    monkeypatch.setattr("evenhand.metrics.distances.frechet.trace_of_root", watched)
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(600, 128)) * np.geomspace(1.0, 1e-3, 128) @ np.linalg.qr(rng.normal(size=(128, 128)))[0]
    frechet_distance(rows[:300], rows[300:])
    assert asked == []
    rows[:, 5] = 0.0
    frechet_distance(rows[:300], rows[300:])
    assert asked == ["singular values"]


def in_exact_numbers(made: list[tuple[int, int]], real: list[tuple[int, int]]) -> tuple[float, float]:
    """The distance of points in the plane, and the traces: fractions, and roots with fifty digits.

    tr √(C₁C₂) is √(tr C₁C₂ + 2 √(det C₁ det C₂)) for two by two matrices.
    """
    (mean_1, cov_1), (mean_2, cov_2) = exact_moments(made), exact_moments(real)
    (a, b, c), (d, e, f) = cov_1, cov_2
    apart = sum(((x - y) ** 2 for x, y in zip(mean_1, mean_2, strict=True)), Fraction(0))
    with localcontext() as context:
        context.prec = 50
        root = (decimal(a * d + 2 * b * e + c * f) + 2 * decimal((a * c - b * b) * (d * f - e * e)).sqrt()).sqrt()
        return float(decimal(apart + a + c + d + f) - 2 * root), float(a + c + d + f)


def exact_moments(points: list[tuple[int, int]]) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, ...]]:
    """Mean and (xx, xy, yy) of the covariance, as fractions."""
    n = len(points)
    x, y = (Fraction(sum(point[axis] for point in points), n) for axis in (0, 1))
    centred = [(px - x, py - y) for px, py in points]
    sums = (sum((p * p for p, _ in centred), Fraction(0)), sum((p * q for p, q in centred), Fraction(0)))
    return (x, y), (sums[0] / (n - 1), sums[1] / (n - 1), sum((q * q for _, q in centred), Fraction(0)) / (n - 1))


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
