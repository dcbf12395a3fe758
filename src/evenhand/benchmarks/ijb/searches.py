"""Tests 3 to 5: probes searched in galleries.

Every gallery is searched with all probes. A probe is mated when its person is in the
gallery's list, even if that template failed to enrol. Probes come as embeddings, as a
matrix of scores per gallery, or as a candidate list per gallery.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb.data import Gallery, Probes, SearchTruth
from evenhand.benchmarks.ijb.embeddings import read_array
from evenhand.benchmarks.ijb.files import read_matrix, read_table, scores_of
from evenhand.benchmarks.ijb.options import SearchOptions
from evenhand.benchmarks.ijb.pairs import coverage_of, enrolled, lists_in, membership
from evenhand.benchmarks.ijb.submission import Embedded, FaceIndex, Parts, Submitted, read_embedded
from evenhand.benchmarks.ijb.templates import TemplateSet, join_faces
from evenhand.core.errors import PredictionError
from evenhand.core.records import NOT_APPLICABLE, Attribute, Records
from evenhand.core.results import Coverage
from evenhand.core.task import Codec, Dataset, Predictions, Tools
from evenhand.metrics.search_readings import ANY_RANK, LEFT_OUT, NO_GALLERY
from evenhand.search.enrol import Membership, Templates, enrol
from evenhand.search.one_to_many import Searched, search, search_scores

LEGACY_RATES = (0.01, 0.1)  # of the older scripts


@dataclass(frozen=True)
class Matrices:
    """A matrix of scores (probes, gallery) for every gallery; −∞ is a failure to enrol."""

    scores: Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Candidates:
    """The best entries of every probe in every gallery: positions of probe and template, and scores."""

    lists: Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]


Content = Embedded | Matrices | Candidates


class SearchCodec(Codec[Any]):
    """Embeddings with an index of faces, a matrix of scores per gallery, or a candidate list per gallery."""

    filename = "submission"
    example = (
        "embeddings.npy + faces.csv (+ video_frames.csv for test 5), or\n"
        "scores_S1.csv: one line per probe, one score per gallery template, empty for a failure to enrol, or\n"
        "candidates_S1.csv:\nPROBE_ID,RANK,GALLERY_ID,SCORE\n185,1,21,0.71\n"
    )

    def read(self, path: Path, dataset: Dataset[SearchTruth], options: SearchOptions) -> Submitted[Content]:
        truth = dataset.truth
        parts = Parts.of(path, [gallery.name for gallery in truth.galleries])
        if "scores" in parts.by_gallery:
            return _read_matrices(parts, truth)
        if "candidates" in parts.by_gallery:
            return _read_candidates(parts, truth, options)
        if any(gallery.templates is None for gallery in truth.galleries):
            raise PredictionError(f"{parts.where} has no scores_GALLERY.csv, and the data have no faces to embed.")
        content, facts = read_embedded(parts)
        content = _in_list_order(content, truth)
        warnings = []
        if _is_video(truth) and content.video is None:
            warnings.append("No video_frames: every video probe rests on the face of its first occurrence alone.")
        probes = truth.galleries[0].probes.templates
        assert probes is not None
        return Submitted(
            content,
            coverage_of(probes, _probe_membership(probes, content)),
            facts,
            tuple(warnings),
            {"pooling": options.pooling.words, "fte_policy": options.fte, "combination": options.combine},
        )

    def write(self, path: Path, answers: Iterable[tuple[str, Any]], dataset: Dataset[Any], options: Any) -> None:
        raise PredictionError("Templates are not asked of a model; `evenhand predict ijb/faces` asks for embeddings.")


def record_searches(
    dataset: Dataset[SearchTruth], predictions: Predictions[Any], options: SearchOptions, tools: Tools
) -> Iterator[Records]:
    """One row per probe and gallery: the mate's score, who stands above it, and the best of the others."""
    truth = dataset.truth
    assert isinstance(predictions, Submitted)
    content = predictions.content
    known: dict[int, Templates] = {}
    subjects = np.unique(np.concatenate([gallery.probes.subject for gallery in truth.galleries]))
    for number, gallery in enumerate(truth.galleries):
        found = _search(gallery, content, options, tools, known)
        listed = isinstance(content, Candidates)
        yield _rows(dataset, gallery, number, found, subjects, options, tools, listed=listed)
    if options.legacy:
        yield _merged(dataset, content, options, tools, known, subjects)


def _search(
    gallery: Gallery, content: Content, options: SearchOptions, tools: Tools, known: dict[int, Templates]
) -> Searched:
    probes = gallery.probes
    if isinstance(content, Matrices):
        return search_scores(content.scores[gallery.name], probes.subject, gallery.subject)
    if isinstance(content, Candidates):
        return search_candidates(gallery, *content.lists[gallery.name])
    assert gallery.templates is not None
    enrolled_probes = _enrol_probes(probes, content, options, tools, known)
    enrolled_gallery = enrolled(gallery.templates, content, options)
    return search(enrolled_probes, probes.subject, enrolled_gallery, gallery.subject, engine=tools.engine)


def search_candidates(
    gallery: Gallery, probe: NDArray[np.int64], template: NDArray[np.int64], score: NDArray[np.float64]
) -> Searched:
    """What candidate lists tell of every probe; a mate that is not listed has no score and no rank."""
    probes = gallery.probes
    count = len(probes)
    own = gallery.subject[template] == probes.subject[probe]
    mate, top = np.full(count, -np.inf), np.full(count, -np.inf)
    np.maximum.at(mate, probe[own], score[own])
    np.maximum.at(top, probe[~own], score[~own])
    above = np.bincount(probe[~own & (score > mate[probe])], minlength=count)
    tied = np.bincount(probe[~own & (score == mate[probe])], minlength=count)
    listed = mate > -np.inf
    mated = np.isin(probes.subject, gallery.subject)
    nobody = np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.int64)
    return Searched(mated, mate, above * listed, tied * listed, top, *nobody)


def _enrol_probes(
    probes: Probes, content: Embedded, options: SearchOptions, tools: Tools, known: dict[int, Templates]
) -> Templates:
    if id(probes) not in known:
        assert probes.templates is not None
        own = content.video_vectors
        if own is not None and (probes.templates.faces.video != "").any():
            # Frames that a tracker found have no detector score of the protocol's faces: all weigh the same.
            vectors, flipped = own, content.video_flipped
            scores: NDArray[np.float64] | None = np.ones(len(own))
        else:
            vectors, flipped, scores = content.vectors, content.flipped, content.scores
        made = enrol(
            vectors,
            _probe_membership(probes.templates, content),
            options.pooling,
            flipped=flipped,
            detector_scores=scores,
        )
        if made.failures or made.skipped:
            tools.warn(
                f"{made.failures} of {len(probes)} probes failed to enrol; "
                f"{made.skipped} faces without embedding were skipped in others."
            )
        known[id(probes)] = made
    return known[id(probes)]


def _probe_membership(probes: TemplateSet, content: Embedded) -> Membership:
    """The faces of probes; those of a video probe are what the submission's tracker found, one medium each."""
    if content.video is None or not (probes.faces.video != "").any():
        return membership(probes, content)
    ids, row = content.video
    inside = np.isin(ids, probes.ids)
    template = probes.positions(ids[inside], content.where)
    return Membership(template, row[inside], np.zeros(int(inside.sum()), np.int64), len(probes))


def _rows(
    dataset: Dataset[SearchTruth],
    gallery: Gallery,
    number: int,
    found: Searched,
    subjects: NDArray[np.int64],
    options: SearchOptions,
    tools: Tools,
    *,
    listed: bool,
) -> Records:
    probes = gallery.probes
    count = len(probes)
    levels = dataset.levels["gallery"]
    attributes = {"gallery": Attribute.coded(np.full(count, number), levels)}
    attributes |= {name: probes.attributes[name] for name in dataset.levels if name != "gallery"}
    failed = _failed(found, listed=listed)
    left_out = failed if options.fte == "exclude" else np.zeros(count, dtype=np.bool_)
    if left_out.any():
        tools.warn(
            f"{int(left_out.sum())} of {count} searches in gallery {gallery.name} failed to enrol and are left out "
            "of all rates (fte=exclude); they are counted as missing."
        )
    return Records(
        {
            "item": probes.ids,
            "unit": np.searchsorted(subjects, probes.subject).astype(np.int32),
            "gallery": np.where(left_out, LEFT_OUT, number).astype(np.int32),
            "mated": found.mated,
            "mate": found.mate,
            "above": found.above,
            "tied": found.tied,
            "top": found.top,
            "failed": failed,
            "merged": np.zeros(count, dtype=np.bool_),
            "uncounted": left_out,
        },
        attributes,
    )


def _failed(found: Searched, *, listed: bool = False) -> NDArray[np.bool_]:
    """Searches that could not be made: a mate without a score, or nobody to compare with.

    A mate that is merely not on a candidate list was compared; there only an empty list is a failure.
    """
    nobody = found.top == -np.inf
    mateless = found.mate == -np.inf
    return np.asarray(mateless & nobody if listed else np.where(found.mated, mateless, nobody))


def _merged(
    dataset: Dataset[SearchTruth],
    content: Content,
    options: SearchOptions,
    tools: Tools,
    known: dict[int, Templates],
    subjects: NDArray[np.int64],
) -> Records:
    """All galleries as one closed gallery, as older scripts have it: probes, then the largest non-mate scores.

    The rows of non-mate scores carry the score in `top`, and say so by `above` = −1.
    """
    truth = dataset.truth
    probes = truth.galleries[0].probes
    if any(gallery.probes is not probes for gallery in truth.galleries) or not isinstance(content, Embedded | Matrices):
        raise PredictionError("The merged gallery needs one set of probes, and embeddings or score matrices.")
    wanted = max(math.ceil(rate * len(probes)) for rate in LEGACY_RATES)
    people = np.concatenate([gallery.subject for gallery in truth.galleries])
    if isinstance(content, Matrices):
        joined = np.concatenate([content.scores[gallery.name] for gallery in truth.galleries], axis=1)
        found = search_scores(joined, probes.subject, people, largest=wanted)
    else:
        sets = [gallery.templates for gallery in truth.galleries if gallery.templates is not None]
        together = TemplateSet.of(join_faces([one.faces for one in sets]), content.where)
        gallery = enrolled(together, content, options)
        searched = _enrol_probes(probes, content, options, tools, known)
        found = search(searched, probes.subject, gallery, together.subject, engine=tools.engine, largest=wanted)
    owner = found.owner_of_largest
    count, extra = len(probes), len(owner)
    unit = np.searchsorted(subjects, probes.subject).astype(np.int32)
    nothing = np.full(extra, -np.inf)
    attributes = {"gallery": Attribute.coded(np.full(count + extra, NOT_APPLICABLE), dataset.levels["gallery"])}
    everyone = np.concatenate([np.arange(count), owner])
    attributes |= {name: probes.attributes[name].take(everyone) for name in dataset.levels if name != "gallery"}
    return Records(
        {
            "item": probes.ids[everyone],
            "unit": unit[everyone],
            "gallery": np.full(count + extra, NO_GALLERY, dtype=np.int32),
            "mated": np.concatenate([found.mated, np.zeros(extra, np.bool_)]),
            "mate": np.concatenate([found.mate, nothing]).astype(found.mate.dtype),
            "above": np.concatenate([found.above, np.full(extra, -1)]),
            "tied": np.concatenate([found.tied, np.zeros(extra, np.int64)]),
            "top": np.concatenate([found.top, found.largest_others]).astype(found.top.dtype),
            "failed": np.concatenate([_failed(found), np.zeros(extra, np.bool_)]),
            "merged": np.ones(count + extra, dtype=np.bool_),
            "uncounted": np.ones(count + extra, dtype=np.bool_),
        },
        attributes,
    )


def _read_matrices(parts: Parts, truth: SearchTruth) -> Submitted[Content]:
    found, facts, failed, asked = {}, [], 0, 0
    for gallery in truth.galleries:
        path = _file_of(parts, "scores", gallery.name)
        if path.suffix == ".npy":
            array, fact = read_array(path)
            scores = np.asarray(array, dtype=np.float64)
            if np.isnan(scores).any():
                raise PredictionError(f"{path}: a score is not a number. Use −∞ for a failure to enrol.")
        else:
            scores, fact = read_matrix(path, PredictionError)
        expected = (len(gallery.probes), len(gallery.ids))
        if scores.shape != expected:
            raise PredictionError(
                f"{path}: {scores.shape[0]} lines of {scores.shape[1]} scores, but gallery {gallery.name} has "
                f"{expected[1]} templates and there are {expected[0]} probes."
            )
        found[gallery.name] = scores
        facts.append(fact)
        asked += scores.size
        failed += int((scores == -np.inf).sum())
    coverage = Coverage(asked=asked, answered=asked - failed, empty=failed, reasons={"score of a failure": failed})
    return Submitted(Matrices(found), coverage, tuple(facts))


def _read_candidates(parts: Parts, truth: SearchTruth, options: SearchOptions) -> Submitted[Content]:
    found, facts, empty = {}, [], 0
    for gallery in truth.galleries:
        path = _file_of(parts, "candidates", gallery.name)
        table = read_table(path, PredictionError)
        table.require("PROBE_ID", "GALLERY_ID", "SCORE")
        probe = _places(table.whole("PROBE_ID"), gallery.probes.ids, path, "probe")
        template = _places(table.whole("GALLERY_ID"), gallery.ids, path, "gallery template")
        score = scores_of(table)
        entries, times = np.unique(probe * len(gallery.ids) + template, return_counts=True)
        if (times > 1).any():
            who, what = divmod(int(entries[times > 1][0]), len(gallery.ids))
            raise PredictionError(f"{path}: probe {gallery.probes.ids[who]} lists template {gallery.ids[what]} twice.")
        _refuse_short(path, gallery, probe, options)
        found[gallery.name] = (probe, template, score)
        facts.append(table.fact)
        empty += len(gallery.probes) - len(np.unique(probe))
    asked = sum(len(gallery.probes) for gallery in truth.galleries)
    coverage = Coverage(asked=asked, answered=asked - empty, empty=empty, reasons={"probe without candidates": empty})
    return Submitted(Candidates(found), coverage, tuple(facts))


def _refuse_short(path: Path, gallery: Gallery, probe: NDArray[np.int64], options: SearchOptions) -> None:
    """Candidate lists must reach the largest rank that is asked for."""
    lengths = np.bincount(probe, minlength=len(gallery.probes))
    shortest = int(lengths[lengths > 0].min(initial=len(gallery.ids)))
    limits = [*options.ranks, options.cmc_depth or 1, *(limit for limit in limits_of(options) if limit != ANY_RANK)]
    needed = min(max(limits), len(gallery.ids))
    if shortest < needed:
        who = int(gallery.probes.ids[int(np.flatnonzero(lengths == shortest)[0])])
        raise PredictionError(
            f"{path}: the list of probe {who} has {shortest} candidates, but results at rank {needed} are asked. "
            f"Write longer lists, or set ranks and list_length to {shortest} at most."
        )
    if options.any_rank and shortest < len(gallery.ids):
        raise PredictionError(
            f"{path}: lists of {shortest} candidates can't tell of ranks beyond, but results at any rank are asked. "
            f"Set any_rank=false, or list all {len(gallery.ids)} templates."
        )


def limits_of(options: SearchOptions) -> tuple[int, ...]:
    """The ranks at which a mate may stand at most: 1, the list's length, and any."""
    limits = dict.fromkeys((1, options.list_length))
    return (*limits, ANY_RANK) if options.any_rank else tuple(limits)


def _places(ids: NDArray[np.int64], known: NDArray[np.int64], path: Path, what: str) -> NDArray[np.int64]:
    order = np.argsort(known)
    place = np.minimum(np.searchsorted(known[order], ids), len(known) - 1)
    wrong = np.flatnonzero(known[order][place] != ids)
    if len(wrong):
        raise PredictionError(f"{path}, line {int(wrong[0]) + 2}: there is no {what} {ids[wrong[0]]}.")
    return np.asarray(order[place])


def _file_of(parts: Parts, role: str, gallery: str) -> Path:
    found = parts.by_gallery[role].get(gallery)
    if found is None:
        raise PredictionError(f"{parts.where} has no {role} for gallery {gallery}.")
    return found


def _is_video(truth: SearchTruth) -> bool:
    probes = truth.galleries[0].probes.templates
    return probes is not None and bool((probes.faces.video != "").any())


def _in_list_order(content: Embedded, truth: SearchTruth) -> Embedded:
    """Embeddings alone stand in list-file order: galleries, then the probes; a face that comes twice counts once."""
    if content.index is not None:
        return content
    sets = [gallery.templates for gallery in truth.galleries] + [truth.galleries[0].probes.templates]
    faces = join_faces([one.faces for one in sets if one is not None])
    rows = np.arange(len(content.vectors)) if content.rows is None else content.rows
    if len(rows) != len(faces):
        raise PredictionError(
            f"{content.where} stands alone with {len(rows)} rows, but galleries and probes have {len(faces)} faces. "
            "Give one row per face, galleries first, or add faces.csv "
            "(FACE_INDEX, FILENAME, SUBJECT_ID, SIGHTING_ID, FACE_SCORE)."
        )
    keys = zip(faces.filename.tolist(), faces.subject.tolist(), faces.sighting.tolist(), strict=True)
    first: dict[tuple[Any, ...], int] = {}
    for place, key in enumerate(keys):
        first.setdefault(key, place)
    kept = np.array(list(first.values()), dtype=np.int64)
    index = FaceIndex(rows[kept], faces.filename[kept], faces.subject[kept], faces.sighting[kept], content.where)
    scores = content.scores
    listed = lists_in(truth.folder)
    if scores is None and listed is not None and listed.score is not None and len(listed) == len(faces):
        scores = np.zeros(len(content.vectors))
        scores[rows] = listed.score
    return replace(content, index=index, rows=None, scores=scores)
