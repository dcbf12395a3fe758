"""Detections in COCO's format: ground truth and results as JSON, groups from a table by image or annotation.

Detections are matched to objects of their image and category as COCO does, at every overlap anew: in the order of their
scores, each takes the object that it overlaps most and nobody has. Objects that are crowds are not looked for, and
detections on them are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from evenhand.benchmarks.table.data import samples_of
from evenhand.benchmarks.table.frame import UserTable, read_table
from evenhand.benchmarks.table.options import MOST_LEVELS, DetectionTableOptions
from evenhand.core.errors import DataError, InputError, OptionError, PredictionError
from evenhand.core.levels import doubtful_levels
from evenhand.core.metric import UNIT_SCALE, Metric
from evenhand.core.optional import polars as pl
from evenhand.core.records import NOT_APPLICABLE, Array, Attribute, Records
from evenhand.core.results import Coverage
from evenhand.core.task import Codec, Dataset, InputFact, Submitted, Tools
from evenhand.files import inputs
from evenhand.files.delimited import shown_names
from evenhand.geometry.assignment import NOBODY, Assignment, assign_by_score
from evenhand.geometry.box_forms import EXTENTS, Form, are_shares, better_form, other_forms
from evenhand.geometry.boxes import corners, extents, offsets_of, overlaps_by_image
from evenhand.metrics.average_precision import COCO_OVERLAPS, AveragePrecision
from evenhand.metrics.means import Mean, Rate

OBJECT, DETECTION = 0, 1  # kinds of rows
MOST_DETECTIONS = 100  # of an image and category
LONGEST_SHOWN = 120  # characters of an entry in a message
DEFAULT_SCORE = 0.5  # the score from which detections count, unless another is named
GOOD_OVERLAP, BAD_OVERLAP, MUCH_BETTER = 0.3, 0.1, 0.1  # mean overlaps of the surest detections


@dataclass(frozen=True)
class CocoBoxes:
    """Boxes sorted by place: the image and category that they are in."""

    place: Array
    xyxy: Array  # (boxes, 4)
    id: Array
    score: Array
    crowd: Array

    def take(self, index: Array) -> CocoBoxes:
        """Some of the boxes."""
        return CocoBoxes(self.place[index], self.xyxy[index], self.id[index], self.score[index], self.crowd[index])


@dataclass(frozen=True)
class CocoObjects:
    """The annotated objects, the images and categories there are, and the groups of objects and of images."""

    boxes: CocoBoxes
    images: Mapping[Any, int]
    categories: Mapping[Any, int]
    attributes: Mapping[str, tuple[tuple[str, ...], Mapping[str, int], bool]]  # levels, code by id, is it of images


def load(data: Path, options: DetectionTableOptions) -> Dataset[CocoObjects]:
    """COCO's ground truth, with groups from the table that `groups` names."""
    document, fact = _json(data, DataError)
    entries = _listed(document, data)
    ids = _ids(entries["images"], data)
    images = {image: place for place, image in enumerate(ids)}
    categories = {kind: place for place, kind in enumerate(_ids(entries["categories"], data))}
    annotations = entries["annotations"]
    placed = _columns(annotations, ("image_id", "category_id"), data, DataError)
    for name, values, known in zip(("image_id", "category_id"), placed, (images, categories), strict=True):
        for entry, value in zip(annotations, values, strict=True):
            if value not in known:
                raise DataError(
                    f"{data}, {_shown(entry)}: its {name} {value!r} is not listed under "
                    f"{'images' if name == 'image_id' else 'categories'}. Is the file complete?"
                )
    boxes = _boxes(annotations, images, categories, data, DataError)
    attributes, facts, warnings = _groups(options, boxes, ids)
    by_object = any(not of_images for _, _, of_images in attributes.values())
    if repeated := _repeated_ids(boxes, data, by_object):
        warnings = (*warnings, repeated)
        boxes = replace(boxes, id=_ids_with_image(boxes, ids, len(categories)))
    return Dataset(
        "COCO",
        samples_of(np.array(list(map(str, ids)))),
        CocoObjects(boxes, images, categories, attributes),
        {name: levels for name, (levels, _, _) in attributes.items()},
        (fact, *facts),
        warnings,
        media=False,
    )


class CocoResults(Codec[CocoBoxes]):
    """COCO's results: a list of image_id, category_id, bbox, score."""

    filename = "results.json"
    example = '[{"image_id": 1, "category_id": 1, "bbox": [10, 20, 30, 40], "score": 0.9}]'

    def read(self, path: Path, dataset: Dataset[CocoObjects], options: Any) -> Submitted[CocoBoxes]:
        document, fact = _json(path, PredictionError)
        if not isinstance(document, list):
            raise PredictionError(f"{path}: expected a list of detections, such as {self.example}.")
        images, categories = dataset.truth.images, dataset.truth.categories
        named = _columns(document, ("image_id", "category_id", "score"), path, PredictionError)
        known = [
            d for d, image, kind in zip(document, *named[:2], strict=True) if image in images and kind in categories
        ]
        if document and not known:
            raise PredictionError(
                f"{path}: no detection is of an image and category of the ground truth. Found are image_id "
                f"{named[0][0]!r} and category_id {named[1][0]!r}, expected are values such as "
                f"{next(iter(images), None)!r} and {next(iter(categories), None)!r}."
            )
        boxes = _boxes(known, images, categories, path, PredictionError)
        answered = len({d["image_id"] for d in known})
        extra = len(document) - len(known)
        coverage = Coverage(len(dataset.samples), answered, empty=len(dataset.samples) - answered, extra=extra)
        warnings = [f"{extra:,} detections are of no image or category of the ground truth"] if extra else []
        warnings += _doubts(dataset.truth.boxes, boxes, options)
        return Submitted(boxes, coverage, (fact,), tuple(warnings))

    def write(self, path: Path, answers: Any, dataset: Any, options: Any) -> None:
        raise OptionError("Detections are evaluated from COCO's results file: no model is asked for them.")


def record(
    dataset: Dataset[CocoObjects], predictions: Submitted[CocoBoxes], options: DetectionTableOptions, tools: Tools
) -> Iterator[Records]:
    """A row for every object that is no crowd, and for every detection that is a false alarm at some overlap."""
    truth, detected = dataset.truth, _best_of_each_place(predictions.content, tools)
    crowds, objects = truth.boxes.take(truth.boxes.crowd), truth.boxes.take(~truth.boxes.crowd)
    limits = (options.overlap, *COCO_OVERLAPS)
    loosest, sides = min(limits), (objects.place, detected.place)
    places = np.unique(np.concatenate(sides))  # of the product of images and categories, those that occur
    where = [offsets_of(np.searchsorted(places, side), len(places)) for side in sides]
    pairs = overlaps_by_image(objects.xyxy, where[0], detected.xyxy, where[1], at_least=loosest)
    matched = [assign_by_score(pairs, len(objects.id), detected.score, threshold=limit) for limit in limits]
    on_crowd = _share_on_crowds(crowds, detected)
    alarm = [(found.face_of == NOBODY) & (on_crowd < limit) for found, limit in zip(matched, limits, strict=True)]
    ignored = int(((matched[0].face_of == NOBODY) & ~alarm[0]).sum())
    if ignored:
        tools.warn(f"{ignored:,} detections lie on crowds and are left out")
    rows = np.flatnonzero(np.logical_or.reduce(alarm))
    score = np.column_stack([_scores_at(*at, detected, rows) for at in zip(matched, alarm, strict=True)])
    overlap = np.full(len(score), np.nan)
    overlap[: len(objects.id)] = 0.0
    overlap[matched[0].faces] = matched[0].overlap
    place = np.concatenate([objects.place, detected.place[rows]])
    image_of_place, category = np.divmod(place, len(truth.categories))
    image, is_object = np.array(list(map(str, truth.images)))[image_of_place], np.arange(len(place)) < len(objects.id)
    counts = ~np.isnan(score[:, 0]) & (np.nan_to_num(score[:, 0], nan=-np.inf) >= options.score)
    finds = assign_by_score(pairs, len(objects.id), detected.score, threshold=loosest).face_of[rows]
    about = np.concatenate([np.arange(len(objects.id)), finds])  # the object that a row is about, or nobody
    ids = objects.id.astype(str)
    named = [f"{name}: detection {number}" for name, number in zip(image[~is_object], detected.id[rows], strict=True)]
    yield Records(
        {
            "item": np.concatenate([ids, np.array(named, dtype=str)]),
            "unit": image,
            "kind": np.where(is_object, OBJECT, DETECTION).astype(np.int8),
            "category": category,
            "score": score[:, 0],
            "score_at": score[:, 1:],
            "is_object": is_object,
            "found": is_object & counts,
            "is_detection": counts,
            "overlap": overlap,
        },
        {name: _attribute(entry, ids, image, about) for name, entry in truth.attributes.items()},
    )


def metrics(options: DetectionTableOptions) -> tuple[Metric[Any], ...]:
    """COCO's averages over all scores, recall and precision at the score that was asked for, mean overlap."""
    return (
        AveragePrecision("detection"),
        Rate("recall", "found", among="is_object", nothing="no object is annotated here"),
        Rate("precision", "found", among="is_detection", nothing="nothing was detected here"),
        Mean("overlap", "overlap", nothing="no object is annotated here", scale=UNIT_SCALE),
    )


def _json(path: Path, problem: type[InputError]) -> tuple[Any, InputFact]:
    source = inputs.read(path, problem)
    try:
        return msgspec.json.decode(source.data), source.fact
    except (msgspec.DecodeError, RecursionError) as error:
        raise problem(f"{path} is not JSON: {error}.") from None


def _listed(document: Any, path: Path) -> dict[str, list[Any]]:
    """The images, annotations and categories of a ground truth; one category where the file has no list of them."""
    lists: dict[str, list[Any]] = {"categories": [{"id": 1}]}
    for name in ("images", "annotations", "categories"):
        listed = document.get(name, lists.get(name)) if isinstance(document, dict) else None
        if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
            there = f"the names {shown_names(document)}" if isinstance(document, dict) else "a list"
            raise DataError(
                f"{path} is no COCO ground truth: it holds {there}, but no list of objects under {name!r}. Expected "
                "are images, annotations and categories. Is it a file of results?"
            )
        lists[name] = listed
    return lists


def _ids(entries: Sequence[Any], path: Path) -> list[Any]:
    """The ids of entries, each once."""
    return list(dict.fromkeys(_field(entry, "id", path, DataError) for entry in entries))


def _repeated_ids(boxes: CocoBoxes, path: Path, by_object: bool) -> str:
    """Says when objects have the id of another, as where ids begin anew in every image; empty when none has.

    Refuses objects that are there twice, which would be looked for twice, and groups by ids that are not unique.
    """
    names = boxes.id.astype(str)
    _, first = np.unique(names, return_index=True)
    if not (repeated := len(names) - len(first)):
        return ""
    again = names[np.delete(np.arange(len(names)), first)[0]]
    found = f"{repeated:,} of the {len(names):,} annotations have the id of another (such as {str(again)!r})"
    written = pl.DataFrame({"id": names.tolist(), "place": boxes.place, **_sides(boxes)})
    if twice := len(written) - written.n_unique():
        raise DataError(
            f"{path}: {found}, and {twice:,} of them its image and box too. Was the list written twice? Every object "
            "needs an id of its own."
        )
    if by_object:
        raise DataError(f"{path}: {found}, so groups by annotation_id are ambiguous. Number the annotations anew.")
    return f"{found}: they are taken as different objects, since their boxes or images differ"


def _sides(boxes: CocoBoxes) -> dict[str, Array]:
    return dict(zip(("x0", "y0", "x1", "y1"), boxes.xyxy.T, strict=True))


def _ids_with_image(boxes: CocoBoxes, images: Sequence[Any], categories: int) -> Array:
    """Ids that begin anew in every image, behind the image."""
    image = np.array(list(map(str, images)))[boxes.place // categories]
    return np.array([f"{name}: object {number}" for name, number in zip(image, boxes.id, strict=True)])


def _columns(entries: Sequence[Any], names: Sequence[str], path: Path, problem: type[InputError]) -> list[list[Any]]:
    """What all entries have under each name; the first entry without it is named."""
    try:
        columns = [list(map(itemgetter(name), entries)) for name in names]
    except (KeyError, TypeError):
        columns = []
    usable = {int, float, str}
    if not columns or not all(set(map(type, column)) <= usable for column in columns):
        columns = [[_field(entry, name, path, problem) for entry in entries] for name in names]
    return columns


def _field(entry: Any, name: str, path: Path, problem: type[InputError]) -> Any:
    """What an entry has under a name; an id is a number or a text."""
    value = entry.get(name) if isinstance(entry, dict) else None
    if value is None or (name.endswith("id") and not isinstance(value, int | float | str)):
        example = '{"id": 1, "image_id": 1, "category_id": 1, "bbox": [10, 20, 30, 40]}'
        expected = CocoResults.example if problem is PredictionError else f"of an annotation {example}"
        raise problem(f"{path}: an entry has no usable {name!r}: {_shown(entry)}. Expected is {expected}.")
    return value


def _shown(entry: Any) -> str:
    text = msgspec.json.encode(entry).decode()
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def _doubts(truth: CocoBoxes, detected: CocoBoxes, options: DetectionTableOptions) -> Iterator[str]:
    """Says when boxes, scores or the file seem to be of another kind than COCO's."""
    if not len(detected.place):
        return
    rows = pl.DataFrame({"place": detected.place, **_sides(detected), "score": detected.score})
    if repeated := len(rows) - rows.n_unique():
        yield (
            f"{repeated:,} of {len(rows):,} detections repeat another of the same box and score: each counts as a "
            "false alarm. Was the file written twice?"
        )
    if options.score == DEFAULT_SCORE and (detected.score.min() < 0 or detected.score.max() > 1):
        yield (
            f"scores run from {detected.score.min():.3g} to {detected.score.max():.3g}, but recall and precision count "
            f"detections of {options.score:g} or more: name the score from which yours count, score=…"
        )
    if not len(truth.place) or (now := _mean_overlap(truth, detected)) > GOOD_OVERLAP:
        return
    if are_shares(detected.xyxy) and not are_shares(truth.xyxy):
        yield "boxes look like shares of the image from 0 to 1, but the ground truth is in pixels: write pixels"
        return
    forms = other_forms(EXTENTS)
    for what, fit in (
        ("detections", lambda form: _mean_overlap(truth, _in_form(detected, form))),
        ("objects of the ground truth", lambda form: _mean_overlap(_in_form(truth, form), detected)),
    ):
        if better := better_form(fit, forms, now, MUCH_BETTER):
            yield (
                f"boxes of the {what} look like {better.form}: read so, the surest detections overlap "
                f"objects by {better.fit:.2f}, as {EXTENTS} by {now:.2f}. Write {EXTENTS}"
            )
            return
    if now < BAD_OVERLAP:
        yield (
            f"detections hardly overlap any object (mean overlap {now:.2f}): are they of these images, in pixels, as "
            "x, y, width, height?"
        )


def _in_form(boxes: CocoBoxes, form: Form) -> CocoBoxes:
    """The numbers that stand in the file, read in another form."""
    return replace(boxes, xyxy=form(extents(boxes.xyxy)))


def _mean_overlap(truth: CocoBoxes, detected: CocoBoxes) -> float:
    """The mean overlap of the surest detection of an image and category with the best of its objects."""
    order = np.lexsort((-detected.score, detected.place))
    detected = detected.take(order[np.flatnonzero(np.diff(detected.place[order], prepend=-1))])
    places = np.unique(np.concatenate([truth.place, detected.place]))
    where = [offsets_of(np.searchsorted(places, side.place), len(places)) for side in (truth, detected)]
    pairs = overlaps_by_image(truth.xyxy, where[0], detected.xyxy, where[1])
    best = np.zeros(len(detected.place))
    np.maximum.at(best, pairs.second, np.nan_to_num(pairs.overlap, nan=0.0))
    return float(best.mean())


def _boxes(
    entries: list[Any],
    images: Mapping[Any, int],
    categories: Mapping[Any, int],
    path: Path,
    problem: type[InputError],
) -> CocoBoxes:
    image = np.array([images[entry["image_id"]] for entry in entries], dtype=np.int64)  # checked by the caller
    place = image * len(categories) + np.array([categories[entry["category_id"]] for entry in entries], dtype=np.int64)
    try:
        listed = [_field(entry, "bbox", path, problem) for entry in entries]
        xywh = np.array(listed, dtype=np.float64).reshape(len(entries), 4)
        score = np.array([entry.get("score", 1.0) for entry in entries], dtype=np.float64)
    except (ValueError, TypeError):
        raise problem(f"{path}: a bbox is not [x, y, width, height], or a score is no number.") from None
    if not np.isfinite(xywh).all() or not np.isfinite(score).all():
        raise problem(f"{path}: a bbox or a score is not a finite number.")
    negative = (xywh[:, 2:] < 0).any(axis=1)
    if negative.any():
        raise problem(
            f"{path}: {int(negative.sum()):,} of {len(entries):,} boxes have a negative width or height, the first is "
            f"{xywh[negative.argmax()].tolist()}. A bbox is [x, y, width, height]."
        )
    order = np.argsort(place, kind="stable")
    ids = np.array([entry.get("id", n) for n, entry in enumerate(entries)])
    crowd = np.array([bool(entry.get("iscrowd", 0)) for entry in entries], dtype=np.bool_)
    return CocoBoxes(place[order], corners(xywh)[order], ids[order], score[order], crowd[order])


def _best_of_each_place(boxes: CocoBoxes, tools: Tools) -> CocoBoxes:
    """At most a hundred detections per image and category, those of the highest scores, as COCO counts them."""
    order = np.lexsort((-boxes.score, boxes.place))  # stable: equal scores stay in the order of the file
    first = np.searchsorted(boxes.place[order], boxes.place[order], side="left")
    counted = np.sort(order[np.arange(len(order)) - first < MOST_DETECTIONS])
    if len(counted) < len(order):
        left = len(order) - len(counted)
        tools.warn(f"{left:,} detections beyond the best {MOST_DETECTIONS} of an image and category are left out")
    return boxes.take(counted)


def _scores_at(matched: Assignment, alarm: Array, detected: CocoBoxes, rows: Array) -> Array:
    """Scores at one overlap: of objects, that of the detection which finds them; of detections, if a false alarm."""
    by = matched.detection_of
    of_objects = np.full(len(by), np.nan)
    of_objects[by != NOBODY] = detected.score[by[by != NOBODY]]
    return np.concatenate([of_objects, np.where(alarm[rows], detected.score[rows], np.nan)])


def _share_on_crowds(crowds: CocoBoxes, detected: CocoBoxes) -> Array:
    """(detections,): the largest share of each detection that a crowd of the same place covers."""
    share = np.zeros(len(detected.place))
    begins, ends = (np.searchsorted(detected.place, crowds.place, side=side) for side in ("left", "right"))
    for begin, end, box in zip(begins, ends, crowds.xyxy, strict=True):
        at = slice(begin, end)
        mine = detected.xyxy[at]
        inside = np.clip(np.minimum(mine[:, 2:], box[2:]) - np.maximum(mine[:, :2], box[:2]), 0, None).prod(axis=1)
        area = np.maximum((mine[:, 2:] - mine[:, :2]).prod(axis=1), 1e-12)
        share[at] = np.maximum(share[at], inside / area)
    return share


def _groups(
    options: DetectionTableOptions, boxes: CocoBoxes, images: Sequence[Any]
) -> tuple[dict[str, Any], tuple[InputFact, ...], tuple[str, ...]]:
    """Levels, the code of each id, and whether ids are of images, for every column to group by; the file; warnings."""
    if not options.by:
        return {}, (), ()
    if not options.groups:
        raise OptionError("Groups of detections come from a table: name it with groups=FILE.csv.")
    table: UserTable = read_table(Path(options.groups))
    key = next((name for name in ("annotation_id", "image_id") if name in table.columns), None)
    if key is None:
        raise DataError(f"{table.where}: expected a column annotation_id or image_id that says what a row is about.")
    ids, missing = table.identifiers(key, "key")
    if missing.any():
        raise DataError(f"{table.where}, row {int(missing.argmax()) + 1}: {key!r} is empty.")
    named = ids.astype(str)
    expected = np.array(list(map(str, images))) if key == "image_id" else boxes.id[~boxes.crowd].astype(str)
    without = expected[~np.isin(expected, named)]
    if len(expected) and len(without) == len(expected):
        raise DataError(
            f"{table.where}: no {key!r} occurs in the ground truth ({named[0]} was found, {expected[0]} expected), so "
            "nobody would be in a group."
        )
    warnings = []
    if len(without):
        warnings.append(
            f"{len(without):,} of {len(expected):,} {'images' if key == 'image_id' else 'objects'} are in no row of "
            f"{table.where} ({', '.join(without[:3].tolist())}, …): their groups are missing"
        )
    by_attribute: dict[str, Any] = {}
    for name in options.by:
        coded = table.labels(name, "a column to group by", MOST_LEVELS)
        warnings.extend(doubtful_levels(repr(name), coded.levels))
        by_attribute[name] = (
            coded.levels,
            dict(zip(named.tolist(), coded.codes.tolist(), strict=True)),
            key == "image_id",
        )
        _refuse_several_groups(named, coded.codes, table.where, key, name)
    return by_attribute, table.facts, tuple(warnings)


def _refuse_several_groups(named: Array, codes: Array, where: str, key: str, attribute: str) -> None:
    """Refuses an image or object that stands in several rows and groups; several rows of one group are one."""
    groups = pl.DataFrame({"name": named.tolist(), "code": codes}).unique(maintain_order=True)
    several = groups.filter(groups["name"].is_duplicated())["name"].unique(maintain_order=True)
    if len(several):
        raise DataError(
            f"{where}: {len(several):,} values of the key {key!r} occur more than once, in different groups of "
            f"{attribute!r} (first {several[0]!r}). A key must name one group."
        )


def _attribute(entry: Any, ids: Array, image: Array, about: Array) -> Attribute:
    """Of images, all their rows; of annotations, the rows about an object: a false alarm elsewhere has no group."""
    levels, codes, of_images = entry
    named = image if of_images else ids
    code = np.array([codes.get(name, -1) for name in named.tolist()], dtype=np.int64)
    code = np.where(code < 0, len(levels), code)
    return Attribute.coded(code if of_images else np.append(code, NOT_APPLICABLE)[about], levels)
