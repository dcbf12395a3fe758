"""A folder of frames: pictures, features that were computed before, or both; and who is in them.

Frames are found below the folder, at any depth, and known by their path without its ending. Frames in one sub-folder
are one video, which is the unit that was sampled; a frame directly in the folder is a unit of its own. A file
`attributes.csv` says more: a column `id` (a frame) or `video`, and a column for every attribute; beside `id` a column
`video` names the unit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evenhand.benchmarks.synthesis.features import (
    FEATURES_FILE,
    IDS_FILE,
    PICTURES,
    FeatureTable,
    features_beside,
    frame_id,
    natural_order,
    read_features,
)
from evenhand.core.records import Attribute
from evenhand.core.task import InputFact
from evenhand.files.delimited import read_header, read_records, shown_names
from evenhand.files.inputs import Problem
from evenhand.instruments.films import FILMS, Film, is_film, open_film

ATTRIBUTES_FILE = "attributes.csv"
KEYS = ("id", "video")
VIDEO = "video"
"""The attribute that every row has: grouping by it gives a table per video."""


@dataclass(frozen=True)
class AttributeTable:
    """Attributes of frames or videos, in the order of the file."""

    by_frame: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    by_video: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    video_of: Mapping[str, str] = field(default_factory=dict)  # frame → video, where the file says
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    inputs: tuple[InputFact, ...] = ()

    def columns(
        self, frames: Sequence[str], units: Sequence[str], levels: Mapping[str, tuple[str, ...]]
    ) -> dict[str, Attribute]:
        """The attributes of rows that are about these frames of these videos; `levels` may have the videos' own."""
        columns = {
            name: Attribute.of(
                [
                    self.by_frame.get(frame, {}).get(name) or self.by_video.get(unit, {}).get(name)
                    for frame, unit in zip(frames, units, strict=True)
                ],
                known,
            )
            for name, known in self.levels.items()
        }
        if VIDEO in levels:
            videos = set(levels[VIDEO])
            columns[VIDEO] = Attribute.of([unit if unit in videos else None for unit in units], levels[VIDEO])
        return columns


@dataclass(frozen=True)
class FrameSet:
    """The frames of one side, in the order of their ids."""

    root: Path
    paths: tuple[Path, ...]  # below the root; of pictures where there are pictures
    has_pictures: bool
    features: FeatureTable
    attributes: AttributeTable
    inputs: tuple[InputFact, ...] = ()
    warnings: tuple[str, ...] = ()
    films: Mapping[str, Film] = field(default_factory=dict)  # by unit
    unit: str = ""  # of frames that lie in no folder; each is its own where this is empty
    names: tuple[str, ...] = ()  # ids, where they are not the paths

    @property
    def ids(self) -> tuple[str, ...]:
        """The id of every frame."""
        return self.names or tuple(frame_id(path, self.root) for path in self.paths)

    def unit_of(self, frame: str) -> str:
        """The video that a frame belongs to; the frame itself when it belongs to none."""
        return self.attributes.video_of.get(frame) or frame.rpartition("/")[0] or self.unit or frame


def read_frames(path: Path, problem: Problem) -> FrameSet:
    """The frames in a folder of pictures and films, a film, a folder of `.npy` features, or an `.npz` of features."""
    path = Path(path)
    if is_film(path):
        film = open_film(path)
        attributes = read_attributes(path.parent / ATTRIBUTES_FILE, problem)
        fact, empty = folder_fact(path, [path]), FeatureTable(path)
        return FrameSet(path, film.frames, True, empty, attributes, (fact,), film.notes, {path.stem: film}, path.stem)
    if path.is_file() and path.suffix.lower() in PICTURES:
        raise problem(f"{path} is one picture; name the folder that it lies in, with the other pictures.")
    if path.is_file():
        features = read_features(path, path.parent, problem)
        attributes = read_attributes(path.parent / ATTRIBUTES_FILE, problem)
        return _without_pictures(path.parent, features, attributes)
    if not path.is_dir():
        raise problem(f"{path} does not exist. Name a folder of pictures or films, a film, or an .npz of features.")
    attributes = read_attributes(path / ATTRIBUTES_FILE, problem)
    if (path / IDS_FILE).exists():
        return _without_pictures(path, read_features(path, path, problem), attributes)
    own = {FEATURES_FILE, ATTRIBUTES_FILE}
    visible = (f for f in path.rglob("*") if not any(part.startswith(".") for part in f.relative_to(path).parts))
    files = sorted(entry for entry in visible if entry.is_file())
    films = [open_film(file) for file in files if is_film(file)]
    in_films = {film.path for film in films}
    pictures = [file for file in files if file.suffix.lower() in PICTURES and file not in in_films]
    others = Counter(
        file.suffix.lower() or "no ending"
        for file in files
        if file.suffix.lower() not in PICTURES and file not in in_films and file.relative_to(path).as_posix() not in own
    )
    features = features_beside(path, problem)
    if not pictures and not films:
        if features.ids:
            return _without_pictures(path, features, attributes)
        endings = ", ".join(sorted(PICTURES | FILMS))
        raise problem(f"{path} holds no picture or film ({endings}) and no {FEATURES_FILE}.")
    frames = sorted([*pictures, *(frame for film in films for frame in film.frames)], key=natural_order)
    _check_unique(frames, path, problem)
    listed = ", ".join(f"{count} × {ending}" for ending, count in sorted(others.items()))
    warnings: tuple[str, ...] = (
        (f"{path}: {sum(others.values())} files are no pictures; left out ({listed}).",) if others else ()
    )
    facts = (folder_fact(path, [*pictures, *in_films]), *features.inputs, *attributes.inputs)
    units = {frame_id(film.frames[0], path).rpartition("/")[0]: film for film in films}
    return FrameSet(path, tuple(frames), True, features, attributes, facts, warnings, units)


def read_attributes(path: Path, problem: Problem) -> AttributeTable:
    """The attributes in a CSV file; none when there is no such file."""
    if not path.exists():
        return AttributeTable()
    header = list(read_header(path, problem).names)
    key = next((name for name in KEYS if name in header), None)
    if key is None:
        raise problem(f"{path}: a column 'id' or 'video' was expected; found {shown_names(header) or 'no rows'}.")
    records, fact = read_records(path, problem)
    names = [name for name in header if name not in KEYS]
    levels: dict[str, dict[str, None]] = {name: {} for name in names}
    values: dict[str, dict[str, str]] = {}
    video_of = {}
    for line, fields in records[1:]:
        row = dict.fromkeys(header, "") | dict(zip(header, fields, strict=False))
        known = row[key].strip()
        if not known or known in values:
            raise problem(f"{path}, line {line}: the {key} {known!r} is empty or occurs twice.")
        values[known] = {name: row[name].strip() for name in names}
        if key == "id" and row.get("video", "").strip():
            video_of[known] = row["video"].strip()
        for name in names:
            if values[known][name]:
                levels[name][values[known][name]] = None
    declared = {name: tuple(found) for name, found in levels.items()}
    by_frame, by_video = (values, {}) if key == "id" else ({}, values)
    return AttributeTable(by_frame, by_video, video_of, declared, (fact,))


def folder_fact(folder: Path, files: Sequence[Path]) -> InputFact:
    """A folder of pictures in one line: their size in all, and the latest time stamp."""
    stats = [file.stat() for file in files]
    return InputFact(str(folder), sum(s.st_size for s in stats), "", max((s.st_mtime for s in stats), default=0.0))


def _without_pictures(root: Path, features: FeatureTable, attributes: AttributeTable) -> FrameSet:
    paths = tuple(root / name for name in sorted(features.ids, key=natural_order))
    return FrameSet(root, paths, False, features, attributes, (*features.inputs, *attributes.inputs))


def _check_unique(pictures: Sequence[Path], root: Path, problem: Problem) -> None:
    seen: dict[str, Path] = {}
    for picture in pictures:
        known = seen.setdefault(frame_id(picture, root), picture)
        if known != picture:
            raise problem(f"{root}: {known.name} and {picture.name} have one name. Keep one of them.")
