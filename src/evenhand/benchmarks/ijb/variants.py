"""The answer to "which pooling and which convention give 96.28?": a result under every combination of them.

All poolings of the embeddings, conventions and policies for failures to enrol are computed together, from the files
that a run was made of. Each combination names the public code that computes it so, where we know one, and
`evenhand explain RUN --target 96.28` ranks them by their distance to a published number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evenhand.benchmarks.ijb.codec import CandidateLists, PooledTemplates, letters_of, probe_membership
from evenhand.benchmarks.ijb.conventions import SOURCES, conventions_section, search_conventions
from evenhand.benchmarks.ijb.layout import is_list
from evenhand.benchmarks.ijb.options import PoolingOptions, SearchOptions
from evenhand.benchmarks.ijb.record import record_searches
from evenhand.benchmarks.ijb.sections import CONVENTIONS
from evenhand.benchmarks.ijb.submission import SubmittedEmbeddings
from evenhand.core.errors import InputError, OptionError
from evenhand.core.metric import Numbers, canonical_output
from evenhand.core.options import parse
from evenhand.core.page import Section, Table, Text
from evenhand.core.records import Array, concatenate
from evenhand.core.task import Dataset, Submitted, Target, Task, Tools
from evenhand.metrics.means import Counts
from evenhand.metrics.operating_points import SortedScores, rates_by_convention
from evenhand.search.compare import pair_scores
from evenhand.search.enrol import Pooling, Templates, enrol_every

_OURS = "no public code that we know"
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
    source: str


def variants_of(run: Any, data: Path | None = None, predictions: Path | None = None) -> list[Variant]:
    """Every quantity of a run under every combination, from the files that it was made of."""
    from evenhand.benchmarks.ijb.tasks import benchmark

    task: Any = benchmark.find(run.results.task)
    options = parse(task.options, run.manifest.options)
    data = _folder(run, "data") if data is None else data
    predictions = _folder(run, "predictions") if predictions is None else predictions
    dataset = task.load(data, options)
    if isinstance(options, SearchOptions):
        return list(_of_searches(dataset, _read(task, predictions, dataset, options), options))
    if isinstance(options, PoolingOptions):
        return list(_of_comparisons(dataset, _read(task, predictions, dataset, options), options))
    return list(_of_options(task, data, predictions, options))


def explain(run: Any, data: Path | None = None, predictions: Path | None = None) -> Section:
    """The conventions of a run, and the headline under every pooling where the embeddings are still there."""
    stored = conventions_section(run.results)
    parts = [] if stored is None else list(stored.blocks)
    try:
        variants = variants_of(run, data, predictions)
    except InputError as error:
        variants = []
        parts.append(
            Text(f"Other poolings can't be computed: {error} Name the files with --data and --predictions.", "small")
        )
    if variants:
        quantities = [variant.quantity for variant in variants]
        chosen = _headline(run) if _headline(run) in quantities else quantities[0]
        shown = [variant for variant in variants if variant.quantity == chosen]
        note = "`evenhand explain RUN --target 96.28` ranks all combinations by their distance to a published number."
        parts += [_pivot(f"{chosen} under every combination ({len(shown)})", shown), Text(note, "small")]
    return Section("Conventions", parts, name="conventions")


def explain_target(run: Any, target: Target) -> Section:
    """The combinations nearest to a published number, nearest first."""
    scale = 100 if target.value > 1 else 1
    wanted = target.value / scale
    variants = variants_of(run, target.data, target.predictions)
    if target.quantity:
        name = canonical_output(target.quantity)
        known = sorted({variant.quantity for variant in variants})
        if name not in known:
            raise OptionError(f"There is no quantity {target.quantity!r}. Known: {'; '.join(known)}.")
        variants = [variant for variant in variants if variant.quantity == name]
    headline = _headline(run)

    def rank(variant: Variant) -> tuple[float, bool, bool]:
        distance = round(abs(variant.value - wanted), 12)
        return distance, variant.quantity != headline, variant.source.startswith(_OURS)

    decimals = len(f"{target.value:.10f}".rstrip("0").partition(".")[2])
    rounded = [round(variant.value * scale, decimals) for variant in variants]
    matching = rounded.count(round(target.value, decimals))
    lead = f"{matching:,} of {len(variants):,} combinations give {target.value:g} when rounded as it is."
    nearest = _nearest_first(sorted(variants, key=rank)[: target.most], wanted)
    return Section(f"Combinations nearest to {target.value:g}", [Text(lead, "lead"), nearest], name="target")


def _headline(run: Any) -> str:
    return "" if run.results.headline is None else str(run.results.headline[1])


def _of_comparisons(dataset: Dataset[Any], content: Any, options: Any) -> Iterator[Variant]:
    """TAR at FAR under every pooling, policy and convention; of scores alone, under policies and conventions."""
    truth = dataset.truth
    if not isinstance(content, PooledTemplates):
        yield from _tars(np.asarray(content), truth.same, "scores as given", "", options.far)
        return
    source = content.source
    flipped = None if source.flipped is None else np.asarray(source.flipped)
    for pooling, templates in enrol_every(
        np.asarray(source.vectors), content.members, flipped=flipped, detector_scores=source.scores
    ):
        scores = pair_scores(templates, truth.first, truth.second)
        yield from _tars(scores, truth.same, pooling.words, pooling_source(pooling), options.far)


def _tars(scores: Array, same: Array, switches: str, source: str, far: Sequence[float]) -> Iterator[Variant]:
    failed = scores == -np.inf
    policies = {"": (scores, same)}
    if failed.any():
        policies = {
            "penalise": (scores, same),
            "exclude": (scores[~failed], same[~failed]),
            "zero vector": (np.where(failed, 0.0, scores), same),
        }
    for policy, (some, label) in policies.items():
        genuine, impostor = SortedScores.of_own(some[label]), SortedScores.of_own(some[~label])
        for convention, points in rates_by_convention(genuine, impostor, far).items():
            by = _sources(source, SOURCES["conventions"][convention.value])
            for rate, point in zip(far, points, strict=True):
                if not np.isnan(point.tar):
                    yield Variant(f"TAR@FAR={rate:.12g}", float(point.tar), switches, convention.value, policy, by)


def _of_searches(dataset: Dataset[Any], content: Any, options: SearchOptions) -> Iterator[Variant]:
    """Identification rates under every pooling, tie rule, combination of galleries and policy."""
    if not isinstance(content, SubmittedEmbeddings):
        yield from _search_variants(dataset, content, options, "scores as given", "")
        return
    truth = dataset.truth
    sets = [gallery.templates for gallery in truth.galleries]
    probes = truth.galleries[0].probes.templates
    members = [content.membership(templates) for templates in sets] + [probe_membership(probes, content)]
    own_video = content.video_vectors is not None and probes.faces.video is not None
    if own_video or len({id(gallery.probes) for gallery in truth.galleries}) > 1:
        yield from _search_variants(dataset, content, options, options.pooling.words, pooling_source(options.pooling))
        return
    every = [
        enrol_every(content.vectors, one, flipped=content.flipped, detector_scores=content.scores) for one in members
    ]
    for together in zip(*every, strict=True):
        pooling = together[0][0]
        known = {
            id(templates): pooled._replace(vectors=pooled.vectors.astype(np.float32))
            for templates, (_, pooled) in zip([*sets, probes], together, strict=True)
        }
        chosen = replace(options, flip=pooling.flip, norm=pooling.norm, detector=pooling.detector, media=pooling.media)
        yield from _search_variants(dataset, content, chosen, pooling.words, pooling_source(pooling), known)


def _search_variants(
    dataset: Dataset[Any],
    content: Any,
    options: SearchOptions,
    switches: str,
    source: str,
    known: Mapping[int, Templates] | None = None,
) -> Iterator[Variant]:
    can_merge = len({id(gallery.probes) for gallery in dataset.truth.galleries}) == 1
    by_policy = []
    for policy in ("penalise", "exclude"):
        chosen = replace(options, fte=policy, legacy=can_merge and not isinstance(content, CandidateLists))
        rows = concatenate(list(record_searches(dataset, Submitted(content), chosen, Tools(), known)))
        by_policy.append(
            [
                Variant(
                    entry["quantity"],
                    entry["value"],
                    switches,
                    entry["convention"],
                    policy,
                    _sources(source, entry["source"]),
                )
                for entry in search_conventions(rows, chosen)[CONVENTIONS]
                if entry["value"] is not None
            ]
        )
    penalised, excluded = ([variant._replace(failures="") for variant in variants] for variants in by_policy)
    yield from penalised if penalised == excluded else chain(*by_policy)


def _sources(*sources: str) -> str:
    return "; ".join(source for source in sources if source)


def _of_options(task: Task[Any, Any], data: Path, predictions: Path, options: Any) -> Iterator[Variant]:
    """Every number of detection or clustering under every combination of the protocol's switches."""
    grid = _GRIDS[task.name]
    for values in product(*grid.values()):
        asked = dict(zip(grid, values, strict=True))
        chosen = replace(options, **asked)
        dataset = task.load(data, chosen)
        answers: Any = task.codec.read(predictions, dataset, chosen)
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
                        yield Variant(output, value, switches, metric.name, policy, source)


def pooling_source(pooling: Pooling) -> str:
    """The public code that pools so; letters as its own flags have them."""
    if pooling.media == "mean" and pooling.flip in ("sum", "none"):
        return f"insightface ijb_11.py with {letters_of(pooling)} (there N1 keeps the norm)"
    source: str = SOURCES["poolings"].get(f"{pooling.norm}, {pooling.detector}, {pooling.media}", _OURS)
    return source


def _pivot(title: str, variants: Sequence[Variant]) -> Table:
    """One line per combination of switches and policy, one column per convention."""
    conventions = list(dict.fromkeys(variant.convention for variant in variants))
    lines: dict[tuple[str, str], dict[str, Variant]] = {}
    for variant in variants:
        lines.setdefault((variant.switches, variant.failures), {})[variant.convention] = variant
    rows = tuple(
        (
            switches + (f"; FTE: {failures}" if failures else ""),
            *(f"{line[name].value:.6f}" if name in line else "" for name in conventions),
            next(iter(line.values())).source.partition("; ")[0],
        )
        for (switches, failures), line in lines.items()
    )
    return Table(title, ("combination", *conventions, "public code"), rows, _note(variants))


def _nearest_first(variants: Sequence[Variant], target: float) -> Table:
    rows = tuple(
        (
            variant.quantity,
            f"{variant.value:.6f}",
            f"{variant.value - target:+.6f}",
            variant.switches,
            ", ".join(part for part in (variant.convention, variant.failures and f"FTE: {variant.failures}") if part),
            variant.source,
        )
        for variant in variants
    )
    columns = ("quantity", "value", "off by", "combination", "convention", "public code")
    return Table("Nearest first", columns, rows, _note(variants))


def _note(variants: Sequence[Variant]) -> str:
    """What to know about poolings and failures to enrol, where there are any."""
    policies = {variant.failures for variant in variants} - {""}
    notes = [f"FTE {name}: {words}." for name, words in SOURCES["failures"].items() if name in policies]
    if any("flip=" in variant.switches for variant in variants):
        notes.insert(0, "flip=sum and the average of both passes give the same numbers: only directions count.")
    return " ".join(notes)


def _read(task: Any, predictions: Path, dataset: Dataset[Any], options: PoolingOptions) -> Any:
    """The submission; a mirrored pass or detector scores that are not there leave their switches out."""
    return task.codec.read(predictions, dataset, replace(options, norm="keep", detector="off", media="flat")).content


def _folder(run: Any, role: str) -> Path:
    """Where the files of a run were: the folder above them, or the file itself."""
    inputs = [entry for entry in run.manifest.inputs if entry.role == role]
    for entry in inputs:
        path = Path(entry.path)
        if not path.is_file() or path.stat().st_size != entry.size:
            raise InputError(f"{path} is not there any more, or was changed. Name the {role} with --{role}.")
    if role == "predictions":  # list files that said whose the rows are belong to the data
        inputs = [entry for entry in inputs if not is_list(Path(entry.path))]
    files = [Path(entry.path) for entry in inputs if not entry.name]
    if files:
        return files[0]
    roots = {entry.path.removesuffix(entry.name) or "." for entry in inputs}
    if len(roots) != 1:
        raise InputError(f"The {role} of this run lie in several folders. Name them with --{role}.")
    return Path(roots.pop())
