"""LPIPS: how far apart two pictures look to a network that was trained to recognise things.

Features of five depths, made unit length over channels, squared difference, one learned weight per channel, mean
over the picture, sum over the depths (Zhang et al. 2018, version 0.1). AlexNet serves image synthesis, VGG-16 FHIBE.

Backbones have torchvision's names (`features.0.weight`), heads those of the `lpips` package (`lin0.model.1.weight`).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from evenhand.instruments.networks.blocks import named

_SHIFT = (-0.030, -0.088, -0.188)
_SCALE = (0.458, 0.448, 0.450)


class Backbone(nn.Module):
    """Feature layers that are tapped after some of their ReLUs."""

    def __init__(self, features: nn.Sequential, taps: tuple[int, ...], widths: tuple[int, ...]) -> None:
        super().__init__()
        self.features = features
        self.taps, self.widths = taps, widths

    def forward(self, x: Tensor) -> list[Tensor]:
        tapped = []
        for index, layer in enumerate(self.features):
            x = layer(x)
            if index in self.taps:
                tapped.append(x)
            if index == self.taps[-1]:
                break
        return tapped


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
    layers: list[nn.Module] = []
    inside = 3
    for width, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        layers += [nn.MaxPool2d(2, 2)] if layers else []
        for _ in range(count):
            layers += [nn.Conv2d(inside, width, 3, 1, 1), nn.ReLU(inplace=True)]
            inside = width
    return Backbone(nn.Sequential(*layers), (3, 8, 15, 22, 29), (64, 128, 256, 512, 512))


class Lpips(nn.Module):
    """Distances of pictures in [-1, 1], one per pair; 0 for equal pictures, the same when they change places."""

    def __init__(self, backbone: str) -> None:
        super().__init__()
        self.backbone = {"alex": alexnet, "vgg": vgg16}[backbone]()
        self.heads = nn.ModuleDict()  # one weight per channel
        for index, width in enumerate(self.backbone.widths):
            self.heads[f"lin{index}"] = named(model=named(**{"1": nn.Conv2d(width, 1, 1, bias=False)}))

    def forward(self, pictures: Tensor, references: Tensor) -> Tensor:
        shift, scale = (torch.tensor(part, device=pictures.device).view(1, 3, 1, 1) for part in (_SHIFT, _SCALE))
        both = (torch.cat([pictures, references]) - shift) / scale
        total = torch.zeros(len(pictures), device=pictures.device, dtype=pictures.dtype)
        for head, found in zip(self.heads.values(), self.backbone(both), strict=True):
            unit = found / (found.square().sum(dim=1, keepdim=True).sqrt() + 1e-10)
            first, second = torch.split(unit, len(pictures))
            total = total + head((first - second).square_()).mean(dim=(1, 2, 3))
        return total
