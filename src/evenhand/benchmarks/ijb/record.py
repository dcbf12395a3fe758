"""The rows of tests 1 to 5: a comparison of two templates, or a probe searched in a gallery.

Every gallery is searched with all probes. A probe is mated when its person is in the gallery's list, even if that
template failed to enrol.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb.codec import (
    CandidateLists,
    Matrices,
    PairContent,
    PooledTemplates,
    SearchContent,
    probe_membership,
)
from evenhand.benchmarks.ijb.data import Gallery, PairTruth, Probes, SearchTruth
from evenhand.benchmarks.ijb.metrics import NON_MATE_SCORE
from evenhand.benchmarks.ijb.options import PoolingOptions, SearchOptions
from evenhand.benchmarks.ijb.submission import SubmittedEmbeddings
from evenhand.benchmarks.ijb.templates import TemplateSet, join_faces
from evenhand.core.errors import PredictionError
from evenhand.core.records import NOT_APPLICABLE, Array, Attribute, LazyColumns, Records, blocks
from evenhand.core.task import Dataset, Submitted, Tools
from evenhand.metrics.operating_points import SortedScores, allowed_accepts
from evenhand.metrics.search_rates import LEFT_OUT, NO_GALLERY
from evenhand.search.compare import in_double, pair_scores, rounding_error, scores_in_double
from evenhand.search.enrol import Templates
from evenhand.search.lookup import looked_up
from evenhand.search.one_to_many import Searched, search, search_scores

LEGACY_RATES = (0.01, 0.1)  # of the older scripts
_ROWS_AT_ONCE = 1 << 24
_FEWEST_IN_SINGLE = 1 << 20  # comparisons: fewer are all computed in double precision
_MOST_IN_DOUBLE = 1 << 24  # comparisons: more take too much memory, unless a convention needs them so
_WORTH_REFINING = 1 / 16  # of all comparisons
_NEIGHBOURS = 16  # impostors on either side of a threshold


def record_pairs(
    dataset: Dataset[PairTruth], predictions: Submitted[PairContent], options: PoolingOptions, tools: Tools
) -> Iterator[Records]:
    """One row per comparison: its score (−∞ with a failure to enrol) and whether both are the same person."""
    truth = dataset.truth
    content = predictions.content
    if isinstance(content, PooledTemplates):
        templates = content.templates
        if templates.failures or templates.skipped:
            tools.warn(
                f"{templates.failures} of {len(templates.enrolled)} templates failed to enrol; "
                f"{templates.skipped} faces without embedding were skipped in others."
            )
        scores, precise = _compared(templates, truth, options, tools)
    else:
        scores, precise = content, None
    for part in blocks(len(truth), _ROWS_AT_ONCE):
        columns = {
            **({} if precise is None else {"precise": precise[part]}),
            "item": partial(np.arange, part.start, part.stop, dtype=np.int32),
            "unit": partial(_subjects, truth, truth.first[part], part),
            "unit_b": partial(_subjects, truth, truth.second[part], part),
            "score": scores[part],
            "same": truth.same[part],
            "failed": scores[part] == -np.inf,
            "split": truth.split[part].astype(np.int8, copy=False),
        }
        attributes = {name: attribute.take(part) for name, attribute in truth.attributes.items()}
        yield Records(LazyColumns(part.stop - part.start, columns), attributes)


def _compared(
    templates: Templates, truth: PairTruth, options: PoolingOptions, tools: Tools
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """The scores of all comparisons, and the same in double precision where conventions are read from them.

    Public scripts compare in double precision. In single precision different comparisons tie by accident, and points
    of the curve at which they do are not removed as those scripts remove them, so `nearest` would be another number.
    Of many comparisons only those that decide a rate are computed in double precision; the rates are the same.
    """
    count = len(truth)
    is_nearest = any("nearest" in name for name in getattr(options, "conventions", ()))
    if not is_nearest and count > _FEWEST_IN_SINGLE:
        scores = pair_scores(templates, truth.first, truth.second, engine=tools.engine)
        if count > _MOST_IN_DOUBLE:
            return scores, None
        precise = _refined(scores, templates, truth, options)
        if precise is not None:
            return scores, precise
    double = templates._replace(vectors=in_double(templates.vectors))
    scores = pair_scores(double, truth.first, truth.second, engine=tools.engine)
    return (scores, None) if is_nearest else (scores.astype(np.float32), scores)


def _refined(
    scores: NDArray[Any], templates: Templates, truth: PairTruth, options: PoolingOptions
) -> NDArray[np.float64] | None:
    """Scores with those that decide a rate in double precision; these are also rounded into `scores`.

    None when so many decide that all can as well be computed in double precision.
    """
    mates = np.flatnonzero(truth.same)
    genuine = scores_in_double(templates, truth.first[mates], truth.second[mates])
    asked = getattr(options, "far", ())
    is_impostor = ~truth.same
    if options.fte == "exclude":
        is_impostor &= scores > -np.inf
    margin = rounding_error(templates.vectors.shape[1])
    ordered = np.sort(genuine).astype(np.float32)  # a search with another precision would convert all impostors
    known = SortedScores.highest(scores, is_impostor, max(asked, default=0.0))
    ranges = _decisive_ranges(ordered, known, asked, margin)
    if ranges is None:  # the highest impostors do not tell
        ranges = _decisive_ranges(ordered, SortedScores.of_own(scores[is_impostor]), asked, margin) or []
    rows = np.flatnonzero(scores >= max(min((low for low, _ in ranges), default=np.inf), np.finfo(np.float32).min))
    highest, decides = scores[rows], np.zeros(len(rows), dtype=np.bool_)
    for low, high in ranges:
        decides |= (highest >= low) & (highest <= high)
    rows = rows[decides]
    if len(rows) > len(scores) * _WORTH_REFINING:
        return None
    precise = scores.astype(np.float64)
    deciding = scores_in_double(templates, truth.first[rows], truth.second[rows])
    for some, value in ((rows, deciding), (mates, genuine)):
        precise[some] = scores[some] = value
    return precise


def _decisive_ranges(
    genuine: Array, impostor: SortedScores, rates: Sequence[float], margin: float
) -> list[tuple[float, float]] | None:
    """The ranges of all rates; None when more impostors must be known."""
    if not impostor.total:
        return []
    below = int(impostor.total) - len(impostor.scores)
    ranges = [decisive_scores(genuine, impostor.scores, rate, margin, below) for rate in rates]
    known = [limits for limits in ranges if limits is not None]
    return known if len(known) == len(ranges) else None


def decisive_scores(
    genuine: Array, impostor: Array, rate: float, margin: float, below: int = 0
) -> tuple[float, float] | None:
    """The range of impostor scores that decides the rates at a false accept rate, under every convention.

    Both arrays ascend; their scores may each be off by the margin. `below` impostors score less than those given; None
    when some of them would have to be known. Inside the range lie the impostors around the threshold, and all from the
    genuine score above it to the one below, or as far to the other side: the nearest point of a thinned curve is one of
    these two, unless impostors between them are tied.

    >>> decisive_scores(np.array([0.1, 0.5, 0.9]), np.linspace(0, 1, 1001), 0.3, 0.001)
    (0.498, 0.902)
    """
    count = len(impostor)
    every = count + below
    place = count - 1 - min(allowed_accepts(every, rate), every - 1)  # the highest that is refused
    if below and place < _NEIGHBOURS:
        return None
    low, high = (float(impostor[min(max(place + by, 0), count - 1)]) for by in (-_NEIGHBOURS, _NEIGHBOURS))
    under = int(np.searchsorted(genuine, low - 2 * margin)) - 1
    above = int(np.searchsorted(genuine, high + 2 * margin, side="right"))
    lower = genuine[under] if under >= 0 else genuine.dtype.type(-np.inf)
    upper = genuine[above] if above < len(genuine) else genuine.dtype.type(np.inf)
    reach = min(abs(int(np.searchsorted(impostor, end)) - place) for end in (lower, upper)) + _NEIGHBOURS
    if below and reach > place:
        return None
    first, last = impostor[max(place - reach, 0)], impostor[min(place + reach, count - 1)]
    return float(max(lower, first)) - 2 * margin, float(min(upper, last)) + 2 * margin


def _subjects(truth: PairTruth, templates: Array, part: slice) -> Array:
    """The subjects on one side of some comparisons, as codes; a comparison of its own without subjects."""
    if truth.templates is None:
        return np.arange(part.start, part.stop, dtype=np.int32)
    return looked_up(truth.templates.subject_codes, templates)


def record_searches(
    dataset: Dataset[SearchTruth],
    predictions: Submitted[SearchContent],
    options: SearchOptions,
    tools: Tools,
    enrolled: Mapping[int, Templates] | None = None,
) -> Iterator[Records]:
    """One row per probe and gallery: the mate's score, who stands above it, and the best of the others.

    `enrolled` are templates that were pooled before, by the identity of their sets.
    """
    content = predictions.content
    known: dict[int, Templates] = dict(enrolled or {})
    for number, gallery in enumerate(dataset.truth.galleries):
        searched = _search(gallery, content, options, tools, known)
        count = len(gallery.probes)
        failed = _failed(searched, listed=isinstance(content, CandidateLists))
        left_out = failed if options.fte == "exclude" else np.zeros(count, dtype=np.bool_)
        if left_out.any():
            tools.warn(
                f"{int(left_out.sum())} of {count} searches in gallery {gallery.name} failed to enrol and are left out "
                "of all rates (fte=exclude); they are counted as missing."
            )
        everyone = np.arange(count)
        code = np.where(left_out, LEFT_OUT, number)
        yield _rows(dataset, gallery.probes, everyone, searched, np.full(count, number), code, failed, left_out)
    if options.legacy:
        yield _merged(dataset, content, options, tools, known)


def _search(
    gallery: Gallery, content: SearchContent, options: SearchOptions, tools: Tools, known: dict[int, Templates]
) -> Searched:
    probes = gallery.probes
    if isinstance(content, Matrices):
        return search_scores(content.scores[gallery.name], probes.subject, gallery.subject)
    if isinstance(content, CandidateLists):
        return search_candidates(gallery, *content.lists[gallery.name])
    assert gallery.templates is not None
    enrolled_probes = _enrol_probes(probes, content, options, tools, known)
    enrolled_gallery = known.get(id(gallery.templates)) or content.enrol(gallery.templates, options)
    if enrolled_gallery.failures:
        tools.warn(
            f"{enrolled_gallery.failures} of {len(gallery.ids)} templates of gallery {gallery.name} failed to enrol: "
            "no search can find them."
        )
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
    probes: Probes, content: SubmittedEmbeddings, options: SearchOptions, tools: Tools, known: dict[int, Templates]
) -> Templates:
    assert probes.templates is not None
    key = id(probes.templates)
    if key not in known:
        members, of_frames = probe_membership(probes.templates, content), probes.templates.faces.video is not None
        pooled = content.pooled(members, options, of_frames=of_frames)
        if pooled.failures or pooled.skipped:
            tools.warn(
                f"{pooled.failures} of {len(probes)} probes failed to enrol; "
                f"{pooled.skipped} faces without embedding were skipped in others."
            )
        known[key] = pooled
    return known[key]


def _rows(
    dataset: Dataset[SearchTruth],
    probes: Probes,
    rows: Array,
    searched: Searched,
    level: Array,
    code: Array,
    failed: Array,
    uncounted: Array,
) -> Records:
    """Rows about some probes: the level of the attribute `gallery`, and the code of the gallery for metrics."""
    subjects = np.unique(np.concatenate([gallery.probes.subject for gallery in dataset.truth.galleries]))
    attributes = {"gallery": Attribute.coded(level, dataset.levels["gallery"])}
    attributes |= {name: probes.attributes[name].take(rows) for name in dataset.levels if name != "gallery"}
    return Records(
        {
            "item": probes.ids[rows],
            "unit": np.searchsorted(subjects, probes.subject[rows]).astype(np.int32),
            "gallery": code.astype(np.int32),
            "mated": searched.mated,
            "mate": searched.mate,
            "above": searched.above,
            "tied": searched.tied,
            "top": searched.top,
            "failed": failed,
            "merged": code == NO_GALLERY,
            "uncounted": uncounted,
        },
        attributes,
    )


def _joined(parts: Sequence[Templates]) -> Templates:
    """Templates of several galleries as one; their order is that of `TemplateSet.of` on the joined faces."""
    vectors, enrolled = (np.concatenate([getattr(part, name) for part in parts]) for name in ("vectors", "enrolled"))
    return Templates(vectors, enrolled, sum(part.skipped for part in parts))


def _failed(searched: Searched, *, listed: bool = False) -> NDArray[np.bool_]:
    """Searches that could not be made: a mate without a score, or nobody to compare with.

    A mate that is merely not on a candidate list was compared; there only an empty list is a failure.
    """
    nobody = searched.top == -np.inf
    mateless = searched.mate == -np.inf
    return np.asarray(mateless & nobody if listed else np.where(searched.mated, mateless, nobody))


def _merged(
    dataset: Dataset[SearchTruth],
    content: SearchContent,
    options: SearchOptions,
    tools: Tools,
    known: dict[int, Templates],
) -> Records:
    """All galleries as one closed gallery, as older scripts have it: probes, then the largest non-mate scores.

    The rows of non-mate scores carry the score in `top`, and say so by `above` = −1.
    """
    truth = dataset.truth
    probes = truth.galleries[0].probes
    if any(gallery.probes is not probes for gallery in truth.galleries) or not isinstance(
        content, SubmittedEmbeddings | Matrices
    ):
        raise PredictionError("The merged gallery needs one set of probes, and embeddings or score matrices.")
    wanted = max(math.ceil(rate * len(probes)) for rate in LEGACY_RATES)
    if isinstance(content, Matrices):
        people = np.concatenate([gallery.subject for gallery in truth.galleries])
        joined = np.concatenate([content.scores[gallery.name] for gallery in truth.galleries], axis=1)
        searched = search_scores(joined, probes.subject, people, largest=wanted)
    else:
        sets = [gallery.templates for gallery in truth.galleries if gallery.templates is not None]
        together = TemplateSet.of(join_faces([templates.faces for templates in sets]), content.where)
        ready = [known[id(templates)] for templates in sets if id(templates) in known]
        gallery = _joined(ready) if len(ready) == len(sets) else content.enrol(together, options)
        enrolled = _enrol_probes(probes, content, options, tools, known)
        searched = search(enrolled, probes.subject, gallery, together.subject, engine=tools.engine, largest=wanted)
    owner = searched.owner_of_largest
    everyone = np.concatenate([np.arange(len(probes)), owner])
    extra, count = len(owner), len(everyone)
    nothing, no = np.full(extra, -np.inf), np.zeros(extra, np.bool_)
    rows = searched._replace(
        mated=np.concatenate([searched.mated, no]),
        mate=np.concatenate([searched.mate, nothing]).astype(searched.mate.dtype),
        above=np.concatenate([searched.above, np.full(extra, NON_MATE_SCORE)]),
        tied=np.concatenate([searched.tied, np.zeros(extra, np.int64)]),
        top=np.concatenate([searched.top, searched.largest_others]).astype(searched.top.dtype),
    )
    failed = np.concatenate([_failed(searched), no])
    level, code = np.full(count, NOT_APPLICABLE), np.full(count, NO_GALLERY)
    return _rows(dataset, probes, everyone, rows, level, code, failed, np.ones(count, dtype=np.bool_))
