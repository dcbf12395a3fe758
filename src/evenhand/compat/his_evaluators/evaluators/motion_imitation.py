"""Evaluators with the interface of the published package: a data set, a model, two dictionaries of numbers.

`evaluate` runs the model over the protocol in a process of its own, pairs what it made with the real frames, and
measures: self-imitations by the paired runner, cross-imitations by the unpaired one. Appearance transfer and novel
views have the paired runner only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, TypedDict, TypeVar, Unpack

from evenhand.benchmarks.synthesis.availability import unavailable
from evenhand.benchmarks.synthesis.catalogue import PAIRED_DEFAULT, UNPAIRED_DEFAULT, paired_names, unpaired_names
from evenhand.benchmarks.synthesis.data import find_protocol
from evenhand.benchmarks.synthesis.imitation import Outcome, StartMethod, run_model
from evenhand.benchmarks.synthesis.models import MotionImitationModel as MotionImitationModel  # published here too
from evenhand.benchmarks.synthesis.models import SynthesisModel
from evenhand.benchmarks.synthesis.pairs import PairLists, pair_lists
from evenhand.benchmarks.synthesis.protocol import Protocol, Rules, flavour_named
from evenhand.benchmarks.synthesis.protocol_file import ProtocolQuestion
from evenhand.benchmarks.synthesis.record import MeasurementPlan
from evenhand.compat.his_evaluators.evaluators.base import (
    CROSS,
    SELF,
    Measuring,
    MeasuringOptions,
    PairedMetricRunner,
    Paths,
    RunnerResults,
    UnpairedMetricRunner,
    print_line,
    print_values,
    results_text,
    run_paired,
    run_unpaired,
)
from evenhand.core.engine import Failed
from evenhand.core.errors import OptionError, PartError
from evenhand.files.writing import write_file

_DATASETS = {
    "iPER_Appearance_Transfer": "iPER",
    "iPER_Novel_View": "iPER",
    "MotionSynthetic_Novel_View": "MotionSynthetic",
}
"""Names of protocols that the published evaluators use for data sets."""

Runner = TypeVar("Runner", PairedMetricRunner, UnpairedMetricRunner)
OnMissing = Literal["error", "skip", "worst"]
"""What becomes of items that the model did not finish: an error, left out and counted, or counted as the worst."""


class RunOptions(TypedDict, total=False):
    """What `evaluate` takes beyond the published arguments."""

    batch: int  # frames that a network gets at once; 16
    start: StartMethod | None  # how the model's process is started; as it can be, by default
    resume: bool  # ask only for the videos that an earlier call did not finish; no
    on_missing: OnMissing  # what becomes of videos without pictures; "error"
    time_limit: float | None  # seconds for a video; none


class _Evaluator(Measuring):
    """What all evaluators share: where the data are, the model's run, and the printed lines."""

    question = ProtocolQuestion.IMITATION
    titles: tuple[str, ...] = (SELF,)
    _default_dataset: ClassVar[str] = "iPER"

    def __init__(
        self,
        data_dir: str | Path,
        dataset: str | None = None,
        *,
        protocol: str | Path | None = None,
        quiet: bool = False,
        **options: Unpack[MeasuringOptions],
    ) -> None:
        """`dataset` is the one of the class's name, or iPER. `protocol` is the protocol file; without it, it is looked
        for in `data_dir`. `quiet` prints nothing. `options` are those of `MeasuringOptions`.
        """
        super().__init__(**options)
        self.quiet = quiet
        self._protocol_file = None if protocol is None else Path(protocol)
        self.warnings: list[str] = []
        self.unfinished: tuple[tuple[str, Failed], ...] = ()
        self.outcomes: list[Outcome] = []
        self.blocks: dict[str, RunnerResults] = {}
        self.paired_metrics_runner: PairedMetricRunner | None = None
        self.reset_dataset(self._default_dataset if dataset is None else dataset, data_dir)

    def reset_dataset(self, dataset: str, data_dir: str | Path) -> None:
        """Go on with another data set."""
        name = _DATASETS.get(dataset, dataset)
        self.flavour, self.data_dir = flavour_named(name), Path(data_dir)
        self.protocol_path = find_protocol(self.data_dir, name, self.question, self._protocol_file)
        self.protocols = Protocols(self)

    def protocol(self, num_sources: int, *, parameters: bool = True) -> Protocol:
        """The items of the protocol, with so many sources each."""
        return Protocol(
            self.protocol_path,
            self.data_dir,
            self.flavour,
            question=self.question,
            sources=num_sources,
            rules=self.rules,
            parameters=parameters,
        )

    def run_inference(self, model: Any, src_infos: dict[str, Any], ref_infos: dict[str, Any]) -> list[str]:
        """The pictures of one call of the model."""
        return list(model.imitate(src_infos, ref_infos))

    def preprocess(self, *args: Any, **kwargs: Any) -> None:
        """Nothing, as published."""

    def save_results(self, out_path: str | Path, *results: Mapping[str, float]) -> None:
        """Write results as the published package does, letter by letter: those given, or the last ones."""
        if not results and not self.blocks:
            raise OptionError("There are no results yet: call evaluate first.")
        titles = list(self.blocks) or list(self.titles)
        given = {title: dict(values) for title, values in zip(titles, results, strict=False)}
        blocks = given or {title: block.values for title, block in self.blocks.items()}
        write_file(out_path, results_text({title: list(values.items()) for title, values in blocks.items()}))

    def _runner(self, kind: type[Runner], names: Sequence[str], device: object) -> Runner:
        options: Any = {name: getattr(self, name) for name in MeasuringOptions.__annotations__}
        return kind(names, device, say=self._say, **options)

    def save_films(self, folder: str | Path, *, height: int = 256) -> list[Path]:
        """Write an MP4 of every finished item to look at: sources, motion frames and results side by side."""
        from evenhand.benchmarks.synthesis.films import write_film

        if not self.outcomes:
            raise OptionError("There is nothing to show yet: call evaluate first.")
        written = []
        for item, answer, _ in self.outcomes:
            if isinstance(answer, Failed):
                continue
            name = item.name.replace("/", "_")
            sources = [*item.source.images, *(item.appearance.images if item.appearance is not None else ())]
            for made, asked, path in (
                (answer.own, item.own, Path(folder) / f"{name}.mp4"),
                (answer.cross, item.cross, Path(folder) / f"{name}_cross.mp4"),
            ):
                if made and asked is not None:
                    write_film(path, sources, asked.images, list(map(Path, made)), height=height)
                    written.append(path)
        return written

    def _synthesise(
        self, model: SynthesisModel, num_sources: int, on_missing: OnMissing = "error", **how: Any
    ) -> PairLists:
        if self.rules is Rules.COMPAT and on_missing != "error":
            raise OptionError(
                f"on_missing={on_missing!r} changes what is averaged, so it needs rules='strict'; the published "
                "numbers are those of complete runs."
            )
        protocol = self.protocol(num_sources)
        if self.rules is Rules.COMPAT:
            for message in protocol.warnings():
                self._warn(message)
        self.outcomes = list(run_model(model, protocol, **how))
        lists = pair_lists(self.outcomes, rules=self.rules, warn=self._warn)
        self.unfinished = lists.unfinished
        if lists.unfinished:
            reasons = "\n".join(f"- {why.cause}\n{why.detail}".rstrip() for _, why in lists.unfinished)
            done = len(protocol) - len(lists.unfinished)
            message = (
                f"The model did not finish {len(lists.unfinished)} of {len(protocol)} items; the pictures of the other "
                f"{done} are kept in {model.output_dir}.\n{reasons}"
            )
            if on_missing == "error" or not done:
                raise PartError(f"{message}\nCall evaluate again with resume=True to ask for these items only.")
            self._warn(message)
        return lists

    def _evaluate(
        self,
        model: SynthesisModel,
        num_sources: int,
        image_size: int,
        pair_types: Sequence[str],
        unpair_types: Sequence[str],
        device: object,
        *,
        batch: int = 16,
        on_missing: OnMissing = "error",
        **how: Any,  # start, resume, time_limit: for `run_model`
    ) -> list[dict[str, float]]:
        """The results of each title, by metric name; what can't be measured is refused before the model is started."""
        names = [*paired_names(pair_types), *unpaired_names(unpair_types)]
        looks = replace(self._runner(PairedMetricRunner, (), device).instruments(image_size), warn=self._warn)
        options = replace(looks.networks.options, batch=batch, on_missing=on_missing)
        for feature, reason in unavailable(names, options).items():  # said before the model runs
            if feature not in self.networks:
                self._warn(f"{feature} is not available: {reason}")
        lists = self._synthesise(model, num_sources, on_missing, **how)
        asked = MeasurementPlan((), options)
        own = run_paired(lists.own, pair_types, looks, asked) if pair_types else None
        cross = run_unpaired(lists.cross, unpair_types, looks, asked, self._say) if unpair_types else None
        results = dict(zip(self.titles, (own, cross), strict=False))
        self.blocks = {title: block for title, block in results.items() if block is not None}
        return [print_values(block, self._say) if block is not None else {} for block in results.values()]

    def _warn(self, message: str) -> None:
        if message not in self.warnings:
            self.warnings.append(message)
            self._say(f"warning: {message}")

    def _say(self, line: str) -> None:
        if not self.quiet:
            print_line(line)


class Protocols:
    """The items of an evaluator's protocol as the published package hands them out: dictionaries, item by item."""

    def __init__(self, evaluator: _Evaluator) -> None:
        self._evaluator = evaluator
        self.setup()

    def setup(self, num_sources: int = 1, load_smpls: bool = True, load_kps: bool = True) -> None:
        """Choose the number of sources, and whether parameters and key points are read."""
        self.num_sources = num_sources
        self._items = self._evaluator.protocol(num_sources, parameters=load_smpls or load_kps)

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, position: int) -> dict[str, Any]:
        item = self._items[position]
        infos: dict[str, Any] = {
            "source": item.source.as_dictionary(),
            "self_imitation": item.own.as_dictionary(),
            "flag": [str(path) for path in item.flag],
        }
        if item.cross is not None:
            infos["cross_imitation"] = item.cross.as_dictionary()
        if item.appearance is not None:
            infos["appearance"] = item.appearance.as_dictionary()
        return infos

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[position] for position in range(len(self)))


class MotionImitationEvaluator(_Evaluator):
    """Self- and cross-imitation on a data set of videos."""

    titles = (SELF, CROSS)
    unpaired_metrics_runner: UnpairedMetricRunner | None = None

    def build_metrics(
        self,
        pair_types: Sequence[str] = PAIRED_DEFAULT,
        unpair_types: Sequence[str] = UNPAIRED_DEFAULT,
        device: object = "cpu",
    ) -> None:
        """Make the two runners that `run_metrics` uses."""
        self.paired_metrics_runner = self._runner(PairedMetricRunner, pair_types, device)
        self.unpaired_metrics_runner = self._runner(UnpairedMetricRunner, unpair_types, device)

    def run_metrics(
        self, self_imitation_files: Paths, cross_imitation_files: Paths, image_size: int = 512
    ) -> tuple[dict[str, float], dict[str, float]]:
        """The results of lists of (prediction, reference) paths: self-imitation, cross-imitation."""
        if self.paired_metrics_runner is None or self.unpaired_metrics_runner is None:
            raise OptionError("Call build_metrics(pair_types, unpair_types) before run_metrics.")
        return (
            self.paired_metrics_runner.evaluate(self_imitation_files, image_size),
            self.unpaired_metrics_runner.evaluate(cross_imitation_files, image_size),
        )

    def evaluate(
        self,
        model: SynthesisModel,
        num_sources: int = 1,
        image_size: int = 512,
        pair_types: Sequence[str] = PAIRED_DEFAULT,
        unpair_types: Sequence[str] = UNPAIRED_DEFAULT,
        device: object = "cpu",
        **options: Unpack[RunOptions],
    ) -> tuple[dict[str, float], dict[str, float]]:
        """The results of self-imitation and of cross-imitation, by metric name.

        A metric that has no place in its runner, and a device that is not here, are refused before the model is
        started.
        """
        own, cross = self._evaluate(model, num_sources, image_size, pair_types, unpair_types, device, **options)
        return own, cross


class _PairedEvaluator(_Evaluator):
    """One list of pairs and the paired runner."""

    def build_metrics(self, pair_types: Sequence[str] = PAIRED_DEFAULT, device: object = "cpu") -> None:
        """Make the runner that `run_metrics` uses."""
        self.paired_metrics_runner = self._runner(PairedMetricRunner, pair_types, device)

    def run_metrics(self, self_imitation_files: Paths, image_size: int = 512) -> dict[str, float]:
        """The results of a list of (prediction, reference) paths."""
        if self.paired_metrics_runner is None:
            raise OptionError("Call build_metrics(pair_types) before run_metrics.")
        return self.paired_metrics_runner.evaluate(self_imitation_files, image_size)

    def evaluate(
        self,
        model: SynthesisModel,
        num_sources: int = 1,
        image_size: int = 512,
        pair_types: Sequence[str] = PAIRED_DEFAULT,
        device: object = "cpu",
        **options: Unpack[RunOptions],
    ) -> dict[str, float]:
        """The results by metric name."""
        return self._evaluate(model, num_sources, image_size, pair_types, (), device, **options)[0]


class AppearanceTransferEvaluator(_PairedEvaluator):
    """A source in the appearance of another video, measured against the frames of that video.

    No reader for its protocol was ever published; the item is (a, b): sources of a, appearance and motion of b.
    """

    question = ProtocolQuestion.APPEARANCE
    titles = ("Appearance-transfer",)


class NovelViewEvaluator(_PairedEvaluator):
    """A source seen from other sides, measured against the frames that the protocol lists."""

    question = ProtocolQuestion.NOVEL_VIEW
    titles = ("Novel-view",)


class IPERMotionImitationEvaluator(MotionImitationEvaluator):
    """Motion imitation on iPER; `dataset="iPER_ICCV"` is the protocol of the earlier paper.

    Arguments come in the published order; `dataset` may be any data set that has a reader.
    """


class MotionSyntheticMotionImitationEvaluator(MotionImitationEvaluator):
    """Motion imitation on MotionSynthetic."""

    _default_dataset = "MotionSynthetic"


class FashionVideoMotionImitationEvaluator(MotionImitationEvaluator):
    """Motion imitation on FashionVideo."""

    _default_dataset = "FashionVideo"


class YoutubeDancer18MotionImitationEvaluator(MotionImitationEvaluator):
    """Motion imitation on YoutubeDancer18."""

    _default_dataset = "YoutubeDancer18"


class IPERAppearanceTransferEvaluator(AppearanceTransferEvaluator):
    """Appearance transfer on iPER."""


class IPERNovelViewEvaluator(NovelViewEvaluator):
    """Novel views on iPER."""
