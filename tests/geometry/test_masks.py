"""Masks as pictures, polygons and run lengths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools import mask as coco

from evenhand.geometry import masks
from evenhand.geometry.masks import MaskError, Runs

pictures = st.tuples(
    st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32 - 1), st.sampled_from([0, 0.1, 0.5, 1])
)


def picture(height: int, width: int, seed: int, share: float) -> np.ndarray:
    return np.random.default_rng(seed).random((height, width)) < share


@given(pictures)
def test_our_run_lengths_are_those_of_the_formats_own_code(made: tuple[int, int, int, float]) -> None:
    mask = picture(*made)
    theirs = coco.encode(np.asfortranarray(mask.astype(np.uint8)))
    assert masks.encode(mask).counts == theirs["counts"].decode()


@given(pictures)
def test_decoding_gives_back_what_was_encoded(made: tuple[int, int, int, float]) -> None:
    mask = picture(*made)
    runs = masks.encode(mask)
    assert (masks.decode(runs) == mask).all()
    assert masks.area(runs) == mask.sum()


@given(st.lists(pictures, max_size=6))
def test_many_masks_are_read_at_once_as_one_by_one(made: list[tuple[int, int, int, float]]) -> None:
    runs = [masks.encode(picture(*one)) for one in made]
    together = masks.expand_all(runs)
    assert [lengths.tolist() for lengths in together] == [masks.expand(one).tolist() for one in runs]


def test_the_damaged_one_among_many_masks_is_found() -> None:
    with pytest.raises(MaskError, match="cover 3 pixels"):
        masks.expand_all([Runs(2, 2, "22"), Runs(2, 2, "12"), Runs(2, 2, "04")])


@given(pictures, st.integers(0, 2**32 - 1))
def test_overlap_on_run_lengths_equals_overlap_on_pixels(made: tuple[int, int, int, float], seed: int) -> None:
    first = picture(*made)
    second = picture(made[0], made[1], seed, 0.5)
    on_runs = masks.overlap_matrix([masks.encode(first)], [masks.encode(second)])[0, 0]
    either = int((first | second).sum())
    assert on_runs == (int((first & second).sum()) / either if either else 0.0)


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_drawing_on_few_columns_gives_the_mask_of_the_whole_canvas(seed: int) -> None:
    rng = np.random.default_rng(seed)
    height, width = (int(side) for side in rng.integers(3, 40, 2))
    reach = 60 if rng.random() < 0.5 else min(height, width) - 1
    polygons = [rng.uniform(-8 if rng.random() < 0.5 else 0, reach, (int(rng.integers(1, 8)), 2)) for _ in range(3)]
    whole = masks.encode(masks.fill_polygons(polygons, height, width))
    assert masks.runs_of_polygons(polygons, height, width) == whole


def test_one_point_is_a_dot_two_are_a_line_and_none_is_nothing() -> None:
    assert masks.fill_polygons([np.array([[2.9, 1.9]])], 4, 4).sum() == 1
    assert masks.fill_polygons([np.array([[0, 0], [3, 0]])], 4, 4).sum() == 4
    assert masks.fill_polygons([np.zeros((0, 2))], 4, 4).sum() == 0


def test_vertices_are_truncated_toward_zero() -> None:
    assert masks.fill_polygons([np.array([[-0.9, -0.9]])], 3, 3)[0, 0]


def test_two_empty_masks_have_no_overlap() -> None:
    empty = masks.encode(np.zeros((3, 3), dtype=bool))
    assert masks.overlap_matrix([empty], [empty]).tolist() == [[0.0]]
    assert masks.mask_f1(np.zeros((2, 2), bool), np.zeros((2, 2), bool)) is None


@pytest.mark.parametrize("counts", ["", "o", "zzzzzzzzzzzz", "\x01", "2", "é"])
def test_damaged_run_lengths_are_an_error_and_never_read_beyond_the_picture(counts: str) -> None:
    with pytest.raises(MaskError):
        masks.expand(Runs(3, 3, counts))


def test_masks_of_different_sizes_are_not_compared() -> None:
    with pytest.raises(MaskError, match="different sizes"):
        masks.overlap_matrix([Runs(2, 2, "22")], [masks.encode(np.ones((3, 2), bool))])


def test_a_vertex_that_is_no_number_is_refused() -> None:
    with pytest.raises(MaskError, match="not a number"):
        masks.fill_polygons([np.array([[np.nan, 1.0]])], 4, 4)
