"""Two scoring conventions of search results that public scripts print, under their own names.

Neither is TPIR at FPIR as the words mean it. They are here so that published numbers can be
compared with, and only when asked for (`legacy=true`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.core.metric import (
    UNIT_SCALE,
    Collected,
    Column,
    Direction,
    Metric,
    Numbers,
    OperatingPoint,
    Resampling,
    Scale,
)
from evenhand.core.records import Array, Records
from evenhand.metrics.search_rates import NO_GALLERY, ranks_of

NON_MATE_SCORE = -1  # in `above`: the row is one of the largest scores of other people


@dataclass(frozen=True, eq=False)
class LegacyRows(Collected):
    """Rows of searches as the scripts need them."""

    gallery: Array
    mated: Array
    mate: Array
    rank: Array
    top: Array
    above: Array


class _Legacy(Metric[LegacyRows]):
    resampling: ClassVar[Resampling] = Resampling.NONE
    output_scale: ClassVar[Scale] = UNIT_SCALE

    @property
    def columns(self) -> tuple[str, ...]:
        return ("gallery", "mated", "mate", "above", "tied", "top")

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> LegacyRows:
        codes = np.zeros(len(rows), dtype=np.int64) if cells is None else np.asarray(cells)
        rank = ranks_of(rows["mate"], rows["above"], rows["tied"])
        return LegacyRows(
            codes, size, None, rows["gallery"], rows["mated"], rows["mate"], rank, rows["top"], rows["above"]
        )


@dataclass(frozen=True)
class ListStyleSearch(_Legacy):
    """TPIR as the insightface project's open-set script reads it: strictly above the m-th best stranger.

    m = max(int(N·α), 1), which is one count stricter than `exact`; the mate must be strictly first.
    Rates are averaged over galleries.
    """

    name: str
    fpir: tuple[float, ...] = (0.01, 0.1)

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {f"TPIR@{rate:.12g}": Direction.HIGHER for rate in self.fpir}

    def result(self, part: LegacyRows, whole: LegacyRows) -> Mapping[str, Column]:
        values = np.full((part.size, len(self.fpir)), np.nan)
        for cell in range(part.size):
            for place, rate in enumerate(self.fpir):
                read = [value for value, _ in self._read(part, cell, rate) if not np.isnan(value)]
                values[cell, place] = np.mean(read) if read else np.nan
        reason = "no mated or no non-mated probe"
        return {output: Numbers(values[:, place], reason) for place, output in enumerate(self.outputs)}

    def points(self, part: LegacyRows, whole: LegacyRows) -> Mapping[str, Sequence[OperatingPoint | None]]:
        found: dict[str, list[OperatingPoint | None]] = {output: [] for output in self.outputs}
        for cell in range(part.size):
            for rate, output in zip(self.fpir, found, strict=True):
                read = self._read(part, cell, rate)
                one = len(read) == 1 and not np.isnan(read[0][1])
                threshold = read[0][1] if one else None
                found[output].append(OperatingPoint("insightface open-set script", rate, None, threshold))
        return found

    def _read(self, state: LegacyRows, cell: int, rate: float) -> list[tuple[float, float]]:
        """Rate and threshold in every gallery."""
        weights = state.weights_of(cell)
        found = []
        for gallery in np.unique(state.gallery[(state.gallery > NO_GALLERY) & (weights > 0)]):
            inside = (state.gallery == gallery) & (weights > 0)
            strangers, mates = inside & ~state.mated, inside & state.mated
            if not strangers.any() or not mates.any():
                found.append((np.nan, np.nan))
                continue
            top, weight = state.top[strangers], weights[strangers]
            order = np.argsort(-top, kind="stable")
            counted = np.cumsum(weight[order])
            wanted = max(int(counted[-1] * rate), 1)
            threshold = float(top[order[int(np.searchsorted(counted, wanted))]])
            hit = (state.mate[mates] > threshold) & (state.rank[mates] == 1)
            found.append((float(weights[mates][hit].sum() / weights[mates].sum()), threshold))
        return found


@dataclass(frozen=True)
class MergedGallerySearch(_Legacy):
    """Hits in all galleries merged into one, above the ⌈α·N⌉-th largest non-mate score: not an FPIR.

    N is the number of probes, the scores are those of all probes with all templates of other people;
    a hit needs no rank. The threshold is set on everyone.
    """

    name: str
    far: tuple[float, ...] = (0.01, 0.1)
    ranks: tuple[int, ...] = (1, 5, 10)

    @property
    def outputs(self) -> Mapping[str, Direction]:
        found = {f"top{rank}": Direction.HIGHER for rank in self.ranks}
        return found | {f"tpir@{rate:.12g}": Direction.HIGHER for rate in self.far}

    def result(self, part: LegacyRows, whole: LegacyRows) -> Mapping[str, Column]:
        thresholds = [self._threshold(whole, 0, rate) for rate in self.far]
        is_probe = (part.gallery == NO_GALLERY) & (part.above != NON_MATE_SCORE)
        values = np.full((part.size, len(self.ranks) + len(self.far)), np.nan)
        for cell in range(part.size):
            weights = part.weights_of(cell) * is_probe
            total = float(weights.sum())
            if not total:
                continue
            hits = [weights[(part.rank > 0) & (part.rank <= rank)].sum() for rank in self.ranks]
            hits += [weights[part.mate > threshold].sum() for threshold in thresholds]
            values[cell] = np.array(hits) / total
        reason = "the merged gallery was not searched, or the group has no probes"
        return {output: Numbers(values[:, place], reason) for place, output in enumerate(self.outputs)}

    def points(self, part: LegacyRows, whole: LegacyRows) -> Mapping[str, Sequence[OperatingPoint | None]]:
        found: dict[str, Sequence[OperatingPoint | None]] = {}
        for rate in self.far:
            threshold = self._threshold(whole, 0, rate)
            point = OperatingPoint("merged gallery, all non-mate scores", rate, None, threshold)
            found[f"tpir@{rate:.12g}"] = [None if np.isnan(threshold) else point] * part.size
        return found

    def _threshold(self, state: LegacyRows, cell: int, rate: float) -> float:
        weights = state.weights_of(cell)
        merged = (state.gallery == NO_GALLERY) & (weights > 0)
        probes = float(weights[merged & (state.above != NON_MATE_SCORE)].sum())
        others = np.flatnonzero(merged & (state.above == NON_MATE_SCORE))
        order = others[np.argsort(-state.top[others], kind="stable")]
        counted = np.cumsum(weights[order])
        wanted = math.ceil(rate * probes)
        place = int(np.searchsorted(counted, wanted))
        return float(state.top[order[place]]) if wanted and place < len(order) else np.nan
