"""What people hand in for tests 1 to 5: embeddings, scores or candidate lists, matched to the templates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb.data import Gallery, PairTruth, SearchTruth, lists_in
from evenhand.benchmarks.ijb.embeddings import read_array
from evenhand.benchmarks.ijb.files import read_matrix, read_table, scores_of
from evenhand.benchmarks.ijb.options import PoolingOptions, SearchOptions, VerificationOptions
from evenhand.benchmarks.ijb.papers import VARIANTS, variant_facts
from evenhand.benchmarks.ijb.submission import (
    Parts,
    SubmittedEmbeddings,
    TemplateEntries,
    placed,
    read_embedded,
)
from evenhand.benchmarks.ijb.templates import TemplateSet, join_faces, template_places
from evenhand.core.errors import PredictionError
from evenhand.core.results import Coverage
from evenhand.core.task import Codec, Dataset, InputFact, Submitted
from evenhand.files.arrays import array_headers
from evenhand.metrics.search_rates import ANY_RANK
from evenhand.search.compare import WORTH_A_PRODUCT
from evenhand.search.enrol import Membership, Templates


@dataclass(frozen=True)
class PooledTemplates:
    """The templates of test 1 or 2, with the embeddings that they were pooled from."""

    source: SubmittedEmbeddings
    members: Membership
    templates: Templates


@dataclass(frozen=True)
class Matrices:
    """A matrix of scores (probes, gallery) for every gallery; −∞ is a failure to enrol."""

    scores: Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class CandidateLists:
    """The best entries of every probe in every gallery: positions of probe and template, and scores."""

    lists: Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]


PairContent = PooledTemplates | NDArray[np.float64]  # templates, or one score per comparison
SearchContent = SubmittedEmbeddings | Matrices | CandidateLists


class PairCodec(Codec[Any]):
    """Embeddings with an index of faces, or one score per listed comparison."""

    filename = "submission"
    example = (
        "embeddings.npy + faces.csv:\n"
        "FACE_INDEX,FILENAME,SUBJECT_ID,SIGHTING_ID,FACE_SCORE\n"
        "0,img/1.jpg,180,5000,0.997\n\n"
        "or scores.csv:\nTEMPLATE_ID_1,TEMPLATE_ID_2,SCORE\n29,234,0.171\n"
    )

    def read(self, path: Path, dataset: Dataset[PairTruth], options: PoolingOptions) -> Submitted[PairContent]:
        parts = Parts.of(path)
        truth = dataset.truth
        if parts.get("embeddings") is None or truth.templates is None:
            return self._read_scores(parts, truth)
        templates = truth.templates

        def pooled(
            content: SubmittedEmbeddings,
        ) -> tuple[PooledTemplates, Coverage, tuple[InputFact, ...], tuple[str, ...]]:
            content, warnings = content.halved(options)
            content, facts = placed(content, templates.faces, truth.lists, weighs=options.detector == "on")
            members = content.membership(templates)
            warnings += content.warnings([(templates, members)], options)
            made = PooledTemplates(content, members, content.enrol(templates, options, members))
            return made, coverage_of(templates, members), () if truth.listed is not None else facts, warnings

        (content, coverage, more, warnings), facts = read_embedded(parts, pooled)
        words: dict[str, Any] = {"pooling": options.pooling.words, "fte_policy": options.fte}
        if isinstance(options, VerificationOptions) and options.variants:
            words[VARIANTS] = variant_facts(content.source, content.members, truth, options)
        return Submitted(content, coverage, (*facts, *more), warnings, words)

    def write(self, path: Path, answers: Iterable[tuple[str, Any]], dataset: Dataset[Any], options: Any) -> None:
        raise PredictionError("Templates are not asked of a model; `evenhand predict ijb/faces` asks for embeddings.")

    def _read_scores(self, parts: Parts, truth: PairTruth) -> Submitted[PairContent]:
        path = parts.get("scores")
        if path is None:
            raise PredictionError(f"{parts.where} has neither embeddings nor scores.")
        if path.suffix == ".csv":
            table = read_table(path, PredictionError)
            scores, fact = scores_of(table), table.fact
            if "TEMPLATE_ID_1" in table and truth.templates is not None:
                _check_ids(path, truth, table.whole("TEMPLATE_ID_1"), table.whole("TEMPLATE_ID_2"))
        else:
            array, fact = read_array(path, entry="scores", dimensions=1)
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


class SearchCodec(Codec[Any]):
    """Embeddings with an index of faces, a matrix of scores per gallery, or a candidate list per gallery."""

    filename = "submission"
    example = (
        "embeddings.npy + faces.csv (+ video_frames.csv for test 5), or\n"
        "scores_S1.csv: one line per probe, one score per gallery template, empty for a failure to enrol, or\n"
        "candidates_S1.csv:\nPROBE_ID,RANK,GALLERY_ID,SCORE\n185,1,21,0.71\n"
    )

    def read(self, path: Path, dataset: Dataset[SearchTruth], options: SearchOptions) -> Submitted[SearchContent]:
        truth = dataset.truth
        parts = Parts.of(path, [gallery.name for gallery in truth.galleries])
        if "scores" in parts.by_gallery:
            return _read_matrices(parts, truth)
        if "candidates" in parts.by_gallery:
            return _read_candidates(parts, truth, options)
        if any(gallery.templates is None for gallery in truth.galleries):
            raise PredictionError(f"{parts.where} has no scores_GALLERY.csv, and the data have no faces to embed.")
        sets = [gallery.templates for gallery in truth.galleries] + [truth.galleries[0].probes.templates]
        faces = join_faces([one.faces for one in sets if one is not None])
        probes = truth.galleries[0].probes.templates
        assert probes is not None

        def matched(
            content: SubmittedEmbeddings,
        ) -> tuple[SubmittedEmbeddings, Coverage, tuple[InputFact, ...], tuple[str, ...]]:
            content, warnings = content.halved(options)
            content, facts = placed(content, faces, lambda: lists_in(truth.folder), weighs=options.detector == "on")
            if content.rows is not None:  # in the order of the files: which template each belongs to is known by its id
                content = replace(
                    content, rows=None, entries=TemplateEntries(faces.template, faces.medium, content.rows)
                )
            members = probe_membership(probes, content)
            known = [(probes, members)] if content.video is None else []
            warnings += content.warnings(
                [*((each, content.membership(each)) for each in sets[:-1] if each), *known], options
            )
            return content, coverage_of(probes, members), facts, warnings

        (content, coverage, more, warnings), facts = read_embedded(parts, matched)
        if _is_video(truth) and content.video is None:
            warnings += ("No video_frames: every video probe uses the face of its first occurrence alone.",)
        words = {"pooling": options.pooling.words, "fte_policy": options.fte, "combination": options.combine}
        return Submitted(content, coverage, (*facts, *more), warnings, words)

    def write(self, path: Path, answers: Iterable[tuple[str, Any]], dataset: Dataset[Any], options: Any) -> None:
        raise PredictionError("Templates are not asked of a model; `evenhand predict ijb/faces` asks for embeddings.")


def probe_membership(probes: TemplateSet, content: SubmittedEmbeddings) -> Membership:
    """The faces of probes; those of a video probe are what the submission's tracker found, one medium each."""
    is_video = probes.faces.video is not None
    if content.video is None or not is_video:
        return content.membership(probes, some=not is_video)
    ids, row = content.video
    inside = np.isin(ids, probes.ids)
    template = probes.positions(ids[inside], content.where)
    return Membership(template, row[inside], np.zeros(int(inside.sum()), np.int64), len(probes))


def coverage_of(templates: TemplateSet, member: Membership) -> Coverage:
    """How many templates have an embedding, and what faces lack one."""
    without = member.face < 0
    has = np.zeros(len(templates), dtype=np.bool_)
    has[member.template[~without]] = True
    listed = len(member.face) == len(templates.faces)  # video probes list other faces than the protocol
    lacking = np.flatnonzero(without)[:5]
    named = templates.faces.filename[lacking] if listed else templates.ids[member.template[lacking]]
    examples = tuple(str(name) for name in named)
    return Coverage(
        asked=len(templates),
        answered=int(has.sum()),
        missing=int((~has).sum()),
        reasons={"face without embedding": int(without.sum()), "template that failed to enrol": int((~has).sum())},
        examples={"face without embedding": examples} if examples else {},
    )


def _read_matrices(parts: Parts, truth: SearchTruth) -> Submitted[SearchContent]:
    found, facts, failed, asked = {}, [], 0, 0
    for gallery in truth.galleries:
        path = _file_of(parts, "scores", gallery.name)
        if path.suffix == ".npy":
            array, fact = read_array(path, entry="scores")
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


def _read_candidates(parts: Parts, truth: SearchTruth, options: SearchOptions) -> Submitted[SearchContent]:
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
    return Submitted(CandidateLists(found), coverage, tuple(facts))


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


def _places(ids: NDArray[np.int64], known: NDArray[np.int64], path: Path, what: str) -> NDArray[np.int64]:
    place = template_places(known, ids).astype(np.int64)
    wrong = np.flatnonzero(place < 0)
    if len(wrong):
        raise PredictionError(f"{path}, line {int(wrong[0]) + 2}: there is no {what} {ids[wrong[0]]}.")
    return place


def _file_of(parts: Parts, role: str, gallery: str) -> Path:
    found = parts.by_gallery[role].get(gallery)
    if found is None:
        raise PredictionError(f"{parts.where} has no {role} for gallery {gallery}.")
    return found


def _is_video(truth: SearchTruth) -> bool:
    probes = truth.galleries[0].probes.templates
    return probes is not None and probes.faces.video is not None


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


def limits_of(options: SearchOptions) -> tuple[int, ...]:
    """The ranks at which a mate may stand at most: 1, the list's length, and any."""
    limits = dict.fromkeys((1, options.list_length))
    return (*limits, ANY_RANK) if options.any_rank else tuple(limits)


def pair_cost(dataset: Dataset[PairTruth], predictions: Path, options: Any) -> int:
    """How many multiply-adds the listed pairs take, estimated beforehand; 0 when scores are given."""
    truth, width = dataset.truth, _dimensions(predictions)
    area = len(np.unique(truth.first)) * len(np.unique(truth.second))
    pairs = len(truth.first)
    return width * (area if pairs >= WORTH_A_PRODUCT * area else pairs)


def search_cost(dataset: Dataset[SearchTruth], predictions: Path, options: Any) -> int:
    """Multiply-adds of every probe with every template of every gallery; 0 when scores are given."""
    width = _dimensions(predictions)
    return sum(width * len(gallery.ids) * len(gallery.probes.ids) for gallery in dataset.truth.galleries)


def _dimensions(predictions: Path) -> int:
    """The length of the embeddings in a submission, from the header of its array; 0 when it has none."""
    files = [predictions] if predictions.suffix == ".npy" else sorted(predictions.glob("*.npy"))
    for file in files:
        try:
            shape = array_headers(file, PredictionError)[""].shape
        except PredictionError:  # whoever reads it says what is wrong
            continue
        if len(shape) == 2:
            return shape[1]
    return 0
