"""Distances between sets of frames: exact, symmetric, never negative, the same for groups as for selections."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from evenhand.core.errors import DataError
from evenhand.core.metric import Resampling, Undefined
from evenhand.core.records import Records
from evenhand.metrics.distances import (
    Frechet,
    FrechetOfMoments,
    InceptionScore,
    KernelDistance,
    Neighbours,
    frechet_distance,
    frechet_of_moments,
    inception_score,
    kernel_distance,
    neighbourhood,
)
from evenhand.metrics.distances.frechet import Moments


def by_definition(first: np.ndarray, second: np.ndarray) -> float:
    """The definition: the trace of the root is the sum of the roots of the product's eigenvalues."""
    first, second = first.astype(np.float64), second.astype(np.float64)
    c1, c2 = np.atleast_2d(np.cov(first, rowvar=False)), np.atleast_2d(np.cov(second, rowvar=False))
    roots = np.sqrt(np.maximum(linalg.eigvals(c1 @ c2).real, 0.0))
    difference = first.mean(axis=0) - second.mean(axis=0)
    return float(difference @ difference + np.trace(c1) + np.trace(c2) - 2 * roots.sum())


def two_sets(seed: int, n: int, m: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(d, d)) / np.sqrt(d)
    return rng.normal(size=(n, d)) @ mix + 0.3, np.abs(rng.normal(size=(m, d)))


def frames(made: np.ndarray, real: np.ndarray) -> Records:
    side = np.r_[np.ones(len(made), bool), np.zeros(len(real), bool)]
    return Records({"features": np.concatenate([made, real]), "synthesised": side}, {})


@pytest.mark.parametrize(("n", "m", "d"), [(300, 200, 20), (50, 400, 64), (200, 200, 64), (64, 64, 64)])
def test_the_frechet_distance_is_that_of_its_definition(n: int, m: int, d: int) -> None:
    made, real = two_sets(1, n, m, d)
    assert frechet_distance(made, real) == pytest.approx(by_definition(made, real), rel=1e-6)


@pytest.mark.slow
def test_at_the_size_of_inception_features_it_is_that_of_the_matrix_square_root() -> None:
    made, real = two_sets(2, 2600, 2500, 2048)
    c1, c2 = np.cov(made, rowvar=False), np.cov(real, rowvar=False)
    difference = made.mean(axis=0) - real.mean(axis=0)
    root = float(np.trace(linalg.sqrtm(c1 @ c2)).real)
    expected = float(difference @ difference + np.trace(c1) + np.trace(c2)) - 2 * root
    assert frechet_distance(made, real) == pytest.approx(expected, rel=1e-6)


def test_one_dimension_can_be_checked_on_paper() -> None:
    # means 1 and 4, deviations √2 and √8: 9 + 2 + 8 − 2·4
    assert frechet_distance(np.array([[0.0], [2.0]]), np.array([[2.0], [6.0]])) == pytest.approx(11.0)


@pytest.mark.parametrize("d", [8, 64, 400])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_equal_sets_are_at_no_distance(d: int, scale: float) -> None:
    rows = np.random.default_rng(d).normal(size=(100, d)) * scale + 5 * scale
    trace = float(rows.var(axis=0, ddof=1).sum())
    assert 0.0 <= frechet_distance(rows, rows[::-1]) <= 1e-9 * trace


@pytest.mark.parametrize(("n", "m", "d"), [(30, 30, 200), (500, 40, 64), (90, 120, 16)])
def test_the_order_of_the_two_sets_does_not_matter(n: int, m: int, d: int) -> None:
    made, real = two_sets(3, n, m, d)
    assert frechet_distance(made, real) == frechet_distance(real, made)


def test_dead_channels_and_repeated_rows_do_no_harm() -> None:
    made, real = two_sets(5, 300, 300, 24)
    made[:, :6] = 0.0
    real[:, 3:8] = 1.0
    real[200:] = real[:100]
    assert frechet_distance(made, real) == pytest.approx(by_definition(made, real), rel=1e-6)
    assert frechet_distance(np.ones((40, 8)), np.ones((40, 8))) == 0.0


def test_values_far_from_zero_keep_their_digits() -> None:
    made, real = two_sets(7, 40, 40, 100)
    assert frechet_distance(made + 1e5, real + 1e5) == pytest.approx(frechet_distance(made, real), rel=1e-8)


def test_one_row_or_vectors_of_unequal_length_are_refused() -> None:
    rows = np.random.default_rng(0).normal(size=(5, 4))
    with pytest.raises(DataError, match="at least two rows on each side; there are 1 and 5"):
        frechet_distance(rows[:1], rows)
    with pytest.raises(DataError, match="at least two rows on each side; there are 1 and 1"):
        frechet_distance(rows[:1], rows[:1])
    with pytest.raises(DataError, match="vectors of 4 and of 3 values"):
        frechet_distance(rows, rows[:, :3])
    with pytest.raises(DataError, match="not finite"):
        frechet_distance(np.full((3, 4), np.nan), rows)


def test_moments_give_the_same_distance_as_rows() -> None:
    made, real = two_sets(9, 500, 400, 12)
    sides = [Moments(len(x), x.mean(axis=0), np.cov(x, rowvar=False)) for x in (made, real)]
    assert frechet_of_moments(*sides) == pytest.approx(frechet_distance(made, real), rel=1e-9)
    rows = frames(made, real)
    metric = FrechetOfMoments("fd", "features")
    found = metric.result(metric.measure(rows), metric.measure(rows))["distance"][0]
    assert found == pytest.approx(frechet_distance(made, real), rel=1e-9)


@pytest.mark.parametrize("d", [6, 90])
def test_every_group_is_a_submatrix_of_one_whole(d: int) -> None:
    made, real = two_sets(11, 60, 80, d)
    rows = frames(made, real)
    cells = np.random.default_rng(2).integers(0, 4, len(rows))
    metric = Frechet("fd", "features")
    groups = np.array([[1, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1]])
    together = metric.result(metric.measure(rows, cells, 4).weigh(groups), metric.measure(rows))["distance"]
    for row, group in enumerate(groups):
        keep = group[cells] == 1
        side = rows["synthesised"]
        expected = frechet_distance(rows["features"][keep & side], rows["features"][keep & ~side])
        assert together[row] == pytest.approx(expected, rel=1e-9)


def test_a_group_without_enough_frames_is_undefined_with_a_reason() -> None:
    made, real = two_sets(13, 1, 5, 4)
    rows = frames(made, real)
    for metric in (Frechet("fd", "features"), FrechetOfMoments("fd", "features"), KernelDistance("kid", "features")):
        found = metric.result(metric.measure(rows), metric.measure(rows))["distance"][0]
        assert isinstance(found, Undefined)
        assert "1 synthesised and 5 real" in found.reason


def test_no_frames_at_all_have_the_value_that_a_publication_gives_them() -> None:
    rows = frames(np.zeros((0, 4)), np.zeros((0, 4)))
    metric = Frechet("fd", "features", nothing=0.0)
    assert metric.result(metric.measure(rows), metric.measure(rows))["distance"][0] == 0.0


def test_frames_without_features_are_left_out_and_counted() -> None:
    made, real = two_sets(15, 30, 30, 5)
    spoilt = made.copy()
    spoilt[:4] = np.nan
    rows = frames(spoilt, real)
    metric = Frechet("fd", "features")
    state = metric.measure(rows)
    assert metric.result(state, state)["distance"][0] == pytest.approx(frechet_distance(made[4:], real))
    assert metric.missing(state).tolist() == [4]


def test_set_metrics_are_not_bootstrapped() -> None:
    for metric in (Frechet("a", "f"), KernelDistance("b", "f"), InceptionScore("c", "f"), Neighbours("d", "f")):
        assert metric.resampling is Resampling.SUBSAMPLE


def test_the_kernel_distance_is_the_mean_over_pairs_of_different_frames() -> None:
    made, real = two_sets(17, 12, 9, 6)

    def kernel(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (x @ y.T / 6 + 1) ** 3

    def within(x: np.ndarray) -> float:
        k = kernel(x, x)
        return float((k.sum() - np.trace(k)) / (len(x) * (len(x) - 1)))

    expected = within(made) + within(real) - 2 * float(kernel(made, real).mean())
    assert kernel_distance(made, real) == pytest.approx(expected, rel=1e-12)


def test_the_kernel_distance_does_not_grow_when_sets_get_smaller() -> None:
    rng = np.random.default_rng(19)
    real = rng.normal(size=(300, 8))
    small = [kernel_distance(rng.normal(size=(12, 8)), real) for _ in range(60)]
    spread = float(np.std(small)) / np.sqrt(len(small))
    assert abs(float(np.mean(small))) < 4 * spread + abs(kernel_distance(rng.normal(size=(300, 8)), real))
    biased = [frechet_distance(rng.normal(size=(12, 8)), real) for _ in range(10)]
    assert min(biased) > frechet_distance(rng.normal(size=(300, 8)), real)


def test_the_inception_score_of_sure_and_even_frames_is_the_number_of_classes() -> None:
    assert inception_score(np.eye(5) * 100).mean == pytest.approx(5.0)
    assert inception_score(np.zeros((7, 5))).mean == pytest.approx(1.0)
    assert inception_score(np.eye(5)[[0, 0, 0]] * 100).mean == pytest.approx(1.0)


def test_a_probability_that_underflows_adds_nothing() -> None:
    logits = np.array([[0.0, 2000.0], [2000.0, 0.0]], dtype=np.float32)
    assert inception_score(logits).mean == pytest.approx(2.0)


def test_splits_give_a_mean_and_a_deviation() -> None:
    logits = np.random.default_rng(21).normal(size=(64, 6)) * 3
    value = inception_score(logits, rows_per_split=32)
    halves = [inception_score(logits[:32]).mean, inception_score(logits[32:]).mean]
    assert value.mean == pytest.approx(np.mean(halves))
    assert value.deviation == pytest.approx(np.std(halves))
    assert value.splits == 2
    with pytest.raises(DataError, match="at least one row"):
        inception_score(np.zeros((0, 4)))


def test_only_synthesised_frames_count_for_the_inception_score() -> None:
    made, real = np.eye(4) * 50, np.zeros((9, 4))
    metric = InceptionScore("is", "features")
    state = metric.measure(frames(made, real))
    assert metric.result(state, state)["score"][0] == pytest.approx(4.0)


def test_precision_recall_density_and_coverage_by_hand() -> None:
    real = np.array([[0.0], [1.0], [2.0], [10.0]])
    made = np.array([[0.5], [1.5], [50.0], [50.5]])
    # Nearest real neighbours: 1, 1, 1 and 8 away; nearest made ones: 1, 1, 0.5 and 0.5.
    found = neighbourhood(made, real, nearest=1)
    assert found.precision == 0.5  # 0.5 and 1.5 are inside real balls
    assert found.recall == 0.75  # 0, 1 and 2 lie within 1 of 0.5 or 1.5
    assert found.density == (2 + 2) / 4  # 0.5 lies in the balls of 0 and 1; 1.5 in those of 1 and 2
    assert found.coverage == 0.75  # the ball of 10 reaches down to 2 and holds nobody


def test_balls_need_more_frames_than_neighbours() -> None:
    with pytest.raises(DataError, match="at least 6 rows"):
        neighbourhood(np.zeros((5, 2)), np.zeros((9, 2)))
    rows = frames(np.zeros((3, 2)), np.zeros((9, 2)))
    metric = Neighbours("prdc", "features")
    found = metric.result(metric.measure(rows), metric.measure(rows))
    assert all(isinstance(column[0], Undefined) for column in found.values())
