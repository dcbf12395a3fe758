"""A clustering that others can be compared with, for tests 7 and 8.

Two faces are joined when the cosine of their embeddings reaches a threshold, and clusters
are what hangs together. The only thing given is the hint, a coarse upper bound on the
number of people; the threshold is the highest at which there are no more clusters than that,
unless one is named. Neighbours are found block by block, ten of each face.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb.detection import complete_boxes
from evenhand.benchmarks.ijb.embeddings import FORMATS, open_array
from evenhand.benchmarks.ijb.files import read_table
from evenhand.benchmarks.ijb.layout import KINDS, ProtocolFiles
from evenhand.benchmarks.ijb.options import PoolingOptions
from evenhand.benchmarks.ijb.submission import Parts, SubmittedEmbeddings, read_embedded
from evenhand.benchmarks.ijb.templates import BOX, FacePlaces, ProtocolFaces, TemplateSet, faces_of
from evenhand.core.errors import DataError, PredictionError
from evenhand.core.sparse import connected_components
from evenhand.files.outputs import write_csv
from evenhand.metrics.clustering import FAILED_TO_ENROL
from evenhand.search.enrol import Membership, Pooling, enrol

COLUMNS = ("TEMPLATE_ID", "FILENAME", "CLUSTER_INDEX", "CONFIDENCE")
NEIGHBOURS = 10
_BLOCK = 1024


@dataclass(frozen=True)
class Clustering:
    """What the baseline found."""

    cluster: NDArray[np.int64]  # (faces,); −1 for a failure to enrol
    threshold: float
    hint: int

    @property
    def faces(self) -> int:
        return len(self.cluster)

    @property
    def clusters(self) -> int:
        return len(np.unique(self.cluster[self.cluster != FAILED_TO_ENROL]))

    @property
    def failures(self) -> int:
        return int((self.cluster == FAILED_TO_ENROL).sum())


def cluster_faces(
    vectors: NDArray[np.float32], enrolled_: NDArray[np.bool_], hint: int, threshold: float | None = None
) -> Clustering:
    """Clusters of unit vectors, as many as the hint says at most, unless neighbours do not hang together.

    A `threshold` of the cosine takes the place of the hint.

    >>> faces = np.array([[1, 0], [1, 0], [0, 1], [0, 0]], dtype=np.float32)
    >>> cluster_faces(faces, np.array([True, True, True, False]), hint=2).cluster.tolist()
    [0, 0, 1, -1]
    """
    usable = np.flatnonzero(enrolled_)
    one, other, cosine = nearest_neighbours(vectors[usable])
    order = np.argsort(-cosine, kind="stable")
    one, other, cosine = one[order], other[order], cosine[order]
    low, high = 0, len(cosine)  # so many of the strongest links
    if threshold is not None:
        low = high = int(np.searchsorted(-cosine, -threshold, side="right"))
    while low < high:
        middle = (low + high) // 2
        if int(connected_components(one[:middle], other[:middle], len(usable)).max(initial=-1)) + 1 <= hint:
            high = middle
        else:
            low = middle + 1
    cluster = np.full(len(vectors), FAILED_TO_ENROL, dtype=np.int64)
    cluster[usable] = connected_components(one[:low], other[:low], len(usable))
    reached = float(cosine[low - 1]) if low else 1.0
    return Clustering(cluster, reached if threshold is None else threshold, hint)


def nearest_neighbours(
    vectors: NDArray[np.float32], neighbours: int = NEIGHBOURS
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """The links of every vector to its nearest others, block by block: two ends and their cosine."""
    count = len(vectors)
    kept = min(neighbours, max(count - 1, 0))
    ends, cosines = np.zeros((count, kept), np.int64), np.zeros((count, kept), np.float32)
    for start in range(0, count, _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, count))
        product = vectors[rows] @ vectors.T
        product[np.arange(len(rows)), rows] = -np.inf
        if kept:
            best = np.argpartition(product, count - kept, axis=1)[:, count - kept :]
            best.sort(axis=1)  # a fixed order among equals
            ends[rows] = best
            cosines[rows] = np.take_along_axis(product, best, axis=1)
    return np.repeat(np.arange(count), kept), ends.reshape(-1), cosines.reshape(-1)


def cluster_submission(
    submission: Path, data: Path, output: Path, *, subjects: int | None = None, threshold: float | None = None
) -> Clustering:
    """Cluster the faces of test 7 by their embeddings and write the cluster file."""
    layout = ProtocolFiles.of(data)
    lists = {int(entry["subjects"]): entry for entry in layout.all("clustering")}
    if not lists or (subjects is not None and subjects not in lists):
        raise DataError(
            f"{data} has no clustering of {subjects or 'any'} subjects; there are {', '.join(map(str, sorted(lists)))}."
        )
    entry = lists[max(lists) if subjects is None else subjects]
    faces = faces_of(read_table(entry.path))
    content, _ = read_embedded(Parts.of(submission))
    if content.index is None:
        raise PredictionError(f"{submission} has no faces.csv, so nothing says whose face each row is.")
    templates = TemplateSet.of(faces, entry.path)
    options = PoolingOptions(
        flip="none" if content.flipped is None else "sum", norm="unit", detector="off", media="flat"
    )
    pooled = _without_subjects(content, data, faces).enrol(templates, options)
    clustering = cluster_faces(pooled.vectors, pooled.enrolled, int(entry["hint"]), threshold)
    rows = zip(faces.template.tolist(), faces.filename.to_list(), clustering.cluster.tolist(), strict=True)
    write_csv(output, COLUMNS, ((template, name, cluster, 1.0) for template, name, cluster in rows))
    return clustering


def cluster_detections(submission: Path, data: Path, output: Path, *, threshold: float | None = None) -> Clustering:
    """Cluster the detections of test 8 by their embeddings and write the file of clustered detections.

    The submission is a folder with `detections.csv` (as in test 6) and `detection_embeddings`, one row for each
    detection; a row of zeros is a failure to enrol. The hint of test 8 is far above the number of people, so a
    threshold that was found on other data serves better.
    """
    lists = ProtocolFiles.of(data).all("detection_clustering")
    if not lists:
        kind = KINDS["detection_clustering"]
        raise DataError(f"{data} has no {kind.what}: no file like `{kind.example}`.")
    path = Path(submission) / "detections.csv"
    table = read_table(path, PredictionError)
    table.require("FILENAME", *BOX)
    boxes = complete_boxes(table)
    there = [Path(submission) / f"detection_embeddings{suffix}" for suffix in FORMATS]
    source = next((file for file in there if file.is_file()), None)
    if source is None:
        raise PredictionError(f"{submission} has no {' or '.join(file.name for file in there)}.")
    vectors = open_array(source)
    if len(vectors) != table.rows:
        raise PredictionError(
            f"{source} has {len(vectors)} rows, but {path} lists {table.rows} detections. Write one row for each."
        )
    pooled = enrol(vectors, Membership.of_single_faces(np.arange(len(vectors))), Pooling("none", "unit", "off", "flat"))
    clustering = cluster_faces(pooled.vectors, pooled.enrolled, int(lists[0]["hint"]), threshold)
    confidence = table.numbers("CONFIDENCE") if "CONFIDENCE" in table else np.ones(table.rows)
    columns = (table.text("FILENAME"), clustering.cluster, confidence, *boxes.T)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    write_csv(output, (*COLUMNS, *BOX), ((number, *row) for number, row in enumerate(rows, start=1)))
    return clustering


def _without_subjects(content: SubmittedEmbeddings, data: Path, faces: ProtocolFaces) -> SubmittedEmbeddings:
    """The index of faces by file and box: the input of test 7 names no subjects.

    Files that show one face of interest are identified by their name; where several are shown, the
    metadata file says which sighting has which box.
    """
    assert content.index is not None
    index, files = content.index, content.index.filename.to_list()
    times = Counter(files)
    alone = {name: place for place, name in enumerate(files) if times[name] == 1}
    boxes: dict[tuple[str, tuple[float, ...]], int] = {}
    path = ProtocolFiles.of(data).optional("metadata")
    if path is not None and index.subject is not None:
        table = read_table(path)
        places = {person: place for place, person in enumerate(zip(files, index.subject.tolist(), strict=True))}
        annotated = zip(table.text("FILENAME").tolist(), table.whole("SUBJECT_ID", missing=-1).tolist(), strict=True)
        for person, box in zip(annotated, FacePlaces.of(table).box.tolist(), strict=True):
            if person in places:
                boxes[person[0], tuple(box)] = places[person]
    rows = np.full(len(faces), -1, dtype=np.int64)
    for row, (name, box) in enumerate(zip(faces.filename.to_list(), faces.places.box.tolist(), strict=True)):
        place = boxes.get((name, tuple(box)), alone.get(name))
        if place is not None:
            rows[row] = index.row[place]
    return replace(content, index=None, rows=rows, row_names=None, video=None, scores=None)
