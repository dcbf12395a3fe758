"""The part-based re-identification network PCB: six horizontal parts of a person, 2,048 features each.

ResNet-50 whose last stage keeps its size, averaged into six rows. Weights are named `model.` and torchvision's
`resnet50` names; the classifiers of the six parts (`classifier0.*` …) are left out.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from evenhand.instruments.networks.blocks import named, resnet_stage

PARTS = 6


def resnet_50() -> nn.Sequential:
    """ResNet-50's convolutions with stride 1 in the last stage."""
    return named(
        conv1=nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        bn1=nn.BatchNorm2d(64),
        relu=nn.ReLU(),
        pool=nn.MaxPool2d(3, 2, 1),
        layer1=resnet_stage(64, 64, 3, 1),
        layer2=resnet_stage(256, 128, 4, 2),
        layer3=resnet_stage(512, 256, 6, 2),
        layer4=resnet_stage(1024, 512, 3, 1),
    )


class Pcb(nn.Module):
    """Patches of 384 × 192 give 12,288 numbers of unit length, channel by channel, part by part."""

    def __init__(self) -> None:
        super().__init__()
        self.model = resnet_50()

    def forward(self, x: Tensor) -> Tensor:
        parts = functional.adaptive_avg_pool2d(self.model(x), (PARTS, 1)).squeeze(3)  # (pictures, 2048, 6)
        return unit_parts(parts)


def unit_parts(parts: Tensor) -> Tensor:
    """Each part divided by its length times √6, flattened channel by channel; a part of zeros gives no number (NaN)."""
    lengths = parts.norm(p=2, dim=1, keepdim=True) * parts.shape[2] ** 0.5
    return torch.flatten(parts / lengths, 1)
