"""Gaps under permuted labels."""

import numpy as np
import pytest
from reference_statistics import exact_gap_reference

from evenhand.core.sparse import SparseMatrix
from evenhand.core.streams import stream
from evenhand.stats.contrasts import chi_square, chi_square_statistic
from evenhand.stats.permutation import (
    Permuted,
    gap_of,
    gap_reference,
    membership_patterns,
    permute_labels,
    permuted_test,
)


def test_group_sizes_and_the_total_survive_a_permutation_of_rows() -> None:
    values = np.random.default_rng(0).random(60)
    labels = np.repeat([0, 1, 2], [10, 20, 30])
    dealt = permute_labels(values, np.ones(60), labels, 3, 50, stream("test"))
    assert np.all(dealt.counts == [10, 20, 30])
    assert dealt.sums.sum(axis=1) == pytest.approx(values.sum())


def test_the_direct_draw_of_binary_rows_has_the_distribution_of_shuffling() -> None:
    values = np.array([1.0] * 12 + [0.0] * 18)
    labels = np.repeat([0, 1], [10, 20])
    direct = permute_labels(values, np.ones(30), labels, 2, 4000, stream("direct"))
    shuffled = permute_labels(values * 0.5, np.ones(30), labels, 2, 4000, stream("shuffled"))
    assert gap_of(direct.means).mean() == pytest.approx(2 * gap_of(shuffled.means).mean(), abs=0.01)


def test_whole_clusters_change_places() -> None:
    dealt = permute_labels([5, 0, 3], [5, 2, 3], [0, 0, 1], 2, 20, stream("test"))
    assert {tuple(row) for row in dealt.counts.tolist()} <= {(7.0, 3.0), (8.0, 2.0), (5.0, 5.0)}


def test_who_belongs_to_two_groups_does_so_after_the_permutation() -> None:
    membership = np.array([[True, True], [True, False], [False, True]])
    first, codes = membership_patterns(SparseMatrix.of_table(membership))
    labelled = permute_labels([1.0, 0.0, 0.0], [1.0, 1.0, 1.0], codes, len(first), 30, stream("test"))
    dealt = Permuted(labelled.sums @ membership[first], labelled.counts @ membership[first])
    assert np.all(dealt.counts == 2)


def test_random_permutations_approach_the_exact_reference() -> None:
    values, labels = np.array([1, 1, 1, 1, 1, 0, 0, 0, 0.0]), np.repeat([0, 1, 2], 3)
    exact = exact_gap_reference(values, labels, 3)
    dealt = permute_labels(values, np.ones(9), labels, 3, 5000, stream("test"))
    found = gap_reference(exact.gap, gap_of(dealt.means))
    assert found is not None
    assert found.p == pytest.approx(exact.p_value, abs=0.02)
    assert found.mean == pytest.approx(exact.mean, abs=0.02)
    assert found.excess == pytest.approx(exact.gap - found.mean)


def test_a_gap_without_any_comparable_permutation_has_no_reference() -> None:
    assert gap_reference(0.1, [np.nan]) is None


def test_a_permuted_chi_square_serves_small_counts() -> None:
    values, labels = np.array([1.0] * 4 + [0.0] * 36), np.repeat([0, 1], 20)
    plain = chi_square(np.bincount(labels, values), np.bincount(labels))
    dealt = permute_labels(values, np.ones(40), labels, 2, 500, stream("test"))
    found = permuted_test(plain, chi_square_statistic(dealt.sums, dealt.counts))
    assert (plain.method, found.method) == ("chi_square_small", "chi_square_permutation")
    assert found.p_value == pytest.approx(0.106, abs=0.05)  # Fisher's test of 4 of 20 against 0 of 20
