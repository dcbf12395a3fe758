"""How reports write the keys of synthesis."""

from __future__ import annotations

from evenhand.core.names import DisplayNames

_LONG = {"ssim": "SSIM", "psnr": "PSNR", "fid": "FID", "kid": "KID", "lpips": "LPIPS", "ms_ssim": "MS-SSIM"}
_LONG |= {"mse": "MSE", "l1": "L1", "dists": "DISTS", "fvd": "FVD", "CS": "Cosine similarity"}
NAMES = DisplayNames(
    family="Synthesis",
    values=(
        *((f"{key}: (mean|distance)", name) for key, name in _LONG.items()),
        *((rf"{key}:([^:/]+): (mean|distance)", rf"{name} (\1)") for key, name in _LONG.items()),
        *((rf"{key}(?::([^:/]+))?/strict: mean", rf"{name}, strict") for key, name in _LONG.items()),
        ("psnr/strict: of_mean_error", "PSNR of the mean error"),
        ("psnr/strict: identical", "Identical frames"),
    ),
    items="frames",
)
