"""The data of tests 1 to 5: comparisons and searches of templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb.covariates import (
    AGE,
    AGE_WITH_UNKNOWN,
    ENUMERATIONS,
    NOT_ANNOTATED,
    OCCLUSIONS,
    OF_SUBJECTS,
    Enumeration,
    agreement_attribute,
    attribute_of,
    difference_attribute,
    pair_attribute,
    read_codes,
    without_unknown_age,
)
from evenhand.benchmarks.ijb.files import read_pairs, read_table
from evenhand.benchmarks.ijb.layout import KINDS, ProtocolFiles, release_of
from evenhand.benchmarks.ijb.lists import FaceList, read_face_list, read_pair_list, templates_of
from evenhand.benchmarks.ijb.options import CovariateOptions, SearchOptions, VerificationOptions
from evenhand.benchmarks.ijb.templates import ProtocolFaces, TemplateSet, join_faces, read_faces, template_samples
from evenhand.core.errors import DataError, OptionError
from evenhand.core.records import Array, Attribute
from evenhand.core.task import Dataset, InputFact
from evenhand.files.delimited import shown_names
from evenhand.search.lookup import looked_up

_LISTS = ("face_list", "landmark_list", "pair_list")
_MOST_WITH_OCCLUSIONS = 10_000_000  # comparisons: a byte for each of the 18 cells


@dataclass(frozen=True)
class PairTruth:
    """Comparisons of templates: which two are compared, and whether they are the same person."""

    templates: TemplateSet | None  # None: labels come with the scores
    first: NDArray[np.int32]  # positions of templates
    second: NDArray[np.int32]
    same: NDArray[np.bool_]
    matches: Path
    split: Array  # position of the split; 0 where there are none
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    listed: FaceList | None = None  # rows in list-file order, when these were read
    folder: Path | None = None  # where list files may be, when they were not read
    annotated: TemplateSet | None = None  # galleries and probes beside the list files, with their names of faces

    def __len__(self) -> int:
        return len(self.same)

    def lists(self) -> FaceList | None:
        """The list files of the data folder; None when there are none."""
        return self.listed if self.listed is not None or self.folder is None else lists_in(self.folder)


@dataclass(frozen=True)
class Gallery:
    """One gallery and the probes that are searched in it."""

    name: str
    ids: NDArray[np.int64]  # of templates
    subject: NDArray[np.int64]
    templates: TemplateSet | None  # None: only scores are given
    probes: Probes


@dataclass(frozen=True)
class Probes:
    """The probes of one search."""

    ids: NDArray[np.int64]
    subject: NDArray[np.int64]
    templates: TemplateSet | None
    attributes: Mapping[str, Attribute] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class SearchTruth:
    """Galleries, each with its probes."""

    galleries: tuple[Gallery, ...]
    folder: Path  # where the protocol was read


def load_verification(folder: Path, options: VerificationOptions) -> Dataset[PairTruth]:
    """Test 1: the match list and its templates, from official CSVs, list files or labelled scores."""
    layout = ProtocolFiles.of(folder)
    if layout.all("split_pairs"):
        return _load_splits(layout, options)
    layout.refuse_mixed("matches", "pair_templates", "gallery", "mixed_probes", "metadata", *_LISTS)
    if options.splits:
        raise _no_splits(layout, options.splits)
    has_lists = bool(layout.all("pair_list"))
    if options.layout == "lists" or (options.layout == "auto" and has_lists and not layout.all("matches")):
        return _load_lists(layout)
    if not layout.all("matches") and (Path(folder) / "scores.csv").is_file():
        return _load_labelled(Path(folder) / "scores.csv")
    path = layout.one("matches")
    first, second, fact = read_pairs(path)
    templates, facts = _templates(layout, _template_files(layout))
    return _pairs_dataset(layout, path, templates, first, second, (fact, *facts))


def load_covariates(folder: Path, options: CovariateOptions) -> Dataset[PairTruth]:
    """Test 2: single faces with their covariates, compared as listed."""
    layout = ProtocolFiles.of(folder)
    layout.refuse_mixed("covariate_matches", "covariate_templates")
    path = layout.one("covariate_matches")
    source = layout.one("covariate_templates")
    templates, facts = _templates(layout, [source])
    first_ids, second_ids, fact = read_pairs(path)
    first, second = (templates.positions(ids, path, in_place=True) for ids in (first_ids, second_ids))
    attributes = _covariate_attributes(templates, first, second, options)
    if not attributes:
        raise DataError(f"{source} has no covariates: none of GENDER, SKINTONE, AGE, YAW and the like is a column.")
    same = templates.same_subject(first, second)
    truth = PairTruth(templates, first, second, same, path, np.zeros(len(first), np.int64), attributes)
    missing = {name: int(attribute.belongs("(missing)").sum()) for name, attribute in attributes.items()}
    about = {
        "comparisons": len(first),
        "templates": len(templates),
        "subjects": len(np.unique(templates.subject)),
        "comparisons_without_annotation": missing,
    }
    return _compared(release_of(path), truth, (fact, *facts), about)


def _compared(
    version: str, truth: PairTruth, inputs: tuple[InputFact, ...], facts: Mapping[str, Any], *warnings: str
) -> Dataset[PairTruth]:
    """A dataset of comparisons; its samples are the templates."""
    return Dataset(
        version=version,
        samples=() if truth.templates is None else template_samples(truth.templates.ids),
        truth=truth,
        levels={name: attribute.levels for name, attribute in truth.attributes.items()},
        inputs=inputs,
        facts=facts,
        warnings=warnings,
        media=False,
    )


def load_search(kind: str, folder: Path, options: SearchOptions) -> Dataset[SearchTruth]:
    """Tests 3 (`image`), 4 (`mixed`) and 5 (`video`): galleries and probes."""
    layout = ProtocolFiles.of(folder)
    if layout.all("split_gallery"):
        if kind != "mixed":
            raise DataError(f"{folder} is IJB-A, which has one search, of mixed media: evaluate it with ijb/test4.")
        galleries, inputs = _split_galleries(layout, options)
        version = "IJBA"
    elif options.splits:
        raise _no_splits(layout, options.splits)
    elif layout.all("gallery"):
        layout.refuse_mixed("gallery", f"{kind}_probes", "metadata", *_LISTS)
        galleries, inputs = _official_galleries(layout, kind)
        version = release_of(layout.paths("gallery")[0])
    elif layout.all("plain_gallery"):
        galleries, inputs = _plain_galleries(layout)
        version = "scores"
    else:
        raise DataError(
            f"{folder} has no galleries: no file like {KINDS['gallery'].example}. "
            f"Tests 3 to 5 need the files of galleries and probes; list files name no galleries. {layout.advice()}"
        )
    levels = {name: attribute.levels for name, attribute in galleries[0].probes.attributes.items()}
    probes = np.concatenate([gallery.probes.ids for gallery in galleries])
    return Dataset(
        version=version,
        samples=template_samples(np.unique(probes)),
        truth=SearchTruth(galleries, Path(folder)),
        levels={"gallery": tuple(gallery.name for gallery in galleries), **levels},
        inputs=inputs,
        facts={
            "galleries": {gallery.name: len(gallery.ids) for gallery in galleries},
            "probes": {gallery.name: len(gallery.probes) for gallery in galleries},
        },
        media=False,
    )


@dataclass(frozen=True)
class SubjectMetadata:
    """Gender and skin tone of subjects as the metadata file has them; empty without one."""

    levels: Mapping[str, Mapping[int, int]] = field(default_factory=dict)  # covariate column → subject → level
    inputs: tuple[InputFact, ...] = ()

    @classmethod
    def of(cls, layout: ProtocolFiles, subjects: Array) -> SubjectMetadata:
        """What the metadata file says; an error where it can't say anything about the subjects of the protocol."""
        path = layout.optional("metadata")
        if path is None:
            return cls()
        table = read_table(path)
        columns = [covariate.column for covariate in OF_SUBJECTS]
        there = [column for column in columns if column in table]
        if "SUBJECT_ID" not in table or not there:
            raise DataError(
                f"{path}, line 1: a metadata file has the column SUBJECT_ID and at least one of {', '.join(columns)}, "
                f"but this one has {shown_names(table.columns)}. Correct its header. To evaluate without gender and "
                f"skin tone, add a column {columns[0]} with empty cells, or take the file away; keep it for test 7 "
                "without a file of ground truth, where it says whose face is whose."
            )
        subject = table.whole("SUBJECT_ID", missing=-1)
        if len(subjects) and not np.isin(subjects, subject).any():
            raise DataError(
                f"{path} names none of the {len(np.unique(subjects)):,} subjects of the protocol (the first is "
                f"{subjects[0]}). Are both files of one release?"
            )
        levels = {}
        for covariate in OF_SUBJECTS:
            codes = read_codes(table, covariate)
            if codes is not None:
                levels[covariate.column] = _first_by_subject(subject, codes)
        return cls(levels, (table.fact,))

    @property
    def attribute_levels(self) -> dict[str, tuple[str, ...]]:
        """The levels of `attributes`."""
        return {covariate.name: covariate.levels for covariate in OF_SUBJECTS}

    def codes(self, faces: ProtocolFaces | None, covariate: Enumeration) -> Mapping[int, int]:
        """The level of each subject: from the templates' own rows, or from the metadata file."""
        if faces is not None and covariate.column in faces.codes:
            return _first_by_subject(faces.subject, faces.codes[covariate.column])
        return self.levels.get(covariate.column, {})

    def attributes(self, faces: ProtocolFaces | None, subject: Array) -> dict[str, Attribute]:
        """Gender and skin tone of rows about one subject; "not annotated" where nothing is known."""
        attributes = {}
        for covariate in OF_SUBJECTS:
            known = self.codes(faces, covariate)
            codes = np.array([known.get(int(one), NOT_ANNOTATED) for one in subject], dtype=np.int64)
            attributes[covariate.name] = attribute_of(codes, covariate.levels)
        return attributes

    def pair_attributes(
        self, annotated: TemplateSet | None, templates: TemplateSet, first: Array, second: Array
    ) -> dict[str, Attribute]:
        """Gender and skin tone of both sides of comparisons; "not annotated" where nothing is known."""
        subjects, subject = np.unique(templates.subject, return_inverse=True)
        attributes: dict[str, Attribute] = {}
        for covariate in OF_SUBJECTS:
            known = {} if annotated is None else self.codes(annotated.faces, covariate)
            codes = np.array([known.get(number, NOT_ANNOTATED) for number in subjects.tolist()], dtype=np.int8)
            attributes[covariate.name] = pair_attribute(codes[subject.reshape(-1)], first, second, covariate)
        return attributes


def _first_by_subject(subject: Array, codes: Array) -> dict[int, int]:
    annotated = np.flatnonzero((codes >= 0) & (subject >= 0))[::-1]
    return dict(zip(subject[annotated].tolist(), codes[annotated].tolist(), strict=True))


def _template_files(layout: ProtocolFiles) -> list[Path]:
    """The files whose templates test 1 compares: the galleries and the mixed probes, or a file of their own."""
    if own := layout.paths("pair_templates"):
        return own
    galleries = layout.paths("gallery")
    if not galleries:
        raise DataError(f"{layout.folder} has a match list but no galleries: no file like {KINDS['gallery'].example}.")
    return [*galleries, layout.one("mixed_probes")]


def _templates(layout: ProtocolFiles, paths: Sequence[Path]) -> tuple[TemplateSet, tuple[InputFact, ...]]:
    read = [read_faces(path) for path in paths]
    for (faces, _), path in zip(read, paths, strict=True):
        if not len(faces):
            raise DataError(f"{path} has a header but no rows.")
    for (one, (first, _)), (other, (second, _)) in combinations(zip(paths, read, strict=True), 2):
        shared = np.intersect1d(first.template, second.template)
        if len(shared):
            raise DataError(
                f"{layout.folder}: template {shared[0]} is in {one.name} and in {other.name} ({len(shared):,} such "
                "templates). Template ids must be unique over the files; are files of two releases mixed?"
            )
    return TemplateSet.of(join_faces([faces for faces, _ in read]), layout.folder), tuple(fact for _, fact in read)


def _pairs_dataset(
    layout: ProtocolFiles,
    path: Path,
    templates: TemplateSet,
    first_ids: Array,
    second_ids: Array,
    inputs: tuple[InputFact, ...],
    listed: FaceList | None = None,
    known: TemplateSet | None = None,
) -> Dataset[PairTruth]:
    if not len(first_ids):
        raise DataError(f"{path} lists no comparisons.")
    first, second = (templates.positions(ids, path, in_place=True) for ids in (first_ids, second_ids))
    same = templates.same_subject(first, second)
    annotated = templates if listed is None else known  # list files themselves name no people
    metadata = SubjectMetadata() if annotated is None else SubjectMetadata.of(layout, annotated.subject)
    attributes = metadata.pair_attributes(annotated, templates, first, second)
    split = np.zeros(len(first), np.int8)
    truth = PairTruth(templates, first, second, same, path, split, attributes, listed, layout.folder, known)
    facts = {
        "templates": len(templates),
        "faces": len(templates.faces),
        "subjects": len(np.unique(templates.subject)),
        "comparisons": len(first),
        "genuine": int(same.sum()),
        "impostor": len(same) - int(same.sum()),
    }
    return _compared(release_of(path), truth, (*inputs, *metadata.inputs), facts)


def lists_in(folder: Path) -> FaceList | None:
    """The list files of a data folder, when they are there."""
    layout = ProtocolFiles.of(folder)
    path = layout.optional("face_list")
    return None if path is None else read_face_list(path, layout.optional("landmark_list"))


def _load_lists(layout: ProtocolFiles) -> Dataset[PairTruth]:
    """Test 1 from list files; subjects and covariates come from galleries and probes where these are beside them."""
    faces_path = layout.one("face_list")
    pairs_path = layout.one("pair_list")
    listed = read_face_list(faces_path, layout.optional("landmark_list"))
    pairs = read_pair_list(pairs_path)
    facts = (*listed.inputs, pairs.fact)
    known = None
    if layout.all("gallery") and layout.all("mixed_probes"):
        known, more = _templates(layout, _template_files(layout))
        facts += more
    templates = templates_of(listed, pairs, faces_path, known)
    return _pairs_dataset(layout, pairs_path, templates, pairs.first, pairs.second, facts, listed, known)


def _load_labelled(path: Path) -> Dataset[PairTruth]:
    """Comparisons that are known only by a label and a score; every one stands for itself."""
    table = read_table(path)
    label = table.whole("LABEL")
    table.refuse((label != 0) & (label != 1), lambda row: f"{label[row]} found, but 0 or 1 expected.", "LABEL")
    each = np.arange(len(label), dtype=np.int32)
    unknown, nobody = np.array([NOT_ANNOTATED]), np.zeros(len(label), dtype=np.int8)
    attributes = {covariate.name: pair_attribute(unknown, nobody, nobody, covariate) for covariate in OF_SUBJECTS}
    truth = PairTruth(None, each, each, label == 1, path, np.zeros(len(label), np.int8), attributes)
    warning = "The scores name no subjects: comparisons are treated as independent, which they may not be."
    return _compared("labelled scores", truth, (table.fact,), {"comparisons": len(label)}, warning)


def _no_splits(layout: ProtocolFiles, splits: Sequence[int]) -> OptionError:
    asked = ",".join(map(str, splits))
    return OptionError(f"splits={asked}: only IJB-A has splits, and {layout.folder} has none. Leave the option out.")


def _load_splits(layout: ProtocolFiles, options: VerificationOptions) -> Dataset[PairTruth]:
    """IJB-A: comparisons of the asked splits, each with its own templates."""
    splits = layout.splits(options.splits, "split_pairs", "split_templates")
    if not options.splits:
        listed = ",".join(str(number) for number, *_ in splits)
        raise OptionError(f"{layout.folder} is IJB-A, whose results are means over splits: set splits={listed}.")
    pairs, sets, facts, starts = [], [], [], [0]
    for _, path, source in splits:
        faces, fact = read_faces(source)
        templates = TemplateSet.of(faces, source)
        *ids, pair_fact = read_pairs(path)
        pairs.append([templates.positions(side, path) + np.int32(starts[-1]) for side in ids])
        sets.append(templates)
        facts += [fact, pair_fact]
        starts.append(starts[-1] + len(templates))
    joined = TemplateSet(
        join_faces([templates.faces for templates in sets]),
        np.concatenate([templates.ids for templates in sets]),
        np.concatenate([templates.subject for templates in sets]),
        np.concatenate([templates.of_face + start for templates, start in zip(sets, starts, strict=False)]),
    )
    first, second = (np.concatenate(side) for side in zip(*pairs, strict=True))
    split = np.repeat(np.arange(len(splits), dtype=np.int8), [len(side) for side, _ in pairs])
    attributes = {"split": Attribute.coded(split, [str(number) for number in options.splits])}
    attributes |= SubjectMetadata.of(layout, joined.subject).pair_attributes(joined, joined, first, second)
    truth = PairTruth(joined, first, second, joined.same_subject(first, second), splits[0][1], split, attributes)
    about = {"templates": len(joined), "comparisons": len(first), "splits": list(options.splits)}
    return _compared("IJBA", truth, tuple(facts), about)


def _covariate_attributes(
    templates: TemplateSet, first: Array, second: Array, options: CovariateOptions
) -> dict[str, Attribute]:
    faces, attributes = templates.faces, {}
    for covariate in ENUMERATIONS:
        if covariate.column not in faces.codes:
            continue
        codes = templates.per_template(faces.codes[covariate.column])
        shown = covariate
        if covariate is AGE:
            if options.unknown_age == "missing":
                codes = without_unknown_age(codes)
            else:
                shown = AGE_WITH_UNKNOWN
        codes = codes.astype(np.int8)
        attributes[covariate.name] = pair_attribute(codes, first, second, shown)
        attributes[f"{covariate.name}_match"] = agreement_attribute(looked_up(codes, first), looked_up(codes, second))
    if options.occlusions == "on" or (options.occlusions == "auto" and len(first) <= _MOST_WITH_OCCLUSIONS):
        for covariate in OCCLUSIONS:
            if covariate.column in faces.codes:
                codes = templates.per_template(faces.codes[covariate.column]).astype(np.int8)
                attributes[covariate.name] = pair_attribute(codes, first, second, covariate)
    for column, edges in (("YAW", options.yaw_edges), ("ROLL", options.roll_edges)):
        if column in faces.angles:
            values = np.full(len(templates), np.nan)
            values[templates.of_face[::-1]] = faces.angles[column][::-1]
            attributes[f"{column.lower()}_difference"] = difference_attribute(values[first], values[second], edges)
    return attributes


def _probes(layout: ProtocolFiles, path: Path) -> tuple[Probes, tuple[InputFact, ...], SubjectMetadata]:
    templates, facts = _templates(layout, [path])
    metadata = SubjectMetadata.of(layout, templates.subject)
    attributes = metadata.attributes(templates.faces, templates.subject)
    return Probes(templates.ids, templates.subject, templates, attributes), facts, metadata


def _gallery(layout: ProtocolFiles, name: str, path: Path, probes: Probes) -> tuple[Gallery, tuple[InputFact, ...]]:
    templates, facts = _templates(layout, [path])
    return Gallery(name, templates.ids, templates.subject, templates, probes), facts


def _official_galleries(layout: ProtocolFiles, kind: str) -> tuple[tuple[Gallery, ...], tuple[InputFact, ...]]:
    probes, facts, metadata = _probes(layout, layout.one(f"{kind}_probes"))
    galleries = []
    for entry in layout.all("gallery"):
        gallery, more = _gallery(layout, entry["name"], entry.path, probes)
        galleries.append(gallery)
        facts += more
    for one, other in combinations(galleries, 2):  # a probe is mated in exactly one of them
        shared = np.intersect1d(one.subject, other.subject)
        if len(shared):
            raise DataError(
                f"{layout.folder}: subject {shared[0]} is in gallery {one.name} and in gallery {other.name}. "
                "Galleries of one protocol have different subjects; are files of two releases mixed?"
            )
    return tuple(galleries), (*facts, *metadata.inputs)


def _split_galleries(
    layout: ProtocolFiles, options: SearchOptions
) -> tuple[tuple[Gallery, ...], tuple[InputFact, ...]]:
    galleries, facts = [], []
    for number, path, source in layout.splits(options.splits, "split_gallery", "split_probes"):
        probes, probe_facts, _ = _probes(layout, source)
        gallery, gallery_facts = _gallery(layout, f"split {number}", path, probes)
        galleries.append(gallery)
        facts += [*gallery_facts, *probe_facts]
    return tuple(galleries), tuple(facts)


def _plain_galleries(layout: ProtocolFiles) -> tuple[tuple[Gallery, ...], tuple[InputFact, ...]]:
    """Subjects of the columns and rows of score matrices: `gallery_NAME.csv` and `probes.csv`."""
    path = layout.one("plain_probes")
    table = read_table(path)
    rows, subject = table.whole("ROW"), table.whole("SUBJECT_ID")
    table.refuse_repeated(rows, "row")
    order = np.argsort(rows)
    probes = Probes(rows[order], subject[order], None)
    galleries, facts = [], [table.fact]
    for entry in layout.all("plain_gallery"):
        columns = read_table(entry.path)
        number, who = columns.whole("COLUMN"), columns.whole("SUBJECT_ID")
        columns.refuse_repeated(number, "column")
        if not len(number):
            raise DataError(f"{entry.path} lists no templates: an empty gallery can't be searched.")
        order = np.argsort(number)
        facts.append(columns.fact)
        galleries.append(Gallery(entry["name"], number[order], who[order], None, probes))
    return tuple(galleries), tuple(facts)
