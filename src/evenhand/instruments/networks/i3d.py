"""I3D (Carreira and Zisserman, 2017): Inception in three dimensions, trained on Kinetics-400; the network of FVD.

Names of weights are those of the published PyTorch conversions (`Mixed_3b.b1a.conv3d.weight`). Padding is that of the
original: as much as keeps the length over the stride, the odd one behind.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from evenhand.instruments.networks.blocks import named

Three = tuple[int, int, int]


def _padded(x: Tensor, kernel: Three, stride: Three) -> Tensor:
    sides: list[int] = []
    for length, width, step in zip(reversed(x.shape[2:]), reversed(kernel), reversed(stride), strict=True):
        missing = max(width - (step if length % step == 0 else length % step), 0)
        sides += [missing // 2, missing - missing // 2]
    return functional.pad(x, sides)


class I3dUnit(nn.Module):
    """Convolution, batch norm, ReLU."""

    def __init__(self, inside: int, outside: int, kernel: Three = (1, 1, 1), stride: Three = (1, 1, 1)) -> None:
        super().__init__()
        self.kernel, self.stride = kernel, stride
        self.conv3d = nn.Conv3d(inside, outside, kernel, stride, bias=False)
        self.bn = nn.BatchNorm3d(outside, eps=1e-3)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.bn(self.conv3d(_padded(x, self.kernel, self.stride))))


class I3dPool(nn.Module):
    """The largest value of each window; padding counts as 0."""

    def __init__(self, kernel: Three, stride: Three) -> None:
        super().__init__()
        self.kernel, self.stride = kernel, stride

    def forward(self, x: Tensor) -> Tensor:
        return functional.max_pool3d(_padded(x, self.kernel, self.stride), self.kernel, self.stride)


class MixedBlock(nn.Module):
    """Four branches side by side: 1, 1 then 3, 1 then 3, pool then 1."""

    def __init__(self, inside: int, widths: tuple[int, int, int, int, int, int]) -> None:
        super().__init__()
        a, b, c, d, e, f = widths
        self.b0 = I3dUnit(inside, a)
        self.b1a, self.b1b = I3dUnit(inside, b), I3dUnit(b, c, (3, 3, 3))
        self.b2a, self.b2b = I3dUnit(inside, d), I3dUnit(d, e, (3, 3, 3))
        self.b3a, self.b3b = I3dPool((3, 3, 3), (1, 1, 1)), I3dUnit(inside, f)

    def forward(self, x: Tensor) -> Tensor:
        branches = self.b0(x), self.b1b(self.b1a(x)), self.b2b(self.b2a(x)), self.b3b(self.b3a(x))
        return torch.cat(branches, dim=1)


_MIXED = (
    ("Mixed_3b", 192, (64, 96, 128, 16, 32, 32)),
    ("Mixed_3c", 256, (128, 128, 192, 32, 96, 64)),
    ("Mixed_4b", 480, (192, 96, 208, 16, 48, 64)),
    ("Mixed_4c", 512, (160, 112, 224, 24, 64, 64)),
    ("Mixed_4d", 512, (128, 128, 256, 24, 64, 64)),
    ("Mixed_4e", 512, (112, 144, 288, 32, 64, 64)),
    ("Mixed_4f", 528, (256, 160, 320, 32, 128, 128)),
    ("Mixed_5b", 832, (256, 160, 320, 32, 128, 128)),
    ("Mixed_5c", 832, (384, 192, 384, 48, 128, 128)),
)


class InceptionI3d(nn.Module):
    """Films (batch, 3, frames, 224, 224) in [-1, 1] to the logits of 400 actions, averaged over time."""

    def __init__(self, classes: int = 400) -> None:
        super().__init__()
        self.Conv3d_1a_7x7 = I3dUnit(3, 64, (7, 7, 7), (2, 2, 2))
        self.Conv3d_2b_1x1, self.Conv3d_2c_3x3 = I3dUnit(64, 64), I3dUnit(64, 192, (3, 3, 3))
        for name, inside, widths in _MIXED:
            self.add_module(name, MixedBlock(inside, widths))
        self.logits = named(conv3d=nn.Conv3d(1024, classes, 1))
        self.halve_sides = I3dPool((1, 3, 3), (1, 2, 2))
        self.halve_all, self.halve_last = I3dPool((3, 3, 3), (2, 2, 2)), I3dPool((2, 2, 2), (2, 2, 2))

    def forward(self, x: Tensor) -> Tensor:
        x = self.halve_sides(self.Conv3d_1a_7x7(x))
        x = self.halve_sides(self.Conv3d_2c_3x3(self.Conv3d_2b_1x1(x)))
        for name, _, _ in _MIXED:
            if name == "Mixed_4b":
                x = self.halve_all(x)
            elif name == "Mixed_5b":
                x = self.halve_last(x)
            x = self.get_submodule(name)(x)
        pooled = functional.avg_pool3d(x, (2, 7, 7), 1)
        answer: Tensor = self.logits(pooled).mean(dim=(2, 3, 4))
        return answer
