"""Which detection belongs to which face, and what that makes of each.

Overlaps are computed in single precision, in the order of the published code; the best pair
anywhere in an image is taken first, ties go to the earlier face and then to the earlier
detection, and an overlap equal to the limit counts. Scores and similarities play no part.
Excluded faces compete on equal terms; a detection that ends on one is ignored.

(UCCS watchlist challenge, evaluation of October 2024.) Undefined overlaps, of two boxes without
area, are 0 here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.benchmarks.uccs.data import WatchlistFaces
from evenhand.benchmarks.uccs.detections import WatchlistDetections
from evenhand.core.errors import OptionError
from evenhand.core.records import Array
from evenhand.geometry.assignment import NOBODY, Assignment, assign_by_overlap
from evenhand.geometry.boxes import corners, offsets_of, overlaps_by_image


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

    @property
    def missed(self) -> Array:
        """Faces that count and have no detection, ascending."""
        return np.flatnonzero((self.assignment.detection_of == NOBODY) & ~self.is_excluded)


def match(faces: WatchlistFaces, detections: WatchlistDetections, iou: float = 0.5) -> Matches:
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
