"""What people hand in for tests 1 to 5: embeddings, scores or candidate lists, matched to the templates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb.data import Gallery, PairTruth, SearchTruth, lists_in
from evenhand.benchmarks.ijb.embeddings import read_array
from evenhand.benchmarks.ijb.files import ProtocolTable, read_matrix, read_table, scores_of
from evenhand.benchmarks.ijb.layout import ProtocolFiles
from evenhand.benchmarks.ijb.options import PoolingOptions, SearchOptions, VerificationOptions
from evenhand.benchmarks.ijb.sections import VARIANTS
from evenhand.benchmarks.ijb.submission import Parts, SubmittedEmbeddings, TemplateEntries, placed, read_embedded
from evenhand.benchmarks.ijb.templates import TemplateSet, join_faces, template_places
from evenhand.core.errors import DataError, PredictionError
from evenhand.core.records import Array
from evenhand.core.results import Coverage
from evenhand.core.task import Codec, Dataset, InputFact, Submitted
from evenhand.files.arrays import array_headers
from evenhand.metrics.operating_points import Convention, SortedScores, rates_at
from evenhand.metrics.search_rates import ANY_RANK
from evenhand.search.compare import WORTH_A_PRODUCT, pair_scores
from evenhand.search.enrol import Membership, Pooling, Templates, enrol_every
from evenhand.search.sanity import score_warnings

_SAMPLED_PROBES = 512  # whose scores are looked at before a search


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


class _TemplateCodec(Codec[Any]):
    """What is handed in for templates; a model is asked for faces."""

    filename = "submission"

    def write(self, path: Path, answers: Iterable[tuple[str, Any]], dataset: Dataset[Any], options: Any) -> None:
        raise PredictionError("Templates are not asked of a model; `evenhand predict ijb/faces` asks for embeddings.")


class PairCodec(_TemplateCodec):
    """Embeddings with an index of faces, or one score per listed comparison."""

    example = (
        "embeddings.npy + faces.csv:\n"
        "FACE_INDEX,FILENAME,SUBJECT_ID,SIGHTING_ID,FACE_SCORE\n"
        "0,img/1.jpg,180,5000,0.997\n\n"
        "or scores.csv:\nTEMPLATE_ID_1,TEMPLATE_ID_2,SCORE\n29,234,0.171\n"
    )

    def read(self, path: Path, dataset: Dataset[PairTruth], options: PoolingOptions) -> Submitted[PairContent]:
        parts = Parts.of(path)
        truth, templates = dataset.truth, dataset.truth.templates
        if parts.get("embeddings") is None or templates is None:
            return self._read_scores(parts, truth)
        content, files = read_embedded(parts, pools=True)
        content, warnings = content.separated(options)
        beside = None if truth.annotated is None else truth.annotated.faces
        weighs = options.detector == "on"
        content, lists = placed(content, templates.faces, truth.lists, beside=beside, weighs=weighs)
        members = content.membership(templates)
        warnings += content.warnings([(templates, members)], options)
        pooled = PooledTemplates(content, members, content.enrol(templates, options, members))
        inputs = (*files(), *(lists if truth.listed is None else ()))
        words: dict[str, Any] = {"pooling": options.pooling.words, "fte_policy": options.fte}
        if isinstance(options, VerificationOptions) and options.variants:
            words[VARIANTS] = _variant_facts(pooled, truth, options)
        names_faces = content.entries is None
        coverage = coverage_of([(templates, members)], names_faces=names_faces)
        return Submitted(pooled, coverage, inputs, warnings, words)

    def _read_scores(self, parts: Parts, truth: PairTruth) -> Submitted[PairContent]:
        path = parts.get("scores")
        if path is None:
            raise PredictionError(f"{parts.where} has neither embeddings nor scores.")
        if path.suffix == ".csv":
            table = read_table(path, PredictionError)
            scores, fact = scores_of(table), table.fact
            if "TEMPLATE_ID_1" in table and truth.templates is not None:
                _check_ids(table, truth, truth.templates.ids)
        else:
            scores, fact = _score_array(path, dimensions=1)
        if len(scores) != len(truth):
            raise PredictionError(
                f"{path} has {len(scores)} scores, but {truth.matches} lists {len(truth)} comparisons. "
                "Write one score per comparison, in that order."
            )
        failed = int((scores == -np.inf).sum())
        coverage = Coverage(
            asked=len(scores), answered=len(scores) - failed, empty=failed, reasons={"failed to enrol": failed}
        )
        warnings = score_warnings(scores, truth.same, _expected_order(truth))
        return Submitted(scores, coverage, (fact,), warnings)


def _expected_order(truth: PairTruth) -> str:
    """In which order scores are read, and which other order they may have."""
    listed = None
    if truth.listed is None and truth.folder is not None:
        listed = ProtocolFiles.of(truth.folder).optional("pair_list")
    other = "" if listed is None else f" For scores in the order of {listed.name} set layout=lists."
    return f"They are read in the order of {truth.matches.name}.{other}"


class SearchCodec(_TemplateCodec):
    """Embeddings with an index of faces, a matrix of scores per gallery, or a candidate list per gallery."""

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
        sets = [gallery.templates for gallery in truth.galleries if gallery.templates is not None]
        probes = list(
            {id(one): one for gallery in truth.galleries if (one := gallery.probes.templates) is not None}.values()
        )
        if not probes or len(sets) < len(truth.galleries):
            raise PredictionError(f"{parts.where} has no scores_GALLERY.csv, and the data have no faces to embed.")
        if parts.get("embeddings") is None and parts.get("scores") is not None:
            raise PredictionError(
                f"{parts.get('scores')} holds one score per comparison, as test 1 takes them. A search needs "
                f"embeddings, or a matrix of scores for each gallery (scores_{truth.galleries[0].name}.csv: a "
                "line per probe)."
            )
        faces = join_faces([templates.faces for templates in (*sets, *probes)])
        content, files = read_embedded(parts)
        content, warnings = content.separated(options)
        content, lists = placed(content, faces, lambda: lists_in(truth.folder), weighs=options.detector == "on")
        if content.rows is not None:  # in the order of the files: which template each belongs to is known by its id
            content = replace(content, rows=None, entries=TemplateEntries(faces.template, faces.medium, content.rows))
        if content.entries is not None:
            _refuse_shared_ids(truth.folder, (*sets, *probes))
        searched = [(templates, probe_membership(templates, content)) for templates in probes]
        known = [(templates, content.membership(templates)) for templates in sets]
        is_video = any(templates.faces.video is not None for templates in probes)
        has_frames = is_video and content.video is not None
        known += [] if has_frames and content.video_vectors is not None else searched
        warnings += content.warnings(known, options)
        warnings += tuple(words for one in searched for words in _of_frames(*one, content)) if has_frames else ()
        if is_video and content.video is None:
            warnings += ("No video_frames: every video probe uses the face of its first occurrence alone.",)
        words = {"pooling": options.pooling.words, "fte_policy": options.fte, "combination": options.combine}
        coverage = coverage_of(searched, names_faces=content.entries is None and not has_frames)
        return Submitted(content, coverage, (*files(), *lists), warnings, words)


def _refuse_shared_ids(folder: Path, sets: Sequence[TemplateSet]) -> None:
    """Raise when rows that are known by the id of their template could be of a gallery and of the probes."""
    ids, times = np.unique(np.concatenate([templates.ids for templates in sets]), return_counts=True)
    shared = ids[times > 1]
    if len(shared):
        raise DataError(
            f"{folder}: template {shared[0]} is in several files of galleries and probes ({len(shared):,} such "
            "templates), so rows in the order of the files can't be told apart. Add faces.csv (FACE_INDEX, FILENAME, "
            "SUBJECT_ID, SIGHTING_ID, FACE_SCORE)."
        )


def _of_frames(probes: TemplateSet, members: Membership, content: SubmittedEmbeddings) -> tuple[str, ...]:
    """What looks wrong about the frames that a tracker found."""
    assert content.video is not None
    warnings = content.frame_warnings(probes, members)
    foreign = content.video[0][~np.isin(content.video[0], probes.ids)]
    if len(foreign):
        warnings += (
            f"{len(foreign):,} of {len(content.video[0]):,} lines of video_frames name no video probe (the first is "
            f"template {foreign[0]}): they are left out.",
        )
    return warnings


def probe_membership(probes: TemplateSet, content: SubmittedEmbeddings) -> Membership:
    """The faces of probes; those of a video probe are what the submission's tracker found, one medium each."""
    is_video = probes.faces.video is not None
    if content.video is None or not is_video:
        return content.membership(probes)
    ids, row = content.video
    inside = np.isin(ids, probes.ids)
    if not inside.any():
        found = f"such as {ids[0]}" if len(ids) else "of which there are none"
        raise PredictionError(
            f"{content.where}: video_frames name none of the {len(probes):,} video probes (such as {probes.ids[0]}) by "
            f"their TEMPLATE_ID, but others ({found}). Are both of one release?"
        )
    template = probes.positions(ids[inside], content.where)
    return Membership(template, row[inside], np.zeros(int(inside.sum()), np.int64), len(probes))


def coverage_of(sets: Sequence[tuple[TemplateSet, Membership]], *, names_faces: bool) -> Coverage:
    """How many templates have an embedding, and what faces lack one.

    `names_faces`: the members are the protocol's faces in their order, so examples can be named by their files; those
    of list files and of trackers are named by their template.
    """
    asked, answered, lacking = 0, 0, 0
    examples: list[str] = []
    for templates, members in sets:
        without = members.face < 0
        has = np.zeros(len(templates), dtype=np.bool_)
        has[members.template[~without]] = True
        asked, answered, lacking = asked + len(templates), answered + int(has.sum()), lacking + int(without.sum())
        first = np.flatnonzero(without)[:5]
        names = templates.faces.filename[first] if names_faces else templates.ids[members.template[first]]
        examples += [str(name) for name in names]
    return Coverage(
        asked=asked,
        answered=answered,
        missing=asked - answered,
        reasons={"face without embedding": lacking, "template that failed to enrol": asked - answered},
        examples={"face without embedding": tuple(examples[:5])} if examples else {},
    )


def letters_of(pooling: Pooling) -> str:
    """The flags of insightface's ijb_11.py, in which N1 keeps the norm.

    >>> letters_of(Pooling("sum", "keep", "on", "mean")), letters_of(Pooling("none", "unit", "off", "mean"))
    ('N1D1F1', 'N0D0F0')
    """
    return f"N{int(pooling.norm == 'keep')}D{int(pooling.detector == 'on')}F{int(pooling.flip == 'sum')}"


def _variant_facts(pooled: PooledTemplates, truth: PairTruth, options: VerificationOptions) -> list[dict[str, Any]]:
    """TAR at every rate of the eight variants of public scripts, by the convention of papers (`nearest`).

    Failures to enrol are treated as the run treats them; with splits the rates are means over those that have a value.
    """
    source, table = pooled.source, []
    splits = [truth.split == split for split in range(len(options.splits))] or [np.ones(len(truth), dtype=np.bool_)]
    for pooling, templates in enrol_every(
        source.vectors, pooled.members, flipped=source.flipped, detector_scores=source.scores
    ):
        if pooling.media != "mean" or pooling.flip == "concat":
            continue
        scores = pair_scores(templates, truth.first, truth.second)
        kept = scores > -np.inf if options.fte == "exclude" else np.ones(len(scores), dtype=np.bool_)
        by_split = []
        for split in splits:
            genuine, impostor = (SortedScores.of_own(scores[split & kept & kind]) for kind in (truth.same, ~truth.same))
            by_split.append([point.tar for point in rates_at(genuine, impostor, options.far, Convention.NEAREST)])
        known = [[rate for rate in rates if not np.isnan(rate)] for rates in zip(*by_split, strict=True)]
        tar = [float(np.mean(rates)) if rates else None for rates in known]
        table.append({"pooling": pooling.words, "letters": letters_of(pooling), "tar": tar})
    return table


def _score_array(path: Path, dimensions: int) -> tuple[Array, InputFact]:
    array, fact = read_array(path, entry="scores", dimensions=dimensions)
    scores = np.asarray(array)
    wrong = np.isnan(scores) | (scores == np.inf)
    if wrong.any():
        entry = tuple(np.argwhere(wrong)[0])
        place = ", ".join(map(str, entry))
        raise PredictionError(
            f"{path}, entry {place}: {scores[entry]} is no score ({int(wrong.sum()):,} such entries). Use −∞ for a "
            "failure to enrol."
        )
    return scores, fact


def _read_matrices(parts: Parts, truth: SearchTruth) -> Submitted[SearchContent]:
    matrices, facts, failed, asked = {}, [], 0, 0
    warnings: list[str] = []
    for gallery in truth.galleries:
        path = _file_of(parts, "scores", gallery.name)
        if path.suffix == ".npy":
            array, fact = _score_array(path, dimensions=2)
            scores = np.asarray(array, dtype=np.float64)
        else:
            scores, fact = read_matrix(path, PredictionError)
        expected = (len(gallery.probes), len(gallery.ids))
        if scores.shape != expected:
            raise PredictionError(
                f"{path}: {scores.shape[0]} lines of {scores.shape[1]} scores, but gallery {gallery.name} has "
                f"{expected[1]} templates and there are {expected[0]} probes."
            )
        matrices[gallery.name] = scores
        some = np.unique(np.linspace(0, max(len(scores) - 1, 0), _SAMPLED_PROBES).astype(np.int64))[: len(scores)]
        same = gallery.probes.subject[some][:, None] == gallery.subject[None, :]
        order = "Write a line per probe and a score per template, in the order of the protocol files."
        found = score_warnings(scores[some].reshape(-1), same.reshape(-1), order)
        warnings += [f"{path.name}: {words}" for words in found]
        facts.append(fact)
        asked += scores.size
        failed += int((scores == -np.inf).sum())
    coverage = Coverage(asked=asked, answered=asked - failed, empty=failed, reasons={"score of a failure": failed})
    return Submitted(Matrices(matrices), coverage, tuple(facts), tuple(warnings))


def _read_candidates(parts: Parts, truth: SearchTruth, options: SearchOptions) -> Submitted[SearchContent]:
    lists, facts, empty = {}, [], 0
    for gallery in truth.galleries:
        path = _file_of(parts, "candidates", gallery.name)
        table = read_table(path, PredictionError)
        table.require("PROBE_ID", "GALLERY_ID", "SCORE")
        probe = _places(table, "PROBE_ID", gallery.probes.ids, "probe")
        template = _places(table, "GALLERY_ID", gallery.ids, "gallery template")
        score = scores_of(table)
        entries, times = np.unique(probe * len(gallery.ids) + template, return_counts=True)
        if (times > 1).any():
            who, what = divmod(int(entries[times > 1][0]), len(gallery.ids))
            raise PredictionError(f"{path}: probe {gallery.probes.ids[who]} lists template {gallery.ids[what]} twice.")
        _refuse_other_order(table, gallery, probe, score)
        _refuse_short(path, gallery, probe, options)
        lists[gallery.name] = (probe, template, score)
        facts.append(table.fact)
        empty += len(gallery.probes) - len(np.unique(probe))
    asked = sum(len(gallery.probes) for gallery in truth.galleries)
    coverage = Coverage(asked=asked, answered=asked - empty, empty=empty, reasons={"probe without candidates": empty})
    return Submitted(CandidateLists(lists), coverage, tuple(facts))


def _refuse_other_order(
    table: ProtocolTable, gallery: Gallery, probe: NDArray[np.int64], score: NDArray[np.float64]
) -> None:
    """Raise when a candidate has a higher score than one of a better rank: ranks are given again by the scores."""
    if "RANK" not in table:
        return
    rank = table.numbers("RANK")  # not a number where none is written
    order = np.lexsort((-score, rank, probe))
    before, after = order[:-1], order[1:]
    is_wrong = np.zeros(table.rows, dtype=np.bool_)
    is_wrong[after] = (probe[before] == probe[after]) & (rank[before] < rank[after]) & (score[before] < score[after])
    table.refuse(
        is_wrong,
        lambda row: (
            f"probe {gallery.probes.ids[probe[row]]} has a candidate of rank {rank[row]:g} whose score {score[row]:g} "
            "is higher than one of a better rank. Higher must mean more alike: negate distances, or correct the ranks."
        ),
        "SCORE",
    )


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


def _places(table: ProtocolTable, column: str, known: NDArray[np.int64], what: str) -> NDArray[np.int64]:
    ids = table.whole(column)
    place = template_places(known, ids).astype(np.int64)
    table.refuse(place < 0, lambda row: f"there is no {what} {ids[row]}.")
    return place


def _file_of(parts: Parts, role: str, gallery: str) -> Path:
    path = parts.by_gallery[role].get(gallery)
    if path is None:
        raise PredictionError(f"{parts.where} has no {role} for gallery {gallery}.")
    return path


def _check_ids(table: ProtocolTable, truth: PairTruth, ids: NDArray[np.int64]) -> None:
    given = [table.whole(name) for name in ("TEMPLATE_ID_1", "TEMPLATE_ID_2")]
    if table.rows != len(truth):
        return  # the count is refused with its own words
    listed = [ids[truth.first], ids[truth.second]]
    table.refuse(
        (given[0] != listed[0]) | (given[1] != listed[1]),
        lambda row: (
            f"the comparison {given[0][row]},{given[1][row]} found, but {truth.matches} has "
            f"{listed[0][row]},{listed[1][row]} there. Write scores in the order of the match list."
        ),
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
