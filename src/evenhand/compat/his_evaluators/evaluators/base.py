"""The runners of the published package: lists of (prediction, reference) paths to one number per metric name.

```python
from evenhand.compat.his_evaluators.evaluators.base import PairedMetricRunner

PairedMetricRunner(("ssim", "lps"), device="cpu").evaluate([("out/0.png", "real/0.png")], image_size=256)
```

They record rows and measure them like every task; what is theirs is which names come back. The paired runner returns
what was asked. The unpaired one returns, under `compat`, the widened names in their fixed order; without any reference
face the two face metrics are absent. Under `strict` both return what was asked, in its corrected form. A metric whose
network is not here is `NotAvailable`, beside the numbers of the others.

The result file of the published evaluator is written letter by letter: it calls `ssim` a lower-is-better metric, and
its two remarks differ in a full stop. Both are kept here and nowhere else: our own reports take directions from the
metrics.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, TypedDict, Unpack

from evenhand.benchmarks.synthesis.availability import needs_pictures
from evenhand.benchmarks.synthesis.catalogue import (
    FACE_FOUND,
    PAIRED_DEFAULT,
    STRICT,
    entry_of,
    paired_metrics,
    paired_names,
    unpaired_metrics,
    unpaired_names,
    widened,
)
from evenhand.benchmarks.synthesis.features import FeatureTable
from evenhand.benchmarks.synthesis.measuring import FrameInstruments, FrameSource, NetworkBuilder
from evenhand.benchmarks.synthesis.options import SynthesisOptions
from evenhand.benchmarks.synthesis.pairs import FramePair
from evenhand.benchmarks.synthesis.plausibility import FramesBeside, picture_warnings
from evenhand.benchmarks.synthesis.protocol import Rules
from evenhand.benchmarks.synthesis.record import MeasurementPlan, paired_rows, unpaired_rows
from evenhand.core.measure import measure
from evenhand.core.metric import Direction, Undefined
from evenhand.core.printing import printable_lines
from evenhand.core.results import Estimate
from evenhand.instruments.device import choose_device

Paths = Sequence[tuple[str | Path, str | Path]]  # (prediction, reference)
SELF, CROSS = "Self-imitation", "Cross-imitation"
_RULE = "#" * 24
_CALLED_LOWER = frozenset({"ssim"})  # wrongly, in the saved file only


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
    estimates: tuple[Estimate, ...]


def run_paired(
    pairs: Sequence[FramePair],
    names: Sequence[str],
    looks: FrameInstruments,
    asked: MeasurementPlan,
    say: Callable[[str], None] = lambda message: None,
) -> RunnerResults:
    """The paired metrics over all pairs, in the order in which they were asked for."""
    wanted = paired_names(names)
    beside = [
        FramesBeside(pair.unit, pair.prediction, pair.reference)
        for pair in pairs
        if pair.prediction is not None and pair.reference is not None
    ]
    if needs_pictures(wanted, asked.options.rules, looks.synthesised.features, looks.real.features):
        for warning in picture_warnings(beside, asked.options.most_pixels):
            looks.warn(warning)
    metrics = paired_metrics(wanted, asked.options.rules)
    estimates = measure(paired_rows(pairs, looks, replace(asked, names=wanted)), metrics)
    return _results(wanted, estimates, looks, asked.options.rules)


def run_unpaired(
    pairs: Sequence[FramePair],
    names: Sequence[str],
    looks: FrameInstruments,
    asked: MeasurementPlan,
    say: Callable[[str], None] = lambda message: None,
) -> RunnerResults:
    """The unpaired metrics over two sets of frames, in their fixed order."""
    wanted = unpaired_names(names)
    given_back = widened(wanted) if asked.options.rules is Rules.COMPAT else wanted
    metrics = unpaired_metrics(given_back, asked.options.rules)
    estimates = measure(unpaired_rows(pairs, looks, replace(asked, names=given_back)), metrics)
    no_pictures = not pairs and "face" not in looks.refused
    without_faces = no_pictures or any(
        estimate.metric == FACE_FOUND and estimate.number == 0.0 for estimate in estimates
    )
    if without_faces and any(entry_of(name).feature == "face" for name in given_back):
        say("no reference frame shows a face: face-CS and face-FD are left out")
        given_back = tuple(name for name in given_back if entry_of(name).feature != "face")
    return _results(given_back, estimates, looks, asked.options.rules)


def _results(
    names: Sequence[str], estimates: Sequence[Estimate], looks: FrameInstruments, rules: Rules
) -> RunnerResults:
    by_metric: dict[str, Estimate] = {}
    for estimate in estimates:
        by_metric.setdefault(estimate.metric, estimate)  # the first output is the headline
    values: dict[str, float] = {}
    for name in names:
        if not estimates:
            values[name] = _without_pictures(name, looks, rules)
            continue
        corrected = rules is Rules.STRICT and name + STRICT in by_metric
        value = by_metric[name + STRICT if corrected else name].value
        if isinstance(value, Undefined):
            needed = entry_of(name).feature or name
            values[name] = NotAvailable(looks.refused.get(needed, value.reason))
            continue
        assert isinstance(value, float)  # the headline of every metric is a number
        values[name] = value
    return RunnerResults(values, tuple(estimates))


def _without_pictures(name: str, looks: FrameInstruments, rules: Rules) -> float:
    """The value of a metric when there is no picture at all: the published cosines and Fréchet distances are 0."""
    entry = entry_of(name)
    refused = looks.refused.get(entry.feature or name)
    is_zero = rules is Rules.COMPAT and entry.published and entry.feature and name not in ("is", "SSPE")
    return 0.0 if is_zero and refused is None else NotAvailable(refused or "there are no pictures")


def results_text(blocks: Mapping[str, Iterable[tuple[str, float]]]) -> str:
    """The text of the saved file: for every block a headline and a line per metric.

    >>> print(results_text({"Self-imitation": [("ssim", 0.5), ("psnr", 21.0)]}), end="")
    ########################Self-imitation Results########################
    ssim = 0.5, quality = lower score is better.
    psnr = 21.0, quality = higher score is better
    """
    lines = []
    for title, results in blocks.items():
        lines.append(f"{_RULE}{title} Results{_RULE}")
        lines.extend(f"{name} = {value}, quality = {quality(name, saved=True)}" for name, value in results)
    return "".join(f"{line}\n" for line in lines)


def quality(name: str, *, saved: bool) -> str:
    """The remark beside a value, as printed or as saved."""
    lower = entry_of(name).direction is Direction.LOWER or (saved and name in _CALLED_LOWER)
    return "lower score is better." if lower else "higher score is better"


def print_line(line: str) -> None:
    """A line on standard output, as the published package prints."""
    sys.stdout.write(printable_lines(line) + "\n")


def print_values(results: RunnerResults, say: Callable[[str], None]) -> dict[str, float]:
    """The values by name, each printed with its remark."""
    for name, value in results.values.items():
        say(f"{name} = {value}, quality = {quality(name, saved=False)}")
    return dict(results.values)


class MeasuringOptions(TypedDict, total=False):
    """What runners and evaluators take beyond the published arguments."""

    rules: Rules | Literal["compat", "strict"]  # the published rules, or the corrected ones; "compat"
    weights: str | Path | None  # a folder of weights files; none
    cache: str | Path | None  # a folder for readings that are kept; none
    networks: Mapping[str, Any] | None  # of your own, in the place of ours, by feature name; none
    empty_crop: Literal["error", "whole"]  # a person's box without pixels: refused, or the whole picture; "error"


class Measuring:
    """How pictures are measured: the options by name."""

    def __init__(self, **options: Unpack[MeasuringOptions]) -> None:
        if unknown := options.keys() - MeasuringOptions.__annotations__.keys():
            raise TypeError(f"{type(self).__name__} got an unexpected keyword argument {min(unknown)!r}")
        self.rules = Rules(options.get("rules", Rules.COMPAT))
        weights, cache = options.get("weights"), options.get("cache")
        self.weights, self.cache = (None if path is None else Path(path) for path in (weights, cache))
        self.networks = dict(options.get("networks") or {})
        self.empty_crop: Literal["error", "whole"] = options.get("empty_crop", "error")


class _MetricRunner(Measuring):
    """Metrics by name over lists of paths."""

    default: ClassVar[tuple[str, ...]]
    _kind: ClassVar[str]
    _run: ClassVar[staticmethod[..., RunnerResults]]
    _check: ClassVar[staticmethod[[Iterable[str]], tuple[str, ...]]]

    def __init__(
        self,
        metric_types: Sequence[str] | None = None,
        device: object = "cpu",
        *,
        say: Callable[[str], None] = print_line,
        **options: Unpack[MeasuringOptions],
    ) -> None:
        """`say` prints a line; `options` are those of `MeasuringOptions`."""
        from evenhand.compat.his_evaluators.metrics import register_metrics

        super().__init__(**options)
        self.metric_types = self._check(self.default if metric_types is None else tuple(metric_types))
        self.device, self.say = choose_device(str(device)), say
        self.metric_dict = register_metrics(self.metric_types, self.device)
        self.results: RunnerResults | None = None

    def evaluate(self, file_paths: Paths, image_size: int = 512, batch_size: int = 16) -> dict[str, float]:
        """The number of every metric over pairs of (prediction, reference), printed as the published package does."""
        pairs = [
            FramePair(f"{number:06d}", "", str(Path(reference).parent), Path(prediction), Path(reference))
            for number, (prediction, reference) in enumerate(file_paths)
        ]
        self.say(f"running {self.metric_types} metrics with {self._kind} samples = {len(pairs)}")
        looks = self.instruments(image_size)
        options = replace(looks.networks.options, batch=batch_size)
        options.check()
        asked = MeasurementPlan((), options)
        self.results = self._run(pairs, self.metric_types, looks, asked, self.say)
        return print_values(self.results, self.say)

    def instruments(self, image_size: int) -> FrameInstruments:
        """What pictures are looked at with, from files alone."""
        options = SynthesisOptions(
            rules=self.rules, weights=self.weights, empty_crop=self.empty_crop, image_size=image_size
        )
        networks = NetworkBuilder(options, self.device, self.cache, self.networks)
        made, real = FrameSource("synthesised", FeatureTable(Path())), FrameSource("real", FeatureTable(Path()))
        return FrameInstruments(made, real, networks, self.warn)

    def warn(self, message: str) -> None:
        """Print a warning."""
        self.say(f"warning: {message}")


class PairedMetricRunner(_MetricRunner):
    """Each prediction against its own reference: `ssim`, `psnr`, `lps`, `*-CS-reid`, `face-CS`, `SSPE`."""

    default = PAIRED_DEFAULT
    _kind = "paired"
    _run = staticmethod(run_paired)
    _check = staticmethod(paired_names)


class UnpairedMetricRunner(_MetricRunner):
    """Predictions against references as two sets; more names come back than were asked for, as published."""

    default = ("is", "fid", "OS-CS-reid", "OS-freid", "face-CS", "face-FD")
    _kind = "unpaired"
    _run = staticmethod(run_unpaired)
    _check = staticmethod(unpaired_names)


__all__ = ["NotAvailable", "PairedMetricRunner", "UnpairedMetricRunner"]
