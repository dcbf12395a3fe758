"""The runners of the published package: lists of (prediction, reference) paths to one number per metric name.

```python
from evenhand.compat.his_evaluators.evaluators.base import PairedMetricRunner

PairedMetricRunner(("ssim", "lps"), device="cpu").evaluate([("out/0.png", "real/0.png")], image_size=256)
```

A metric whose network is not here is `NotAvailable`, beside the numbers of the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from evenhand.benchmarks.synthesis.catalogue import PAIRED_DEFAULT, paired_names, unpaired_names
from evenhand.benchmarks.synthesis.features import FeatureTable
from evenhand.benchmarks.synthesis.measuring import FrameInstruments, FrameSource, NetworkBuilder
from evenhand.benchmarks.synthesis.pairs import FramePair
from evenhand.benchmarks.synthesis.protocol import Rules
from evenhand.benchmarks.synthesis.published_text import quality
from evenhand.benchmarks.synthesis.record import Asked
from evenhand.benchmarks.synthesis.runners import NotAvailable, RunnerResults, run_paired, run_unpaired
from evenhand.core.printing import printable_lines
from evenhand.instruments.device import choose_device

Paths = Sequence[tuple[str | Path, str | Path]]  # (prediction, reference)


def print_line(line: str) -> None:
    """A line on standard output, as the published package prints."""
    sys.stdout.write(printable_lines(line) + "\n")


class _MetricRunner:
    """Metrics by name over lists of paths."""

    default: ClassVar[tuple[str, ...]] = PAIRED_DEFAULT

    def __init__(
        self,
        metric_types: Sequence[str] | None = None,
        device: object = "cpu",
        *,
        rules: Literal["compat", "strict"] = "compat",
        weights: str | Path | None = None,
        cache: str | Path | None = None,
        networks: Mapping[str, Any] | None = None,
        empty_crop: Literal["error", "whole"] = "error",
        say: Callable[[str], None] = print_line,
    ) -> None:
        from evenhand.compat.his_evaluators.metrics import register_metrics

        self.metric_types = self._checked(self.default if metric_types is None else tuple(metric_types))
        self.device = choose_device(str(device))
        self.rules = Rules(rules)
        self.weights = None if weights is None else Path(weights)
        self.cache = None if cache is None else Path(cache)
        self.networks, self.empty_crop, self.say = dict(networks or {}), empty_crop, say
        self.metric_dict = register_metrics(self.metric_types, self.device)
        self.results: RunnerResults | None = None

    def evaluate(self, file_paths: Paths, image_size: int = 512, batch_size: int = 16) -> dict[str, float]:
        """The number of every metric over pairs of (prediction, reference), printed as the published package does."""
        pairs = [
            FramePair(f"{number:06d}", "", str(Path(reference).parent), Path(prediction), Path(reference))
            for number, (prediction, reference) in enumerate(file_paths)
        ]
        self.say(f"running {self.metric_types} metrics with {self._kind} samples = {len(pairs)}")
        asked = Asked((), rules=self.rules, image_size=image_size, batch=batch_size)
        self.results = self._run(pairs, self.instruments(image_size), asked)
        for name, value in self.results.values.items():
            self.say(f"{name} = {value}, quality = {quality(name, saved=False)}")
        return dict(self.results.values)

    def instruments(self, image_size: int) -> FrameInstruments:
        """What pictures are looked at with."""
        networks = NetworkBuilder(
            image_size=image_size,
            rules=self.rules,
            weights=self.weights,
            device=self.device,
            cache=self.cache,
            empty_crop=self.empty_crop,
            given=self.networks,
        )
        made, real = FrameSource("synthesised", FeatureTable(Path())), FrameSource("real", FeatureTable(Path()))
        return FrameInstruments(made, real, networks, self.warn)

    def warn(self, message: str) -> None:
        """Print a warning."""
        self.say(f"warning: {message}")

    _kind: ClassVar[str] = "paired"

    def _checked(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return paired_names(names)

    def _run(self, pairs: Sequence[FramePair], instruments: FrameInstruments, asked: Asked) -> RunnerResults:
        return run_paired(pairs, self.metric_types, instruments, asked)


class PairedMetricRunner(_MetricRunner):
    """Each prediction against its own reference: `ssim`, `psnr`, `lps`, `*-CS-reid`, `face-CS`, `SSPE`."""


class UnpairedMetricRunner(_MetricRunner):
    """Predictions against references as two sets; more names come back than were asked for, as published."""

    default = ("is", "fid", "OS-CS-reid", "OS-freid", "face-CS", "face-FD")
    _kind = "unpaired"

    def _checked(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return unpaired_names(names)

    def _run(self, pairs: Sequence[FramePair], instruments: FrameInstruments, asked: Asked) -> RunnerResults:
        return run_unpaired(pairs, self.metric_types, instruments, asked, self.say)


__all__ = ["NotAvailable", "PairedMetricRunner", "UnpairedMetricRunner"]
