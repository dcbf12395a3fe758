"""The two face embeddings of 112 × 112 faces: MagFace's iResNet-100 and CurricularFace's IR-101.

Both are a hundred layers in stages of 3, 13, 30 and 3 blocks that end in 512 numbers; they differ in where batch
norms stand, in names and in constants, so each is written out. MagFace takes blue-green-red values in [0, 1],
CurricularFace red-green-blue values in [-1, 1]. Outputs are not made unit length.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from torch import Tensor, nn

STAGES_100 = (3, 13, 30, 3)


class IBlock(nn.Module):
    """Norm, 3 × 3, norm, PReLU, 3 × 3 with the stride, norm; added to the input or its 1 × 1 projection."""

    def __init__(self, inside: int, outside: int, stride: int, *, project: bool) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inside, eps=2e-5)
        self.conv1 = nn.Conv2d(inside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside, eps=2e-5)
        self.prelu = nn.PReLU(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, stride, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outside, eps=2e-5)
        self.downsample: nn.Module = nn.Identity()
        if project:
            norm = nn.BatchNorm2d(outside, eps=2e-5)
            self.downsample = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), norm)

    def forward(self, x: Tensor) -> Tensor:
        y = self.prelu(self.bn2(self.conv1(self.bn1(x))))
        answer: Tensor = self.bn3(self.conv2(y)) + self.downsample(x)
        return answer


class IResNet(nn.Sequential):
    """MagFace's backbone; `stages` other than 3, 13, 30, 3 give its smaller sisters."""

    def __init__(self, stages: Sequence[int] = STAGES_100) -> None:
        stem = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        layers = OrderedDict[str, nn.Module](conv1=stem, bn1=nn.BatchNorm2d(64, eps=2e-5), prelu=nn.PReLU(64))
        inside = 64
        for index, (blocks, width) in enumerate(zip(stages, (64, 128, 256, 512), strict=True), start=1):
            first = IBlock(inside, width, 2, project=True)
            others = (IBlock(width, width, 1, project=False) for _ in range(blocks - 1))
            layers[f"layer{index}"] = nn.Sequential(first, *others)
            inside = width
        layers |= {
            "bn2": nn.BatchNorm2d(512, eps=2e-5),
            "flat": nn.Flatten(),
            "fc": nn.Linear(512 * 7 * 7, 512),
            "features": nn.BatchNorm1d(512, eps=2e-5),
        }
        super().__init__(layers)


class IrBlock(nn.Module):
    """Norm, 3 × 3, PReLU, 3 × 3 with the stride, norm; the way around takes every second pixel or projects."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.shortcut_layer: nn.Module = nn.MaxPool2d(1, stride)
        if inside != outside:
            projection = nn.Conv2d(inside, outside, 1, stride, bias=False)
            self.shortcut_layer = nn.Sequential(projection, nn.BatchNorm2d(outside))
        self.res_layer = nn.Sequential(
            nn.BatchNorm2d(inside),
            nn.Conv2d(inside, outside, 3, 1, 1, bias=False),
            nn.PReLU(outside),
            nn.Conv2d(outside, outside, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outside),
        )

    def forward(self, x: Tensor) -> Tensor:
        answer: Tensor = self.res_layer(x) + self.shortcut_layer(x)
        return answer


class Ir(nn.Sequential):
    """CurricularFace's backbone; its last norm has no weights of its own."""

    def __init__(self, stages: Sequence[int] = STAGES_100) -> None:
        blocks: list[nn.Module] = []
        inside = 64
        for count, width in zip(stages, (64, 128, 256, 512), strict=True):
            blocks.append(IrBlock(inside, width, 2))
            blocks += [IrBlock(width, width, 1) for _ in range(count - 1)]
            inside = width
        stem = nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.PReLU(64))
        output = nn.Sequential(
            nn.BatchNorm2d(512),
            nn.Dropout(0.4),
            nn.Flatten(),
            nn.Linear(512 * 7 * 7, 512),
            nn.BatchNorm1d(512, affine=False),
        )
        super().__init__(OrderedDict(input_layer=stem, body=nn.Sequential(*blocks), output_layer=output))
