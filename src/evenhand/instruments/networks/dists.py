"""DISTS: how far apart two pictures are in structure and in texture (Ding et al. 2020).

The picture itself and five depths of VGG-16. For every channel two similarities over the whole picture: of the means
(texture) and of the correlation (structure), each with a learned share. One minus their sum is the distance, so a
texture that is redrawn elsewhere costs less than one that is blurred away.

VGG-16 is halved by a smooth root mean square instead of a maximum. The backbone has torchvision's names
(`features.0.weight`), the shares those of the authors' file (`alpha`, `beta`).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from evenhand.instruments.networks.lpips import Backbone, vgg16

_MEAN = (0.485, 0.456, 0.406)
_DEVIATION = (0.229, 0.224, 0.225)
_TINY = 1e-6  # keeps channels without signal from dividing by nothing
_WINDOW = (0.25, 0.5, 0.25)  # a Hann window of three taps, along rows and columns


class RootMeanSquare(nn.Module):
    """Halves a picture: the root of the windowed mean of squares, in steps of two."""

    def forward(self, x: Tensor) -> Tensor:
        taps = torch.tensor(_WINDOW, device=x.device, dtype=x.dtype)
        window = (taps[:, None] * taps[None, :]).expand(x.shape[1], 1, 3, 3)
        return (functional.conv2d(x.square(), window, stride=2, padding=1, groups=x.shape[1]) + 1e-12).sqrt()


def smooth_vgg16() -> Backbone:
    """VGG-16's feature layers with every maximum replaced by a root mean square."""
    backbone = vgg16()
    for index, layer in enumerate(backbone.features):
        if isinstance(layer, nn.MaxPool2d):
            backbone.features[index] = RootMeanSquare()
    return backbone


class Dists(nn.Module):
    """Distances of pictures in [0, 1], one per pair; 0 for equal pictures, the same when they change places."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = smooth_vgg16()
        self.widths = [3, *self.backbone.widths]
        # What the means (`alpha`) and the correlation (`beta`) of every channel count.
        empty = torch.zeros(1, sum(self.widths), 1, 1)
        self.shares = nn.ParameterDict({name: nn.Parameter(empty.clone()) for name in ("alpha", "beta")})

    def forward(self, pictures: Tensor, references: Tensor) -> Tensor:
        if pictures.device.type != "cpu" or len(pictures) < 2:
            return self._distances(pictures, references)
        # Pair by pair, what VGG-16 holds of a picture stays in the cache.
        pairs = zip(torch.split(pictures, 1), torch.split(references, 1), strict=True)
        return torch.cat([self._distances(picture, reference) for picture, reference in pairs])

    def _distances(self, pictures: Tensor, references: Tensor) -> Tensor:
        mean, deviation = (torch.tensor(part, device=pictures.device).view(1, 3, 1, 1) for part in (_MEAN, _DEVIATION))
        both = torch.cat([pictures, references])
        shares = [self.shares[name] for name in ("alpha", "beta")]
        whole = shares[0].sum() + shares[1].sum()
        alphas, betas = (torch.split(share[:, :, 0, 0] / whole, self.widths, dim=1) for share in shares)
        alike = torch.zeros(len(pictures), device=pictures.device, dtype=pictures.dtype)
        for alpha, beta, found in zip(alphas, betas, [both, *self.backbone((both - mean) / deviation)], strict=True):
            first, second = torch.split(found.flatten(2), len(pictures))
            mean_1, mean_2 = first.mean(dim=2), second.mean(dim=2)
            first, second = first - mean_1[:, :, None], second - mean_2[:, :, None]
            covariance = (first * second).mean(dim=2)
            variances = first.square_().mean(dim=2) + second.square_().mean(dim=2)
            texture = (2 * mean_1 * mean_2 + _TINY) / (mean_1.square() + mean_2.square() + _TINY)
            structure = (2 * covariance + _TINY) / (variances + _TINY)
            alike = alike + (alpha * texture + beta * structure).sum(dim=1)
        return 1 - alike
