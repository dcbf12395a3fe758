"""Do the rows of a score file look like detections of these faces? What looks wrong about them, in words.

Every warning is about numbers that would be wrong in silence: rows that occur twice, boxes in another form or of
another picture size, rows on the image beside theirs, scores that say the opposite or are in another order. They are
measured against what is annotated; nothing is changed or left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from evenhand.benchmarks.uccs.data import WatchlistFaces
from evenhand.benchmarks.uccs.detections import WatchlistDetections
from evenhand.benchmarks.uccs.record import NEVER, Matches, match, true_subjects
from evenhand.core.optional import polars as pl
from evenhand.core.records import Array
from evenhand.geometry.assignment import assign_by_overlap
from evenhand.geometry.box_forms import EXTENTS, FORMS, are_shares, better_form, other_forms
from evenhand.geometry.boxes import corners, offsets_of, overlaps_by_image
from evenhand.search.sanity import chance_of_higher

FEWEST = 12  # faces or scores: fewer say nothing
_OVERLAP = 0.5  # at most: whether boxes are those of the faces does not depend on how exact they have to be
_FEW_FOUND = 0.5  # share of the faces on images with detections, below which other forms of the boxes are tried
_HARDLY_ANY = 0.05
_OPPOSITE = 0.2  # chance that a found face has a higher score than a false detection: below it, low scores mean a face
_UNORDERED = 0.55  # the same chance, below which scores are in another order: by more than two standard errors
_RANK_BY_CHANCE = 0.4  # mean share of the subjects in front of the true one, from which on the order may be chance
_RANK_OPPOSITE = 0.8


def warnings_of(
    faces: WatchlistFaces, detections: WatchlistDetections, matches: Matches, iou: float, *, named: bool
) -> tuple[str, ...]:
    """What looks wrong about detections, in words; nothing when all is well.

    `matches` are those at the overlap `iou`. `named`: similarities are evaluated and not detection scores.
    """
    if not len(detections):
        return ("There is no detection at all on the annotated images: every face counts as missed.",)
    if iou > _OVERLAP:
        iou = _OVERLAP
        matches = match(faces, detections, iou)
    scores = _similarities(faces, detections, matches) if named else _detection_scores(detections, matches)
    return (*_repeated(detections), *_boxes(faces, detections, matches, iou), *scores)


def _repeated(detections: WatchlistDetections) -> Iterator[str]:
    x, y, width, height = detections.boxes_xywh.T
    rows = pl.DataFrame(
        {"image": detections.image, "score": detections.scores, "x": x, "y": y, "width": width, "height": height}
    )
    again = np.flatnonzero(~rows.select(pl.struct(pl.all()).is_first_distinct()).to_series().to_numpy())
    if len(again):
        image = detections.faces.images[detections.image[again[0]]]
        yield (
            f"{len(again):,} of {len(rows):,} rows repeat an earlier one (same image, score and box; the first on "
            f"{image}). All of them count, so a repeated one is a false detection. Was a part written twice?"
        )


def _boxes(faces: WatchlistFaces, detections: WatchlistDetections, matches: Matches, iou: float) -> Iterator[str]:
    """Whether hardly any face is found, and in which form of the boxes most of them would be."""
    looked_at = np.isin(faces.image, detections.image)
    count = int(looked_at.sum())
    share = len(matches.assignment.faces) / max(count, 1)
    if count < FEWEST or share >= _FEW_FOUND:
        return
    corners_of = FORMS[EXTENTS]
    fit = better_form(
        lambda form: _count_found(faces, form(detections.boxes_xywh), detections.image, iou) / count,
        other_forms(EXTENTS),
        now=share,
        margin=0.0,
    )
    shares = {} if fit is None else {f"if they are read as {fit.form}": fit.fit}
    for step, form in ((1, "if every row is moved to the next image"), (-1, "if every row is moved one image back")):
        inside = (detections.image + step >= 0) & (detections.image + step < len(faces.images))
        boxes_xyxy = corners_of(detections.boxes_xywh[inside])
        shares[form] = _count_found(faces, boxes_xyxy, detections.image[inside] + step, iou) / count
    best = max(shares, key=shares.__getitem__)
    percent = (
        f"{100 * share:.0f} % of the {count:,} faces on images with detections are found (overlap of at least {iou:g})"
    )
    expected = "BB_X, BB_Y, BB_WIDTH and BB_HEIGHT are left, top, width and height in pixels of the picture"
    if shares[best] >= max(_FEW_FOUND, 2 * share):
        yield f"Only {percent}, but {100 * shares[best]:.0f} % {best}. {expected}; check the file and the annotation."
    elif are_shares(detections.boxes_xywh):
        yield f"Only {percent}: boxes look like shares of the picture from 0 to 1. {expected}."
    elif share < _HARDLY_ANY:
        yield (
            f"Only {percent}, as if by chance. {expected}: were the pictures resized, or do the rows name other images?"
        )


def _count_found(faces: WatchlistFaces, boxes_xyxy: Array, image: Array, iou: float) -> int:
    """How many faces are found by boxes; those of no extent are left out."""
    real = (boxes_xyxy[:, 2:] > boxes_xyxy[:, :2]).all(axis=1)
    images = len(faces.images)
    pairs = overlaps_by_image(
        corners(faces.boxes_xywh.astype(np.float32)),
        offsets_of(faces.image, images),
        boxes_xyxy[real].astype(np.float32),
        offsets_of(image[real], images),
        at_least=iou,
    )
    return len(assign_by_overlap(pairs, len(faces), int(real.sum()), threshold=iou).faces)


def _detection_scores(detections: WatchlistDetections, matches: Matches) -> Iterator[str]:
    """Whether scores tell found faces from false detections."""
    scores = detections.scores
    if len(scores) >= FEWEST and (scores == scores[0]).all():
        yield f"All {len(scores):,} detection scores are {scores[0]:g}: the curve has one point at most."
        return
    found, false = scores[matches.assignment.detections], scores[matches.false]
    if min(len(found), len(false)) < FEWEST:
        return
    higher = chance_of_higher(found, false)
    measured = f"a found face has a higher score than a false detection in only {100 * higher:.0f} % of cases"
    if higher < _OPPOSITE:
        yield f"The detection scores say the opposite of what they should: {measured}. Higher must mean surer."
    elif higher + 2 * _error_by_chance(len(found), len(false)) < _UNORDERED:
        yield (
            f"The detection scores seem to be in another order than the boxes: {measured} (50 % is chance). Check that "
            "the score of a row belongs to its box."
        )


def _error_by_chance(some: int, others: int) -> float:
    """The standard error of the chance that one of some is higher than one of others, where order says nothing."""
    return math.sqrt((some + others + 1) / (12 * some * others))


def _similarities(faces: WatchlistFaces, detections: WatchlistDetections, matches: Matches) -> Iterator[str]:
    """Whether the true subject of a known face is among the more similar ones."""
    subjects = len(detections.subjects)
    assert detections.largest is not None  # a file without similarities is refused before
    if len(detections) >= FEWEST and (detections.largest == detections.largest[0]).all():
        yield (
            f"The largest similarity of all {len(detections):,} rows is the same number ({detections.largest[0]:g}): "
            "were all faces given the same embedding?"
        )
    empty = int(np.count_nonzero(detections.largest == 0))
    if FEWEST <= empty < len(detections):
        yield (
            f"The largest similarity of {empty:,} of {len(detections):,} rows is exactly 0: were these faces not "
            "embedded (zero vectors)?"
        )
    face, detection = matches.pairs
    known = faces.is_known[face]
    _, rank = true_subjects(detections, face[known], detection[known], "middle")
    rank = rank[rank < NEVER]
    if subjects < 3 or len(rank) < FEWEST:
        return
    in_front = float(rank.mean() - 1) / (subjects - 1)
    measured = f"on average {100 * in_front:.0f} % of the other subjects are more similar to a known face than its own"
    if in_front > _RANK_OPPOSITE:
        yield (
            f"The similarities say the opposite of what they should: {measured}. Higher must mean more alike: negate "
            "distances."
        )
    elif in_front > _RANK_BY_CHANCE:
        yield (
            f"The similarities seem to be in another order than the rows or the subjects, and then no result means "
            f"anything: {measured} (50 % is chance). Check that the columns belong to the subjects in the header, and "
            "the similarities of a row to its box."
        )
