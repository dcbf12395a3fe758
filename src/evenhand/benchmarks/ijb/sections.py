"""What a report shows of IJB beyond values: spread of scores, splits, differentials, tables as papers print them.

What only the rows can tell is computed once, over all of them, and stored with the facts of the results; a section is
made from these, and is None where there is nothing to show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb.covariates import ENUMERATIONS
from evenhand.core.metric import Metric, Numbers, Undefined
from evenhand.core.page import Figure, Interval, Lines, Section, Table, Text
from evenhand.core.records import Array, Group, Records, blocks
from evenhand.core.results import Estimate, Results
from evenhand.metrics.verification import fmr_name, fnmr_name, tar_name

# Facts of results.
HISTOGRAM, CONFIDENCE, SPLITS = "score_histogram", "confidence_curve", "over_splits"
CONVENTIONS, VARIANTS = "conventions", "variants"
_LETTERS = (
    "Letters as in insightface ijb_11.py. N1: the norm of embeddings is kept; D1: faces weigh by detector score; F1: "
    "with the mirrored pass."
)
_BINS = 60
_POINTS = 100
_AT_ONCE = 1 << 17  # scores that stay in a core's cache


def histogram(sides: Mapping[str, Array], rest: tuple[str, Array] | None = None) -> dict[str, Any]:
    """How scores of several sorts are spread: shares in bins of equal width over all of them.

    `rest` names a last sort, and gives the scores of all sorts: what the others leave of them is its own. Failures (−∞)
    are in no bin, but in the denominator, and counted.
    """
    every = [*sides.values(), *(() if rest is None else (rest[1],))]
    limits = [(float(some.min()), float(some.max())) for scores in every for some in _scored(scores) if len(some)]
    if not limits:
        return {}
    low, high = min(first for first, _ in limits), max(last for _, last in limits)
    edges = np.linspace(low, high if high > low else low + 1.0, _BINS + 1)
    counts = {name: _binned(scores, edges) for name, scores in sides.items()}
    if rest is not None:
        counts[rest[0]] = _binned(rest[1], edges) - np.sum(list(counts.values()), axis=0)
    shares = {name: (binned[:-1] / max(binned.sum(), 1)).tolist() for name, binned in counts.items()}
    unscored = {name: int(binned[-1]) for name, binned in counts.items()}
    return {HISTOGRAM: {"edges": edges.tolist(), "shares": shares, "unscored": unscored}}


def _scored(scores: Array) -> Iterator[Array]:
    """The scores that are no failures, block by block."""
    for block in blocks(len(scores), _AT_ONCE):
        some = scores[block]
        yield some[some > -np.inf] if some.min() == -np.inf else some


def _binned(scores: Array, edges: Array) -> NDArray[np.int64]:
    """(bins + 1,): how many scores lie in each bin, and how many are failures."""
    bins = len(edges) - 1
    counts = np.zeros(bins + 1, dtype=np.int64)
    for some in _scored(scores):
        place = (some.astype(np.float64) - edges[0]) * (bins / (edges[-1] - edges[0]))
        counts += np.bincount(np.minimum(place.astype(np.intp), bins - 1), minlength=bins + 1)
    counts[-1] = len(scores) - counts.sum()
    return counts


def histogram_section(results: Results) -> Section | None:
    """How the scores of both sorts are spread."""
    spread: Mapping[str, Any] = results.facts.get(HISTOGRAM, {})
    if not spread:
        return None
    edges: Sequence[float] = spread["edges"]
    rows = tuple(
        (name, low, high, share)
        for name, shares in spread["shares"].items()
        for low, high, share in zip(edges, edges[1:], shares, strict=False)
    )
    table = Table("Scores", ("kind", "score", "to", "share of its kind"), rows)
    without = ", ".join(f"{count:,} of {name}" for name, count in spread["unscored"].items() if count)
    caption = "The shares of each kind add up to one." + (
        f" Failures to enrol, in no bin: {without}." if without else ""
    )
    figure = Figure("Score distributions", Lines(y=3, steps=True), table, caption, name="scores")
    return Section("Scores", [figure], name="scores")


def confidence_curve(rows: Records, options: Any) -> Mapping[str, Any]:
    """Mean precision and recall of the faces with the highest confidence, for growing shares of all faces.

    Precision and recall of a face are those in the full clustering; faces of equal confidence come together, and
    those without confidence last. Nothing when no two faces differ in confidence.
    """
    confidence = np.nan_to_num(np.asarray(rows["confidence"], dtype=np.float64), nan=-np.inf)
    order = np.argsort(-confidence, kind="stable")
    confidence = confidence[order]
    ends = np.flatnonzero(np.append(confidence[1:] != confidence[:-1], True))
    if len(ends) < 2:
        return {}
    ends = ends[np.unique(np.linspace(0, len(ends) - 1, min(_POINTS, len(ends))).round().astype(np.int64))]
    count = ends + 1.0
    return {
        CONFIDENCE: {
            "share": (count / len(order)).tolist(),
            "confidence": [value if np.isfinite(value) else None for value in confidence[ends].tolist()],
            "precision": (np.cumsum(rows["precision"][order])[ends] / count).tolist(),
            "recall": (np.cumsum(rows["recall"][order])[ends] / count).tolist(),
        }
    }


def confidence_section(results: Results) -> Section | None:
    """Precision and recall of the surest faces."""
    curve: Mapping[str, Any] = results.facts.get(CONFIDENCE, {})
    if not curve:
        return None
    rows = tuple(
        (name, share, value)
        for name in ("precision", "recall")
        for share, value in zip(curve["share"], curve[name], strict=True)
    )
    table = Table("Confidence", ("measure", "share of faces, surest first", "mean over these faces"), rows)
    chart = Lines(x_domain=(0.0, 1.0), y_domain=(0.0, 1.0))
    figure = Figure("Precision and recall of the surest faces", chart, table, name="confidence")
    note = Text("Confidence is not used in the score: precision and recall are those of the full clustering.", "small")
    return Section("Confidence", [figure, note], name="confidence")


def over_splits(rows: Records, metrics: Sequence[Metric[Any]], splits: Sequence[str], column: str) -> dict[str, Any]:
    """The numbers of every metric in every split of IJB-A, with their mean and standard deviation.

    Every split is an experiment of its own, with its own templates and thresholds. The deviation (with n − 1) says how
    much a result depends on the choice of people; it is no confidence interval, since the splits share people.
    `column` holds the position of each row's split. A split without a value is left out, and named.
    """
    if len(splits) < 2:
        return {}
    inside = np.asarray(rows[column])
    kept = rows.take((inside >= 0) & (inside < len(splits)))
    cells = np.asarray(kept[column]).astype(np.int64)
    summaries = []
    for metric in metrics:
        state = metric.measure(kept, cells, len(splits))
        for output, values in metric.result(state, state).items():
            if isinstance(values, Numbers):
                summaries.append(_summary(f"{metric.name}: {output}", values.values, splits))
    return {SPLITS: summaries}


def _summary(quantity: str, values: Array, splits: Sequence[str]) -> dict[str, Any]:
    known = values[~np.isnan(values)]
    by_split = dict(zip(splits, values.tolist(), strict=True))
    return {
        "quantity": quantity,
        "mean": float(known.mean()) if len(known) else None,
        "standard_deviation": float(known.std(ddof=1)) if len(known) > 1 else None,
        "lowest": float(known.min()) if len(known) else None,
        "highest": float(known.max()) if len(known) else None,
        "values": {split: value for split, value in by_split.items() if not np.isnan(value)},
        "without_value": [split for split, value in by_split.items() if np.isnan(value)],
    }


def splits_section(results: Results) -> Section | None:
    """Mean, standard deviation and range over the splits."""
    listed: Sequence[Mapping[str, Any]] = results.facts.get(SPLITS, ())
    if not listed:
        return None
    names = ("quantity", "mean", "standard_deviation", "lowest", "highest")
    table = Table(
        "Mean and standard deviation over the splits",
        ("quantity", "mean", "standard deviation", "lowest", "highest", "splits"),
        tuple((*(entry[name] for name in names), len(entry["values"])) for entry in listed),
        "The deviation is that of single splits (n − 1), not of their mean; splits share people.",
    )
    note = Text("Published IJB-A results are means over ten splits with this deviation.", "small")
    return Section("Splits", [table, note], name="splits")


class Differential(NamedTuple):
    """How unevenly one error rate falls on the cohorts of a covariate (NIST practice)."""

    max_over_min: float | Undefined
    max_over_geometric_mean: float | Undefined


def differential(results: Results, attribute: str, output: str) -> Differential:
    """The spread of an error rate over the groups "both = v" of an attribute, at the threshold set on everyone.

    A rate of zero leaves the ratios undefined.
    """
    cohorts = _cohorts(results, attribute, output)
    rates = [estimate.number for estimate in cohorts if estimate.number is not None]
    if len(rates) < 2 or min(rates) == 0:
        reason = "fewer than two groups have a rate" if len(rates) < 2 else "a group has a rate of zero"
        return Differential(Undefined(reason), Undefined(reason))
    return Differential(max(rates) / min(rates), max(rates) / float(np.exp(np.mean(np.log(rates)))))


def _cohorts(results: Results, attribute: str, output: str, metric: str = "verification") -> list[Estimate]:
    """The estimates of the groups "both = v", in declared order."""
    estimates = {estimate.group: estimate for estimate in results.of(metric, output)}
    levels = [level for level in results.levels.get(attribute, ()) if level.startswith("both ")]
    groups = [Group(((attribute, level),)) for level in levels]
    return [estimates[group] for group in groups if group in estimates]


def differentials_section(results: Results) -> Section | None:
    """Differentials of every covariate that the run was grouped by, and the comparisons behind them."""
    spreads: list[tuple[Any, ...]] = []
    counts: list[tuple[Any, ...]] = []
    for attribute in (covariate.name for covariate in ENUMERATIONS if covariate.name in results.by):
        for far in map(float, results.options.get("far", ())):
            for what, output in (("FMR", fmr_name(far)), ("FNMR", fnmr_name(far))):
                cells = (
                    Interval(None, reason=value.reason) if isinstance(value, Undefined) else Interval(value)
                    for value in differential(results, attribute, output)
                )
                spreads.append((attribute, f"{far:g}", what, *cells))
        sides = (_cohorts(results, attribute, side, "comparisons") for side in ("genuine", "impostor"))
        counts += [(str(one.group), one.number, other.number) for one, other in zip(*sides, strict=True)]
    if not spreads:
        return None
    columns = ("attribute", "overall FAR", "rate", "max/min", "max/geometric mean")
    return Section(
        "Differentials",
        [
            Text("Over comparisons within one cohort, at the threshold that was set on all comparisons.", "lead"),
            Table("Differentials", columns, tuple(spreads)),
            Table("Comparisons behind the rates", ("cohort", "genuine", "impostor"), tuple(counts)),
        ],
        name="differentials",
    )


def verification_papers(results: Results) -> Section | None:
    """TAR at FAR of everyone, exactly and by the convention of papers, and the variants where they were asked for."""
    far = [float(rate) for rate in results.options.get("far", ())]
    columns = [_rate_words(rate) for rate in far]
    title = f"TAR (%) at FAR on {results.dataset}"
    exact = [_cell(results, "verification", tar_name(rate)) for rate in far]
    listed: Sequence[Mapping[str, Any]] = results.facts.get(CONVENTIONS, ())
    of_papers = {entry["quantity"]: entry["value"] for entry in listed if entry["convention"] == "nearest"}
    nearest = [of_papers.get(f"TAR@FAR={rate:.12g}") for rate in far]
    variants: Sequence[Mapping[str, Any]] = results.facts.get(VARIANTS, ())
    tables = []
    if far and None not in exact:
        tables.append(_paper(f"{title}, exact", columns, [exact], results))
    if any(value is not None for value in nearest):
        tables.append(_paper(f"{title}, nearest point of the ROC", columns, [map(_percent, nearest)], results))
    if variants:
        rows = [(entry["letters"], *map(_percent, entry["tar"])) for entry in variants]
        named = f"{title}, nearest point of the ROC, variants of pooling"
        tables.append(_paper(named, ["Variant", *columns], rows, results))
    return Section("For papers", tables, name="papers", folded=True) if tables else None


def search_papers(results: Results) -> Section | None:
    """Identification rates at ranks, and TPIR at FPIR with the mate first, as one row."""
    outputs = [("CMC", f"rank {rank}") for rank in results.options.get("ranks", ())]
    outputs += [("search", f"TPIR@FPIR={float(rate):.12g}, rank 1") for rate in results.options.get("fpir", ())]
    cells = {name.removesuffix(", rank 1"): _cell(results, metric, name) for metric, name in outputs}
    known = {name: cell for name, cell in cells.items() if cell is not None}
    if not known:
        return None
    table = _paper(f"Identification (%) on {results.dataset}", list(known), [known.values()], results)
    return Section("For papers", [table], name="papers", folded=True)


def _rate_words(rate: float) -> str:
    """A rate as papers write it.

    >>> [_rate_words(rate) for rate in (1e-6, 2.5e-4, 0.1, 0.0)]
    ['1e-6', '2.5e-4', '1e-1', '0']
    """
    mantissa, _, exponent = f"{rate:.11e}".partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}" if 0 < rate < 1 else f"{rate:g}"


def _paper(title: str, columns: Sequence[str], rows: Sequence[Any], results: Results) -> Table:
    """A table with a line for the model."""
    caption = _made_so(results)
    if "Variant" in columns:
        caption = _LETTERS
        if results.options.get("fte") == "exclude":
            caption += " Failures to enrol are left out."
    better = ("", *("" if column == "Variant" else "higher" for column in columns))
    lines = tuple((results.model, *row) for row in rows)
    return Table(title, ("Model", *columns), lines, caption, form="paper", better=better)


def _made_so(results: Results) -> str:
    """The choices that a number depends on: pooling, galleries, ties, and failures to enrol where they are left out."""
    options, pooling = results.options, results.facts.get("pooling", "")
    choices = [f"Pooling: {pooling}."] if pooling else []
    if "combine" in options:
        choices.append(
            {"mean": "Mean of the galleries.", "pooled": "Counts of the galleries pooled."}[options["combine"]]
        )
    if options.get("ties") == "optimistic":
        choices.append("Ties count for the mate.")
    if options.get("fte") == "exclude":
        choices.append("Failures to enrol are left out.")
    return " ".join(choices)


def _cell(results: Results, metric: str, output: str) -> Interval | None:
    for estimate in results.of(metric, output):
        if not estimate.group.terms and estimate.number is not None:
            return _percent(estimate.number, estimate.low, estimate.high)
    return None


def _percent(value: float | None, low: float | None = None, high: float | None = None) -> Interval:
    """A share in per cent with two decimals, as papers print it, and its limits where they are known."""
    shown = [None if part is None else 100.0 * part for part in (value, low, high)]
    return Interval(shown[0], shown[1], shown[2], places=2)
