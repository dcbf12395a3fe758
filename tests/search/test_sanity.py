"""What looks wrong about embeddings is said, whatever their size."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.search.sanity import embedding_warnings


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_rows_in_another_order_are_told_whatever_their_length(scale: float) -> None:
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(20), 4)
    vectors = (rng.normal(size=(20, 16))[person] + 0.3 * rng.normal(size=(80, 16))) * scale
    assert embedding_warnings(vectors, person, keeps_lengths=True) == ()
    (warning,) = embedding_warnings(vectors[rng.permutation(80)], person, keeps_lengths=True)
    assert "in another order than the faces" in warning
