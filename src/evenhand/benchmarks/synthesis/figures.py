"""Drawn people that move: enough of a person to tell blur, shift, colour and identity apart.

A figure has skin, hair and clothes of its own and a pose that swings with time. Drawn with plain shapes at four times
the size and shrunk, so that edges are smooth. The same numbers give the same pixels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import DataError
from evenhand.core.streams import stream

Pixels = NDArray[np.uint8]
Colour = tuple[int, int, int]
_FINE = 4  # drawn this much larger


@dataclass(frozen=True)
class Figure:
    """What a person looks like; the pose is told when it is drawn."""

    skin: Colour
    hair: Colour
    top: Colour
    bottom: Colour
    skirt: bool
    backdrop: Colour
    build: float  # width of the body relative to the average

    @classmethod
    def named(cls, name: str, *, skirt: bool = False) -> Figure:
        """The figure that belongs to a name."""
        rng = stream("figure", name)

        def colour(low: int, high: int) -> Colour:
            red, green, blue = (int(value) for value in rng.integers(low, high, 3))
            return red, green, blue

        tone = int(rng.integers(70, 230))
        skin = (tone, int(tone * 0.78), int(tone * 0.62))
        return cls(
            skin, colour(10, 90), colour(30, 220), colour(20, 160), skirt, colour(150, 245), 0.85 + 0.3 * rng.random()
        )


def draw(figure: Figure, phase: float, size: int = 64) -> Pixels:
    """The figure at a moment of its swing (0…1), size × size × 3, RGB."""
    side = size * _FINE
    canvas = np.full((side, side, 3), figure.backdrop, dtype=np.uint8)
    swing = math.sin(2 * math.pi * phase)
    lean = 0.03 * side * math.cos(2 * math.pi * phase)

    def at(x: float, y: float) -> tuple[int, int]:
        return round(side * x + lean), round(side * y)

    wide = figure.build * side
    limb = max(2, round(0.055 * wide))
    cv2.rectangle(canvas, (0, round(0.9 * side)), (side, side), tuple(int(c * 0.7) for c in figure.backdrop), -1)
    for direction in (-1, 1):
        hip, foot = at(0.5 + 0.05 * direction, 0.6), at(0.5 + direction * (0.07 + 0.05 * swing), 0.93)
        cv2.line(canvas, hip, foot, figure.skin if figure.skirt else figure.bottom, limb)
        shoulder, hand = at(0.5 + 0.11 * direction, 0.36), at(0.5 + direction * 0.22, 0.55 - 0.2 * swing * direction)
        cv2.line(canvas, shoulder, hand, figure.top, limb)
        cv2.circle(canvas, hand, limb // 2 + 1, figure.skin, -1)
    half = 0.13 * figure.build
    body = np.array(
        [at(0.5 - half, 0.33), at(0.5 + half, 0.33), at(0.5 + half * 0.8, 0.63), at(0.5 - half * 0.8, 0.63)]
    )
    cv2.fillPoly(canvas, [body], figure.top)
    if figure.skirt:
        hem = np.array(
            [at(0.5 - half, 0.6), at(0.5 + half, 0.6), at(0.5 + half * 1.7, 0.78), at(0.5 - half * 1.7, 0.78)]
        )
        cv2.fillPoly(canvas, [hem], figure.bottom)
    centre, radius = at(0.5, 0.2), round(0.1 * side)
    cv2.circle(canvas, (centre[0], centre[1] - radius // 4), round(radius * 1.12), figure.hair, -1)
    cv2.ellipse(canvas, centre, (round(radius * 0.82), radius), 0, 0, 360, figure.skin, -1)
    for direction in (-1, 1):
        eye = (centre[0] + direction * round(radius * 0.35), centre[1] - radius // 6)
        cv2.circle(canvas, eye, max(1, radius // 7), (20, 20, 20), -1)
    mouth = (centre[0], centre[1] + radius // 2)
    cv2.ellipse(canvas, mouth, (radius // 3, max(1, radius // 8)), 0, 0, 360, (140, 40, 50), -1)
    return np.asarray(cv2.resize(canvas, (size, size), interpolation=cv2.INTER_AREA), dtype=np.uint8)


def save(path: str, pixels: Pixels) -> None:
    """Write RGB pixels as a picture file, in the format of the path's ending."""
    cv2.imwrite(path, pixels[:, :, ::-1])


def read(path: str) -> Pixels:
    """The RGB pixels of a picture file that was written here."""
    found = cv2.imread(path, cv2.IMREAD_COLOR)
    if found is None:
        raise DataError(f"{path} is no picture.")
    return np.asarray(found[:, :, ::-1], dtype=np.uint8)
