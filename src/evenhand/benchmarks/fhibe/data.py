"""What each FHIBE task knows: the people, and the truth about them that no model sees.

The unit of evaluation is the annotation row: one subject in one image. An image with two subjects
has two rows with the same path. A sample is an image; its id is the path relative to the data root.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.fhibe import attributes, vocabulary
from evenhand.benchmarks.fhibe.cells import LiteralError, combined_mask
from evenhand.benchmarks.fhibe.options import FhibeOptions, KeypointOptions
from evenhand.benchmarks.fhibe.table import BODY_TABLE, FACE_TABLE, AnnotationTable, Segment, mini_rows, read_table
from evenhand.benchmarks.fhibe.verification import paired
from evenhand.core.errors import DataError, OptionError
from evenhand.core.levels import alike_levels
from evenhand.core.records import Array, Attribute
from evenhand.core.task import Dataset, Sample
from evenhand.geometry.boxes import corners

_SIZE = ("image_height", "image_width")


@dataclass(frozen=True)
class People:
    """One entry per row: the person it is about, and the image."""

    root: Path
    images: tuple[str, ...]  # the row's image, relative to the data root
    image_ids: tuple[str | None, ...]
    subjects: tuple[str | None, ...]
    numbers: Array  # the row's place in the table on disk
    attributes: Mapping[str, Attribute]

    def __len__(self) -> int:
        return len(self.images)

    @property
    def units(self) -> Array:
        """(rows,): the subject of each row; the image where the table names none."""
        return np.array([subject or image for subject, image in zip(self.subjects, self.images, strict=True)])

    def rows_by_image(self) -> dict[str, list[int]]:
        """The rows of every image, in the order of the table."""
        rows: dict[str, list[int]] = {}
        for row, image in enumerate(self.images):
            rows.setdefault(image, []).append(row)
        return rows


@dataclass(frozen=True)
class PeopleTruth:
    """Verification, encoding, super resolution: the people, and nothing else."""

    people: People


@dataclass(frozen=True)
class BoxTruth(PeopleTruth):
    """Localization: one box per row."""

    boxes_xyxy: NDArray[np.float64]  # (rows, 4)


@dataclass(frozen=True)
class MaskTruth(PeopleTruth):
    """Person parsing: the polygons of each row, and its canvas."""

    segments: Sequence[Sequence[Segment]]
    sizes: NDArray[np.int64]  # (rows, 2): height, width


@dataclass(frozen=True)
class PoseTruth(MaskTruth):
    """Keypoint estimation: poses, faces, and the polygons whose area scales the similarity."""

    names: tuple[str, ...]
    sigmas: NDArray[np.float64]  # (keypoints,)
    poses: NDArray[np.float64]  # (rows, keypoints, 3); absent points are 0, 0, 0; visible ones have 2
    face_xyxy: NDArray[np.float64]  # (rows, 4)


@dataclass(frozen=True)
class PartTruth(PeopleTruth):
    """Body parts detection: which parts are visible in each row."""

    visible: tuple[tuple[str, ...], ...]  # in order of construction, as published
    corrected: tuple[tuple[str, ...], ...]  # with knees and ankles taken for legs


@dataclass(frozen=True)
class FaceMapTruth(PeopleTruth):
    """Face parsing: the combined label map of each row."""

    maps: tuple[Path, ...]


def load(task: str, folder: Path, options: FhibeOptions, cache: Path | None = None) -> Dataset[Any]:
    """The data of a task; every sample says which task it is asked for, as a wrapped model must know."""
    asked = {"task": task, "custom_keypoints": getattr(options, "custom_keypoints", None)}
    checked_keypoints(asked["custom_keypoints"])  # before a large table is read
    columns, truth_of = _TRUTHS[task]
    name = FACE_TABLE if task in vocabulary.FACE_TASKS else BODY_TABLE
    table = read_table(folder, name, (*columns, *vocabulary.ATTRIBUTES), cache)
    if options.mini is not None:
        table = table.take(mini_rows(len(table), options.mini))
    facts: Mapping[str, Any] = {}
    if task == "face_verification":
        table, facts = _in_pairs(table)
    people = people_of(table, options)
    truth, by_row = truth_of(table, people, options)
    samples = []
    for image, rows in people.rows_by_image().items():
        given = {name: values[rows].tolist() if values.ndim > 1 else values[rows[0]] for name, values in by_row.items()}
        samples.append(Sample(image, (table.root / image,), {**given, **asked}))
    counts = {"rows": len(people), "images": len(samples), "subjects": len(set(people.subjects))}
    return Dataset(
        version=f"{table.path.stem} {table.fact.hash[:12]}",
        samples=tuple(samples),
        truth=truth,
        levels={name: attribute.levels for name, attribute in people.attributes.items()},
        inputs=(table.fact,),
        warnings=tuple(_warnings(people)),
        facts={**counts, **facts},
    )


Truth = tuple[Any, Mapping[str, Array]]  # what is known of every row, and what of it a sample gives away


def _boxes(column: str, table: AnnotationTable, people: People, options: FhibeOptions) -> Truth:
    return BoxTruth(people, corners(table.boxes(column))), {}


def _masks(table: AnnotationTable, people: People, options: FhibeOptions) -> Truth:
    return MaskTruth(people, table.segments(), _sizes(table)), {}


def _poses(table: AnnotationTable, people: People, options: KeypointOptions) -> Truth:
    names = checked_keypoints(options.custom_keypoints)
    truth = PoseTruth(
        people,
        table.segments(),
        _sizes(table),
        names,
        np.array([vocabulary.SIGMAS[name] for name in names]),
        poses(table.keypoints(), names),
        corners(table.boxes("face_bbox")),
    )
    return truth, {"person_boxes_xyxy": corners(table.boxes("person_bbox"))}


def _parts(table: AnnotationTable, people: People, options: FhibeOptions) -> Truth:
    names = [[segment.name for segment in row] for row in table.segments()]
    annotated = list(zip(names, table.keypoints(), strict=True))
    visible, corrected = (
        tuple(visible_parts(segments, points, knees=knees) for segments, points in annotated) for knees in (False, True)
    )
    return PartTruth(people, visible, corrected), {"person_boxes_xyxy": corners(table.boxes("person_bbox"))}


def _face_maps(table: AnnotationTable, people: People, options: FhibeOptions) -> Truth:
    maps = []
    for place, cell in enumerate(table.texts("CelebA")):
        try:
            maps.append(table.root / combined_mask(cell))
        except LiteralError as error:
            raise table.problem("CelebA", place, str(error)) from None
    # The published contract hands the mask's path to a wrapper's preprocessor.
    return FaceMapTruth(people, tuple(maps)), {"mask_filepath": np.array([str(path) for path in maps], dtype=object)}


def _faces(table: AnnotationTable, people: People, options: FhibeOptions) -> Truth:
    return PeopleTruth(people), {}


_TRUTHS: Mapping[str, tuple[tuple[str, ...], Callable[[AnnotationTable, People, Any], Truth]]] = {
    "person_localization": (("person_bbox",), partial(_boxes, "person_bbox")),
    "face_localization": (("face_bbox",), partial(_boxes, "face_bbox")),
    "person_parsing": (("segments", *_SIZE), _masks),
    "keypoint_estimation": (("keypoints", "segments", "person_bbox", "face_bbox", *_SIZE), _poses),
    "body_parts_detection": (("keypoints", "segments", "person_bbox"), _parts),
    "face_parsing": (("CelebA",), _face_maps),
    "face_verification": (("multiple_subjects",), _faces),
    "face_encoding": ((), _faces),
    "face_super_resolution": ((), _faces),
}


def _in_pairs(table: AnnotationTable) -> tuple[AnnotationTable, dict[str, Any]]:
    """The pictures that can be in a pair, by subject: one subject in the picture, two or more pictures of it."""
    if "subject_id" not in table:
        raise DataError(f"{table.path} has no column 'subject_id', which verification needs.")
    alone = rows_alone(table.texts("multiple_subjects"))
    rows = rows_in_pairs(alone, table.texts("subject_id"))
    if not len(rows):
        raise DataError(f"{table.path}: no subject has two pictures of which it is the only subject.")
    left_out = {"more than one subject": len(table) - len(alone), "single picture": len(alone) - len(rows)}
    return table.take(rows), {"eligible_images": len(rows), "left_out": left_out}


def rows_alone(several: Sequence[str | None]) -> NDArray[np.int64]:
    """The rows whose picture shows one subject, by the cells of `multiple_subjects`."""
    return np.flatnonzero([(cell or "").strip().lower() in ("0", "0.0", "false") for cell in several])


def rows_in_pairs(alone: NDArray[np.int64], subjects: Sequence[str | None]) -> NDArray[np.int64]:
    """Of some rows those whose subject has two or more, by subject."""
    rows = alone[_by_subject([subjects[row] for row in alone])]
    return rows[paired(np.array([subjects[row] for row in rows]))]


def _by_subject(subjects: Sequence[str | None]) -> NDArray[np.int64]:
    """The order in which the published tool hands pictures to a wrapper: by subject, as pandas sorts texts."""
    known = np.array([place for place, subject in enumerate(subjects) if subject is not None], dtype=np.int64)
    texts = np.array([subjects[place] for place in known], dtype=object)
    return np.asarray(known[np.argsort(texts, kind="quicksort")])


def checked_keypoints(custom: Any) -> tuple[str, ...]:
    """The keypoints that are evaluated; a subset must be in COCO's order. Refused with the published phrases.

    >>> checked_keypoints(["Nose", "Left eye"])
    ('Nose', 'Left eye')
    """
    if custom is None:
        return vocabulary.KEYPOINTS
    if not isinstance(custom, list | tuple):
        raise OptionError("custom_keypoints must be a list of keypoint names.")
    if not custom:
        raise OptionError(
            "You cannot provide an empty list of custom keypoints. Please provide a valid list of keypoints or set "
            "custom_keypoints=None."
        )
    for name in custom:
        if not isinstance(name, str):
            raise OptionError(f"A keypoint you specified: {name} is not a string.")
        if name not in vocabulary.KEYPOINTS:
            raise OptionError(
                f"A keypoint you specified: '{name}' is not a valid FHIBE keypoint. Valid keypoints are: "
                f"{list(vocabulary.KEYPOINTS)}"
            )
    ordered = [name for name in vocabulary.KEYPOINTS if name in custom]
    if list(custom) != ordered:
        raise OptionError(
            f"Custom keypoints are not in the correct order. Please output your keypoints in this order: {ordered}."
        )
    return tuple(custom)


def poses(annotated: Sequence[Mapping[str, tuple[float, float, float]]], names: Sequence[str]) -> NDArray[np.float64]:
    """(rows, keypoints, 3): annotated points by name; visibility 1 becomes 2, other values are truncated."""
    table = np.zeros((len(annotated), len(names), 3))
    for row, points in enumerate(annotated):
        for place, name in enumerate(names):
            if (point := points.get(name)) is not None:
                visibility = int(point[2])
                table[row, place] = (point[0], point[1], 2 if visibility == 1 else visibility)
    return table


def visible_parts(
    segments: Sequence[str], keypoints: Mapping[str, tuple[float, float, float]], *, knees: bool = False
) -> tuple[str, ...]:
    """The parts of a person that are visible, in the published order of construction.

    The published rule looks at heel, foot and shoe for a leg, though knee and ankle are documented as
    consulted (Q9); `knees=True` consults them too.

    >>> visible_parts(["Glove"], {"Left heel": (0.0, 0.0, 1.0)})
    ('Face', 'Glove', 'Hand', 'Left leg', 'Leg')
    """
    parts = dict.fromkeys(["Face", *segments])

    def seen(*names: str) -> bool:
        return any(name in keypoints and keypoints[name][2] > 0 for name in names)

    for side in ("Left", "Right"):
        if seen(f"{side} pinky knuckle", f"{side} index knuckle", f"{side} thumb knuckle"):
            parts[f"{side} hand"] = None
    if not parts.keys().isdisjoint(("Left hand", "Right hand", "Glove")):
        parts["Hand"] = None
    for side in ("Left", "Right"):
        more = (f"{side} knee", f"{side} ankle") if knees else ()
        if seen(f"{side} heel", f"{side} foot index", *more) or f"{side} shoe" in parts:
            parts[f"{side} leg"] = None
    if not parts.keys().isdisjoint(("Left leg", "Right leg")):
        parts["Leg"] = None
    return tuple(parts)


def people_of(table: AnnotationTable, options: FhibeOptions) -> People:
    """The people in a table, with every attribute that it has."""
    images = tuple(str(image) for image in table.texts("filepath"))
    nobody = (None,) * len(table)
    return People(
        table.root,
        images,
        table.texts("image_id") if "image_id" in table else nobody,
        table.texts("subject_id") if "subject_id" in table else nobody,
        table.numbers,
        table_attributes(table, largest_regions=options.largest_regions),
    )


def table_attributes(table: AnnotationTable, *, largest_regions: bool = False) -> dict[str, Attribute]:
    """Every attribute of a table in canonical order, and the corrected ones beside the published.

    With `largest_regions`, ancestry and nationality keep their continents and regions only.
    """
    by_name: dict[str, Attribute] = {}
    for name in vocabulary.ATTRIBUTES:
        if name not in table:
            continue
        cells = prepared_cells(name, table.texts(name), table)
        by_name[name] = published_attribute(name, cells)
        if name == "nationality":
            corrected = attributes.CORRECTED_NATIONALITY
            by_name[corrected] = _attribute(corrected, cells, attributes.corrected_nationality)
        if name == "location_country":
            corrected, countries = (
                attributes.CORRECTED_COUNTRY,
                _mapped(table.texts(name), attributes.corrected_country),
            )
            by_name[corrected] = _attribute(corrected, countries, lambda cell: () if cell is None else (cell,))
    if largest_regions:
        for name, regions in vocabulary.REGIONS.items():
            for kept in (name, f"{name}_corrected"):
                if kept in by_name:
                    by_name[kept] = _limited(by_name[kept], regions)
    return {name: by_name[name] for name in attributes.canonical(by_name)}


def _limited(attribute: Attribute, levels: Collection[str]) -> Attribute:
    """The attribute with some of its levels."""
    places = [place for place, level in enumerate(attribute.levels) if level in levels]
    kept = tuple(attribute.levels[place] for place in places)
    return Attribute(kept, attribute.codes, attribute.patterns[:, places])


def published_attribute(name: str, cells: Sequence[str | None]) -> Attribute:
    """An attribute by the published rule of membership; a missing cell belongs to no level.

    >>> published_attribute("pronoun", ["['0. She/her/hers']", None]).member.sum(axis=1).tolist()
    [1, 0]
    """
    values = attributes.found_values(name, cells)
    return _attribute(name, cells, lambda cell: attributes.labels(name, cell, values), vocabulary.VALUES.get(name, ()))


def prepared_cells(name: str, cells: Sequence[str | None], table: AnnotationTable | None = None) -> list[str | None]:
    """The cells of an attribute after age bucketing and country clean-up."""
    if name == "location_country":
        return _mapped(cells, attributes.clean_country)
    if name != "age":
        return list(cells)

    def bucket(cell: str | None) -> str | None:
        if cell is None or cell in attributes.AGE_BUCKETS:
            return cell
        try:
            return attributes.age_bucket(float(cell))
        except (ValueError, OverflowError):
            place = cells.index(cell)
            where = f"row {place}" if table is None else f"{table.path}, row {int(table.numbers[place])}"
            raise DataError(f"{where}, column 'age': {cell!r} is not a number of years.") from None

    return _mapped(cells, bucket)


def _mapped(cells: Sequence[str | None], function: Callable[[str | None], str | None]) -> list[str | None]:
    """A function of every cell, computed once for equal cells."""
    values = {cell: function(cell) for cell in dict.fromkeys(cells)}
    return [values[cell] for cell in cells]


def _attribute(
    name: str, cells: Sequence[str | None], label: Callable[[str | None], Sequence[str]], declared: Sequence[str] = ()
) -> Attribute:
    of_cell = {cell: label(cell) for cell in dict.fromkeys(cells)}
    more = dict.fromkeys(value for members in of_cell.values() for value in members if value not in declared)
    levels = tuple(sorted((*declared, *more), key=partial(attributes.sort_key, name)) if more else declared)
    place = {level: index for index, level in enumerate(levels)}
    patterns = np.zeros((len(of_cell), len(levels)), dtype=np.bool_)
    for row, members in enumerate(of_cell.values()):
        patterns[row, [place[value] for value in members]] = True
    code = {cell: index for index, cell in enumerate(of_cell)}
    return Attribute(levels, np.array([code[cell] for cell in cells], dtype=np.int32), patterns)


def _warnings(people: People) -> Iterator[str]:
    for name, attribute in people.attributes.items():
        lacking = attributes.rows_without(attribute)
        if lacking and name not in (attributes.CORRECTED_COUNTRY, attributes.CORRECTED_NATIONALITY):
            yield f"{lacking} of {len(people)} rows have no {name}; they are left out of its groups."
        yield from alike_levels(name, attribute.levels)
    seen = Counter(pair for pair in zip(people.images, people.subjects, strict=True) if pair[1] is not None)
    if again := len(people) - people.subjects.count(None) - len(seen):
        image, subject = seen.most_common(1)[0][0]
        yield (
            f"{again} of {len(people)} rows repeat the subject of another row in the same image (such as {subject} in "
            f"{image}); each counts. Was the table written twice?"
        )


def _sizes(table: AnnotationTable) -> NDArray[np.int64]:
    return np.stack([table.whole(side) for side in _SIZE], axis=1)
