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
    "lpips-vgg": "LPIPS-VGG",
    "dists": "DISTS",
    "fid": "FID",
    "kid": "KID",
    "fvd": "FVD",
    "cmmd": "CMMD",
    "akd": "AKD",
    "mkr": "MKR",
    "fd-ssim": "FD-SSIM",
    "flicker": "Flicker",
    "face-CS": "ID (VGGFace2)",
    "face-FD": "Fréchet distance of faces",
    "CS": "CS",
    "is": "IS",
}
_SIMILARITY = {
    "sface": "ID (SFace)",
    "arcface": "ID (ArcFace)",
    "dlib": "ID (dlib)",
    "clip": "CLIP",
    "dino": "DINO",
}
_NEIGHBOURS = ("precision", "recall", "density", "coverage")
NAMES = DisplayNames(
    family="Synthesis",
    values=(
        *((f"CS:{key}: mean", name) for key, name in _SIMILARITY.items()),
        *((f"{key}(:pytorch-fid)?: (mean|distance|score)", name) for key, name in _LONG.items()),
        *((rf"{key}:([^:/]+): (mean|distance)", rf"{name} (\1)") for key, name in _LONG.items()),
        *((rf"{key}(?::([^:/]+))?/strict: (mean|distance|score)", rf"{name}, strict") for key, name in _LONG.items()),
        *(
            (rf"{key}(?::([^:/]+))?/published: (mean|distance|score)", rf"{name}, published")
            for key, name in _LONG.items()
        ),
        *((f"neighbours(:pytorch-fid)?: {output}", output.capitalize()) for output in _NEIGHBOURS),
        *((rf"neighbours:([^:/]+): {output}", rf"{output.capitalize()} (\1)") for output in _NEIGHBOURS),
        ("psnr(/strict)?: of_mean_error", "PSNR of the mean error"),
        ("psnr(/strict)?: identical", "Identical frames"),
    ),
    numbers=("neighbours.*",),  # density is not a share, and papers write the four alike
    items="frames",
)
