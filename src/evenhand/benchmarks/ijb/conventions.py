"""The same numbers under every convention, each with the public code it belongs to.

The answer to 'why is my number not the paper's?': most published values of TAR at FAR are read
at the nearest point of a thinned curve, whose false accept rate can lie above the one that is
named; and "TPIR at FPIR" has at least three definitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.benchmarks.ijb.codec import limits_of
from evenhand.benchmarks.ijb.metrics import ListStyleSearch, MergedGallerySearch
from evenhand.benchmarks.ijb.options import CovariateOptions, SearchOptions, VerificationOptions
from evenhand.benchmarks.ijb.record import LEGACY_RATES
from evenhand.benchmarks.ijb.sections import CONVENTIONS, histogram, over_splits
from evenhand.core.metric import Metric
from evenhand.core.page import Section, Table
from evenhand.core.records import Array, Records
from evenhand.core.results import Results
from evenhand.files.packaged import packaged_table
from evenhand.metrics.operating_points import (
    NOTHING,
    Convention,
    RatePoint,
    SortedScores,
    UnknownScoresError,
    rates_by_convention,
)
from evenhand.metrics.search import Cmc, Combination, OpenSetSearch
from evenhand.metrics.search_rates import NO_GALLERY, TieRule
from evenhand.metrics.verification import RULE_OF_THIRTY, Separation, Verification

SOURCES = packaged_table(__package__, "sources.toml")  # which public code computes a result so
_LIST_STYLE = "insightface open-set script (ijb_evals.py): strictly above the m-th stranger, m = max(int(N·α), 1)"
_MERGED = "older scripts (insightface ijb_1n.py): galleries merged, threshold on all non-mate scores; not an FPIR"
MERGED_NAMES = {  # quantities of the merged gallery, as those of separate ones are called
    **{f"top{rank}": f"rank {rank}" for rank in MergedGallerySearch("").ranks},
    **{f"tpir@{rate:.12g}": f"TPIR@FPIR={rate:.12g}, any rank" for rate in LEGACY_RATES},
}
Rates = Mapping[Convention, Sequence[RatePoint]]


def verification_conventions(rows: Records, options: VerificationOptions | CovariateOptions) -> Mapping[str, Any]:
    """TAR at every rate under every convention, over all rows; with the realised FMR and the impostors behind it."""
    score, same = rows["precise" if "precise" in rows else "score"], np.asarray(rows["same"], dtype=np.bool_)
    kept: Any = slice(None)
    if options.fte == "exclude":
        kept = ~np.asarray(rows["failed"])
        score, same = score[kept], same[kept]
    numbers = options.splits if isinstance(options, VerificationOptions) else ()
    if numbers:
        split = np.asarray(rows["split"])[kept]
        by_convention = mean_rates(
            [_rates(score[split == one], same[split == one], options.far) for one in range(len(numbers))]
        )
    else:
        by_convention = _rates(score, same, options.far)
    table = []
    for convention, points in by_convention.items():
        for far, point in zip(options.far, points, strict=True):
            events = 0 if np.isnan(point.tar) else round(point.false_accepts)
            source, reached = SOURCES["conventions"][convention.value], (point.fmr, point.threshold, events)
            table.append(_entry(f"TAR@FAR={far:.12g}", convention.value, point.tar, source, *reached))
    metrics = (Verification("verification", options.far, failures=options.fte), Separation("separation", options.fte))
    return {
        CONVENTIONS: table,
        "fte_comparisons": int(np.asarray(rows["failed"]).sum()),
        **histogram({"genuine": score[same]}, ("impostor", score)),
        **over_splits(rows, metrics, [f"split {number}" for number in numbers], "split"),
    }


def _rates(score: Array, same: Array, far: Sequence[float]) -> Rates:
    """The rates under every convention; only the highest impostors are sorted where these tell."""
    genuine, different = SortedScores.of_own(score[same]), ~same
    try:
        return rates_by_convention(genuine, SortedScores.highest(score, different, max(far, default=0.0)), far)
    except UnknownScoresError:  # a curve whose nearest point lies among the others
        return rates_by_convention(genuine, SortedScores.of_own(score[different]), far)


def mean_rates(splits: Sequence[Rates]) -> Rates:
    """The means over splits, as IJB-A's results are reported; a split without a value is left out.

    False accepts are those of all splits together. A mean has no threshold.
    """
    means: dict[Convention, list[RatePoint]] = {}
    for convention, points in splits[0].items():
        means[convention] = []
        for place in range(len(points)):
            known = [rates[convention][place] for rates in splits if not np.isnan(rates[convention][place].tar)]
            if not known:
                means[convention].append(NOTHING)
                continue
            tar, _, fmr, false_accepts = zip(*known, strict=True)
            means[convention].append(RatePoint(float(np.mean(tar)), np.nan, float(np.mean(fmr)), sum(false_accepts)))
    return means


def search_conventions(rows: Records, options: SearchOptions) -> Mapping[str, Any]:
    """Identification rates under both tie rules and combinations, and as public scripts read them."""
    table: list[dict[str, Any]] = []
    ordinary = rows.take(np.asarray(rows["gallery"]) > NO_GALLERY)
    limits = limits_of(options)
    combinations: tuple[Combination, ...] = ("mean", "pooled")
    against, by_sort = "OpenBR, bob: ties count against the mate", "scripts that sort scores"
    tie_rules: dict[TieRule, Mapping[Combination, str]] = {
        "pessimistic": {"mean": against, "pooled": against},
        "optimistic": {"mean": by_sort, "pooled": f"{by_sort}, such as insightface ijb_evals.py"},
    }
    metric: Metric[Any]
    for ties, sources in tie_rules.items():
        for combination in combinations:
            metric = Cmc("CMC", options.ranks, ties, combination, depth=1)
            values, _ = _measured(metric, ordinary)
            names = (f"rank {rank}" for rank in options.ranks)
            convention, source = f"{ties}, {combination}", sources[combination]
            table += [_entry(name, convention, values[name][0], source) for name in names]
    has_ties = bool(np.asarray(ordinary["tied"]).any())
    for ties in (options.ties, *(rule for rule in tie_rules if rule != options.ties and has_ties)):
        for combination in combinations:
            metric = OpenSetSearch("1:N", options.fpir, limits, ties, combination)
            values, points = _measured(metric, ordinary)
            is_ours = combination == "mean" and ties == "pessimistic"
            source = "the definition: best TPIR while FPIR ≤ α" + (" (our default)" if is_ours else "")
            name = f"exact, {combination}" + ("" if ties == options.ties else f", {ties}")
            for output, (point, *_) in points.items():
                reached = (None,) * 3 if point is None else (point.realised, point.threshold, point.events)
                table.append(_entry(output, name, values[output][0], source, *reached))
    values, _ = _measured(ListStyleSearch("list style", options.fpir), ordinary)
    for rate in options.fpir:
        quantity, column = f"TPIR@FPIR={rate:.12g}, rank 1", values[f"TPIR@{rate:.12g}"]
        table.append(_entry(quantity, "list_style_reference", column[0], _LIST_STYLE))
    if options.legacy:
        values, _ = _measured(MergedGallerySearch("merged", LEGACY_RATES), rows)
        table += [_entry(output, "merged_gallery_legacy", column[0], _MERGED) for output, column in values.items()]
    failed = np.asarray(rows["failed"]) & (np.asarray(rows["gallery"]) != NO_GALLERY)
    mated = np.asarray(ordinary["mated"], dtype=np.bool_)
    sides = {"mates": ordinary["mate"][mated], "best of non-mated": ordinary["top"][~mated]}
    metrics = (
        OpenSetSearch("search", options.fpir, limits, options.ties),
        Cmc("CMC", options.ranks, options.ties, depth=1),
    )
    galleries = rows.attributes["gallery"].levels
    splits = galleries if all(name.startswith("split ") for name in galleries) else ()
    return {
        CONVENTIONS: table,
        "fte_searches": int(failed.sum()),
        **histogram(sides),
        **over_splits(rows, metrics, splits, "gallery"),
    }


def _measured(metric: Metric[Any], rows: Records) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The values of a metric over some rows, and the points at which they were read."""
    state = metric.measure(rows)
    return metric.result(state, state), metric.points(state, state)


def _entry(quantity: str, convention: str, value: Any, source: str, *reached: float | None) -> dict[str, Any]:
    """A line of the table; `reached` are the realised rate, the threshold and the number of errors."""
    realised, threshold, events = reached or (None, None, None)
    return {
        "quantity": quantity,
        "convention": convention,
        "value": _finite(value),
        "realised": _finite(realised),
        "threshold": _finite(threshold),
        "events": events,
        "source": source,
    }


def _finite(value: Any) -> float | None:
    return float(value) if isinstance(value, float | np.floating) and np.isfinite(value) else None


def conventions_section(results: Results) -> Section | None:
    """Every convention side by side; nothing for tasks that have one convention only."""
    listed: Sequence[Mapping[str, Any]] = results.facts.get(CONVENTIONS, ())
    if not listed:
        return None
    named = [(MERGED_NAMES.get(entry["quantity"], entry["quantity"]), entry) for entry in listed]
    quantities = list(dict.fromkeys(quantity for quantity, _ in named))
    rows = tuple(
        (
            quantity,
            entry["convention"],
            _digits(entry["value"], ".6f"),
            _digits(entry["realised"], ".4g"),
            entry["events"],
            _remark(entry),
        )
        for quantity, entry in sorted(named, key=lambda one: quantities.index(one[0]))
    )
    table = Table(
        "The same result under every convention",
        ("quantity", "convention", "value", "realised", "false", "remark"),
        rows,
        "Everyone. 'realised' is the false accept or false positive rate that was really reached, 'false' how many "
        f"there were; 'few' marks values behind which are fewer than {RULE_OF_THIRTY}. A number without the name of "
        "its convention can't be compared.",
    )
    sources = dict.fromkeys((entry["convention"], entry["source"]) for entry in listed)
    belongs = Table("Which code a convention belongs to", ("convention", "belongs to"), tuple(sources))
    return Section("Conventions", [table, belongs], name="conventions")


def _digits(number: float | None, form: str) -> str | None:
    return None if number is None else format(number, form)


def _remark(entry: Mapping[str, Any]) -> str:
    if entry["value"] is None:
        return "undefined"
    events = entry["events"]
    return "few" if events is not None and events < RULE_OF_THIRTY else ""
