"""A model that knows the right picture and spoils it in a known way: what every metric can be tried on.

It takes the reference frames themselves for the truth, then blurs, shifts, tints them, or shows somebody else, by a
strength from 0 (nothing) to 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from evenhand.benchmarks.synthesis.drawn import read, save
from evenhand.benchmarks.synthesis.models import MotionImitationModel
from evenhand.core.errors import ModelError
from evenhand.core.optional import cv2
from evenhand.scenes.figures import Pixels

Kind = Literal["nothing", "blur", "shift", "colour", "identity", "noise"]


class DegradingModel(MotionImitationModel):
    """Returns the reference frames, degraded.

    It raises for the sources in `crash_on`, and takes its whole process down for those in `die_on`.
    """

    def __init__(
        self,
        output_dir: str | Path,
        kind: Kind = "nothing",
        strength: float = 0.5,
        *,
        stranger: str | Path | None = None,
        stronger: Mapping[str, float] | None = None,
        crash_on: Sequence[str] = (),
        die_on: Sequence[str] = (),
    ) -> None:
        super().__init__(output_dir)
        self.kind, self.strength, self.stranger = kind, strength, stranger
        self.stronger = dict(stronger or {})  # a strength of their own for some sources
        self.crash_on, self.die_on = tuple(crash_on), tuple(die_on)
        self.ready = False

    @property
    def name(self) -> str:
        """The way it degrades."""
        return f"{self.kind}-{self.strength:g}"

    def build_model(self) -> None:
        self.ready = True

    def terminate(self) -> None:
        self.ready = False

    def imitate(self, src_infos: dict[str, Any], ref_infos: dict[str, Any]) -> list[str]:
        if not self.ready:
            raise ModelError("build_model was not called before imitate.")
        source = str(src_infos["name"])
        if source in self.crash_on:
            raise RuntimeError(f"the network lost its way on {source}")
        if source in self.die_on:
            import os

            os._exit(86)
        own = ref_infos["self_imitation"]
        folder, number = (self.si_out_dir, self.num_preds_si) if own else (self.ci_out_dir, self.num_preds_ci)
        strength = self.stronger.get(source, self.strength)
        made = []
        for path in ref_infos["images"]:
            picture = read(path)
            target = Path(folder) / f"pred_{number:08d}.png"
            save(str(target), degrade(picture, self.kind, strength, stranger=self._stranger(path), seed=number))
            made.append(str(target))
            number += 1
        return made

    def _stranger(self, path: str) -> Pixels | None:
        if self.stranger is None:
            return None
        return read(str(Path(self.stranger) / Path(path).name))


def degrade(picture: Pixels, kind: Kind, strength: float, *, stranger: Pixels | None = None, seed: int = 0) -> Pixels:
    """The picture, spoilt: blurred, shifted to the right, tinted, blended with a stranger, or made noisy.

    >>> flat = np.full((8, 8, 3), 100, np.uint8)
    >>> int(degrade(flat, "colour", 1.0)[0, 0, 0]) > 100
    True
    """
    height, width = picture.shape[:2]
    if kind == "blur":
        sigma = 0.08 * width * strength
        return np.asarray(cv2.GaussianBlur(picture, (0, 0), sigma), np.uint8) if sigma > 0 else picture
    if kind == "shift":
        move = np.array([[1.0, 0.0, 0.2 * width * strength], [0.0, 1.0, 0.0]])
        return np.asarray(cv2.warpAffine(picture, move, (width, height), borderMode=cv2.BORDER_REPLICATE), np.uint8)
    if kind == "colour":
        tint = np.array([90.0, -30.0, -60.0]) * strength
        return np.clip(picture.astype(np.float64) + tint, 0, 255).astype(np.uint8)
    if kind == "identity":
        if stranger is None:
            raise ModelError("identity needs the folder of a stranger's frames.")
        mixed = (1 - strength) * picture.astype(np.float64) + strength * stranger.astype(np.float64)
        return np.clip(np.rint(mixed), 0, 255).astype(np.uint8)
    if kind == "noise":
        rng = np.random.default_rng(seed)
        return np.clip(picture + rng.normal(0.0, 60.0 * strength, picture.shape), 0, 255).astype(np.uint8)
    return picture
