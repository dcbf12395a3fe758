"""Made-up faces with the label of every pixel, in the labels of CelebAMask-HQ.

0 background, 1 skin, 2 nose, 4 and 5 eyes, 6 and 7 brows, 10 mouth, 11 and 12 lips, 13 hair, 17 neck,
18 cloth. Ears are skin. The same look gives the same face; yaw, light and noise vary the picture.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.core.optional import cv2
from evenhand.scenes.looks import Colour, Look

Pixels = NDArray[np.uint8]  # (height, width, 3), red-green-blue
Labels = NDArray[np.uint8]  # (height, width)

SKIN, NOSE, LEFT_EYE, RIGHT_EYE, LEFT_BROW, RIGHT_BROW = 1, 2, 4, 5, 6, 7
MOUTH, UPPER_LIP, LOWER_LIP, HAIR, NECK, CLOTH = 10, 11, 12, 13, 17, 18


@dataclass(frozen=True)
class FacePicture:
    """A face, the label of each pixel, and its five landmarks: eyes, nose, corners of the mouth."""

    pixels: Pixels
    labels: Labels
    landmarks: NDArray[np.float64]  # (5, 2); the picture's left eye first


def face_picture(
    look: Look, size: int = 512, *, yaw: float = 0.0, light: float = 1.0, noise: np.random.Generator | None = None
) -> FacePicture:
    """A face that fills a square picture; yaw is −1 … 1, light 1 is full."""
    labels = np.zeros((size, size), dtype=np.uint8)
    shift = 0.06 * yaw

    def oval(label: int, x: float, y: float, wide: float, high: float) -> None:
        centre = (round(size * x), round(size * y))
        cv2.ellipse(labels, centre, (max(round(size * wide), 1), max(round(size * high), 1)), 0, 0, 360, label, -1)

    wide = 0.26 * look.face_width
    eye, mouth = 0.105 * look.eye_distance, 0.09 * look.mouth_width
    oval(CLOTH, 0.5, 1.05, 0.42 * look.build, 0.18)
    oval(NECK, 0.5, 0.86, 0.13 * look.build, 0.16)
    if look.hair_length > 0.05:
        oval(HAIR, 0.5, 0.42 + 0.1 * look.hair_length, wide + 0.06, 0.34 + 0.12 * look.hair_length)
    oval(SKIN, 0.5, 0.5, wide, 0.35)
    oval(RIGHT_EYE, 0.5 - eye + shift, 0.44, 0.045, 0.022)
    oval(LEFT_EYE, 0.5 + eye + shift, 0.44, 0.045, 0.022)
    oval(RIGHT_BROW, 0.5 - eye + shift, 0.385, 0.055, 0.012)
    oval(LEFT_BROW, 0.5 + eye + shift, 0.385, 0.055, 0.012)
    oval(NOSE, 0.5 + 1.3 * shift, 0.53, 0.03, 0.06 * look.nose_length)
    oval(UPPER_LIP, 0.5 + shift, 0.665, mouth, 0.022)
    oval(LOWER_LIP, 0.5 + shift, 0.695, 0.9 * mouth, 0.026)
    oval(MOUTH, 0.5 + shift, 0.68, 0.8 * mouth, 0.008)
    pixels = _palette(look)[labels].astype(np.float64)
    for side in (-eye, eye):
        centre = (round(size * (0.5 + side + shift)), round(size * 0.44))
        cv2.circle(pixels, centre, max(round(0.016 * size), 1), (45.0, 35.0, 30.0), -1)
    shade = 1 - 0.18 * np.abs(np.linspace(-1, 1, size) - 0.5 * yaw)
    pixels *= shade[np.newaxis, :, np.newaxis] * light
    if noise is not None:
        pixels += noise.normal(0, 4, pixels.shape)
    places = [(0.5 - eye, 0.44), (0.5 + eye, 0.44), (0.5 + 0.3 * shift, 0.56), (0.5 - mouth, 0.68), (0.5 + mouth, 0.68)]
    landmarks = (np.array(places) + np.array([shift, 0.0])) * size
    return FacePicture(np.clip(pixels, 0, 255).astype(np.uint8), labels, landmarks)


def _palette(look: Look) -> NDArray[np.uint8]:
    red, green, blue = look.skin
    colours: dict[int, Colour] = {
        0: (205, 214, 222),
        SKIN: look.skin,
        NECK: (int(red * 0.9), int(green * 0.9), int(blue * 0.9)),
        NOSE: (int(red * 0.85), int(green * 0.8), int(blue * 0.78)),
        **dict.fromkeys((LEFT_EYE, RIGHT_EYE), (245, 245, 245)),
        **dict.fromkeys((LEFT_BROW, RIGHT_BROW, HAIR), look.hair),
        MOUTH: (90, 25, 30),
        UPPER_LIP: (165, 75, 80),
        LOWER_LIP: (180, 85, 90),
        CLOTH: look.top,
    }
    return np.array([colours.get(label, (0, 0, 0)) for label in range(CLOTH + 1)], dtype=np.uint8)
