"""The answer to "which pooling and which convention give 96.28?": a result under every combination of them.

All poolings of the embeddings, conventions and policies for failures to enrol are computed together, from the files
that a run was made of. Each combination names the public code that computes it so, where we know one, and
`evenhand explain RUN --target 96.28` ranks them by their distance to a published number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evenhand.benchmarks.ijb.codec import CandidateLists, Matrices, PooledTemplates, letters_of, probe_membership
from evenhand.benchmarks.ijb.conventions import (
    MERGED_NAMES,
    SOURCES,
    Rates,
    conventions_section,
    mean_rates,
    search_conventions,
)
from evenhand.benchmarks.ijb.data import PairTruth
from evenhand.benchmarks.ijb.layout import is_list
from evenhand.benchmarks.ijb.options import PoolingOptions, SearchOptions
from evenhand.benchmarks.ijb.record import record_searches
from evenhand.benchmarks.ijb.sections import CONVENTIONS
from evenhand.benchmarks.ijb.submission import SubmittedEmbeddings
from evenhand.core.errors import InputError, OptionError
from evenhand.core.metric import Numbers
from evenhand.core.options import parse
from evenhand.core.page import Section, Table, Text
from evenhand.core.records import Array, concatenate
from evenhand.core.task import Dataset, InputFact, Submitted, Target, Task, Tools
from evenhand.files.inputs import SHA256, has_hash
from evenhand.metrics.means import Counts
from evenhand.metrics.operating_points import SortedScores, rates_by_convention
from evenhand.search.compare import pair_scores
from evenhand.search.enrol import Pooling, Templates, enrol_every

_OURS, _OR, _AS_GIVEN = "no public code that we know", ", or ", "scores as given"
_PAIR_SCRIPT, _SEARCH_SCRIPT, _OPEN_SET_SCRIPT = "ijb_11.py", "ijb_1n.py", "ijb_evals.py"
_LETTERS = {  # of scripts, by their name
    _PAIR_SCRIPT: "N1 keeps the norm",
    _SEARCH_SCRIPT: "N1 keeps the norm",
    _OPEN_SET_SCRIPT: "N1 scales to length one",
}
_OF_OPEN_SET_SCRIPT = ("list_style_reference", "optimistic, pooled")  # conventions of searches
_COARSEST = 0.01  # a share is printed to the per cent at least: "1" and "0" are all and none of it
_MOST_DECIMALS = 300  # of a published number: more are no number of this machine
_USUAL_CONVENTIONS = ("nearest", "list_style_reference", "merged_gallery_legacy")  # of papers
_SYNONYMS = {  # of TAR and FAR, in names of quantities
    r"\b(TPR|TMR|GAR)\b(?=\s*(@|at)\s*(FPR|FMR|FAR)\b)": "TAR",
    r"(@|\bat)\s*(FPR|FMR)\b": r"\1 FAR",
}
_NOTHING_TO_EXPLAIN = (
    "No combination gives a number: the results of this run are undefined. `evenhand evaluate` and the report say why, "
    "such as a match list without genuine comparisons."
)
_GRIDS: Mapping[str, Mapping[str, Sequence[Any]]] = {  # switches of protocols, with the values that are tried
    "ijb/test6": {"ignore": ("media", "box", "none"), "match": ("available", "argmax"), "iou": (0.5, 0.2)},
    "ijb/test7": {},
    "ijb/test8": {"iou": (0.5, 0.3, 0.2)},
}


class Variant(NamedTuple):
    """A quantity under one combination of switches."""

    quantity: str
    value: float
    switches: str
    convention: str
    failures: str  # what became of failures to enrol; "" when there are none, or it makes no difference
    pooling_code: str  # the public code that pools so; "" where nothing is pooled
    convention_code: str  # the public code that reads the value so

    @property
    def source(self) -> str:
        """The public code behind the combination; what a definition says stands with the conventions."""
        convention = re.sub(r"^(the definition): [^(]*", r"\1 ", self.convention_code).strip()
        return f"pooling: {self.pooling_code}; convention: {convention}" if self.pooling_code else convention


class Combinations(NamedTuple):
    """Every quantity of a run under every combination, and why switches are left out."""

    variants: list[Variant]
    left_out: tuple[str, ...] = ()


def combinations_of(run: Any, data: Path | None = None, predictions: Path | None = None) -> Combinations:
    """What the files that a run was made of give under every combination."""
    from evenhand.benchmarks.ijb.tasks import benchmark

    task: Any = benchmark.find(run.results.task)
    options = parse(task.options, run.manifest.options)
    own = [role for role, given in (("data", data), ("predictions", predictions)) if given is None]
    unchanged = partial(_refuse_changed, run, own)
    data = _folder(run, "data") if data is None else data
    predictions = _folder(run, "predictions") if predictions is None else predictions
    if not isinstance(options, PoolingOptions):
        return Combinations(list(_of_options(task, data, predictions, options, unchanged)))
    dataset = task.load(data, options)
    submitted = _read(task, predictions, dataset, options)
    unchanged((*dataset.inputs, *submitted.inputs))
    content = submitted.content
    if not isinstance(options, SearchOptions):
        return Combinations(list(_of_comparisons(dataset, content, options)), _left_out(content))
    if isinstance(content, SubmittedEmbeddings) and _has_own_frames(dataset, content):
        note = "Other poolings are left out: the frames of video probes have embeddings of their own."
        return Combinations(list(_of_searches(dataset, content, options)), (note,))
    return Combinations(list(_of_searches(dataset, content, options)), _left_out(content))


def _left_out(content: Any) -> tuple[str, ...]:
    """Which switches of pooling can't be tried, and why; nothing where only scores are given."""
    source = content.source if isinstance(content, PooledTemplates) else content
    if not isinstance(source, SubmittedEmbeddings):
        return ()
    notes = []
    if source.flipped is None:
        notes.append("flip=sum and flip=concat are left out: there are no embeddings of mirrored faces.")
    if source.scores is None:
        why = source.unusable_scores or "there are no detector scores (FACE_SCORE in faces.csv, or the list files)."
        notes.append(f"detector=on is left out: {why}")
    return tuple(notes)


def explain(run: Any, target: Target | None = None) -> Section:
    """The conventions of a run, and a quantity under every pooling where the embeddings are still there.

    The target says which quantity (the headline by default), and where the files are now.
    """
    target = target or Target()
    stored = conventions_section(run.results)
    parts = [] if stored is None else list(stored.blocks)
    variants: list[Variant] = []
    left_out: tuple[str, ...] = ()
    try:
        variants, left_out = combinations_of(run, target.data, target.predictions)
    except InputError as error:
        if target.data or target.predictions:
            raise
        parts.append(Text(f"Other poolings can't be computed: {error}", "small"))
    else:
        if not variants and target.quantity:
            raise OptionError(_NOTHING_TO_EXPLAIN)
        if not variants:
            parts.append(Text(_NOTHING_TO_EXPLAIN))
    if variants:
        quantities = [variant.quantity for variant in variants]
        headline = _headline(run)
        asked = target.quantity or (headline if headline in quantities else quantities[0])
        shown = _about(run, variants, asked)
        note = "`evenhand explain RUN --target 96.28` ranks all combinations by their distance to a published number."
        for name in dict.fromkeys(variant.quantity for variant in shown):
            some = [variant for variant in shown if variant.quantity == name]
            parts.append(_pivot(f"{name} under every combination ({len(some)})", some, _note(run, some)))
        parts += [Text(words, "small") for words in (*left_out, note)]
    return Section("Conventions", parts, name="conventions")


def explain_target(run: Any, target: Target) -> Section:
    """The combinations nearest to a published number, nearest first.

    Differences beyond the last digit that was printed say nothing: of combinations that give the number when rounded
    as it is, the headline goes first, then those that public code computes, as most papers read it.
    """
    if not target.value:
        return explain(run, target)
    wanted, step = published_share(target.value)
    step = step if step < 1 else _COARSEST
    variants, left_out = combinations_of(run, target.data, target.predictions)
    if not variants:
        raise OptionError(_NOTHING_TO_EXPLAIN)
    if target.quantity:
        variants = _about(run, variants, target.quantity)
    headline = _headline(run)

    def rank(variant: Variant) -> tuple[float, bool, bool, bool, float]:
        distance = round(abs(variant.value - wanted), 12)
        is_usual = variant.convention in _USUAL_CONVENTIONS
        is_other = not target.quantity and variant.quantity != headline
        is_unknown = _OURS in (variant.pooling_code, variant.convention_code)
        plausible = is_other, is_unknown, not is_usual
        return 0.0 if _gives(variant, wanted, step) else distance, *plausible, distance

    matching = sum(_gives(variant, wanted, step) for variant in variants)
    lead = f"{matching:,} of {len(variants):,} combinations give {target.value} when rounded to as many digits."
    nearest = sorted(variants, key=rank)[: target.most]
    table = _nearest_first(nearest, wanted, _note(run, nearest))
    notes = [Text(words, "small") for words in left_out]
    return Section(f"Combinations nearest to {target.value}", [Text(lead, "lead"), table, *notes], name="target")


def published_share(printed: str) -> tuple[float, float]:
    """A share as it was printed, and one unit of its last digit; a number above 1, or with a sign, is in per cent.

    >>> published_share("96.28"), published_share("0.9628"), published_share("0.5 %")
    ((0.9628, 0.0001), (0.9628, 0.0001), (0.005, 0.001))
    """
    words = printed.strip()
    try:
        number = Decimal(words.removesuffix("%").strip())
    except InvalidOperation:
        number = Decimal("NaN")
    is_percent = number.is_finite() and (words.endswith("%") or number > 1)
    whole = Decimal(100 if is_percent else 1)
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or exponent < -_MOST_DECIMALS or not 0 <= number <= whole:  # or not a number
        raise OptionError(f"--target {printed}: a share such as 0.9628, or per cent such as 96.28, was expected.")
    return float(number / whole), float(Decimal(1).scaleb(min(exponent, 0)) / whole)


def _gives(variant: Variant, wanted: float, step: float) -> bool:
    """Whether a value is the published one, as far as that was printed."""
    return abs(variant.value - wanted) <= step / 2 + 1e-12


def _about(run: Any, variants: Sequence[Variant], quantity: str) -> list[Variant]:
    """The variants of a quantity, by any name that we print for it; "TPIR@FPIR=1e-2" means that at every rank.

    The conventions list "TAR@FAR=0.0001", reports "TAR at FAR 0.0001", diff and gate "verification.TAR@FAR=0.0001",
    evaluate "BCubed without FTE: F". Where the name has a convention in it, only that is meant; in tests 6 to 8 it is
    the metric.
    """
    asked = _plain(quantity)
    names = {kind: {_plain(name) for name in some} for kind, some in _names(run, variants).items()}
    chosen = [kind for kind, some in names.items() if asked in some] or [
        kind for kind, some in names.items() if any(name.startswith(f"{asked},") for name in some)
    ]
    if not chosen:
        known = dict.fromkeys(variant.quantity for variant in variants)
        rates = " Others are known after `evenhand evaluate` with --set far=…, fpir=… or ranks=…."
        advice = "" if run.results.task in _GRIDS else rates
        raise OptionError(f"There is no quantity {quantity!r}. Known: {'; '.join(known)}.{advice}")
    return [variant for variant in variants if (variant.quantity, variant.convention) in chosen]


def _names(run: Any, variants: Sequence[Variant]) -> Mapping[tuple[str, str], set[str]]:
    """By quantity and convention: all names that are printed for it."""
    from evenhand.benchmarks.ijb.tasks import benchmark

    names = {(one.quantity, one.convention): {one.quantity, f"{one.quantity} ({one.convention})"} for one in variants}
    conventions = {convention for _, convention in names}
    for output, quantity in MERGED_NAMES.items():
        for kind in names:
            if kind[0] == quantity:
                names[kind].add(output)
    for metric, output in dict.fromkeys((estimate.metric, estimate.output) for estimate in run.results.estimates):
        written = {f"{metric}: {output}", f"{metric}.{output}", benchmark.names.value(metric, output)}
        for (quantity, convention), some in names.items():
            is_own = metric == convention or metric not in conventions
            if is_own and (_usual_name(output) == quantity or output == f"{quantity} ({convention})"):
                some |= written
    return names


def _usual_name(output: str) -> str:
    """The name of an output of public scripts as those of separate galleries are called.

    >>> _usual_name("top1"), _usual_name("TPIR@0.01"), _usual_name("rank 5")
    ('rank 1', 'TPIR@FPIR=0.01, rank 1', 'rank 5')
    """
    return MERGED_NAMES.get(output) or re.sub(r"^TPIR@([\d.e-]+)$", r"TPIR@FPIR=\1, rank 1", output)


def _plain(quantity: str) -> str:
    """As people write it: Rank-1, rank1 and "rank 1" are one, and so are 1e-4, 10^-4, 0.01 % and 0.0001.

    >>> [_plain(name) for name in ("TAR@FAR=1e-4", "TAR at FAR 0.0001", "TAR (%) @ FAR=10^-4", "TPR@FPR=0.01%")]
    ['tar@far=0.0001', 'taratfar0.0001', 'tar@far=0.0001', 'tar@far=0.0001']
    """
    words = re.sub(r"\(%\)|\[%\]", "", quantity)
    words = re.sub(r"\b10\^\{?([+-]?\d+)\}?", r"1e\1", words)
    for pattern, usual in _SYNONYMS.items():
        words = re.sub(pattern, usual, words, flags=re.IGNORECASE)
    numbers = re.sub(r"(\d*\.?\d+(?:[eE][+-]?\d+)?)\s*(%?)", _as_printed, words)
    return re.sub(r"[\s_-]", "", numbers).lower()


def _as_printed(number: re.Match[str]) -> str:
    return f"{float(number[1]) / (100 if number[2] else 1):.12g}"


def _headline(run: Any) -> str:
    return "" if run.results.headline is None else str(run.results.headline[1])


def _of_comparisons(dataset: Dataset[Any], content: Any, options: Any) -> Iterator[Variant]:
    """TAR at FAR under every pooling, policy and convention; of scores alone, under policies and conventions."""
    truth = dataset.truth
    if not isinstance(content, PooledTemplates):
        yield from _tars(np.asarray(content), truth, _AS_GIVEN, "", options)
        return
    source = content.source
    flipped = None if source.flipped is None else np.asarray(source.flipped)
    for pooling, templates in enrol_every(
        np.asarray(source.vectors), content.members, flipped=flipped, detector_scores=source.scores
    ):
        scores = pair_scores(templates, truth.first, truth.second)
        yield from _tars(scores, truth, pooling.words, pooling_source(pooling, _PAIR_SCRIPT), options)


def _tars(scores: Array, truth: PairTruth, switches: str, pooling_code: str, options: Any) -> Iterator[Variant]:
    failed = scores == -np.inf
    every = np.ones(len(scores), dtype=np.bool_)
    policies = {"": (scores, every)}
    if failed.any():
        policies = {
            "penalise": (scores, every),
            "exclude": (scores, ~failed),
            "zero vector": (np.where(failed, 0.0, scores), every),
        }
    splits = range(len(getattr(options, "splits", ())))
    for policy, (some, counted) in policies.items():
        parts = [counted & (truth.split == split) for split in splits] or [counted]
        rates = mean_rates([_rates(some, truth.same, part, options.far) for part in parts])
        for convention, points in rates.items():
            codes = pooling_code, SOURCES["conventions"][convention.value]
            for rate, point in zip(options.far, points, strict=True):
                if not np.isnan(point.tar):
                    yield Variant(f"TAR@FAR={rate:.12g}", float(point.tar), switches, convention.value, policy, *codes)


def _rates(scores: Array, same: Array, counted: Array, far: Sequence[float]) -> Rates:
    genuine, impostor = (SortedScores.of_own(scores[counted & kind]) for kind in (same, ~same))
    return rates_by_convention(genuine, impostor, far)


def _of_searches(dataset: Dataset[Any], content: Any, options: SearchOptions) -> Iterator[Variant]:
    """Identification rates under every pooling, tie rule, combination of galleries and policy."""
    if not isinstance(content, SubmittedEmbeddings):
        yield from _search_variants(dataset, content, options, None)
        return
    sets = {id(gallery.templates): gallery.templates for gallery in dataset.truth.galleries}
    probes = {id(gallery.probes.templates): gallery.probes.templates for gallery in dataset.truth.galleries}
    if _has_own_frames(dataset, content):
        yield from _search_variants(dataset, content, options, options.pooling)
        return
    members = [content.membership(templates) for templates in sets.values()]
    members += [probe_membership(templates, content) for templates in probes.values()]
    every = [
        enrol_every(content.vectors, one, flipped=content.flipped, detector_scores=content.scores) for one in members
    ]
    for together in zip(*every, strict=True):
        pooling = together[0][0]
        known = {
            key: pooled._replace(vectors=pooled.vectors.astype(np.float32))
            for key, (_, pooled) in zip([*sets, *probes], together, strict=True)
        }
        chosen = replace(options, flip=pooling.flip, norm=pooling.norm, detector=pooling.detector, media=pooling.media)
        yield from _search_variants(dataset, content, chosen, pooling, known)


def _has_own_frames(dataset: Dataset[Any], content: SubmittedEmbeddings) -> bool:
    """Whether video probes are made of other embeddings than the galleries."""
    probes = (gallery.probes.templates for gallery in dataset.truth.galleries)
    return content.video_vectors is not None and any(templates.faces.video is not None for templates in probes)


def _search_variants(
    dataset: Dataset[Any],
    content: Any,
    options: SearchOptions,
    pooling: Pooling | None,
    known: Mapping[int, Templates] | None = None,
) -> Iterator[Variant]:
    """The rates of one pooling; None: scores were given, and nothing was pooled."""
    can_merge = len({id(gallery.probes) for gallery in dataset.truth.galleries}) == 1
    chosen = replace(options, legacy=can_merge and not isinstance(content, CandidateLists))
    with_zeros = _failures_as_zeros(content, known)
    by_policy = {
        "penalise": (replace(chosen, fte="penalise"), content, known),
        "exclude": (replace(chosen, fte="exclude"), content, known),
        **({} if with_zeros is None else {"zero vector": (replace(chosen, fte="penalise"), *with_zeros)}),
    }
    variants: dict[str, list[Variant]] = {}
    for policy, (some, answers, enrolled) in by_policy.items():
        rows = concatenate(list(record_searches(dataset, Submitted(answers), some, Tools(), enrolled)))
        variants[policy] = [
            Variant(
                MERGED_NAMES.get(entry["quantity"], entry["quantity"]),
                entry["value"],
                _AS_GIVEN if pooling is None else pooling.words,
                entry["convention"],
                "",
                "" if pooling is None else _search_pooling_source(pooling, entry["convention"]),
                entry["source"],
            )
            for entry in search_conventions(rows, some)[CONVENTIONS]
            if entry["value"] is not None
        ]
    if with_zeros is None and variants["penalise"] == variants["exclude"]:
        yield from variants["penalise"]
        return
    for policy, some_variants in variants.items():
        yield from (variant._replace(failures=policy) for variant in some_variants)


def _failures_as_zeros(content: Any, known: Mapping[int, Templates] | None) -> tuple[Any, Any] | None:
    """Failures to enrol as vectors of zeros, whose cosine with everything is 0; None when there are none, or no way."""
    if isinstance(content, Matrices) and any((scores == -np.inf).any() for scores in content.scores.values()):
        zeros = {name: np.where(scores == -np.inf, 0.0, scores) for name, scores in content.scores.items()}
        return Matrices(zeros), known
    if known is not None and any(templates.failures for templates in known.values()):
        all_enrolled = {
            key: templates._replace(enrolled=np.ones_like(templates.enrolled)) for key, templates in known.items()
        }
        return content, all_enrolled
    return None


def _search_pooling_source(pooling: Pooling, convention: str) -> str:
    """The public code that pools so, in the script that has the convention too."""
    return pooling_source(pooling, _OPEN_SET_SCRIPT if convention in _OF_OPEN_SET_SCRIPT else _SEARCH_SCRIPT)


def _of_options(
    task: Task[Any, Any], data: Path, predictions: Path, options: Any, unchanged: Callable[[Sequence[InputFact]], None]
) -> Iterator[Variant]:
    """Every number of detection or clustering under every combination of the protocol's switches."""
    own = {name: getattr(options, name) for name in _GRIDS[task.name]}
    grid = {name: tuple(dict.fromkeys((*values, own[name]))) for name, values in _GRIDS[task.name].items()}
    for values in product(*grid.values()):
        asked = dict(zip(grid, values, strict=True))
        chosen = replace(options, **asked)
        dataset = task.load(data, chosen)
        answers: Any = task.codec.read(predictions, dataset, chosen)
        unchanged((*dataset.inputs, *answers.inputs))
        parts: dict[str, Any] = {"": answers}
        if getattr(answers.content, "sub_protocol", None) is not None and answers.coverage.missing:
            listed = replace(answers, content=replace(answers.content, sub_protocol=None))
            parts = {"penalise": answers, "exclude": listed}
        switches = ", ".join(f"{name}={value}" for name, value in asked.items()) or "as given"
        for policy, some in parts.items():
            rows = concatenate(list(task.record(dataset, some, chosen, Tools())))
            for metric in task.metrics(chosen):
                if isinstance(metric, Counts):
                    continue
                source = SOURCES["protocols"].get(f"{task.name}, {metric.name}, {switches}", _OURS)
                state = metric.measure(rows)
                for output, column in metric.result(state, state).items():
                    value = column[0] if isinstance(column, Numbers) else None
                    if isinstance(value, float):
                        yield Variant(output, value, switches, metric.name, policy, "", source)


def pooling_source(pooling: Pooling, script: str) -> str:
    """The public code that pools so; letters as the flags of the script have them, which ijb_evals.py inverts.

    >>> pooling_source(Pooling("sum", "keep", "on", "mean"), "ijb_11.py")
    'insightface ijb_11.py with N1D1F1'
    >>> pooling_source(Pooling("sum", "keep", "on", "mean"), "ijb_evals.py")
    'insightface ijb_evals.py with N0D1F1'
    """
    switches = f"{pooling.norm}, {pooling.detector}, {pooling.media}"
    known: Mapping[str, str] = SOURCES["poolings"]
    codes = [known[key] for key in (f"{pooling.flip}, {switches}", f"any, {switches}") if key in known]
    if (own := _insightface(pooling, script)) is not None:
        codes.insert(0, own)
    return _OR.join(codes) or _OURS


def _insightface(pooling: Pooling, script: str) -> str | None:
    """How a script of insightface is set to pool so; None when it can't."""
    is_concat = pooling.flip == "concat"
    if pooling.media != "mean" or (is_concat and script == _OPEN_SET_SCRIPT):
        return None
    if script == _OPEN_SET_SCRIPT:
        inverted = replace(pooling, norm="unit" if pooling.norm == "keep" else "keep")
        return f"insightface {script} with {letters_of(inverted)}"
    letters = letters_of(replace(pooling, flip="sum") if is_concat else pooling)
    line = " and its commented line for concat" if is_concat else ""
    return f"insightface {script} with {letters}{line}"


def _pivot(title: str, variants: Sequence[Variant], note: str) -> Table:
    """One line per combination of switches and policy, one column per convention."""
    conventions = list(dict.fromkeys(variant.convention for variant in variants))
    lines: dict[tuple[str, str], dict[str, Variant]] = {}
    for variant in variants:
        lines.setdefault((variant.switches, variant.failures), {})[variant.convention] = variant
    codes = [_code_of_line(line) for line in lines.values()]
    rows = tuple(
        (
            switches + (f"; FTE: {failures}" if failures else ""),
            *(f"{line[name].value:.6f}" if name in line else "" for name in conventions),
            *([code] if any(codes) else []),
        )
        for ((switches, failures), line), code in zip(lines.items(), codes, strict=True)
    )
    return Table(title, ("combination", *conventions, *(["public code"] if any(codes) else [])), rows, note)


def _code_of_line(line: Mapping[str, Variant]) -> str:
    """The public code behind a line: that of its pooling, or of its metrics in tests 6 to 8.

    Nothing for scores as given: which code a convention belongs to is a table of its own.
    """
    first = next(iter(line.values()))
    if first.switches == _AS_GIVEN:
        return ""
    if first.pooling_code:
        codes = dict.fromkeys(code for variant in line.values() for code in variant.pooling_code.split(_OR))
        return _OR.join(code for code in codes if code != _OURS) or _OURS
    known = {name: variant.convention_code for name, variant in line.items() if variant.convention_code != _OURS}
    if len(line) == 1 or not known:
        return next(iter(known.values()), _OURS)
    return "; ".join(f"{name}: {code}" for name, code in known.items())


def _nearest_first(variants: Sequence[Variant], target: float, note: str) -> Table:
    rows = tuple(
        (
            variant.quantity,
            f"{variant.value:.6f}",
            f"{round(variant.value - target, 6) or 0.0:+.6f}".replace("+0.000000", "0.000000"),
            variant.switches,
            ", ".join(part for part in (variant.convention, variant.failures and f"FTE: {variant.failures}") if part),
            variant.source,
        )
        for variant in variants
    )
    columns = ("quantity", "value", "off by", "combination", "convention", "public code")
    return Table("Nearest first", columns, rows, note)


def _note(run: Any, variants: Sequence[Variant]) -> str:
    """What to know about poolings and failures to enrol, where there are any; tests 6 to 8 compare no templates."""
    policies = {variant.failures for variant in variants} - {""}
    known = SOURCES["failures_of_faces" if run.results.task in _GRIDS else "failures"]
    notes = [f"FTE {name}: {words}." for name, words in known.items() if name in policies]
    codes = " ".join(variant.pooling_code for variant in variants)
    notes += [f"In the letters of {script}, {words}." for script, words in _LETTERS.items() if script in codes]
    if any("flip=" in variant.switches for variant in variants):
        notes.insert(0, "flip=sum and the average of both passes give the same numbers: only directions count.")
    return " ".join(notes)


def _read(task: Any, predictions: Path, dataset: Dataset[Any], options: PoolingOptions) -> Submitted[Any]:
    """The submission, read so that a mirrored pass or detector scores that are not there are no error."""
    chosen = replace(options, norm="keep", detector="off", media="flat")
    submitted: Submitted[Any] = task.codec.read(predictions, dataset, chosen)
    return submitted


def _folder(run: Any, role: str) -> Path:
    """Where the files of a run were: the folder above them, or the file itself."""
    inputs = [entry for entry in run.manifest.inputs if entry.role == role]
    for entry in inputs:
        path = Path(entry.path)
        here = "" if path.is_absolute() else f" (looked for from {Path.cwd()})"
        if not path.is_file():
            raise InputError(f"{path} is not there any more{here}. Name the {role} with --{role}.")
        if path.stat().st_size != entry.size:
            raise InputError(_changed(path, role, here))
    if role == "predictions":  # list files that said whose the rows are belong to the data
        inputs = [entry for entry in inputs if not is_list(Path(entry.path))]
    files = [Path(entry.path) for entry in inputs if not entry.name]
    if files:
        return files[0]
    roots = {entry.path.removesuffix(entry.name) or "." for entry in inputs}
    if len(roots) != 1:
        raise InputError(f"The {role} of this run lie in several folders. Name them with --{role}.")
    return Path(roots.pop())


def _refuse_changed(run: Any, roles: Sequence[str], facts: Sequence[InputFact]) -> None:
    """Raise when a file that was read again is another one than when the run was made."""
    now = {fact.path: fact.hash for fact in facts}
    for entry in run.manifest.inputs:
        if entry.role not in roles or entry.path not in now:
            continue
        is_time = not entry.hash.removeprefix(SHA256).isalnum()  # which says nothing about the content
        is_former = entry.hash.startswith(SHA256)
        same = has_hash(Path(entry.path), entry.hash, InputError) if is_former else now[entry.path] == entry.hash
        if not is_time and not same:
            raise InputError(_changed(Path(entry.path), entry.role, ""))


def _changed(path: Path, role: str, here: str) -> str:
    return (
        f"{path} was changed since this run was made of it{here}. Name the {role} as they were with --{role}, or "
        "evaluate again."
    )
