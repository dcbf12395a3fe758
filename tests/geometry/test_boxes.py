"""Boxes: corners, extents, overlaps, and pairs within images."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.geometry import boxes


def test_corners_and_extents_are_each_others_inverse_on_whole_pixels() -> None:
    given_boxes = np.array([[3, 4, 10, 20], [0, 0, 0, 0]], dtype=np.float32)
    assert boxes.extents(boxes.corners(given_boxes)).tolist() == given_boxes.tolist()


def test_corners_stay_in_the_precision_they_came_in() -> None:
    assert boxes.corners(np.array([[0.1, 0.2, 0.3, 0.4]], dtype=np.float32)).dtype == np.float32
    assert boxes.corners(np.array([[0.1, 0.2, 0.3, 0.4]])).dtype == np.float64


def test_single_precision_decides_a_true_overlap_of_one_half() -> None:
    face, detection = [3537.65, 285.65, 149.36, 149.05], [3537.65, 285.65, 74.68, 149.05]
    single = boxes.corners(np.array([face, detection], dtype=np.float32))
    assert boxes.overlap(single[0], single[1]) == np.float32(0.49999916553497314)


def test_boxes_that_touch_do_not_overlap() -> None:
    assert boxes.overlap(np.array([0.0, 0, 1, 1]), np.array([1.0, 0, 2, 1])) == 0


def test_boxes_apart_in_both_directions_do_not_overlap() -> None:
    assert boxes.overlap(np.array([0.0, 0, 1, 1]), np.array([5.0, 5, 6, 6])) == 0


def test_two_boxes_without_area_overlap_by_zero() -> None:
    point = np.array([5.0, 5.0, 5.0, 5.0])
    assert boxes.overlap(point, point) == 0


def test_shapes_broadcast_to_a_row_per_first_and_a_column_per_second_box() -> None:
    matrix = boxes.overlap(np.array([[[0.0, 0, 2, 2]]]), np.array([[0.0, 0, 2, 2], [0.0, 0, 1, 2]]))
    assert matrix.tolist() == [[1.0, 0.5]]


def test_only_boxes_of_the_same_image_meet() -> None:
    box = np.tile([0.0, 0.0, 2.0, 2.0], (4, 1))
    pairs = boxes.overlaps_by_image(box[:3], np.array([0, 2, 2, 3]), box, np.array([0, 1, 3, 4]))
    assert list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)) == [(0, 0), (1, 0), (2, 3)]


def test_no_pairs_give_empty_arrays() -> None:
    pairs = boxes.overlaps_by_image(np.zeros((0, 4)), np.array([0, 0]), np.zeros((0, 4)), np.array([0, 0]))
    assert [len(column) for column in pairs] == [0, 0, 0]


def test_the_limit_is_compared_in_the_precision_of_the_boxes() -> None:
    first = np.array([[0, 0, 10, 10]], dtype=np.float32)
    second = np.array([[0, 0, 7, 10]], dtype=np.float32)  # the overlap is 0.7 in single precision
    offsets = np.array([0, 1])
    assert len(boxes.overlaps_by_image(first, offsets, second, offsets, at_least=0.7).overlap) == 1


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=8), st.integers(0, 2**32 - 1))
def test_pairs_by_image_are_the_matrices_of_the_images(sizes: list[tuple[int, int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    first_offsets = np.concatenate([[0], np.cumsum([a for a, _ in sizes], dtype=int)])
    second_offsets = np.concatenate([[0], np.cumsum([b for _, b in sizes], dtype=int)])
    first = boxes.corners(rng.uniform(0, 10, (first_offsets[-1], 4)))
    second = boxes.corners(rng.uniform(0, 10, (second_offsets[-1], 4)))
    found = boxes.overlaps_by_image(first, first_offsets, second, second_offsets)
    expected = [
        boxes.overlap(
            first[first_offsets[i] : first_offsets[i + 1], np.newaxis],
            second[second_offsets[i] : second_offsets[i + 1]],
        ).ravel()
        for i in range(len(sizes))
    ]
    assert found.overlap.tolist() == (np.concatenate(expected).tolist() if expected else [])


def test_many_images_are_formed_in_bounded_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    box = np.tile([0.0, 0.0, 2.0, 2.0], (12, 1))
    offsets = np.arange(0, 13, 3)
    at_once = boxes.overlaps_by_image(box, offsets, box, offsets)
    monkeypatch.setattr(boxes, "_PAIRS_AT_ONCE", 5)  # smaller than one image: still one image at a time
    in_pieces = boxes.overlaps_by_image(box, offsets, box, offsets)
    assert [a.tolist() for a in at_once] == [b.tolist() for b in in_pieces]


def test_offsets_name_images_without_boxes() -> None:
    assert boxes.offsets_of(np.array([1, 1, 3]), 5).tolist() == [0, 0, 2, 2, 3, 3]
