"""Masks as pictures, polygons and run lengths, and how much they overlap.

A mask is a height × width array of booleans, or its run lengths: column after column, alternating
runs of outside and inside, beginning with outside. `Runs` is the compressed text form of COCO with
its size; it is checked when it is made, so that a damaged text is an error and never a read beyond
the picture. Overlaps are computed on run lengths; nothing is decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.optional import cv2
from evenhand.core.records import Array

Mask = NDArray[np.bool_]

_SMALLEST_CHARACTER = 48
_MORE, _SIGN, _VALUE = 0x20, 0x10, 0x1F
_WORTH_TURNING = 1 << 16  # pixels
_MOST_GROUPS = 7  # characters of one number: 35 bits
_WORTH_PAINTING = 0.01  # runs per pixel above which a mask is painted whole


class MaskError(ValueError):
    """Run lengths that describe no mask of the stated size; the message says why."""


@dataclass(frozen=True)
class Runs:
    """A mask as COCO's compressed run lengths."""

    height: int
    width: int
    counts: str

    @property
    def plain(self) -> dict[str, Any]:
        """As the files write it: `{"size": [height, width], "counts": text}`."""
        return {"size": [self.height, self.width], "counts": self.counts}

    @property
    def coded(self) -> dict[str, Any]:
        """As the run-length library takes it."""
        return {"size": [self.height, self.width], "counts": self.counts.encode("ascii")}


def fill_polygons(polygons: Iterable[Array], height: int, width: int) -> Mask:
    """The union of polygons, each filled by OpenCV's filler, on a canvas of height × width.

    Vertices (points, 2) are truncated toward zero. Boundary pixels are inside, self-intersections
    follow the even-odd rule, what lies outside the canvas is clipped; one point is a dot, two are a
    line, none is nothing.

    >>> int(fill_polygons([np.array([[1, 1], [3.9, 1], [3, 2], [1, 2]])], 4, 6).sum())
    6
    """
    canvas = np.zeros((height, width), dtype=np.uint8)
    for polygon in polygons:
        corners = _whole(polygon)
        if len(corners):
            cv2.fillPoly(canvas, [corners], 1)
    return canvas.view(np.bool_)


def runs_of_polygons(polygons: Sequence[Array], height: int, width: int) -> Runs:
    """The run lengths of `fill_polygons`, drawn only on the columns that the polygons reach.

    >>> square = np.array([[1, 1], [3, 1], [3, 2], [1, 2]])
    >>> runs_of_polygons([square], 4, 6) == encode(fill_polygons([square], 4, 6))
    True
    """
    shapes = [corners for polygon in polygons if len(corners := _whole(polygon))]
    across = np.concatenate([np.zeros(0, np.int32), *(shape[:, 0, 0] for shape in shapes)])
    left, right = max(int(across.min(initial=width)), 0), min(int(across.max(initial=-1)) + 1, width)
    if left >= right or height == 0:
        return encode(np.zeros((height, width), dtype=np.bool_))
    # Clipping must happen at the picture's border and nowhere else, so the canvas keeps the full height
    # and the shapes are not cut at its sides: a margin of one column is enough.
    left, right = max(left - 1, 0), min(right + 1, width)
    if left > 0 or right < width:
        if any(_reaches_outside(shape, height, width) for shape in shapes):
            return encode(fill_polygons(polygons, height, width))  # clipped lines depend on the whole border
        shift = np.array([left, 0], dtype=np.int32)
        shapes = [shape - shift for shape in shapes]
    canvas = np.zeros((height, right - left), dtype=np.uint8)
    for shape in shapes:
        cv2.fillPoly(canvas, [shape], 1)
    lengths = run_lengths(canvas.view(np.bool_))
    lengths[0] += left * height
    after = (width - right) * height
    if after:
        if len(lengths) % 2:
            lengths[-1] += after
        else:
            lengths = np.append(lengths, after)
    return Runs(height, width, compress(lengths))


def run_lengths(mask: Mask) -> NDArray[np.int64]:
    """Lengths of alternating runs, outside first, column after column.

    >>> run_lengths(np.array([[True, False], [True, True]])).tolist()
    [0, 2, 1, 1]
    """
    flat = _by_columns(np.asarray(mask, dtype=np.bool_))
    if not len(flat):
        return np.zeros(1, dtype=np.int64)
    changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    lengths = np.diff(np.concatenate([[0], changes, [len(flat)]]))
    return np.concatenate([[0], lengths]) if flat[0] else lengths


def encode(mask: Mask) -> Runs:
    """The run lengths of a mask, compressed as COCO does.

    >>> encode(np.array([[False, True], [False, True]])).counts
    '22'
    """
    mask = np.asarray(mask)
    if mask.ndim != 2:
        raise MaskError(f"a mask of shape {mask.shape}; height × width was expected")
    return Runs(mask.shape[0], mask.shape[1], compress(run_lengths(mask != 0)))


def decode(runs: Runs) -> Mask:
    """The mask that run lengths stand for: (height, width).

    >>> decode(Runs(2, 2, "22")).tolist()
    [[False, True], [False, True]]
    """
    lengths = expand(runs)
    inside = np.arange(len(lengths)) % 2 == 1
    return np.repeat(inside, lengths).reshape(runs.width, runs.height).T


def compress(lengths: Array) -> str:
    """Run lengths in COCO's text: from the third on as difference to the one before the last."""
    values = np.asarray(lengths, dtype=np.int64).copy()
    values[3:] -= np.asarray(lengths, dtype=np.int64)[1:-2]
    characters, left, active = [], values, np.ones(len(values), dtype=np.bool_)
    for _ in range(_MOST_GROUPS):
        digit = left & _VALUE
        left = left >> 5
        more = np.where(digit & _SIGN, left != -1, left != 0)
        characters.append(np.where(active, (digit | np.where(more, _MORE, 0)) + _SMALLEST_CHARACTER, 0))
        active = active & more
        if not active.any():
            break
    table = np.stack(characters, axis=1).astype(np.uint8)
    return bytes(table[table != 0]).decode("ascii")


def expand(runs: Runs) -> NDArray[np.int64]:
    """The run lengths in COCO's text; refuses a text that does not fill the picture exactly.

    >>> expand(Runs(2, 3, compress(np.array([1, 2, 3])))).tolist()
    [1, 2, 3]
    """
    return expand_all([runs])[0]


def expand_all(masks: Sequence[Runs]) -> list[NDArray[np.int64]]:
    """The run lengths of many masks, read in one pass; refuses the first that does not fill its picture exactly.

    >>> [lengths.tolist() for lengths in expand_all([Runs(2, 2, "22"), Runs(2, 2, "04")])]
    [[2, 2], [0, 4]]
    """
    if not masks:
        return []
    text = "".join(runs.counts for runs in masks).encode("ascii", "replace")
    characters = np.frombuffer(text, dtype=np.uint8) - np.uint8(_SMALLEST_CHARACTER)  # wraps: checked below
    if len(characters) and characters.max() > 63:
        raise MaskError("the counts hold a character that run lengths never have")
    last = characters < _MORE
    stops = np.cumsum([len(runs.counts) for runs in masks])
    if any(not runs.counts for runs in masks):
        raise MaskError("the counts are empty")
    if not last[stops - 1].all():
        raise MaskError("the counts break off in the middle of a number")
    ends = np.flatnonzero(last)
    values = _numbers_ending_at(ends, characters & np.uint8(_VALUE), last)
    numbers = np.split(values, np.searchsorted(ends, stops[:-1]))
    for runs, lengths in zip(masks, numbers, strict=True):
        lengths[1::2].cumsum(out=lengths[1::2])
        lengths[2::2].cumsum(out=lengths[2::2])
        pixels = runs.height * runs.width
        if lengths.min() < 0 or lengths.max() > pixels or lengths.sum() != pixels:
            raise MaskError(
                f"the runs cover {int(lengths.sum()):,} pixels, but {runs.height} × {runs.width} are {pixels:,}"
            )
    return numbers


def _numbers_ending_at(ends: Array, digits: NDArray[np.uint8], last: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The numbers whose last characters are at `ends`: five bits a character, lowest first, the last one signed."""
    values = (digits[ends].astype(np.int64) ^ _SIGN) - _SIGN
    some = np.flatnonzero(~last[ends[1:] - 1]) + 1  # the numbers that have one more character before
    if ends[0] > 0:
        some = np.concatenate([[0], some])
    before = ends[some] - 1
    for _ in range(_MOST_GROUPS - 1):
        if not len(some):
            return values
        values[some] = (values[some] << 5) | digits[before]
        longer = np.flatnonzero((before > 0) & ~last[before - 1])
        some, before = some[longer], before[longer] - 1
    if len(some):
        raise MaskError("the counts hold a number of absurd length")
    return values


def encode_labels(labels: NDArray[np.integer[Any]]) -> dict[int, Runs]:
    """One mask per label that occurs in a label map (height, width), by ascending label.

    >>> encode_labels(np.array([[0, 3], [0, 3]]))[3]
    Runs(height=2, width=2, counts='22')
    """
    from pycocotools import mask as coco

    labels = np.asarray(labels)
    if labels.ndim != 2:
        raise MaskError(f"a label map of shape {labels.shape}; height × width was expected")
    height, width = labels.shape
    present = _distinct(labels)
    turned = np.ascontiguousarray(labels.T)
    stack = np.equal(turned[np.newaxis], present.reshape(-1, 1, 1)).view(np.uint8)
    coded = coco.encode(stack.transpose(2, 1, 0)) if len(present) else []  # (height, width, labels), columns first
    return {
        int(label): Runs(height, width, entry["counts"].decode("ascii"))
        for label, entry in zip(present, coded, strict=True)
    }


def paint(masks: Mapping[int, Runs], height: int, width: int) -> NDArray[np.uint8]:
    """(height, width): the sum of the labels whose masks cover a pixel, modulo 256; 0 where none does.

    >>> paint({1: Runs(2, 2, "22"), 2: Runs(2, 2, "04")}, 2, 2).tolist()
    [[2, 3], [2, 3]]
    """
    steps = np.zeros(height * width + 1, dtype=np.uint8)  # where a label begins and ends
    total = np.zeros(height * width, dtype=np.uint8)  # labels of masks with so many runs that painting is cheaper
    for label, lengths in zip(masks, expand_all(list(masks.values())), strict=True):
        if len(lengths) > _WORTH_PAINTING * height * width:
            inside = np.zeros(len(lengths), dtype=np.uint8)
            inside[1::2] = label
            total += np.repeat(inside, lengths)
            continue
        edges = np.cumsum(lengths)
        starts, stops = edges[0 : len(edges) - 1 : 2], edges[1::2]
        some = stops > starts
        steps[starts[some]] += np.uint8(label)
        steps[stops[some]] -= np.uint8(label)
    total += np.cumsum(steps[:-1], dtype=np.uint8)
    return total.reshape(width, height).T


def area(runs: Runs) -> int:
    """How many pixels are inside."""
    return int(expand(runs)[1::2].sum())


def overlap_matrix(first: Sequence[Runs], second: Sequence[Runs]) -> NDArray[np.float64]:
    """(first, second): intersection over union of masks of one size; 0 where both are empty.

    The runs must have been checked (`expand` or `area`) before.

    >>> overlap_matrix([Runs(2, 2, "22")], [Runs(2, 2, "04")]).tolist()
    [[0.5]]
    """
    from pycocotools import mask as coco

    if not first or not second:
        return np.zeros((len(first), len(second)))
    sizes = {(runs.height, runs.width) for runs in (*first, *second)}
    if len(sizes) > 1:
        raise MaskError(f"masks of different sizes can't be compared: {sorted(sizes)}")
    overlaps = coco.iou([runs.coded for runs in first], [runs.coded for runs in second], [0] * len(second))
    return np.nan_to_num(np.asarray(overlaps, dtype=np.float64), nan=0.0)


def mask_f1(predicted: Mask, truth: Mask) -> float | None:
    """2·TP / (2·TP + FP + FN) over pixels; None when both masks are empty.

    >>> mask_f1(np.array([[True, True]]), np.array([[True, False]]))
    0.6666666666666666
    """
    both = int(np.count_nonzero(predicted)) + int(np.count_nonzero(truth))
    return 2 * int(np.count_nonzero(predicted & truth)) / both if both else None


def _by_columns(mask: Mask) -> Mask:
    """The pixels of a mask, column after column; OpenCV turns it in blocks, twice as fast as NumPy."""
    if mask.ndim != 2 or mask.size < _WORTH_TURNING or not cv2:
        return np.ravel(mask, order="F")
    return np.asarray(cv2.transpose(np.ascontiguousarray(mask).view(np.uint8))).view(np.bool_).reshape(-1)


def _whole(polygon: Array) -> NDArray[np.int32]:
    if isinstance(polygon, np.ndarray) and polygon.dtype == np.int32:
        corners: NDArray[np.int32] = polygon.reshape(-1, 1, 2)
        return corners
    points = np.trunc(np.asarray(polygon, dtype=np.float64).reshape(-1, 2))
    if not np.isfinite(points).all() or np.abs(points).max(initial=0) > 2**30:
        raise MaskError("a polygon with a vertex that is not a number or far outside every picture")
    return points.astype(np.int32).reshape(-1, 1, 2)


def _reaches_outside(shape: Array, height: int, width: int) -> bool:
    x, y = shape[:, 0, 0], shape[:, 0, 1]
    return bool(x.min() < 0 or y.min() < 0 or x.max() >= width or y.max() >= height)


def _distinct(labels: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """The values that occur, ascending; small ones are counted instead of sorted."""
    if labels.size and labels.dtype.kind in "iu" and labels.min() >= 0 and labels.max() < 256:
        return np.flatnonzero(np.bincount(labels.reshape(-1).astype(np.uint8), minlength=1))
    return np.unique(labels).astype(np.int64)
