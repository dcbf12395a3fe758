"""Loading a set: its table of faces, its exclusion list, its gallery."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from evenhand.benchmarks.uccs.data import (
    FACE_COLUMNS,
    NO_EXCLUSION,
    Exclusion,
    WatchlistFaces,
    dataset_of,
    list_images,
    read_exclusion,
    read_faces,
    read_subjects,
    unannotated,
)
from evenhand.benchmarks.uccs.options import WatchlistDetectionOptions
from evenhand.core.errors import DataError, OptionError
from evenhand.core.task import Dataset, InputFact
from evenhand.files.delimited import read_header


def load(data: Path, options: WatchlistDetectionOptions) -> Dataset[WatchlistFaces]:
    """A set of the data folder; without annotations its images can be looked at, but not evaluated."""
    if not 0 < options.iou <= 1:
        raise OptionError(f"iou is {options.iou:g}; an overlap limit lies above 0 and at most at 1, usually 0.5.")
    data = Path(data)
    if data.is_file():
        raise DataError(f"{data} is a file; name the folder that holds {options.which_set}.csv.")
    table, pictures = data / f"{options.which_set}.csv", data / f"{options.which_set}_images"
    inputs: list[InputFact] = []
    warnings: list[str] = []
    if _is_annotated(table):
        exclusion = _exclusion(data, options, warnings)
        faces, fact = read_faces(table, exclusion)
        if not len(faces):
            raise DataError(f"{table} has a header but no row: no face, no image, and so nothing to evaluate.")
        inputs += [fact, *([exclusion.fact] if exclusion.fact else [])]
    elif table.exists() or pictures.is_dir():
        names, listed = list_images(table, pictures)
        faces = unannotated(names)
        inputs += [listed] if listed else []
        warnings.append(f"{options.which_set} has no annotated faces here: it can be predicted, not evaluated.")
    else:
        raise DataError(
            f"{table} does not exist, nor the folder {pictures.name} beside it. "
            "Name the folder of the challenge's data, and the set with which_set."
        )
    gallery_table = data / "gallery.csv"
    if gallery_table.exists():
        subjects, fact = read_subjects(gallery_table)
        faces = replace(faces, gallery=subjects, gallery_table=fact)
    dataset = dataset_of(faces, pictures, inputs)
    if faces.gallery is not None:
        gallery = {"gallery": str(gallery_table)}
        dataset = replace(dataset, samples=tuple(replace(sample, given=gallery) for sample in dataset.samples))
    return replace(dataset, warnings=(*dataset.warnings, *warnings))


def _exclusion(data: Path, options: WatchlistDetectionOptions, warnings: list[str]) -> Exclusion:
    if options.exclude.casefold() in ("none", "null", ""):
        return NO_EXCLUSION
    if options.exclude != "auto":
        path = Path(options.exclude)
        first_release = path.with_suffix(".pickle")
        return read_exclusion(first_release if not path.exists() and first_release.exists() else path)
    for suffix in (".txt", ".pickle"):
        path = data / f"exclude_gallery_{options.which_set}{suffix}"
        if path.exists():
            return read_exclusion(path)
    warnings.append(f"There is no exclude_gallery_{options.which_set}.txt: every face counts, also gallery pictures.")
    return NO_EXCLUSION


def _is_annotated(table: Path) -> bool:
    """Whether a table has more than image names."""
    if not table.exists():
        return False
    return any(name in FACE_COLUMNS[1:] for name in read_header(table).names)
