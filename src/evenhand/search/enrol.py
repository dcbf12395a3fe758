"""From faces to templates.

A template is a set of faces of one person treated as one sample. Practice differs in four
switches, which are named in words because the usual letters mean opposite things in
different scripts:

- *flip*: ignore the mirrored pass, add it, or set it beside the first;
- *norm*: keep the length of an embedding (it acts as a weight for quality) or scale it to one;
- *detector*: weigh a face by its detector score, or not;
- *media*: average the faces of a video first, average and scale to one, or ignore media.

Pooling is a sparse product (templates × faces), block by block of faces, whose weights hold all
switches: embeddings in a file are read once and never held whole.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import PredictionError
from evenhand.core.records import Array, blocks
from evenhand.core.sparse import SparseMatrix

Flip = Literal["none", "sum", "concat"]
Norm = Literal["keep", "unit"]
Detector = Literal["on", "off"]
Media = Literal["mean", "mean_unit", "flat"]

_FACES_AT_ONCE = 1 << 13
_COLUMNS_AT_ONCE = 128
_RUN_AT_ONCE = 1 << 10  # faces that stay in a core's cache
_FACES_WORTH_A_SUM = 4  # of a template: summed one template after the other


@dataclass(frozen=True)
class Pooling:
    """How embeddings of faces become a template.

    >>> Pooling().words
    'flip=sum, norm=keep, detector=on, media=mean'
    """

    flip: Flip = "sum"
    norm: Norm = "keep"
    detector: Detector = "on"
    media: Media = "mean"

    @property
    def words(self) -> str:
        """The four switches, in words."""
        return f"flip={self.flip}, norm={self.norm}, detector={self.detector}, media={self.media}"


@dataclass(frozen=True)
class Membership:
    """Which faces belong to which templates, one entry per face of a template.

    The entries of a template need not stand together. `face` is a row of the embeddings, or −1
    for a face without one. A medium is a still, or all frames of one person in one video; its
    number need only be unique within the template.
    """

    template: Array  # (entries,), 0 … templates − 1
    face: Array  # (entries,)
    medium: Array  # (entries,)
    templates: int

    @classmethod
    def of_single_faces(cls, face: Array) -> Membership:
        """Every face is a template of its own."""
        each = np.arange(len(face))
        return cls(each, np.asarray(face), np.zeros(len(face), np.int64), len(face))


class Templates(NamedTuple):
    """Pooled vectors of unit length; a template that could not be enrolled is all zero."""

    vectors: NDArray[np.floating]  # (templates, dimensions)
    enrolled: NDArray[np.bool_]  # (templates,)
    skipped: int  # faces without embedding inside templates that were enrolled

    @property
    def failures(self) -> int:
        """How many templates could not be enrolled."""
        return int((~self.enrolled).sum())


def enrol(
    embeddings: Array,
    members: Membership,
    pooling: Pooling = Pooling(),  # frozen
    *,
    flipped: Array | None = None,
    detector_scores: Array | None = None,
) -> Templates:
    """Pool the embeddings (faces, dimensions) into templates of unit length.

    `flipped` holds the embeddings of the mirrored images, `detector_scores` one number per face.
    A template fails to enrol when none of its faces has an embedding or the pooled vector has no
    length. An embedding that is not finite is an error: it would hide in the mean.

    >>> faces = np.array([[3.0, 0.0], [0.0, 1.0], [0.0, 1.0]], dtype=np.float32)
    >>> members = Membership(np.array([0, 0, 0]), np.array([0, 1, 2]), np.array([7, 8, 8]), 1)
    >>> enrol(faces, members, Pooling("none", "unit", "off", "mean")).vectors.round(4).tolist()
    [[0.7070999741554..., 0.7070999741554...]]
    """
    _check(embeddings, flipped, detector_scores, pooling)
    present = np.asarray(members.face) >= 0
    template, face = np.asarray(members.template)[present], np.asarray(members.face)[present]
    group, template_of_group = _groups(template, np.asarray(members.medium)[present], members.templates, pooling.media)
    weights = np.ones(len(face))
    if pooling.detector == "on" and detector_scores is not None:
        weights = np.asarray(detector_scores, dtype=np.float64)[face]
    if pooling.media != "flat":
        weights = weights / np.bincount(group, minlength=len(template_of_group))[group]
    pooled: Array
    if pooling.media == "mean_unit":
        media = _unit(_pooled(group, face, weights, len(template_of_group), embeddings, flipped, pooling))
        every, once = np.arange(len(media)), np.ones(len(media))
        pooled = _pooled(template_of_group, every, once, members.templates, media, None, Pooling("none"))
    else:
        pooled = _pooled(template, face, weights, members.templates, embeddings, flipped, pooling)
    lengths = _lengths(pooled)
    if not np.isfinite(lengths).all():
        raise PredictionError(
            f"{_first_not_finite(embeddings, flipped)} has a value that is not a finite number. "
            "Leave a face out (or give it no row) when it could not be embedded."
        )
    return _scaled(pooled, lengths, members)


def enrol_every(
    embeddings: Array, members: Membership, *, flipped: Array | None = None, detector_scores: Array | None = None
) -> Iterator[tuple[Pooling, Templates]]:
    """Templates under every pooling that the given arrays allow, in double precision.

    Embeddings are summed by medium once for each way to weigh faces; templates under all switches follow from these.

    >>> faces = np.array([[3.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    >>> members = Membership(np.array([0, 0]), np.array([0, 1]), np.array([7, 8]), 1)
    >>> {pooling.norm: made.vectors.round(2).tolist() for pooling, made in enrol_every(faces, members)}
    {'keep': [[0.95, 0.32]], 'unit': [[0.71, 0.71]]}
    """
    embeddings, flipped = np.asarray(embeddings), None if flipped is None else np.asarray(flipped)
    present = np.asarray(members.face) >= 0
    template, face = np.asarray(members.template)[present], np.asarray(members.face)[present]
    group, owner = _groups(template, np.asarray(members.medium)[present], members.templates, "mean")
    faces_of_group = np.bincount(group, minlength=len(owner)).astype(np.float64)
    detectors: tuple[Detector, ...] = ("off",) if detector_scores is None else ("on", "off")
    flips: tuple[Flip, ...] = ("none",) if flipped is None else ("none", "sum", "concat")
    norms: tuple[Norm, ...] = ("keep", "unit")
    for detector, norm in itertools.product(detectors, norms):
        kept: list[NDArray[np.float64]] = []  # with norm=keep both passes serve every flip
        for flip in flips:
            weights = _face_weights(embeddings, flipped, detector_scores, Pooling(flip, norm, detector))[face]
            weights = weights / faces_of_group[group]
            if not kept or norm == "unit":
                sources = (
                    [embeddings] if flipped is None or (norm == "unit" and flip == "none") else [embeddings, flipped]
                )
                kept = [_summed(group, face, weights, len(owner), source) for source in sources]
            media = kept[0] if flip == "none" else kept[0] + kept[1] if flip == "sum" else np.concatenate(kept, axis=1)
            for how in ("mean", "mean_unit", "flat"):
                scale = np.ones(len(owner))
                if how == "mean_unit":
                    lengths = _lengths(media)
                    scale = 1.0 / np.where(lengths > 0, lengths, 1.0)
                elif how == "flat":
                    scale = faces_of_group
                pooled = _summed(owner, np.arange(len(owner)), scale, members.templates, media)
                yield Pooling(flip, norm, detector, how), _scaled(pooled, _lengths(pooled), members)


def _scaled(pooled: Array, lengths: NDArray[np.float64], members: Membership) -> Templates:
    """Templates of pooled vectors, which are scaled to length one in place."""
    enrolled = lengths > 0
    pooled /= np.where(enrolled, lengths, 1.0)[:, None]
    lacking = np.asarray(members.template)[np.asarray(members.face) < 0]
    return Templates(pooled, enrolled, int(enrolled[lacking].sum()))


def _summed(out: Array, row: Array, weights: Array, size: int, source: Array) -> NDArray[np.float64]:
    """Weighted sums (size, dimensions) of rows in double precision, some columns at a time."""
    matrix = SparseMatrix.of_entries(out, row, (size, len(source)), weights)
    total = np.empty((size, source.shape[1]))
    for start in range(0, source.shape[1], _COLUMNS_AT_ONCE):
        part = slice(start, start + _COLUMNS_AT_ONCE)
        total[:, part] = matrix @ np.asarray(source[:, part], dtype=np.float64)
    return total


def _check(embeddings: Array, flipped: Array | None, detector_scores: Array | None, pooling: Pooling) -> None:
    if embeddings.ndim != 2:
        raise PredictionError(f"Embeddings have the shape {embeddings.shape}, but (faces, dimensions) was expected.")
    if pooling.flip != "none":
        if flipped is None:
            raise PredictionError(
                f"flip={pooling.flip} needs the embeddings of the mirrored faces, and none were given. "
                "Give them as embeddings_flip, or set flip=none."
            )
        if flipped.shape != embeddings.shape:
            raise PredictionError(
                f"The mirrored pass has the shape {flipped.shape}, the embeddings {embeddings.shape}: they must agree."
            )
    if pooling.detector == "on":
        if detector_scores is None:
            raise PredictionError(
                "detector=on weighs faces by their detector scores, and none were given. "
                "Add a column FACE_SCORE to faces.csv, or set detector=off."
            )
        if len(detector_scores) != len(embeddings):
            raise PredictionError(
                f"There are {len(detector_scores)} detector scores for {len(embeddings)} embeddings: they must agree."
            )
        if not np.isfinite(detector_scores).all():
            row = int(np.flatnonzero(~np.isfinite(detector_scores))[0])
            raise PredictionError(f"The detector score of face {row} is not a finite number.")


def _groups(template: Array, medium: Array, templates: int, media: Media) -> tuple[Array, Array]:
    """The group of each entry (a medium within a template), and the template of each group."""
    if media == "flat":
        return template, np.arange(templates)
    is_whole = medium.dtype.kind in "iu" and medium.dtype != np.uint64
    low, high = (int(medium.min(initial=0)), int(medium.max(initial=0))) if is_whole else (0, 0)
    if not is_whole or templates * (high - low + 1) >= 2**62:  # names, or numbers too far apart, are numbered first
        _, medium = np.unique(medium, return_inverse=True)
        low, high = 0, len(medium)
    span = high - low + 1
    key = template.astype(np.int64) * span + (medium.reshape(-1).astype(np.int64) - low)
    if (key[1:] >= key[:-1]).all():  # as most files list them: nothing has to be sorted
        begins = np.append(True, key[1:] != key[:-1])[: len(key)]
        keys, group = key[begins], np.cumsum(begins) - 1
    else:
        keys, group = np.unique(key, return_inverse=True)
    return group.reshape(-1), keys // span


def _face_weights(
    embeddings: Array, flipped: Array | None, detector_scores: Array | None, pooling: Pooling
) -> NDArray[np.float64]:
    """(faces,): detector score over length, as the switches ask."""
    weights = np.ones(len(embeddings))
    if pooling.norm == "unit":
        for part in blocks(len(embeddings), _FACES_AT_ONCE):
            weights[part] = _scales(_faces(embeddings, flipped, pooling.flip, part), "unit")
    if pooling.detector == "on" and detector_scores is not None:
        weights = weights * np.asarray(detector_scores, dtype=np.float64)
    return weights


def _faces(embeddings: Array, flipped: Array | None, flip: Flip, block: slice) -> NDArray[np.float32]:
    """A block of faces, with the mirrored pass added or set beside."""
    rows = _single(embeddings[block])
    if flipped is None or flip == "none":
        return rows
    other = _single(flipped[block])
    return rows + other if flip == "sum" else np.concatenate([rows, other], axis=1)


def _pooled(
    out: Array,
    face: Array,
    weights: NDArray[np.float64],
    size: int,
    embeddings: Array,
    flipped: Array | None,
    pooling: Pooling,
) -> NDArray[np.float32]:
    """The weighted sums (size, dimensions) of faces, with the mirrored pass added or set beside, scaled to one or not.

    Faces are read block by block, so that embeddings in a file are never held whole.
    """
    width = embeddings.shape[1] * (2 if flipped is not None and pooling.flip == "concat" else 1)
    total = np.zeros((size, width), dtype=np.float32)
    order = np.argsort(face, kind="stable")
    starts = np.searchsorted(face[order], np.arange(0, len(embeddings) + _FACES_AT_ONCE, _FACES_AT_ONCE))
    for number, block in enumerate(blocks(len(embeddings), _FACES_AT_ONCE)):
        entries = order[starts[number] : starts[number + 1]]
        if not len(entries):
            continue
        if (np.diff(out[entries]) < 0).any():
            entries = entries[np.argsort(out[entries], kind="stable")]
        begins = np.flatnonzero(np.append(True, np.diff(out[entries]) != 0))
        ends, own, faces = np.append(begins[1:], len(entries)), out[entries[begins]], face[entries]
        # As most files list them; whole blocks, so that a hash can follow what is read.
        is_run = len(faces) == min(block.stop, len(embeddings)) - block.start and bool((np.diff(faces) == 1).all())
        if is_run and len(faces) >= _FACES_WORTH_A_SUM * len(own):
            sums = _sums_of_run(int(faces[0]), ends.tolist(), weights[entries], embeddings, flipped, pooling)
        else:
            rows = _faces(embeddings, flipped, pooling.flip, block)
            inside = faces - block.start
            weight = (weights[entries] * _scales(rows, pooling.norm)[inside]).astype(np.float32)
            sums = SparseMatrix(np.append(0, ends), inside, len(rows), weight) @ rows
        total[own] += sums
    return total


def _sums_of_run(
    first: int,
    ends: list[int],
    weights: NDArray[np.float64],
    embeddings: Array,
    flipped: Array | None,
    pooling: Pooling,
) -> NDArray[np.float32]:
    """The weighted sums of faces that follow each other from `first` on; the faces of each sum lie before its end.

    The same as the sparse product, to the last bit; but faces are weighted and added as they are read, while they are
    in a core's cache.
    """
    width = embeddings.shape[1] * (2 if pooling.flip == "concat" else 1)
    sums, space = np.empty((len(ends), width), np.float32), np.empty((_RUN_AT_ONCE, width), np.float32)
    place, is_begun = 0, False
    for part in blocks(len(weights), _RUN_AT_ONCE):
        rows = _faces(embeddings, flipped, pooling.flip, slice(first + part.start, first + part.stop))
        weight = (weights[part] * _scales(rows, pooling.norm)).astype(np.float32)
        start = part.start
        with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is found in the sums
            weighted = np.multiply(rows, weight[:, None], out=space[: len(rows)])
            while start < part.stop:
                end = ends[place] if ends[place] < part.stop else part.stop
                faces = weighted[start - part.start : end - part.start]
                if is_begun:
                    faces[0] += sums[place]
                np.add.reduce(faces, axis=0, out=sums[place])
                is_begun = end < ends[place]
                place += not is_begun
                start = end
    return sums


def _single(embeddings: Array) -> NDArray[np.float32]:
    return np.ascontiguousarray(embeddings, dtype=np.float32)


def _lengths(vectors: Array) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)))


def _scales(vectors: Array, norm: Norm) -> NDArray[np.float64]:
    """What vectors are multiplied with; those without length count as nothing."""
    if norm == "keep":
        return np.ones(len(vectors))
    lengths = _lengths(vectors)
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = _lengths(vectors)
    vectors /= np.where(lengths > 0, lengths, 1.0)[:, None]
    return vectors


def _first_not_finite(embeddings: Array, flipped: Array | None) -> str:
    for source, name in ((embeddings, "embedding"), (flipped, "embedding of the mirrored pass")):
        if source is None:
            continue
        for part in blocks(len(source), _FACES_AT_ONCE):
            wrong = ~np.isfinite(np.asarray(source[part], dtype=np.float32)).all(axis=1)
            if wrong.any():
                return f"The {name} in row {part.start + int(np.flatnonzero(wrong)[0])}"
    return "A sum of embeddings"  # each was finite
