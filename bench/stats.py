"""Intervals, tests, permutations and draws at the sizes that real evaluations have.

The first hot path has a peer: `fairlearn.metrics.MetricFrame`, with the same draws over the same rows and groups.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.hot import Hot
from bench.plain import statistics as plain

ROWS, SUBJECTS = 10_954, 1_981
GENDERS, RACES, AGES = 2, 6, 9  # 108 cells
PEOPLE, COMPARISONS = 1_845, 8_000_000


def faces() -> dict[str, Any]:
    """Faces with three attributes and an answer that is right or wrong; subjects with several faces beside."""
    rng = np.random.default_rng(3)
    ages = rng.choice(AGES, ROWS, p=[0.02, 0.12, 0.11, 0.30, 0.21, 0.12, 0.07, 0.04, 0.01])
    data = {"gender": rng.integers(0, GENDERS, ROWS), "race": rng.integers(0, RACES, ROWS), "age": ages}
    truth = rng.integers(0, 2, ROWS)
    data["truth"] = truth
    data["answer"] = np.where(rng.random(ROWS) < 0.9, truth, 1 - truth)
    data["score"] = rng.random(ROWS)
    subject = rng.integers(0, SUBJECTS, ROWS)
    data["subject"] = subject
    for name, count in (("gender", GENDERS), ("race", RACES), ("age", AGES)):
        data[f"subject_{name}"] = rng.integers(0, count, SUBJECTS)[subject]
    return data


def _records(data: dict[str, Any], prefix: str = "", unit: str | None = None) -> Any:
    from evenhand.core.records import Attribute, Records

    cell = (data[f"{prefix}gender"] * RACES + data[f"{prefix}race"]) * AGES + data[f"{prefix}age"]
    names = tuple(str(level) for level in range(GENDERS * RACES * AGES))
    return Records(
        {
            "unit": np.arange(ROWS) if unit is None else data[unit],
            "right": data["truth"] == data["answer"],
            "score": data["score"],
        },
        {"cell": Attribute.coded(cell, names)},
    )


def _evidence(rows: Any, metric: Any) -> Any:
    from evenhand.core.measure import tally
    from evenhand.core.membership import groups_of
    from evenhand.core.streams import stream
    from evenhand.stats.evidence import RatioEvidence
    from evenhand.stats.resample import weight_blocks
    from evenhand.stats.tables import layout

    whole = tally(rows, [metric], ["cell"])
    places = layout(whole.cells, groups_of(whole.cells, ["cell"], 1))
    (ratio,) = metric.ratios(whole.states[0]).values()
    return RatioEvidence(places, ratio, lambda: weight_blocks(places.units, 2000, stream("bench", "units")), ("bench",))


def grouped_draws(data: dict[str, Any]) -> Any:
    """Accuracy of 108 cells and of everyone with 1,000 draws of rows, and its percentile intervals."""
    from evenhand.core.measure import tally
    from evenhand.core.streams import stream
    from evenhand.metrics.means import Rate
    from evenhand.stats.checks import divide
    from evenhand.stats.intervals import percentile
    from evenhand.stats.resample import table_draws

    cells = tally(_records(data), [Rate("accuracy", "right")], ["cell"], units=False)
    share = cells.states[0]
    table = np.stack([share.top, share.count - share.top], axis=1)
    drawn = table_draws(table, 1000, stream("bench", "rows"))
    right = drawn[:, :, 0]
    values = divide(right, drawn.sum(axis=2))
    overall = right.sum(axis=1, keepdims=True) / len(data["truth"])
    return percentile(values), percentile(overall)


def grouped_draws_peer(data: dict[str, Any]) -> Any:
    import warnings

    import pandas as pd
    from fairlearn.metrics import MetricFrame
    from sklearn.metrics import accuracy_score

    warnings.simplefilter("ignore")
    frame = MetricFrame(
        metrics=accuracy_score,
        y_true=data["truth"],
        y_pred=data["answer"],
        sensitive_features=pd.DataFrame({name: data[name] for name in ("gender", "race", "age")}),
        n_boot=1000,
        ci_quantiles=[0.025, 0.975],
        random_state=0,
    )
    return frame.by_group_ci, frame.overall_ci


def clustered_draws(data: dict[str, Any]) -> Any:
    """The same by subject: 2,000 draws of 1,981 subjects, everyone and 108 cells."""
    from evenhand.metrics.means import Rate
    from evenhand.stats.intervals import percentile

    evidence = _evidence(_records(data, "subject_", "subject"), Rate("accuracy", "right"))
    return percentile(evidence.table.drawn(evidence.weights()))


def _all_pairs(data: dict[str, Any], metric: Any) -> Any:
    from evenhand.stats.settings import Settings

    evidence = _evidence(_records(data), metric)
    first, second = np.triu_indices(GENDERS * RACES * AGES, 1)
    return evidence.pairs(first + 1, second + 1, Settings())


def pair_tests(data: dict[str, Any]) -> Any:
    """All 5,778 pairs of 108 cells: Newcombe, score or Fisher, Holm."""
    from evenhand.metrics.means import Rate
    from evenhand.stats.multiplicity import Correction

    return Correction.HOLM(_all_pairs(data, Rate("accuracy", "right")).p_value)


def rank_tests(data: dict[str, Any]) -> Any:
    """All 5,778 pairs of 108 cells: Mann–Whitney, Welch, Holm."""
    from evenhand.metrics.means import Mean
    from evenhand.stats.multiplicity import Correction

    return Correction.HOLM(_all_pairs(data, Mean("score", "score")).p_value)


def rank_tests_peer(data: dict[str, Any]) -> Any:
    from itertools import combinations

    from scipy import stats

    cell = (data["gender"] * RACES + data["race"]) * AGES + data["age"]
    groups = [data["score"][cell == code] for code in range(GENDERS * RACES * AGES)]
    return [
        stats.mannwhitneyu(a, b, method="asymptotic").pvalue for a, b in combinations(groups, 2) if len(a) and len(b)
    ]


def _gap(data: dict[str, Any], prefix: str, unit: str | None, metric: Any) -> Any:
    evidence = _evidence(_records(data, prefix, unit), metric)
    cells = [i + 1 for i in range(GENDERS * RACES * AGES) if np.isfinite(evidence.values[i + 1])]
    return evidence.null_gaps(cells, 2000)[0].mean()


def gap_of_rows(data: dict[str, Any]) -> Any:
    """2,000 permutations of the gap of 108 cells, rows right or wrong."""
    from evenhand.metrics.means import Rate

    return _gap(data, "", None, Rate("accuracy", "right"))


def gap_of_subjects(data: dict[str, Any]) -> Any:
    """2,000 permutations of the gap of 108 cells over 1,981 subjects."""
    from evenhand.metrics.means import Rate

    return _gap(data, "subject_", "subject", Rate("accuracy", "right"))


def gap_of_scores(data: dict[str, Any]) -> Any:
    """2,000 permutations of the gap of 108 cells, real values of 10,954 independent rows."""
    from evenhand.metrics.means import Mean

    return _gap(data, "", None, Mean("score", "score"))


def comparisons() -> dict[str, Any]:
    """Eight million comparisons of 1,845 people."""
    rng = np.random.default_rng(5)
    a = rng.integers(0, PEOPLE, COMPARISONS)
    b = np.where(rng.random(COMPARISONS) < 0.01, a, rng.integers(0, PEOPLE, COMPARISONS))
    score = rng.standard_normal(COMPARISONS, dtype=np.float32) + 3 * (a == b)
    return {"a": a, "b": b, "score": score}


def dyadic(data: dict[str, Any]) -> Any:
    """2,000 draws of people, FMR and FNMR at six fixed thresholds, from counting to intervals."""
    from evenhand.core.streams import stream
    from evenhand.stats.intervals import percentile
    from evenhand.stats.resample import pair_counts, unit_weights
    from evenhand.stats.verification import rate_draws

    thresholds = [1.28, 2.33, 3.09, 3.72, 4.26, 4.75]
    counts = pair_counts(data["a"], data["b"], data["score"], thresholds, PEOPLE)
    weights = unit_weights(PEOPLE, 2000, stream("bench", "people"))
    everyone = np.ones((PEOPLE, 1), dtype=np.bool_)
    return [
        tuple(percentile(drawn) for drawn in rate_draws(counts, everyone, weights, at)) for at in range(len(thresholds))
    ]


def whole_analysis(data: dict[str, Any]) -> Any:
    """Everything that a report shows: three attributes and their pairs, confusion outputs, 2,000 draws."""
    from evenhand.core.measure import tally
    from evenhand.core.records import Attribute, Records
    from evenhand.metrics.labels import Confusion
    from evenhand.stats.analysis import analyse

    sizes = {"gender": GENDERS, "race": RACES, "age": AGES}
    rows = Records(
        {"unit": np.arange(ROWS), "truth": data["truth"], "answer": data["answer"]},
        {name: Attribute.coded(data[name], tuple(map(str, range(count)))) for name, count in sizes.items()},
    )
    return analyse(tally(rows, [Confusion("gender", ("a", "b"))], tuple(sizes)), tuple(sizes), 2)


def tables(data: dict[str, Any]) -> Any:
    """The counts of 108 cells: what everything else rests on."""
    cell = (data["gender"] * RACES + data["race"]) * AGES + data["age"]
    return np.bincount(cell * 2 + (data["truth"] == data["answer"])), np.bincount(cell, weights=data["score"])


def two_counts(data: dict[str, Any]) -> Any:
    """One count over the comparisons of each kind."""
    place = data["a"] * PEOPLE + data["b"]
    return np.bincount(place, minlength=PEOPLE**2)


def _permuted(name: str, what: str, ours: Any, peer: Any) -> Hot:
    return Hot(
        f"stats/{name}",
        f"2,000 permutations of a 108-cell gap, {what}",
        faces,
        ours,
        peer,
        "pandas, permutation by permutation",
        peer_share=plain.FEW_PERMUTATIONS / 2000,
        bound=tables,
        bound_name="the counts of one table",
        goal="under 1 s",
    )


HOT = [
    Hot(
        "stats/grouped_draws",
        "accuracy, 10,954 rows × 108 cells, 1,000 draws, intervals",
        faces,
        grouped_draws,
        grouped_draws_peer,
        "fairlearn MetricFrame",
        bound=tables,
        bound_name="the counts of one table",
        goal="at least 300 times the peer",
    ),
    Hot(
        "stats/clustered_draws",
        "the same by 1,981 subjects, 2,000 draws, from rows to intervals",
        faces,
        clustered_draws,
        plain.clustered_draws,
        "pandas, draw by draw",
        peer_share=plain.FEW_DRAWS / 2000,
        bound=tables,
        bound_name="the counts of one table",
        goal="under 2 s",
    ),
    Hot(
        "stats/pair_tests",
        "5,778 pairs of proportions, from rows to Holm",
        faces,
        pair_tests,
        plain.pair_tests,
        "scipy, pair by pair",
        peer_share=plain.FEW_PAIRS / 5778,
        bound=tables,
        bound_name="the counts of one table",
        goal="under 1 s",
    ),
    Hot(
        "stats/rank_tests",
        "5,778 Mann–Whitney tests, from rows to Holm",
        faces,
        rank_tests,
        rank_tests_peer,
        "scipy, pair by pair",
        peer_here=True,
        bound=lambda data: np.argsort(data["score"]),
        bound_name="one sort of the scores",
        goal="under 1 s",
    ),
    _permuted("gap_rows", "rows", gap_of_rows, plain.gap_of_rows),
    _permuted("gap_subjects", "subjects", gap_of_subjects, plain.gap_of_subjects),
    _permuted("gap_scores", "real values", gap_of_scores, plain.gap_of_scores),
    Hot(
        "stats/dyadic",
        "8 million comparisons of 1,845 people, six thresholds, 2,000 draws, in all",
        comparisons,
        dyadic,
        plain.dyadic,
        "NumPy, draw by draw",
        peer_share=1 / 2000,
        bound=two_counts,
        bound_name="one count of the comparisons",
        goal="under 3 s",
    ),
    Hot(
        "stats/whole_analysis",
        "FairFace-sized gender task, depth 2, 2,000 draws",
        faces,
        whole_analysis,
        plain.whole_analysis,
        "pandas and scikit-learn, draw by draw, no tests",
        peer_share=plain.FEW_DRAWS / 2000,
        bound=tables,
        bound_name="the counts of one table",
    ),
]
