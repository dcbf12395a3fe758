"""Estimates, comparisons and coverage: one shape for every family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from typing import Any

from evenhand.core.errors import UnknownNameError
from evenhand.core.metric import OperatingPoint, Undefined, Value, canonical_output
from evenhand.core.records import EVERYONE, Group

UNVERIFIED_WEIGHTS = "unverified weights"
"""Stands beside values of networks whose weights no hash of their authors confirms."""


class Status(Enum):
    """Whether a group is large enough to be compared."""

    OK = "ok"
    SMALL = "small"
    EMPTY = "empty"


class Verdict(Enum):
    """What the data say about the difference of two groups, relative to a margin."""

    LARGE = "large"
    DIFFERENT = "different"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Estimate:
    """One value of one group, with the counts it is based on."""

    metric: str
    output: str
    group: Group
    value: Value
    low: float | None = None
    high: float | None = None
    rows: int = 0  # that the attributes of the group apply to, that could be measured, and that the value is based on
    units: int = 0
    method: str = ""  # how the interval was made
    status: Status = Status.OK
    missing: int = 0  # rows that could not be measured
    events: int | None = None  # the count that the value is based on
    at: OperatingPoint | None = None
    notes: tuple[str, ...] = ()

    @property
    def number(self) -> float | None:
        """The value when it is a number, else None."""
        return self.value if isinstance(self.value, float) else None


@dataclass(frozen=True)
class Contrast:
    """Two groups compared."""

    metric: str
    output: str
    first: Group
    second: Group
    difference: float | None  # first − second
    low: float | None
    high: float | None
    p: float | None
    adjusted: float | None
    verdict: Verdict | None
    worse: Group | None  # by the metric's direction; None when equal or when neither way is better
    test: str = ""
    interval: str = ""
    family: str = ""  # the pairs that were adjusted together
    family_size: int = 0
    correction: str = ""
    effects: Mapping[str, float] = field(default_factory=dict)  # cohens_h, cliffs_delta, ratio, …
    detectable: float | None = None  # minimum detectable difference at 80 % power
    margin: float | None = None
    shared_rows: int = 0  # rows in both groups, removed from both sides
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Omnibus:
    """Is there any difference at all between the groups of one attribute?"""

    metric: str
    output: str
    by: tuple[str, ...]
    test: str
    statistic: float | None
    freedom: float | None
    p: float | None
    groups: int
    reason: str = ""  # why there is no test


@dataclass(frozen=True)
class Reference:
    """What a gap would be if there were no difference: labels permuted over units."""

    permutations: int
    mean: float
    upper: float  # 95th percentile
    p: float
    excess: float  # gap − mean


@dataclass(frozen=True)
class Summary:
    """The spread of one output over the eligible groups of one attribute or intersection."""

    metric: str
    output: str
    by: tuple[str, ...]
    values: Mapping[str, float | Undefined]  # max_gap, min_over_max_ratio, gini_corrected, …
    worst: Group | None
    best: Group | None
    eligible: tuple[Group, ...]
    excluded: tuple[Group, ...]
    reference: Reference | None = None
    shrunken: Mapping[Group, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Coverage:
    """What was asked, and what became of it. Whatever is not a row is counted here, with a reason."""

    asked: int = 0
    answered: int = 0
    empty: int = 0  # answered with nothing
    unusable: int = 0  # answered, but could not be read
    missing: int = 0  # not answered
    extra: int = 0  # answers to nothing that was asked
    reasons: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # a few ids per reason


@dataclass(frozen=True)
class MetricFact:
    """A metric as it was applied: name, definition, outputs with directions, parameters."""

    name: str
    definition: str
    outputs: Mapping[str, str]
    parameters: Mapping[str, Any]
    kind: str = ""  # module:class, so that a stored run can be compared without its task


@dataclass(frozen=True)
class Method:
    """How uncertainty was computed; printed with every report."""

    draws: int = 0
    permutations: int = 0
    seed: str = ""
    generator: str = ""
    confidence: float = 0.95
    margin: float = 0.05
    min_rows: int = 20
    min_units: int = 10
    correction: str = "holm"
    unit: str = ""  # what was sampled independently
    notes: tuple[str, ...] = ()
    other: Mapping[str, Any] = field(default_factory=dict)  # further settings that are not the default


@dataclass(frozen=True)
class Results:
    """Everything that was found, with the facts it is based on."""

    task: str
    model: str
    dataset: str
    options: Mapping[str, Any]
    metrics: tuple[MetricFact, ...]
    estimates: tuple[Estimate, ...]
    coverage: Coverage
    contrasts: Sequence[Contrast] = ()  # a tuple, or `Contrasts`, which makes them when they are looked at
    omnibus: tuple[Omnibus, ...] = ()
    summaries: tuple[Summary, ...] = ()
    method: Method = field(default_factory=Method)
    instruments: Mapping[str, str] = field(default_factory=dict)  # name → fingerprint
    headline: tuple[str, str] | None = None  # metric, output
    by: tuple[str, ...] = ()
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rows: int = 0
    units: int = 0
    missing_attributes: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)  # what the family adds: prompts, conventions, counts
    version: str = ""  # of the package

    def get(self, metric: str, output: str | None = None, group: Group = EVERYONE) -> Estimate:
        """The estimate of a metric's output for a group; the first output by default.

        The name of an output alone will do, where one metric has it; rates in it may be written as 1e-4 or 0.0001; the
        terms of a group may be in any order.
        """
        names = list(dict.fromkeys(estimate.metric for estimate in self.estimates))
        if metric not in names and output is None:
            written = canonical_output(metric)
            owners = {estimate.metric for estimate in self.estimates if estimate.output in (metric, written)}
            if len(owners) == 1:
                metric, output = owners.pop(), metric
        if metric not in names:
            raise UnknownNameError("metric", metric, names)
        outputs = list(dict.fromkeys(e.output for e in self.estimates if e.metric == metric))
        output = outputs[0] if output is None else output
        output = output if output in outputs else canonical_output(output)
        if output not in outputs:
            raise UnknownNameError(f"output of {metric}", output, outputs)
        for estimate in self.of(metric, output):
            if set(estimate.group.terms) == set(group.terms):
                return estimate
        raise UnknownNameError("group", str(group), [str(e.group) for e in self.of(metric, output)])

    def class_labels(self) -> Mapping[str, Sequence[str]]:
        """By column of class codes, such as `truth` and `answer`: the labels that the codes stand for."""
        coded = [fact.parameters for fact in self.metrics if "labels" in fact.parameters]
        return {
            str(own[column]): tuple(own["labels"]) for own in coded for column in ("truth", "answer") if column in own
        }

    @property
    def unverified(self) -> Mapping[str, str]:
        """The metrics of networks whose weights no hash of their authors confirms, and the column of rows of each."""
        return dict(self.facts.get("unverified") or {})

    @property
    def not_available(self) -> Mapping[str, str]:
        """The metrics that could not be computed on the machine of the run, and why."""
        return dict(self.facts.get("not_available") or {})

    def of(self, metric: str, output: str) -> Iterator[Estimate]:
        """All estimates of one output, in the order of groups."""
        return (e for e in self.estimates if e.metric == metric and e.output == output)

    def columns(self) -> dict[str, list[Any]]:
        """Every estimate that is a number or undefined, column by column: one line per metric, output and group."""
        listed = [e for e in self.estimates if e.number is not None or isinstance(e.value, Undefined)]
        marks = dict.fromkeys(self.unverified, (UNVERIFIED_WEIGHTS,))
        return {
            "task": [self.task for _ in listed],
            "model": [self.model for _ in listed],
            "metric": [e.metric for e in listed],
            "output": [e.output for e in listed],
            "group": [str(e.group) for e in listed],
            "value": [e.number for e in listed],
            "low": [e.low for e in listed],
            "high": [e.high for e in listed],
            "rows": [e.rows for e in listed],
            "units": [e.units for e in listed],
            "missing": [e.missing for e in listed],
            "status": [e.status.value for e in listed],
            "method": [e.method for e in listed],
            "reason": [e.value.reason if isinstance(e.value, Undefined) else "" for e in listed],
            "notes": ["; ".join((*marks.get(e.metric, ()), *e.notes)) for e in listed],
        }

    # Views of results are above this layer: they are found by name when somebody looks.

    def to_frame(self) -> Any:
        """`columns` as a Polars frame."""
        return import_module("evenhand.store.frames").estimates_frame(self)

    def to_pandas(self) -> Any:
        """`columns` as a pandas frame; pandas must be installed."""
        return import_module("evenhand.store.frames").estimates_pandas(self)

    def plot(self, metric: str | None = None, output: str | None = None, by: Sequence[str] | None = None) -> Any:
        """The chart of groups with their intervals that the report has; the headline by default."""
        names = (by,) if isinstance(by, str) else by
        return import_module("evenhand.reporting.reported").plot(self, metric, output, names)

    def _repr_html_(self) -> str:
        html: str = import_module("evenhand.reporting.reported").first_screen(self)
        return html
