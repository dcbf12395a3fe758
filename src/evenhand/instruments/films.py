"""Films as sequences of pictures: a film is a folder whose files are its frames.

`clips/a.mp4/00000012` is the thirteenth frame of `clips/a.mp4`: wherever a picture's path is taken, a frame's path is
taken too. Frames are decoded as they are asked for, in order; the last ones stay in memory, so that several
instruments that look at the same stretch of a film decode it once. OpenCV decodes (mp4, webm, mov, avi, gif).
"""

from __future__ import annotations

import io
import struct
import threading
from collections import OrderedDict
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import MissingExtraError
from evenhand.files.inputs import too_many_pixels
from evenhand.instruments.errors import PictureError

FILMS = frozenset({".mp4", ".webm", ".mov", ".avi", ".mkv", ".m4v", ".gif"})
"""Endings of films; a `.gif` with one frame is a picture."""

BUFFER = 384 << 20  # bytes of decoded frames that are kept
_DIGITS = 8
_MAGIC = b"evenhand-frame\x00\x01"
_STEADY = 0.1  # share of the usual time between frames by which it may vary


@dataclass(frozen=True)
class Film:
    """What is known of a film once all its frames were counted."""

    path: Path
    times: tuple[float, ...]  # seconds, of every frame
    size: tuple[int, int]  # height, width
    announced: int  # frames that the header promises; 0 where it promises none
    rate: float  # frames per second, as the header says

    @cached_property
    def frames(self) -> tuple[Path, ...]:
        """The path of every frame."""
        return tuple(self.path / f"{number:0{_DIGITS}d}" for number in range(len(self.times)))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of results should know: a tail that can't be read, a rate that varies."""
        notes = []
        if self.announced > len(self.times):
            notes.append(
                f"{self.path}: {len(self.times)} frames can be read, its header promises {self.announced}; the rest is "
                "missing or damaged, and was left out."
            )
        steps = np.diff(self.times)
        if len(steps) > 1 and np.ptp(steps) > _STEADY * max(float(np.median(steps)), 1e-9):
            notes.append(
                f"{self.path}: frames are {steps.min() * 1000:.0f} to {steps.max() * 1000:.0f} ms apart (variable "
                "rate); frames are matched by number unless frames=time is set."
            )
        return tuple(notes)


def is_film(path: Path) -> bool:
    """Whether a file is a film: by its ending, and for a GIF by having more than one frame."""
    if path.suffix.lower() not in FILMS or not path.is_file():
        return False
    return path.suffix.lower() != ".gif" or _gif_frames(path) > 1


def open_film(path: Path) -> Film:
    """Count the frames of a film, with their times; raises `PictureError` when none can be read."""
    with closing(_Capture(path)) as capture:
        times = []
        while capture.grab():
            times.append(capture.seconds())
        if not times:
            raise PictureError(str(path), "no frame can be read from it. Is it a film (mp4, webm, mov, avi, gif)?")
        rate = capture.number("FPS", most=1e4)
        if any(later <= earlier for earlier, later in pairwise(times)):
            times = [number / (rate or 25.0) for number in range(len(times))]  # no usable time stamps
        return Film(path, tuple(times), capture.size, int(capture.number("FRAME_COUNT")), rate)


def film_of(path: Path) -> Path | None:
    """The film that a path is a frame of; None for other paths."""
    parent = path.parent
    named = parent.suffix.lower() in FILMS and len(path.name) == _DIGITS and path.name.isdigit()
    return parent if named and parent.is_file() else None


def frame_bytes(film: Path, number: int) -> bytes:
    """The pixels of a frame with their size in front: what `pictures.decode` takes for the file of a picture."""
    pixels = _OPEN.frame(film, number)
    return _MAGIC + struct.pack("<II", *pixels.shape[:2]) + pixels.tobytes()


def pixels_of(data: bytes, name: str) -> NDArray[np.uint8] | None:
    """The pixels in what `frame_bytes` gave; None for any other file."""
    if not data.startswith(_MAGIC):
        return None
    head = len(_MAGIC) + 8
    height, width = struct.unpack("<II", data[len(_MAGIC) : head])
    if len(data) - head != height * width * 3:
        raise PictureError(name, "is truncated or damaged. Write it again.")
    return np.frombuffer(data, np.uint8, offset=head).reshape(height, width, 3)


class _Capture:
    """An open film, decoded by OpenCV from its beginning."""

    def __init__(self, path: Path) -> None:
        try:
            import cv2
        except ImportError as error:
            raise MissingExtraError(f"{path.name} is a film, and films need OpenCV", "pixels") from error
        if not path.is_file():
            raise PictureError(str(path), "there is no such film.")
        self._cv2, self._film = cv2, cv2.VideoCapture(str(path))
        if reason := too_many_pixels(self.size):
            self.close()
            raise PictureError(str(path), reason)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        get = self._film.get
        return int(get(self._cv2.CAP_PROP_FRAME_HEIGHT)), int(get(self._cv2.CAP_PROP_FRAME_WIDTH))

    def number(self, name: str, most: float = 1e9) -> float:
        """A number from the header; 0 where it is none that makes sense."""
        value = float(self._film.get(getattr(self._cv2, f"CAP_PROP_{name}")))
        return value if 0 < value < most else 0.0

    def grab(self) -> bool:
        """Go on to the next frame; false at the end."""
        return bool(self._film.grab())

    def seconds(self) -> float:
        return float(self._film.get(self._cv2.CAP_PROP_POS_MSEC)) / 1000

    def pixels(self) -> NDArray[np.uint8] | None:
        """The frame that was grabbed, in RGB; None when it can't be decoded."""
        there, frame = self._film.retrieve()
        return np.asarray(self._cv2.cvtColor(frame, self._cv2.COLOR_BGR2RGB), np.uint8) if there else None

    def close(self) -> None:
        self._film.release()


class _OpenFilms:
    """Films that are being read in this process, and their latest frames; safe to use from several threads."""

    def __init__(self, buffer: int = BUFFER) -> None:
        self._buffer, self._held = buffer, 0
        self._lock = threading.Lock()
        self._films: OrderedDict[Path, tuple[_Capture, int]] = OrderedDict()  # with the number of the next frame
        self._frames: OrderedDict[tuple[Path, int], NDArray[np.uint8]] = OrderedDict()

    def frame(self, path: Path, number: int) -> NDArray[np.uint8]:
        with self._lock:
            key = path, number
            if key not in self._frames:
                self._decode(path, number)
            self._frames.move_to_end(key)
            return self._frames[key]

    def _decode(self, path: Path, number: int) -> None:
        capture, following = self._films.pop(path, (None, 0))
        if capture is None or number < following:
            if capture is not None:
                capture.close()
            capture, following = _Capture(path), 0
        while following <= number:
            pixels = capture.pixels() if capture.grab() else None
            if pixels is None:
                capture.close()
                raise PictureError(f"{path}/{number:0{_DIGITS}d}", "this frame of the film can't be read.")
            self._keep((path, following), pixels)
            following += 1
        self._films[path] = capture, following
        while len(self._films) > 4:
            self._films.popitem(last=False)[1][0].close()

    def _keep(self, key: tuple[Path, int], pixels: NDArray[np.uint8]) -> None:
        self._frames[key] = pixels
        self._held += pixels.nbytes
        while self._held > self._buffer and len(self._frames) > 1:
            self._held -= self._frames.popitem(last=False)[1].nbytes


# Decoders are state of the process, like open files: frames are asked for by path, from threads that share nothing.
_OPEN = _OpenFilms()


def _gif_frames(path: Path) -> int:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(path.read_bytes())) as picture:
            return int(getattr(picture, "n_frames", 1))
    except (OSError, ValueError, SyntaxError):
        return 1
