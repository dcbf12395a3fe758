"""Inception v3, for the Fréchet distance and the inception score.

One network in two published forms that differ in three places:

* `IMAGENET`: torchvision's, weights `inception_v3_google-*`. Average pools count the padding, the last block pools by
  average. The features of the synthesis protocol's `fid` and `is`.
* `FID_2015`: the graph of the Fréchet inception distance literature (`inception-2015-12-05`). Average pools leave the
  padding out, and the last block pools by maximum.

The 2,048 features are the global average before the classifier. Weights have torchvision's names; the auxiliary
classifier (`AuxLogits.*`) is trained with but never run, so its weights are left out.
"""

from __future__ import annotations

from enum import Enum

import torch
from torch import Tensor, nn
from torch.nn import functional

from evenhand.instruments.networks.blocks import ConvNorm, column, row


class Form(Enum):
    """Which publication's arithmetic."""

    IMAGENET = "imagenet"
    FID_2015 = "fid-2015-12-05"


Step = ConvNorm | tuple[ConvNorm, ConvNorm]  # a convolution, or two side by side


class Branches(nn.Module):
    """Chains of convolutions side by side; the one called `branch_pool` behind a pool.

    Without a pool the picture is halved, by strides in the chains and a maximum beside them. Convolutions are named by
    their chain, numbered where it has several, and lettered where two stand side by side.
    """

    def __init__(self, pool: nn.Module | None, **chains: tuple[Step, ...]) -> None:
        super().__init__()
        self.pool = pool
        self.chains: dict[str, list[list[str]]] = {}  # the names of every step
        for branch, chain in chains.items():
            self.chains[branch] = []
            for number, step in enumerate(chain, start=1):
                name = branch if len(chain) == 1 else f"{branch}_{number}"
                steps = {name: step} if isinstance(step, ConvNorm) else {f"{name}a": step[0], f"{name}b": step[1]}
                self.chains[branch].append(list(steps))
                for convolution, module in steps.items():
                    self.add_module(convolution, module)

    def forward(self, x: Tensor) -> Tensor:
        joined = []
        for branch, chain in self.chains.items():
            y = self.pool(x) if self.pool is not None and branch == "branch_pool" else x
            for names in chain:
                parts = [self.get_submodule(name)(y) for name in names]
                y = torch.cat(parts, 1) if len(parts) > 1 else parts[0]
            joined.append(y)
        return torch.cat(joined if self.pool is not None else [*joined, functional.max_pool2d(x, 3, 2)], 1)


def block_a(inside: int, pooled: int, pool: nn.Module) -> Branches:
    """35 × 35: 1 × 1, 5 × 5, two 3 × 3, and a pooled branch of the given width."""
    return Branches(
        pool,
        branch1x1=(ConvNorm(inside, 64, 1),),
        branch5x5=(ConvNorm(inside, 48, 1), ConvNorm(48, 64, 5, padding=2)),
        branch3x3dbl=(ConvNorm(inside, 64, 1), ConvNorm(64, 96, 3, padding=1), ConvNorm(96, 96, 3, padding=1)),
        branch_pool=(ConvNorm(inside, pooled, 1),),
    )


def block_b(inside: int) -> Branches:
    """35 × 35 to 17 × 17."""
    double = ConvNorm(inside, 64, 1), ConvNorm(64, 96, 3, padding=1), ConvNorm(96, 96, 3, 2)
    return Branches(None, branch3x3=(ConvNorm(inside, 384, 3, 2),), branch3x3dbl=double)


def block_c(inside: int, width: int, pool: nn.Module) -> Branches:
    """17 × 17: 7 × 7 as 1 × 7 and 7 × 1, once and twice."""
    once = column(width, width, 7), row(width, width, 7)
    return Branches(
        pool,
        branch1x1=(ConvNorm(inside, 192, 1),),
        branch7x7=(ConvNorm(inside, width, 1), row(width, width, 7), column(width, 192, 7)),
        branch7x7dbl=(ConvNorm(inside, width, 1), *once, column(width, width, 7), row(width, 192, 7)),
        branch_pool=(ConvNorm(inside, 192, 1),),
    )


def block_d(inside: int) -> Branches:
    """17 × 17 to 8 × 8."""
    seven = ConvNorm(inside, 192, 1), row(192, 192, 7), column(192, 192, 7), ConvNorm(192, 192, 3, 2)
    return Branches(None, branch3x3=(ConvNorm(inside, 192, 1), ConvNorm(192, 320, 3, 2)), branch7x7x3=seven)


def block_e(inside: int, pool: nn.Module) -> Branches:
    """8 × 8: 3 × 3 spread into 1 × 3 beside 3 × 1."""

    def spread() -> tuple[ConvNorm, ConvNorm]:
        return row(384, 384, 3), column(384, 384, 3)

    return Branches(
        pool,
        branch1x1=(ConvNorm(inside, 320, 1),),
        branch3x3=(ConvNorm(inside, 384, 1), spread()),
        branch3x3dbl=(ConvNorm(inside, 448, 1), ConvNorm(448, 384, 3, padding=1), spread()),
        branch_pool=(ConvNorm(inside, 192, 1),),
    )


class InceptionV3(nn.Module):
    """Pictures in [-1, 1] at 299 × 299 give 2,048 features; `logits` turns those into class scores."""

    def __init__(self, form: Form | str = Form.IMAGENET, classes: int = 1000) -> None:
        super().__init__()
        form = Form(form)
        mean = nn.AvgPool2d(3, 1, 1, count_include_pad=form is Form.IMAGENET)
        last = mean if form is Form.IMAGENET else nn.MaxPool2d(3, 1, 1)
        self.Conv2d_1a_3x3 = ConvNorm(3, 32, 3, 2)
        self.Conv2d_2a_3x3 = ConvNorm(32, 32, 3)
        self.Conv2d_2b_3x3 = ConvNorm(32, 64, 3, padding=1)
        self.Conv2d_3b_1x1 = ConvNorm(64, 80, 1)
        self.Conv2d_4a_3x3 = ConvNorm(80, 192, 3)
        self.Mixed_5b = block_a(192, 32, mean)
        self.Mixed_5c = block_a(256, 64, mean)
        self.Mixed_5d = block_a(288, 64, mean)
        self.Mixed_6a = block_b(288)
        self.Mixed_6b = block_c(768, 128, mean)
        self.Mixed_6c = block_c(768, 160, mean)
        self.Mixed_6d = block_c(768, 160, mean)
        self.Mixed_6e = block_c(768, 192, mean)
        self.Mixed_7a = block_d(768)
        self.Mixed_7b = block_e(1280, mean)
        self.Mixed_7c = block_e(2048, last)
        self.fc = nn.Linear(2048, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x)))
        x = functional.max_pool2d(x, 3, 2)
        x = self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(x))
        x = functional.max_pool2d(x, 3, 2)
        x = self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(x)))
        x = self.Mixed_6e(self.Mixed_6d(self.Mixed_6c(self.Mixed_6b(self.Mixed_6a(x)))))
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))
        return x.mean(dim=(2, 3))

    def logits(self, features: Tensor) -> Tensor:
        """Class scores of features, before any softmax."""
        answer: Tensor = self.fc(features)
        return answer
