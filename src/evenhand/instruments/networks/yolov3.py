"""YOLOv3-SPP: boxes of eighty kinds of things, of which re-identification uses the people.

Pictures in [0, 1], RGB, with sides that are multiples of 32, give rows of 85 numbers: centre x and y, width and height
in pixels, objectness, and a score for each class. Rows come head by head (coarse first), then anchor, y, x.

Layers are numbered as in Darknet's description of the network, and weights are named after the numbers
(`module_list.0.conv_0.weight`, `module_list.0.batch_norm_0.running_mean`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

ANCHORS = ((10, 13), (16, 30), (33, 23), (30, 61), (62, 45), (59, 119), (116, 90), (156, 198), (373, 326))
CLASSES = 80


class Convolution(NamedTuple):
    """Filters, kernel, stride; batch norm and leaky ReLU unless `linear`."""

    filters: int
    kernel: int
    stride: int = 1
    linear: bool = False


class Add(NamedTuple):
    """The sum of the previous output and an earlier one."""

    back: int


class Join(NamedTuple):
    """Channels of earlier outputs: negative numbers count back, others are layer numbers."""

    layers: tuple[int, ...]


class YoloHead(NamedTuple):
    """Turns 255 channels into boxes, three anchors a cell."""

    anchors: tuple[int, int, int]


Layer = Convolution | Add | Join | YoloHead | nn.MaxPool2d | nn.Upsample


def plan() -> Iterator[Layer]:
    """The 114 layers in order."""
    yield Convolution(32, 3)
    for filters, blocks in ((64, 1), (128, 2), (256, 8), (512, 8), (1024, 4)):
        yield Convolution(filters, 3, 2)
        for _ in range(blocks):
            yield Convolution(filters // 2, 1)
            yield Convolution(filters, 3)
            yield Add(-3)
    yield from (Convolution(512, 1), Convolution(1024, 3), Convolution(512, 1))
    small, middle, large = (nn.MaxPool2d(kernel, 1, kernel // 2) for kernel in (5, 9, 13))
    yield from (small, Join((-2,)), middle, Join((-4,)), large, Join((-1, -3, -5, -6)))
    yield from (Convolution(512, 1), Convolution(1024, 3), Convolution(512, 1), Convolution(1024, 3))
    yield from (Convolution(255, 1, linear=True), YoloHead((6, 7, 8)))
    for filters, earlier, anchors in ((256, 61, (3, 4, 5)), (128, 36, (0, 1, 2))):
        yield from (Join((-4,)), Convolution(filters, 1), nn.Upsample(scale_factor=2.0), Join((-1, earlier)))
        for _ in range(3):
            yield from (Convolution(filters, 1), Convolution(filters * 2, 3))
        yield from (Convolution(255, 1, linear=True), YoloHead(anchors))


class YoloV3Spp(nn.Module):
    """The whole network; the output is (pictures, rows, 85)."""

    def __init__(self) -> None:
        super().__init__()
        self.plan = tuple(plan())
        self.module_list = nn.ModuleList()
        widths: list[int] = []
        inside = 3
        for number, layer in enumerate(self.plan):
            block = nn.Sequential()
            match layer:
                case Convolution(filters, kernel, stride, linear):
                    convolution = nn.Conv2d(inside, filters, kernel, stride, (kernel - 1) // 2, bias=linear)
                    block.add_module(f"conv_{number}", convolution)
                    if not linear:
                        block.add_module(f"batch_norm_{number}", nn.BatchNorm2d(filters, eps=1e-5))
                        block.add_module(f"leaky_{number}", nn.LeakyReLU(0.1))
                    inside = filters
                case Join(layers):
                    inside = sum(widths[_absolute(number, other)] for other in layers)
                case nn.Module():
                    block.append(layer)
            self.module_list.append(block)
            widths.append(inside)

    def forward(self, pictures: Tensor) -> Tensor:
        outputs: list[Tensor] = []
        rows: list[Tensor] = []
        x = pictures
        for number, (layer, block) in enumerate(zip(self.plan, self.module_list, strict=True)):
            match layer:
                case Add(back):
                    x = x + outputs[number + back]
                case Join(layers):
                    x = torch.cat([outputs[_absolute(number, other)] for other in layers], 1)
                case YoloHead(anchors):
                    rows.append(_boxes(x, anchors, pictures.shape[2] / x.shape[2]))
                case _:
                    x = block(x)
            outputs.append(x)
        return torch.cat(rows, 1)


def _absolute(number: int, other: int) -> int:
    return number + other if other < 0 else other


def _boxes(channels: Tensor, anchors: tuple[int, int, int], stride: float) -> Tensor:
    """Rows of 85 from the raw channels of one head."""
    pictures, _, height, width = channels.shape
    raw = channels.view(pictures, 3, 5 + CLASSES, height, width).permute(0, 1, 3, 4, 2)
    sizes = torch.tensor([ANCHORS[anchor] for anchor in anchors], dtype=raw.dtype, device=raw.device)
    ys = torch.arange(height, dtype=raw.dtype, device=raw.device).view(1, 1, height, 1)
    xs = torch.arange(width, dtype=raw.dtype, device=raw.device).view(1, 1, 1, width)
    scores = torch.sigmoid(raw[..., 4:])
    x = (torch.sigmoid(raw[..., 0]) + xs) * stride
    y = (torch.sigmoid(raw[..., 1]) + ys) * stride
    size = torch.exp(raw[..., 2:4]) * sizes.view(1, 3, 1, 1, 2)
    rows = torch.cat([x.unsqueeze(-1), y.unsqueeze(-1), size, scores], -1)
    return rows.reshape(pictures, 3 * height * width, 5 + CLASSES)
