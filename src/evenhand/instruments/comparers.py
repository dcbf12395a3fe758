"""Two pictures to one number: SSIM, MS-SSIM, PSNR, LPIPS and DISTS, as comparers that protocols can ask for by name.

Each has a fingerprint (name, setting, loading, weights), and compares lists of files in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import OptionError
from evenhand.instruments import pixels
from evenhand.instruments.architectures import NetworkOptions, ReadyNetwork, build_network
from evenhand.instruments.pictures import FHIBE, HIS_EVALUATORS, Loading, PixelResampling, Pixels, resize
from evenhand.instruments.pixels import check_pair
from evenhand.instruments.readings import FileInstrument, Instrument, Pictures, Readings, Vectors

if TYPE_CHECKING:
    from torch import Tensor

_LEAST_SIDE = 32  # of a picture that still has pixels at LPIPS' last depth


class PictureComparer(FileInstrument):
    """A comparer over files."""

    def compare(self, images: Sequence[Path], others: Sequence[Path]) -> NDArray[np.float64]:
        """One number per pair; an error that counts and names the pairs when some can't be compared."""
        return self.comparisons(images, others).complete(self.fingerprint)[:, 0].astype(np.float64)

    def comparisons(self, images: Sequence[Path], others: Sequence[Path]) -> Readings:
        """What could be measured, and the reasons for the rest."""
        if len(images) != len(others):
            raise OptionError(f"{len(images)} pictures against {len(others)}: comparing needs as many on both sides.")
        return self.measured(list(zip(map(Path, images), map(Path, others), strict=True)))


def ssim_comparer(
    setting: str = "his_evaluators", *, loading: Loading = HIS_EVALUATORS, cache: Path | None = None
) -> PictureComparer:
    """SSIM of (picture, reference) in one of its published settings."""
    return _pixel_comparer("ssim", setting, loading, cache)


def ms_ssim_comparer(
    setting: str = "wang2003", *, loading: Loading = HIS_EVALUATORS, cache: Path | None = None
) -> PictureComparer:
    """Multi-scale SSIM of (picture, reference) in one of its published settings."""
    return _pixel_comparer("ms_ssim", setting, loading, cache)


def psnr_comparer(
    setting: str = "his_evaluators", *, loading: Loading | None = None, cache: Path | None = None
) -> PictureComparer:
    """PSNR of (picture, reference); `fhibe` loads as FHIBE does (Pillow, 256 × 256), others as image synthesis."""
    return _pixel_comparer("psnr", setting, loading or (FHIBE if setting == "fhibe" else HIS_EVALUATORS), cache)


def lpips_comparer(
    backbone: str = "alex",
    *,
    loading: Loading | None = None,
    cache: Path | None = None,
    batch: int = 16,
    **where: Unpack[NetworkOptions],
) -> PictureComparer:
    """LPIPS 0.1 on `alex` (synthesis) or `vgg` (FHIBE, and PIQ's default); loads as that publication does."""
    if backbone not in ("alex", "vgg"):
        raise OptionError(f"There is no LPIPS on {backbone!r}. Use alex or vgg.")
    network = build_network(f"lpips-{backbone}", **where)
    load = loading or (FHIBE if backbone == "vgg" else HIS_EVALUATORS)
    name = f"lpips-{backbone}|{network.fingerprint}|{load.fingerprint}"
    return PictureComparer(Instrument(name, load, 1, together=_pairwise(network, signed), batch=batch), cache)


def dists_comparer(
    *,
    loading: Loading = HIS_EVALUATORS,
    cache: Path | None = None,
    batch: int = 8,
    **where: Unpack[NetworkOptions],
) -> PictureComparer:
    """DISTS on VGG-16; pictures whose shorter side is over 256 pixels are shrunk to that first, as its authors do."""
    network = build_network("dists", **where)
    name = f"dists|{network.fingerprint}|{loading.fingerprint}|at-most-256"
    together = _pairwise(network, lambda batch: batch, _shorter_to_256)
    return PictureComparer(Instrument(name, loading, 1, together=together, batch=batch), cache)


def _pairwise(
    ready: ReadyNetwork,
    prepare: Callable[[Tensor], Tensor],
    resized: Callable[[Pixels], Pixels] = lambda pixels: pixels,
) -> Callable[[Sequence[Pictures]], Vectors]:
    """How a network compares the pairs of a batch: those of one size together."""

    def together(jobs: Sequence[Pictures]) -> Vectors:
        by_size: dict[tuple[int, ...], list[int]] = {}
        for number, (picture, reference) in enumerate(jobs):
            check_pair(picture.pixels, reference.pixels, _LEAST_SIDE)
            by_size.setdefault(picture.pixels.shape, []).append(number)
        distances = np.empty((len(jobs), 1), np.float32)
        for numbers in by_size.values():
            sides = (
                prepare(unit_batch([resized(jobs[number][side].pixels) for number in numbers], ready.device))
                for side in (0, 1)
            )
            distances[numbers, 0] = ready.run(*sides)
        return distances

    return together


def _shorter_to_256(picture: Pixels) -> Pixels:
    """The picture with a shorter side of 256 pixels, by Pillow's bilinear filter; itself when it is not larger."""
    height, width = picture.shape[:2]
    shorter = min(height, width)
    if shorter <= 256:
        return picture
    return resize(picture, (256 * height // shorter, 256 * width // shorter), PixelResampling.PILLOW_BILINEAR)


def unit_batch(pictures: Sequence[NDArray[np.uint8]], device: str) -> Tensor:
    """Pictures of one size as a batch in [0, 1], channels first, single precision."""
    import torch

    stacked = torch.from_numpy(np.stack(pictures)).to(device)
    return stacked.permute(0, 3, 1, 2).float() / 255


def signed(batch: Tensor) -> Tensor:
    """A batch in [0, 1] mapped to [-1, 1]."""
    return batch * 2 - 1


def _pixel_comparer(kind: str, name: str, loading: Loading, cache: Path | None) -> PictureComparer:
    setting = pixels.setting_named(kind, name)
    known: dict[str, Callable[..., float]] = {"ssim": pixels.ssim, "ms_ssim": pixels.ms_ssim, "psnr": pixels.psnr}

    def alone(pair: Pictures) -> list[float]:
        return [known[kind](pair[0].pixels, pair[1].pixels, setting)]

    return PictureComparer(Instrument(f"{kind}:{name}|{loading.fingerprint}", loading, 1, alone=alone), cache)
