"""Metrics by name, as the published package registers them: objects that score two batches of pictures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.benchmarks.synthesis.catalogue import UNPAIRED_ORDER, canonical, entry_of
from evenhand.benchmarks.synthesis.drawn import save
from evenhand.compat.his_evaluators.evaluators.base import PairedMetricRunner, UnpairedMetricRunner
from evenhand.compat.his_evaluators.evaluators.base import quality as quality_of
from evenhand.core.errors import DataError
from evenhand.files.writing import temporary_folder

TYPES_QUALITIES = {name: quality_of(name, saved=True) for name in ("ssim", "psnr", "lps", *UNPAIRED_ORDER)}
"""The remark that the published result file has beside each metric."""


@dataclass(frozen=True)
class PublishedMetric:
    """One metric; `calculate_score` takes batches (pictures, 3, height, width) with values from 0 to 1, RGB."""

    name: str
    device: str = "cpu"

    def calculate_score(self, pred_imgs: Any, ref_imgs: Any) -> float:
        """The score of predictions against references: one number for the batch."""
        predictions, references = _pictures(pred_imgs), _pictures(ref_imgs)
        size = predictions.shape[1]
        runner = PairedMetricRunner if entry_of(self.name).paired else UnpairedMetricRunner
        with temporary_folder() as folder:
            paths = []
            for number, pair in enumerate(zip(predictions, references, strict=True)):
                names = [str(folder / f"{side}_{number:06d}.png") for side in ("prediction", "reference")]
                for name, picture in zip(names, pair, strict=True):
                    save(name, picture)
                paths.append((names[0], names[1]))
            scores = runner((self.name,), self.device, say=lambda line: None).evaluate(paths, size, len(paths))
        return scores[self.name]

    def quality(self) -> str:
        """Whether more or less is better, in the published words."""
        return quality_of(self.name, saved=False)


def register_metrics(types: Iterable[str], device: object = "cpu") -> dict[str, PublishedMetric]:
    """The metrics of these names; an unknown name is an error with the nearest ones."""
    return {canonical(name): PublishedMetric(canonical(name), str(device)) for name in types}


def _pictures(batch: Any) -> np.ndarray[Any, Any]:
    """A batch as eight-bit pictures, channels last."""
    values = np.asarray(batch.detach().cpu().numpy() if hasattr(batch, "detach") else batch)
    if values.ndim != 4 or values.shape[1] != 3 or values.shape[2] != values.shape[3]:
        raise DataError(
            f"a batch of shape {values.shape}; expected (pictures, 3, side, side), with values from 0 to 1."
        )
    if values.min(initial=0.0) < 0 or values.max(initial=0.0) > 1:
        raise DataError("a batch has values outside 0 to 1. Divide eight-bit values by 255.")
    return np.asarray(np.rint(values * 255).astype(np.uint8).transpose(0, 2, 3, 1))
