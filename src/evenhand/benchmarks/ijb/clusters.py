"""Tests 7 and 8: faces clustered by person.

A face of interest is a row, with its BCubed precision and recall over the whole clustering.
Failures to enrol are faces with the cluster −1, in test 8 also faces that no detection is
attached to (IJB-B README, 4.2.7 and 4.2.8).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb.cluster_people import FoundPeople, people_of_lists
from evenhand.benchmarks.ijb.data import SubjectMetadata
from evenhand.benchmarks.ijb.detection import complete_boxes
from evenhand.benchmarks.ijb.files import ProtocolTable, file_of, read_table
from evenhand.benchmarks.ijb.layout import KINDS, NamedFile, ProtocolFiles, release_of
from evenhand.benchmarks.ijb.options import ClusteringOptions, DetectionClusteringOptions
from evenhand.benchmarks.ijb.templates import BOX, template_places, template_samples
from evenhand.core.errors import DataError, PredictionError
from evenhand.core.records import Records
from evenhand.core.results import Coverage
from evenhand.core.task import Codec, Dataset, InputFact, Sample, Submitted, Tools
from evenhand.files.outputs import write_csv
from evenhand.geometry.assignment import assign_by_overlap
from evenhand.geometry.boxes import corners, offsets_of, overlaps_by_image
from evenhand.metrics.clustering import FAILED_TO_ENROL, BCubed, bcubed

# The three conventions for failures to enrol: all count, none counts, those that were not detected count.
ALL = BCubed("BCubed")
WITHOUT_FAILURES = BCubed("BCubed without FTE", recall="recall_enrolled", among="enrolled")
WITHOUT_ASSIGNED = BCubed("BCubed without assigned FTE", recall="recall_assigned", among="not_assigned_failure")


class SubProtocol(NamedTuple):
    """The faces to be clustered with so many subjects among them."""

    subjects: int
    hint: int  # an upper bound on the number of clusters, given to the algorithm
    template: NDArray[np.int64]


@dataclass(frozen=True)
class ClusterTruth:
    """Whose face each template of test 7 is."""

    template: NDArray[np.int64]
    subject: NDArray[np.int64]
    filename: NDArray[np.object_]
    path: Path
    sub_protocols: tuple[SubProtocol, ...] = ()  # that may be answered, by rising number of subjects; none: not known
    people: SubjectMetadata | None = None

    @classmethod
    def read(cls, path: Path) -> tuple[ClusterTruth, InputFact]:
        """A file of ground truth."""
        table = read_table(path)
        table.require("TEMPLATE_ID", "SUBJECT_ID", "FILENAME")
        template = table.whole("TEMPLATE_ID")
        table.refuse_repeated(template, "template")
        return cls(template, table.whole("SUBJECT_ID"), table.text("FILENAME"), Path(path)), table.fact


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

    @classmethod
    def read(cls, path: Path) -> tuple[FacesOfInterest, InputFact]:
        """A file of ground truth."""
        table = read_table(path)
        table.require("SUBJECT_ID", "FILENAME", *BOX)
        return cls(table.whole("SUBJECT_ID"), table.text("FILENAME"), complete_boxes(table)), table.fact

    @classmethod
    def of_metadata(cls, path: Path, media: frozenset[str]) -> FacesOfInterest:
        """The annotated people in the media of the protocol, each face once; an error where a box is missing."""
        table = read_table(path)
        truth_file = KINDS["detection_clustering_truth"].example
        lacking = [name for name in ("SUBJECT_ID", "FILENAME", *BOX) if name not in table]
        if lacking:
            raise DataError(
                f"{path} can't serve as ground truth of test 8: it has no column {', '.join(lacking)}. Add "
                f"{truth_file} (SUBJECT_ID, FILENAME, {', '.join(BOX)})."
            )
        subject, filename, boxes = table.whole("SUBJECT_ID", missing=-1), table.text("FILENAME"), table.matrix(BOX)
        is_wanted = (subject >= 0) & np.array([name in media for name in filename.tolist()], dtype=np.bool_)
        table.refuse(
            is_wanted & np.isnan(boxes).any(axis=1),
            lambda row: f"subject {subject[row]} has no box in {filename[row]}. Add it, or {truth_file}.",
        )
        rows = np.flatnonzero(is_wanted)
        if not len(rows):
            raise DataError(f"{path} names nobody in the files of the protocol. Are both of one release?")
        keys = zip(filename[rows].tolist(), subject[rows].tolist(), boxes[rows].tolist(), strict=True)
        first = {(name, who, *box): row for (name, who, box), row in reversed(list(zip(keys, rows, strict=True)))}
        distinct = np.sort(np.array(list(first.values()), dtype=np.int64))
        return cls(subject[distinct], filename[distinct], boxes[distinct])


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


def load_clustering(folder: Path, options: ClusteringOptions) -> Dataset[ClusterTruth]:
    """Test 7: whose face is whose, and the lists of the sub-protocols where they are there.

    Without a file of ground truth, subjects are found in the metadata file by the faces' file and box.
    """
    layout = ProtocolFiles.of(folder)
    layout.refuse_mixed("clustering", "clustering_truth", "metadata")
    lists = {int(entry["subjects"]): entry for entry in layout.all("clustering")}
    if options.subjects is not None and options.subjects not in lists:
        example = KINDS["clustering"].example
        there = ", ".join(map(str, sorted(lists)))
        known = f"there are {there}" if lists else f"it has no lists of sub-protocols, such as {example}"
        raise DataError(f"{folder} has no clustering of {options.subjects} subjects; {known}.")
    tables = {number: read_table(lists[number].path) for number in sorted(lists)}
    metadata = layout.optional("metadata")
    inputs: tuple[InputFact, ...] = ()
    found: FoundPeople | None = None
    if layout.optional("clustering_truth") is None and tables and metadata is not None:
        found = people_of_lists(tables, metadata)
        truth = ClusterTruth(found.template, found.subject, found.filename, metadata)
    else:
        truth, fact = ClusterTruth.read(layout.one("clustering_truth"))
        inputs = (fact,)
    asked = [number for number in tables if options.subjects in (None, number)]
    chosen = [_sub_protocol(lists[number], tables[number], truth) for number in asked]
    inputs += tuple(tables[number].fact for number in asked)
    people = SubjectMetadata.of(layout, np.unique(truth.subject))
    return Dataset(
        version=release_of(truth.path),
        samples=template_samples(chosen[-1].template if chosen else truth.template),
        truth=replace(truth, sub_protocols=tuple(chosen), people=people),
        levels=people.attribute_levels,
        inputs=(*inputs, *people.inputs),
        facts={"sub_protocols": sorted(lists)},
        warnings=() if found is None else found.warnings([part.template for part in chosen]),
    )


def _sub_protocol(entry: NamedFile, table: ProtocolTable, truth: ClusterTruth) -> SubProtocol:
    listed = table.whole("TEMPLATE_ID")
    table.refuse_repeated(listed, "template")
    unknown = ~np.isin(listed, truth.template)
    table.refuse(unknown, lambda row: f"template {listed[row]} is not in {truth.path}.")
    return SubProtocol(int(entry["subjects"]), int(entry["hint"]), listed)


class ClusterCodec(Codec[Any]):
    """`TEMPLATE_ID, FILENAME, CLUSTER_INDEX, CONFIDENCE`; cluster −1 is a failure to enrol."""

    filename = "clusters.csv"
    example = "TEMPLATE_ID,FILENAME,CLUSTER_INDEX,CONFIDENCE\n500001,img/1.jpg,16,0.49\n"

    def read(self, path: Path, dataset: Dataset[ClusterTruth], options: Any) -> Submitted[Clustered]:
        truth = dataset.truth
        answers = (f"clusters_{protocol.subjects}.csv" for protocol in reversed(truth.sub_protocols))
        table = read_table(file_of(path, *answers, self.filename, "cluster_file.csv"), PredictionError)
        table.require("TEMPLATE_ID", "FILENAME", "CLUSTER_INDEX")
        if not table.rows and len(truth.sub_protocols) != 1:  # of one list, every face would be a failure to enrol
            raise PredictionError(
                f"{table.path} has a header but no rows, so it is not known which faces were clustered. Write one line "
                "per face, with cluster −1 for a failure to enrol, or name the list of faces with subjects=…"
            )
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
        chosen = _answered(table, truth, template)
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


def _answered(table: ProtocolTable, truth: ClusterTruth, template: NDArray[np.int64]) -> SubProtocol | None:
    """The sub-protocol that a file answers: the smallest that lists all its templates."""
    protocols = truth.sub_protocols
    answered = next((protocol for protocol in protocols if np.isin(template, protocol.template).all()), None)
    if answered is None and protocols:
        foreign = ~np.isin(template, protocols[-1].template)
        table.refuse(
            foreign,
            lambda row: (
                f"template {template[row]} does not belong to the clustering of {protocols[-1].subjects} "
                f"subjects ({int(foreign.sum())} such lines). Choose another with subjects=…"
            ),
        )
    return answered


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
    """Test 8: the faces of interest, and the list of files where it is there.

    Without a file of ground truth, the faces of interest are those that the metadata file has in the listed files.
    """
    layout = ProtocolFiles.of(folder)
    layout.refuse_mixed("detection_clustering", "detection_clustering_truth", "metadata")
    inputs: tuple[InputFact, ...] = ()
    media, hint = None, None
    lists = layout.all("detection_clustering")
    if lists:
        protocol = read_table(lists[0].path)
        media, hint = frozenset(protocol.text("FILENAME").tolist()), int(lists[0]["hint"])
        inputs = (protocol.fact,)
    path, metadata = layout.optional("detection_clustering_truth"), layout.optional("metadata")
    if path is None and media is not None and metadata is not None:
        path, truth = metadata, FacesOfInterest.of_metadata(metadata, media)
    elif path is None and metadata is not None:
        raise DataError(
            f"{folder} has no {KINDS['detection_clustering_truth'].what}: no file like "
            f"{KINDS['detection_clustering_truth'].example}. {metadata.name} serves instead once the list of media is "
            f"there, too ({KINDS['detection_clustering'].example})."
        )
    else:
        path = layout.one("detection_clustering_truth")
        truth, fact = FacesOfInterest.read(path)
        inputs = (fact, *inputs)
    subjects = np.unique(truth.subject)
    people = SubjectMetadata.of(layout, subjects)
    files = set(truth.filename.tolist()) if media is None else media
    return Dataset(
        version=release_of(path),
        samples=[Sample(name) for name in sorted(files)],
        truth=replace(truth, media=media, people=people),
        levels=people.attribute_levels,
        inputs=(*inputs, *people.inputs),
        facts={"faces": len(truth.subject), "subjects": len(subjects), "hint": hint},
    )


class DetectionClusterCodec(Codec[Any]):
    """`TEMPLATE_ID, FILENAME, CLUSTER_INDEX, CONFIDENCE, FACE_X, FACE_Y, FACE_WIDTH, FACE_HEIGHT`."""

    filename = "detection_clusters.csv"
    example = (
        "TEMPLATE_ID,FILENAME,CLUSTER_INDEX,CONFIDENCE,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT\n"
        "1,img/1.jpg,12,0.82,65,182,55,66\n"
    )

    def read(self, path: Path, dataset: Dataset[FacesOfInterest], options: Any) -> Submitted[ClusteredDetections]:
        table = read_table(file_of(path, self.filename, "detection_cluster_file.csv"), PredictionError)
        table.require("TEMPLATE_ID", "FILENAME", "CLUSTER_INDEX", *BOX)
        table.refuse_repeated(table.whole("TEMPLATE_ID"), "template")
        answer = ClusteredDetections(table.text("FILENAME"), checked_clusters(table), complete_boxes(table))
        files, media = answer.filename.tolist(), dataset.truth.media
        if media is not None:
            unknown = np.array([name not in media for name in files], dtype=np.bool_)
            table.refuse(
                unknown,
                lambda row: (
                    f"{files[row]!r} is no file of the protocol ({int(unknown.sum())} such lines). Write names as the "
                    f"protocol does, such as {dataset.samples[0].id!r}, and leave other files out."
                ),
            )
        warnings: tuple[str, ...] = ()
        if files and media is None and set(files).isdisjoint(dataset.truth.filename.tolist()):
            warnings = (
                f"{table.path} names none of the files with a face of interest (it has {files[0]!r}, the ground truth "
                f"{str(dataset.truth.filename[0])!r}), so every face counts as undetected. Are names written as the "
                "protocol does?",
            )
        asked = len(dataset.samples)
        return Submitted(
            answer,
            Coverage(asked=asked, answered=asked, empty=max(asked - len(set(files)), 0)),
            (table.fact,),
            warnings,
            facts={"detections": len(answer.cluster)},
        )

    def write(self, path: Path, answers: Iterable[tuple[str, Any]], dataset: Dataset[Any], options: Any) -> None:
        """Answers are sequences of (left, top, width, height, confidence, cluster) by file."""
        lines = (
            (name, int(cluster), float(confidence), *(float(value) for value in box))
            for name, detections in answers
            for *box, confidence, cluster in detections
        )
        rows = ((number, *line) for number, line in enumerate(lines, start=1))
        write_csv(Path(path), ("TEMPLATE_ID", "FILENAME", "CLUSTER_INDEX", "CONFIDENCE", *BOX), rows)


def associate(truth: FacesOfInterest, answer: ClusteredDetections, iou: float) -> Associated:
    """Attach detections to faces of interest, one to one, the largest overlap first.

    Ties go to the earlier face, then to the earlier detection. What is left over is background:
    surplus detections of a face, other faces, detections in files without a face of interest.
    """
    files: dict[str, int] = {}
    of_face, of_detection = (
        np.array([files.setdefault(name, len(files)) for name in names.tolist()], dtype=np.int64)
        for names in (truth.filename, answer.filename)
    )
    faces, detections = np.argsort(of_face, kind="stable"), np.argsort(of_detection, kind="stable")
    pairs = overlaps_by_image(
        corners(truth.boxes_xywh[faces]),
        offsets_of(of_face[faces], len(files)),
        corners(answer.boxes_xywh[detections]),
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
    attached = associate(truth, answer, options.iou)
    cluster = np.full(len(truth.subject), FAILED_TO_ENROL, dtype=np.int64)
    cluster[attached.face] = answer.cluster[attached.detection]
    detected = np.zeros(len(truth.subject), dtype=np.bool_)
    detected[attached.face] = True
    enrolled = cluster != FAILED_TO_ENROL
    background = answer.cluster[attached.background]
    clustered = int((background != FAILED_TO_ENROL).sum())
    tools.warn(
        f"{len(attached.face)} of {len(truth.subject)} faces of interest are detected; "
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
