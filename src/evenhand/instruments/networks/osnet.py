"""OSNet-IBN x1.0: features of a person at several scales at once, for re-identification.

Patches of 256 × 128 give 512 numbers after the last linear layer, batch norm and ReLU; not made unit length. Weights
have torchreid's names (`osnet_ibn_x1_0_imagenet.pth`); the classifier (`classifier.*`) is left out.
"""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor, nn

from evenhand.instruments.networks.blocks import ConvNorm, GlobalMean, named


def linear_conv(inside: int, outside: int) -> nn.Sequential:
    """A 1 × 1 convolution and its batch norm, without ReLU."""
    return named(conv=nn.Conv2d(inside, outside, 1, bias=False), bn=nn.BatchNorm2d(outside))


def light_conv(width: int) -> nn.Sequential:
    """A 1 × 1 convolution, then 3 × 3 within each channel, batch norm, ReLU."""
    pointwise = nn.Conv2d(width, width, 1, bias=False)
    depthwise = nn.Conv2d(width, width, 3, 1, 1, groups=width, bias=False)
    return named(conv1=pointwise, conv2=depthwise, bn=nn.BatchNorm2d(width), relu=nn.ReLU())


class Gate(nn.Module):
    """Each channel times a factor in (0, 1) that depends on the means of all channels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc1 = nn.Conv2d(width, width // 16, 1)
        self.fc2 = nn.Conv2d(width // 16, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        means = x.mean(dim=(2, 3), keepdim=True)
        return x * torch.sigmoid(self.fc2(torch.relu(self.fc1(means))))


class OmniScale(nn.Module):
    """One to four light convolutions side by side under one gate, and the way around them; `IN` in shallow layers."""

    def __init__(self, inside: int, outside: int, *, instance_norm: bool) -> None:
        super().__init__()
        width = outside // 4
        self.conv1 = ConvNorm(inside, width, 1, eps=1e-5)
        self.conv2a = light_conv(width)
        self.conv2b = nn.Sequential(*(light_conv(width) for _ in range(2)))
        self.conv2c = nn.Sequential(*(light_conv(width) for _ in range(3)))
        self.conv2d = nn.Sequential(*(light_conv(width) for _ in range(4)))
        self.gate = Gate(width)
        self.conv3 = linear_conv(width, outside)
        self.downsample: nn.Module = nn.Identity() if inside == outside else linear_conv(inside, outside)
        self.IN: nn.Module = nn.InstanceNorm2d(outside, affine=True) if instance_norm else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv1(x)
        scales = (self.conv2a, self.conv2b, self.conv2c, self.conv2d)
        gated = sum((self.gate(scale(y)) for scale in scales[1:]), start=self.gate(scales[0](y)))
        return torch.relu(self.IN(self.conv3(gated) + self.downsample(x)))


def stage(inside: int, outside: int, *, instance_norm: bool, halve: bool) -> nn.Sequential:
    """Two omni-scale blocks, and where `halve` a 1 × 1 convolution with a 2 × 2 average pool."""
    layers: list[nn.Module] = [
        OmniScale(inside, outside, instance_norm=instance_norm),
        OmniScale(outside, outside, instance_norm=instance_norm),
    ]
    if halve:
        layers.append(nn.Sequential(ConvNorm(outside, outside, 1, eps=1e-5), nn.AvgPool2d(2, 2)))
    return nn.Sequential(*layers)


class OsNet(nn.Sequential):
    """Normalised patches of 256 × 128 give 512 numbers."""

    def __init__(self) -> None:
        stem, norm = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.InstanceNorm2d(64, affine=True)
        layers = OrderedDict(
            conv1=named(conv=stem, bn=norm, relu=nn.ReLU()),
            maxpool=nn.MaxPool2d(3, 2, 1),
            conv2=stage(64, 256, instance_norm=True, halve=True),
            conv3=stage(256, 384, instance_norm=False, halve=True),
            conv4=stage(384, 512, instance_norm=False, halve=False),
            conv5=ConvNorm(512, 512, 1, eps=1e-5),
            mean=GlobalMean(),
            fc=nn.Sequential(nn.Linear(512, 512), nn.BatchNorm1d(512), nn.ReLU()),
        )
        super().__init__(layers)
