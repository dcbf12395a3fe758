"""The numbers of the disaggregated statistics.

A case is a folder with `expected.json`. Its kind follows from the files beside it and the keys in
them; names of groups, attributes, strata and models are read from there.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from harness import Case, Checks, read_expected
from reference_statistics import (
    exact_gap_reference,
    mcnemar_mid,
    newcombe,
    ratio_to_overall,
    redrawn_means,
    redrawn_medians,
    rejected,
)
from scipy import stats

from evenhand.core.measure import measure
from evenhand.core.metric import Direction
from evenhand.core.records import Attribute, Records
from evenhand.core.streams import stream
from evenhand.metrics.means import Mean, Rate
from evenhand.stats import (
    contrasts,
    intervals,
    multiplicity,
    published,
    ranks,
    resample,
    standardised,
    summaries,
    verification,
)

DOCUMENTATION = ("reference", "note", "comment", "quirk", "abs_tolerance")
DRAWS = 4000

Check = Callable[[Checks], None]


def cases(folder: Path) -> Iterator[Case]:
    """Every folder with an `expected.json`."""
    for path in sorted(folder.rglob("expected.json")):
        beside = {other.name: other for other in path.parent.iterdir() if other.is_file()}
        expected = read_expected(path)
        check, used = _kind(expected, beside)
        files = frozenset([path, *(beside[name] for name in used)])
        yield Case(str(path.parent.relative_to(folder)), files, check)


def _kind(expected: Any, beside: Mapping[str, Path]) -> tuple[Check, Sequence[str]]:
    """Which check belongs to a case, and the files that it reads."""
    keys = set(expected)
    if "scores.json" in beside:
        scores = json.loads(beside["scores.json"].read_text(encoding="utf-8"))
        return (lambda checks: _pair_tests(checks, expected, scores)), ["scores.json"]
    if "pairs.csv" in beside:
        rows = _table(beside["pairs.csv"])
        return (lambda checks: _verification(checks, expected, rows)), ["pairs.csv"]
    if "units.csv" in beside:
        rows = _table(beside["units.csv"])
        if keys & _OF_TWO_MODELS:
            return (lambda checks: _paired_models(checks, expected, rows)), ["units.csv"]
        if "stratum" in rows and keys & {"crude", "stratum_weights", "standardised"}:
            return (lambda checks: _standardised(checks, expected, rows)), ["units.csv"]
        if isinstance(expected.get("groups"), list):
            return (lambda checks: _groups(checks, expected, rows)), ["units.csv"]
        if isinstance(expected.get("groups"), dict):
            return (lambda checks: _clustered(checks, expected, rows)), ["units.csv"]
        return (lambda checks: _parity(checks, expected, rows)), ["units.csv"]
    listed = expected.get("cases", [])
    if listed and "p_values" in listed[0]:
        return (lambda checks: _multiplicity(checks, expected)), []
    if "exact_permutation_gap" in keys or (listed and "groups" in listed[0]):
        return (lambda checks: _summaries(checks, expected)), []
    return (lambda checks: _intervals(checks, expected)), []


_OF_TWO_MODELS = {
    "table", "difference", "mcnemar_exact_p", "mcnemar_mid_p", "bonett_price_ci95", "n_subjects", "cluster_se",
    "cluster_t_ci95",
}  # fmt: skip


def _table(path: Path) -> dict[str, np.ndarray]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _each(
    checks: Checks, where: str, expected: Mapping[str, Any], known: Mapping[str, Callable[[Any, str], None]]
) -> None:
    """Check every key by what is known about it; a key that nobody knows fails by name."""
    for key, value in expected.items():
        name = f"{where}.{key}" if where else key
        if key in DOCUMENTATION or key.endswith("_DO_NOT_USE"):
            continue
        if key not in known:
            checks.true(name, False, "the harness does not know this key")
            continue
        known[key](value, name)


def _near(checks: Checks, got: Any) -> Callable[[Any, str], None]:
    return lambda value, name: checks.close(name, got, value)


def _probability(checks: Checks, got: Any) -> Callable[[Any, str], None]:
    return lambda value, name: checks.close(name, got, value, rel=1e-6, abs=0.0)


def _same(checks: Checks, got: Any) -> Callable[[Any, str], None]:
    return lambda value, name: checks.equal(name, got, value)


def _given(_: Any, __: str) -> None:
    """An input that is written among the expectations."""


def _limits(interval: Any, at: int = 0) -> list[float] | None:
    """Lower and upper limit; None where there is no interval."""
    limits = [float(np.ravel(interval.low)[at]), float(np.ravel(interval.high)[at])]
    return None if any(np.isnan(limits)) else limits


def _numbers(column: np.ndarray) -> np.ndarray:
    """A column of the file as numbers; an empty cell is no number."""
    return np.array([float(text) if text.strip() else np.nan for text in column])


def _intervals(checks: Checks, expected: Mapping[str, Any]) -> None:
    def single(entries: Any, name: str) -> None:
        for position, entry in enumerate(entries):
            k, n, confidence = entry["k"], entry["n"], entry["confidence"]
            _each(
                checks,
                f"{name}[{position}]",
                entry,
                {
                    "k": _given,
                    "n": _given,
                    "confidence": _given,
                    "wilson": _near(checks, _limits(intervals.wilson(k, n, confidence=confidence))),
                    "clopper_pearson": _near(checks, _limits(intervals.clopper_pearson(k, n, confidence=confidence))),
                },
            )

    def two(entries: Any, name: str) -> None:
        for position, entry in enumerate(entries):
            counts = tuple(entry[key] for key in ("k1", "n1", "k2", "n2"))
            difference, ratio = newcombe(*counts), contrasts.log_ratio(*counts)
            test = contrasts.proportion_test(*counts)
            rates = intervals.cluster_means(counts[::2], counts[1::2], [0, 1], 2).value
            _each(
                checks,
                f"{name}[{position}]",
                entry,
                {
                    **dict.fromkeys(("k1", "n1", "k2", "n2"), _given),
                    "difference": _near(checks, float(difference.value)),
                    "newcombe_ci95": _near(checks, _limits(difference)),
                    "ratio_adjusted": _near(checks, float(ratio.value)),
                    "ratio_log_adjusted_ci95": _near(checks, _limits(ratio)),
                    "test": _same(checks, str(test.method)),
                    "p_value": _probability(checks, float(test.p_value)),
                    "cohens_h": _near(checks, float(contrasts.cohens_h(rates[0], rates[1]))),
                },
            )

    _each(checks, "", expected, {"single": single, "two_sample": two})


def _multiplicity(checks: Checks, expected: Mapping[str, Any]) -> None:
    def adjusted(correction: multiplicity.Correction, p_values: Any) -> Callable[[Any, str], None]:
        def check(entry: Any, name: str) -> None:
            got = correction(p_values)
            for key, value in entry.items():
                if key == "adjusted":
                    checks.close(f"{name}.adjusted", got, value, rel=1e-6)
                elif key.startswith("reject_at_"):
                    level = float(key.removeprefix("reject_at_"))
                    checks.equal(f"{name}.{key}", rejected(got, level).tolist(), value)
                else:
                    checks.true(f"{name}.{key}", False, "the harness does not know this key")

        return check

    def every(entries: Any, name: str) -> None:
        for position, entry in enumerate(entries):
            known = {c.value: adjusted(c, entry["p_values"]) for c in multiplicity.Correction}
            _each(checks, f"{name}[{position}]", entry, {"p_values": _given, **known})

    _each(checks, "", expected, {"cases": every})


def _pair_tests(checks: Checks, expected: Mapping[str, Any], scores: Mapping[str, Mapping[str, list[float]]]) -> None:
    strange = [key for key in expected if key not in DOCUMENTATION and key not in scores]
    checks.equal("attributes without scores", strange, [])
    for attribute, entry in expected.items():
        if attribute in DOCUMENTATION or attribute in strange:
            continue
        groups = scores[attribute]
        names = tuple(name for name, group in groups.items() if len(group) >= published.MIN_SCORES)
        tested = published.tested_pairs({name: np.asarray(groups[name]) for name in names})
        values = np.concatenate([np.asarray(groups[name]) for name in names]) if names else np.zeros(0)
        codes = np.repeat(np.arange(len(names)), np.array([len(groups[name]) for name in names], dtype=np.int64))
        sums = ranks.rank_sums(values, codes, len(names))
        p_values = [pair.p_value for pair in tested]
        kruskal = ranks.kruskal_wallis(values, codes, len(names))

        def found(
            correction: multiplicity.Correction, tested: Any = tested, p_values: Any = p_values
        ) -> list[list[str]]:
            reached = rejected(correction(p_values))
            return [[p.first, p.second] for p, yes in zip(tested, reached, strict=True) if yes]

        def pairs(
            entries: Any, name: str, tested: Any = tested, names: Any = names, sums: Any = sums, groups: Any = groups
        ) -> None:
            checks.equal(f"{name} in order", [[p.first, p.second] for p in tested], [e["pair"] for e in entries])
            for pair, wanted in zip(tested, entries, strict=True):
                i, j = names.index(pair.first), names.index(pair.second)
                first, second = np.asarray(groups[pair.first]), np.asarray(groups[pair.second])
                means = intervals.cluster_means(
                    np.concatenate([first, second]),
                    np.ones(len(first) + len(second)),
                    np.repeat([0, 1], [len(first), len(second)]),
                    2,
                )
                welch = contrasts.welch(
                    means.value[0], means.variance[0], len(first), means.value[1], means.variance[1], len(second)
                )
                delta = ranks.cliffs_delta(sums.u[i, j], len(first), len(second))
                _each(
                    checks,
                    f"{name}.{pair.first}|{pair.second}",
                    wanted,
                    {
                        "pair": _given,
                        "worst_group": _same(checks, pair.worst),
                        "worst_n": _same(checks, pair.worst_scores),
                        "best_group": _same(checks, pair.best),
                        "best_n": _same(checks, pair.best_scores),
                        "median_disparity": _near(checks, pair.disparity),
                        "p_value": _probability(checks, pair.p_value),
                        "z_reported_as_effect_size": _near(checks, pair.z),
                        "mann_whitney_u_first": _near(checks, pair.u_first),
                        "cliffs_delta_first_minus_second": _near(checks, float(delta)),
                        "brunner_munzel_p": _probability(checks, _brunner_munzel(first, second)),
                        "mean_difference": _near(checks, float(welch.value)),
                        "welch_ci95": _near(checks, _limits(welch.limits())),
                    },
                )

        significant = [[pair.worst, pair.best] for pair in tested if pair.significant]
        _each(
            checks,
            attribute,
            entry,
            {
                "eligible_groups": _same(checks, list(names)),
                "excluded_groups": _same(checks, [name for name in groups if name not in names]),
                "pairs_tested": _same(checks, len(tested)),
                "all_pairs": pairs,
                "published_report_significant_pairs_bonferroni": _same(checks, significant),
                "holm_significant": _same(checks, found(multiplicity.Correction.HOLM)),
                "bh_significant": _same(checks, found(multiplicity.Correction.BENJAMINI_HOCHBERG)),
                "omnibus_kruskal": lambda value, name, kruskal=kruskal: _omnibus(checks, name, value, kruskal, "H"),
            },
        )


def _brunner_munzel(first: np.ndarray, second: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        return float(stats.brunnermunzel(first, second).pvalue)


def _omnibus(checks: Checks, name: str, expected: Any, test: ranks.OmnibusTest, statistic: str) -> None:
    if expected is None:
        checks.true(name, bool(np.isnan(test.statistic)), f"got {test.statistic}, expected no test")
        return
    _each(
        checks,
        name,
        expected,
        {
            statistic: _near(checks, test.statistic),
            "df": _same(checks, test.degrees),
            "p_value": _probability(checks, test.p_value),
        },
    )


def _clustered(checks: Checks, expected: Mapping[str, Any], rows: Mapping[str, np.ndarray]) -> None:
    names = list(expected["groups"])
    names += [name for name in dict.fromkeys(rows["group"].tolist()) if name not in names]
    group = np.array([names.index(name) for name in rows["group"]])
    subjects, subject = np.unique(rows["subject"], return_inverse=True)
    weights = resample.unit_weights(len(subjects), DRAWS, stream("golden", "clustered"))

    def by_subject(values: np.ndarray) -> tuple[intervals.ClusteredMean, np.ndarray, np.ndarray]:
        there = ~np.isnan(values)
        place = (group * len(subjects) + subject)[there]
        sums = np.bincount(place, values[there], minlength=len(names) * len(subjects)).reshape(len(names), -1)
        counts = np.bincount(place, minlength=len(names) * len(subjects)).reshape(len(names), -1)
        codes = np.repeat(np.arange(len(names)), len(subjects))
        return intervals.cluster_means(sums.ravel(), counts.ravel(), codes, len(names)), sums, counts

    def column(every: np.ndarray, means: intervals.ClusteredMean, sums: Any, counts: Any, i: int) -> dict[str, Any]:
        there = ~np.isnan(every)
        values, groups_of, units = every[there], group[there], subject[there]
        alone = intervals.cluster_means(values, np.ones(len(values)), groups_of, len(names))
        drawn_means = redrawn_means(weights, sums.T, counts.T)
        drawn_medians = redrawn_medians(values, groups_of, units, len(names), weights)
        size = intervals.effective_size(means)
        middle = redrawn_medians(values, groups_of, units, len(names), np.ones((1, len(subjects)), dtype=np.float32))
        events, n = float(means.value[i] * means.rows[i]), float(means.rows[i])
        return {
            "n_nan": _same(checks, int(np.isnan(every[group == i]).sum())),
            "mean": _near(checks, means.value[i]),
            "value": _near(checks, means.value[i]),
            "k": _near(checks, events),
            "n": _near(checks, n),
            "naive_se": _near(checks, alone.standard_error[i]),
            "cluster_se": _near(checks, means.standard_error[i]),
            "cluster_t_ci95": _near(checks, _limits(intervals.mean_interval(means), i)),
            "median": _near(checks, middle[0, i]),
            "cluster_bootstrap_percentile_ci95_mean": _drawn(checks, _limits(intervals.percentile(drawn_means), i)),
            "cluster_bootstrap_percentile_ci95_median": _drawn(checks, _limits(intervals.percentile(drawn_medians), i)),
            "wilson_ci95_ignoring_subjects": _near(checks, _limits(intervals.wilson(round(events), n))),
            "design_effect": _near(checks, size.design_effect[i]),
            "effective_n": _near(checks, size.rows[i]),
            "wilson_ci95_effective_n": _near(checks, _limits(intervals.proportion_interval(means), i)),
        }

    measured = {name: by_subject(_numbers(rows[name])) for name in rows if name not in ("unit", "subject", "group")}

    def groups(entries: Any, name: str) -> None:
        for label in entries:
            i = names.index(label)
            inside = group == i
            known: dict[str, Callable[[Any, str], None]] = {
                "n_units": _same(checks, int(inside.sum())),
                "n_subjects": _same(checks, int(next(iter(measured.values()))[0].clusters[i])),
            }
            for key, (means, sums, counts) in measured.items():
                facts = column(_numbers(rows[key]), means, sums, counts, i)
                known[key] = lambda value, where, facts=facts: _each(checks, where, value, facts)
            _each(checks, f"{name}.{label}", entries[label], known)

    real = next((key for key in measured if np.nanmax(_numbers(rows[key]) % 1) > 0), next(iter(measured)))

    def pairwise(entries: Any, name: str) -> None:
        means, sums, counts = measured[real]
        there = counts > 0
        subject_means = np.divide(sums, counts, out=np.zeros_like(sums), where=there)
        codes = np.repeat(np.arange(len(names)), there.sum(axis=1))
        averaged = ranks.rank_sums(subject_means[there], codes, len(names))
        scored = ~np.isnan(_numbers(rows[real]))
        alone = ranks.rank_sums(_numbers(rows[real])[scored], group[scored], len(names))
        for entry in entries:
            i, j = (names.index(label) for label in entry["pair"])

            def tested(s: ranks.RankSums, i: int = i, j: int = j) -> float:
                return float(ranks.mann_whitney(s.u[i, j], s.counts[i], s.counts[j], s.ties[i, j]))

            delta = ranks.cliffs_delta(averaged.u[i, j], averaged.counts[i], averaged.counts[j])
            _each(
                checks,
                f"{name}.{'|'.join(entry['pair'])}",
                entry,
                {
                    "pair": _given,
                    "n_subjects": _same(checks, [int(means.clusters[i]), int(means.clusters[j])]),
                    "p_on_subject_means": _probability(checks, tested(averaged)),
                    "cliffs_delta_subject_means": _near(checks, float(delta)),
                    "p_on_units_ignoring_subjects": _probability(checks, tested(alone)),
                },
            )

    _each(checks, "", expected, {"groups": groups, "pairwise": pairwise})


def _drawn(checks: Checks, got: list[float] | None) -> Callable[[Any, str], None]:
    def check(value: Any, name: str) -> None:
        if value is None:
            checks.equal(name, got, None)
            return
        checks.close(name, got, [value["lo"], value["hi"]], abs=value["abs_tolerance"])

    return check


def _paired_models(checks: Checks, expected: Mapping[str, Any], rows: Mapping[str, np.ndarray]) -> None:
    models = [name for name in rows if name not in ("unit", "subject", "group")]
    first, second = (np.nan_to_num(_numbers(rows[name])) for name in models)
    table = contrasts.paired_table(first, second)
    between = contrasts.bonett_price(table.only_a, table.only_b, table.rows)
    _, subject = np.unique(rows["subject"], return_inverse=True)
    sums, counts = np.bincount(subject, first - second), np.bincount(subject)
    means = intervals.cluster_means(sums, counts, np.zeros(len(sums), dtype=np.int64), 1)
    _each(
        checks,
        "",
        expected,
        {
            "table": _same(checks, table._asdict()),
            "difference": _near(checks, table.difference),
            "mcnemar_exact_p": _probability(checks, float(contrasts.mcnemar(table.only_a, table.only_b))),
            "mcnemar_mid_p": _probability(checks, mcnemar_mid(table.only_a, table.only_b)),
            "bonett_price_ci95": _near(checks, _limits(between)),
            "n_subjects": _same(checks, int(means.clusters[0])),
            "cluster_se": _near(checks, float(means.standard_error[0])),
            "cluster_t_ci95": _near(checks, _limits(intervals.mean_interval(means))),
        },
    )


def _summaries(checks: Checks, expected: Mapping[str, Any]) -> None:
    def every(entries: Any, name: str) -> None:
        for position, entry in enumerate(entries):
            _summary(checks, f"{name}[{position}]", entry)

    def exact(entry: Any, name: str) -> None:
        values = entry["values"]
        labels = np.repeat(np.arange(len(values)), [len(group) for group in values.values()])
        found = exact_gap_reference(np.concatenate(list(values.values())), labels, len(values))
        _each(
            checks,
            name,
            entry,
            {
                "values": _given,
                "observed_gap": _near(checks, found.gap),
                "n_permutations": _same(checks, found.permutations),
                "p_value_exact": _probability(checks, found.p_value),
                "mean_gap_under_null": _near(checks, found.mean),
            },
        )

    _each(checks, "", expected, {"cases": every, "exact_permutation_gap": exact})


def _summary(checks: Checks, where: str, entry: Mapping[str, Any]) -> None:
    groups = entry["groups"]
    names, k, n = ([group[key] for group in groups] for key in ("group", "k", "n"))
    large = [count >= entry["min_n"] for count in n]
    chosen = [name for name, yes in zip(names, large, strict=True) if yes]
    whole = intervals.cluster_means(k, n)
    rates = intervals.cluster_means(k, n, np.arange(len(n)), len(n)).value[np.array(large, dtype=bool)]
    overall = float(whole.value[0])

    def numbers(values: np.ndarray, total: float, direction: Direction) -> Callable[[Any, str], None]:
        found = summaries.summarise(values, total)
        ends = summaries.extremes(values, direction)
        known: dict[str, Any] = {key: _near(checks, value) for key, value in found.items()}
        known["worst"] = _same(checks, None if ends is None else chosen[ends[0]])
        known["best"] = _same(checks, None if ends is None else chosen[ends[1]])
        known["overall_all_units"] = _near(checks, total)
        known["difference_between_groups"] = _near(checks, found["max_gap"])
        known["ratio_between_groups"] = _near(checks, found["min_over_max_ratio"])
        return lambda value, name: _each(checks, name, value, known)

    kept = np.array(large, dtype=bool)
    test = contrasts.chi_square(np.asarray(k)[kept], np.asarray(n)[kept])
    _each(
        checks,
        where,
        entry,
        {
            "groups": _given,
            "min_n": _given,
            "eligible": _same(checks, chosen),
            "not_eligible": _same(checks, [name for name in names if name not in chosen]),
            "accuracy": numbers(rates, overall, Direction.HIGHER),
            "error": numbers(1 - rates, 1 - overall, Direction.LOWER),
            "omnibus_chi2": lambda value, name: _omnibus(checks, name, value, test, "chi2"),
        },
    )


def _groups(checks: Checks, expected: Mapping[str, Any], rows: Mapping[str, np.ndarray]) -> None:
    listed = expected["groups"]
    by = [entry["by"][0] for entry in listed if len(entry["by"]) == 1]
    by = list(dict.fromkeys([*by, *(name for entry in listed for name in entry["by"])]))
    score = next(name for name in rows if name not in ("unit", "subject", *by))
    attributes = {}
    for name in by:
        order = [
            value for entry in listed for key, value in zip(entry["by"], entry["group"], strict=True) if key == name
        ]
        seen = [value for cell in rows[name] for value in cell.split("|") if value]
        levels = tuple(dict.fromkeys([*order, *seen]))
        attributes[name] = Attribute.many([[v for v in cell.split("|") if v] for cell in rows[name]], levels)
    records = Records({"item": rows["unit"], "unit": rows["subject"], score: _numbers(rows[score])}, attributes)
    depth = max(len(entry["by"]) for entry in listed)
    found = measure(records, [Mean("score", score)], by, depth)
    values = {(e.group.by, tuple(level for _, level in e.group.terms)): e for e in found if not e.group.is_missing}
    filled = [key for key, estimate in values.items() if estimate.rows and key[0]]
    checks.equal("groups with units", sorted(filled), sorted((tuple(e["by"]), tuple(e["group"])) for e in listed))

    def every(entries: Any, name: str) -> None:
        for entry in entries:
            estimate = values.get((tuple(entry["by"]), tuple(entry["group"])))
            label = f"{name}.{'×'.join(entry['group'])}"
            if estimate is None:
                checks.true(label, False, "no such group was measured")
                continue
            _each(
                checks,
                label,
                entry,
                {
                    "by": _given,
                    "group": _given,
                    "n_units": _same(checks, estimate.rows),
                    "n_subjects": _same(checks, estimate.units),
                    "mean": _near(checks, estimate.value),
                },
            )

    missing = {e.group.by[0]: e.rows for e in found if e.group.is_missing}
    _each(checks, "", expected, {"missing_attribute_units": _same(checks, missing), "groups": every})


def _parity(checks: Checks, expected: Mapping[str, Any], rows: Mapping[str, np.ndarray]) -> None:
    y, p = rows["y"].astype(int), rows["p"].astype(int)
    by = [name for name in rows if name not in ("y", "p", "unit", "subject")]
    asked = list(dict.fromkeys(name for key in expected if key not in DOCUMENTATION for name in key.split("×")))
    by = [*(name for name in asked if name in by), *(name for name in by if name not in asked)]
    records = Records(
        {"unit": np.arange(len(y)), "y": y == 1, "p": p == 1, "right": y == p},
        {name: Attribute.of(rows[name].tolist(), tuple(sorted(set(rows[name].tolist())))) for name in by},
    )
    metrics = (Rate("accuracy", "right"), Rate("recall", "p", among="y"), Rate("selection_rate", "p"))
    found = measure(records, metrics, by, len(by))
    overall = {e.metric: e.number for e in found if not e.group.terms}
    for key, entry in expected.items():
        if key in DOCUMENTATION:
            continue
        names = tuple(key.split("×"))
        table: dict[tuple[str, ...], dict[str, Any]] = {}
        for e in found:
            if e.group.by == names and not e.group.is_missing and e.rows:
                table.setdefault(tuple(level for _, level in e.group.terms), {})[e.metric] = e.value
        checks.true(f"{key} is an attribute of the file", bool(table), f"no groups by {names}")

        def groups(entries: Any, name: str, table: Any = table) -> None:
            checks.equal(f"{name} groups", sorted(map(list, table)), sorted(entry["group"] for entry in entries))
            for wanted in entries:
                got = table.get(tuple(wanted["group"]), {})
                known: dict[str, Any] = {"group": _given, **{m: _near(checks, v) for m, v in got.items()}}
                _each(checks, f"{name}.{'×'.join(wanted['group'])}", wanted, known)

        def across(what: str, table: Any = table) -> Callable[[Any, str], None]:
            def check(wanted: Any, name: str) -> None:
                known: dict[str, Any] = {}
                for metric, total in overall.items():
                    values = [value[metric] for value in table.values() if isinstance(value[metric], float)]
                    numbers = {**summaries.summarise(values, total), "ratio": ratio_to_overall(values, total)}
                    known[metric] = _near(checks, numbers[what])
                _each(checks, name, wanted, known)

            return check

        _each(
            checks,
            key,
            entry,
            {
                "by_group": groups,
                "overall": lambda wanted, name: _each(
                    checks, name, wanted, {metric: _near(checks, value) for metric, value in overall.items()}
                ),
                "difference_between_groups": across("max_gap"),
                "difference_to_overall": across("max_gap_to_overall"),
                "ratio_between_groups": across("min_over_max_ratio"),
                "ratio_to_overall": across("ratio"),
            },
        )


def _standardised(checks: Checks, expected: Mapping[str, Any], rows: Mapping[str, np.ndarray]) -> None:
    groups = list(expected.get("crude", expected.get("standardised", {})))
    groups = [*groups, *(name for name in dict.fromkeys(rows["group"].tolist()) if name not in groups)]
    strata = list(expected.get("stratum_weights", {}))
    strata = [*strata, *(name for name in dict.fromkeys(rows["stratum"].tolist()) if name not in strata)]
    g = np.array([groups.index(name) for name in rows["group"]])
    s = np.array([strata.index(name) for name in rows["stratum"]])
    value = next(name for name in rows if name not in ("unit", "group", "stratum", "subject"))
    shape = (len(groups), len(strata))
    place = g * len(strata) + s
    sums = np.bincount(place, rows[value].astype(float), minlength=shape[0] * shape[1]).reshape(shape)
    counts = np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape)
    found = standardised.standardise(sums, counts)
    _each(
        checks,
        "",
        expected,
        {
            "crude": _near(checks, dict(zip(groups, found.crude, strict=True))),
            "standardised": _near(checks, dict(zip(groups, found.standardised, strict=True))),
            "stratum_weights": _near(checks, dict(zip(strata, found.weights, strict=True))),
        },
    )


def _verification(checks: Checks, expected: Mapping[str, Any], rows: Mapping[str, np.ndarray]) -> None:
    subjects, codes = np.unique(np.concatenate([rows["subject_a"], rows["subject_b"]]), return_inverse=True)
    a, b = np.split(codes, 2)
    score = _numbers(rows["score"])
    genuine = rows["genuine"].astype(int) == 1
    names = list(expected.get("groups", dict.fromkeys([*rows["group_a"].tolist(), *rows["group_b"].tolist()])))
    membership = np.zeros((len(subjects), len(names)), dtype=bool)
    for side, group in ((a, rows["group_a"]), (b, rows["group_b"])):
        for unit, label in zip(side.tolist(), group.tolist(), strict=True):
            if label in names:
                membership[unit, names.index(label)] = True
    checks.equal("genuine is the same subject", (a == b).tolist(), genuine.tolist())
    threshold = verification.shared_threshold(score[~genuine], expected["target_fmr"], score[genuine])
    counts = resample.pair_counts(a, b, score, [threshold], len(subjects))
    seen = verification.rates(counts, membership)
    overall = verification.rates(counts, np.ones((len(subjects), 1), dtype=bool))
    matrix = verification.fmr_matrix(counts, membership)
    drawn = verification.rate_draws(
        counts, membership, resample.unit_weights(len(subjects), DRAWS, stream("golden", "verification"))
    )
    naive = [limits.naive for limits in verification.rate_intervals(seen, drawn)]

    def groups(entries: Any, name: str) -> None:
        for i, label in enumerate(entries):
            bootstrap = {
                key: _limits(intervals.percentile(d), i) for key, d in zip(("fmr", "fnmr"), drawn, strict=True)
            }

            def redrawn(value: Any, where: str, bootstrap: Any = bootstrap) -> None:
                for key in value:
                    if key != "abs_tolerance":
                        checks.close(f"{where}.{key}", bootstrap.get(key), value[key], abs=value["abs_tolerance"])

            _each(
                checks,
                f"{name}.{label}",
                entries[label],
                {
                    "n_subjects": _same(checks, int(seen.subjects[i])),
                    "impostor_pairs_same_group": _same(checks, int(seen.impostor_pairs[i])),
                    "false_matches": _same(checks, int(seen.false_matches[i])),
                    "fmr": _near(checks, seen.fmr[i]),
                    "genuine_pairs": _same(checks, int(seen.genuine_pairs[i])),
                    "false_non_matches": _same(checks, int(seen.false_non_matches[i])),
                    "fnmr": _near(checks, seen.fnmr[i]),
                    "naive_wilson_fmr": _near(checks, _limits(naive[0], i)),
                    "naive_wilson_fnmr": _near(checks, _limits(naive[1], i)),
                    "subject_bootstrap_ci95": redrawn,
                },
            )

    def crossed(entries: Any, name: str) -> None:
        got = {f"{d}|{e}": matrix[i, j] for i, d in enumerate(names) for j, e in enumerate(names)}
        checks.close(name, {key: got.get(key, "no such pair of groups") for key in entries}, entries)

    smooth = verification.smoothed(seen)
    known: dict[str, Callable[[Any, str], None]] = {
        "target_fmr": _given,
        "threshold": _near(checks, threshold),
        "overall": lambda value, name: _each(
            checks,
            name,
            value,
            {
                "fmr": _near(checks, overall.fmr[0]),
                "fnmr": _near(checks, overall.fnmr[0]),
                "n_impostor": _same(checks, int(overall.impostor_pairs[0])),
                "n_genuine": _same(checks, int(overall.genuine_pairs[0])),
            },
        ),
        "groups": groups,
        "fmr_matrix": crossed,
        "smoothed": lambda value, name: _each(
            checks,
            name,
            value,
            {
                "max_over_geomean_fmr": _near(checks, smooth.smoothed_max_over_geometric_mean_fmr),
                "max_over_min_fmr": _near(checks, smooth.smoothed_max_over_min_fmr),
                "max_over_geomean_fnmr": _near(checks, smooth.smoothed_max_over_geometric_mean_fnmr),
                "max_over_min_fnmr": _near(checks, smooth.smoothed_max_over_min_fnmr),
            },
        ),
    }
    half = verification.differentials(seen.fmr, seen.fnmr)
    known["gini_fmr"] = _near(checks, half.gini_fmr)
    known["gini_fnmr"] = _near(checks, half.gini_fnmr)
    known["max_over_geomean_fmr"] = _near(checks, half.max_over_geometric_mean_fmr)
    known["max_over_geomean_fnmr"] = _near(checks, half.max_over_geometric_mean_fnmr)
    for key in expected:
        for prefix, field in (
            ("fdr_alpha_", "fairness_discrepancy_rate"),
            ("garbe_alpha_", "garbe"),
            ("inequity_rate_alpha_", "inequity_rate"),
        ):
            if key.startswith(prefix):
                weighted = verification.differentials(seen.fmr, seen.fnmr, alpha=float(key.removeprefix(prefix)))
                known[key] = _near(checks, getattr(weighted, field))
    _each(checks, "", expected, known)
