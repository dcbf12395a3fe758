"""Every template with every other, tile by tile, reduced at once.

Of n templates there are n·(n−1)/2 pairs: for a million, half a million millions. No score is kept. A worker forms the
product of two ranges of the store, hands it to a function that makes an addable state of it (counts of scores, the
best of a row), and forgets it. The states are added along the fixed tree, so the bits do not depend on the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenhand.core.engine import Addable, Engine, Serial, Workplace, finished, total
from evenhand.search.one_to_many import scaled, scales
from evenhand.search.stores import EmbeddingStore

_TILE = 2048

A = TypeVar("A", bound=Addable)


class ComparedRanges(NamedTuple):
    """The comparisons of two ranges of templates, each pair once: scores, and the rows of the store on both sides."""

    score: NDArray[np.float32]  # −∞ where one side failed to enrol
    first: NDArray[np.int32]
    second: NDArray[np.int32]


def all_pairs(
    store: EmbeddingStore, reduce: Callable[[ComparedRanges], A], *, engine: Engine | None = None
) -> A | None:
    """The sum of `reduce` over all pairs of different rows of a store; None when there are none.

    `reduce` must be a function of a module, or a partial of one, where it is sent to other processes.
    """
    engine = Serial() if engine is None else engine
    scale = scales(store, engine)
    outcomes = engine.map(partial(_reduce_tile, store, reduce), list(_tiles(len(store))), shared=(scale,))
    return total(state for state in finished(outcomes, "tile") if state is not None)


def _tiles(size: int) -> Iterator[tuple[int, int]]:
    for first in range(0, size, _TILE):
        for second in range(first, size, _TILE):
            yield first, second


def _reduce_tile(
    store: EmbeddingStore, reduce: Callable[[ComparedRanges], A], corner: tuple[int, int], place: Workplace
) -> A | None:
    (scale,) = place.shared
    first, second = corner
    left, right = scale[first : first + _TILE], scale[second : second + _TILE]
    a, b = scaled(store.rows(first, first + _TILE), left), scaled(store.rows(second, second + _TILE), right)
    product = a @ b.T
    product[left == 0] = -np.inf
    product[:, right == 0] = -np.inf
    if first == second:
        row, column = np.triu_indices(len(a), 1)
        if not len(row):
            return None
        score = product[row, column]
    else:
        row, column = np.divmod(np.arange(product.size, dtype=np.int32), np.int32(len(b)))
        score = product.ravel()
    return reduce(ComparedRanges(score, (row + first).astype(np.int32), (column + second).astype(np.int32)))
