"""Do synthesised pictures look like those of these real ones? What looks wrong about them, in words.

A few runs of frames are looked at as thumbnails: pictures that stand beside another frame than their own, a frame or a
few off, mirrored, turned or with other colours, and pictures that are all the same. Features that were computed before
are looked at as vectors. Nothing is changed or left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.synthesis.features import FeatureTable
from evenhand.benchmarks.synthesis.pixel_rows import loading_at
from evenhand.core.records import Array
from evenhand.search.sanity import embedding_warnings

FEWEST = 8  # pairs: fewer say nothing
_RUNS, _FRAMES = 6, 8  # looked at: so many runs of so many frames
_SIDE = 24  # pixels of a thumbnail
_SHIFTS = (1, -1, 2, -2, 3, -3)
_NEARER = 0.75  # share of the frames that must be nearer otherwise than as they stand
_MUCH_NEARER = 0.8  # of the distance as they stand
_NEARLY_ALL, _LITTLE_NEARER = 0.95, 0.95  # the same of a model whose pictures are far from all real ones
_TOLD_APART = 0.5  # of the distance to its own real one: nearer to that, another real frame says nothing
_BY_CHANCE = 0.65
_WIDTHS: Mapping[str, int] = {"inception": 2048, "osnet": 512, "pcb": 12288, "face": 512, "body": 85}
_SKIPPED = frozenset({"finite", "repeated"})  # frames are refused where they are measured, and may look alike
_VECTORS = 128  # of a side that are looked at: enough, and little memory where they are long
_NOT_OF_ONE_FRAME = frozenset({"body", "logits"})  # that are not compared by their direction

Numbers = NDArray[np.float64]
Runs = Sequence[Sequence[tuple[Numbers | None, Numbers | None]]]  # synthesised and real; None where one can't be read


class FramesBeside(NamedTuple):
    """A synthesised frame, the real one that it is measured against, and their video."""

    video: str
    made: Path
    real: Path


def picture_warnings(pairs: Sequence[FramesBeside], most_pixels: int) -> tuple[str, ...]:
    """What looks wrong about pictures beside each other; nothing when all is well or there are too few."""
    thumbnail = _Thumbnails(most_pixels)
    read = [[(thumbnail(pair.made), thumbnail(pair.real)) for pair in run] for run in _runs(pairs)]
    made, real = _sides(read)
    if len(made) < FEWEST:
        return ()
    shapes = [[(_shapes_of(one), _shapes_of(other)) for one, other in run] for run in read]
    return tuple(_of_forms(made, real)) or tuple(_misplaced(shapes, "Synthesised pictures"))


def feature_warnings(side: str, features: FeatureTable) -> tuple[str, ...]:
    """What looks wrong about the vectors of a side: constant, empty or repeated ones, or those of another network."""
    warnings: list[str] = []
    for name, array in features.arrays.items():
        if array.ndim != 2 or array.shape[1] < 2:
            continue
        which = f"features {name!r} of {side} frames"
        width = _WIDTHS.get(name)
        if width is not None and array.shape[1] != width:
            warnings.append(
                f"The {which} have {array.shape[1]:,} values, but the network of that name gives {width:,}. Give "
                "features of another network a name of their own, such as fid:NAME."
            )
        rows = np.linspace(0, len(array) - 1, min(len(array), _VECTORS)).astype(np.intp)
        found = embedding_warnings(array[rows], skip=_SKIPPED)
        warnings += [f"In the {which}, {text[0].lower()}{text[1:]}" for text in found]
    return tuple(warnings)


def feature_order_warnings(pairs: Sequence[FramesBeside], made: FeatureTable, real: FeatureTable) -> tuple[str, ...]:
    """Whether vectors that both sides have stand beside those of other frames than their own."""
    warnings: list[str] = []
    for name, array in made.arrays.items():
        other = real.arrays.get(name)
        if name in _NOT_OF_ONE_FRAME or other is None or array.ndim != 2 or array.shape[1:] != other.shape[1:]:
            continue
        read = [
            list(
                zip(
                    _directions(made.rows(name, [pair.made for pair in run])),
                    _directions(real.rows(name, [pair.real for pair in run])),
                    strict=True,
                )
            )
            for run in _runs(pairs)
        ]
        if len(_sides(read)[0]) >= FEWEST:
            warnings += _misplaced(read, f"The features {name!r} of synthesised frames")
    return tuple(warnings)


def _shapes_of(pixels: Numbers | None) -> Numbers | None:
    """A picture without its brightness, tint and contrast, by which a model may differ from all real frames alike.

    Beside frames that become brighter, such a difference alone makes an earlier or later one the nearest.
    """
    if pixels is None:
        return None
    centred = pixels - pixels.mean(axis=(0, 1))
    return np.asarray(centred / max(float(centred.std()), 1.0))  # a plain picture has nothing but noise to stretch


def _directions(rows: Array) -> list[Numbers | None]:
    vectors = np.asarray(rows, dtype=np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return [
        row if np.isfinite(row).all() else None for row in np.divide(vectors, lengths, out=vectors, where=lengths > 0)
    ]


class _Thumbnails:
    """Pictures as a few numbers; None where one can't be read, which is said where it is measured."""

    def __init__(self, most_pixels: int) -> None:
        self._loading = loading_at(_SIDE, most_pixels)
        self._known: dict[Path, Numbers | None] = {}

    def __call__(self, path: Path) -> Numbers | None:
        from evenhand.instruments.errors import PictureError
        from evenhand.instruments.pictures import load

        if path not in self._known:
            try:
                self._known[path] = np.asarray(load(path, self._loading).pixels, dtype=np.float64)
            except PictureError:
                self._known[path] = None
        return self._known[path]


def _runs(pairs: Sequence[FramesBeside]) -> list[Sequence[FramesBeside]]:
    """The first frames of some videos; of single pictures, and of few videos, frames from all over.

    Films are decoded in order: of few films, more of their first frames.
    """
    starts = [0, *(n + 1 for n, (one, other) in enumerate(pairwise(pairs)) if one.video != other.video), len(pairs)]
    videos = [pairs[first:last] for first, last in pairwise(starts)]
    if max(map(len, videos), default=0) < 3:  # pictures: those that follow each other in the list
        videos = [pairs]
    if len(videos) >= _RUNS:
        chosen = np.linspace(0, len(videos) - 1, _RUNS).astype(int)
        return [videos[place][:_FRAMES] for place in chosen.tolist()]
    most = -(-_RUNS // max(len(videos), 1))
    runs = []
    for video in videos:
        count = min(most, -(-len(video) // _FRAMES))
        if video and _is_of_film(video[0]):
            runs += [video[place : place + _FRAMES] for place in range(0, count * _FRAMES, _FRAMES)]
            continue
        places = np.linspace(0, len(video), count, endpoint=False).astype(int)
        runs += [video[place : place + min(_FRAMES, len(video) // count)] for place in places.tolist()]
    return runs


def _is_of_film(pair: FramesBeside) -> bool:
    from evenhand.instruments.films import film_of

    return film_of(pair.made) is not None or film_of(pair.real) is not None


def _sides(read: Runs) -> tuple[list[Numbers], list[Numbers]]:
    """What was read of both sides of a pair."""
    both = [(made, real) for run in read for made, real in run if made is not None and real is not None]
    return [made for made, _ in both], [real for _, real in both]


def _of_forms(some: Sequence[Numbers], others: Sequence[Numbers]) -> Iterator[str]:
    """Whether pictures are all the same, are the real ones, or are mirrored, turned or of other colours."""
    made, real, count = np.stack(some), np.stack(others), len(some)
    if (made == real).all():
        yield f"All {count} pictures that were looked at are equal to their real ones: is it the same folder?"
        return
    if (made == made[0]).all() and not (real == real[0]).all():
        yield f"All {count} synthesised pictures that were looked at are the same picture."
        return
    own = _apart(made, real)
    for form, change in _OTHER_FORMS.items():
        other = _apart(change(made), real)
        if _is_nearer(other, own):
            share = (other < own)[other != own].mean()
            yield (
                f"{100 * share:.0f} % of {np.count_nonzero(other != own)} synthesised pictures that were looked at are "
                f"nearer to their real ones {form}. Check how they were written."
            )
            return


def _misplaced(read: Runs, what: str) -> Iterator[str]:
    """Whether frames stand a few places off, or beside the real ones of others."""
    best, share, compared = _best_shift(read)
    if best:
        places = "one frame" if abs(best) == 1 else f"{abs(best)} frames"
        early, later = ("early", "later") if best > 0 else ("late", "earlier")
        yield (
            f"{what} seem to stand {places} too {early}: {100 * share:.0f} % of {compared} that were looked at are "
            f"nearer to the real one that is {places} {later}. Do both sides begin with the same number?"
        )
        return
    some, others = _sides(read)
    made, real, count = np.stack(some), np.stack(others), len(some)
    # A real frame of another part of the list, which may show somebody else.
    elsewhere = np.roll(real, count // 2, axis=0)
    own, between = _apart(made, real), _apart(real, elsewhere)
    differs = (between > 0) & (between >= _TOLD_APART * own)
    nearer = own[differs] < _apart(made, elsewhere)[differs]
    if len(nearer) >= FEWEST and nearer.mean() < _BY_CHANCE:
        yield (
            f"{what} seem to stand beside real ones that are not theirs: only {100 * nearer.mean():.0f} % of "
            f"{len(nearer)} that were looked at are nearer to their own than to another one (50 % is chance). Check "
            "their names."
        )


def _best_shift(runs: Runs) -> tuple[int, float, int]:
    """By how many frames most pictures would stand better (0: none), which share of them, and of how many."""
    best = 0, 0.0, 0
    for shift in _SHIFTS:
        own: list[float] = []
        other: list[float] = []
        for run in runs:
            for place, (made, real) in enumerate(run):
                beside = run[place + shift][1] if 0 <= place + shift < len(run) else None
                if made is not None and real is not None and beside is not None and not (beside == real).all():
                    own.append(float(np.abs(made - real).mean()))
                    other.append(float(np.abs(made - beside).mean()))
        before, after = np.array(own), np.array(other)
        share = float((after < before).mean()) if len(before) >= FEWEST else 0.0
        nearly_all = share >= _NEARLY_ALL and after.mean() < _LITTLE_NEARER * before.mean()
        if share > best[1] and (nearly_all or _is_nearer(after, before)):
            best = shift, share, len(before)
    return best


def _apart(first: Numbers, second: Numbers) -> Numbers:
    return np.asarray(np.abs(first - second).reshape(len(first), -1).mean(axis=1))


def _is_nearer(other: Numbers, own: Numbers) -> bool:
    differs = other != own
    return bool(
        differs.sum() >= FEWEST
        and (other < own)[differs].mean() >= _NEARER
        and other.mean() < _MUCH_NEARER * own.mean()
    )


_OTHER_FORMS: Mapping[str, Callable[[Numbers], Numbers]] = {
    "if left and right change places": lambda made: made[:, :, ::-1],
    "if they are turned upside down": lambda made: made[:, ::-1],
    "if they are turned by a quarter": lambda made: made.transpose(0, 2, 1, 3),
    "if red and blue change places": lambda made: made[..., ::-1],
    "if dark and light change places": lambda made: 255 - made,
}
