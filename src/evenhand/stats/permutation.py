"""What a gap would look like if groups made no difference: labels dealt out again.

Group labels are permuted over clusters (over rows, where there are none), and the gap
between the best and the worst group is measured each time. The mean of these gaps is what
chance alone shows; a gap is reported together with it, never alone.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evenhand.core.records import blocks
from evenhand.core.results import Reference
from evenhand.core.sparse import SparseMatrix
from evenhand.core.streams import stream
from evenhand.stats.checks import Floats, Integers, divide, floats, summed
from evenhand.stats.ranks import OmnibusTest

MANY_CLUSTERS = 20_000
"""From so many clusters on, sums under permutation are drawn from the distribution that they tend to."""
_DRAWN_AT_ONCE = 4_000_000  # labels, or sums of them
_FEW_OF_A_LABEL = 200  # clusters of a label that are drawn one by one all the same


class Permuted(NamedTuple):
    """Sums and counts of every group under permuted labels (permutations × groups)."""

    sums: Floats
    counts: Floats

    @property
    def means(self) -> Floats:
        """The groups' means; NaN where a group got no rows."""
        return divide(self.sums, self.counts)


def permute_labels(
    sums: ArrayLike, counts: ArrayLike, labels: ArrayLike, size: int, permutations: int, rng: np.random.Generator
) -> Permuted:
    """Group sums and counts with the labels dealt out anew over clusters.

    One entry for each cluster: the sum and number of its rows, and its one group. A cluster
    that belongs to several groups, or to none, is labelled by its pattern of groups: see `membership_patterns`.
    When all clusters have one row and values are 0 or 1 the permuted sums are drawn directly
    from their (hypergeometric) distribution.
    """
    s, n = floats(sums), floats(counts)
    g = np.asarray(labels)
    if np.all(n == 1) and np.all((s == 0) | (s == 1)):
        return permute_events(np.bincount(g, minlength=size), int(s.sum()), permutations, rng)
    if len(s) >= MANY_CLUSTERS:
        return _large_sample(s, n, np.bincount(g, minlength=size), permutations, rng)
    out_sums, out_counts = np.zeros((permutations, size)), np.zeros((permutations, size))
    alike = bool(np.all(n == n[:1]))
    if alike:
        out_counts[:] = summed(g, n, size)
    # The same permutations, whatever the type; those of short numbers stay in the cache.
    short = g.astype(np.int16 if int(g.max(initial=0)) < 2**15 else np.int64)
    for block in blocks(permutations, max(1, _DRAWN_AT_ONCE // max(len(g), 1))):
        rows = range(block.start, block.stop)
        for row, dealt in zip(rows, rng.permuted(np.broadcast_to(short, (len(rows), len(g))), axis=1), strict=True):
            out_sums[row] = np.bincount(dealt, s, minlength=size)
            if not alike:
                out_counts[row] = np.bincount(dealt, n, minlength=size)
    return Permuted(out_sums, out_counts)


def permute_events(sizes: Integers, events: int, permutations: int, rng: np.random.Generator) -> Permuted:
    """Group sums and counts with so many events dealt out over rows, of which each group has `sizes`."""
    drawn = np.empty((permutations, len(sizes)))
    for part in blocks(permutations, max(1, _DRAWN_AT_ONCE // max(len(sizes), 1))):
        many = part.stop - part.start
        drawn[part] = rng.multivariate_hypergeometric(sizes, events, size=many, method="marginals")
    return Permuted(drawn, np.broadcast_to(sizes.astype(np.float64), drawn.shape))


def _large_sample(s: Floats, n: Floats, sizes: Integers, permutations: int, rng: np.random.Generator) -> Permuted:
    """Sums and counts of labels of these sizes, dealt out over very many clusters.

    The sum over k of K clusters that are dealt at random has mean k·μ and covariance (k·δ − k·k′/K)·Σ: that of
    independent sums, less each label's share of their total. Sums of large labels are normal, those of small labels
    are drawn cluster by cluster.
    """
    clusters = len(s)
    both = np.stack([s, n], axis=1)
    centred = both - both.mean(axis=0)
    values, axes = np.linalg.eigh(centred.T @ centred / (clusters - 1))
    root = axes * np.sqrt(values.clip(0))
    sums = np.zeros((permutations, len(sizes), 2))
    for label, k in enumerate(sizes.tolist()):
        if k > _FEW_OF_A_LABEL:
            sums[:, label] = np.sqrt(k) * rng.standard_normal((permutations, 2)) @ root.T
        elif k:
            sums[:, label] = centred[rng.integers(0, clusters, (permutations, k))].sum(axis=1)
    share = sizes / clusters
    sums -= share[:, None] * sums.sum(axis=1, keepdims=True)
    sums += sizes[:, None] * both.mean(axis=0)
    return Permuted(sums[:, :, 0], sums[:, :, 1].clip(0))


def membership_patterns(membership: SparseMatrix, *, by_sums: bool = False) -> tuple[Integers, Integers]:
    """A cluster of each pattern of memberships (clusters × groups), and the pattern of each cluster.

    With patterns as labels, who belongs to two groups does so after a permutation too. `by_sums`, for tables that are
    too large to be written out: patterns are distinguished by two sums of random whole numbers, one for each group; two
    patterns with equal sums are not to be expected.
    """
    if by_sums:
        sums = membership @ stream("patterns").integers(1, 2**38, (membership.width, 2)).astype(np.float64)
        keys = sums.view(np.complex128)  # sorted by the first sum, then by the second
    else:
        table = np.zeros(membership.shape, dtype=np.bool_)
        table[membership.row_of, membership.columns] = True
        packed = np.ascontiguousarray(np.packbits(table, axis=1))
        keys = packed.view(np.dtype((np.void, packed.shape[1])))
    _, first, codes = np.unique(keys.ravel(), return_index=True, return_inverse=True)
    return first, codes.reshape(-1).astype(np.int64)


def gap_of(values: ArrayLike) -> Floats:
    """Largest minus smallest value along the last axis, skipping NaN; NaN with fewer than two values.

    >>> gap_of([[0.5, 0.75, np.nan], [np.nan, np.nan, 0.5]])
    array([0.25,  nan])
    """
    x = floats(values)
    there = ~np.isnan(x)
    highest = np.where(there, x, -np.inf).max(axis=-1)
    lowest = np.where(there, x, np.inf).min(axis=-1)
    enough = there.sum(axis=-1) >= 2
    return floats(np.where(enough, np.where(enough, highest, 0.0) - np.where(enough, lowest, 0.0), np.nan))


def gap_reference(gap: float, null_gaps: ArrayLike) -> Reference | None:
    """A gap beside its null distribution: mean, 95th percentile, p = (1 + #{gap* ≥ gap})/(R + 1).

    Gaps that are equal up to rounding count as equal. Permutations without two groups are left out; None when none is
    left.

    >>> gap_reference(0.3, [0.1, 0.2, 0.3]).p
    0.5
    """
    null = floats(null_gaps).ravel()
    null = null[~np.isnan(null)]
    if not len(null):
        return None
    reached = int(np.count_nonzero(null >= gap - 1e-12 * max(1.0, abs(gap))))
    mean, p = float(null.mean()), (1 + reached) / (len(null) + 1)
    return Reference(len(null), mean, float(np.quantile(null, 0.95)), p, gap - mean)


def permuted_test(plain: OmnibusTest, null: ArrayLike) -> OmnibusTest:
    """The same χ² statistic, judged by its permuted values."""
    drawn = floats(null)
    reached = int(np.count_nonzero(drawn >= plain.statistic * (1 - 1e-12)))
    p = (1 + reached) / (len(drawn) + 1)
    return OmnibusTest(plain.statistic, plain.degrees, p, "chi_square_permutation")
