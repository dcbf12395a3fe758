"""LPIPS: how far apart two pictures look to a network that was trained to recognise things.

Features of five depths, made unit length over channels, squared difference, one learned weight per channel, mean
over the picture, sum over the depths (Zhang et al. 2018, version 0.1). AlexNet serves image synthesis, VGG-16 FHIBE.

Backbones have torchvision's names (`features.0.weight`), heads those of the `lpips` package (`lin0.model.1.weight`).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from evenhand.instruments.networks.blocks import convolutions

_SHIFT = (-0.030, -0.088, -0.188)
_SCALE = (0.458, 0.448, 0.450)


class Backbone(nn.Module):
    """Feature layers that are tapped after some of their ReLUs."""

    def __init__(self, features: nn.Sequential, taps: tuple[int, ...], widths: tuple[int, ...]) -> None:
        super().__init__()
        self.features = features
        self.taps, self.widths = taps, widths

    def forward(self, x: Tensor) -> list[Tensor]:
        found = []
        for index, layer in enumerate(self.features):
            x = layer(x)
            if index in self.taps:
                found.append(x)
            if index == self.taps[-1]:
                break
        return found


def alexnet() -> Backbone:
    """AlexNet's five convolutions, tapped after each ReLU."""
    layers = nn.Sequential(
        *(nn.Conv2d(3, 64, 11, 4, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2)),
        *(nn.Conv2d(64, 192, 5, 1, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2)),
        *(nn.Conv2d(192, 384, 3, 1, 1), nn.ReLU(inplace=True)),
        *(nn.Conv2d(384, 256, 3, 1, 1), nn.ReLU(inplace=True)),
        *(nn.Conv2d(256, 256, 3, 1, 1), nn.ReLU(inplace=True)),
    )
    return Backbone(layers, (1, 4, 7, 9, 11), (64, 192, 384, 256, 256))


def vgg16() -> Backbone:
    """VGG-16's thirteen convolutions, tapped after the last ReLU before each halving."""
    plan = (64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, "M", 512, 512, 512)
    return Backbone(convolutions(plan), (3, 8, 15, 22, 29), (64, 128, 256, 512, 512))


class LpipsHead(nn.Module):
    """One weight per channel; the name `model.1` is that of the published file."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.model = nn.ModuleDict({"1": nn.Conv2d(width, 1, 1, bias=False)})

    def forward(self, x: Tensor) -> Tensor:
        answer: Tensor = self.model["1"](x)
        return answer


class Lpips(nn.Module):
    """Distances of pictures in [-1, 1], one per pair; 0 for equal pictures, the same when they change places."""

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.backbone = backbone
        self.heads = nn.ModuleDict({f"lin{index}": LpipsHead(width) for index, width in enumerate(backbone.widths)})

    def forward(self, pictures: Tensor, references: Tensor) -> Tensor:
        shift, scale = (torch.tensor(part, device=pictures.device).view(1, 3, 1, 1) for part in (_SHIFT, _SCALE))
        both = (torch.cat([pictures, references]) - shift) / scale
        total = torch.zeros(len(pictures), device=pictures.device, dtype=pictures.dtype)
        for head, found in zip(self.heads.values(), self.backbone(both), strict=True):
            unit = found / (found.square().sum(dim=1, keepdim=True).sqrt() + 1e-10)
            first, second = torch.split(unit, len(pictures))
            total = total + head((first - second).square_()).mean(dim=(1, 2, 3))
        return total
