"""What happened, one row per event: images looked at, faces, false alarms.

Overlaps are computed in single precision, in the order of the published code; the best pair
anywhere in an image is taken first, ties go to the earlier face and then to the earlier
detection, and an overlap equal to the limit counts. Scores and similarities play no part.
Excluded faces compete on equal terms; a detection that ends on one is ignored.
(UCCS watchlist challenge, evaluation of October 2024.) Undefined overlaps, of two boxes without
area, are 0 here.

The published denominators subtract the length of the exclusion list, whatever the ids are. So that
they can be counted from rows, every row says what it adds: a face that counts adds 1, an excluded
one 0, and an exclusion that lowers the number though it took no face away (it names nobody, or
repeats an id) is an `ABSENT` row that adds −1. The number of *known* faces is lowered by every
exclusion, so an excluded unknown face adds −1 there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.benchmarks.uccs.data import WatchlistFaces
from evenhand.benchmarks.uccs.detections import WatchlistDetections
from evenhand.benchmarks.uccs.options import Ties, WatchlistDetectionOptions, WatchlistIdentificationOptions
from evenhand.core.errors import OptionError
from evenhand.core.records import NOT_APPLICABLE, Array, Attribute, Records
from evenhand.geometry.assignment import Assignment, assign_by_overlap
from evenhand.geometry.boxes import corners, offsets_of, overlaps_by_image
from evenhand.metrics.curves import Event

NEVER = np.iinfo(np.int32).max  # the rank of a subject that has no column


@dataclass(frozen=True)
class Matches:
    """The outcome for every face and every detection of a set."""

    assignment: Assignment
    is_excluded: Array  # (faces,)

    @property
    def pairs(self) -> tuple[Array, Array]:
        """Faces and detections of the pairs that count, in the order of acceptance within an image."""
        counts = ~self.is_excluded[self.assignment.faces]
        return self.assignment.faces[counts], self.assignment.detections[counts]

    @property
    def ignored(self) -> Array:
        """Detections on excluded faces, ascending."""
        return np.sort(self.assignment.detections[self.is_excluded[self.assignment.faces]])

    @property
    def false(self) -> Array:
        """Detections on nobody, ascending."""
        return self.assignment.spurious


def match(faces: WatchlistFaces, detections: WatchlistDetections, iou: float) -> Matches:
    """Assign the detections of all images to their faces."""
    if not iou > 0:  # above 1 nothing matches
        raise OptionError(f"The overlap limit (iou) is {iou:g}; it must be above 0 and at most 1, usually 0.5.")
    pairs = overlaps_by_image(
        corners(faces.boxes_xywh.astype(np.float32)),
        offsets_of(faces.image, len(faces.images)),
        corners(detections.boxes_xywh.astype(np.float32)),
        detections.offsets,
        at_least=iou,
    )
    return Matches(assign_by_overlap(pairs, len(faces), len(detections), threshold=iou), faces.is_excluded)


def record_detection(
    faces: WatchlistFaces,
    detections: WatchlistDetections,
    options: WatchlistDetectionOptions,
    *,
    items: bool = True,
    matches: Matches | None = None,
) -> Records:
    """One row per image, per face, per false or ignored detection, per absent exclusion.

    `matches` are those of `match`, where they are known already. Without `items` the rows have numbers for names;
    curves need no more.
    """
    rows = _Rows(faces, detections, matches or match(faces, detections, options.iou))
    face, detection = rows.matches.pairs
    rows.kind[face] = Event.FOUND
    rows.score[face] = detections.scores[detection]
    table = rows.table(_counts(faces), detections.scores, items)
    counts = {"faces": table["adds"], "found": ~np.isnan(table["score"]), "is_face": table["adds"] > 0}
    return Records({**table.columns, **counts}, table.attributes)


def record_identification(
    faces: WatchlistFaces,
    detections: WatchlistDetections,
    options: WatchlistIdentificationOptions,
    *,
    items: bool = True,
    matches: Matches | None = None,
) -> Records:
    """One row per image, per face, per false or ignored detection, per absent exclusion.

    The score is the similarity to the true subject for a known face, and the largest similarity
    for an unknown face or a false alarm. `rank` of a known face counts the subjects with a larger
    similarity and, by the pessimistic rule, those with the same.
    """
    assert detections.largest is not None, "a file without similarities has no identification"
    rows = _Rows(faces, detections, matches or match(faces, detections, options.iou))
    face, detection = rows.matches.pairs
    known = faces.is_known[face]
    rows.kind[face] = np.where(known, Event.FOUND, Event.STRANGER)
    rows.score[face] = detections.largest[detection]
    similarity, rank = true_subjects(detections, face[known], detection[known], options.ties)
    rows.score[face[known]], rows.rank[face[known]] = similarity, rank
    table = rows.table(_counts(faces) - ~faces.is_known, detections.largest, items)
    first = (table["rank"] > 0) & (table["rank"] <= 1)
    counts = {"known": table["adds"], "first": first, "is_known": table["adds"] > 0}
    return Records({**table.columns, **counts}, table.attributes)


def true_subjects(detections: WatchlistDetections, face: Array, detection: Array, ties: Ties) -> tuple[Array, Array]:
    """Similarity to the true subject, and its rank, of pairs of known faces and detections."""
    scores = detections.candidates
    assert scores is not None
    similarity, rank = np.full(len(face), np.nan), np.full(len(face), float(NEVER))
    span = max(len(detections), 1)
    keys = scores.face.astype(np.int64) * span + scores.detection
    order = np.argsort(keys)
    wanted = face.astype(np.int64) * span + detection
    place = np.searchsorted(keys[order], wanted)
    there = place < len(keys)
    there[there] = keys[order][place[there]] == wanted[there]
    row = order[place[there]]
    share = {"pessimistic": 1.0, "middle": 0.5, "optimistic": 0.0}[ties]
    similarity[there] = scores.similarity[row]
    rank[there] = 1 + scores.larger[row] + share * scores.tied[row]
    return similarity, rank


def _counts(faces: WatchlistFaces) -> Array:
    """What each face adds to the number of faces: 1, or 0 when its exclusion took it away.

    When several faces carry the same listed id, the list takes away only one of them.
    """
    return (~faces.is_excluded | _is_repeated(faces.face_id)).astype(np.int8)


def _absent(faces: WatchlistFaces) -> Array:
    """The listed ids that take no face away: those that name nobody, and repetitions."""
    ids = faces.exclusion.ids
    return ids[_is_repeated(ids) | ~np.isin(ids, faces.face_id)]


def _is_repeated(ids: Array) -> Array:
    """Whether the same id came before."""
    repeated = np.ones(len(ids), dtype=np.bool_)
    repeated[np.unique(ids, return_index=True)[1]] = False
    return repeated


class _Rows:
    """The table under construction: rows of images, faces, false alarms, ignored ones and absent ones."""

    def __init__(self, faces: WatchlistFaces, detections: WatchlistDetections, matches: Matches) -> None:
        self._faces, self._detections = faces, detections
        self.matches = matches
        self.kind = np.where(self.matches.is_excluded, Event.EXCLUDED, Event.MISSED).astype(np.int8)
        self.score = np.full(len(faces), np.nan)
        self.rank = np.zeros(len(faces))

    def table(self, adds: Array, scores: Array, items: bool) -> Records:
        """The rows; `adds` is of faces, `scores` are those of detections that are false alarms."""
        faces, detections = self._faces, self._detections
        false, ignored, absent = self.matches.false, self.matches.ignored, _absent(faces)
        images = len(faces.images)
        sizes = (images, len(faces), len(false), len(ignored), len(absent))

        def column(dtype: Any, *parts: Any) -> Array:
            """The values of images, faces, false, ignored and absent ones; a single number stands for all of a part."""
            spread = (np.broadcast_to(np.asarray(part), size) for part, size in zip(parts, sizes, strict=True))
            return np.concatenate(list(spread), dtype=dtype, casting="unsafe")

        line = detections.line
        # An absent exclusion belongs to no image; spread evenly, redrawn images take their share of it.
        spread = np.arange(len(absent)) * images // max(len(absent), 1)
        columns: dict[str, Array] = {
            "unit": column(
                np.int32, np.arange(images), faces.image, detections.image[false], detections.image[ignored], spread
            ),
            "kind": column(np.int8, Event.IMAGE, self.kind, Event.FALSE_ALARM, Event.IGNORED, Event.ABSENT),
            "score": column(np.float64, np.nan, self.score, scores[false], np.nan, np.nan),
            "rank": column(np.float64, 0, self.rank, 0, 0, 0),
            "adds": column(np.int8, 0, adds, 0, 0, -1),
            "line": column(np.int64, 0, self._line_of_face(), line[false], line[ignored], 0),
        }
        names = self._items(false, ignored, absent) if items else np.arange(sum(sizes), dtype=np.int32)
        columns = {"item": names, **columns}
        return Records(columns, {name: self._attribute(name, columns["unit"], sizes) for name in faces.extra})

    def _line_of_face(self) -> Array:
        """The line of the detection on each face; 0 when there is none."""
        detection_of = self.matches.assignment.detection_of
        if not len(self._detections):
            return np.zeros(len(detection_of), dtype=np.int64)
        return np.where(detection_of >= 0, self._detections.line[detection_of], 0)

    def _items(self, false: Array, ignored: Array, absent: Array) -> Array:
        names, faces, detections = self._faces.images, self._faces, self._detections
        within = np.arange(len(detections)) - detections.offsets[detections.image]
        items: list[str] = list(names)
        items += [f"{names[i]}:face {f}" for i, f in zip(faces.image.tolist(), faces.face_id.tolist(), strict=True)]
        for some in (false, ignored):
            places = zip(detections.image[some].tolist(), within[some].tolist(), strict=True)
            items += [f"{names[i]}:detection {n}" for i, n in places]
        items += [f"exclusion {face}" for face in absent.tolist()]
        return np.array(items, dtype=np.str_) if items else np.zeros(0, dtype="U1")

    def _attribute(self, name: str, unit: Array, sizes: tuple[int, ...]) -> Attribute:
        """A column that a user added: of the image where all its faces agree, else of faces alone."""
        extra = self._faces.extra[name]
        if extra.of_image is not None:
            codes = extra.of_image[unit]
            codes[len(codes) - sizes[-1] :] = NOT_APPLICABLE
            return Attribute.coded(codes, extra.levels)
        codes = np.full(len(unit), NOT_APPLICABLE)
        codes[sizes[0] : sizes[0] + sizes[1]] = extra.of_face
        return Attribute.coded(codes, extra.levels)
