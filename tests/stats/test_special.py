"""Special functions beside SciPy's: over wide ranges, far out in the tails, and with extreme parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy
from numpy.typing import NDArray
from scipy import special as scipy_special
from scipy import stats

from evenhand.stats import distributions
from evenhand.stats.ranks import exact_mann_whitney

ACCURACY = 0.0 if scipy.__version__ >= "1.17" else 1e-10  # of SciPy: its older beta functions have fewer digits
SMALLEST = 1e-290  # below, numbers lose their own digits


def agree(ours: NDArray[np.float64], theirs: NDArray[np.float64], relative: float) -> None:
    there = np.abs(theirs) > SMALLEST
    assert there.any()
    np.testing.assert_allclose(ours[there], theirs[there], rtol=max(relative, ACCURACY), atol=0)
    assert np.all(np.abs(ours[~there]) < 1e-280)


def test_normal_tails_are_those_of_scipy_to_the_far_end() -> None:
    z = np.concatenate([np.linspace(-12, 36, 20_001), [0.0, 1e300, np.inf]])
    agree(
        distributions.normal_above(z), scipy_special.ndtr(-z), 3e-13
    )  # SciPy loses digits beyond 30, as its square does
    near = z[np.abs(z) < 8]
    agree(distributions.normal_above(near), scipy_special.ndtr(-near), 2e-14)
    assert np.isnan(distributions.normal_above(np.nan))
    assert distributions.normal_above(37.1) == pytest.approx(1.4386e-301, rel=0.2)


@pytest.mark.parametrize(("least", "most", "relative"), [(-1, 2, 1e-13), (2, 4, 1e-13), (4, 6, 1e-12)])
def test_incomplete_beta_functions_are_those_of_scipy(least: float, most: float, relative: float) -> None:
    rng = np.random.default_rng(5)
    a, b = 10 ** rng.uniform(least, most, 1000), 10 ** rng.uniform(least, most, 1000)
    x = rng.beta(a, b).clip(1e-12, 1 - 1e-12)
    agree(distributions.beta_below(a, b, x), scipy_special.betainc(a, b, x), relative)
    low = x * rng.uniform(0.5, 1.0, 1000)
    agree(distributions.beta_below(a, b, low), scipy_special.betainc(a, b, low), 1e-11)


def test_a_beta_distribution_of_one_row_is_a_power() -> None:
    x = np.linspace(0, 1, 101)
    agree(distributions.beta_below(7.0, 1.0, x), x**7, 1e-14)
    agree(distributions.beta_below(1.0, 7.0, x), -np.expm1(7 * np.log1p(-x.clip(max=1 - 1e-16))), 1e-13)


@pytest.mark.parametrize("degrees", [0.3, 1, 2.5, 5, 29, 29.9, 30, 31.5, 100, 1e3, 1e5, 1e7])
def test_tails_of_t_are_those_of_scipy(degrees: float) -> None:
    t = np.concatenate([np.linspace(0, 30, 2001), 10 ** np.linspace(1.5, 6, 100)])
    ours = distributions.t_outside(t, np.full(len(t), degrees))
    agree(ours, 2 * scipy_special.stdtr(degrees, -t), 5e-13)
    agree(ours[t < 6], 2 * scipy_special.stdtr(degrees, -t[t < 6]), 3e-14)
    assert distributions.t_outside(np.inf, degrees) == 0


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99, 0.999999])
def test_quantiles_of_t_are_those_of_scipy(confidence: float) -> None:
    degrees = np.concatenate([[0.5, 1, 1.7, 2, 3], np.geomspace(4, 1e8, 60)])
    agree(distributions.t_quantile(confidence, degrees), scipy_special.stdtrit(degrees, 0.5 + confidence / 2), 1e-13)
    assert np.isnan(distributions.t_quantile(confidence, [0.0, np.nan])).all()


@pytest.mark.parametrize("degrees", [1, 2, 3, 10, 117, 1000])
def test_tails_of_chi_square_are_those_of_scipy(degrees: int) -> None:
    statistics = np.linspace(0, 3 * degrees + 40, 200)
    ours = np.array([distributions.chi_square_above(x, degrees) for x in statistics.tolist()])
    agree(ours, scipy_special.chdtrc(degrees, statistics), 1e-12)
    assert math.isnan(distributions.chi_square_above(math.nan, degrees))


@pytest.mark.parametrize(("degrees", "free"), [(1, 1), (3, 40), (117, 5), (20, 10_000)])
def test_tails_of_f_are_those_of_scipy(degrees: int, free: int) -> None:
    statistics = np.linspace(0, 12, 50)
    ours = np.array([distributions.f_above(x, degrees, free) for x in statistics.tolist()])
    agree(ours, scipy_special.fdtrc(degrees, free, statistics), 1e-12)


@pytest.mark.parametrize("tail", [0.0005, 0.025, 0.25])
def test_quantiles_of_beta_distributions_are_those_of_scipy(tail: float) -> None:
    events, rows = np.repeat(np.arange(1, 30), 3), np.tile([30, 1000, 10**6], 29)
    low = distributions.beta_quantile(events, rows - events + 1, tail, 1 - tail)
    agree(low, scipy_special.betaincinv(events, rows - events + 1, tail), 1e-13)
    high = distributions.beta_quantile(events + 1, rows - events, 1 - tail, tail)
    agree(high, scipy_special.betaincinv(events + 1, rows - events, 1 - tail), 1e-10)
    # SciPy's own quantiles are only that good; the mass above says how good ours are, where it does not hang on 1 − x.
    few = 2 * events < rows
    above = scipy_special.betaincc(events[few] + 1, rows[few] - events[few], high[few])
    agree(above, np.full(len(above), tail), 1e-12)


def test_without_an_event_the_upper_limit_is_a_root() -> None:
    rows = np.array([1, 20, 10**6, 10**9])
    agree(distributions.beta_quantile(1, rows, 0.975, 0.025), -np.expm1(np.log(0.025) / rows), 1e-13)


def test_logarithms_of_binomial_coefficients_are_exact() -> None:
    total = np.repeat([5.0, 60.0, 1000.0, 12_345.0], 6)
    taken = np.floor(total * np.tile([0, 0.01, 0.2, 0.5, 0.99, 1], 4))
    exact = [math.log(math.comb(int(n), int(k))) for n, k in zip(total, taken, strict=True)]
    np.testing.assert_allclose(distributions.log_choose(total, taken), exact, rtol=1e-13, atol=1e-12)
    few = np.tile(total[:12], 100)  # many of few: looked up in a table
    np.testing.assert_allclose(
        distributions.log_choose(few, np.tile(taken[:12], 100)), np.tile(exact[:12], 100), rtol=1e-13, atol=1e-12
    )


@pytest.mark.parametrize("tosses", [1, 7, 200, 10**5])
def test_fair_coins_are_those_of_scipy(tosses: int) -> None:
    heads = np.unique(np.linspace(0, tosses - 1, 40).astype(int)).astype(np.float64)
    agree(
        distributions.fair_coin(heads, np.full(len(heads), float(tosses))), stats.binom.cdf(heads, tosses, 0.5), 1e-11
    )


@pytest.mark.parametrize(("first", "second"), [(1, 1), (3, 4), (8, 8), (8, 200), (30, 5)])
def test_exact_mann_whitney_tests_are_those_of_scipy(first: int, second: int) -> None:
    rng = np.random.default_rng(first + second)
    a, b = rng.random(first), rng.random(second) + 0.2
    theirs = stats.mannwhitneyu(a, b, method="exact")
    assert exact_mann_whitney(float(theirs.statistic), first, second) == pytest.approx(theirs.pvalue, rel=1e-12)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
def test_quantiles_of_hardly_any_degrees_of_freedom_are_huge_and_never_missing(confidence: float) -> None:
    quantiles = distributions.t_quantile(confidence, [1e-6, 0.001, 0.005, 0.01])
    assert np.isfinite(quantiles).all()
    assert (quantiles > 1e50).all()
