"""How groups are judged: one object, set before looking, stored and printed with every report.

`Settings` is made once, where a user speaks to the package (the command line, Python, a settings file), and
handed down whole. Every field can be set by name in all three.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import OptionError, UnknownNameError
from evenhand.core.metric import canonical_output
from evenhand.core.options import Options, as_plain, option, parse
from evenhand.core.results import Method
from evenhand.core.streams import GENERATOR
from evenhand.stats.multiplicity import DEFAULT_MARGIN, Correction

_MOST = 10_000_000  # of resamples, permutations and rows: more would never end
_INNER = ("scope", "unit")  # filled in from the task, not by a user


@dataclass(frozen=True)
class Settings(Options):
    """Resamples, confidence, margins, smallest groups, correction and seed of an analysis.

    >>> Settings(confidence=0.9).confidence
    0.9
    >>> Settings.make({"min_rows": "50"}, seed=3).min_rows
    50
    """

    draws: int = option(2000, "bootstrap resamples; 0: no intervals that need them")
    permutations: int = option(2000, "permutations of group labels, the reference of gaps; 0: none")
    confidence: float = option(0.95, "confidence of intervals")
    alpha: float = option(0.05, "adjusted p-values below it count as a difference")
    margin: float | None = option(
        None, "smallest difference that matters, for verdicts; none: the task's own, usually 0.05"
    )
    margins: Mapping[str, float] = field(
        default_factory=dict,
        metadata={"help": "margins by metric or metric.output, such as psnr=1.0"},
    )
    min_rows: int = option(20, "groups with fewer rows are shown and not compared")
    min_units: int = option(10, "groups with fewer independent units are shown and not compared")
    correction: Correction = option(Correction.HOLM, "how p-values of one family are adjusted")
    seed: int = option(0, "seed of all random streams")
    stratified: bool = option(False, "resample units inside the groups of the data, not over all of them")
    bias_corrected: bool = option(False, "bias-corrected and accelerated (BCa) limits for resampled values")
    exact: bool = option(False, "Clopper-Pearson instead of Wilson intervals, where every unit has one row")
    shrink: bool = option(False, "partially pooled proportions beside raw ones; always for more than 20 groups")
    detailed: bool = option(False, "compare groups on the outputs of single classes and strata too")
    standardise: str = option("", "an attribute: values of groups as if all had the same composition by it, too")
    set_draws: int = option(20, "subsamples of distances between sets, such as FID")
    set_permutations: int = option(0, "permutations for pairs of such distances; 0: the spread of the subsamples")
    costly_draws: int = option(200, "bootstrap resamples of metrics that keep many rows")
    scope: tuple[str, ...] = option((), "names that random streams are derived from, beside the seed")
    unit: str = option("", "what was sampled independently, in words")

    def __post_init__(self) -> None:
        for name in ("draws", "permutations", "set_permutations", "set_draws", "costly_draws", "min_rows", "min_units"):
            if not 0 <= getattr(self, name) <= _MOST:
                raise OptionError(f"{name}={getattr(self, name)!s:.40}: expected 0 or more, at most {_MOST:,}.")
        if not 0 < self.confidence < 1:
            raise OptionError(
                f"confidence={self.confidence}: expected a number between 0 and 1, such as 0.95 (not 95)."
            )
        if not 0 < self.alpha < 0.5:
            raise OptionError(f"alpha={self.alpha}: expected a number between 0 and 0.5, such as 0.05.")
        own = {} if self.margin is None else {"margin": self.margin}
        for name, margin in {**own, **self.margins}.items():
            if not 0 < margin < float("inf"):
                raise OptionError(f"{name}={margin}: a margin is a positive difference, such as 0.05.")

    @classmethod
    def make(cls, base: "Settings | Mapping[str, Any] | None" = None, **changes: Any) -> "Settings":
        """Settings from others or from a mapping of names, with some of them changed; texts are converted."""
        given = dict(base) if isinstance(base, Mapping) else {}
        start = base if isinstance(base, Settings) else cls()
        known = cls.names()
        for name in (*given, *changes):
            if name not in known:
                raise UnknownNameError("setting", name, known)
        parsed = parse(cls, {**given, **changes})
        return replace(start, **{name: getattr(parsed, name) for name in (*given, *changes)})

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """What a user can set."""
        return tuple(entry.name for entry in fields(cls) if entry.name not in _INNER)

    def for_task(self, name: str, margin: float, unit: str, *scope: str) -> "Settings":
        """The settings with what a task adds: its margin where none is set, its unit, the names of its streams."""
        return replace(
            self,
            margin=margin if self.margin is None else self.margin,
            scope=(*scope, name),
            unit=unit,
            permutations=self.permutations if self.draws else 0,
            set_permutations=self.set_permutations if self.draws else 0,
        )

    @property
    def levels(self) -> tuple[float, float]:
        """The confidences of an interval and of the narrower one that shows equivalence."""
        return self.confidence, 1 - 2 * self.alpha

    @property
    def stream_names(self) -> tuple[str, ...]:
        """The names that all random streams of the analysis begin with."""
        return (*self.scope, str(self.seed))

    def plain(self) -> dict[str, Any]:
        """What a user can set, as plain values: for the manifest of a run."""
        return {name: value for name, value in as_plain(self).items() if name not in _INNER}

    def method(self, notes: tuple[str, ...] = ()) -> Method:
        """The same, as it is stored with the results."""
        plain, defaults = self.plain(), Settings().plain()
        shown = ("draws", "permutations", "confidence", "min_rows", "min_units", "correction")
        margin = plain.pop("margin")
        del plain["seed"]  # one of the names of streams
        return Method(
            **{name: plain.pop(name) for name in shown},
            seed="/".join(self.stream_names),
            generator=GENERATOR,
            margin=DEFAULT_MARGIN if margin is None else margin,
            unit=self.unit,
            notes=notes,
            other={name: value for name, value in plain.items() if value != defaults[name]},
        )


def unused_margins(settings: Settings, names: Sequence[str]) -> list[str]:
    """The margins that are set for none of these metrics and outputs.

    >>> unused_margins(Settings(margins={"psnr": 1.0, "TAR@FAR=1e-4": 0.1}), ["TAR@FAR=0.0001"])
    ['psnr']
    """
    return [given for given in settings.margins if not any(_is_name_of(given, name) for name in names)]


def _is_name_of(given: str, name: str) -> bool:
    return given == name or canonical_output(given) == canonical_output(name)


def margin_of(settings: Settings, metric: str, output: str, values: NDArray[np.float64]) -> float | None:
    """The margin of an output: its own, its metric's, or the default for numbers from 0 to 1; else none.

    A distance between sets has no scale of its own, so it has no margin unless one is set, however small it is.

    >>> margin_of(Settings(), "psnr", "mean", np.array([28.0, 31.0]))
    >>> margin_of(Settings(), "kid", "distance", np.array([0.01, 0.02]))
    >>> margin_of(Settings(margins={"psnr": 1.0}), "psnr", "mean", np.array([28.0, 31.0]))
    1.0
    """
    for name in (f"{metric}.{output}", metric):
        for given, margin in settings.margins.items():
            if _is_name_of(given, name):
                return margin
    if output == "distance":
        return None
    there = values[np.isfinite(values)]
    default = DEFAULT_MARGIN if settings.margin is None else settings.margin
    return default if len(there) and there.min() >= 0 and there.max() <= 1 else None
