"""Draws, tests and permutations in loops."""

from __future__ import annotations

from itertools import combinations, islice
from typing import Any

import numpy as np

LEVELS = {"gender": 2, "race": 6, "age": 9}
FEW_DRAWS, FEW_PAIRS, FEW_PERMUTATIONS = 20, 500, 100  # of 2,000, 5,778 and 2,000


def _frame(data: dict[str, Any], prefix: str = "") -> Any:
    import pandas as pd

    columns = {name: data[f"{prefix}{name}"] for name in LEVELS}
    right = data["truth"] == data["answer"]
    return pd.DataFrame({**columns, "right": right, "score": data["score"], "subject": data["subject"]})


def clustered_draws(data: dict[str, Any]) -> Any:
    """Draw subjects, put their rows together, group: once for every draw."""
    import pandas as pd

    frame = _frame(data, "subject_")
    rows_of = dict(tuple(frame.groupby("subject")))
    subjects, chance = list(rows_of), np.random.default_rng(1)
    drawn = []
    for _ in range(FEW_DRAWS):
        again = pd.concat([rows_of[subject] for subject in chance.choice(subjects, len(subjects))])
        drawn.append(again.groupby(list(LEVELS))["right"].mean())
    return pd.concat(drawn, axis=1).quantile([0.025, 0.975], axis=1)


def pair_tests(data: dict[str, Any]) -> Any:
    """Fisher's exact test for one pair of groups after the other."""
    from scipy.stats import fisher_exact

    counts = _frame(data).groupby(list(LEVELS))["right"].agg(["sum", "count"]).to_numpy()
    return [
        fisher_exact([[a, of_a - a], [b, of_b - b]])[1]
        for (a, of_a), (b, of_b) in islice(combinations(counts.tolist(), 2), FEW_PAIRS)
    ]


def _gap_under_permutation(frame: Any, column: str) -> Any:
    chance = np.random.default_rng(2)
    gaps = []
    for _ in range(FEW_PERMUTATIONS):
        frame[column] = chance.permutation(frame[column].to_numpy())
        values = frame.groupby(list(LEVELS))[column].mean()
        gaps.append(values.max() - values.min())
    return gaps


def gap_of_rows(data: dict[str, Any]) -> Any:
    """Shuffle the answers and group again, once for every permutation."""
    return _gap_under_permutation(_frame(data), "right")


def gap_of_scores(data: dict[str, Any]) -> Any:
    return _gap_under_permutation(_frame(data), "score")


def gap_of_subjects(data: dict[str, Any]) -> Any:
    """Deal the subjects' attributes anew and group the rows again."""
    frame = _frame(data, "subject_")
    people = frame.groupby("subject")[list(LEVELS)].first()
    rest = frame[["subject", "right"]]
    chance, gaps = np.random.default_rng(3), []
    for _ in range(FEW_PERMUTATIONS):
        dealt = people.set_axis(chance.permutation(people.index.to_numpy()))
        values = rest.join(dealt, on="subject").groupby(list(LEVELS))["right"].mean()
        gaps.append(values.max() - values.min())
    return gaps


def dyadic(data: dict[str, Any]) -> Any:
    """One draw: weigh every comparison by its two people, and count again above six thresholds."""
    people = int(max(data["a"].max(), data["b"].max())) + 1
    times = np.bincount(np.random.default_rng(4).integers(0, people, people), minlength=people)
    weight = times[data["a"]] * times[data["b"]]
    same = data["a"] == data["b"]
    return [
        (weight[~same & (data["score"] > at)].sum() / weight[~same].sum(), weight[same & (data["score"] <= at)].sum())
        for at in (1.28, 2.33, 3.09, 3.72, 4.26, 4.75)
    ]


def whole_analysis(data: dict[str, Any]) -> Any:
    """Accuracy and macro-F1 of every group and pair of attributes, the rows drawn again for every draw."""
    from sklearn.metrics import accuracy_score, f1_score

    frame = _frame(data).assign(truth=data["truth"], answer=data["answer"])
    splits = [[name] for name in LEVELS] + [list(pair) for pair in combinations(LEVELS, 2)]
    chance, drawn = np.random.default_rng(6), []
    for _ in range(FEW_DRAWS):
        again = frame.iloc[chance.integers(0, len(frame), len(frame))]
        for split in splits:
            for _, group in again.groupby(split):
                known = group["truth"], group["answer"]
                drawn.append((accuracy_score(*known), f1_score(*known, average="macro", zero_division=0)))
    return drawn
