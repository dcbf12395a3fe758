"""Procedural people: what is known about them is true of their pictures."""

from __future__ import annotations

import numpy as np

from evenhand.scenes.faces import HAIR, SKIN, face_picture
from evenhand.scenes.figures import PersonFigure, picture
from evenhand.scenes.looks import look_of

FIGURE = PersonFigure(look_of("anna", tone=2), centre=80.0, ground=190.0, height=160.0)


def test_the_same_identity_always_looks_the_same() -> None:
    assert look_of("anna") == look_of("anna")
    assert look_of("anna") != look_of("ben")
    assert (look_of("anna").vector == look_of("anna").vector).all()


def test_a_figure_has_all_keypoints_and_they_lie_in_its_box() -> None:
    x0, y0, x1, y1 = FIGURE.box()
    points = FIGURE.keypoints()
    assert len(points) == 33
    assert all(x0 <= x <= x1 and y0 <= y <= y1 for x, y in points.values())


def test_the_mask_is_what_the_picture_shows() -> None:
    background = (205, 214, 222)
    shown = picture([FIGURE], 200, 160, background=background)
    floor = tuple(int(0.75 * part) for part in background)
    empty = (shown == background).all(axis=2) | (shown == floor).all(axis=2)
    mask = FIGURE.mask(200, 160)
    assert (mask == ~empty).mean() > 0.999


def test_the_box_is_around_the_mask() -> None:
    rows, columns = np.nonzero(FIGURE.mask(200, 160))
    x0, y0, x1, y1 = FIGURE.box()
    assert abs(columns.min() - x0) <= 1
    assert abs(columns.max() - x1) <= 1
    assert abs(rows.min() - y0) <= 1
    assert abs(rows.max() - y1) <= 1


def test_a_walk_moves_the_limbs_and_comes_back() -> None:
    start, half, full = (FIGURE.walking(phase).keypoints()["Left wrist"] for phase in (0.0, 0.25, 1.0))
    assert start != half
    assert np.allclose(start, full)


def test_a_dim_room_is_darker() -> None:
    assert picture([FIGURE], 200, 160, light=0.4).mean() < picture([FIGURE], 200, 160).mean()


def test_a_face_has_a_label_for_every_pixel_and_its_landmarks_lie_on_it() -> None:
    face = face_picture(look_of("anna", tone=0), 128, yaw=0.5)
    assert face.labels.shape == face.pixels.shape[:2]
    assert {0, SKIN, HAIR, 2, 4, 5, 11, 12, 18} <= set(np.unique(face.labels).tolist())
    columns, rows = face.landmarks.round().astype(int).T
    assert (face.labels[rows, columns] != 0).all()


def test_noise_comes_from_the_generator_that_is_passed() -> None:
    one, two = (face_picture(look_of(1), 64, noise=np.random.default_rng(7)).pixels for _ in range(2))
    assert (one == two).all()
