"""How groups are judged: set before looking, printed with every report."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import OptionError
from evenhand.core.results import Method
from evenhand.core.streams import GENERATOR
from evenhand.stats.multiplicity import Correction
from evenhand.stats.resample import DEFAULT_DRAWS, DRAWS_WITH_THRESHOLDS
from evenhand.stats.verdicts import DEFAULT_MARGIN


@dataclass(frozen=True)
class Settings:
    """Draws, confidence, margin, smallest groups, correction, and the names that random streams come from."""

    draws: int = DEFAULT_DRAWS
    permutations: int = 2000
    confidence: float = 0.95
    alpha: float = 0.05
    margin: float = DEFAULT_MARGIN
    margins: Mapping[str, float] = field(default_factory=dict)  # by metric, or "metric.output"
    min_rows: int = 20
    min_units: int = 10
    correction: Correction = Correction.HOLM
    seed: tuple[str, ...] = ()  # streams are derived from these names
    stratified: bool = False  # draw units inside the groups of the first attribute, not over the whole data
    bias_corrected: bool = False  # BCa limits for redrawn values
    exact: bool = False  # Clopper and Pearson's intervals for proportions of independent rows, in place of Wilson's
    shrink: bool = False  # pooled beside raw values; always done for more than 20 groups
    detailed: bool = False  # compare groups on outputs of single classes and strata too
    unit: str = ""  # what was sampled independently, in words
    set_draws: int = 20  # of distances between sets, without replacement
    set_permutations: int = 0  # of units between two groups; 0 takes the spread of the draws instead
    costly_draws: int = DRAWS_WITH_THRESHOLDS  # for metrics that keep many rows

    def __post_init__(self) -> None:
        if self.draws < 0 or self.permutations < 0:
            raise OptionError(f"draws={self.draws}, permutations={self.permutations}: expected 0 or more.")
        if not 0 < self.confidence < 1:
            raise OptionError(
                f"confidence={self.confidence}: expected a number between 0 and 1, such as 0.95 (not 95)."
            )
        for name, margin in (("margin", self.margin), *self.margins.items()):
            if not margin > 0:
                raise OptionError(f"{name}={margin}: a margin is a positive difference, such as 0.05.")
        if self.min_rows < 0 or self.min_units < 0:
            raise OptionError(f"min_rows={self.min_rows}, min_units={self.min_units}: expected 0 or more.")

    def method(self, notes: tuple[str, ...] = ()) -> Method:
        """The same, as it is stored with the results."""
        return Method(
            draws=self.draws,
            permutations=self.permutations,
            seed="/".join(self.seed),
            generator=GENERATOR,
            confidence=self.confidence,
            margin=self.margin,
            min_rows=self.min_rows,
            min_units=self.min_units,
            correction=self.correction.value,
            unit=self.unit,
            notes=notes,
        )


def margin_of(settings: Settings, metric: str, output: str, values: NDArray[np.float64]) -> float | None:
    """The margin of an output: its own, its metric's, or the default for numbers from 0 to 1; else none.

    A distance between sets has no scale of its own, so it has no margin unless one is told, however small it is.

    >>> margin_of(Settings(), "psnr", "mean", np.array([28.0, 31.0]))
    >>> margin_of(Settings(), "kid", "distance", np.array([0.01, 0.02]))
    >>> margin_of(Settings(margins={"psnr": 1.0}), "psnr", "mean", np.array([28.0, 31.0]))
    1.0
    """
    for name in (f"{metric}.{output}", metric):
        if name in settings.margins:
            return settings.margins[name]
    if output == "distance":
        return None
    there = values[np.isfinite(values)]
    return settings.margin if len(there) and there.min() >= 0 and there.max() <= 1 else None
