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


class Pooled(nn.Module):
    """A 3 × 3 pool of the same size as its input."""

    def __init__(self, *, largest: bool, count_padding: bool) -> None:
        super().__init__()
        self.largest, self.count_padding = largest, count_padding

    def forward(self, x: Tensor) -> Tensor:
        if self.largest:
            return functional.max_pool2d(x, 3, 1, 1)
        return functional.avg_pool2d(x, 3, 1, 1, count_include_pad=self.count_padding)


class BlockA(nn.Module):
    """35 × 35: 1 × 1, 5 × 5, two 3 × 3, and a pooled branch of the given width."""

    def __init__(self, inside: int, pooled: int, pool: Pooled) -> None:
        super().__init__()
        self.branch1x1 = ConvNorm(inside, 64, 1)
        self.branch5x5_1 = ConvNorm(inside, 48, 1)
        self.branch5x5_2 = ConvNorm(48, 64, 5, padding=2)
        self.branch3x3dbl_1 = ConvNorm(inside, 64, 1)
        self.branch3x3dbl_2 = ConvNorm(64, 96, 3, padding=1)
        self.branch3x3dbl_3 = ConvNorm(96, 96, 3, padding=1)
        self.branch_pool = ConvNorm(inside, pooled, 1)
        self.pool = pool

    def forward(self, x: Tensor) -> Tensor:
        five = self.branch5x5_2(self.branch5x5_1(x))
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return torch.cat([self.branch1x1(x), five, double, self.branch_pool(self.pool(x))], 1)


class BlockB(nn.Module):
    """35 × 35 to 17 × 17."""

    def __init__(self, inside: int) -> None:
        super().__init__()
        self.branch3x3 = ConvNorm(inside, 384, 3, 2)
        self.branch3x3dbl_1 = ConvNorm(inside, 64, 1)
        self.branch3x3dbl_2 = ConvNorm(64, 96, 3, padding=1)
        self.branch3x3dbl_3 = ConvNorm(96, 96, 3, 2)

    def forward(self, x: Tensor) -> Tensor:
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return torch.cat([self.branch3x3(x), double, functional.max_pool2d(x, 3, 2)], 1)


class BlockC(nn.Module):
    """17 × 17: 7 × 7 as 1 × 7 and 7 × 1, once and twice."""

    def __init__(self, inside: int, width: int, pool: Pooled) -> None:
        super().__init__()
        self.branch1x1 = ConvNorm(inside, 192, 1)
        self.branch7x7_1 = ConvNorm(inside, width, 1)
        self.branch7x7_2 = row(width, width, 7)
        self.branch7x7_3 = column(width, 192, 7)
        self.branch7x7dbl_1 = ConvNorm(inside, width, 1)
        self.branch7x7dbl_2 = column(width, width, 7)
        self.branch7x7dbl_3 = row(width, width, 7)
        self.branch7x7dbl_4 = column(width, width, 7)
        self.branch7x7dbl_5 = row(width, 192, 7)
        self.branch_pool = ConvNorm(inside, 192, 1)
        self.pool = pool

    def forward(self, x: Tensor) -> Tensor:
        seven = self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x)))
        double = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        double = self.branch7x7dbl_5(self.branch7x7dbl_4(double))
        return torch.cat([self.branch1x1(x), seven, double, self.branch_pool(self.pool(x))], 1)


class BlockD(nn.Module):
    """17 × 17 to 8 × 8."""

    def __init__(self, inside: int) -> None:
        super().__init__()
        self.branch3x3_1 = ConvNorm(inside, 192, 1)
        self.branch3x3_2 = ConvNorm(192, 320, 3, 2)
        self.branch7x7x3_1 = ConvNorm(inside, 192, 1)
        self.branch7x7x3_2 = row(192, 192, 7)
        self.branch7x7x3_3 = column(192, 192, 7)
        self.branch7x7x3_4 = ConvNorm(192, 192, 3, 2)

    def forward(self, x: Tensor) -> Tensor:
        three = self.branch3x3_2(self.branch3x3_1(x))
        seven = self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x)))
        return torch.cat([three, self.branch7x7x3_4(seven), functional.max_pool2d(x, 3, 2)], 1)


class BlockE(nn.Module):
    """8 × 8: 3 × 3 spread into 1 × 3 beside 3 × 1."""

    def __init__(self, inside: int, pool: Pooled) -> None:
        super().__init__()
        self.branch1x1 = ConvNorm(inside, 320, 1)
        self.branch3x3_1 = ConvNorm(inside, 384, 1)
        self.branch3x3_2a = row(384, 384, 3)
        self.branch3x3_2b = column(384, 384, 3)
        self.branch3x3dbl_1 = ConvNorm(inside, 448, 1)
        self.branch3x3dbl_2 = ConvNorm(448, 384, 3, padding=1)
        self.branch3x3dbl_3a = row(384, 384, 3)
        self.branch3x3dbl_3b = column(384, 384, 3)
        self.branch_pool = ConvNorm(inside, 192, 1)
        self.pool = pool

    def forward(self, x: Tensor) -> Tensor:
        three = self.branch3x3_1(x)
        double = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        return torch.cat(
            [
                self.branch1x1(x),
                *(self.branch3x3_2a(three), self.branch3x3_2b(three)),
                *(self.branch3x3dbl_3a(double), self.branch3x3dbl_3b(double)),
                self.branch_pool(self.pool(x)),
            ],
            1,
        )


class InceptionV3(nn.Module):
    """Pictures in [-1, 1] at 299 × 299 give 2,048 features; `logits` turns those into class scores."""

    def __init__(self, form: Form = Form.IMAGENET, classes: int = 1000) -> None:
        super().__init__()
        self.form = form
        mean = Pooled(largest=False, count_padding=form is Form.IMAGENET)
        last = mean if form is Form.IMAGENET else Pooled(largest=True, count_padding=False)
        self.Conv2d_1a_3x3 = ConvNorm(3, 32, 3, 2)
        self.Conv2d_2a_3x3 = ConvNorm(32, 32, 3)
        self.Conv2d_2b_3x3 = ConvNorm(32, 64, 3, padding=1)
        self.Conv2d_3b_1x1 = ConvNorm(64, 80, 1)
        self.Conv2d_4a_3x3 = ConvNorm(80, 192, 3)
        self.Mixed_5b = BlockA(192, 32, mean)
        self.Mixed_5c = BlockA(256, 64, mean)
        self.Mixed_5d = BlockA(288, 64, mean)
        self.Mixed_6a = BlockB(288)
        self.Mixed_6b = BlockC(768, 128, mean)
        self.Mixed_6c = BlockC(768, 160, mean)
        self.Mixed_6d = BlockC(768, 160, mean)
        self.Mixed_6e = BlockC(768, 192, mean)
        self.Mixed_7a = BlockD(768)
        self.Mixed_7b = BlockE(1280, mean)
        self.Mixed_7c = BlockE(2048, last)
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
