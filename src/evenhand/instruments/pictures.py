"""From a picture file to eight-bit RGB pixels, as the published metrics load them.

Two decoders, because two publications use two: OpenCV (image synthesis) and Pillow (FHIBE). Both give a
height × width × 3 array of eight bits in red-green-blue order, and treat the unusual alike:

| picture | what comes back |
|---|---|
| grey | its one channel, three times |
| alpha | the colours alone; nothing is blended |
| sixteen bits | the high byte |
| CMYK | the decoder's own conversion |
| EXIF orientation | turned upright |
| several frames | `PictureError`: which frame is meant is not said (a camera's MPO counts as its first frame) |
| truncated, empty, no picture, too many pixels | `PictureError` with the file's name |
"""

from __future__ import annotations

import hashlib
import io
import stat
import warnings
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from evenhand.core.optional import cv2
from evenhand.files.inputs import MOST_PIXELS, too_many_pixels
from evenhand.instruments.errors import PictureError
from evenhand.instruments.films import film_of, frame_bytes, pixels_of

Pixels = NDArray[np.uint8]  # (height, width, 3), red-green-blue
_BAND = 512  # lines of a picture that are converted at once


class Decoder(Enum):
    """The library that decodes a file."""

    OPENCV = "opencv"
    PILLOW = "pillow"


class PixelResampling(Enum):
    """How a picture is brought to another size; each is bit-exact to the library it is named after."""

    OPENCV_LINEAR = "opencv-linear"  # two taps, fixed point, no smoothing
    OPENCV_AREA = "opencv-area"
    PILLOW_BILINEAR = "pillow-bilinear"  # smooths when it shrinks


@dataclass(frozen=True)
class Loading:
    """How a publication turns files into pixels; part of every fingerprint.

    >>> Loading("his_evaluators", size=(512, 512)).fingerprint
    'his_evaluators:opencv:512x512:opencv-linear'
    """

    name: str
    decoder: Decoder = Decoder.OPENCV
    size: tuple[int, int] | None = None  # height, width; None keeps each picture's own
    resampling: PixelResampling = PixelResampling.OPENCV_LINEAR
    most_pixels: int = MOST_PIXELS
    upright: bool = True  # turned by the EXIF orientation; only Pillow can leave that out

    @property
    def fingerprint(self) -> str:
        size = f"{self.size[0]}x{self.size[1]}:{self.resampling.value}" if self.size else "own-size"
        return f"{self.name}:{self.decoder.value}:{size}{'' if self.upright else ':as-stored'}"

    def at(self, height: int, width: int) -> Loading:
        """The same loading at another size."""
        return replace(self, size=(height, width))


HIS_EVALUATORS = Loading("his_evaluators", Decoder.OPENCV, (512, 512), PixelResampling.OPENCV_LINEAR)
"""Human image synthesis: decoded by OpenCV, squeezed to `image_size` squared by two-tap bilinear on eight bits."""

FHIBE = Loading("fhibe", Decoder.PILLOW, (256, 256), PixelResampling.PILLOW_BILINEAR)
"""FHIBE's PSNR and LPIPS: opened by Pillow, EXIF transposed, 256 × 256 with Pillow's bilinear filter."""

AS_IT_IS = Loading("as-it-is", Decoder.PILLOW)
"""The picture at its own size, decoded by Pillow: detectors and embeddings."""

AS_STORED = replace(AS_IT_IS, upright=False)
"""The same without a look at the EXIF orientation, as the watchlist challenge's detector reads pictures."""


@dataclass(frozen=True)
class Picture:
    """Decoded pixels with the name they came from and the SHA-256 of the file's bytes."""

    name: str
    content: str
    pixels: Pixels


def load(path: Path, loading: Loading = AS_IT_IS) -> Picture:
    """The picture in a file, decoded and resized as `loading` says.

    Raises `PictureError`, whose message starts with the file's name, when there is no such file or no
    usable picture in it.
    """
    return decode(read_bytes(path), str(path), loading)


def read_bytes(path: Path) -> bytes:
    """The bytes of a picture file, or the pixels of a film's frame; what is not there is a `PictureError`."""
    film = film_of(path)
    if film is not None:
        return frame_bytes(film, int(path.name))
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would be waited for, a device read for ever
            raise PictureError(str(path), "is a pipe, a device or a folder; a file was expected.")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise PictureError(str(path), "there is no such file.") from error
    except OSError as error:
        raise PictureError(str(path), f"can't be read ({error.strerror or error}).") from error


def content_of(data: bytes) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal: the picture's name in every cache."""
    return hashlib.sha256(data).hexdigest()


def decode(data: bytes, name: str, loading: Loading = AS_IT_IS) -> Picture:
    """The picture in `data`; `name` is what messages call it."""
    pixels = pixels_of(data, name)  # of a film, decoded already
    if pixels is None:
        _check_header(data, name, loading.most_pixels)
        if loading.decoder is Decoder.OPENCV:
            pixels = _by_opencv(data, name)
        else:
            pixels = _by_pillow(data, name, upright=loading.upright)
    if loading.size is not None:
        pixels = resize(pixels, loading.size, loading.resampling)
    return Picture(name, content_of(data), pixels)


def resize(pixels: Pixels, size: tuple[int, int], how: PixelResampling) -> Pixels:
    """The pixels at `size` (height, width); the very same array when it has that size already.

    >>> resize(np.zeros((4, 6, 3), np.uint8), (2, 2), PixelResampling.OPENCV_AREA).shape
    (2, 2, 3)
    """
    height, width = size
    if pixels.shape[:2] == size:
        return pixels
    if how is PixelResampling.PILLOW_BILINEAR:
        resized = Image.fromarray(pixels).resize((width, height), Image.Resampling.BILINEAR)
        return np.asarray(resized, dtype=np.uint8)
    taps = cv2.INTER_AREA if how is PixelResampling.OPENCV_AREA else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(pixels, (width, height), interpolation=taps), dtype=np.uint8)


def _check_header(data: bytes, name: str, most_pixels: int) -> None:
    """Refuse, before any pixel is decoded, what no decoder may turn into a measurement."""
    if not data:
        raise PictureError(name, "the file is empty (zero bytes). Write the picture again.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of large pictures; we have our own limit
            header = Image.open(io.BytesIO(data))
            width, height = header.size
            frames = int(getattr(header, "n_frames", 1))
            form = header.format or "unknown"
    except Image.DecompressionBombError as error:
        raise PictureError(name, f"{_first_line(error)} It expands beyond any real picture.") from error
    except UnidentifiedImageError as error:
        raise PictureError(name, "is no picture of any kind that Pillow knows. Save it as PNG or JPEG.") from error
    except (OSError, SyntaxError, ValueError) as error:
        raise PictureError(
            name, f"is no picture that Pillow knows ({_first_line(error)}). Save it as PNG or JPEG."
        ) from error
    if reason := too_many_pixels((width, height), most_pixels):
        raise PictureError(name, reason)
    if frames > 1 and form != "MPO":
        raise PictureError(
            name, f"has {frames} frames ({form}); one picture is expected here. Save the frame that counts."
        )
    if _looks_cut_off(data, form):
        _by_pillow(data, name)  # the slow and certain answer: raises when pixels are missing


def _looks_cut_off(data: bytes, form: str) -> bool:
    """Whether the file's closing mark is missing, or none is known; OpenCV would fill the rest and say nothing."""
    if form in ("JPEG", "MPO"):
        return b"\xff\xd9" not in data[-4096:]
    if form == "PNG":
        return b"IEND" not in data[-4096:]
    return True


def _by_opencv(data: bytes, name: str) -> Pixels:
    """Decoded as OpenCV reads a colour picture, in RGB order; Pillow's reading where OpenCV knows no such format."""
    try:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
    except cv2.error as error:
        raise PictureError(name, f"OpenCV can't decode it ({_first_line(error)}).") from error
    return _by_pillow(data, name) if pixels is None else np.asarray(pixels, dtype=np.uint8)


def _by_pillow(data: bytes, name: str, *, upright: bool = True) -> Pixels:
    """Decoded as Pillow reads it, turned upright, in RGB; sixteen-bit grey gives its high byte."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            picture: Image.Image = Image.open(io.BytesIO(data))
            picture.load()
            if upright:
                ImageOps.exif_transpose(picture, in_place=True)
            if picture.mode in ("I", "F"):
                raise PictureError(
                    name,
                    f"has {picture.mode}-type pixels (32 bits), whose range is not said. Save it with 8 or 16 bits.",
                )
            if picture.mode.startswith("I;16"):
                high = (np.asarray(picture).astype(np.uint16) >> 8).astype(np.uint8)
                return np.repeat(high[:, :, None], 3, axis=2)
            return _colours(picture)
    except Image.DecompressionBombError as error:
        raise PictureError(name, f"expands beyond any real picture ({_first_line(error)}).") from error
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise PictureError(name, f"is truncated or damaged ({_first_line(error)}). Write it again.") from error


def _colours(picture: Image.Image) -> Pixels:
    """Red, green and blue, band by band: Pillow's conversions of a whole picture would hold it three times."""
    pixels = np.empty((picture.height, picture.width, 3), np.uint8)
    by_way_of = "RGBA" if picture.mode == "P" and "transparency" in picture.info else "RGB"
    for top in range(0, picture.height, _BAND):
        band = picture.crop((0, top, picture.width, min(top + _BAND, picture.height)))
        pixels[top : top + _BAND] = np.asarray(band.convert(by_way_of).convert("RGB"))
    return pixels


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
