"""The table of contents: one task for each verification set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.benchmarks.pairs.codec import PairSetCodec
from evenhand.benchmarks.pairs.data import PairSet, load_bfw, load_rfw, load_set, undecodable
from evenhand.benchmarks.pairs.metrics import SHARED, FoldedTar, TenFoldAccuracy
from evenhand.benchmarks.pairs.options import PairSetOptions
from evenhand.benchmarks.pairs.record import FOLDS, fold_facts, record_pairs, view_pair
from evenhand.core.metric import Metric
from evenhand.core.names import DisplayNames
from evenhand.core.page import Section, Table, Text
from evenhand.core.results import Results
from evenhand.core.task import About, Benchmark, CheckReport, Dataset, Demo, Finding, Task, check_with, counts_of
from evenhand.metrics.counts import Counts
from evenhand.metrics.names import VERIFICATION_VALUES
from evenhand.metrics.verification import Separation, Verification, misplacement

ABOUT = About(
    data="The folder that holds NAME.bin (insightface), or LFW's pairs.txt, RFW's four RACE_pairs.txt, or BFW's table; "
    "or the file itself. A table of your own has p1, p2, label and, where known, fold, id1, id2, att1, att2.",
    predictions="embeddings.npy with two rows per pair in the order of the pictures, embeddings_flip.npy of the "
    "mirrored pictures beside it; or with pictures.csv (ROW, PICTURE) one row per picture; or one score per pair "
    "(scores.npy, or a column of a table). `evenhand predict` writes such a folder: the model yields (id, vector), and "
    "`given` says whether the picture is to be mirrored.",
    rows="a pair of pictures",
    unit="the two people of a pair; the pair itself where the file names nobody (.bin)",
    conventions=(
        "The embeddings of a picture and of its mirror image are added and divided by their length (flip=sum), or the "
        "first is used alone (flip=none). The distance of a pair is the squared distance of the two, from 0 to 4.",
        "accuracy: ten contiguous folds in file order; for each, of the thresholds 0, 0.01, … 3.99 the lowest of those "
        "that are best on the other nine. The mean over folds; std is the standard deviation over folds.",
        f"{SHARED}: the one that is best over all pairs. Only this one compares groups as a deployed system would "
        "treat them; a group's own thresholds hide differences.",
        "TAR@FAR: the best true accept rate while the false accept rate is at most so high, over all pairs. "
        "folds_interpolated: the published interpolation over folds, made well defined.",
        "A pair without an embedding is wrong (missing=wrong), or left out and counted (missing=exclude).",
    ),
    licence="LFW, CFP, AgeDB, CALFW, CPLFW, VGGFace2, RFW and BFW have terms of their own; most allow research only.",
    cautions=(
        "Pictures are of celebrities, found on the internet; results need not hold for others.",
        "Groups are labels that others gave to people, not identities.",
    ),
)
SETS: Mapping[str, str] = {
    "lfw": "Labeled Faces in the Wild: 6,000 pairs.",
    "cfp_fp": "Celebrities in Frontal and Profile views: frontal against profile.",
    "cfp_ff": "Celebrities in Frontal and Profile views: frontal against frontal.",
    "agedb_30": "AgeDB: pairs thirty years apart.",
    "calfw": "Cross-age LFW.",
    "cplfw": "Cross-pose LFW.",
    "vgg2_fp": "VGGFace2: frontal against profile.",
}


NAMES = DisplayNames(
    family="Verification pairs",
    values=(
        ("ten-fold: accuracy", "Ten-fold accuracy"),
        ("ten-fold: accuracy at one threshold", "Accuracy at a shared threshold"),
        ("ten-fold: std", "Standard deviation over folds"),
        *VERIFICATION_VALUES,
        (r"folds_interpolated: (.*)", r"\1, interpolated over folds"),
        (r"pairs: (.*)", r"Pairs, \1"),
    ),
    tasks={
        "pairs/lfw": "LFW",
        "pairs/cfp_fp": "CFP frontal–profile",
        "pairs/cfp_ff": "CFP frontal–frontal",
        "pairs/agedb_30": "AgeDB-30",
        "pairs/calfw": "CALFW",
        "pairs/cplfw": "CPLFW",
        "pairs/vgg2_fp": "VGGFace2 frontal–profile",
        "pairs/rfw": "RFW",
        "pairs/bfw": "BFW",
    },
    shares=("ten-fold: (accuracy at one threshold|std)",),
    items="pairs",
)


def pair_metrics(options: PairSetOptions) -> tuple[Metric[Any], ...]:
    """Ten-fold accuracy, rates at operating points, and counts."""
    failures: Any = "exclude" if options.missing == "exclude" else "penalise"
    unless = "left_out" if options.missing == "exclude" else None
    sorts = (("genuine", "same", True), ("impostor", "same", False), ("missing", "failed", True))
    return (
        TenFoldAccuracy("ten-fold"),
        Verification("verification", options.far, failures=failures),
        FoldedTar("folds_interpolated"),
        Separation("separation", failures=failures),
        Counts("pairs", sorts, unless),
    )


def folds_section(results: Results) -> Section | None:
    """Accuracy and threshold of every fold; nothing without folds."""
    facts: Sequence[Mapping[str, Any]] = results.facts.get(FOLDS, ())
    if not facts:
        return None
    rows = tuple(
        (entry["group"], fold, threshold, accuracy)
        for entry in facts
        for fold, (threshold, accuracy) in enumerate(zip(entry["threshold"], entry["accuracy"], strict=True), start=1)
    )
    text = (
        f"One threshold for all groups: {results.facts['shared_threshold']:.2f}. Groups with thresholds of their own, "
        "as papers report them, are not treated as one system would treat them."
    )
    return Section(
        "Folds",
        [Text(text), Table("Accuracy and threshold of every fold", ("group", "fold", "threshold", "accuracy"), rows)],
        name="folds",
    )


def inspect_set(dataset: Dataset[PairSet], data: Path, options: PairSetOptions) -> CheckReport:
    """The counts of a set, and the pictures that can't be decoded."""
    findings: tuple[Finding, ...] = ()
    broken = undecodable(dataset)
    if broken:
        some = ", ".join(map(str, broken[:10])) + (", …" if len(broken) > 10 else "")
        message = f"{len(broken)} pictures can't be decoded: {some}. Their pairs count as wrong (missing=wrong)."
        findings = (Finding("warning", str(data), message),)
    return CheckReport(findings, tables=counts_of(dataset))


def _task(
    name: str, summary: str, load: Any, attributes: tuple[str, ...] = (), headline: str = "accuracy"
) -> Task[Any, Any]:
    opened = partial(load, f"pairs/{name}")
    return Task(
        name=f"pairs/{name}",
        summary=summary,
        load=opened,
        load_kept=opened,
        codec=PairSetCodec(),
        options=PairSetOptions,
        about=ABOUT,
        record=record_pairs,
        view=view_pair,
        badness=misplacement,
        metrics=pair_metrics,
        attributes=attributes,
        headline=("ten-fold", headline),
        sections=(folds_section,),
        check=check_with(opened, PairSetCodec(), inspect_set),
        extras=fold_facts,
        margin=0.01,
    )


TASKS: tuple[Task[Any, Any], ...] = (
    *(
        _task(name, f"{summary} Same person or not, by the distance of embeddings.", load_set)
        for name, summary in SETS.items()
    ),
    _task("rfw", "Racial Faces in the Wild: 6,000 pairs for each of four races.", load_rfw, ("race",), SHARED),
    _task("bfw", "Balanced Faces in the Wild: pairs by race and gender.", load_bfw, ("race", "gender"), SHARED),
    _task("custom", "A verification set of your own: a .bin, a pairs.txt, or a table of pairs.", load_set),
)


def demo(folder: Path) -> Sequence[Demo]:
    """Small data with a planted truth."""
    from evenhand.benchmarks.pairs.demo import write_demo

    return write_demo(folder)


benchmark = Benchmark(
    name="pairs",
    summary="Verification sets that papers report: LFW, CFP-FP, AgeDB-30, CALFW, CPLFW, RFW, BFW and others.",
    tasks=TASKS,
    demo=demo,
    names=NAMES,
)
