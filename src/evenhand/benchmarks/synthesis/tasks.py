"""The tasks: what is loaded, what is read, which rows are written and which metrics read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from evenhand.benchmarks.synthesis.availability import announced, limits, needed, unavailable
from evenhand.benchmarks.synthesis.catalogue import (
    ABOUT,
    FACE_FOUND,
    NAMES,
    PERSON_FOUND,
    PUBLISHED,
    STRICT,
    TABLE,
    Region,
    about_task,
    canonical,
    column_of,
    entry_of,
    paired_metrics,
    paired_names,
    table_metrics,
    unpaired_metrics,
    unpaired_names,
)
from evenhand.benchmarks.synthesis.codec import FrameAnswers, FrameCodec, ItemAnswers, ItemCodec, view_frame, view_item
from evenhand.benchmarks.synthesis.data import ProtocolTruth, against_published, load_folder, load_items, unanswered
from evenhand.benchmarks.synthesis.features import frame_id
from evenhand.benchmarks.synthesis.folders import FrameSet
from evenhand.benchmarks.synthesis.measuring import FrameInstruments, FrameSource, NetworkBuilder
from evenhand.benchmarks.synthesis.options import (
    AppearanceOptions,
    CrossOptions,
    PairedOptions,
    PictureOptions,
    ProtocolOptions,
    SynthesisOptions,
    UnpairedOptions,
)
from evenhand.benchmarks.synthesis.pairs import FramePair, note_unequal, pair_up
from evenhand.benchmarks.synthesis.protocol import Rules
from evenhand.benchmarks.synthesis.protocol_file import ProtocolQuestion
from evenhand.benchmarks.synthesis.record import PART, MeasurementPlan, available_networks, paired_rows, unpaired_rows
from evenhand.benchmarks.synthesis.sections import every_convention, how_it_was_measured, paper_table
from evenhand.core.measure import AnyMetric
from evenhand.core.records import Attribute, Records
from evenhand.core.task import About, Benchmark, Dataset, Demo, Task, Tools, check_with
from evenhand.instruments.films import BUFFER


def record_paired(
    dataset: Dataset[FrameSet], predictions: FrameAnswers, options: PairedOptions, tools: Tools
) -> Iterator[Records]:
    """One row per real frame, with the synthesised frame of its name (or place)."""
    truth, by_order = dataset.truth, options.match == "order"
    _check_order(truth, predictions.frames, options, tools)
    pairs = [pair for pair in _by_name(truth, predictions, "frame") if pair.prediction or not by_order]
    yield from paired_rows(pairs, *_of_folders(dataset, predictions, options, tools, paired_names(options.metrics)))


def record_pictures(
    dataset: Dataset[FrameSet], predictions: FrameAnswers, options: PictureOptions, tools: Tools
) -> Iterator[Records]:
    """One row per pair of pictures, with the features of both; a picture without a partner is a row with one side."""
    synthesised = predictions.frames
    _check_order(dataset.truth, synthesised, options, tools)
    pairs = _by_name(dataset.truth, predictions, "picture")
    names = tuple(dict.fromkeys(map(canonical, options.metrics)))
    if options.frames == "number" and not all(entry_of(name).paired for name in names):
        paired_ones = {pair.prediction for pair in pairs}
        for path in synthesised.paths:  # those of no pair belong to the set
            if path not in paired_ones:
                name = frame_id(path, synthesised.root)
                pairs.append(FramePair(f"{name}:unpaired", name, synthesised.unit_of(name), path, None))
    yield from paired_rows(pairs, *_of_folders(dataset, predictions, options, tools, names, sets=True))


def record_unpaired(
    dataset: Dataset[FrameSet], predictions: FrameAnswers, options: UnpairedOptions, tools: Tools
) -> Iterator[Records]:
    """One row per frame of either set."""
    pairs = _sets_of(dataset.truth, predictions.frames, options.pairing)
    names = unpaired_names(options.metrics)
    yield from unpaired_rows(pairs, *_of_folders(dataset, predictions, options, tools, names, by_content=True))


def record_items(
    dataset: Dataset[ProtocolTruth], predictions: ItemAnswers, options: ProtocolOptions, tools: Tools
) -> Iterator[Records]:
    """One row per frame of every item, beside its truth."""
    yield from paired_rows(*_of_items(dataset, predictions, options, tools, paired_names(options.metrics)))


def record_cross(
    dataset: Dataset[ProtocolTruth], predictions: ItemAnswers, options: CrossOptions, tools: Tools
) -> Iterator[Records]:
    """One row per synthesised frame and one per frame of the flag window."""
    yield from unpaired_rows(*_of_items(dataset, predictions, options, tools, unpaired_names(options.metrics)))


def without_motion(dataset: Dataset[FrameSet], predictions: FrameAnswers, options: PictureOptions) -> PictureOptions:
    """The options for pictures that do not follow each other: what is about motion is not asked for by default."""
    ids = dataset.truth.ids
    if options.metrics != TABLE or len({dataset.truth.unit_of(name) for name in ids}) < len(ids):
        return options
    return replace(options, metrics=tuple(n for n in TABLE if entry_of(n).looks_at is not Region.MOTION))


def metrics_paired(options: SynthesisOptions) -> tuple[AnyMetric, ...]:
    """The paired metrics, published and corrected."""
    return paired_metrics(options.metrics, options.rules, plain=isinstance(options, PairedOptions))


def metrics_unpaired(options: UnpairedOptions | CrossOptions) -> tuple[AnyMetric, ...]:
    """The unpaired metrics, published and corrected."""
    how = {"moments": options.frechet == "moments", "plain": isinstance(options, UnpairedOptions)}
    return unpaired_metrics(options.metrics, options.rules, **how)


def _check_order(truth: FrameSet, synthesised: FrameSet, options: PairedOptions, tools: Tools) -> None:
    """Refuse sides of unequal length that are to be matched by order, or warn of them."""
    made, real = len(synthesised.paths), len(truth.paths)
    if options.match == "order" and made != real:
        note_unequal(f"{made} synthesised frames for {real} real ones", min(made, real), options.rules, tools.warn)


def _by_name(truth: FrameSet, predictions: FrameAnswers, what: str) -> list[FramePair]:
    """Every real frame with the synthesised one that answers it, if there is one."""
    coverage = predictions.coverage
    others = next(iter(coverage.examples.get("not asked for", ())), None)
    some = f"{what}s have names" if coverage.extra > 1 else f"{what} has a name"
    surplus = f" ({coverage.extra} {some} that no real one has: {others}. Do both sides begin with the same number?)"
    absent = f"there is no synthesised {what} of this name{surplus if others else ''}."
    pairs = []
    for name, path in zip(truth.ids, truth.paths, strict=True):
        answer = predictions.get(name)
        reason = "" if answer is not None else absent
        pairs.append(FramePair(name, name, truth.unit_of(name), answer, path, reason))
    return pairs


def _sets_of(truth: FrameSet, made: FrameSet, pairing: str) -> list[FramePair]:
    """Two sets as pairs, some of one side only."""
    synthesised, real = dict(zip(made.ids, made.paths, strict=True)), dict(zip(truth.ids, truth.paths, strict=True))
    if pairing == "order":
        return [
            FramePair(name or other, name or other, (made if name else truth).unit_of(name or other), left, right)
            for (name, left), (other, right) in zip_longest(synthesised.items(), real.items(), fillvalue=("", None))
        ]
    if pairing == "name":
        every = dict.fromkeys((*real, *synthesised))
        return [FramePair(name, name, truth.unit_of(name), synthesised.get(name), real.get(name)) for name in every]
    return [
        *(FramePair(name, name, made.unit_of(name), path, None) for name, path in synthesised.items()),
        *(FramePair(name, name, truth.unit_of(name), None, path) for name, path in real.items()),
    ]


def _of_folders(
    dataset: Dataset[FrameSet],
    predictions: FrameAnswers,
    options: SynthesisOptions,
    tools: Tools,
    names: tuple[str, ...],
    **how: Any,
) -> tuple[FrameInstruments, MeasurementPlan]:
    """What two folders or films are measured with, and how."""
    truth, frames = dataset.truth, predictions.frames
    sizes = [film.size[0] * film.size[1] * 3 for side in (truth, frames) for film in side.films.values()]
    # Of films, as many pairs are measured together as stay decoded.
    together = PART if not sizes else max(8, min(PART, int(0.8 * BUFFER) // (2 * max(sizes))))

    def attributes(part: Sequence[FramePair]) -> Mapping[str, Attribute]:
        return truth.attributes.columns([pair.id for pair in part], [pair.unit for pair in part], dataset.levels)

    asked = MeasurementPlan(names, options, tools.engine, attributes, tools.progress, part=together, **how)
    synthesised = FrameSource("synthesised", frames.features, frames.has_pictures)
    real = FrameSource("real", truth.features, truth.has_pictures)
    return _instruments(synthesised, real, options, tools, predictions.facts), asked


def _of_items(
    dataset: Dataset[ProtocolTruth],
    predictions: ItemAnswers,
    options: ProtocolOptions,
    tools: Tools,
    names: tuple[str, ...],
) -> tuple[list[FramePair], FrameInstruments, MeasurementPlan]:
    """The frames of all items, what they are measured with, and how."""
    truth = dataset.truth
    pairs: list[FramePair] = []
    for item in truth.items.values():
        answer = predictions.get(item.name)
        reason = "the model gave no pictures for this item." if answer is None else ""
        how: dict[str, Any] = {"rules": options.rules, "warn": tools.warn, "reason": reason}
        pairs += pair_up(item.name, item.video, answer, item.references, item.asked, **how)

    def attributes(part: Sequence[FramePair]) -> Mapping[str, Attribute]:
        frames = [frame_id(pair.reference, truth.root) if pair.reference else "" for pair in part]
        return truth.attributes.columns(frames, [pair.unit for pair in part], dataset.levels)

    asked = MeasurementPlan(names, options, tools.engine, attributes, tools.progress)
    synthesised, real = FrameSource("synthesised", predictions.features), FrameSource("real", truth.features)
    return pairs, _instruments(synthesised, real, options, tools, predictions.facts), asked


def _instruments(
    synthesised: FrameSource, real: FrameSource, options: SynthesisOptions, tools: Tools, facts: Mapping[str, Any]
) -> FrameInstruments:
    networks = NetworkBuilder(options, tools.device, tools.cache, dict(tools.instruments), facts["instruments_used"])
    named_before = unavailable(options.metrics, options)

    def warn(message: str) -> None:
        if message.partition(" ")[0] not in named_before:
            tools.warn(message)

    looks = FrameInstruments(synthesised, real, networks, warn)
    names = tuple(map(canonical, options.metrics))
    available_networks(looks, names, options.rules)
    announced(names, looks.refused, options)  # stops where nothing is left: a file may be there and damaged
    _note_networks(names, looks, facts, {**looks.refused, **named_before}, options.rules)
    return looks


def _note_networks(
    names: Sequence[str], looks: FrameInstruments, facts: Mapping[str, Any], reasons: Mapping[str, str], rules: Rules
) -> None:
    """Note which metrics are not available, and which are measured by weights that no hash confirms."""
    from evenhand.instruments.weight_files import UNVERIFIED

    for name in names:
        entry, networks = entry_of(name), needed(name, rules)
        reason = next((reasons[one] for one in networks if one in looks.refused), "")
        unverified = any(f"({UNVERIFIED})" in looks.networks.fingerprints.get(one, "") for one in networks)
        for metric in (name, name + STRICT, name + PUBLISHED):
            if reason:
                facts["not_available"][metric] = reason
            elif unverified:
                facts["unverified"][metric] = column_of(name) if entry.paired else entry.feature
    for share, features in ((FACE_FOUND, {"face"}), (PERSON_FOUND, {"osnet", "pcb"})):
        asked = features & {entry_of(name).feature for name in names}
        if asked and asked <= looks.refused.keys():
            facts["not_available"][share] = reasons[min(asked)]


ATTRIBUTES = ("sex", "age", "skin_tone", "clothing", "motion")
"""What results are grouped by unless the user says otherwise, where the data tell it."""

_PAIR_ROW = "a synthesised frame beside its truth; frames that could not be measured are rows with their reason"
_SET_ROW = "a frame, real or synthesised, with its features"

_SHOWN: Mapping[str, Any] = {
    "attributes": ATTRIBUTES,
    "sections": (paper_table, how_it_was_measured),
    "explain": every_convention,
    "headline": ("ssim", "mean"),
}


def _frame_task(name: str, summary: str, about: About, **more: Any) -> Task[FrameSet, FrameAnswers]:
    """A task over two folders or films."""
    return Task(
        name=f"synthesis/{name}",
        summary=summary,
        about=about,
        load=load_folder,
        codec=FrameCodec(),
        view=view_frame,
        check=check_with(load_folder, FrameCodec(), inspect_answers=unanswered),
        **{**_SHOWN, **more},
    )


def _item_task(
    name: str, summary: str, question: ProtocolQuestion, *, cross: bool = False, row: str = _PAIR_ROW, **more: Any
) -> Task[ProtocolTruth, ItemAnswers]:
    """A task with a protocol file."""
    predictions = "predictions.json: item → list of picture paths in frame order; or the folder that the model filled."
    load = partial(load_items, question=question, cross=cross)
    usual = {"options": ProtocolOptions, "record": record_items, "metrics": metrics_paired}
    return Task(
        name=f"synthesis/{name}",
        summary=summary,
        about=about_task(ABOUT.protocol, predictions, row),
        load=load,
        codec=ItemCodec(),
        view=view_item,
        check=check_with(load, ItemCodec(), against_published, unanswered),
        **{**_SHOWN, **usual, **more},
    )


pictures = _frame_task(
    "pictures",
    "The table of a paper from two folders of pictures or films, or two films.",
    about_task(
        ABOUT.folder.replace("A folder of real frames", "A film, or a folder of real pictures or films"),
        "A folder of pictures or films with the names of the real ones, or a film.",
        "a synthesised picture beside its real one, with the features of both",
    ),
    aliases=("synthesis",),
    options=PictureOptions,
    resolve=without_motion,
    record=record_pictures,
    metrics=lambda options: table_metrics(options.metrics),
)
paired = _frame_task(
    "paired",
    "Compare synthesised pictures with their truth, picture by picture.",
    about_task(
        ABOUT.folder, "A folder of pictures with the names of the real ones, or an .npz of features.", _PAIR_ROW
    ),
    options=PairedOptions,
    record=record_paired,
    metrics=metrics_paired,
)
unpaired = _frame_task(
    "unpaired",
    "Compare a set of synthesised pictures with a set of real ones.",
    about_task(ABOUT.folder, "A folder of pictures, or an .npz of features; no names in common are needed.", _SET_ROW),
    options=UnpairedOptions,
    record=record_unpaired,
    metrics=metrics_unpaired,
    headline=("fid:pytorch-fid", "distance"),
)
self_imitation = _item_task(
    "self_imitation", "A person performing the frames of their own video.", ProtocolQuestion.IMITATION
)
cross_imitation = _item_task(
    "cross_imitation",
    "A person performing the frames of another's video, beside real frames of their own.",
    ProtocolQuestion.IMITATION,
    cross=True,
    row=_SET_ROW,
    options=CrossOptions,
    record=record_cross,
    metrics=metrics_unpaired,
    headline=("fid", "distance"),
)
appearance_transfer = _item_task(
    "appearance_transfer",
    "A person in the appearance of another video, in its motion.",
    ProtocolQuestion.APPEARANCE,
    options=AppearanceOptions,
)
novel_view = _item_task("novel_view", "A person seen from other sides.", ProtocolQuestion.NOVEL_VIEW)
TASKS = (pictures, self_imitation, cross_imitation, appearance_transfer, novel_view, paired, unpaired)


def _demo(folder: Path) -> Sequence[Demo]:
    """Drawn people and a model that performs worse for some of them; the drawing code is loaded on demand."""
    from evenhand.benchmarks.synthesis.demo import demo

    return demo(folder)


benchmark = Benchmark(
    "synthesis",
    "Synthesised pictures of people: imitation, appearance transfer, novel views, plain folders.",
    TASKS,
    demo=_demo,
    limits=limits,
    names=NAMES,
)
