"""How reports write the keys of synthesis."""

from __future__ import annotations

from evenhand.core.names import DisplayNames

_LONG = {
    "ssim": "SSIM",
    "ms-ssim": "MS-SSIM",
    "psnr": "PSNR",
    "l1": "L1",
    "mse": "MSE",
    "lps": "LPIPS",
    "lpips-vgg": "LPIPS (VGG-16)",
    "dists": "DISTS",
    "fid": "FID",
    "kid": "KID",
    "fvd": "FVD",
    "cmmd": "CMMD",
    "akd": "Key point distance",
    "mkr": "Missing key points",
    "fd-ssim": "SSIM of frame differences",
    "flicker": "Flicker",
    "face-CS": "Face similarity",
    "face-FD": "Fréchet distance of faces",
    "CS": "Cosine similarity",
}
NAMES = DisplayNames(
    family="Synthesis",
    values=(
        *((f"{key}: (mean|distance)", name) for key, name in _LONG.items()),
        *((rf"{key}:([^:/]+): (mean|distance)", rf"{name} (\1)") for key, name in _LONG.items()),
        *((rf"{key}(?::([^:/]+))?/strict: mean", rf"{name}, strict") for key, name in _LONG.items()),
        *((rf"{key}(?::([^:/]+))?/published: mean", rf"{name}, published") for key, name in _LONG.items()),
        (r"neighbours(?::([^:/]+))?: (precision|recall|density|coverage)", r"Neighbours: \2"),
        ("psnr(/strict)?: of_mean_error", "PSNR of the mean error"),
        ("psnr(/strict)?: identical", "Identical frames"),
    ),
    items="frames",
)
