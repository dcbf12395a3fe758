"""MTCNN: faces with five landmarks, by three small networks that look closer and closer.

The proposal network slides over a pyramid of the picture, the refinement network looks at what it proposed at
24 × 24, the output network at 48 × 48 and adds landmarks (Zhang et al. 2016). Weights have facenet-pytorch's names
(`pnet.pt`, `rnet.pt`, `onet.pt`), and the cascade its rules: pictures are resized by area, boxes are made square,
whole pixels count from one, and the last suppression compares with the smaller of two boxes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from evenhand.instruments.faces import Face
from evenhand.instruments.pictures import Pixels

Boxes = NDArray[np.float32]  # (boxes, 4): x0, y0, x1, y1

_AT_ONCE = 512  # crops a network sees in one pass


class CascadeNet(nn.Module):
    """One of the three networks: convolutions, pools behind some of them, a dense layer behind two of the networks.

    Its answers are what the heads after the first say (shifts, landmarks) and the probability of a face, which the
    first head gives.
    """

    def __init__(
        self,
        convolutions: tuple[tuple[int, int, int], ...],  # width, kernel, and that of the pool behind it, if any
        heads: tuple[int, ...],
        dense: tuple[int, int] | None = None,
    ) -> None:
        super().__init__()
        inside = 3
        for number, (width, kernel, _) in enumerate(convolutions, start=1):
            self.add_module(f"conv{number}", nn.Conv2d(inside, width, kernel))
            self.add_module(f"prelu{number}", nn.PReLU(width))
            inside = width
        self.pools, last = [pool for _, _, pool in convolutions], len(convolutions) + 1
        self.dense = f"dense{last}" if dense else ""
        if dense:
            self.add_module(self.dense, nn.Linear(*dense))
            self.add_module(f"prelu{last}", nn.PReLU(dense[1]))
        self.heads = [f"{f'dense{last + 1}' if dense else f'conv{last}'}_{n + 1}" for n in range(len(heads))]
        for name, width in zip(self.heads, heads, strict=True):
            self.add_module(name, nn.Linear(dense[1], width) if dense else nn.Conv2d(inside, width, 1))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        for number, pool in enumerate(self.pools, start=1):
            x = self.get_submodule(f"prelu{number}")(self.get_submodule(f"conv{number}")(x))
            x = functional.max_pool2d(x, pool, 2, ceil_mode=True) if pool else x
        if self.dense:  # columns, rows, channels: the order of the original networks
            x = self.get_submodule(self.dense)(x.permute(0, 3, 2, 1).reshape(len(x), -1))
            x = self.get_submodule(f"prelu{len(self.pools) + 1}")(x)
        is_face, *others = (self.get_submodule(name)(x) for name in self.heads)
        return *others, torch.softmax(is_face, dim=1)[:, 1]


def proposal_net() -> CascadeNet:
    """Shifts (4) and probability of a face at each place of a picture."""
    return CascadeNet(((10, 3, 2), (16, 3, 0), (32, 3, 0)), heads=(2, 4))


def refinement_net() -> CascadeNet:
    """Shifts (4) and probability of a face for crops of 24 × 24."""
    return CascadeNet(((28, 3, 3), (48, 3, 3), (64, 2, 0)), heads=(2, 4), dense=(576, 128))


def output_net() -> CascadeNet:
    """Shifts (4), landmarks (five x, five y) and probability of a face for crops of 48 × 48."""
    return CascadeNet(((32, 3, 3), (64, 3, 3), (64, 3, 2), (128, 2, 0)), heads=(2, 4, 10), dense=(1152, 256))


@dataclass(frozen=True)
class CascadeSettings:
    """What a publication asks of the cascade; the default is that of facenet-pytorch and of the synthesis protocol."""

    least_face: int = 20  # pixels
    thresholds: tuple[float, float, float] = (0.6, 0.7, 0.7)
    factor: float = 0.709  # from one layer of the pyramid to the next
    overlap: float = 0.7  # above which the weaker of two boxes goes


class Mtcnn(nn.Module):
    """The three networks and the cascade over them; one picture at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.pnet, self.rnet, self.onet = proposal_net(), refinement_net(), output_net()

    def faces(self, pixels: Pixels, settings: CascadeSettings = CascadeSettings()) -> tuple[Face, ...]:
        """All faces of a picture, the most probable first; none is an empty tuple."""
        device = next(self.parameters()).device
        picture = torch.tensor(pixels).to(device).permute(2, 0, 1)[None].float()
        with torch.inference_mode():
            boxes = self._propose(picture, settings)
            boxes = self._refine(picture, boxes, settings)
            return self._output(picture, boxes, settings)

    def _propose(self, picture: Tensor, settings: CascadeSettings) -> Boxes:
        height, width = picture.shape[2:]
        threshold = settings.thresholds[0]
        proposals: list[Boxes] = []  # x0, y0, x1, y1, score, four shifts
        for scale in _pyramid(min(height, width), settings):
            small = functional.adaptive_avg_pool2d(picture, (int(height * scale + 1), int(width * scale + 1)))
            shifts, probabilities = self.pnet((small - 127.5) * 0.0078125)
            rows, columns = torch.nonzero(probabilities[0] >= threshold, as_tuple=True)
            cells = np.stack([columns.cpu().numpy(), rows.cpu().numpy()], axis=1).astype(np.float32)
            scores = probabilities[0, rows, columns].cpu().numpy()
            moves = shifts[0, :, rows, columns].T.cpu().numpy()
            corner = np.floor((cells * 2 + 1) / np.float32(scale))
            opposite = np.floor((cells * 2 + 12) / np.float32(scale))
            boxes = np.concatenate([corner, opposite, scores[:, None], moves], axis=1).astype(np.float32)
            proposals.append(boxes[suppress(boxes[:, :4], boxes[:, 4], 0.5)])
        if not proposals:
            return np.zeros((0, 4), np.float32)
        every = np.concatenate(proposals)
        every = every[suppress(every[:, :4], every[:, 4], settings.overlap)]
        sizes = every[:, 2:4] - every[:, :2]
        return _square(every[:, :4] + every[:, 5:9] * np.tile(sizes, 2))

    def _refine(self, picture: Tensor, boxes: Boxes, settings: CascadeSettings) -> Boxes:
        boxes, crops = _crops(picture, boxes, 24)
        if not len(boxes):
            return boxes
        shifts, scores = (torch.cat(parts) for parts in zip(*map(self.rnet, torch.split(crops, _AT_ONCE)), strict=True))
        passed = (scores > settings.thresholds[1]).cpu().numpy()
        boxes, moves, sure = boxes[passed], shifts.cpu().numpy()[passed], scores.cpu().numpy()[passed]
        picked = suppress(boxes, sure, settings.overlap)
        return _square(_moved(boxes[picked], moves[picked]))

    def _output(self, picture: Tensor, boxes: Boxes, settings: CascadeSettings) -> tuple[Face, ...]:
        boxes, crops = _crops(picture, boxes, 48)
        if not len(boxes):
            return ()
        parts = zip(*map(self.onet, torch.split(crops, _AT_ONCE)), strict=True)
        shifts, marks, scores = (torch.cat(part).cpu().numpy() for part in parts)
        passed = scores > settings.thresholds[2]
        boxes, shifts, marks, scores = boxes[passed], shifts[passed], marks[passed], scores[passed]
        sizes = boxes[:, 2:4] - boxes[:, :2] + 1
        points = np.stack([marks[:, :5], marks[:, 5:]], axis=2) * sizes[:, None] + boxes[:, None, :2] - 1
        boxes = _moved(boxes, shifts)
        picked = suppress(boxes, scores, settings.overlap, by_smaller=True)
        return tuple(
            Face((float(box[0]), float(box[1]), float(box[2]), float(box[3])), float(score), mark.astype(np.float64))
            for box, score, mark in zip(boxes[picked], scores[picked], points[picked], strict=True)
        )


def largest_first(faces: tuple[Face, ...]) -> tuple[Face, ...]:
    """Faces by area, the largest first; of equal ones the less probable first, as the published sort has it."""
    areas = np.array([np.float32(face.area) for face in faces])
    return tuple(faces[index] for index in np.argsort(areas, kind="stable")[::-1])


def suppress(
    boxes: Boxes, scores: NDArray[np.float32], threshold: float, *, by_smaller: bool = False
) -> NDArray[np.intp]:
    """Indices of the boxes that stay, best first: each takes away all weaker ones that overlap it by more.

    Overlap is intersection over union; `by_smaller`: over the smaller box, both counted in whole pixels (one more).

    >>> boxes = np.array([[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]], np.float32)
    >>> suppress(boxes, np.array([0.8, 0.9, 0.7], np.float32), 0.5).tolist()
    [1, 2]
    """
    extra_pixel = np.float32(1 if by_smaller else 0)
    areas = (boxes[:, 2] - boxes[:, 0] + extra_pixel) * (boxes[:, 3] - boxes[:, 1] + extra_pixel)
    # Only boxes that begin within a box's width of each other can overlap: look at those, in order of their left side.
    by_left = np.argsort(boxes[:, 0], kind="stable")
    lefts = boxes[by_left, 0]
    widest = float((boxes[:, 2] - boxes[:, 0]).max(initial=0)) + 1
    alive = np.ones(len(boxes), dtype=np.bool_)
    staying = []
    # Among equal scores the published last stage takes the later box first, the stages before it the earlier one.
    order = np.argsort(scores, kind="stable")[::-1] if by_smaller else np.argsort(-scores, kind="stable")
    for best in order:
        if not alive[best]:
            continue
        alive[best] = False
        staying.append(best)
        low, high = np.searchsorted(lefts, (boxes[best, 0] - widest, boxes[best, 2] + 1))
        near = by_left[low:high]
        near = near[alive[near]]
        corner = np.maximum(boxes[best, :2], boxes[near, :2])
        opposite = np.minimum(boxes[best, 2:], boxes[near, 2:])
        sides = np.maximum(opposite - corner + extra_pixel, 0)
        shared = sides[:, 0] * sides[:, 1]
        if by_smaller:
            overlap = shared / np.minimum(areas[best], areas[near])
        else:
            overlap = shared / (areas[best] + areas[near] - shared)
        alive[near[overlap > threshold]] = False
    return np.array(staying, dtype=np.intp)


def _pyramid(shorter: int, settings: CascadeSettings) -> list[float]:
    """Scales at which a face of the least size, and larger ones, measure twelve pixels."""
    scale = 12.0 / settings.least_face
    side = shorter * scale
    scales = []
    while side >= 12:
        scales.append(scale)
        scale, side = scale * settings.factor, side * settings.factor
    return scales


def _crops(picture: Tensor, boxes: Boxes, size: int) -> tuple[Boxes, Tensor]:
    """The boxes that have a pixel inside the picture, and their crops at `size`, in [-1, 1]."""
    height, width = picture.shape[2:]
    whole = np.trunc(boxes).astype(np.int64)
    left, top = np.maximum(whole[:, 0], 1) - 1, np.maximum(whole[:, 1], 1) - 1
    right, bottom = np.minimum(whole[:, 2], width), np.minimum(whole[:, 3], height)
    inside = np.flatnonzero((bottom > top) & (right > left))
    crops = [
        functional.adaptive_avg_pool2d(picture[:, :, top[i] : bottom[i], left[i] : right[i]], size) for i in inside
    ]
    if not crops:
        return np.zeros((0, 4), np.float32), picture[:0]
    return boxes[inside], (torch.cat(crops) - 127.5) * 0.0078125


def _moved(boxes: Boxes, shifts: NDArray[np.float32]) -> Boxes:
    sizes = boxes[:, 2:4] - boxes[:, :2] + 1
    return (boxes + shifts * np.tile(sizes, 2)).astype(np.float32)


def _square(boxes: Boxes) -> Boxes:
    """Boxes about the same centres with both sides as long as the longer one."""
    sizes = boxes[:, 2:4] - boxes[:, :2]
    side = sizes.max(axis=1, keepdims=True) if len(boxes) else np.zeros((0, 1), np.float32)
    corner = boxes[:, :2] + sizes * np.float32(0.5) - side * np.float32(0.5)
    return np.concatenate([corner, corner + side], axis=1).astype(np.float32)
