"""Operating points of all pairs of a store of embeddings, by group, in bounded memory.

Every pair is formed twice, once for each pass of `metrics.score_stream`; nothing of the size of the pairs is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from evenhand.core.engine import Engine
from evenhand.core.errors import DataError
from evenhand.core.records import Array
from evenhand.metrics.score_stream import (
    BinCounts,
    ExactScores,
    PointOfGroup,
    count,
    look,
    pair_blocks,
    points_by_group,
    wanted_bins,
)
from evenhand.search.all_pairs import ComparedRanges, all_pairs
from evenhand.search.stores import EmbeddingStore


def points_of_all_pairs(
    store: EmbeddingStore,
    person: Array,
    group: Array,
    names: Sequence[str],
    rates: Sequence[float],
    *,
    engine: Engine | None = None,
) -> list[PointOfGroup]:
    """TAR at the given false match rates over all pairs, for everyone and for pairs within each group.

    `person` and `group` (a place in `names`; −1: unknown) belong to the rows of the store.
    """
    person, group = np.asarray(person), np.asarray(group)
    if not len(store) == len(person) == len(group):
        raise DataError(f"The store has {len(store):,} embeddings, {len(person):,} people and {len(group):,} groups.")
    if len(group) and int(group.max()) >= len(names):
        raise DataError(f"Group {int(group.max())} has no name; {len(names)} names were given.")
    groups: Mapping[str, Sequence[int]] = {name: [cell] for cell, name in enumerate(names)}
    counted = all_pairs(store, partial(_count, person, group, len(names)), engine=engine)
    if counted is None:
        raise DataError("A store of fewer than two embeddings has no pairs.")
    wanted = wanted_bins(counted, groups, rates)
    exact_scores = all_pairs(store, partial(_look, person, group, wanted), engine=engine)
    assert exact_scores is not None
    return points_by_group(counted, exact_scores, groups, rates)


def _count(person: Array, group: Array, cells: int, pairs: ComparedRanges) -> BinCounts:
    return count(pair_blocks(pairs.score, pairs.first, pairs.second, person, group), cells)


def _look(person: Array, group: Array, wanted: NDArray[np.bool_], pairs: ComparedRanges) -> ExactScores:
    return look(pair_blocks(pairs.score, pairs.first, pairs.second, person, group), wanted)
