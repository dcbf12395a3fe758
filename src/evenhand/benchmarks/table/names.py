"""How reports write the values of a table; its columns and levels stay as the user named them."""

from __future__ import annotations

from evenhand.core.names import DisplayNames
from evenhand.metrics.names import VERIFICATION_VALUES

_RATES = {
    "selection_rate": "Selection rate",
    "true_positive_rate": "True positive rate",
    "false_positive_rate": "False positive rate",
    "false_negative_rate": "False negative rate",
    "true_negative_rate": "True negative rate",
}

NAMES = DisplayNames(
    family="Table",
    values=(
        ("labels: accuracy", "Accuracy"),
        ("labels: macro_f1", "Macro F1"),
        ("labels: macro_f1_present_classes", "Macro F1 over the classes that occur"),
        ("labels: balanced_accuracy", "Balanced accuracy"),
        ("labels: accuracy_answered_only", "Accuracy among rows with a prediction"),
        ("labels: unknown_rate", "Rows without a known prediction"),
        ("labels: confusion", "Confusion matrix"),
        (r"labels: precision:(.*)", r"Precision of \1"),
        (r"labels: recall:(.*)", r"Recall of \1"),
        (r"labels: f1:(.*)", r"F1 of \1"),
        *((f"rates: {key}", name) for key, name in _RATES.items()),
        *((f"rates: {key}:(.*)", rf"{name} of \1") for key, name in _RATES.items()),
        (r"rates: (TPR|FPR)@(FPR|TPR)=(\S+)", r"\1 at the threshold of overall \2 \3"),
        (r"rates: (TPR|FPR)@score=(\S+)", r"\1 at a score of \2"),
        ("brier: score", "Brier score"),
        ("calibration: expected_calibration_error", "Expected calibration error"),
        ("calibration: mean_confidence", "Mean score"),
        ("calibration: reliability", "Reliability"),
        ("mae: error", "Mean absolute error"),
        ("rmse: error", "Root mean square error"),
        ("bias: error", "Mean error (bias)"),
        (r"within_(\S+): rate", r"Within \1"),
        (r"detection: (AP|AR)(\d*)", r"\1\2"),
        ("recall: rate", "Recall"),
        ("precision: rate", "Precision"),
        ("overlap: mean", "Mean overlap"),
        *VERIFICATION_VALUES,
    ),
    shares=(r"rates: .*", r"labels: (precision|recall):.*", r"within_\S+: rate"),
    tasks={
        "table/labels": "Table of class labels",
        "table/scores": "Table of scores",
        "table/numbers": "Table of numbers",
        "table/pairs": "Table of verification pairs",
        "table/values": "Table of values",
        "table/detection": "Object detection (COCO format)",
    },
    items="rows",
)
