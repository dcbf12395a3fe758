"""What is evaluated against: a folder of real frames, or a data set with its protocol file; and whether it is whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.benchmarks.synthesis.availability import announced, facts_of, unavailable
from evenhand.benchmarks.synthesis.catalogue import FEATURES, canonical, features_of
from evenhand.benchmarks.synthesis.features import FeatureTable, features_beside
from evenhand.benchmarks.synthesis.folders import (
    ATTRIBUTES_FILE,
    VIDEO,
    AttributeTable,
    FrameSet,
    read_attributes,
    read_frames,
)
from evenhand.benchmarks.synthesis.items import Item, VideoFrames
from evenhand.benchmarks.synthesis.options import AppearanceOptions, ProtocolOptions, SynthesisOptions
from evenhand.benchmarks.synthesis.protocol import FLAVOURS, Protocol, Rules
from evenhand.benchmarks.synthesis.protocol_file import ProtocolQuestion
from evenhand.core.errors import DataError
from evenhand.core.task import CheckReport, Dataset, Finding, InputFact, Sample
from evenhand.files.inputs import hash_of

PUBLISHED_COUNTS: Mapping[str, tuple[int, int]] = {
    "iPER": (42, 40_940),
    "iPER_ICCV": (42, 122_820),
    "MotionSynthetic": (28, 9_525),
    "FashionVideo": (100, 38_551),
}
"""Videos and nominal self-imitation frames of the published protocol files."""


@dataclass(frozen=True)
class ItemTruth:
    """An item of a protocol as it is evaluated: the real frames, and how many a model was asked for."""

    name: str
    video: str
    references: tuple[Path, ...]
    asked: int


@dataclass(frozen=True)
class ProtocolTruth:
    """The items of a protocol, and what is known of their frames."""

    root: Path
    items: Mapping[str, ItemTruth]
    features: FeatureTable
    attributes: AttributeTable
    folder: str  # where the published models put their pictures: self_imitation, cross_imitation, or ""


@dataclass(frozen=True)
class ItemInputs(Mapping[str, Any]):
    """What a model may see of an item; its parameters are read when it is looked into."""

    protocol: Protocol
    position: int
    cross: bool
    frames_before: int
    names: tuple[str, ...]

    def __getitem__(self, name: str) -> Any:
        if name not in self.names:
            raise KeyError(name)
        if name == "frames_before":
            return self.frames_before
        item = self.protocol[self.position]
        frames = _reference(item, cross=self.cross) if name == "reference" else getattr(item, name)
        return frames.as_dictionary()

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def load_folder(data: Path, options: SynthesisOptions) -> Dataset[FrameSet]:
    """The real frames of a folder, or of a file of features."""
    options.check()
    frames = read_frames(data, DataError)
    missing = unavailable(options.metrics, options, frames.features)
    samples = [
        Sample(name, (path,) if frames.has_pictures else ())
        for name, path in zip(frames.ids, frames.paths, strict=True)
    ]
    units = tuple(dict.fromkeys(frames.unit_of(name) for name in frames.ids))
    levels = dict(frames.attributes.levels)
    levels.setdefault(VIDEO, units if len(units) < len(samples) else ())  # no videos: every frame stands alone
    return Dataset(
        f"{data.name}: {len(samples)} real frames",
        samples,
        frames,
        levels,
        (*frames.inputs, *weight_facts(options), *facts_of(missing)),
        (*frames.warnings, *announced(options.metrics, missing, options)),
        {"frames": len(samples), "videos": len(units), "rules": options.rules.value},
    )


def find_protocol(data: Path, dataset: str, question: ProtocolQuestion, given: Path | None) -> Path:
    """The protocol file that was named, or the one in the data folder.

    Looked for are `DATASET_protocol.json` (with `_appearance_transfer` or `_novel_view` before `_protocol` for these
    questions) and `protocol.json`. None is shipped with this package: the published ones are not ours to give.
    """
    if given is not None:
        return given if given.is_absolute() or given.exists() else data / given
    names = [dataset, *(["iPER"] if dataset == "iPER_ICCV" else [])]
    middle = "" if question is ProtocolQuestion.IMITATION else f"_{question.value.replace(' ', '_')}"
    candidates = [f"{name}{middle}_protocol.json" for name in names]
    if question is ProtocolQuestion.NOVEL_VIEW:
        candidates += [f"{name}_protocol.json" for name in names]
    candidates.append("protocol.json")
    for name in candidates:
        if (data / name).is_file():
            return data / name
    raise DataError(
        f"{data} has no protocol file; looked for {', '.join(candidates)}. Name it (option `protocol`): "
        "evenhand ships none of the published ones."
    )


def weight_facts(options: SynthesisOptions) -> tuple[InputFact, ...]:
    """The weights and the user's own networks that may be used, so that a result is tied to them.

    Features that were computed before may make some of them unnecessary on one side or on both; whether they do is
    known only when the predictions are read.
    """
    onnx = options.onnx
    needed: dict[str, None] = {}
    facts = []
    for feature in (*features_of(options.metrics, options.rules), *map(canonical, options.metrics)):
        if feature in onnx:
            files = (onnx[feature], onnx[feature].with_suffix(".toml"))
            facts += [hash_of(path, DataError) for path in files if path.is_file()]
        elif feature in FEATURES:
            needed |= dict.fromkeys(FEATURES[feature].weights)
    if needed:
        from evenhand.instruments.weights import weight_status

        for name in needed:
            status = weight_status(name, options.weights)
            if status.path is not None:
                facts.append(InputFact(str(status.path), status.path.stat().st_size, f"sha256:{status.sha256}"))
    return tuple(facts)


def load_items(
    data: Path, options: ProtocolOptions, *, question: ProtocolQuestion, cross: bool
) -> Dataset[ProtocolTruth]:
    """The items of a data set with its protocol file.

    Self-imitation: every frame of the window, which is also the truth. Cross-imitation: frames of another video;
    measured against the flag window of the source's own. Appearance transfer: pairs of videos of one person in
    different clothes. Novel views: the frames that the protocol lists for a video.
    """
    options.check()
    data = Path(data)
    if not data.is_dir():
        raise DataError(f"{data} is no folder. Name the folder of the data set.")
    path = find_protocol(data, options.dataset, question, options.protocol)
    motion = options.motion if isinstance(options, AppearanceOptions) else "appearance"
    protocol, asked = (
        Protocol(
            path,
            data,
            FLAVOURS[options.dataset],
            question=question,
            sources=options.sources,
            rules=options.rules,
            parameters=with_parameters,
            motion=motion,
        )
        for with_parameters in (False, True)
    )
    if not len(protocol):
        raise DataError(f"{protocol.path} has no item for {question.value}.")
    attributes = _attributes(data, protocol)
    items: dict[str, ItemTruth] = {}
    samples, before = [], 0
    for position, item in enumerate(protocol):
        asked_for = _reference(item, cross=cross).images
        references = item.flag if cross and item.cross is not None else asked_for
        items[item.name] = ItemTruth(item.name, item.video, references, len(asked_for))
        names = ("source", *(("appearance",) if item.appearance else ()), "reference", "frames_before")
        given = ItemInputs(asked, position, cross, before, names)
        samples.append(Sample(item.name, (*item.source.images, *asked_for), given))
        before += len(asked_for)
    features = features_beside(data, DataError)
    missing = unavailable(options.metrics, options, features)
    folder = "" if question is ProtocolQuestion.NOVEL_VIEW else "cross_imitation" if cross else "self_imitation"
    frames = sum(len(item.references) for item in items.values())
    return Dataset(
        f"{options.dataset}, {protocol.path.name}: {len(items)} items, {frames} real frames",
        samples,
        ProtocolTruth(data, items, features, attributes, folder),
        {**attributes.levels, VIDEO: tuple(dict.fromkeys(item.video for item in items.values()))},
        (protocol.fact, *attributes.inputs, *features.inputs, *weight_facts(options), *facts_of(missing)),
        (
            *(protocol.warnings() if options.rules is Rules.COMPAT else ()),
            *protocol.order_warnings(),
            *announced(options.metrics, missing, options),
        ),
        {"items": len(items), "frames": frames, "rules": options.rules.value, "sources": protocol.sources},
    )


def _reference(item: Item, *, cross: bool) -> VideoFrames:
    """The frames that a model is asked for."""
    return item.cross if cross and item.cross is not None else item.own


def _attributes(data: Path, protocol: Protocol) -> AttributeTable:
    """Attributes of the videos: from `attributes.csv` and from the protocol's own entries."""
    table = read_attributes(data / ATTRIBUTES_FILE, DataError)
    by_video = {video: dict(table.by_video.get(video, {})) for video in protocol.entries}
    levels = {name: dict.fromkeys(known) for name, known in table.levels.items()}
    for video, entry in protocol.entries.items():
        for name, value in entry.attributes.items():
            if value:
                by_video[video].setdefault(name, value)
                levels.setdefault(name, {})[value] = None
    declared = {name: tuple(known) for name, known in levels.items()}
    return AttributeTable(table.by_frame, by_video, table.video_of, declared, table.inputs)


def unanswered(dataset: Dataset[Any], answers: Any, predictions: Path) -> Iterator[Finding]:
    """An error when something is not answered."""
    coverage = answers.coverage
    if coverage.missing:
        yield Finding("error", str(predictions), f"{coverage.missing} of {coverage.asked} are not answered.")


def against_published(dataset: Dataset[ProtocolTruth], data: Path, options: Any) -> CheckReport:
    """The counts of a task with a protocol file, compared with the published ones."""
    truth = dataset.truth
    videos = len({item.video for item in truth.items.values()})
    frames = sum(len(item.references) for item in truth.items.values())
    table = {"counts": (("", "items", "videos", "real frames"), ("found", len(truth.items), videos, frames))}
    published = PUBLISHED_COUNTS.get(options.dataset)
    if published is None or truth.folder != "self_imitation" or (videos, frames) == published:
        return CheckReport(tables=table)
    message = (
        f"{videos} videos with {frames} frames; the published {options.dataset} protocol has {published[0]} "
        f"with {published[1]}."
    )
    return CheckReport((Finding("note", str(data), message),), tables=table)
