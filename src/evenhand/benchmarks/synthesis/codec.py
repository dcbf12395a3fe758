"""What a model made: a folder of pictures, a list of their paths, or a file of features.

| task | what is read |
|---|---|
| `paired`, `unpaired` | a folder of pictures or an `.npz` of features, by the same ids as the real frames |
| the others | `predictions.json` (item → paths in frame order), or the folder that a model filled in running order |
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from evenhand.benchmarks.synthesis.availability import needs_pictures
from evenhand.benchmarks.synthesis.data import ProtocolTruth
from evenhand.benchmarks.synthesis.features import PICTURES, FeatureTable, features_beside, frame_id, natural_order
from evenhand.benchmarks.synthesis.folders import AttributeTable, FrameSet, folder_fact, read_frames
from evenhand.benchmarks.synthesis.options import PairedOptions, SynthesisOptions
from evenhand.benchmarks.synthesis.plausibility import (
    FramesBeside,
    feature_order_warnings,
    feature_warnings,
    picture_warnings,
)
from evenhand.core.errors import PredictionError
from evenhand.core.results import Coverage
from evenhand.core.task import Answers, Codec, Dataset
from evenhand.core.view import SampleView
from evenhand.files.inputs import read
from evenhand.files.names import difference
from evenhand.files.writing import write_file
from evenhand.instruments.films import Film

Pictures = tuple[str | None, ...]  # in the order of the frames; None where one is missing
_EXAMPLES = 5
_VALUES = ("ssim", "psnr")  # shown beside a frame, where the rows have them


@dataclass(frozen=True, kw_only=True)
class FrameAnswers(Answers[Path]):
    """One synthesised frame per id, with all frames of that side."""

    frames: FrameSet


@dataclass(frozen=True, kw_only=True)
class ItemAnswers(Answers[Pictures]):
    """The pictures of every item, with features that were computed from them."""

    features: FeatureTable


class FrameCodec(Codec[Path]):
    """A folder of pictures, or features, under the ids of the real frames."""

    filename = "predictions.json"
    example = "predictions/001/0000.png, predictions/001/0001.png, …  (or features.npz with `ids`)"

    def read(self, path: Path, dataset: Dataset[Any], options: Any) -> FrameAnswers:
        frames = _listed(path) if path.suffix == ".json" else read_frames(path, PredictionError)
        asked = [sample.id for sample in dataset.samples]
        pictures = dict(zip(frames.ids, frames.paths, strict=True))
        warnings = list(frames.warnings)
        extra: list[str] = []
        is_paired = isinstance(options, PairedOptions)
        if is_paired and options.match == "order":
            pictures, surplus = dict(zip(asked, frames.paths, strict=False)), max(len(frames.paths) - len(asked), 0)
        else:
            if is_paired:
                warnings += _unequal_films(frames, dataset.truth, by_time=options.frames == "time")
                if options.frames == "time":
                    pictures = _by_time(frames, dataset.truth, pictures)
            known = set(asked)
            extra = [name for name in pictures if name not in known]
            surplus = len(extra)
            if is_paired and asked and extra and surplus == len(pictures):
                advice = difference(extra, asked)
                raise PredictionError(
                    f"No picture in {path} has the name of a real one: {_some(pictures)} against {_some(asked)}. "
                    f"{advice}{' ' * bool(advice)}Give them the same names, or pair them in the order of their names, "
                    "in which numbers count: --set match=order."
                )
            if is_paired and extra:
                advice = difference(extra, asked)
                warnings.append(
                    f"{path}: {surplus} pictures have no real one of their name ({_some(extra)})."
                    + (f" {advice}" if advice else "")
                )
        beside = [
            FramesBeside(dataset.truth.unit_of(name), pictures[name], real)
            for name, real in zip(asked, dataset.truth.paths, strict=True)
            if is_paired and name in pictures
        ]
        warnings += _implausible(beside, frames, dataset.truth, options)
        if not is_paired and getattr(options, "pairing", "none") != "name":  # two sets need no names in common
            return FrameAnswers(
                pictures,
                _coverage(len(frames.paths), (), (), 0),
                frames.inputs,
                tuple(warnings),
                _facts(),
                frames=frames,
            )
        missing = [name for name in asked if name not in pictures]
        coverage = _coverage(len(asked), missing, extra, surplus)
        return FrameAnswers(pictures, coverage, frames.inputs, tuple(warnings), _facts(), frames=frames)

    def write(self, path: Path, answers: Iterable[tuple[str, Path]], dataset: Dataset[Any], options: Any) -> None:
        write_file(path, json.dumps({name: str(picture) for name, picture in answers}, indent=1))

    def to_plain(self, answer: Path) -> Any:
        return str(answer)

    def from_plain(self, plain: Any) -> Path:
        return Path(str(plain))


class ItemCodec(Codec[Pictures]):
    """Paths of pictures by item, in the order of the reference frames."""

    filename = "predictions.json"
    example = '{"predictions": {"001/9/1": ["out/pred_00000000.jpg", "out/pred_00000001.jpg"]}}'

    def read(self, path: Path, dataset: Dataset[Any], options: Any) -> ItemAnswers:
        truth = dataset.truth
        assert isinstance(truth, ProtocolTruth)  # loaded by the same task
        path = Path(path)
        if path.is_dir() and (path / self.filename).is_file():
            path = path / self.filename
        if path.is_dir():
            answers, facts = _in_running_order(path, truth)
            root = path
        else:
            source = read(path, PredictionError)
            answers, facts, root = _from_json(source.data, path), (source.fact,), path.parent
        missing = [name for name in truth.items if name not in answers]
        extra = [name for name in answers if name not in truth.items]
        holes = [f"{name}:{n:04d}" for name in answers for n, made in enumerate(answers[name]) if made is None]
        coverage = _coverage(len(truth.items), missing, extra, len(extra), holes)
        features = features_beside(root, PredictionError)
        kept = {name: answers[name] for name in truth.items if name in answers}
        if extra and not kept:
            raise PredictionError(
                f"{path} answers no item of the protocol: {_some(extra)} against {_some(truth.items)}."
            )
        warnings = [*_same_twice(kept), *feature_warnings("synthesised", features)]
        warnings += feature_warnings("real", truth.features)
        if truth.folder != "cross_imitation":  # whose frames show another movement than those that they are measured by
            beside = [
                FramesBeside(truth.items[name].video, Path(made), real)
                for name, pictures in kept.items()
                for made, real in zip(pictures, truth.items[name].references, strict=False)
                if made is not None
            ]
            if needs_pictures(options.metrics, options.rules, features, truth.features):
                warnings += picture_warnings(beside, options.most_pixels)
            warnings += feature_order_warnings(beside, features, truth.features)
        return ItemAnswers(kept, coverage, (*facts, *features.inputs), tuple(warnings), _facts(), features=features)

    def write(self, path: Path, answers: Iterable[tuple[str, Pictures]], dataset: Dataset[Any], options: Any) -> None:
        home = path.parent.absolute()
        listed = {name: [_near(made, home) for made in pictures] for name, pictures in answers}
        write_file(path, json.dumps({"predictions": listed}, indent=1, ensure_ascii=False))

    def to_plain(self, answer: Pictures) -> Any:
        return list(answer)

    def from_plain(self, plain: Any) -> Pictures:
        if not isinstance(plain, list | tuple) or not all(made is None or isinstance(made, str) for made in plain):
            raise PredictionError(
                f"{type(plain).__name__} is no answer to an item: return a list of paths, one per reference frame."
            )
        return tuple(plain)


def _same_twice(answers: Mapping[str, Pictures]) -> list[str]:
    """A sentence when one file stands for several frames."""
    counts = Counter(made for pictures in answers.values() for made in pictures if made is not None)
    twice = [made for made, count in counts.items() if count > 1]
    if not twice:
        return []
    return [f"{len(twice)} pictures stand for more than one frame, such as {twice[0]}. Were they overwritten?"]


def _implausible(
    beside: Sequence[FramesBeside], made: FrameSet, real: FrameSet, options: SynthesisOptions
) -> tuple[str, ...]:
    """What looks wrong about both sides, and about synthesised frames beside the real ones that they are for."""
    warnings: tuple[str, ...] = ()
    has_pictures = made.has_pictures and real.has_pictures
    if has_pictures and needs_pictures(options.metrics, options.rules, made.features, real.features):
        warnings += picture_warnings(beside, options.most_pixels)
    warnings += feature_order_warnings(beside, made.features, real.features)
    return warnings + feature_warnings("synthesised", made.features) + feature_warnings("real", real.features)


def view_frame(dataset: Dataset[FrameSet], answers: FrameAnswers | None, row: Mapping[str, Any]) -> SampleView:
    """A frame by its name in both folders."""
    name = str(row["item"]).partition(":")[0]
    made = answers.get(name) if answers is not None else None
    real = dict(zip(dataset.truth.ids, dataset.truth.paths, strict=True)).get(name)
    return _view(made, real, row)


def view_item(dataset: Dataset[ProtocolTruth], answers: ItemAnswers | None, row: Mapping[str, Any]) -> SampleView:
    """A frame of an item by its position."""
    name, _, rest = str(row["item"]).partition(":")
    position = int(rest.partition(":")[0] or 0)
    item = dataset.truth.items.get(name)
    made = answers.get(name) if answers is not None else None
    real = item.references[position] if item is not None and position < len(item.references) else None
    picture = made[position] if made is not None and position < len(made) else None
    return _view(Path(picture) if picture is not None else None, real, row)


def _view(made: Path | None, real: Path | None, row: Mapping[str, Any]) -> SampleView:
    values = [f"{name.upper()} {float(row[name]):.3g}" for name in _VALUES if name in row]
    reason = str(row.get("reason", ""))
    answer = reason or ", ".join(values)
    pictures = tuple(path for path in (made, real) if path is not None)
    return SampleView(pictures, truth="synthesised, then real" if len(pictures) > 1 else "", answer=answer)


def _facts() -> dict[str, Any]:
    """What results will say of the run; the instruments are entered as they are built."""
    return {"instruments_used": {}, "not_available": {}, "unverified": {}}


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:3]) + (", …" if len(listed) > 3 else "")


def _unequal_films(made: FrameSet, real: FrameSet, *, by_time: bool) -> list[str]:
    """A sentence for every pair of films that differ in length or rate."""
    advice = "Frames are paired by time." if by_time else "To pair frames by time: --set frames=time."
    sentences = []
    for unit, film in _film_pairs(made, real):
        other = real.films[unit]
        if len(film.times) != len(other.times) or abs(film.rate - other.rate) > 0.01:
            sentences.append(
                f"{unit}: the synthesised film has {len(film.times)} frames at {film.rate:g} a second, the real one "
                f"{len(other.times)} at {other.rate:g}. {advice}"
            )
    return sentences


def _film_pairs(made: FrameSet, real: FrameSet) -> list[tuple[str, Film]]:
    """The films of both sides that belong together, by the real one's name; two single films do."""
    if made.unit and real.unit and made.films and real.films:
        return [(real.unit, next(iter(made.films.values())))]
    return [(unit, film) for unit, film in made.films.items() if unit in real.films]


def _by_time(made: FrameSet, real: FrameSet, pictures: dict[str, Path]) -> dict[str, Path]:
    """The synthesised frame that is nearest in time to each real one, for films on both sides."""
    chosen = dict(pictures)
    for unit, film in _film_pairs(made, real):
        other = real.films[unit]
        nearest = np.abs(np.subtract.outer(np.array(other.times), np.array(film.times))).argmin(axis=1)
        for frame in film.frames:
            chosen.pop(frame_id(frame, made.root), None)
        for frame, number in zip(other.frames, nearest.tolist(), strict=True):
            chosen[frame_id(frame, real.root)] = film.frames[number]
    return chosen


def _listed(path: Path) -> FrameSet:
    """A JSON object of id → path, as a set of frames."""
    source = read(path, PredictionError)
    try:
        listed = msgspec.json.decode(source.data, type=dict[str, str])
    except msgspec.DecodeError as error:
        raise PredictionError(f"{path}: expected an object of frame → path of a picture ({error}).") from None
    root = path.parent
    paths = tuple(root / made for made in listed.values())
    frames = FrameSet(root, paths, True, FeatureTable(root), AttributeTable(), (source.fact,))
    if frames.ids == tuple(listed):
        return frames
    return replace(frames, names=tuple(listed))


class _ItemFile(msgspec.Struct):
    predictions: dict[str, list[str | None]]


def _from_json(data: bytes, path: Path) -> dict[str, Pictures]:
    try:
        try:
            listed = msgspec.json.decode(data, type=_ItemFile).predictions
        except msgspec.ValidationError:
            listed = msgspec.json.decode(data, type=dict[str, list[str | None]])
    except msgspec.DecodeError as error:
        raise PredictionError(
            f'{path}: expected {{"predictions": {{ITEM: [PATH, …]}}}}, one path per frame or null ({error}).'
        ) from None
    return {
        name: tuple(None if made is None else str(path.parent / made) for made in pictures)
        for name, pictures in listed.items()
    }


def _in_running_order(folder: Path, truth: ProtocolTruth) -> tuple[dict[str, Pictures], tuple[Any, ...]]:
    """The pictures of a model's output folder, cut by how many each item was asked for.

    Pictures with running numbers are placed by them, so that a missing one leaves a hole and shifts nothing.
    """
    place = folder / truth.folder if truth.folder and (folder / truth.folder).is_dir() else folder
    files = (p for p in place.iterdir() if p.is_file() and p.suffix.lower() in PICTURES)
    pictures = sorted(files, key=lambda file: natural_order(file.name))
    if not pictures:
        raise PredictionError(f"{place} holds no picture, and {folder} no predictions.json.")
    total = sum(item.asked for item in truth.items.values())
    by_number = _numbered(pictures)
    if by_number is None:
        by_number = dict(enumerate(pictures))
    outside = [number for number in by_number if number >= total]
    if outside:
        raise PredictionError(
            f"{place}: picture number {min(outside)}, but the protocol asks for {total} frames in all, from 0 on. "
            "Do the names begin with 1, or is it another protocol, number of sources or data set?"
        )
    answers: dict[str, Pictures] = {}
    start = 0
    for item in truth.items.values():
        made = [by_number.get(number) for number in range(start, start + item.asked)]
        if any(one is not None for one in made):
            answers[item.name] = tuple(None if one is None else str(one) for one in made)
        start += item.asked
    return answers, (folder_fact(place, pictures),)


def _numbered(pictures: list[Path]) -> dict[int, Path] | None:
    """Pictures by the number at the end of their names; None when some have none, or two have the same."""
    numbers = [re.search(r"(\d+)$", picture.stem) for picture in pictures]
    if not all(numbers):
        return None
    found = {int(number.group(1)): picture for number, picture in zip(numbers, pictures, strict=True) if number}
    return found if len(found) == len(pictures) else None


def _near(made: str | None, home: Path) -> str | None:
    """A path as it is written into a file in `home`."""
    if made is None:
        return None
    path = Path(made).absolute()
    return path.relative_to(home).as_posix() if path.is_relative_to(home) else str(path)


def _coverage(
    asked: int, missing: Sequence[str], extra: Sequence[str], surplus: int, holes: Sequence[str] = ()
) -> Coverage:
    """How many were answered, and names of those that were not; `surplus` counts extra ones, also without a name."""
    listed = {
        "not in the predictions": missing,
        "not asked for": extra,
        "a picture is missing in the middle of a video": holes,
    }
    return Coverage(
        asked=asked,
        answered=asked - len(missing),
        missing=len(missing),
        extra=surplus,
        reasons={reason: len(names) for reason, names in listed.items() if names},
        examples={reason: tuple(names[:_EXAMPLES]) for reason, names in listed.items() if names},
    )
