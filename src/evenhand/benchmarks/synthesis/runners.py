"""The two runners of the published evaluator: pairs in, one number per name out.

They record rows and measure them like every task; what is theirs is which names come back. The paired runner returns
what was asked. The unpaired one returns, under `compat`, the widened names in their fixed order; without any reference
face the two face metrics are absent. Under `strict` both return what was asked, in its corrected form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from evenhand.benchmarks.synthesis.catalogue import (
    FACE_FOUND,
    STRICT,
    entry_of,
    paired_metrics,
    paired_names,
    unpaired_metrics,
    unpaired_names,
    widened,
)
from evenhand.benchmarks.synthesis.measuring import FrameInstruments
from evenhand.benchmarks.synthesis.pairs import FramePair
from evenhand.benchmarks.synthesis.protocol import Rules
from evenhand.benchmarks.synthesis.record import Asked, paired_rows, unpaired_rows
from evenhand.core.measure import AnyMetric, measure
from evenhand.core.metric import Undefined
from evenhand.core.results import Estimate


class NotAvailable(float):
    """The place of a number that could not be computed: not a number, which says why when it is printed.

    >>> print(NotAvailable("no weights"), NotAvailable("no weights") > 0)
    not available: no weights False
    """

    reason: str

    def __new__(cls, reason: str) -> NotAvailable:
        value = super().__new__(cls, "nan")
        value.reason = reason
        return value

    def __str__(self) -> str:
        return f"not available: {self.reason}"

    __repr__ = __str__

    def __format__(self, specification: str) -> str:
        return str(self)

    def __reduce__(self) -> tuple[type[NotAvailable], tuple[str]]:
        return type(self), (self.reason,)


@dataclass(frozen=True)
class RunnerResults:
    """The numbers of one runner, by published name, and all that was measured beside them."""

    values: dict[str, float]
    asked: tuple[str, ...]
    estimates: tuple[Estimate, ...]
    notes: tuple[str, ...] = ()

    @property
    def unasked(self) -> tuple[str, ...]:
        """Names that came along with those that were asked for."""
        return tuple(name for name in self.values if name not in self.asked)


def run_paired(
    pairs: Sequence[FramePair], names: Sequence[str], looks: FrameInstruments, asked: Asked
) -> RunnerResults:
    """The paired metrics over all pairs, in the order in which they were asked for."""
    wanted = paired_names(names)
    metrics = paired_metrics(wanted, asked.rules)
    estimates = measure(paired_rows(pairs, looks, replace(asked, names=wanted)), metrics)
    return _results(wanted, wanted, estimates, looks, asked.rules)


def run_unpaired(
    pairs: Sequence[FramePair],
    names: Sequence[str],
    looks: FrameInstruments,
    asked: Asked,
    say: Callable[[str], None] = lambda message: None,
) -> RunnerResults:
    """The unpaired metrics over two sets of frames, in their fixed order."""
    wanted = unpaired_names(names)
    given_back = widened(wanted) if asked.rules is Rules.COMPAT else wanted
    metrics = unpaired_metrics(given_back, asked.rules)
    estimates = measure(unpaired_rows(pairs, looks, replace(asked, names=given_back)), metrics)
    notes: tuple[str, ...] = ()
    if any(entry_of(name).feature == "face" for name in given_back) and _no_faces(estimates):
        notes = ("no reference frame shows a face: face-CS and face-FD are left out",)
        say(notes[0])
        given_back = tuple(name for name in given_back if entry_of(name).feature != "face")
    return replace(_results(wanted, given_back, estimates, looks, asked.rules), notes=notes)


def _results(
    asked: tuple[str, ...], names: Sequence[str], estimates: Sequence[Estimate], looks: FrameInstruments, rules: Rules
) -> RunnerResults:
    by_metric: dict[str, Estimate] = {}
    for estimate in estimates:
        by_metric.setdefault(estimate.metric, estimate)  # the first output is the headline
    values: dict[str, float] = {}
    for name in names:
        corrected = rules is Rules.STRICT and name + STRICT in by_metric
        value = by_metric[name + STRICT if corrected else name].value
        if isinstance(value, Undefined):
            needed = entry_of(name).feature or name
            values[name] = NotAvailable(looks.refused.get(needed, value.reason))
            continue
        assert isinstance(value, float)  # the headline of every metric is a number
        values[name] = value
    return RunnerResults(values, asked, tuple(estimates))


def _no_faces(estimates: Sequence[Estimate]) -> bool:
    """Whether faces were looked for and none was found."""
    return any(estimate.metric == FACE_FOUND and estimate.number == 0.0 for estimate in estimates)


def all_metrics(paired: Sequence[str], unpaired: Sequence[str], rules: Rules) -> tuple[AnyMetric, ...]:
    """Every metric that a call will measure; refuses names that have no place, before any model is run."""
    return (*paired_metrics(paired_names(paired), rules), *unpaired_metrics(unpaired_names(unpaired), rules))
