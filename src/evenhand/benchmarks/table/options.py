"""What a user says about a table: which column is what, and what counts as right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Literal

from evenhand.core.errors import OptionError
from evenhand.core.options import Options, option

MOST_LEVELS = 200  # different values of a column to group by; more must be allowed


@dataclass(frozen=True)
class TableOptions(Options):
    """What every kind of table has."""

    unit: str = option("", "the column of what was sampled independently, such as the subject; none: every row is one")
    key: str = option("", "the column that names a row; joins predictions to the truth, where they are in two files")
    weight: str = option("", "a column of sample weights")
    by: tuple[str, ...] = option((), "columns to group by; --by sets it")
    bins: tuple[str, ...] = option((), "columns of numbers to group in steps, with their limits: age:18:30:50")
    metrics: tuple[str, ...] = option((), "metrics or outputs to keep; none: all")
    most_levels: int = option(MOST_LEVELS, "most different values that a column to group by may have")

    def __post_init__(self) -> None:
        for name in ("fpr", "tpr", "far"):
            if any(not 0 <= rate <= 1 for rate in getattr(self, name, ())):
                raise OptionError(f"{name}={getattr(self, name)}: a rate lies between 0 and 1.")
        for text in self.bins:
            limits_of(text)

    @property
    def limits(self) -> dict[str, tuple[float, ...]]:
        """The limits at which columns of numbers are cut into groups."""
        return dict(map(limits_of, self.bins))


def limits_of(text: str) -> tuple[str, tuple[float, ...]]:
    """A column and the limits of its groups; refuses limits that do not rise.

    >>> limits_of("age:18:30.5")
    ('age', (18.0, 30.5))
    """
    match = re.fullmatch(r"(.+?)((?::[-+.\deE]+)+)", text)
    try:
        limits = tuple(map(float, match[2].split(":")[1:])) if match else ()
    except ValueError:
        limits = ()
    if match is None or not limits or any(not low < high for low, high in pairwise((-inf, *limits, inf))):
        raise OptionError(f"bins={text}: expected a column and its rising limits, such as age:18:30:50.")
    return match[1], limits


def bins_of(limits: Mapping[str, Iterable[float]]) -> tuple[str, ...]:
    """Limits as the option has them.

    >>> bins_of({"age": [18, 30.5]})
    ('age:18:30.5',)
    """
    return tuple(":".join([name, *map(limit_text, edges)]) for name, edges in limits.items())


def limit_text(limit: float) -> str:
    """A limit as short as it can be written without loss: 18, 30.5, 1234567."""
    return repr(float(limit)).removesuffix(".0")


@dataclass(frozen=True)
class LabelOptions(TableOptions):
    """Classes: a true and a predicted label."""

    truth: str = option("truth", "the column of true labels")
    prediction: str = option("prediction", "the column of predicted labels")
    labels: tuple[str, ...] = option((), "the classes, in the order of display; none: those of the truth")
    positive: str = option("", "the class that rates are about; none: the second of two classes, else each class")


@dataclass(frozen=True)
class ScoreOptions(TableOptions):
    """Scores with a truth that is yes or no."""

    truth: str = option("truth", "the column of the truth: two labels, or 0 and 1")
    score: str = option("score", "the column of scores; higher means more likely")
    positive: str = option("", "the label that scores are for; none: the second of the two")
    fpr: tuple[float, ...] = option((0.01, 0.1), "false positive rates at which thresholds are set, on everyone")
    tpr: tuple[float, ...] = option((0.9,), "true positive rates at which thresholds are set, on everyone")
    thresholds: tuple[float, ...] = option((), "further thresholds, as scores")
    probabilities: bool | None = option(None, "are scores probabilities? none: yes if all lie between 0 and 1")


@dataclass(frozen=True)
class NumberOptions(TableOptions):
    """Numbers: a true and a predicted one."""

    truth: str = option("truth", "the column of true numbers")
    prediction: str = option("prediction", "the column of predicted numbers")
    tolerance: tuple[float, ...] = option((), "absolute errors up to so much are within tolerance")

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(not limit >= 0 for limit in self.tolerance):
            raise OptionError(f"tolerance={self.tolerance}: an error of 0 or more was expected.")


@dataclass(frozen=True)
class TablePairOptions(TableOptions):
    """Verification: pairs of people with a score."""

    truth: str = option("same", "the column that says whether both are the same person: 0 or 1, true or false")
    score: str = option("score", "the column of similarities; higher means more alike")
    unit: str = option("subject_a", "the column of the first person of each pair")
    unit_b: str = option("subject_b", "the column of the second person")
    far: tuple[float, ...] = option((1e-3, 1e-2, 1e-1), "false accept rates at which thresholds are set")


@dataclass(frozen=True)
class FunctionOptions(TableOptions):
    """Any truth and prediction, for functions of the user."""

    truth: str = option("truth", "the column of the truth")
    prediction: str = option("prediction", "the column of the prediction")


@dataclass(frozen=True)
class DetectionTableOptions(Options):
    """Detections in COCO's format."""

    groups: Path | None = option(None, "a table of groups by image_id or annotation_id")
    by: tuple[str, ...] = option((), "its columns to group by; --by sets it")
    overlap: float = option(
        0.5, "intersection over union from which a detection finds an object, for recall and precision"
    )
    score: float = option(0.5, "detections of at least this score count for recall and precision; AP takes all")

    def __post_init__(self) -> None:
        if not 0 < self.overlap <= 1:
            raise OptionError(f"overlap={self.overlap:g}: an overlap above 0 and up to 1 was expected, such as 0.5.")


@dataclass(frozen=True)
class ValueOptions(TableOptions):
    """Any column that is a number per row, such as an overlap or a similarity."""

    value: tuple[str, ...] = option(("value",), "the columns to average")
    scale: tuple[float, ...] = option(
        (), "LOW,HIGH: the ends that values can't leave; none: 0,1 if all lie between them"
    )
    direction: Literal["higher", "lower", "neither"] = option("higher", "which way is better")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale and not (len(self.scale) == 2 and self.scale[0] < self.scale[1]):
            raise OptionError(f"scale={self.scale}: expected two numbers, the lower end first, such as scale=0,1.")
