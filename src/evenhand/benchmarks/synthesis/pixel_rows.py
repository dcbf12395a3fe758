"""What the pixels of two pictures say: SSIM, PSNR and their kin, of pairs that one worker compares in order.

A metric that needs larger pictures leaves its number out and keeps those of the others; what is about motion needs the
pair in front of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenhand.benchmarks.synthesis.catalogue import column_of
from evenhand.benchmarks.synthesis.pairs import FramePair
from evenhand.core.engine import Workplace
from evenhand.core.records import Array, Records
from evenhand.files.inputs import MOST_PIXELS
from evenhand.instruments.ahead import TIME_LIMIT

if TYPE_CHECKING:
    from evenhand.instruments.pictures import Loading, Pixels

DECODED_AHEAD = 2  # pairs of pictures that wait in memory while one is compared
PIXELS = ("ssim", "psnr", "ms-ssim", "l1", "mse", "fd-ssim", "flicker")
MOTION = ("fd-ssim", "flicker")


class PixelPart(NamedTuple):
    """Pairs whose pixels are compared by one worker."""

    pairs: tuple[FramePair, ...]
    names: tuple[str, ...]
    image_size: int
    before: FramePair | None = None  # the pair in front of the first one, for what is about motion
    most_pixels: int = MOST_PIXELS
    time_limit: float = TIME_LIMIT


def is_of_pixels(name: str) -> bool:
    """Whether a metric compares pixels, without a network."""
    return name.partition(":")[0] in PIXELS


def loading_at(size: int, most_pixels: int) -> Loading:
    """How pictures are loaded for what compares them as they are: squeezed to a size, or at their own where it is 0."""
    from evenhand.instruments.pictures import HIS_EVALUATORS

    return replace(HIS_EVALUATORS, size=(size, size) if size else None, most_pixels=most_pixels)


def measure_pixels(part: PixelPart, place: Workplace) -> Records:
    """The pixel metrics of some pairs: what a worker does. The next pair is decoded while one is compared."""
    from evenhand.instruments.ahead import ahead
    from evenhand.instruments.errors import PictureError
    from evenhand.instruments.pictures import load

    loading = loading_at(part.image_size, part.most_pixels)
    count = len(part.pairs)
    columns: dict[str, Array] = {column_of(name): np.full(count, np.nan) for name in part.names}
    if "psnr" in part.names:
        columns["squared_error"] = np.full(count, np.nan)
    reasons = [""] * count

    def decoded(paths: tuple[Path, Path]) -> tuple[Pixels, Pixels] | PictureError:
        try:
            return load(paths[0], loading).pixels, load(paths[1], loading).pixels
        except PictureError as error:
            return error

    of_motion = any(name in MOTION for name in part.names)
    listed = {
        number: (pair.prediction, pair.reference)
        for number, pair in enumerate(part.pairs)
        if pair.prediction is not None and pair.reference is not None and part.names
    }
    before = part.before
    previous: tuple[Pixels, Pixels] | PictureError | None = None
    if of_motion and before is not None and before.prediction is not None and before.reference is not None:
        previous = decoded((before.prediction, before.reference))
    following = 0  # the number of the pair that follows `previous`
    for (number, paths), outcome in zip(
        listed.items(),
        ahead(listed.values(), decoded, workers=1, depth=DECODED_AHEAD, limit=part.time_limit),
        strict=True,
    ):
        predecessor = part.pairs[number - 1] if number else before
        same_film = predecessor is not None and predecessor.unit == part.pairs[number].unit and number == following
        earlier = previous if same_film and isinstance(previous, tuple) else None
        try:
            if outcome.done is None:
                both = " or ".join(map(str, paths))
                raise PictureError(both, f"was not read within {part.time_limit:g} seconds. Write it again.")
            if isinstance(outcome.done, PictureError):
                raise outcome.done
            previous, following = outcome.done, number + 1
            for name, value in _pixel_values(*outcome.done, part.names, earlier).items():
                columns[name][number] = value
        except PictureError as error:
            where = "" if error.picture.startswith(str(paths[0].parent)) else f"{paths[0].name}, "
            reasons[number] = f"{where}{error}"
    columns |= {
        "item": np.array([pair.id for pair in part.pairs], dtype=np.str_),
        "unit": np.array([pair.unit for pair in part.pairs], dtype=np.str_),
        "reason": np.array(reasons, dtype=np.str_),
    }
    return Records(columns, {})


def _pixel_values(
    made: Pixels, real: Pixels, names: Sequence[str], previous: tuple[Pixels, Pixels] | None
) -> dict[str, float]:
    """The numbers of one pair by column; without a metric that needs larger pictures, unless it is the only one."""
    from evenhand.instruments.errors import PictureError
    from evenhand.instruments.pixels import check_pair

    check_pair(made, real, 1)
    values: dict[str, float] = {}
    refused: PictureError | None = None
    for name in names:
        if name in MOTION and previous is None:
            continue
        try:
            values |= _pixel_value(made, real, name, previous)
        except PictureError as error:
            refused = error
    if refused is not None and not values:
        raise refused
    return values


def _pixel_value(made: Pixels, real: Pixels, name: str, previous: tuple[Pixels, Pixels] | None) -> dict[str, float]:
    from evenhand.instruments import pixels

    kind, _, convention = name.partition(":")
    column = column_of(name)
    match kind:
        case "ssim":
            return {column: pixels.ssim(made, real, pixels.SSIM[convention or "his_evaluators"])}
        case "ms-ssim":
            return {column: pixels.ms_ssim(made, real, pixels.MS_SSIM[convention or "pytorch_msssim"])}
        case "psnr":
            error = 4.0 * 10.0 ** (-pixels.psnr(made, real, pixels.PSNR["his_evaluators_strict"]) / 10.0)
            return {column: pixels.psnr(made, real), "squared_error": error}
        case "l1":
            return {column: pixels.absolute_error(made, real)}
        case "mse":
            return {column: pixels.squared_error(made, real)}
    assert previous is not None  # what is left is about motion
    changes = pixels.change(made, previous[0]), pixels.change(real, previous[1])
    if kind == "fd-ssim":
        return {column: pixels.ssim(*changes, pixels.SSIM["skimage"])}
    return {column: pixels.flicker((made, previous[0]), (real, previous[1]))}
