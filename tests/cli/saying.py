"""What a command printed, and the case that the tests of the verbs evaluate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CASE = Path(__file__).parents[1] / "golden" / "cases" / "fairface" / "plain_csv_two_models"
PREDICTIONS = CASE / "predictions_model_a.csv"


@dataclass(frozen=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


Command = Callable[..., Said]
