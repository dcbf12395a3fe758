"""From detector rows to a person and a patch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from evenhand.instruments.errors import PictureError
from evenhand.instruments.people import Scaling, merge_rows, person_box, person_patches


def row(
    x: float, y: float, width: float, height: float, sure: float = 0.9, label: int = 0, score: float = 0.9
) -> list[float]:
    classes = [0.0] * 80
    classes[label] = score
    return [x, y, width, height, sure, *classes]


def rows(*entries: list[float]) -> np.ndarray:
    return np.array(entries, dtype=np.float32).reshape(-1, 85)


def test_rows_that_are_not_sure_enough_do_not_count() -> None:
    assert merge_rows(rows(row(50, 50, 20, 20, sure=0.79))) == ()
    assert len(merge_rows(rows(row(50, 50, 20, 20, sure=0.8)))) == 1


def test_overlapping_rows_of_one_class_become_their_weighted_mean() -> None:
    (found,) = merge_rows(rows(row(50, 50, 40, 40, sure=1.0), row(54, 50, 40, 40, sure=0.8)))
    assert found.x0 == pytest.approx((30 * 1.0 + 34 * 0.8) / 1.8, abs=1e-5)
    assert found.objectness == 1.0


def test_overlapping_rows_of_other_classes_stay() -> None:
    assert len(merge_rows(rows(row(50, 50, 40, 40), row(50, 50, 40, 40, label=16)))) == 2


def test_the_largest_person_is_taken_not_the_surest() -> None:
    found = merge_rows(rows(row(30, 30, 20, 20, sure=1.0), row(90, 90, 60, 60), row(60, 60, 120, 120, label=16)))
    assert person_box(found, 128, 128, scaling=Scaling.NONE, factor=1.0) == (60, 60, 120, 120)


def test_boxes_are_scaled_as_if_the_network_had_seen_416_pixels_only_when_published() -> None:
    found = merge_rows(rows(row(100, 100, 50, 50)))
    assert person_box(found, 512, 512, scaling=Scaling.NONE, factor=1.0) == (75, 75, 125, 125)
    assert person_box(found, 512, 512, factor=1.0) == (92, 92, 153, 153)


def test_nobody_gives_no_box() -> None:
    assert person_box((), 128, 128) is None
    assert person_box(merge_rows(rows(row(50, 50, 20, 20, label=3))), 128, 128) is None


def test_a_person_beyond_416_of_512_gives_an_error_that_names_the_picture() -> None:
    box = person_box(merge_rows(rows(row(470, 200, 40, 100))), 512, 512)
    assert box is not None
    with pytest.raises(PictureError, match=r"^frame_7\.png: the person's box .* has no pixel"):
        person_patches(torch.zeros(1, 3, 512, 512), (box,), (256, 128), names=("frame_7.png",))


def test_without_a_detector_the_published_code_does_not_normalise() -> None:
    picture = torch.full((1, 3, 32, 32), 0.5)
    assert person_patches(picture, None, (8, 4)).unique().tolist() == [0.5]
    normalised = person_patches(picture, None, (8, 4), normalise_without_boxes=True)
    assert torch.allclose(normalised, person_patches(picture, (None,), (8, 4)))
    assert normalised[0, 0, 0, 0].item() == pytest.approx((0.5 - 0.485) / 0.229, abs=1e-6)
