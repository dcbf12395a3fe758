"""Films to look at: sources, motion and result side by side, written by OpenCV's own encoder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from evenhand.core.errors import OptionError, StorageError
from evenhand.core.optional import cv2
from evenhand.files.writing import replace_file
from evenhand.scenes.figures import Pixels

FRAMES_PER_SECOND = 25.0
GAP = 10  # black pixels between the parts


def write_film(
    path: Path, sources: Sequence[Path], motion: Sequence[Path], made: Sequence[Path], *, height: int = 256
) -> int:
    """Write an MP4 of sources, motion frame and result side by side; how many frames it has.

    Sources stand in a grid as high as the frames, all of them. Motion and result go by position; the film ends with
    the shorter of both.
    """
    if not sources or not motion or not made:
        raise OptionError(f"{path}: a film needs sources, motion frames and results; one of them is empty.")
    if height < 16:
        raise OptionError(f"{path}: a film of {height} pixels shows nothing; expected at least 16.")
    height += height % 2  # encoders want even sides
    left = _grid([_picture(source) for source in sources], height)
    frames = 0
    with replace_file(path) as temporary:
        writer: cv2.VideoWriter | None = None
        try:
            for target, result in zip(motion, made, strict=False):
                parts = [left, *(_square(_picture(one), height) for one in (target, result))]
                frame = _beside(parts, height)
                if writer is None:
                    size = (frame.shape[1], frame.shape[0])
                    writer = cv2.VideoWriter(str(temporary), cv2.VideoWriter.fourcc(*"mp4v"), FRAMES_PER_SECOND, size)
                    if not writer.isOpened():
                        raise StorageError(f"{path}: OpenCV can't write a film there. Does its name end in .mp4?")
                writer.write(np.ascontiguousarray(frame[:, :, ::-1]))
                frames += 1
        finally:
            if writer is not None:
                writer.release()
    return frames


def _picture(path: Path) -> Pixels:
    from evenhand.instruments.pictures import Loading, load

    return load(Path(path), Loading("film")).pixels


def _square(picture: Pixels, side: int) -> Pixels:
    return np.asarray(cv2.resize(picture, (side, side), interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _grid(pictures: Sequence[Pixels], height: int) -> Pixels:
    """Pictures in a grid of that height: two above each other, four in a square, eight in four rows of two."""
    columns = 1 if len(pictures) <= 2 else 2 if len(pictures) <= 8 else math.ceil(math.sqrt(len(pictures)))
    rows = math.ceil(len(pictures) / columns)
    side = max(1, (height - GAP * (rows - 1)) // rows)
    canvas = np.zeros((height, columns * side + GAP * (columns - 1), 3), np.uint8)
    for number, picture in enumerate(pictures):
        top, left = (number // columns) * (side + GAP), (number % columns) * (side + GAP)
        canvas[top : top + side, left : left + side] = _square(picture, side)
    return canvas


def _beside(parts: Sequence[Pixels], height: int) -> Pixels:
    gap = np.zeros((height, GAP, 3), np.uint8)
    whole = np.concatenate([parts[0], gap, parts[1], gap, parts[2]], axis=1)
    return np.asarray(np.pad(whole, ((0, 0), (0, whole.shape[1] % 2), (0, 0))), dtype=np.uint8)
