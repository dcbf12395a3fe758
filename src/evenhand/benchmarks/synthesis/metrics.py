"""Means that the publication takes in its own way.

`PublishedMean` is the mean of batch means: a weighted mean of rows, so that groups, draws and parts of the work come
for free. `DecibelsOfFrames` is the corrected form of PSNR.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.core.metric import Column, Direction, Kind, Linear, Metric, Numbers, Ratio, Resampling, ratio, tally
from evenhand.core.records import Array, Records
from evenhand.metrics.means import Mean, Sums

LEFT_OUT = "a frame that could not be measured is left out and counted"
SIGNED_RANGE = 2.0
"""Pictures are mapped to −1…1, so their range is 2."""


@dataclass(frozen=True)
class FrameMean(Mean):
    """The mean of a column over frames: the corrected form of a mean of batch means."""

    nothing: str = "no frame could be measured"
    about: str = ""  # what the column holds, in words
    policy: str = LEFT_OUT

    @property
    def definition(self) -> str:
        return f"{self.about or self.column}: the mean over frames; {self.policy}"


@dataclass(frozen=True, eq=False)
class InfiniteSums(Sums):
    """Sums of finite values, and how many values are infinite: no sum with 0 times infinity is taken."""

    infinite: Array  # (cells,)


@dataclass(frozen=True)
class PublishedMean(FrameMean):
    """The mean over batches of batch means, as published: every frame weighs one over the frames of its batch.

    Rows of weight 0 are not asked about. One infinite value makes the mean infinite. A row without a value is left
    out and counted.
    """

    weight: str = "weight"
    per_frame: bool = False  # weights are 1 for the frames that count: the corrected convention

    @property
    def definition(self) -> str:
        how = "the mean over frames" if self.per_frame else "the mean over batches of batch means, as published"
        return f"{self.about or self.column}: {how}; {self.policy}"

    def values(self, rows: Records) -> Array:
        values = super().values(rows)
        return np.where((np.asarray(rows[self.weight]) > 0) & ~np.isinf(values), values, 0.0)

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> Sums:
        finite = super().measure(rows, cells, size)
        infinite = (np.asarray(rows[self.weight]) > 0) & np.isinf(super().values(rows))
        return InfiniteSums(finite.top, finite.count, finite.absent, tally(infinite, cells, size))

    def result(self, part: Sums, whole: Sums) -> Mapping[str, Column]:
        assert isinstance(part, InfiniteSums)
        finite = ratio(part.top, part.count, self.nothing)
        return {self.output: Numbers(np.where(part.infinite > 0, np.inf, finite.values), self.nothing)}

    def ratios(self, state: Sums) -> Mapping[str, Ratio]:
        assert isinstance(state, InfiniteSums)
        return {} if (state.infinite > 0).any() else super().ratios(state)

    def row_scores(self, rows: Records) -> Array:
        return np.where(np.asarray(rows[self.weight]) > 0, super().values(rows), np.nan)


@dataclass(frozen=True)
class PublishedDecibels(PublishedMean):
    """The mean over batches of batch means of PSNR, as published; one identical pair makes it infinite.

    An infinite mean has no interval: whoever redraws the videos finds it infinite or not, and nothing in between.
    """

    resampling: ClassVar[Resampling] = Resampling.NONE


@dataclass(frozen=True, eq=False)
class ErrorSums(Linear):
    """Decibels of pairs that differ, squared errors of all, and how many pairs were identical."""

    decibels: Array
    differing: Array
    identical: Array
    error: Array
    absent: Array


@dataclass(frozen=True)
class DecibelsOfFrames(Metric[ErrorSums]):
    """PSNR with the range 2 for every picture: the mean over pairs that differ, and the PSNR of the mean error.

    Identical pairs have no finite PSNR; they are counted. `column` holds the mean squared error of pictures in −1…1.
    """

    name: str
    column: str = "squared_error"

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {"mean": Direction.HIGHER, "of_mean_error": Direction.HIGHER, "identical": Direction.NEITHER}

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> ErrorSums:
        error = np.asarray(rows[self.column], dtype=np.float64)
        absent, identical = np.isnan(error), error == 0.0
        differs = ~absent & ~identical
        decibels = np.zeros(len(error))
        decibels[differs] = 10.0 * np.log10(SIGNED_RANGE**2 / error[differs])
        return ErrorSums(
            tally(decibels, cells, size),
            tally(differs, cells, size),
            tally(identical, cells, size),
            tally(np.where(absent, 0.0, error), cells, size),
            tally(absent, cells, size),
        )

    def result(self, part: ErrorSums, whole: ErrorSums) -> Mapping[str, Column]:
        measured = np.asarray(part.differing + part.identical, dtype=np.float64)
        mean_error = ratio(part.error, measured, "no frame could be measured").values
        with_error = np.where(mean_error > 0, mean_error, np.nan)
        return {
            "mean": ratio(part.decibels, part.differing, "every pair is identical, or none could be measured"),
            "of_mean_error": Numbers(
                10.0 * (math.log10(SIGNED_RANGE**2) - np.log10(with_error)),
                "every pair is identical, or none could be measured",
            ),
            "identical": Numbers(np.asarray(part.identical, dtype=np.float64)),
        }

    def ratios(self, state: ErrorSums) -> Mapping[str, Ratio]:
        top, bottom = state.decibels.astype(np.float64), state.differing.astype(np.float64)
        return {"mean": Ratio(top, bottom, Kind.MEAN)}

    def missing(self, state: ErrorSums) -> Array:
        return np.asarray(state.absent)

    def row_scores(self, rows: Records) -> Array:
        error = np.asarray(rows[self.column], dtype=np.float64)
        scores = np.full(len(error), np.nan)
        scores[error > 0] = 10.0 * np.log10(SIGNED_RANGE**2 / error[error > 0])
        return scores
