"""What a FairFace report shows besides the tables that every family has, and what `evenhand explain` does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from evenhand.benchmarks.fairface.taxonomy import UNKNOWN
from evenhand.core.metric import Grid, Undefined
from evenhand.core.page import Cell, Interval, Section, Table, Text
from evenhand.core.records import EVERYONE
from evenhand.core.results import Estimate, Results
from evenhand.files.packaged import packaged_table

TEXTS: Final = packaged_table("evenhand.benchmarks.fairface", "texts.toml")


def contamination(results: Results) -> Section:
    """Whether the model may have seen the data, as stated by whoever ran it."""
    seen = TEXTS["seen"][results.options.get("seen", "unknown")]
    return Section("Was the data seen in training?", [Text(seen, "caution"), Text(TEXTS["contamination"], "small")])


def confusion(results: Results) -> Section | None:
    """The confusion matrix of everyone, with the `unknown` column: counts, and shares of each row."""
    estimate = _of_everyone(results, "confusion")
    if estimate is None or not isinstance(estimate.value, Grid):
        return None
    grid = estimate.value
    counts = Table(
        "Confusion matrix: faces",
        ("truth", *grid.columns, "all"),
        tuple((name, *(int(n) for n in row), int(row.sum())) for name, row in zip(grid.rows, grid.values, strict=True)),
        caption="Rows are what the annotators said, columns what the model said; unknown is a wrong answer.",
    )
    shares = Table(
        "Confusion matrix: share of each row",
        ("truth", *grid.columns),
        tuple(
            (name, *(float(n / row.sum()) if row.sum() else None for n in row))
            for name, row in zip(grid.rows, grid.values, strict=True)
        ),
    )
    return Section("Confusion: what is taken for what", [counts, shares], name="confusion")


def reliability(results: Results) -> Section | None:
    """Stated confidence beside the share of right answers, where the option asks for it."""
    estimate = _of_everyone(results, "reliability")
    if estimate is None:
        return None
    grid = estimate.value
    if not isinstance(grid, Grid):
        return Section("Can its confidence be believed?", [Text(str(grid))])
    table = Table(
        "Stated confidence and right answers",
        ("confidence", *grid.columns),
        tuple((name, int(row[0]), *map(float, row[1:])) for name, row in zip(grid.rows, grid.values, strict=True)),
        caption="An answer stated with 0.8 should be right in 80 of 100 cases. Answers without a confidence are "
        f"left out: {estimate.missing:,}.",
    )
    return Section("Can its confidence be believed?", [table])


def unknown_answers(results: Results) -> Section | None:
    """Why answers were unknown, and what the detector or the file had to say."""
    reasons: Mapping[str, Any] = results.facts.get("unknown_reasons", {})
    attribute = results.task.rpartition("/")[2]
    listed = reasons.get(attribute, {})
    notes = [
        (label, results.facts[name])
        for name, label in TEXTS["counts"].items()
        if isinstance(results.facts.get(name), int) and results.facts[name]
    ]
    blocks: list[Text | Table] = []
    if listed:
        blocks.append(
            Table(
                "Unknown answers by reason",
                ("reason", "faces"),
                tuple((reason, int(count)) for reason, count in listed.items()),
                caption="All of them count as wrong. Reasons are informative only.",
            )
        )
    spent = results.facts.get("requests")
    if isinstance(spent, Mapping):
        totals = tuple((str(name).replace("_", " "), float(value)) for name, value in spent.items())
        blocks.append(Table("What asking took", ("what", "value"), totals))
    if notes:
        blocks.append(Table("What was found in the answer file", ("what", "count"), tuple(notes)))
    return Section("Answers that could not be used", blocks) if blocks else None


def provenance(results: Results) -> Section | None:
    """What made the answers: prompt, model, decoding settings and file; "unknown" where nothing says so."""
    provenance = results.facts.get("provenance")
    if not isinstance(provenance, Mapping):
        return None
    decoding = provenance.get("decoding", UNKNOWN)
    is_old = "label_sha256" in results.facts  # a run of format 1
    kind, digest = (
        ("SHA-256" if is_old else "BLAKE3"),
        results.facts.get("label_sha256" if is_old else "label_hash", ""),
    )
    rows: list[tuple[Cell, ...]] = [
        ("written by", str(provenance.get("written_by", UNKNOWN))),
        ("model", str(provenance.get("model", UNKNOWN))),
        ("prompt", str(provenance.get("prompt", UNKNOWN))),
        ("decoding settings", _listed(decoding) if isinstance(decoding, Mapping) else str(decoding)),
        ("image margin", str(results.options.get("crop_margin", UNKNOWN))),
        ("normaliser version", str(results.facts.get("normaliser_version", UNKNOWN))),
        ("label file", f"{results.facts.get('label_file', '')} ({kind} {digest})"),
    ]
    rows += [(f"answer file {name}", f"{kind} {digest}") for name, digest in dict(provenance.get("files", {})).items()]
    for name, label in (("endpoint", "endpoint"), ("asked", "asked on"), ("finish_reasons", "finish reasons")):
        if value := provenance.get(name):
            rows.append((label, _listed(value) if isinstance(value, Mapping) else str(value)))
    blocks: list[Text | Table] = [Table("Where the answers come from", ("what", "value"), tuple(rows))]
    if text := provenance.get("prompt_text"):
        blocks.append(Text(f"The prompt: {text}", "small"))
    if provenance.get("written_by") == UNKNOWN:
        blocks.append(
            Text("The file came without its prompt and settings: two runs of it may not be comparable.", "caution")
        )
    return Section("Where the answers come from", blocks)


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items() if value not in ("", None))


def age_conventions(results: Results) -> Section | None:
    """The scoring conventions of an age answer side by side, with how many bins an answer covers."""
    rows: list[tuple[Cell, ...]] = []
    for metric, output, label, _ in TEXTS["conventions"]["ages"]:
        estimate = _of_everyone(results, output, metric)
        if estimate is not None:
            reason = estimate.value.reason if isinstance(estimate.value, Undefined) else ""
            rows.append((label, Interval(estimate.number, estimate.low, estimate.high, reason)))
    if not rows:
        return None
    advice = (
        "Ranges share end points (20-30, 30-40) and bins do not, so the literal convention favours models that answer "
        "in ranges. Compare such a model with one that names a single age on the single-bin accuracy, and quote the "
        "literal number only together with the mean number of bins covered."
    )
    table = Table("Age: three scoring conventions", ("convention", "value"), tuple(rows))
    return Section("When is an age right?", [Text(advice), table])


def fine_race_caution(results: Results) -> Section | None:
    """With seven classes: how many answers said Asian without saying which."""
    share = _number(results, "asian_unspecified", "rate")
    if share is None:
        return None
    text = (
        "The seven classes are meaningful only for models that tell East from Southeast Asian. "
        f"Share of answers that said Asian without saying which: {share:.3f}."
    )
    return Section("Seven classes", [Text(text, "caution")])


def explain_labels(run: Any) -> Section:
    """Gender or race under every convention."""
    results: Results = run.results
    metric = results.task.rpartition("/")[2]
    rows: list[tuple[Cell, ...]] = [
        (output, words + _counted(results, metric, output), _number(results, metric, output), whose)
        for output, words, whose in TEXTS["conventions"]["labels"]
    ]
    rows.append(
        (
            "macro_f1_unknown_as_a_class",
            "mean F1 of all labels that occur, unknown among them",
            macro_f1_unknown_as_a_class(results, metric),
            "scikit-learn, f1_score(average='macro') without labels; not offered as a result",
        )
    )
    return _explained(rows)


def explain_ages(run: Any) -> Section:
    """Age under every scoring convention."""
    return _explained(
        [
            (metric, words, _number(run.results, metric, output), whose)
            for metric, output, words, whose in TEXTS["conventions"]["ages"]
            if whose
        ]
    )


def macro_f1_unknown_as_a_class(results: Results, metric: str) -> float | None:
    """Macro-F1 as it comes out where `unknown` is taken for one more class; None without a matrix.

    The F1 of `unknown` is 0, since it is never true, and it takes part in the mean
    as soon as one answer is unknown.
    """
    grid = results.get(metric, "confusion").value
    if not isinstance(grid, Grid):
        return None
    counts = np.asarray(grid.values, dtype=np.float64)
    right, support, named = np.diagonal(counts), counts.sum(axis=1), counts[:, :-1].sum(axis=0)
    occurs = support + named > 0
    classes = int(occurs.sum()) + bool(counts[:, -1].sum())
    return float((2 * right[occurs] / (support + named)[occurs]).sum() / classes)


def _counted(results: Results, metric: str, output: str) -> str:
    """How many faces are the denominator of an accuracy."""
    grid = results.get(metric, "confusion").value
    if not output.startswith("accuracy") or not isinstance(grid, Grid):
        return ""
    counts = np.asarray(grid.values)
    faces = counts.sum() - (counts[:, -1].sum() if output == "accuracy_answered_only" else 0)
    return f" ({int(np.trace(counts)):,} of {int(faces):,} faces)"


def _explained(rows: list[tuple[Cell, ...]]) -> Section:
    note = Text("One set of answers, read in every way that is about. No option changes what a name means.")
    table = Table("Conventions", ("name", "what counts", "value", "whose"), tuple(rows))
    return Section("The same answers under every convention", [note, table])


def _of_everyone(results: Results, output: str, metric: str = "") -> Estimate | None:
    """The first estimate of an output for everyone; of one metric, where it is named."""
    estimates = (e for e in results.estimates if e.output == output and e.group == EVERYONE)
    return next((e for e in estimates if not metric or e.metric == metric), None)


def _number(results: Results, metric: str, output: str) -> float | None:
    estimate = _of_everyone(results, output, metric)
    return None if estimate is None else estimate.number
