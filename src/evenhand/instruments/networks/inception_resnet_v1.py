"""Inception-ResNet v1, the face embedding of facenet: 160 × 160 in, 512 numbers out.

The output is that of the last batch norm, not made unit length. Weights have facenet-pytorch's names
(`20180402-114759-vggface2.pt`); the classifier (`logits.*`) is left out.
"""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor, nn
from torch.nn import functional

from evenhand.instruments.networks.blocks import ConvNorm, GlobalMean, column, row


class ParallelBranches(nn.Module):
    """Branches side by side, named by their number."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        for index, branch in enumerate(branches):
            self.add_module(f"branch{index}", branch)
        self.count = len(branches)

    def branches(self, x: Tensor) -> list[Tensor]:
        return [self.get_submodule(f"branch{index}")(x) for index in range(self.count)]


class Residual(ParallelBranches):
    """Branches joined by a 1 × 1 convolution, scaled and added to the input."""

    def __init__(self, *branches: nn.Module, joined: int, outside: int, scale: float, relu: bool = True) -> None:
        super().__init__(*branches)
        self.scale, self.relu = scale, relu
        self.conv2d = nn.Conv2d(joined, outside, 1)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.conv2d(torch.cat(self.branches(x), 1)) * self.scale + x
        return torch.relu(y) if self.relu else y


class Reduction(ParallelBranches):
    """Branches with stride 2 beside a 3 × 3 maximum pool."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([*self.branches(x), functional.max_pool2d(x, 3, 2)], 1)


def block_35(scale: float) -> Residual:
    short = nn.Sequential(ConvNorm(256, 32, 1), ConvNorm(32, 32, 3, padding=1))
    long = nn.Sequential(ConvNorm(256, 32, 1), ConvNorm(32, 32, 3, padding=1), ConvNorm(32, 32, 3, padding=1))
    return Residual(ConvNorm(256, 32, 1), short, long, joined=96, outside=256, scale=scale)


def block_17(scale: float) -> Residual:
    long = nn.Sequential(ConvNorm(896, 128, 1), row(128, 128, 7), column(128, 128, 7))
    return Residual(ConvNorm(896, 128, 1), long, joined=256, outside=896, scale=scale)


def block_8(scale: float, *, relu: bool = True) -> Residual:
    long = nn.Sequential(ConvNorm(1792, 192, 1), row(192, 192, 3), column(192, 192, 3))
    return Residual(ConvNorm(1792, 192, 1), long, joined=384, outside=1792, scale=scale, relu=relu)


class InceptionResnetV1(nn.Sequential):
    """Faces at 160 × 160, (value - 127.5) / 128, RGB, give 512 numbers."""

    def __init__(self) -> None:
        to_17 = nn.Sequential(ConvNorm(256, 192, 1), ConvNorm(192, 192, 3, padding=1), ConvNorm(192, 256, 3, 2))
        to_8 = (
            nn.Sequential(ConvNorm(896, 256, 1), ConvNorm(256, 384, 3, 2)),
            nn.Sequential(ConvNorm(896, 256, 1), ConvNorm(256, 256, 3, 2)),
            nn.Sequential(ConvNorm(896, 256, 1), ConvNorm(256, 256, 3, padding=1), ConvNorm(256, 256, 3, 2)),
        )
        layers = OrderedDict(
            conv2d_1a=ConvNorm(3, 32, 3, 2),
            conv2d_2a=ConvNorm(32, 32, 3),
            conv2d_2b=ConvNorm(32, 64, 3, padding=1),
            maxpool_3a=nn.MaxPool2d(3, 2),
            conv2d_3b=ConvNorm(64, 80, 1),
            conv2d_4a=ConvNorm(80, 192, 3),
            conv2d_4b=ConvNorm(192, 256, 3, 2),
            repeat_1=nn.Sequential(*(block_35(0.17) for _ in range(5))),
            mixed_6a=Reduction(ConvNorm(256, 384, 3, 2), to_17),
            repeat_2=nn.Sequential(*(block_17(0.10) for _ in range(10))),
            mixed_7a=Reduction(*to_8),
            repeat_3=nn.Sequential(*(block_8(0.20) for _ in range(5))),
            block8=block_8(1.0, relu=False),
            mean=GlobalMean(),
            last_linear=nn.Linear(1792, 512, bias=False),
            last_bn=nn.BatchNorm1d(512, eps=0.001),
        )
        super().__init__(layers)
