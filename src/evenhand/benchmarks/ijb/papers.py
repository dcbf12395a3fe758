"""IJB's rows as papers print them, in per cent: six false accept rates, ranks, and eight variants of pooling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.benchmarks.ijb.data import PairTruth
from evenhand.benchmarks.ijb.options import VerificationOptions
from evenhand.benchmarks.ijb.submission import SubmittedEmbeddings
from evenhand.core.page import Interval, Section, Table
from evenhand.core.results import Results
from evenhand.metrics.operating_points import Convention, SortedScores, rates_at
from evenhand.metrics.verification import tar_name
from evenhand.search.compare import pair_scores
from evenhand.search.enrol import Membership, Pooling, enrol_every

VARIANTS = "variants"
CONVENTIONS = "conventions"  # in the facts of results


def variant_facts(
    source: SubmittedEmbeddings, members: Membership, truth: PairTruth, options: VerificationOptions
) -> list[dict[str, Any]]:
    """TAR at every rate of the eight variants of public scripts, by the convention of papers (`nearest`)."""
    table = []
    for pooling, templates in enrol_every(
        source.vectors, members, flipped=source.flipped, detector_scores=source.scores
    ):
        if pooling.media != "mean" or pooling.flip == "concat":
            continue
        scores = pair_scores(templates, truth.first, truth.second)
        sides = SortedScores.of_own(scores[truth.same]), SortedScores.of_own(scores[~truth.same])
        points = rates_at(*sides, options.far, Convention.NEAREST)
        table.append(
            {
                "pooling": pooling.words,
                "letters": letters_of(pooling),
                "tar": [None if np.isnan(point.tar) else float(point.tar) for point in points],
            }
        )
    return table


def letters_of(pooling: Pooling) -> str:
    """The flags of insightface's ijb_11.py, in which N1 keeps the norm.

    >>> letters_of(Pooling("sum", "keep", "on", "mean")), letters_of(Pooling("none", "unit", "off", "mean"))
    ('N1D1F1', 'N0D0F0')
    """
    return f"N{int(pooling.norm == 'keep')}D{int(pooling.detector == 'on')}F{int(pooling.flip == 'sum')}"


def verification_papers(results: Results) -> Section | None:
    """TAR at FAR of everyone, exactly and by the convention of papers, and the variants where they were asked for."""
    far = [float(rate) for rate in results.options.get("far", ())]
    columns = ("Model", *(f"{rate:.0e}".replace("e-0", "e-") for rate in far))
    better = ("", *("higher" for _ in far))
    exact = [_cell(results, "verification", tar_name(rate)) for rate in far]
    tables = []
    if all(cell is not None for cell in exact) and far:
        title = f"TAR (%) at FAR on {results.dataset}, exact"
        tables.append(_paper(title, columns, [(results.model, *exact)], better, results))
    nearest = {entry["quantity"]: entry["value"] for entry in _listed(results) if entry["convention"] == "nearest"}
    found = [nearest.get(f"TAR@FAR={rate:.12g}") for rate in far]
    if any(value is not None for value in found):
        cells = [_percent(value) for value in found]
        title = f"TAR (%) at FAR on {results.dataset}, nearest point of the ROC"
        tables.append(_paper(title, columns, [(results.model, *cells)], better, results))
    variants: Sequence[Mapping[str, Any]] = results.facts.get(VARIANTS, ())
    if variants:
        rows = [(results.model, entry["letters"], *(_percent(value) for value in entry["tar"])) for entry in variants]
        title = f"TAR (%) at FAR on {results.dataset}, variants of pooling"
        tables.append(_paper(title, ("Model", "Variant", *columns[1:]), rows, ("", *better), results))
    return Section("For papers", tables, name="papers", folded=True) if tables else None


def search_papers(results: Results) -> Section | None:
    """Identification rates at ranks, and TPIR at FPIR with the mate first, as one row."""
    ranks = [f"rank {rank}" for rank in results.options.get("ranks", ())]
    rates = [f"TPIR@FPIR={float(rate):.12g}, rank 1" for rate in results.options.get("fpir", ())]
    cells = {name: _cell(results, "CMC", name) for name in ranks}
    cells |= {name: _cell(results, "search", name) for name in rates}
    known = {name: cell for name, cell in cells.items() if cell is not None}
    if not known:
        return None
    titles = tuple(name.removesuffix(", rank 1") for name in known)
    better = ("", *("higher" for _ in known))
    title = f"Identification (%) on {results.dataset}"
    table = _paper(title, ("Model", *titles), [(results.model, *known.values())], better, results)
    return Section("For papers", [table], name="papers", folded=True)


def _paper(title: str, columns: Sequence[str], rows: Sequence[Any], better: Sequence[str], results: Results) -> Table:
    pooling = results.facts.get("pooling", "")
    caption = f"Pooling: {pooling}." if pooling and "Variant" not in columns else ""
    if "Variant" in columns:
        caption = "N1: the norm of embeddings is kept; D1: faces weigh by detector score; F1: with the mirrored pass."
    return Table(title, tuple(columns), tuple(rows), caption, form="paper", better=tuple(better))


def _cell(results: Results, metric: str, output: str) -> Interval | None:
    for estimate in results.of(metric, output):
        if not estimate.group.terms and estimate.number is not None:
            return _percent(estimate.number, estimate.low, estimate.high)
    return None


def _percent(value: float | None, low: float | None = None, high: float | None = None) -> Interval:
    """A share in per cent, which papers print with two decimals."""
    shown = [None if part is None else 100.0 * part for part in (value, low, high)]
    return Interval(shown[0], shown[1], shown[2])


def _listed(results: Results) -> Sequence[Mapping[str, Any]]:
    listed: Sequence[Mapping[str, Any]] = results.facts.get(CONVENTIONS, ())
    return listed
