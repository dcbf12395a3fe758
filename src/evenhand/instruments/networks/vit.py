"""Vision transformers: the image tower of CLIP (Radford and others, 2021) and DINO's ViT (Caron and others, 2021).

Names of weights are those of the published files: CLIP's under `visual.`, DINO's as they are. Both cut a square picture
into patches, put a class token in front and give one vector per picture.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class ClipBlock(nn.Module):
    """Attention and a two-layer network, each behind a norm and added to its input; `x σ(1.702 x)` in between."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(width, 4 * width), "c_proj": nn.Linear(4 * width, width)})

    def forward(self, x: Tensor) -> Tensor:
        y = self.ln_1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        y = self.mlp["c_fc"](self.ln_2(x))
        answer: Tensor = x + self.mlp["c_proj"](y * torch.sigmoid(1.702 * y))
        return answer


class ClipVision(nn.Module):
    """CLIP's image tower: pictures, normalised, to embeddings that are not made unit length."""

    def __init__(self, side: int, patch: int, width: int, layers: int, heads: int, outputs: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, patch, patch, bias=False)
        self.class_embedding = nn.Parameter(torch.zeros(width))
        self.positional_embedding = nn.Parameter(torch.zeros((side // patch) ** 2 + 1, width))
        self.ln_pre, self.ln_post = nn.LayerNorm(width), nn.LayerNorm(width)
        blocks = nn.ModuleList([ClipBlock(width, heads) for _ in range(layers)])
        self.transformer = nn.ModuleDict({"resblocks": blocks})
        self.proj = nn.Parameter(torch.zeros(width, outputs))

    def forward(self, x: Tensor) -> Tensor:
        patches = self.conv1(x).flatten(2).transpose(1, 2)
        token = self.class_embedding.expand(len(x), 1, -1)
        x = self.ln_pre(torch.cat([token, patches], dim=1) + self.positional_embedding)
        for block in self.transformer["resblocks"]:  # type: ignore[attr-defined]  # a list of blocks
            x = block(x)
        answer: Tensor = self.ln_post(x[:, 0]) @ self.proj
        return answer


class DinoAttention(nn.Module):
    """Self-attention with one matrix for queries, keys and values."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        query, key, value = self.qkv(x).reshape(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        answer: Tensor = self.proj(mixed.transpose(1, 2).reshape(batch, tokens, width))
        return answer


class DinoBlock(nn.Module):
    """Attention and a two-layer network, each behind a norm and added to its input."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        self.attn = DinoAttention(width, heads)
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(width, 4 * width), "fc2": nn.Linear(4 * width, width)})

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.norm1(x))
        answer: Tensor = x + self.mlp["fc2"](functional.gelu(self.mlp["fc1"](self.norm2(x))))
        return answer


class DinoVision(nn.Module):
    """DINO's ViT-S/16: pictures of 224 × 224, normalised, to the 384 numbers of the class token."""

    def __init__(self, side: int = 224, patch: int = 16, width: int = 384, layers: int = 12, heads: int = 6) -> None:
        super().__init__()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.zeros(1, (side // patch) ** 2 + 1, width))
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(3, width, patch, patch)})
        self.blocks = nn.ModuleList([DinoBlock(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width, eps=1e-6)

    def forward(self, x: Tensor) -> Tensor:
        patches = self.patch_embed["proj"](x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), patches], dim=1) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        answer: Tensor = self.norm(x)[:, 0]
        return answer
