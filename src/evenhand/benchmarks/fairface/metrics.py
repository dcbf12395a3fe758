"""Labels against answers, where a group may have one true class only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from evenhand.core.metric import Column, Direction, Numbers, Ratio
from evenhand.metrics.labels import Confusion, ConfusionCounts

_OVER_CLASSES: Final = ("macro_f1", "macro_f1_present_classes", "balanced_accuracy")
_FIRST: Final = ("accuracy", "macro_f1", "unknown_rate", "balanced_accuracy")  # what a reader sees first
_BRIEF: Final = ("accuracy", "unknown_rate", "confusion")
ONE_CLASS: Final = "the group has one true class only; its recall is the group's accuracy"


@dataclass(frozen=True)
class LabelAgreement(Confusion):
    """Accuracy, macro-F1 over the declared classes, and the confusion matrix; `unknown` is a wrong answer.

    Averages over classes are undefined in a group that has one true class while
    the whole data have several: macro-F1 of white faces by race says nothing.
    With `brief`, accuracy, the share of unknown answers and the matrix are all.
    """

    brief: bool = False

    @property
    def outputs(self) -> Mapping[str, Direction]:
        ways = super().outputs
        names = _BRIEF if self.brief else (*_FIRST, *(name for name in ways if name not in _FIRST))
        return {name: ways[name] for name in names}

    def result(self, part: ConfusionCounts, whole: ConfusionCounts) -> Mapping[str, Column]:
        columns = dict(super().result(part, whole))
        present = (part.tables().sum(axis=2) > 0).sum(axis=1)
        overall = (whole.tables().sum(axis=2) > 0).sum(axis=1)
        meaningless = (present == 1) & (overall > 1)
        if meaningless.any():
            for output in _OVER_CLASSES:
                column = columns[output]
                assert isinstance(column, Numbers)
                reasons = np.array([str(column.reason), ONE_CLASS], dtype=object)[meaningless.astype(np.intp)]
                columns[output] = Numbers(np.where(meaningless, np.nan, column.values), reasons.tolist())
        return {name: columns[name] for name in self.outputs}

    def ratios(self, state: ConfusionCounts) -> Mapping[str, Ratio]:
        ratios = super().ratios(state)
        return {name: ratios[name] for name in self.outputs if name in ratios}
