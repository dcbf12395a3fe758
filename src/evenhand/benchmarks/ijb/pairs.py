"""Tests 1 and 2: templates compared one to one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb import layout as names
from evenhand.benchmarks.ijb.data import PairTruth
from evenhand.benchmarks.ijb.embeddings import read_array
from evenhand.benchmarks.ijb.files import read_table, scores_of
from evenhand.benchmarks.ijb.layout import Layout
from evenhand.benchmarks.ijb.lists import FaceList, read_face_list
from evenhand.benchmarks.ijb.options import PoolingOptions
from evenhand.benchmarks.ijb.submission import Embedded, Parts, Submitted, read_embedded
from evenhand.benchmarks.ijb.templates import TemplateSet
from evenhand.core.errors import PredictionError
from evenhand.core.records import Array, Records
from evenhand.core.results import Coverage
from evenhand.core.task import Codec, Dataset, Predictions, Tools
from evenhand.search.compare import pair_scores
from evenhand.search.enrol import Membership, Templates, enrol
from evenhand.search.lookup import looked_up

Content = Embedded | NDArray[np.float64]  # embeddings, or one score per comparison
_ROWS_AT_ONCE = 1 << 24


class PairCodec(Codec[Any]):
    """Embeddings with an index of faces, or one score per listed comparison."""

    filename = "submission"
    example = (
        "embeddings.npy + faces.csv:\n"
        "FACE_INDEX,FILENAME,SUBJECT_ID,SIGHTING_ID,FACE_SCORE\n"
        "0,img/1.jpg,180,5000,0.997\n\n"
        "or scores.csv:\nTEMPLATE_ID_1,TEMPLATE_ID_2,SCORE\n29,234,0.171\n"
    )

    def read(self, path: Path, dataset: Dataset[PairTruth], options: PoolingOptions) -> Submitted[Content]:
        parts = Parts.of(path)
        truth = dataset.truth
        if parts.get("embeddings") is None or truth.templates is None:
            return self._read_scores(parts, truth)
        templates = truth.templates

        def pooled(content: Embedded) -> Embedded:
            content = in_list_order(content, templates, truth, dataset)
            content = replace(content, rows=membership(templates, content).face, index=None)  # found once
            return replace(content, templates=enrolled(templates, content, options))

        content, facts = read_embedded(parts, pooled)
        return Submitted(
            content,
            coverage_of(templates, membership(templates, content)),
            facts,
            facts={"pooling": options.pooling.words, "fte_policy": options.fte},
        )

    def write(self, path: Path, answers: Iterable[tuple[str, Any]], dataset: Dataset[Any], options: Any) -> None:
        raise PredictionError("Templates are not asked of a model; `evenhand predict ijb/faces` asks for embeddings.")

    def _read_scores(self, parts: Parts, truth: PairTruth) -> Submitted[Content]:
        path = parts.get("scores")
        if path is None:
            raise PredictionError(f"{parts.where} has neither embeddings nor scores.")
        if path.suffix == ".csv":
            table = read_table(path, PredictionError)
            scores, fact = scores_of(table), table.fact
            if "TEMPLATE_ID_1" in table and truth.templates is not None:
                _check_ids(path, truth, table.whole("TEMPLATE_ID_1"), table.whole("TEMPLATE_ID_2"))
        else:
            array, fact = read_array(path, dimensions=1)
            scores = np.asarray(array)
            if np.isnan(scores).any():
                row = int(np.flatnonzero(np.isnan(scores))[0])
                raise PredictionError(f"{path}, entry {row}: a score is not a number. Use −∞ for a failure to enrol.")
        if len(scores) != len(truth):
            raise PredictionError(
                f"{path} has {len(scores)} scores, but {truth.matches} lists {len(truth)} comparisons. "
                "Write one score per comparison, in that order."
            )
        failed = int((scores == -np.inf).sum())
        coverage = Coverage(
            asked=len(scores), answered=len(scores) - failed, empty=failed, reasons={"failed to enrol": failed}
        )
        return Submitted(scores, coverage, (fact,))


def record_pairs(
    dataset: Dataset[PairTruth], predictions: Predictions[Any], options: PoolingOptions, tools: Tools
) -> Iterator[Records]:
    """One row per comparison: its score (−∞ with a failure to enrol) and whether both are the same person."""
    truth = dataset.truth
    assert isinstance(predictions, Submitted)
    content = predictions.content
    if isinstance(content, Embedded):
        templates = content.templates
        assert templates is not None
        if templates.failures or templates.skipped:
            tools.warn(
                f"{templates.failures} of {len(templates.enrolled)} templates failed to enrol; "
                f"{templates.skipped} faces without embedding were skipped in others."
            )
        scores: NDArray[Any] = pair_scores(templates, truth.first, truth.second, engine=tools.engine)
    else:
        scores = content
    first, second = subjects_of(truth)
    for start in range(0, len(truth), _ROWS_AT_ONCE):
        part = slice(start, min(start + _ROWS_AT_ONCE, len(truth)))
        score = scores[part]
        yield Records(
            {
                "item": np.arange(part.start, part.stop, dtype=np.int32),
                "unit": first[part],
                "unit_b": second[part],
                "score": score,
                "same": truth.same[part],
                "failed": score == -np.inf,
                "split": truth.split[part].astype(np.int8, copy=False),
            },
            {name: attribute.take(part) for name, attribute in truth.attributes.items()},
        )


def subjects_of(truth: PairTruth) -> tuple[Array, Array]:
    """The subjects on both sides of every comparison, as codes; a comparison of its own without subjects."""
    if truth.templates is None:
        each = np.arange(len(truth), dtype=np.int32)
        return each, each
    codes = truth.templates.subject_codes
    return looked_up(codes, truth.first), looked_up(codes, truth.second)


def membership(templates: TemplateSet, content: Embedded) -> Membership:
    """Which rows of the embeddings make up which template."""
    faces = templates.faces
    if content.index is not None:
        row = content.index.find(faces)
    elif content.rows is not None and len(content.rows) == len(faces):
        row = content.rows
    else:
        raise PredictionError(
            f"{content.where} has {len(content.vectors)} rows, and nothing says whose they are. "
            "Add faces.csv (FACE_INDEX, FILENAME, SUBJECT_ID, SIGHTING_ID, FACE_SCORE), or give one row per line "
            f"of the list files ({len(faces)})."
        )
    return Membership(templates.of_face, row, faces.medium, len(templates))


def enrolled(templates: TemplateSet, content: Embedded, options: PoolingOptions) -> Templates:
    """The templates, pooled as the options say."""
    return enrol(
        content.vectors,
        membership(templates, content),
        options.pooling,
        flipped=content.flipped,
        detector_scores=content.scores,
    )


def coverage_of(templates: TemplateSet, member: Membership) -> Coverage:
    """How many templates have an embedding, and what faces lack one."""
    without = member.face < 0
    has = np.zeros(len(templates), dtype=np.bool_)
    has[member.template[~without]] = True
    listed = len(member.face) == len(templates.faces)  # video probes list other faces than the protocol
    named = templates.faces.filename if listed else templates.ids[member.template]
    examples = tuple(str(name) for name in named[without][:5])
    return Coverage(
        asked=len(templates),
        answered=int(has.sum()),
        missing=int((~has).sum()),
        reasons={"face without embedding": int(without.sum()), "template that failed to enrol": int((~has).sum())},
        examples={"face without embedding": examples} if examples else {},
    )


def in_list_order(content: Embedded, templates: TemplateSet, truth: PairTruth, dataset: Dataset[PairTruth]) -> Embedded:
    """Embeddings that stand in list-file order get their rows, and the detector scores of the list files."""
    faces = len(templates.faces)
    if truth.listed is None and content.index is not None:
        return content
    rows = content.rows
    if rows is None and len(content.vectors) == faces:
        rows = np.arange(faces)
    if rows is None or len(rows) != faces:
        return content if content.index is not None else _without_rows(content, faces)
    scores = content.scores
    if scores is None:
        listed = truth.listed or lists_in(truth.matches.parent) or lists_in(truth.matches.parent.parent)
        if listed is not None and listed.score is not None and len(listed) == faces:
            scores = np.zeros(len(content.vectors))
            scores[rows] = listed.score
    # The names in list files are no paths, so an index of faces can't be matched with them.
    return Embedded(content.vectors, content.flipped, None, rows, content.video, scores, content.where)


def _without_rows(content: Embedded, faces: int) -> Embedded:
    raise PredictionError(
        f"{content.where} has {len(content.vectors)} rows, but the protocol lists {faces} faces. "
        "Give one row per line of the list files, or add faces.csv."
    )


def lists_in(folder: Path) -> FaceList | None:
    """The list files of a data folder, when they are there."""
    layout = Layout.of(folder)
    faces, points = layout.all(names.FACE_LIST), layout.all(names.LANDMARK_LIST)
    return read_face_list(faces[0].path, points[0].path) if len(faces) == len(points) == 1 else None


def _check_ids(path: Path, truth: PairTruth, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
    assert truth.templates is not None
    if len(first) != len(truth):
        return  # the count is refused with its own words
    wrong = np.flatnonzero((truth.templates.ids[truth.first] != first) | (truth.templates.ids[truth.second] != second))
    if len(wrong):
        row = int(wrong[0])
        expected = f"{truth.templates.ids[truth.first[row]]},{truth.templates.ids[truth.second[row]]}"
        raise PredictionError(
            f"{path}, line {row + 2}: the comparison {first[row]},{second[row]} found, but {truth.matches} has "
            f"{expected} there. Write scores in the order of the match list."
        )
