"""The table of contents: one task for each verification set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.pairs.codec import PairSetCodec
from evenhand.benchmarks.pairs.data import PairSet, decoded, load_bfw, load_rfw, load_set
from evenhand.benchmarks.pairs.demo import write_demo
from evenhand.benchmarks.pairs.metrics import SHARED, FoldedTar, TenFoldAccuracy
from evenhand.benchmarks.pairs.options import PairSetOptions
from evenhand.benchmarks.pairs.record import FOLDS, fold_facts, record_pairs, view_pair
from evenhand.core.metric import Metric
from evenhand.core.page import Interval, Section, Table, Text
from evenhand.core.records import EVERYONE, Group
from evenhand.core.results import Results
from evenhand.core.task import Benchmark, CheckReport, Dataset, Finding, Task, check_with, counts_of
from evenhand.files.packaged import FamilyTexts
from evenhand.metrics.means import Counts
from evenhand.metrics.verification import VERIFICATION_VALUES, Separation, Verification, misplacement

TEXTS = FamilyTexts(__package__)
_MOST_DECODED = 500  # pictures in files that `check` decodes, evenly spread


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
        (entry["group"].replace("=", " "), fold, threshold, accuracy)
        for entry in facts
        for fold, (threshold, accuracy) in enumerate(zip(entry["threshold"], entry["accuracy"], strict=True), start=1)
    )
    text = (
        f"One threshold for all groups: {results.facts['shared_threshold']:.2f}. Groups with thresholds of their own, "
        "as papers report them, are not treated as one system would treat them."
    )
    return Section(
        "Folds",
        [
            Text(text),
            *_thresholds_tables(results),
            Table("Accuracy and threshold of every fold", ("group", "fold", "threshold", "accuracy"), rows),
        ],
        name="folds",
    )


def _thresholds_tables(results: Results) -> Iterator[Table]:
    """Every group at thresholds of its own, as published, and at the one for all; nothing without groups."""
    columns: list[dict[Group, Interval]] = [
        {
            e.group: Interval(e.number, e.low, e.high, unit="%")
            for e in results.estimates
            if (e.metric, e.output) == ("ten-fold", output)
        }
        for output in ("accuracy", SHARED)
    ]
    groups = [group for group, cell in columns[0].items() if len(group.terms) == 1 and cell.value is not None]
    if groups:
        rows = tuple((" ".join(group.terms[0]), columns[0][group], columns[1][group]) for group in groups)
        names = ("group", "own thresholds, as published", "one threshold for all")
        yield Table("Accuracy of every group at its own thresholds and at one for all", names, rows)


def papers_section(results: Results) -> Section | None:
    """Accuracy in per cent, as papers print it: over folds of all pairs with its deviation, and of every race; then of
    every race at one threshold for all."""
    accuracies = {entry["group"]: entry["accuracy"] for entry in results.facts.get(FOLDS, ()) if entry["accuracy"]}
    if "everyone" not in accuracies:
        return None
    cells = {"All pairs": np.mean(accuracies["everyone"]), "Std": np.std(accuracies["everyone"])}
    races = {name.removeprefix("race="): values for name, values in accuracies.items() if name.startswith("race=")}
    cells |= {name: np.mean(values) for name, values in races.items()}
    title = TEXTS.tasks[results.task.rpartition("/")[2]]["title"]
    caption = "Std: standard deviation over folds." + (" Every race at thresholds of its own." if races else "")
    table = Table(
        f"Accuracy (%) over folds on {title}",
        ("Model", *cells),
        ((results.model, *(Interval(100.0 * float(value), places=2) for value in cells.values())),),
        caption,
        form="paper",
        better=("", *("" if name == "Std" else "higher" for name in cells)),
    )
    return Section("For papers", [table, *_shared_tables(results, title, tuple(races))], name="papers", folded=True)


def _shared_tables(results: Results, title: str, races: Sequence[str]) -> Iterator[Table]:
    """Accuracy of every race at one threshold for all; nothing where the run has no races."""
    groups = {"All pairs": EVERYONE, **{race: Group.of(race=race) for race in races}}
    values = {e.group: e.number for e in results.estimates if (e.metric, e.output) == ("ten-fold", SHARED)}
    cells = {name: values.get(group) for name, group in groups.items()}
    if races and all(value is not None for value in cells.values()):
        yield Table(
            f"Accuracy (%) at one threshold for all on {title}",
            ("Model", *cells),
            ((results.model, *(Interval(100.0 * float(value or 0.0), places=2) for value in cells.values())),),
            "The threshold that is best over all pairs.",
            form="paper",
            better=("", *("higher" for _ in cells)),
        )


def inspect_set(dataset: Dataset[PairSet], data: Path, options: PairSetOptions) -> CheckReport:
    """The counts of a set, and the pictures that are not there or can't be decoded; of files, a sample is decoded."""
    findings = tuple(Finding(level, str(data), message) for level, message in _picture_problems(dataset, options))
    return CheckReport(findings, tables=counts_of(dataset))


def _picture_problems(dataset: Dataset[PairSet], options: PairSetOptions) -> Iterator[tuple[str, str]]:
    truth = dataset.truth
    treated = "are left out and counted" if options.missing == "exclude" else "count as wrong"
    consequence = f"Their pairs {treated} (missing={options.missing})."
    sample = ""
    if truth.encoded:
        is_decoded: dict[int, bool] = {}  # by identity: a file may use one picture many times
        for picture in truth.encoded:
            if id(picture) not in is_decoded:
                is_decoded[id(picture)] = decoded(picture)
        broken = [str(place) for place, picture in enumerate(truth.encoded) if not is_decoded[id(picture)]]
    else:
        passes = len(dataset.samples) // len(truth.pictures)
        paths = [dataset.samples[passes * place].media[0] for place in range(len(truth.pictures))]
        absent = [name for name, path in zip(truth.pictures, paths, strict=True) if not path.is_file()]
        if len(absent) == len(paths):
            yield (
                "note",
                f"The pictures are not there: {paths[0]} does not exist. `evenhand predict` needs them; embeddings and "
                "scores can be evaluated without.",
            )
            return
        if absent:
            count = f"{len(absent):,} of {len(paths):,} pictures"
            yield "warning", f"{count} are not there: {_some(absent)}. {consequence}"
        lacking = set(absent)
        there = [(name, path) for name, path in zip(truth.pictures, paths, strict=True) if name not in lacking]
        some = [there[place] for place in _evenly(len(there), _MOST_DECODED)]
        broken = [name for name, path in some if not _is_decoded(path)]
        if len(some) < len(there):
            sample = f" of {len(some):,} that were decoded, evenly spread over {len(there):,},"
    if broken:
        count = "1 picture" if len(broken) == 1 else f"{len(broken):,} pictures"
        yield "warning", f"{count}{sample} can't be decoded: {_some(broken)}. {consequence}"
    elif sample:
        yield "note", f"No picture{sample} is damaged; the others were not decoded."


def _evenly(count: int, most: int) -> Sequence[int]:
    """At most so many places from 0 to `count`, evenly spread.

    >>> list(_evenly(3, 5)), list(_evenly(9, 3))
    ([0, 1, 2], [0, 3, 6])
    """
    return range(count) if count <= most else [place * count // most for place in range(most)]


def _is_decoded(path: Path) -> bool:
    try:
        return decoded(path.read_bytes())
    except OSError:
        return False


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (", …" if len(names) > 10 else "")


def _task(
    name: str, load: Any = load_set, attributes: tuple[str, ...] = (), headline: str = "accuracy"
) -> Task[Any, Any]:
    opened = partial(load, f"pairs/{name}")
    return Task(
        **TEXTS.task(name),
        load=opened,
        load_kept=opened,
        codec=PairSetCodec(),
        options=PairSetOptions,
        record=record_pairs,
        view=view_pair,
        badness=misplacement,
        metrics=pair_metrics,
        attributes=attributes,
        headline=("ten-fold", headline),
        sections=(folds_section, papers_section),
        check=check_with(opened, PairSetCodec(), inspect_set),
        extras=fold_facts,
        margin=0.01,
    )


_GROUPED = {"rfw": (load_rfw, ("race",), SHARED), "bfw": (load_bfw, ("race", "gender"), SHARED)}
TASKS: tuple[Task[Any, Any], ...] = tuple(_task(name, *_GROUPED.get(name, ())) for name in TEXTS.tasks)


benchmark = Benchmark(
    name="pairs",
    summary="Verification sets that papers report: LFW, CFP-FP, AgeDB-30, CALFW, CPLFW, RFW, BFW and others.",
    tasks=TASKS,
    demo=write_demo,
    names=TEXTS.names(*VERIFICATION_VALUES),
)
