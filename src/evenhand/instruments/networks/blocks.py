"""Building blocks that several networks share, and the one rule for all: they only ever run, never train."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor, nn


def named(**layers: nn.Module) -> nn.Sequential:
    """Layers one after the other, whose weights have these names."""
    return nn.Sequential(OrderedDict(layers))


class GlobalMean(nn.Module):
    """The mean of every channel over the picture."""

    def forward(self, x: Tensor) -> Tensor:
        return x.mean(dim=(2, 3))


class ConvNorm(nn.Sequential):
    """Convolution without bias, batch norm, ReLU; weights are named `conv` and `bn`."""

    def __init__(
        self,
        inside: int,
        outside: int,
        kernel: int | tuple[int, int],
        stride: int = 1,
        padding: int | tuple[int, int] = 0,
        *,
        eps: float = 0.001,
    ) -> None:
        convolution = nn.Conv2d(inside, outside, kernel, stride, padding, bias=False)
        norm = nn.BatchNorm2d(outside, eps=eps)
        super().__init__(OrderedDict(conv=convolution, bn=norm, relu=nn.ReLU(inplace=True)))


def row(inside: int, outside: int, taps: int) -> ConvNorm:
    """A convolution over one row."""
    return ConvNorm(inside, outside, (1, taps), padding=(0, taps // 2))


def column(inside: int, outside: int, taps: int) -> ConvNorm:
    """A convolution over one column."""
    return ConvNorm(inside, outside, (taps, 1), padding=(taps // 2, 0))


class Bottleneck(nn.Module):
    """ResNet-50's block: 1 × 1, 3 × 3 with the stride, 1 × 1, and the way around it."""

    def __init__(self, inside: int, width: int, stride: int) -> None:
        super().__init__()
        outside = width * 4
        self.conv1 = nn.Conv2d(inside, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outside, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outside)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or inside != outside:
            self.downsample = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)))
        return torch.relu(self.bn3(self.conv3(y)) + self.downsample(x))


def resnet_stage(inside: int, width: int, blocks: int, stride: int) -> nn.Sequential:
    """A stage of ResNet-50: the first block has the stride, the others keep size and width."""
    first = Bottleneck(inside, width, stride)
    return nn.Sequential(first, *(Bottleneck(width * 4, width, 1) for _ in range(blocks - 1)))
