"""From a detector's rows to one person, and from the person to the patch that re-identification looks at.

The rules of the synthesis protocol (sections 8.2 and 8.3): rows that are sure enough, merged greedily by class, the
largest person, enlarged a little; a picture without a person is used whole. `Scaling.AS_PUBLISHED` keeps the published
slip of scaling boxes as if the detector had run at 416 pixels; `Scaling.NONE` leaves them where they are.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.instruments.errors import PictureError

if TYPE_CHECKING:
    from torch import Tensor

Rows = NDArray[np.float32]  # (rows, 85): centre x, centre y, width, height, objectness, 80 class scores
WholeBox = tuple[int, int, int, int]  # x0, y0, x1, y1; right and bottom excluded

PERSON = 0
_TRAINED_AT = 416
_MEAN = (0.485, 0.456, 0.406)
_DEVIATION = (0.229, 0.224, 0.225)


class Scaling(Enum):
    """What becomes of boxes after suppression."""

    AS_PUBLISHED = "scaled by picture size / 416, although the network ran at the picture's size"
    NONE = "left as they are"


class Detection(NamedTuple):
    """A thing that was found: its corners, objectness, the score of its best class, and that class."""

    x0: float
    y0: float
    x1: float
    y1: float
    objectness: float
    score: float
    label: int


def merge_rows(rows: Rows, *, least: float = 0.8, overlap: float = 0.4) -> tuple[Detection, ...]:
    """What is left of a detector's rows, best first: each absorbs the weaker rows of its class that overlap it.

    Rows with objectness below `least` do not count. Order is by objectness times best class score. A row that absorbs
    others moves to their mean, weighted by objectness; its scores stay. Overlap counts one more pixel a side.

    >>> row = np.zeros((1, 85), np.float32); row[0, :6] = 50, 50, 20, 40, 0.9, 0.8
    >>> merge_rows(row)[0][:4]
    (40.0, 30.0, 60.0, 70.0)
    """
    rows = rows[rows[:, 4] >= np.float32(least)]
    half = rows[:, 2:4] / 2
    corners = np.concatenate([rows[:, :2] - half, rows[:, :2] + half], axis=1)
    best, labels = rows[:, 5:].max(axis=1, initial=-np.inf), rows[:, 5:].argmax(axis=1)
    waiting = np.argsort(-(rows[:, 4] * best), kind="stable")
    detections = []
    while len(waiting):
        first = waiting[0]
        absorbed = (_overlaps(corners[first], corners[waiting]) > overlap) & (labels[waiting] == labels[first])
        absorbed[0] = True
        taken = waiting[absorbed]
        weights = rows[taken, 4:5]
        box = (weights * corners[taken]).sum(axis=0) / weights.sum()
        x0, y0, x1, y1 = (float(side) for side in box)
        detections.append(Detection(x0, y0, x1, y1, float(rows[first, 4]), float(best[first]), int(labels[first])))
        waiting = waiting[~absorbed]
    return tuple(detections)


def person_box(
    found: tuple[Detection, ...],
    height: int,
    width: int,
    *,
    scaling: Scaling = Scaling.AS_PUBLISHED,
    factor: float = 1.05,
) -> WholeBox | None:
    """The box of the largest person, enlarged and cut to the picture; None when nobody was found."""
    boxes = [
        _scaled(one, height, width) if scaling is Scaling.AS_PUBLISHED else one for one in found if one.label == PERSON
    ]
    largest, most = None, 0.0
    for box in boxes:
        area = (box.x1 - box.x0) * (box.y1 - box.y0)
        if area > most:
            largest, most = box, area
    return enlarge(largest[:4], height, width, factor) if largest else None


def enlarge(box: tuple[float, float, float, float], height: int, width: int, factor: float) -> WholeBox:
    """The box grown about its centre by `factor`, cut to the picture and truncated to whole pixels.

    >>> enlarge((10.0, 20.0, 50.5, 90.25), 128, 128, 1.05)
    (8, 18, 51, 92)
    """
    x0, y0, x1, y1 = box
    centre_x, centre_y = (x0 + x1) / 2, (y0 + y1) / 2
    half_x, half_y = (x1 - x0) * factor / 2, (y1 - y0) * factor / 2
    return (
        int(max(0.0, centre_x - half_x)),
        int(max(0.0, centre_y - half_y)),
        int(min(float(width), centre_x + half_x)),
        int(min(float(height), centre_y + half_y)),
    )


def has_pixels(box: WholeBox) -> bool:
    """Whether a box is wider and higher than nothing; the published scaling can push one out of the picture."""
    return box[2] > box[0] and box[3] > box[1]


def person_patches(
    pictures: Tensor,
    boxes: tuple[WholeBox | None, ...] | None,
    size: tuple[int, int],
    *,
    names: tuple[str, ...] = (),
    normalise_without_boxes: bool = False,
) -> Tensor:
    """Patches of `size` (height, width) from pictures in [0, 1]: cut, normalised by ImageNet's mean, then resized.

    A picture without a box is used whole. `boxes=None` means that no detector ran: then the published code resizes
    without normalising, unless `normalise_without_boxes`. Bilinear with aligned corners. A box without pixels, as the
    published scaling can give near the right and bottom edge, is a `PictureError` that names the picture.
    """
    import torch
    from torch.nn import functional

    mean = torch.tensor(_MEAN, device=pictures.device).view(3, 1, 1)
    deviation = torch.tensor(_DEVIATION, device=pictures.device).view(3, 1, 1)

    def resized(patch: Tensor) -> Tensor:
        return functional.interpolate(patch[None], size=size, mode="bilinear", align_corners=True)[0]

    if boxes is None and not normalise_without_boxes:
        return torch.stack([resized(picture) for picture in pictures])
    patches = []
    for index, picture in enumerate(pictures):
        box = boxes[index] if boxes is not None else None
        if box is not None:
            x0, y0, x1, y1 = box
            if not has_pixels(box):
                name = names[index] if index < len(names) else f"picture {index}"
                raise PictureError(
                    name,
                    f"the person's box {box} has no pixel (boxes are scaled as published, by size / 416). "
                    "Use the strict reading, which does not scale, or look at the whole picture (empty_crop=whole).",
                )
            picture = picture[:, y0:y1, x0:x1]
        patches.append(resized((picture - mean) / deviation))
    return torch.stack(patches)


def _overlaps(box: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
    corner, opposite = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    shared = np.maximum(opposite - corner + 1, 0).prod(axis=1)
    area = (box[2] - box[0] + 1) * (box[3] - box[1] + 1)
    areas = (others[:, 2] - others[:, 0] + 1) * (others[:, 3] - others[:, 1] + 1)
    return np.asarray(shared / (area + areas - shared + 1e-16))


def _scaled(box: Detection, height: int, width: int) -> Detection:
    """The box as the published code puts it back from a letterboxed 416 × 416 picture, in single precision as there."""
    ratio = _TRAINED_AT / max(height, width)
    pad_x, pad_y = max(height - width, 0) * ratio, max(width - height, 0) * ratio
    inner = np.array([_TRAINED_AT - pad_x, _TRAINED_AT - pad_y] * 2, dtype=np.float32)
    corner = np.array([pad_x // 2, pad_y // 2] * 2, dtype=np.float32)
    sides = np.array([width, height] * 2, dtype=np.float32)
    x0, y0, x1, y1 = (float(side) for side in (np.array(box[:4], dtype=np.float32) - corner) / inner * sides)
    return box._replace(x0=x0, y0=y0, x1=x1, y1=y1)
