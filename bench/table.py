"""A table of a million rows, from a Polars frame to intervals, gaps and verdicts."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.hot import Hot

ROWS, SUBJECTS = 1_000_000, 50_000
PEER_DRAWS = 2


def million() -> dict[str, Any]:
    """Labels of 50,000 subjects with three attributes of 7, 9 and 2 levels."""
    rng = np.random.default_rng(3)
    subject, truth = rng.integers(0, SUBJECTS, ROWS), rng.integers(0, 2, ROWS)
    return {
        "truth": truth,
        "prediction": np.where(rng.random(ROWS) < 0.9, truth, 1 - truth),
        "race": np.array(list("ABCDEFG"))[subject % 7],
        "age": np.array([f"{age}0s" for age in range(1, 10)])[subject % 9],
        "sex": np.array(["f", "m"])[subject % 2],
        "subject": subject,
    }


def table(data: dict[str, Any]) -> Any:
    """Everything that a report has: 118 groups, intervals by subject, tests, verdicts, references of gaps."""
    import polars as pl

    import evenhand as eh

    return eh.evaluate_table(
        pl.DataFrame(data),
        truth="truth",
        prediction="prediction",
        by=["race", "age", "sex"],
        unit="subject",
        metrics=["accuracy", "balanced_accuracy"],
        rows="none",
    ).results.estimates[0]


def metric_frame(data: dict[str, Any]) -> Any:
    """Two resamples of one metric over the 126 cells of the three attributes; rows, not subjects, are resampled."""
    import warnings

    import pandas as pd
    from fairlearn.metrics import MetricFrame
    from sklearn.metrics import accuracy_score

    warnings.simplefilter("ignore")
    return MetricFrame(
        metrics=accuracy_score,
        y_true=data["truth"],
        y_pred=data["prediction"],
        sensitive_features=pd.DataFrame({name: data[name] for name in ("race", "age", "sex")}),
        n_boot=PEER_DRAWS,
        ci_quantiles=[0.025, 0.975],
        random_state=0,
    ).by_group_ci


def crossed() -> dict[str, Any]:
    """Labels of 400,000 people with four attributes of ten levels: 14,640 groups at depth 4."""
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, 400_000)
    data = {f"attribute {place}": rng.integers(0, 10, len(truth)) for place in range(4)}
    return {**data, "truth": truth, "prediction": np.where(rng.random(len(truth)) < 0.85, truth, 1 - truth)}


def deep(data: dict[str, Any]) -> Any:
    """Accuracy of 14,640 groups with intervals, 50 million pairs tested, gaps beside their references."""
    import evenhand as eh

    by = [name for name in data if name.startswith("attribute")]
    given: dict[str, Any] = {"by": by, "depth": 4, "metrics": ["accuracy"], "rows": "none", "warn": print}
    return eh.evaluate_table(data, truth="truth", prediction="prediction", **given).results.estimates[0]


HOT = [
    Hot(
        "table/deep",
        "evaluate_table: 400,000 rows × 4 attributes of ten levels at depth 4: 14,640 groups, 50 million pairs",
        crossed,
        deep,
        goal="under 2 GB (time of CPU)",
        repeat=1,
        slow=True,
    ),
    Hot(
        "table/million",
        "evaluate_table: 1 million rows × 3 attributes, depth 2, 2,000 resamples, accuracy and balanced accuracy",
        million,
        table,
        metric_frame,
        "fairlearn MetricFrame, the bootstrap of accuracy alone",
        peer_share=PEER_DRAWS / 2000,
        bound=lambda data: np.bincount(data["subject"], data["truth"] == data["prediction"]),
        bound_name="one count of the rows by subject",
        goal="under 3 s, and at least 100 times the peer per resample",
    ),
]
