"""From embeddings to similarities: enrolment by averaging, cosine in single precision.

A subject's template is the mean of its raw embeddings, so long vectors weigh more. Templates and
probes are divided by their length (at least 1e-12) and multiplied in single precision, block by
block; nothing is clipped. A zero vector scores 0 everywhere (UCCS watchlist challenge, scoring).

Scores go to the challenge's text form, to a binary store, or straight into an evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.uccs.data import PREFIX, subject_name
from evenhand.benchmarks.uccs.detections import LEADING_COLUMNS, NO_LIMIT
from evenhand.benchmarks.uccs.scores import ScoredBlock
from evenhand.benchmarks.uccs.stores import (
    ProbeEmbeddings,
    check_origins,
    ids_path,
    read_gallery_embeddings,
    read_probes,
)
from evenhand.core.errors import DataError, PredictionError
from evenhand.core.records import Array
from evenhand.core.task import InputFact
from evenhand.files.writing import open_file, remove
from evenhand.instruments.ahead import ahead
from evenhand.search.sanity import embedding_warnings

SHORTEST = 1e-12  # a vector is divided by its length, or by this
_ROWS_AT_ONCE = 1024
_VALUES_AT_ONCE = 1 << 25


class Enrolment(NamedTuple):
    """The watchlist: subjects in the order of their names, with one template each."""

    subjects: tuple[int, ...]
    templates: Array  # (subjects, dimensions): plain means, not scaled


def enrol(embeddings: Mapping[int, Array]) -> Enrolment:
    """One template per subject: the mean of its embeddings, in their own precision.

    >>> enrol({7: np.array([[1.0, 0.0], [3.0, 2.0]])}).templates.tolist()
    [[2.0, 1.0]]
    """
    subjects = tuple(sorted(embeddings, key=subject_name))
    sizes = {embeddings[subject].shape[1] for subject in subjects}
    if len(sizes) > 1:
        raise DataError(
            f"Gallery embeddings have different lengths: {', '.join(map(str, sorted(sizes)))}. Were all extracted by "
            "the same network?"
        )
    empty = [subject for subject in subjects if not len(embeddings[subject])]
    if empty:
        raise DataError(f"Subject {PREFIX}{subject_name(empty[0])} has no gallery embedding.")
    return Enrolment(subjects, np.stack([embeddings[subject].mean(axis=0) for subject in subjects]))


def unit_vectors(vectors: Array) -> NDArray[np.float32]:
    """Vectors in single precision, divided by their length; a zero vector stays zero."""
    single = np.asarray(vectors, dtype=np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", single, single))
    return np.asarray(single / np.maximum(lengths, np.float32(SHORTEST))[:, np.newaxis])


def score(probes: Iterable[ProbeEmbeddings], enrolment: Enrolment) -> Iterator[ScoredBlock]:
    """The similarities of all detections to all subjects, a few thousand rows at a time."""
    gallery = np.ascontiguousarray(unit_vectors(enrolment.templates).T)
    rows = max(1, min(_ROWS_AT_ONCE, _VALUES_AT_ONCE // max(gallery.shape[1], 1)))
    for block in _batches(probes, rows):
        for probe in block:
            if probe.embeddings.shape[1] != gallery.shape[0]:
                raise PredictionError(
                    f"The embeddings of {probe.names[0]} have {probe.embeddings.shape[1]} values, "
                    f"the gallery's {gallery.shape[0]}. Were both extracted by the same network?"
                )
        vectors = np.concatenate([probe.embeddings for probe in block])
        files = [name for probe in block for name in probe.names]
        scores = np.concatenate([probe.detection_scores for probe in block])
        boxes = np.concatenate([probe.boxes_xywh for probe in block])
        for start in range(0, len(files), rows):
            part = slice(start, start + rows)
            similar = unit_vectors(vectors[part]) @ gallery
            yield ScoredBlock(files[part], scores[part], boxes[part], similar)


def write_text(path: Path, blocks: Iterable[ScoredBlock], subjects: Sequence[int]) -> int:
    """Write the challenge's recognition score file; returns the number of rows.

    Detection scores and boxes are the shortest text of doubles, similarities of single-precision
    numbers, as Python writes them.
    """
    rows = 0
    with open_file(path, "wb") as file:
        names = [PREFIX + subject_name(subject) for subject in subjects]
        file.write((",".join((*LEADING_COLUMNS, *names)) + "\n").encode())
        for outcome in ahead(blocks, _text_of, workers=2, depth=2, limit=NO_LIMIT):
            assert outcome.done is not None
            file.write(outcome.done)
            rows += outcome.done.count(b"\n")
    return rows


def write_binary(path: Path, blocks: Iterable[ScoredBlock], subjects: Sequence[int]) -> int:
    """Write a binary score store, `NAME.npy` and `NAME.ids.npz`; returns the number of rows.

    Both take their names at the end, the ids last and after those of a previous store are gone. Who is stopped in
    between leaves similarities without ids, which nobody reads, never those of one store with the ids of another.
    """
    files: list[str] = []
    scores: list[Array] = [np.zeros(0)]
    boxes: list[Array] = [np.zeros((0, 4))]
    with open_file(ids_path(path), "wb") as stream, open_file(path, "wb") as file:
        _npy_header(file, 0, len(subjects))
        for block in blocks:
            file.write(np.ascontiguousarray(block.similarities, dtype="<f4").data)
            files.extend(block.files)
            scores.append(block.detection_scores)
            boxes.append(block.boxes_xywh)
        file.seek(0)
        _npy_header(file, len(files), len(subjects))
        np.savez(
            stream,
            files=np.array(files, dtype=np.str_),
            detection_scores=np.concatenate(scores),
            bboxes=np.concatenate(boxes),
            subjects=np.array(subjects, dtype=np.int64),
        )
        remove(ids_path(path), below=path.parent)
    return len(files)


def score_stores(
    gallery: Path, probes: Path, subjects: tuple[int, ...], gallery_table: InputFact | None = None
) -> tuple[Enrolment, Iterator[ScoredBlock], tuple[str, ...]]:
    """The enrolled watchlist, the similarities of all probe stores, made as they are asked for, and what to note.

    Raises PredictionError when the stores are of two networks, unfinished, or of another gallery.
    """
    notes = check_origins(gallery, probes, gallery_table)
    embeddings = read_gallery_embeddings(gallery, subjects)
    enrolment = enrol(embeddings)
    return enrolment, score(read_probes(probes), enrolment), (*notes, *_gallery_warnings(gallery, embeddings))


def _gallery_warnings(gallery: Path, embeddings: Mapping[int, Array]) -> tuple[str, ...]:
    """What looks wrong about the gallery: constant or empty vectors, or those of a subject unlike each other."""
    subject = np.repeat(np.arange(len(embeddings)), [len(rows) for rows in embeddings.values()])
    warnings = embedding_warnings(np.concatenate(list(embeddings.values())), subject, index="the subject of every row")
    return tuple(f"{gallery}: {warning}" for warning in warnings)


def _batches(probes: Iterable[ProbeEmbeddings], rows: int) -> Iterator[list[ProbeEmbeddings]]:
    batch: list[ProbeEmbeddings] = []
    held = 0
    for probe in probes:
        if not len(probe.detection_scores):
            continue
        batch.append(probe)
        held += len(probe.detection_scores)
        if held >= rows:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _text_of(block: ScoredBlock) -> bytes:
    """The lines of a block. Polars writes the numbers; where Python's form is another, Python writes them."""
    import polars as pl

    similar = np.array(block.similarities, dtype=np.float32, order="F")
    size = np.abs(similar)
    by_python = ~((size > 1e-4) & (size < 1e5)) & (similar != 0)
    numbers = np.column_stack([block.detection_scores, block.boxes_xywh]).tolist()
    leading = [
        f"{name.replace(_MARK, _PLACE)},{','.join(map(repr, row))}"
        for name, row in zip(block.files, numbers, strict=True)
    ]
    texts = [str(value).encode() for value in similar[by_python]]
    similar[by_python] = np.nan
    columns = {str(place): pl.Series(similar[:, place]) for place in range(similar.shape[1])}
    frame = pl.DataFrame({"leading": pl.Series(leading, dtype=pl.String), **columns})
    text = frame.write_csv(include_header=False, quote_style="never").encode()
    pieces = text.split(_MARK.encode())
    assert len(pieces) == len(texts) + 1, "every marked number is written once"
    pairs = zip(pieces, [*texts, b""], strict=True)
    text = b"".join(part for pair in pairs for part in pair)
    return text.replace(_PLACE.encode(), _MARK.encode())


_MARK, _PLACE = "NaN", "\0"  # what Polars writes for numbers that Python writes; what stands for it in names meanwhile


_HEADER_ROOM = 128


def _npy_header(file: IO[bytes], rows: int, columns: int) -> None:
    """A header of constant size, so that the number of rows can be put in at the end."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    body = text.encode().ljust(_HEADER_ROOM - 11) + b"\n"
    file.write(b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body)
