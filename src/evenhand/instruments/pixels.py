"""How alike two pictures are, pixel by pixel: SSIM, MS-SSIM and PSNR under the names of those who published them.

The same three letters hide different numbers: window, range, colours and shrinking all change them. A setting is
a value object with a name, and `SSIM`, `MS_SSIM` and `PSNR` list the published ones. All functions take two
eight-bit RGB pictures of the same size, as `pictures.load` gives them.

Eight-bit pictures make SSIM with a uniform window cheap: window sums of values and products are whole numbers, so
variances are exact in 32 bits and only the final ratio is rounded. It agrees with double precision to some 1e-9.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import OptionError
from evenhand.core.optional import cv2
from evenhand.instruments.errors import PictureError
from evenhand.instruments.pictures import Pixels

Plane = NDArray[np.float64]  # (height, width, channels)

_STRIP = 1 << 15  # values of a strip of rows: a megabyte of intermediates
_LEAST_ROWS = 16  # of a strip, which overlaps the next by a window
_UNIT = np.arange(256, dtype=np.float32) / np.float32(255)  # eight bits in [0, 1], single precision


class WindowShape(Enum):
    """What a local statistic is taken over."""

    UNIFORM = "uniform"
    GAUSSIAN = "gaussian"


class Colours(Enum):
    """What becomes of red, green and blue."""

    EACH = "each channel, then the mean"
    LUMA = "one grey picture: 0.2989 R + 0.5870 G + 0.1140 B, rounded"
    YIQ = "one grey picture: 0.299 R + 0.587 G + 0.114 B in single precision, rounded"


class Halving(Enum):
    """How an odd row or column is treated when blocks of two by two are averaged."""

    REPEAT_LAST = "the last row or column is averaged with itself"
    REPEAT_FIRST = "the first row or column is repeated in front, in both directions as soon as one is odd"
    ZERO_BOTH = "a row of zeros on both sides, counted in the mean"


class RangeRule(Enum):
    """What counts as full scale in PSNR."""

    FIXED = "the whole range of eight bits"
    BY_REFERENCE = "half of it when no value of the reference is below 128 (scikit-image's rule for signed pictures)"
    FLOORED = "the whole range, with 1e-8 added to the error, in single precision"


@dataclass(frozen=True)
class SsimSetting:
    """One published form of the structural similarity index. C1 = (0.01 L)², C2 = (0.03 L)² for range L in all."""

    name: str
    window: WindowShape
    width: int
    sigma: float = 1.5  # of the Gaussian window
    sample_covariance: bool = False  # divide by n - 1
    signed: bool = False  # pictures mapped to [-1, 1], L = 2: shifts the means, not the variances
    colours: Colours = Colours.EACH
    shrink_to_256: bool = False  # block means until the shorter side is about 256
    clip_negative: bool = False  # negative contrast and structure count as 0
    reflect: bool = False  # windows over the edge count too, the picture being reflected there


@dataclass(frozen=True)
class MultiScaleSetting:
    """One published form of multi-scale SSIM: five scales, a Gaussian window, Wang's exponents."""

    name: str
    halving: Halving
    colours: Colours = Colours.EACH
    clip_negative: bool = True  # negative similarities count as 0 before exponents are taken
    single_precision_window: bool = False  # its weights then miss the sum of 1 by some 1e-7, worth 3e-6 in the result
    width: int = 11
    sigma: float = 1.5
    exponents: tuple[float, ...] = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


Setting = TypeVar("Setting", SsimSetting, MultiScaleSetting)


def _by_name(*settings: Setting) -> Mapping[str, Setting]:
    return MappingProxyType({setting.name: setting for setting in settings})


SSIM = _by_name(
    SsimSetting("his_evaluators", WindowShape.UNIFORM, 7, sample_covariance=True, signed=True),
    SsimSetting("skimage", WindowShape.UNIFORM, 7, sample_covariance=True),
    SsimSetting("skimage_gaussian", WindowShape.GAUSSIAN, 11),
    SsimSetting("torchmetrics", WindowShape.GAUSSIAN, 11, reflect=True),
    SsimSetting("pyiqa", WindowShape.GAUSSIAN, 11, colours=Colours.YIQ, clip_negative=True),
    SsimSetting("wang2004", WindowShape.GAUSSIAN, 11, colours=Colours.LUMA),
    SsimSetting("piq", WindowShape.GAUSSIAN, 11, shrink_to_256=True),
)
"""Published SSIM settings by name: of the synthesis protocol, of four packages, and of the original paper."""

MS_SSIM = _by_name(
    MultiScaleSetting("wang2003", Halving.REPEAT_LAST, Colours.LUMA, clip_negative=False),
    MultiScaleSetting("pytorch_msssim", Halving.ZERO_BOTH, single_precision_window=True),
    MultiScaleSetting("piq", Halving.REPEAT_FIRST),
)
"""Published multi-scale SSIM settings by name."""

PSNR: Mapping[str, RangeRule] = MappingProxyType(
    {
        "his_evaluators": RangeRule.BY_REFERENCE,
        "his_evaluators_strict": RangeRule.FIXED,
        "skimage": RangeRule.FIXED,
        "fhibe": RangeRule.FLOORED,
    }
)
"""Published PSNR settings by name. `fhibe` is PIQ's form: two identical pictures give 80 dB, not infinity."""


def ssim(picture: Pixels, reference: Pixels, setting: SsimSetting = SSIM["his_evaluators"]) -> float:
    """The mean structural similarity of two pictures of one size; 1 when they are the same.

    Only windows that lie fully inside count, unless the setting reflects the picture. A picture smaller than the window
    is refused.

    >>> grey = np.full((9, 9, 3), 100, np.uint8)
    >>> ssim(grey, grey)
    1.0
    """
    check_pair(picture, reference, setting.width)
    if setting.window is WindowShape.UNIFORM and setting.colours is Colours.EACH and not setting.shrink_to_256:
        return _ssim_in_strips(picture, reference, setting)
    first, second = _as_planes(picture, setting.colours), _as_planes(reference, setting.colours)
    if setting.shrink_to_256:
        factor = max(1, round(min(first.shape[:2]) / 256))
        first, second = _block_means(first, factor), _block_means(second, factor)
        check_pair(first, second, setting.width)
    taps = _gaussian(setting.width, setting.sigma)
    similarity, contrast = _similarity_maps(first, second, taps, reflect=setting.reflect)
    if setting.clip_negative:
        similarity = np.where(contrast < 0, 0.0, similarity)
    return float(similarity.mean())


def ms_ssim(picture: Pixels, reference: Pixels, setting: MultiScaleSetting = MS_SSIM["wang2003"]) -> float:
    """The multi-scale structural similarity of two pictures of one size; 1 when they are the same.

    Contrast and structure at each scale, luminance at the coarsest, each to its exponent. The shorter side must
    still hold a window after four halvings: 161 pixels (176 for `wang2003`).

    >>> noise = np.random.default_rng(0).integers(0, 256, (176, 176, 3), dtype=np.uint8)
    >>> round(ms_ssim(noise, noise), 12)
    1.0
    """
    scales = len(setting.exponents)
    least = (
        setting.width * 2 ** (scales - 1)
        if setting.colours is Colours.LUMA
        else (setting.width - 1) * 2 ** (scales - 1) + 1
    )
    check_pair(picture, reference, least)
    taps = _gaussian(setting.width, setting.sigma, single=setting.single_precision_window)
    first, second = _as_planes(picture, setting.colours), _as_planes(reference, setting.colours)
    terms = []
    for scale in range(scales):
        similarity, contrast = _similarity_maps(first, second, taps)
        last = scale == scales - 1
        terms.append((similarity if last else contrast).mean(axis=(0, 1)))  # (channels,)
        if not last:
            first, second = _halve(first, setting.halving), _halve(second, setting.halving)
    table = np.stack(terms)  # (scales, channels)
    if setting.clip_negative:
        table = np.maximum(table, 0.0)
    elif (table < 0).any():
        raise PictureError(
            "the pair",
            f"has a negative similarity at a scale, whose root '{setting.name}' does not define. "
            "Use a setting that counts it as 0, such as pytorch_msssim.",
        )
    return float(np.prod(table ** np.array(setting.exponents)[:, None], axis=0).mean())


def psnr(picture: Pixels, reference: Pixels, setting: RangeRule = PSNR["his_evaluators"]) -> float:
    """The peak signal-to-noise ratio in decibel; infinite for identical pictures, but 80 under `fhibe`.

    `his_evaluators` takes its range from the *reference*: half when all its values are at least 128, so exchanging
    the pictures can change the number by 6 dB.

    >>> black, white = np.zeros((8, 8, 3), np.uint8), np.full((8, 8, 3), 255, np.uint8)
    >>> round(psnr(black, white), 9), round(psnr(white, black), 9)
    (-6.020599913, 0.0)
    """
    check_pair(picture, reference, 1)
    if setting is RangeRule.FLOORED:
        error = np.float32(_mean_square(picture, reference, _UNIT)) + np.float32(1e-8)
        # The logarithm in double precision, rounded once: NumPy's in single precision differs between processors.
        return float(np.float32(-10.0) * np.float32(math.log10(float(error))))
    if setting is RangeRule.BY_REFERENCE:
        signed = _UNIT * np.float32(2) - np.float32(1)
        return _decibels(_mean_square(picture, reference, signed), 1.0 if int(reference.min()) >= 128 else 2.0)
    return _decibels(float(cv2.norm(picture, reference, cv2.NORM_L2SQR)) / picture.size, 255.0)


def absolute_error(picture: Pixels, reference: Pixels) -> float:
    """The mean absolute difference of values from 0 to 1.

    >>> absolute_error(np.zeros((2, 2, 3), np.uint8), np.full((2, 2, 3), 51, np.uint8))
    0.2
    """
    check_pair(picture, reference, 1)
    return float(cv2.norm(picture, reference, cv2.NORM_L1)) / picture.size / 255.0


def squared_error(picture: Pixels, reference: Pixels) -> float:
    """The mean squared difference of values from 0 to 1."""
    check_pair(picture, reference, 1)
    return float(cv2.norm(picture, reference, cv2.NORM_L2SQR)) / picture.size / 255.0**2


def change(picture: Pixels, previous: Pixels) -> Pixels:
    """The change from one frame to the next in eight bits: half the difference, with 128 for none.

    >>> change(np.full((1, 1, 3), 30, np.uint8), np.full((1, 1, 3), 10, np.uint8)).tolist()
    [[[138, 138, 138]]]
    """
    check_pair(picture, previous, 1)
    return ((picture.astype(np.int16) - previous + 256) >> 1).astype(np.uint8)


def flicker(frames: tuple[Pixels, Pixels], reference: tuple[Pixels, Pixels]) -> float:
    """The mean absolute difference between two changes from frame to frame, (frame, previous), of values from 0 to 1.

    0 for a film that changes as the reference does, whatever it shows; at most 2.

    >>> still, flash = np.zeros((2, 2, 3), np.uint8), np.full((2, 2, 3), 255, np.uint8)
    >>> flicker((flash, still), (still, still)), flicker((flash, still), (still, flash))
    (1.0, 2.0)
    """
    changes = [now.astype(np.int16) - before for now, before in (frames, reference)]
    return float(np.abs(changes[0] - changes[1]).mean()) / 255.0


def _decibels(error: float, scale: float) -> float:
    return math.inf if error == 0.0 else 10.0 * math.log10(scale**2 / error)


def _mean_square(picture: Pixels, reference: Pixels, table: NDArray[np.float32]) -> float:
    """The mean squared difference after a table, which is rounded to single precision as the published code rounds.

    On flat pictures, where no rounding cancels, that shows at the fifth digit.
    """
    total = 0.0
    step = max(1, _STRIP // (picture.shape[1] * picture.shape[2]))
    for top in range(0, picture.shape[0], step):
        rows = slice(top, top + step)
        difference = cv2.subtract(cv2.LUT(picture[rows], table), cv2.LUT(reference[rows], table))
        total += cv2.norm(difference, cv2.NORM_L2SQR)
    return total / picture.size


def setting_named(kind: str, name: str) -> SsimSetting | MultiScaleSetting | RangeRule:
    """The published setting of `ssim`, `ms_ssim` or `psnr` that has this name.

    >>> setting_named("ssim", "piq").name
    'piq'
    """
    tables: Mapping[str, Mapping[str, Any]] = {"ssim": SSIM, "ms_ssim": MS_SSIM, "psnr": PSNR}
    if kind not in tables or name not in tables[kind]:
        known = ", ".join(f"{table}:{known}" for table, names in tables.items() for known in names)
        raise OptionError(f"There is no setting '{kind}:{name}'. Known: {known}.")
    setting: SsimSetting | MultiScaleSetting | RangeRule = tables[kind][name]
    return setting


def check_pair(picture: NDArray[np.generic], reference: NDArray[np.generic], least: int) -> None:
    """Nothing when two pictures have one size of at least `least` pixels a side; otherwise a `PictureError`."""
    if picture.shape != reference.shape:
        sizes = " against ".join(f"{shape[1]} × {shape[0]}" for shape in (picture.shape, reference.shape))
        raise PictureError("the pair", f"is of unequal size: {sizes} pixels. Resize one, or load both at one size.")
    if min(picture.shape[:2]) < least:
        raise PictureError(
            "the pair", f"is {picture.shape[1]} × {picture.shape[0]} pixels; at least {least} × {least} are needed."
        )


def _ssim_in_strips(picture: Pixels, reference: Pixels, setting: SsimSetting) -> float:
    """SSIM over uniform windows, some rows at a time so that every intermediate stays in the processor's cache."""
    windows = picture.shape[0] - setting.width + 1  # rows of windows
    step = max(_LEAST_ROWS, _STRIP // (picture.shape[1] * picture.shape[2]))
    total: float = 0.0
    for top in range(0, windows, step):
        rows = slice(top, min(top + step, windows) + setting.width - 1)
        total += _sum_of_ssim(picture[rows], reference[rows], setting)
    return total / float(windows * (picture.shape[1] - setting.width + 1) * picture.shape[2])


def _sum_of_ssim(picture: Pixels, reference: Pixels, setting: SsimSetting) -> float:
    """The sum of SSIM over uniform windows from exact window sums; single precision in the last ratio only.

    With S and T the window sums of both pictures, D those of squared differences and P those of products, in whole
    numbers: the covariance is nP - ST, and the two variances together are twice that plus nD - (S - T)². So four sums
    are enough, and either ratio is a / (a + b), b being (S - T)² for the means and nD - (S - T)² for the rest.
    """
    count = setting.width**2
    inside = slice(setting.width // 2, -(setting.width // 2))

    def sums(values: Any) -> NDArray[np.int32]:
        boxes = cv2.boxFilter(values, cv2.CV_32S, (setting.width, setting.width), normalize=False)
        return np.ascontiguousarray(boxes[inside, inside], dtype=np.int32)

    apart = cv2.absdiff(picture, reference)
    sum_1, sum_2 = sums(picture), sums(reference)
    covariance = sums(np.multiply(picture, reference, dtype=np.uint16))
    differing = sums(np.multiply(apart, apart, dtype=np.uint16))
    product = sum_1 * sum_2
    shift = sum_1 - sum_2
    shift *= shift
    differing *= count
    differing -= shift
    covariance *= count
    covariance -= product
    luminance_constant = (0.01 * 255 * count) ** 2
    if setting.signed:  # a mean of 2 v / 255 - 1 is, in units of count * 255, 2 S - count * 255
        offset = count * 255
        product *= 4  # of both means: 4 ST - 2 offset (S + T) + offset²
        sum_1 += sum_2
        sum_1 *= 2 * offset
        product -= sum_1
        product += offset**2
        shift *= 4
        luminance_constant = (0.01 * 2 * offset) ** 2
    degrees = count * (count - 1) if setting.sample_covariance else count**2
    luminance = _twice_plus(product, luminance_constant)
    contrast = _twice_plus(covariance, (0.03 * 255) ** 2 * degrees)
    denominator = shift.astype(np.float32)
    denominator += luminance
    variances = differing.astype(np.float32)
    variances += contrast
    denominator *= variances
    luminance *= contrast
    luminance /= denominator
    return float(luminance.sum(dtype=np.float64))


def _twice_plus(values: NDArray[np.int32], constant: float) -> NDArray[np.float32]:
    """2 × values + constant, in single precision."""
    scaled = values.astype(np.float32)
    scaled *= np.float32(2)
    scaled += np.float32(constant)
    return scaled


def _as_planes(pixels: Pixels, colours: Colours) -> Plane:
    if colours is Colours.EACH:
        return pixels.astype(np.float64)
    if colours is Colours.YIQ:
        red, green, blue = np.moveaxis(_UNIT[pixels], 2, 0)
        luma = np.float32(0.299) * red + np.float32(0.587) * green + np.float32(0.114) * blue
        return np.asarray(np.rint(luma * np.float32(255))[:, :, None], dtype=np.float64)
    red, green, blue = np.moveaxis(pixels.astype(np.float64), 2, 0)
    return np.asarray(np.floor(0.2989 * red + 0.5870 * green + 0.1140 * blue + 0.5)[:, :, None], dtype=np.float64)


def _gaussian(width: int, sigma: float, *, single: bool = False) -> NDArray[np.float64]:
    positions = np.arange(width) - width // 2
    taps = np.exp(-(positions**2) / (2.0 * sigma**2))
    if single:
        total = np.float32(taps.astype(np.float32).sum(dtype=np.float64))
        return (taps.astype(np.float32) / total).astype(np.float64)
    return np.asarray(taps / taps.sum(), dtype=np.float64)


def _similarity_maps(
    first: Plane, second: Plane, taps: NDArray[np.float64], *, reflect: bool = False
) -> tuple[Plane, Plane]:
    """SSIM and its contrast-structure part at each full window, per channel, with population covariance."""
    edge = len(taps) // 2
    inside = slice(None) if reflect else slice(edge, -edge)

    def smooth(values: Plane) -> Plane:
        filtered = np.asarray(cv2.sepFilter2D(values, cv2.CV_64F, taps, taps)).reshape(values.shape)
        return np.asarray(filtered[inside, inside], dtype=np.float64)

    mean_1, mean_2 = smooth(first), smooth(second)
    variances = smooth(first * first) + smooth(second * second) - mean_1**2 - mean_2**2
    covariance = smooth(first * second) - mean_1 * mean_2
    luminance_constant, contrast_constant = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    contrast = (2 * covariance + contrast_constant) / (variances + contrast_constant)
    luminance = (2 * mean_1 * mean_2 + luminance_constant) / (mean_1**2 + mean_2**2 + luminance_constant)
    return luminance * contrast, contrast


def _block_means(values: Plane, factor: int) -> Plane:
    height, width = values.shape[0] // factor, values.shape[1] // factor
    blocks = values[: height * factor, : width * factor].reshape(height, factor, width, factor, -1)
    return np.asarray(blocks.mean(axis=(1, 3)), dtype=np.float64)


def _halve(values: Plane, halving: Halving) -> Plane:
    """Means of blocks of two by two; an odd row or column as `halving` says."""
    height, width = values.shape[:2]
    odd_height, odd_width = height % 2, width % 2
    if halving is Halving.REPEAT_LAST:
        padded = np.pad(values, ((0, odd_height), (0, odd_width), (0, 0)), mode="edge")
    elif halving is Halving.REPEAT_FIRST:
        odd = max(odd_height, odd_width)
        padded = np.pad(values, ((odd, 0), (odd, 0), (0, 0)), mode="edge")
    else:
        padded = np.pad(values, ((odd_height,) * 2, (odd_width,) * 2, (0, 0)))
    return _block_means(padded, 2)
