"""Tests 7 and 8: faces clustered by person.

A face of interest is a row, with its BCubed precision and recall over the whole clustering.
Failures to enrol are faces with the cluster −1, in test 8 also faces that no detection is
attached to (IJB-B README, 4.2.7 and 4.2.8).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb import layout as names
from evenhand.benchmarks.ijb.data import SubjectMetadata
from evenhand.benchmarks.ijb.detection import complete_boxes
from evenhand.benchmarks.ijb.files import ProtocolTable, read_table
from evenhand.benchmarks.ijb.layout import ProtocolFiles
from evenhand.benchmarks.ijb.options import ClusteringOptions, DetectionClusteringOptions
from evenhand.benchmarks.ijb.templates import BOX, TemplateSamples, template_places
from evenhand.core.errors import DataError, PredictionError
from evenhand.core.records import Records
from evenhand.core.results import Coverage
from evenhand.core.task import Codec, Dataset, InputFact, Sample, Submitted, Tools
from evenhand.files.outputs import write_csv
from evenhand.geometry.assignment import assign_by_overlap
from evenhand.geometry.boxes import corners, offsets_of, overlaps_by_image
from evenhand.metrics.clustering import FAILED_TO_ENROL, bcubed


class SubProtocol(NamedTuple):
    """The faces to be clustered with so many subjects among them."""

    subjects: int
    hint: int  # an upper bound on the number of clusters, given to the algorithm
    template: NDArray[np.int64]
    path: Path


@dataclass(frozen=True)
class ClusterTruth:
    """Whose face each template of test 7 is."""

    template: NDArray[np.int64]
    subject: NDArray[np.int64]
    filename: NDArray[np.object_]
    path: Path
    sub_protocols: tuple[SubProtocol, ...]  # that may be answered, by rising number of subjects; none: not known
    people: SubjectMetadata | None = None


@dataclass(frozen=True)
class Clustered:
    """The cluster of every template, and the sub-protocol that is answered; None: only these templates count."""

    template: NDArray[np.int64]
    cluster: NDArray[np.int64]
    confidence: NDArray[np.float64]
    sub_protocol: SubProtocol | None


@dataclass(frozen=True)
class FacesOfInterest:
    """The annotated faces of test 8."""

    subject: NDArray[np.int64]
    filename: NDArray[np.object_]
    boxes_xywh: NDArray[np.float64]
    media: frozenset[str] | None = None  # the protocol's files; None when it is not given
    people: SubjectMetadata | None = None


@dataclass(frozen=True)
class ClusteredDetections:
    """Detections with their clusters."""

    filename: NDArray[np.object_]
    cluster: NDArray[np.int64]
    boxes_xywh: NDArray[np.float64]


class Associated(NamedTuple):
    """Which detection is attached to which face of interest."""

    face: NDArray[np.int64]  # rows of the ground truth, ascending
    detection: NDArray[np.int64]
    background: NDArray[np.int64]  # detections that are attached to none


def read_cluster_truth(path: Path) -> tuple[ProtocolTable, NDArray[np.int64], NDArray[np.int64], NDArray[np.object_]]:
    """Template, subject and file of a ground truth of test 7."""
    table = read_table(path)
    table.require("TEMPLATE_ID", "SUBJECT_ID", "FILENAME")
    template = table.whole("TEMPLATE_ID")
    table.refuse_repeated(template, "template")
    return table, template, table.whole("SUBJECT_ID"), table.text("FILENAME")


def load_clustering(folder: Path, options: ClusteringOptions) -> Dataset[ClusterTruth]:
    """Test 7: whose face is whose, and the lists of the sub-protocols where they are there.

    Without a file of ground truth, subjects are found in the metadata file by the faces' file and box.
    """
    folder = Path(folder)
    layout = ProtocolFiles.of(folder)
    lists = {int(entry["subjects"]): entry for entry in layout.all(names.CLUSTERING)}
    if options.subjects is not None and lists and options.subjects not in lists:
        raise DataError(f"{folder} has no clustering of {options.subjects} subjects; there are {sorted(lists)}.")
    tables = {number: read_table(lists[number].path) for number in sorted(lists)}
    plain = folder / "ground_truth.csv"
    path = plain if plain.is_file() else layout.optional(names.CLUSTERING_TRUTH, "ground truth of clustering")
    if path is None and tables and layout.all(names.METADATA):
        path = layout.one(names.METADATA, "metadata file")
        template, subject, filename = _truth_from_metadata(tables, path)
        inputs: tuple[InputFact, ...] = ()
    else:
        path = layout.one(names.CLUSTERING_TRUTH, "ground truth of clustering") if path is None else path
        table, template, subject, filename = read_cluster_truth(path)
        inputs = (table.fact,)
    chosen = []
    for number, protocol in tables.items():
        if options.subjects not in (None, number):
            continue
        listed = protocol.whole("TEMPLATE_ID")
        protocol.refuse_repeated(listed, "template")
        unknown = np.flatnonzero(~np.isin(listed, template))
        if len(unknown):
            raise DataError(
                f"{protocol.path}, line {int(unknown[0]) + 2}: template {listed[unknown[0]]} is not in {path}."
            )
        chosen.append(SubProtocol(number, int(lists[number]["hint"]), listed, protocol.path))
        inputs = (*inputs, protocol.fact)
    people = SubjectMetadata.of(layout, np.unique(subject))
    return Dataset(
        version=path.name.partition("_")[0].upper(),
        samples=TemplateSamples(chosen[-1].template if chosen else template),
        truth=ClusterTruth(template, subject, filename, path, tuple(chosen), people),
        levels=people.attribute_levels,
        inputs=(*inputs, *people.inputs),
        facts={"sub_protocols": sorted(lists)},
    )


def _truth_from_metadata(
    tables: Mapping[int, ProtocolTable], path: Path
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.object_]]:
    """Template, subject and file of all listed faces, found by file and box, or by a file that shows one person."""
    metadata = read_table(path)
    subjects, files = metadata.whole("SUBJECT_ID", missing=-1), metadata.text("FILENAME").tolist()
    boxes = metadata.matrix(BOX)
    by_box: dict[tuple[object, ...], list[int]] = {}  # several where two people were given one box: in their order
    by_file: dict[str, set[int]] = {}
    for name, box, subject in zip(files, boxes.tolist(), subjects.tolist(), strict=True):
        if subject >= 0:
            by_box.setdefault((name, *box), []).append(subject)
            by_file.setdefault(name, set()).add(subject)
    found: dict[int, tuple[int, str]] = {}
    for table in tables.values():
        rows = zip(
            table.whole("TEMPLATE_ID").tolist(),
            table.text("FILENAME").tolist(),
            table.matrix(BOX).tolist(),
            strict=True,
        )
        met: dict[tuple[object, ...], int] = {}
        for line, (template, name, box) in enumerate(rows, start=2):
            people, key = by_file.get(name, set()), (name, *box)
            place = met[key] = met.get(key, -1) + 1
            here = by_box.get(key, list(people) if len(people) == 1 else [])
            who = here[0] if len(set(here)) == 1 else here[place] if place < len(here) else None
            if who is None:
                problem = "no such file" if not people else f"{len(people)} people in this file, and none at this box"
                raise DataError(
                    f"{table.path}, line {line}: {name} is not in {path} ({problem}), so whose face it is is unknown."
                )
            if found.setdefault(template, (who, name)) != (who, name):
                raise DataError(f"{table.path}, line {line}: template {template} is another face in another list.")
    template = np.array(sorted(found), dtype=np.int64)
    subject = np.array([found[one][0] for one in template.tolist()], dtype=np.int64)
    return template, subject, np.array([found[one][1] for one in template.tolist()], dtype=object)


class ClusterCodec(Codec[Any]):
    """`TEMPLATE_ID, FILENAME, CLUSTER_INDEX, CONFIDENCE`; cluster −1 is a failure to enrol."""

    filename = "clusters.csv"
    example = "TEMPLATE_ID,FILENAME,CLUSTER_INDEX,CONFIDENCE\n500001,img/1.jpg,16,0.49\n"

    def read(self, path: Path, dataset: Dataset[ClusterTruth], options: Any) -> Submitted[Clustered]:
        truth = dataset.truth
        path = self._file(Path(path), truth)
        table = read_table(path, PredictionError)
        table.require("TEMPLATE_ID", "FILENAME", "CLUSTER_INDEX")
        template = table.whole("TEMPLATE_ID")
        table.refuse_repeated(template, "template")
        place = template_places(truth.template, template)
        table.refuse(place < 0, lambda row: f"template {template[row]} is not in {truth.path}.")
        filename, expected = table.text("FILENAME"), truth.filename[place]
        table.refuse(
            filename != expected,
            lambda row: (
                f"{filename[row]!r} found, but template {template[row]} is in {expected[row]!r} in {truth.path}."
            ),
            "FILENAME",
        )
        cluster = checked_clusters(table)
        chosen = _answered(truth, template, path)
        confidence = table.numbers("CONFIDENCE") if "CONFIDENCE" in table else np.full(len(template), np.nan)
        asked = len(template) if chosen is None else len(chosen.template)
        failed = int((cluster == FAILED_TO_ENROL).sum())
        known_protocol = {} if chosen is None else {"sub_protocol": chosen.subjects, "hint": chosen.hint}
        return Submitted(
            Clustered(template, cluster, confidence, chosen),
            Coverage(
                asked=asked,
                answered=len(template),
                empty=failed,
                missing=asked - len(template),
                reasons={"failed to enrol": failed, "listed but without a line": asked - len(template)},
            ),
            (table.fact,),
            facts={"clusters": len(np.unique(cluster[cluster != FAILED_TO_ENROL])), **known_protocol},
        )

    def write(self, path: Path, answers: Iterable[tuple[str, Any]], dataset: Dataset[Any], options: Any) -> None:
        """Answers are (cluster, confidence) by template."""
        truth: ClusterTruth = dataset.truth
        files = dict(zip(truth.template.tolist(), truth.filename.tolist(), strict=True))
        rows = (
            (template, files[int(template)], int(cluster), float(confidence))
            for template, (cluster, confidence) in answers
        )
        write_csv(Path(path), ("TEMPLATE_ID", "FILENAME", "CLUSTER_INDEX", "CONFIDENCE"), rows)

    def _file(self, path: Path, truth: ClusterTruth) -> Path:
        if not path.is_dir():
            return path
        answers = [f"clusters_{protocol.subjects}.csv" for protocol in reversed(truth.sub_protocols)]
        known = [*answers, self.filename, "cluster_file.csv"]
        for name in known:
            if (path / name).is_file():
                return path / name
        raise PredictionError(f"{path} has no {', '.join(known)}.")


def _answered(truth: ClusterTruth, template: NDArray[np.int64], path: Path) -> SubProtocol | None:
    """The sub-protocol that a file answers: the smallest that lists all its templates."""
    foreign = np.zeros(0, dtype=np.int64)
    for protocol in truth.sub_protocols:
        foreign = np.flatnonzero(~np.isin(template, protocol.template))
        if not len(foreign):
            return protocol
    if not truth.sub_protocols:
        return None
    row, largest = int(foreign[0]), truth.sub_protocols[-1]
    raise PredictionError(
        f"{path}, line {row + 2}: template {template[row]} does not belong to the clustering of {largest.subjects} "
        f"subjects ({len(foreign)} such lines). Choose another with subjects=…"
    )


def record_clusters(
    dataset: Dataset[ClusterTruth], predictions: Submitted[Clustered], options: ClusteringOptions, tools: Tools
) -> Iterator[Records]:
    """One row per face: its precision and recall, with and without failures to enrol."""
    truth = dataset.truth
    answer = predictions.content
    template, cluster, confidence = answer.template, answer.cluster, answer.confidence
    if answer.sub_protocol is not None:
        listed = answer.sub_protocol.template
        lacking = listed[~np.isin(listed, template)]
        template = np.concatenate([template, lacking])
        cluster = np.concatenate([cluster, np.full(len(lacking), FAILED_TO_ENROL)])
        confidence = np.concatenate([confidence, np.full(len(lacking), np.nan)])
    subject = truth.subject[template_places(truth.template, template)]
    enrolled = cluster != FAILED_TO_ENROL
    rows = _cluster_rows(truth.people, template, subject, cluster, enrolled, enrolled)
    yield Records({**rows.columns, "confidence": confidence}, rows.attributes)


def load_detection_clustering(folder: Path, options: DetectionClusteringOptions) -> Dataset[FacesOfInterest]:
    """Test 8: the faces of interest, and the list of files where it is there."""
    folder = Path(folder)
    layout = ProtocolFiles.of(folder)
    plain = folder / "ground_truth.csv"
    path = (
        plain
        if plain.is_file()
        else layout.one(names.DETECTION_CLUSTERING_TRUTH, "ground truth of detection and clustering")
    )
    table = read_table(path)
    table.require("SUBJECT_ID", "FILENAME", *BOX)
    subject = table.whole("SUBJECT_ID")
    inputs: tuple[InputFact, ...] = (table.fact,)
    media, hint = None, None
    lists = layout.all(names.DETECTION_CLUSTERING)
    if lists:
        protocol = read_table(lists[0].path)
        media, hint = frozenset(protocol.text("FILENAME").tolist()), int(lists[0]["hint"])
        inputs = (*inputs, protocol.fact)
    people = SubjectMetadata.of(layout, np.unique(subject))
    truth = FacesOfInterest(subject, table.text("FILENAME"), complete_boxes(table), media, people)
    files = sorted(media) if media is not None else sorted(set(truth.filename.tolist()))
    return Dataset(
        version=path.name.partition("_")[0].upper(),
        samples=[Sample(name) for name in files],
        truth=truth,
        levels=people.attribute_levels,
        inputs=(*inputs, *people.inputs),
        facts={"faces": len(subject), "subjects": len(np.unique(subject)), "hint": hint},
    )


class DetectionClusterCodec(Codec[Any]):
    """`TEMPLATE_ID, FILENAME, CLUSTER_INDEX, CONFIDENCE, FACE_X, FACE_Y, FACE_WIDTH, FACE_HEIGHT`."""

    filename = "detection_clusters.csv"
    example = (
        "TEMPLATE_ID,FILENAME,CLUSTER_INDEX,CONFIDENCE,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT\n"
        "1,img/1.jpg,12,0.82,65,182,55,66\n"
    )

    def read(self, path: Path, dataset: Dataset[FacesOfInterest], options: Any) -> Submitted[ClusteredDetections]:
        path = Path(path)
        if path.is_dir():
            there = [path / name for name in (self.filename, "detection_cluster_file.csv") if (path / name).is_file()]
            if not there:
                raise PredictionError(f"{path} has no {self.filename}.")
            path = there[0]
        answer, fact = read_clustered_detections(path)
        media = dataset.truth.media
        if media is not None:
            for row, name in enumerate(answer.filename.tolist()):
                if name not in media:
                    raise PredictionError(f"{path}, line {row + 2}: {name!r} is no file of the protocol.")
        asked = len(dataset.samples)
        answered = len(set(answer.filename.tolist()))
        return Submitted(
            answer,
            Coverage(asked=asked, answered=asked, empty=max(asked - answered, 0)),
            (fact,),
            facts={"detections": len(answer.cluster)},
        )

    def write(self, path: Path, answers: Iterable[tuple[str, Any]], dataset: Dataset[Any], options: Any) -> None:
        """Answers are sequences of (left, top, width, height, confidence, cluster) by file."""
        detections = (
            (name, int(cluster), float(confidence), *(float(value) for value in box))
            for name, found in answers
            for *box, confidence, cluster in found
        )
        rows = ((number, *detection) for number, detection in enumerate(detections, start=1))
        write_csv(Path(path), ("TEMPLATE_ID", "FILENAME", "CLUSTER_INDEX", "CONFIDENCE", *BOX), rows)


def read_clustered_detections(path: Path) -> tuple[ClusteredDetections, InputFact]:
    """The output file of test 8."""
    table = read_table(path, PredictionError)
    table.require("TEMPLATE_ID", "FILENAME", "CLUSTER_INDEX", *BOX)
    table.refuse_repeated(table.whole("TEMPLATE_ID"), "template")
    return ClusteredDetections(table.text("FILENAME"), checked_clusters(table), complete_boxes(table)), table.fact


def associate(truth: FacesOfInterest, found: ClusteredDetections, iou: float) -> Associated:
    """Attach detections to faces of interest, one to one, the largest overlap first.

    Ties go to the earlier face, then to the earlier detection. What is left over is background:
    surplus detections of a face, other faces, detections in files without a face of interest.
    """
    files: dict[str, int] = {}
    of_face, of_detection = (
        np.array([files.setdefault(name, len(files)) for name in names_.tolist()], dtype=np.int64)
        for names_ in (truth.filename, found.filename)
    )
    faces, detections = np.argsort(of_face, kind="stable"), np.argsort(of_detection, kind="stable")
    pairs = overlaps_by_image(
        corners(truth.boxes_xywh[faces]),
        offsets_of(of_face[faces], len(files)),
        corners(found.boxes_xywh[detections]),
        offsets_of(of_detection[detections], len(files)),
        at_least=iou,
    )
    matched = assign_by_overlap(pairs, len(faces), len(detections), threshold=iou)
    face, detection = faces[matched.faces], detections[matched.detections]
    order = np.argsort(face)
    return Associated(face[order], detection[order], np.sort(detections[matched.spurious]))


def record_detection_clusters(
    dataset: Dataset[FacesOfInterest],
    predictions: Submitted[ClusteredDetections],
    options: DetectionClusteringOptions,
    tools: Tools,
) -> Iterator[Records]:
    """One row per face of interest; background detections dilute precision and are no rows."""
    truth = dataset.truth
    answer = predictions.content
    found = associate(truth, answer, options.iou)
    cluster = np.full(len(truth.subject), FAILED_TO_ENROL, dtype=np.int64)
    cluster[found.face] = answer.cluster[found.detection]
    detected = np.zeros(len(truth.subject), dtype=np.bool_)
    detected[found.face] = True
    enrolled = cluster != FAILED_TO_ENROL
    background = answer.cluster[found.background]
    clustered = int((background != FAILED_TO_ENROL).sum())
    tools.warn(
        f"{len(found.face)} of {len(truth.subject)} faces of interest are detected; "
        f"{len(background)} detections are background, {clustered} of them in a cluster."
    )
    yield _cluster_rows(
        truth.people,
        np.arange(len(truth.subject)),
        truth.subject,
        cluster,
        enrolled,
        enrolled | ~detected,
        background,
        detected,
    )


def _cluster_rows(
    people: SubjectMetadata | None,
    item: NDArray[np.int64],
    subject: NDArray[np.int64],
    cluster: NDArray[np.int64],
    enrolled: NDArray[np.bool_],
    not_assigned_failure: NDArray[np.bool_],
    background: NDArray[np.int64] | None = None,
    detected: NDArray[np.bool_] | None = None,
) -> Records:
    """Rows under three conventions: all faces, without failures to enrol, without those that were given −1."""
    every = bcubed(subject, cluster, background)
    columns: dict[str, Any] = {
        "item": item,
        "unit": np.unique(subject, return_inverse=True)[1].reshape(-1).astype(np.int64),
        "precision": every.precision,
        "recall": every.recall,
        "enrolled": enrolled,
        "not_assigned_failure": not_assigned_failure,
        "detected": np.ones(len(item), np.bool_) if detected is None else detected,
    }
    for name, among in (("recall_enrolled", enrolled), ("recall_assigned", not_assigned_failure)):
        recall = np.zeros(len(item))
        recall[among] = bcubed(subject[among], cluster[among], background).recall
        columns[name] = recall
    return Records(columns, {} if people is None else people.attributes(None, subject))


def checked_clusters(table: ProtocolTable) -> NDArray[np.int64]:
    """(rows,): cluster numbers, −1 or more."""
    cluster = table.whole("CLUSTER_INDEX")
    table.refuse(
        cluster < FAILED_TO_ENROL,
        lambda row: f"{cluster[row]} found, but −1 (failure to enrol) or more was expected.",
        "CLUSTER_INDEX",
    )
    return cluster
