"""The numbers of FHIBE that no other family has: average recall, means over parts, VAL.

Published short names are the names of metrics. Where the published code contradicts its description,
both conventions are metrics over the same rows, and the corrected one has its own name (`AR_IOU_strict`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.benchmarks.fhibe import verification
from evenhand.benchmarks.fhibe.options import threshold_keys
from evenhand.core.metric import (
    POSITIVE,
    UNIT_SCALE,
    Collected,
    Column,
    Curve,
    Direction,
    Kind,
    Linear,
    Metric,
    Numbers,
    OperatingPoint,
    Ratio,
    Resampling,
    Sampled,
    Scale,
)
from evenhand.core.records import Array, Records
from evenhand.metrics.means import RatioMetric, Sums


def accepted(scores: Array, thresholds: Sequence[float], *, strict: bool = False) -> Array:
    """(rows, keys): whether each score reaches each threshold; a missing score never does.

    >>> accepted(np.array([0.6, np.nan]), [0.6, 0.9]).tolist()
    [[True, False], [False, False]]
    """
    levels = np.array(list(threshold_keys(tuple(thresholds)).values()))
    column = np.asarray(scores, dtype=np.float64)[:, np.newaxis]
    return np.asarray(column > levels if strict else column >= levels)


@dataclass(frozen=True)
class AverageRecall(RatioMetric):
    """Share of rows whose score reaches a threshold, averaged over the thresholds.

    Thresholds that are equal at two decimals count once, and the last of them is used. A row without
    a score is never accepted; with `skip_missing` it is left out and counted instead.
    """

    name: str
    column: str
    thresholds: tuple[float, ...]
    strict: bool = False  # above, as documented, instead of at least
    skip_missing: bool = False
    nothing: ClassVar[str] = "no row was annotated"  # type: ignore[misc]  # not a parameter
    output_scale: ClassVar[Scale] = UNIT_SCALE

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {"recall": Direction.HIGHER, "curve": Direction.NEITHER}

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def values(self, rows: Records) -> Array:
        scores = np.asarray(rows[self.column], dtype=np.float64)
        reached = accepted(scores, self.thresholds, strict=self.strict)
        return np.where(np.isnan(scores)[:, np.newaxis], np.nan, reached) if self.skip_missing else reached

    def numerators(self, state: Sums) -> Mapping[str, Array]:
        return {"recall": np.asarray(state.top.sum(axis=1) / max(state.top.shape[1], 1), dtype=np.float64)}

    def result(self, part: Sums, whole: Sums) -> Mapping[str, Column]:
        levels = np.array(list(threshold_keys(self.thresholds).values()))
        order = np.argsort(levels, kind="stable")
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = (part.top / part.count[:, np.newaxis])[:, order]
        curves = [Curve(levels[order], row, "threshold", "recall") for row in shares]
        return {**super().result(part, whole), "curve": curves}

    def missing(self, state: Sums) -> Array | None:
        return state.absent if self.skip_missing else None

    def row_scores(self, rows: Records) -> Array:
        return np.asarray(self.values(rows).mean(axis=1))


@dataclass(frozen=True, eq=False)
class PartSums(Linear):
    """Sum and number of values of each part."""

    top: Array  # (cells, parts)
    count: Array  # (cells, parts)


@dataclass(frozen=True)
class PartMeans(Metric[PartSums]):
    """The mean of each part, and the plain mean over the parts that have one.

    A row is about one part, whose index stands in the column `part`; a row whose value is missing says
    nothing about its part. The mean over parts is promised by the publication and not computed by its
    code.
    """

    name: str
    column: str
    parts: tuple[str, ...]
    by: str = "part"
    output: str = "mean_over_parts"
    output_scale: ClassVar[Scale] = UNIT_SCALE

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {self.output: Direction.HIGHER, **{f"mean:{part}": Direction.HIGHER for part in self.parts}}

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column, self.by)

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> PartSums:
        values, part = np.asarray(rows[self.column], dtype=np.float64), np.asarray(rows[self.by], dtype=np.intp)
        known = ~np.isnan(values)
        place = part if cells is None else np.asarray(cells) * len(self.parts) + part
        shape = (size, len(self.parts))
        top = np.bincount(place[known], values[known], minlength=size * len(self.parts)).reshape(shape)
        return PartSums(top, np.bincount(place[known], minlength=size * len(self.parts)).reshape(shape))

    def result(self, part: PartSums, whole: PartSums) -> Mapping[str, Column]:
        there = part.count > 0
        means = np.divide(part.top, part.count, out=np.full(part.top.shape, np.nan), where=there)
        number = there.sum(axis=1)
        over = np.divide(
            np.where(there, means, 0.0).sum(axis=1), number, out=np.full(len(means), np.nan), where=number > 0
        )
        values: dict[str, Column] = {self.output: Numbers(over, "no part has a value")}
        for place, name in enumerate(self.parts):
            values[f"mean:{name}"] = Numbers(means[:, place], f"nobody's {name} counts here, or it was not predicted")
        return values

    def ratios(self, state: PartSums) -> Mapping[str, Ratio]:
        return {
            f"mean:{name}": Ratio(state.top[:, place], state.count[:, place].astype(np.float64), Kind.MEAN)
            for place, name in enumerate(self.parts)
        }


@dataclass(frozen=True, eq=False)
class FaceEmbeddings(Collected):
    """Embeddings with the image and the identity they belong to."""

    image: Array  # (rows,)
    identity: Array  # (rows,)
    embedding: Array  # (rows, dimensions); not a number where alignment failed

    def members(self, cell: int) -> tuple[Array, Array]:
        """Embeddings and identities of a cell's images, in the order of their paths."""
        inside = np.flatnonzero(self.weights_of(cell) > 0)
        inside = inside[np.argsort(self.image[inside], kind="stable")]
        return self.embedding[inside], self.identity[inside]


class _OfFaces(Metric[FaceEmbeddings]):
    """What the metrics of face embeddings share: the rows they read, and one state that keeps them."""

    @property
    def columns(self) -> tuple[str, ...]:
        return ("item", "unit", "embedding")

    @property
    def keeps(self) -> str:
        return "faces"

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> FaceEmbeddings:
        codes = np.zeros(len(rows), dtype=np.intp) if cells is None else np.asarray(cells)
        return FaceEmbeddings(codes, size, None, np.asarray(rows["item"]), np.asarray(rows["unit"]), rows["embedding"])


@dataclass(frozen=True)
class ValidationRate(_OfFaces):
    """VAL: share of pairs of one identity accepted at a false accept rate of 0.001, over ten folds, as published.

    ImagePairs are drawn inside each group. With fewer than about 3,000 impostor pairs the published rule for
    the threshold makes VAL small whatever the model; read `TAR_AT_FAR` beside it.
    """

    name: str = "VAL"
    resampling: ClassVar[Resampling] = Resampling.NONE

    @property
    def outputs(self) -> Mapping[str, Direction]:
        others = dict.fromkeys(("VAL_Error", "same_pairs", "different_pairs"), Direction.NEITHER)
        return {"VAL": Direction.HIGHER, **others}

    @property
    def scales(self) -> Mapping[str, Scale]:
        return {"VAL": UNIT_SCALE, "VAL_Error": UNIT_SCALE, "same_pairs": POSITIVE, "different_pairs": POSITIVE}

    def result(self, part: FaceEmbeddings, whole: FaceEmbeddings) -> Mapping[str, Column]:
        groups = [verification.group_validation(*part.members(cell)) for cell in range(part.size)]
        reason = "fewer than two identities with two images, or no pairs of a kind"
        return {
            "VAL": _numbers([group.validation.val if group else None for group in groups], reason),
            "VAL_Error": _numbers([group.validation.val_std if group else None for group in groups], reason),
            "same_pairs": _numbers([group.same if group else 0.0 for group in groups]),
            "different_pairs": _numbers([group.different if group else 0.0 for group in groups]),
        }


@dataclass(frozen=True)
class TarAtFar(_OfFaces):
    """Share of a group's genuine pairs accepted at a threshold set on everyone's impostor pairs; unbiased.

    The threshold is the smallest score at which at most a share `far` of all impostor pairs is accepted. When subjects
    are resampled for intervals and differences of groups, it is found anew in every draw.
    """

    name: str = "TAR_AT_FAR"
    far: float = verification.TARGET
    output_scale: ClassVar[Scale] = UNIT_SCALE

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {"shared": Direction.HIGHER}

    def result(self, part: FaceEmbeddings, whole: FaceEmbeddings) -> Mapping[str, Column]:
        rates = [shared.rate for shared in _at_shared_threshold(part, whole, self.far)]
        return {"shared": _numbers(rates, "no genuine pairs here, or no impostor pairs at all")}

    def redrawn(
        self, state: FaceEmbeddings, cells: Sampled, weights: Iterable[Array], wanted: frozenset[str]
    ) -> Mapping[str, Array]:
        # A genuine pair counts as often as its subject was drawn, which weights of rows can't say.
        assert state.mixture is None, "draws are of cells that nobody has weighed"
        rates = verification.resampled_rates(state.embedding, np.asarray(state.codes), cells, self.far, weights)
        return dict.fromkeys(wanted, rates)

    def points(self, part: FaceEmbeddings, whole: FaceEmbeddings) -> Mapping[str, Sequence[OperatingPoint | None]]:
        everyone = verification.accept_rate(*whole.members(0), self.far)
        events = None if everyone.realised is None else round(everyone.realised * everyone.impostor)
        name = "threshold on everyone's impostor pairs, accept at or above it"
        point = OperatingPoint(name, self.far, everyone.realised, everyone.threshold, events)
        return {"shared": [point] * part.size}


@dataclass(frozen=True)
class TarAtOwnFar(_OfFaces):
    """Share of genuine pairs accepted at a threshold set on the group's own impostor pairs, and the counts behind it.

    Limits are Wilson's and count subjects, not pairs; `shared_low` and `shared_high` are those of `TAR_AT_FAR`, which
    hold where every pair is accepted too, and resamples show no spread. `few_impostors` is 1 where the threshold is
    based on fewer than thirty false accepts: then the rate is not to be compared with another group's.
    """

    name: str = "TAR_AT_OWN_FAR"
    far: float = verification.TARGET
    resampling: ClassVar[Resampling] = Resampling.NONE

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {name: Direction.HIGHER if name == "own" else Direction.NEITHER for name in _OWN_RATES}

    @property
    def scales(self) -> Mapping[str, Scale]:
        counts = {"genuine_pairs": POSITIVE, "impostor_pairs": POSITIVE}
        return {**{name: UNIT_SCALE for name in self.outputs if name != "own_threshold"}, **counts}

    def result(self, part: FaceEmbeddings, whole: FaceEmbeddings) -> Mapping[str, Column]:
        own = [verification.accept_rate(*part.members(cell), self.far) for cell in range(part.size)]
        shared = _at_shared_threshold(part, whole, self.far)
        columns = {
            name: [getattr(rate, of_rate) for rate in (shared if name.startswith("shared") else own)]
            for name, of_rate in _OWN_RATES.items()
        }
        columns["few_impostors"] = [rate.impostor * self.far < verification.FEW_EVENTS for rate in own]
        return {name: _numbers(column, "no genuine or no impostor pairs") for name, column in columns.items()}


_OWN_RATES = {  # output of `TarAtOwnFar` → field of `AcceptRate`
    "own": "rate", "own_low": "low", "own_high": "high", "shared_low": "low", "shared_high": "high",
    "genuine_pairs": "genuine", "impostor_pairs": "impostor", "few_impostors": "impostor",
    "own_threshold": "threshold", "own_realised_far": "realised",
}  # fmt: skip


def _at_shared_threshold(part: FaceEmbeddings, whole: FaceEmbeddings, far: float) -> list[verification.AcceptRate]:
    """The rate of every cell at the threshold that was set on everyone's impostor pairs."""
    everyone = [verification.accept_rate(*whole.members(cell), far).threshold for cell in range(whole.size)]
    own = whole.size == part.size
    return [verification.accept_rate_at(*part.members(cell), everyone[cell if own else 0]) for cell in range(part.size)]


def _numbers(values: Sequence[float | None], reason: str = "undefined") -> Numbers:
    return Numbers(np.array([np.nan if value is None else value for value in values], dtype=np.float64), reason)
