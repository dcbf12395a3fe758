"""Evaluators in the clothes of the published package: a data set, a model, two dictionaries of numbers.

`evaluate` runs the model over the protocol in a process of its own, pairs what it made with the real frames, and
measures: self-imitations by the paired runner, cross-imitations by the unpaired one. Appearance transfer and novel
views have the paired runner only.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from evenhand.benchmarks.synthesis.catalogue import PAIRED_DEFAULT, UNPAIRED_DEFAULT
from evenhand.benchmarks.synthesis.data import find_protocol
from evenhand.benchmarks.synthesis.features import FeatureTable
from evenhand.benchmarks.synthesis.imitation import Outcome, StartMethod, Unfinished, run_model
from evenhand.benchmarks.synthesis.measuring import FrameInstruments, FrameSource, NetworkBuilder
from evenhand.benchmarks.synthesis.models import SynthesisModel
from evenhand.benchmarks.synthesis.pairs import PairLists, pair_lists
from evenhand.benchmarks.synthesis.protocol import Protocol, Reading, flavour_named
from evenhand.benchmarks.synthesis.protocol_file import Question
from evenhand.benchmarks.synthesis.published_text import CROSS, SELF, quality, results_text
from evenhand.benchmarks.synthesis.record import Asked
from evenhand.benchmarks.synthesis.runners import RunnerResults, all_metrics, run_paired, run_unpaired
from evenhand.core.errors import OptionError, PartError
from evenhand.files.writing import write_file
from evenhand.instruments.device import choose_device

OnMissing = Literal["error", "skip", "worst"]
"""What becomes of items that the model did not finish: an error, left out and counted, or counted as the worst."""


class _Evaluator:
    """What all evaluators share: where the data are, the model's run, and the printed lines."""

    question = Question.IMITATION

    def __init__(
        self,
        dataset: str,
        data_dir: str | Path,
        *,
        protocol: str | Path | None = None,
        reading: Literal["compat", "strict"] = "compat",
        weights: str | Path | None = None,
        cache: str | Path | None = None,
        networks: Mapping[str, Any] | None = None,
        empty_crop: Literal["error", "whole"] = "error",
        quiet: bool = False,
    ) -> None:
        """`protocol` is the protocol file; without it, it is looked for in `data_dir`.

        `weights` is a folder of weights files, `cache` one for readings that are kept, `networks` readers and
        comparers that take the place of ours, by feature name. `empty_crop` says what becomes of a person's box without
        pixels: an error, or the whole picture. `quiet` prints nothing.
        """
        self.flavour = flavour_named(dataset)
        self.data_dir = Path(data_dir)
        self.protocol_path = find_protocol(
            self.data_dir, dataset, self.question, None if protocol is None else Path(protocol)
        )
        self.reading = Reading(reading)
        self.weights = None if weights is None else Path(weights)
        self.cache = None if cache is None else Path(cache)
        self.networks = dict(networks or {})
        self.empty_crop = empty_crop
        self.quiet = quiet
        self.warnings: list[str] = []
        self.unfinished: tuple[tuple[str, Unfinished], ...] = ()
        self.outcomes: list[Outcome] = []
        self.blocks: dict[str, RunnerResults] = {}

    def save_results(self, path: str | Path) -> None:
        """Write the last results as the published package does, letter by letter."""
        if not self.blocks:
            raise OptionError("There are no results yet: call evaluate first.")
        write_file(path, results_text({title: list(found.values.items()) for title, found in self.blocks.items()}))

    def save_films(self, folder: str | Path, *, height: int = 256) -> list[Path]:
        """Write an MP4 of every finished item to look at: sources, motion frames and results side by side."""
        from evenhand.benchmarks.synthesis.films import write_film

        if not self.outcomes:
            raise OptionError("There is nothing to show yet: call evaluate first.")
        written = []
        for item, answer, _ in self.outcomes:
            if isinstance(answer, Unfinished):
                continue
            name = item.name.replace("/", "_")
            sources = [*item.source.images, *(item.appearance.images if item.appearance is not None else ())]
            for made, asked, path in (
                (answer.own, item.own, Path(folder) / f"{name}.mp4"),
                (answer.cross, item.cross, Path(folder) / f"{name}_cross.mp4"),
            ):
                if made and asked is not None:
                    write_film(path, sources, asked.images, [Path(one) for one in made], height=height)
                    written.append(path)
        return written

    def _synthesise(
        self,
        model: SynthesisModel,
        num_sources: int,
        *,
        start: StartMethod | None,
        resume: bool,
        on_missing: OnMissing,
        time_limit: float | None,
    ) -> PairLists:
        if self.reading is Reading.COMPAT and on_missing != "error":
            raise OptionError(
                f"on_missing={on_missing!r} changes what is averaged, so it needs reading='strict'; the published "
                "numbers are those of complete runs."
            )
        protocol = Protocol(
            self.protocol_path,
            self.data_dir,
            self.flavour,
            question=self.question,
            sources=num_sources,
            reading=self.reading,
        )
        if self.reading is Reading.COMPAT:
            for message in protocol.warnings():
                self._warn(message)
        self.outcomes = list(run_model(model, protocol, start=start, resume=resume, time_limit=time_limit))
        lists = pair_lists(self.outcomes, reading=self.reading, warn=self._warn)
        self.unfinished = lists.unfinished
        if lists.unfinished:
            told = "\n".join(f"- {why.cause}\n{why.detail}".rstrip() for _, why in lists.unfinished)
            done = len(protocol) - len(lists.unfinished)
            message = (
                f"The model did not finish {len(lists.unfinished)} of {len(protocol)} items; the pictures of the other "
                f"{done} are kept in {model.output_dir}.\n{told}"
            )
            if on_missing == "error" or not done:
                raise PartError(f"{message}\nCall evaluate again with resume=True to ask for these items only.")
            self._warn(message)
        return lists

    def _looks(self, image_size: int, device: object, output_dir: str) -> FrameInstruments:
        networks = NetworkBuilder(
            image_size=image_size,
            reading=self.reading,
            weights=self.weights,
            device=str(device),
            cache=self.cache,
            empty_crop=self.empty_crop,
            given=self.networks,
        )
        made, real = (
            FrameSource("synthesised", FeatureTable(Path(output_dir))),
            FrameSource("real", FeatureTable(self.data_dir)),
        )
        return FrameInstruments(made, real, networks, self._warn)

    def _asked(self, image_size: int, batch: int, on_missing: str) -> Asked:
        return Asked((), reading=self.reading, image_size=image_size, batch=batch, on_missing=on_missing)

    def _keep(self, title: str, results: RunnerResults) -> dict[str, float]:
        self.blocks[title] = results
        for name, value in results.values.items():
            self._say(f"{name} = {value}, quality = {quality(name, saved=False)}")
        return dict(results.values)

    def _warn(self, message: str) -> None:
        if message not in self.warnings:
            self.warnings.append(message)
            self._say(f"warning: {message}")

    def _say(self, line: str) -> None:
        if not self.quiet:
            sys.stdout.write(f"{line}\n")


class MotionImitationEvaluator(_Evaluator):
    """Self- and cross-imitation on a data set of videos."""

    def evaluate(
        self,
        model: SynthesisModel,
        num_sources: int = 1,
        image_size: int = 512,
        pair_types: Sequence[str] = PAIRED_DEFAULT,
        unpair_types: Sequence[str] = UNPAIRED_DEFAULT,
        device: object = "cpu",
        *,
        batch: int = 16,
        start: StartMethod | None = None,
        resume: bool = False,
        on_missing: OnMissing = "error",
        time_limit: float | None = None,
    ) -> tuple[dict[str, float], dict[str, float]]:
        """The results of self-imitation and of cross-imitation, by metric name.

        A metric that has no place in its runner, and a device that is not here, are refused before the model is
        started.
        """
        all_metrics(pair_types, unpair_types, self.reading)
        choose_device(str(device))
        lists = self._synthesise(
            model, num_sources, start=start, resume=resume, on_missing=on_missing, time_limit=time_limit
        )
        looks, asked = self._looks(image_size, device, model.output_dir), self._asked(image_size, batch, on_missing)
        self.blocks = {}
        own = run_paired(lists.own, pair_types, looks, asked) if pair_types else None
        cross = run_unpaired(lists.cross, unpair_types, looks, asked, self._say) if unpair_types else None
        return (
            self._keep(SELF, own) if own is not None else {},
            self._keep(CROSS, cross) if cross is not None else {},
        )


class _PairedEvaluator(_Evaluator):
    """One list of pairs and the paired runner."""

    title = SELF

    def evaluate(
        self,
        model: SynthesisModel,
        num_sources: int = 1,
        image_size: int = 512,
        pair_types: Sequence[str] = PAIRED_DEFAULT,
        device: object = "cpu",
        *,
        batch: int = 16,
        start: StartMethod | None = None,
        resume: bool = False,
        on_missing: OnMissing = "error",
        time_limit: float | None = None,
    ) -> dict[str, float]:
        """The results by metric name."""
        all_metrics(pair_types, (), self.reading)
        choose_device(str(device))
        lists = self._synthesise(
            model, num_sources, start=start, resume=resume, on_missing=on_missing, time_limit=time_limit
        )
        looks, asked = self._looks(image_size, device, model.output_dir), self._asked(image_size, batch, on_missing)
        self.blocks = {}
        return self._keep(self.title, run_paired(lists.own, pair_types, looks, asked))


class AppearanceTransferEvaluator(_PairedEvaluator):
    """A source in the appearance of another video, measured against the frames of that video.

    No reader for its protocol was ever published; the item is (a, b): sources of a, appearance and motion of b.
    """

    question = Question.APPEARANCE
    title = "Appearance-transfer"


class NovelViewEvaluator(_PairedEvaluator):
    """A source seen from other sides, measured against the frames that the protocol lists."""

    question = Question.NOVEL_VIEW
    title = "Novel-view"


class IPERMotionImitationEvaluator(MotionImitationEvaluator):
    """Motion imitation on iPER; `dataset="iPER_ICCV"` is the protocol of the earlier paper."""

    def __init__(self, dataset: str = "iPER", data_dir: str | Path = ".", **more: Any) -> None:
        if dataset not in ("iPER", "iPER_ICCV"):
            raise OptionError(f"dataset={dataset!r}: this evaluator knows iPER and iPER_ICCV.")
        super().__init__(dataset, data_dir, **more)


class MotionSyntheticMotionImitationEvaluator(MotionImitationEvaluator):
    """Motion imitation on MotionSynthetic."""

    def __init__(self, data_dir: str | Path, **more: Any) -> None:
        super().__init__("MotionSynthetic", data_dir, **more)


class FashionVideoMotionImitationEvaluator(MotionImitationEvaluator):
    """Motion imitation on FashionVideo."""

    def __init__(self, data_dir: str | Path, **more: Any) -> None:
        super().__init__("FashionVideo", data_dir, **more)


class YoutubeDancer18MotionImitationEvaluator(MotionImitationEvaluator):
    """Motion imitation on YoutubeDancer18."""

    def __init__(self, data_dir: str | Path, **more: Any) -> None:
        super().__init__("YoutubeDancer18", data_dir, **more)


class IPERAppearanceTransferEvaluator(AppearanceTransferEvaluator):
    """Appearance transfer on iPER."""

    def __init__(self, dataset: str = "iPER", data_dir: str | Path = ".", **more: Any) -> None:
        super().__init__(dataset, data_dir, **more)


class IPERNovelViewEvaluator(NovelViewEvaluator):
    """Novel views on iPER."""

    def __init__(self, dataset: str = "iPER", data_dir: str | Path = ".", **more: Any) -> None:
        super().__init__(dataset, data_dir, **more)
