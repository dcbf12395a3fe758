"""The same numbers under every convention, each with the public code it belongs to.

The answer to 'why is my number not the paper's?': most published values of TAR at FAR are read
at the nearest point of a thinned curve, whose false accept rate can lie above the one that is
named; and "TPIR at FPIR" has at least three readings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.benchmarks.ijb import splits as over
from evenhand.benchmarks.ijb.codec import limits_of
from evenhand.benchmarks.ijb.figures import histogram
from evenhand.benchmarks.ijb.legacy import ListStyleSearch, MergedGallerySearch
from evenhand.benchmarks.ijb.options import CovariateOptions, SearchOptions, VerificationOptions
from evenhand.benchmarks.ijb.papers import CONVENTIONS
from evenhand.benchmarks.ijb.record import LEGACY_RATES
from evenhand.core.metric import Numbers
from evenhand.core.page import Section, Table
from evenhand.core.records import Records
from evenhand.core.results import Results
from evenhand.metrics.operating_points import Convention, SortedScores, UnknownScoresError, rates_by_convention
from evenhand.metrics.search import Cmc, OpenSetSearch
from evenhand.metrics.search_rates import NO_GALLERY
from evenhand.metrics.verification import RULE_OF_THIRTY, Separation, Verification

SOURCES: Mapping[Convention, str] = {
    Convention.EXACT: "the definition: best TAR while FMR ≤ α; our default",
    Convention.AT_IMPOSTOR: "bob.measure far_threshold",
    Convention.NEAREST: "nearest point of scikit-learn's roc_curve: insightface, VGGFace2, MagFace and most papers",
    Convention.NEAREST_FULL_CURVE: "nearest point with drop_intermediate=False",
    Convention.LINEAR: "interpolated ROC (scipy interp1d in several code bases)",
}
FACT = CONVENTIONS


def verification_conventions(rows: Records, options: VerificationOptions | CovariateOptions) -> Mapping[str, Any]:
    """TAR at every rate under every convention, over all rows; with the realised FMR and the impostors behind it."""
    score, same = rows["precise" if "precise" in rows else "score"], np.asarray(rows["same"], dtype=np.bool_)
    if options.fte == "exclude":
        kept = ~np.asarray(rows["failed"])
        score, same = score[kept], same[kept]
    genuine, different = SortedScores.of_own(score[same]), ~same
    try:
        impostor = SortedScores.highest(score, different, max(options.far, default=0.0))
        read = rates_by_convention(genuine, impostor, options.far)
    except UnknownScoresError:  # a curve whose nearest point lies among the others
        read = rates_by_convention(genuine, SortedScores.of_own(score[different]), options.far)
    table = []
    for convention, found in read.items():
        for far, reading in zip(options.far, found, strict=True):
            known = not np.isnan(reading.tar)
            table.append(
                {
                    "quantity": f"TAR@FAR={far:.12g}",
                    "convention": convention.value,
                    "value": float(reading.tar) if known else None,
                    "realised": float(reading.fmr) if known else None,
                    "threshold": _finite(reading.threshold),
                    "events": round(reading.false_accepts) if known else 0,
                    "source": SOURCES[convention],
                }
            )
    return {
        FACT: table,
        "fte_comparisons": int(np.asarray(rows["failed"]).sum()),
        **histogram({"genuine": genuine.scores, "impostor": score}, {"impostor": different}),
        **_verification_splits(rows, options),
    }


def _verification_splits(rows: Records, options: VerificationOptions | CovariateOptions) -> Mapping[str, Any]:
    numbers = getattr(options, "splits", ())
    if len(numbers) < 2:
        return {}
    metrics = (Verification("verification", options.far, failures=options.fte), Separation("separation", options.fte))
    return {over.FACT: over.over_splits(rows, metrics, [f"split {number}" for number in numbers], "split")}


def _search_splits(rows: Records, options: SearchOptions) -> Mapping[str, Any]:
    galleries = rows.attributes["gallery"].levels
    if len(galleries) < 2 or not all(name.startswith("split ") for name in galleries):
        return {}
    metrics = (
        OpenSetSearch("search", options.fpir, limits_of(options), options.ties),
        Cmc("CMC", options.ranks, options.ties, depth=1),
    )
    return {over.FACT: over.over_splits(rows, metrics, galleries, "gallery")}


def search_conventions(rows: Records, options: SearchOptions) -> Mapping[str, Any]:
    """Identification rates under both tie rules and combinations, and as public scripts read them."""
    table: list[dict[str, Any]] = []
    ordinary = rows.take(np.asarray(rows["gallery"]) > NO_GALLERY)
    for ties, source in (
        ("pessimistic", "OpenBR, bob: ties count against the mate"),
        ("optimistic", "argsort scripts"),
    ):
        for combination in ("mean", "pooled"):
            words = f"{ties}, {combination}"
            cmc = Cmc("CMC", options.ranks, ties, combination, depth=1)  # type: ignore[arg-type]  # the literals above
            state = cmc.measure(ordinary)
            values = cmc.result(state, state)
            table += [_entry(f"rank {rank}", words, values[f"rank {rank}"], source) for rank in options.ranks]
    for combination in ("mean", "pooled"):
        metric = OpenSetSearch(
            "1:N",
            options.fpir,
            limits_of(options),
            options.ties,
            combination,  # type: ignore[arg-type]  # the literals above
        )
        state = metric.measure(ordinary)
        values, points = metric.result(state, state), metric.points(state, state)
        source = "the definition: best TPIR while FPIR ≤ α" + ("; our default" if combination == "mean" else "")
        for output in points:
            entry = _entry(output, f"exact, {combination}", values[output], source)
            point = points[output][0]
            if point is not None:
                entry |= {"realised": point.realised, "threshold": _finite(point.threshold), "events": point.events}
            table.append(entry)
    legacy = ListStyleSearch("list style", options.fpir)
    state_ = legacy.measure(ordinary)
    values = legacy.result(state_, state_)
    words = "insightface open-set script: strictly above the m-th stranger, m = max(int(N·α), 1)"
    table += [
        _entry(f"TPIR@FPIR={rate:.12g}, rank 1", "list_style_reference", values[f"TPIR@{rate:.12g}"], words)
        for rate in options.fpir
    ]
    if options.legacy:
        merged = MergedGallerySearch("merged", LEGACY_RATES)
        state_ = merged.measure(rows)
        values = merged.result(state_, state_)
        words = "older scripts: galleries merged, threshold on all non-mate scores; not an FPIR"
        table += [_entry(output, "merged_gallery_legacy", values[output], words) for output in merged.outputs]
    failed = np.asarray(rows["failed"]) & (np.asarray(rows["gallery"]) != NO_GALLERY)
    mated = np.asarray(ordinary["mated"], dtype=np.bool_)
    sides = {"mates": ordinary["mate"][mated], "best of non-mated": ordinary["top"][~mated]}
    return {FACT: table, "fte_searches": int(failed.sum()), **histogram(sides), **_search_splits(rows, options)}


def conventions_section(results: Results) -> Section | None:
    """Every convention side by side; nothing for tasks that have one convention only."""
    listed: Sequence[Mapping[str, Any]] = results.facts.get(FACT, ())
    if not listed:
        return None
    quantities = list(dict.fromkeys(entry["quantity"] for entry in listed))
    rows = tuple(
        (
            entry["quantity"],
            entry["convention"],
            entry["value"],
            entry["realised"],
            entry["events"],
            _remark(entry),
        )
        for entry in sorted(listed, key=lambda entry: quantities.index(entry["quantity"]))
    )
    table = Table(
        "The same result under every convention",
        ("quantity", "convention", "value", "realised", "false", ""),
        rows,
        "Everyone. 'realised' is the false accept or false positive rate that was really reached, 'false' how many "
        f"there were; 'few' marks values behind which are fewer than {RULE_OF_THIRTY}. A number without the name of "
        "its convention can't be compared.",
    )
    sources = dict.fromkeys((entry["convention"], entry["source"]) for entry in listed)
    belongs = Table("Which code a convention belongs to", ("convention", "belongs to"), tuple(sources))
    return Section("Conventions", [table, belongs], name="conventions")


def _remark(entry: Mapping[str, Any]) -> str:
    if entry["value"] is None:
        return "undefined"
    events = entry["events"]
    return "few" if events is not None and events < RULE_OF_THIRTY else ""


def _entry(quantity: str, convention: str, column: Any, source: str) -> dict[str, Any]:
    assert isinstance(column, Numbers)
    value = column[0]
    return {
        "quantity": quantity,
        "convention": convention,
        "value": value if isinstance(value, float) else None,
        "realised": None,
        "threshold": None,
        "events": None,
        "source": source,
    }


def _finite(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)
