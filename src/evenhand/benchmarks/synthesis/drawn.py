"""Drawn people that move: the procedural figures as frames of videos, and the files they are kept in.

Drawn at three times the size and shrunk, so that edges are smooth. The same names give the same pixels.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from evenhand.core.errors import DataError
from evenhand.core.optional import cv2
from evenhand.core.streams import stream
from evenhand.files.writing import write_file
from evenhand.scenes.figures import PersonFigure, Pixels, picture
from evenhand.scenes.looks import look_of

Motion = Literal["arms", "walk", "turn"]
_FINE = 3  # drawn this much larger


def draw(name: str, motion: Motion, phase: float, *, overall: bool = False, size: int = 64) -> Pixels:
    """The person of that name at a moment (0…1) of a motion, size × size × 3, RGB.

    An `overall` has the colour of the top from shoulders to ankles.
    """
    look = look_of(("synthesis", name))
    if overall:
        look = replace(look, trousers=look.top)
    side = size * _FINE
    still = PersonFigure(look, centre=side / 2, ground=0.96 * side, height=0.9 * side)
    swing = math.sin(2 * math.pi * phase)
    if motion == "walk":
        posed = still.walking(phase)
    elif motion == "arms":
        posed = replace(still, left_arm=50 + 40 * swing, right_arm=50 - 40 * swing)
    else:
        posed = replace(still.walking(phase / 2), centre=side * (0.5 + 0.06 * swing))
    red, green, blue = (int(value) for value in stream("synthesis", "room", name).integers(150, 246, 3))
    canvas = picture([posed], side, side, background=(red, green, blue))
    return np.asarray(cv2.resize(canvas, (size, size), interpolation=cv2.INTER_AREA), dtype=np.uint8)


def save(path: str, pixels: Pixels) -> None:
    """Write RGB pixels as a picture file, in the format of the path's ending."""
    _, encoded = cv2.imencode(Path(path).suffix, np.ascontiguousarray(pixels[:, :, ::-1]))
    write_file(path, encoded.tobytes(), flush=False)


def read(path: str) -> Pixels:
    """The RGB pixels of a picture file that was written here."""
    data = np.fromfile(path, np.uint8) if Path(path).is_file() else np.empty(0, np.uint8)
    pixels = cv2.imdecode(data, cv2.IMREAD_COLOR) if data.size else None
    if pixels is None:
        raise DataError(f"{path} is no picture.")
    return np.asarray(pixels[:, :, ::-1], dtype=np.uint8)
