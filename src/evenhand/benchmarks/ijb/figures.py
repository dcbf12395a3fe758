"""Distributions of scores and the confidence of clusters, as data for the report.

They are computed once, over all rows, and stored with the results; the report draws them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.page import Figure, Lines, Section, Table, Text
from evenhand.core.records import Array, Records, blocks
from evenhand.core.results import Results

HISTOGRAM, CONFIDENCE = "score_histogram", "confidence_curve"
_BINS = 60
_POINTS = 100
_AT_ONCE = 1 << 17  # scores that stay in a core's cache


def histogram(
    sides: Mapping[str, Array], inside: Mapping[str, Array] | None = None, unscored: str = "failures to enrol"
) -> dict[str, Any]:
    """How scores of several sorts are spread: shares in bins of equal width over all of them.

    `inside` says which of the scores of a sort are its own, where not all are. Failures (−∞) are in no bin, but in the
    denominator, and counted.
    """
    of_sort = {name: _Scores(scores, (inside or {}).get(name)) for name, scores in sides.items()}
    limits = [limit for scores in of_sort.values() if (limit := scores.limits()) is not None]
    if not limits:
        return {}
    low, high = min(first for first, _ in limits), max(last for _, last in limits)
    edges = np.linspace(low, high if high > low else low + 1.0, _BINS + 1)
    shares, counts = {}, {}
    for name, scores in of_sort.items():
        binned, counts[name], total = scores.counts(edges)
        shares[name] = (binned / max(total, 1)).tolist()
    return {HISTOGRAM: {"edges": edges.tolist(), "shares": shares, "unscored": counts, "called": unscored}}


class _Scores(NamedTuple):
    """Scores in any order, looked at block by block."""

    scores: Array
    inside: Array | None

    def _blocks(self) -> Iterator[Array]:
        for block in blocks(len(self.scores), _AT_ONCE):
            yield self.scores[block] if self.inside is None else self.scores[block][self.inside[block]]

    def limits(self) -> tuple[float, float] | None:
        """The lowest and the highest that is no failure; None without any."""
        low, high = np.inf, -np.inf
        for some in self._blocks():
            low = min(low, float(some.min(where=some > -np.inf, initial=np.inf)))
            high = max(high, float(some.max(initial=-np.inf)))
        return (low, high) if high > -np.inf else None

    def counts(self, edges: Array) -> tuple[Array, int, int]:
        """How many lie in each bin, how many are failures, and how many there are."""
        binned, failures = np.zeros(len(edges) - 1, dtype=np.int64), 0
        for some in self._blocks():
            scored = some[some > -np.inf]
            place = (scored.astype(np.float64) - edges[0]) * (len(binned) / (edges[-1] - edges[0]))
            binned += np.bincount(np.minimum(place.astype(np.intp), len(binned) - 1), minlength=len(binned))
            failures += len(some) - len(scored)
        return binned, failures, int(binned.sum()) + failures


def confidence_curve(rows: Records, options: Any) -> Mapping[str, Any]:
    """Mean precision and recall of the faces with the highest confidence, for growing shares of all faces.

    Precision and recall of a face are those in the full clustering; faces of equal confidence come together, and
    those without confidence last. Nothing when no two faces differ in confidence.
    """
    confidence = np.nan_to_num(np.asarray(rows["confidence"], dtype=np.float64), nan=-np.inf)
    order = np.argsort(-confidence, kind="stable")
    ends = (
        np.flatnonzero(np.append(confidence[order][1:] != confidence[order][:-1], True))
        if len(order)
        else np.zeros(0, np.int64)
    )
    if len(ends) < 2:
        return {}
    ends = ends[np.unique(np.linspace(0, len(ends) - 1, min(_POINTS, len(ends))).round().astype(np.int64))]
    count = ends + 1.0
    return {
        CONFIDENCE: {
            "share": (count / len(order)).tolist(),
            "confidence": [value if np.isfinite(value) else None for value in confidence[order][ends].tolist()],
            "precision": (np.cumsum(rows["precision"][order])[ends] / count).tolist(),
            "recall": (np.cumsum(rows["recall"][order])[ends] / count).tolist(),
        }
    }


def histogram_section(results: Results) -> Section | None:
    """How the scores of both sorts are spread; nothing for results without."""
    found: Mapping[str, Any] = results.facts.get(HISTOGRAM, {})
    if not found:
        return None
    edges: Sequence[float] = found["edges"]
    rows = tuple(
        (name, low, high, share)
        for name, shares in found["shares"].items()
        for low, high, share in zip(edges, edges[1:], shares, strict=False)
    )
    table = Table("Scores", ("sort", "score", "to", "share of its sort"), rows)
    without = ", ".join(f"{count:,} of {name}" for name, count in found["unscored"].items() if count)
    note = f" {found['called'].capitalize()}, in no bin: {without}." if without else ""
    figure = Figure(
        "Score distributions", Lines(y=3, steps=True), table, f"Each sort adds up to one.{note}", name="scores"
    )
    return Section("Scores", [figure], name="scores")


def confidence_section(results: Results) -> Section | None:
    """Precision and recall of the surest faces; nothing where all confidences are equal."""
    found: Mapping[str, Any] = results.facts.get(CONFIDENCE, {})
    if not found:
        return None
    rows = tuple(
        (name, share, value)
        for name in ("precision", "recall")
        for share, value in zip(found["share"], found[name], strict=True)
    )
    table = Table("Confidence", ("measure", "share of faces, surest first", "mean over these faces"), rows)
    chart = Lines(x_domain=(0.0, 1.0), y_domain=(0.0, 1.0))
    figure = Figure("Precision and recall of the surest faces", chart, table, name="confidence")
    note = Text("Confidence is not used in the score: precision and recall are those of the full clustering.", "small")
    return Section("Confidence", [figure, note], name="confidence")
