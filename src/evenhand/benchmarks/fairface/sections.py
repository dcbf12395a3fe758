"""What a FairFace report shows besides the tables that every family has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from evenhand.core.metric import Grid, Undefined
from evenhand.core.page import Cell, Interval, Section, Table, Text
from evenhand.core.records import EVERYONE
from evenhand.core.results import Estimate, Results

CONTAMINATION: Final = (
    "Public FaceLLM models were tuned on questions and answers written from the FairFace validation images, with the "
    "true labels in the prompt; DeepFace's race model was trained on FairFace training images. No split of FairFace "
    "is unseen by both."
)
_SEEN: Final = {
    "yes": "The images or labels of this split were available to the model in training, says who ran it: "
    "this is not a zero-shot result.",
    "no": "The images and labels of this split were not available to the model in training, says who ran it.",
    "unknown": "Whether the images or labels of this split were available to the model in training is not known. "
    "Say it with --set seen=yes or seen=no.",
}


def contamination(results: Results) -> Section:
    """Whether the model may have seen the data, as stated by whoever ran it."""
    seen = str(results.options.get("seen", "unknown"))
    return Section("Was the data seen in training?", [Text(_SEEN[seen], "caution"), Text(CONTAMINATION, "small")])


def confusion(results: Results) -> Section | None:
    """The confusion matrix of everyone, with the `unknown` column: counts, and shares of each row."""
    grids = (e for e in results.estimates if isinstance(e.value, Grid) and e.group == EVERYONE)
    found = next((e for e in grids if e.output == "confusion"), None)
    if found is None or not isinstance(found.value, Grid):
        return None
    grid = found.value
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
    found = next((e for e in results.estimates if e.output == "reliability" and e.group == EVERYONE), None)
    if found is None:
        return None
    if not isinstance(found.value, Grid):
        return Section("Can its confidence be believed?", [Text(str(found.value))])
    grid = found.value
    table = Table(
        "Stated confidence and right answers",
        ("confidence", *grid.columns),
        tuple((name, int(row[0]), *map(float, row[1:])) for name, row in zip(grid.rows, grid.values, strict=True)),
        caption="An answer stated with 0.8 should be right in 80 of 100 cases. Answers without a confidence are "
        f"left out: {found.missing:,}.",
    )
    return Section("Can its confidence be believed?", [table])


def unknown_answers(results: Results) -> Section | None:
    """Why answers were unknown, and what the detector or the file had to say."""
    reasons: Mapping[str, Any] = results.facts.get("unknown_reasons", {})
    attribute = results.task.rpartition("/")[2]
    listed = reasons.get(attribute, {})
    notes = [
        (label, results.facts[name])
        for name, label in _COUNTS.items()
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


_COUNTS: Final = {
    "missing_predictions": "images without a usable answer",
    "error_records": "of these, images with an error record",
    "extra_predictions_ignored": "answers about images that are not labelled",
    "identical_duplicates_collapsed": "identical repeated answers, collapsed",
    "conflicting_duplicates": "images with conflicting answers",
    "multi_face_images": "images with several faces",
    "zero_face_confidence": "images in which the detector found no face",
}


def provenance(results: Results) -> Section | None:
    """What made the answers: prompt, model, decoding settings and file; "unknown" where nothing says so."""
    provenance = results.facts.get("provenance")
    if not isinstance(provenance, Mapping):
        return None
    decoding = provenance.get("decoding", _NOT_KNOWN)
    rows: list[tuple[Cell, ...]] = [
        ("written by", str(provenance.get("written_by", _NOT_KNOWN))),
        ("model", str(provenance.get("model", _NOT_KNOWN))),
        ("prompt", str(provenance.get("prompt", _NOT_KNOWN))),
        ("decoding settings", _listed(decoding) if isinstance(decoding, Mapping) else str(decoding)),
        ("image margin", str(results.options.get("crop_margin", _NOT_KNOWN))),
        ("normaliser version", str(results.facts.get("normaliser_version", _NOT_KNOWN))),
        ("label file", f"{results.facts.get('label_file', '')} (sha256 {results.facts.get('label_sha256', '')})"),
    ]
    rows += [(f"answer file {name}", f"sha256 {digest}") for name, digest in dict(provenance.get("files", {})).items()]
    for name, label in (("endpoint", "endpoint"), ("asked", "asked on"), ("finish_reasons", "finish reasons")):
        if value := provenance.get(name):
            rows.append((label, _listed(value) if isinstance(value, Mapping) else str(value)))
    blocks: list[Text | Table] = [Table("Where the answers come from", ("what", "value"), tuple(rows))]
    if text := provenance.get("prompt_text"):
        blocks.append(Text(f"The prompt: {text}", "small"))
    if provenance.get("written_by") == _NOT_KNOWN:
        blocks.append(
            Text("The file came without its prompt and settings: two runs of it may not be comparable.", "caution")
        )
    return Section("Where the answers come from", blocks)


_NOT_KNOWN: Final = "unknown"


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items() if value not in ("", None))


def answered_share(results: Results, metric: str) -> float | None:
    """The share of faces with an answer that could be used: one minus the unknown rate."""
    found = _estimate(results, metric, "unknown_rate")
    return None if found is None or found.number is None else 1.0 - found.number


def age_conventions(results: Results) -> Section | None:
    """The three scoring conventions of an age answer side by side, with how many bins an answer covers."""
    rows: list[tuple[Cell, ...]] = []
    for metric, output, label in _AGE_CONVENTIONS:
        found = _estimate(results, metric, output)
        if found is not None:
            rows.append((label, _interval(found)))
    covered = _estimate(results, "bins_covered", "mean")
    if covered is not None:
        rows.append(("bins covered by an answer, mean (1.0 for a point)", _interval(covered)))
    open_ended = _estimate(results, "open_ended", "rate")
    if open_ended is not None:
        rows.append(("open-ended answers, share of answered", _interval(open_ended)))
    if not rows:
        return None
    advice = (
        "Ranges share end points (20-30, 30-40) and bins do not, so the literal convention favours models that answer "
        "in ranges. Compare such a model with one that names a single age on the single-bin accuracy, and quote the "
        "literal number only together with the mean number of bins covered."
    )
    table = Table("Age: three scoring conventions", ("convention", "value"), tuple(rows))
    return Section("When is an age right?", [Text(advice), table])


_AGE_CONVENTIONS: Final = (
    ("bin_overlap_accuracy_inclusive", "accuracy", "overlaps the true bin, taken literally"),
    ("bin_overlap_accuracy_touch_excluded", "accuracy", "overlaps it by more than an end point"),
    ("single_bin", "accuracy", "reduced to one bin, equal to the true one"),
    ("within_one_bin", "rate", "reduced to one bin, at most one bin off"),
)


def fine_race_caution(results: Results) -> Section | None:
    """With seven classes: how many answers said Asian without saying which."""
    found = _estimate(results, "asian_unspecified", "rate")
    if found is None or isinstance(found.value, Undefined):
        return None
    text = (
        "The seven classes are meaningful only for models that tell East from Southeast Asian. "
        f"Share of answers that said Asian without saying which: {found.number:.3f}."
    )
    return Section("Seven classes", [Text(text, "caution")])


def _estimate(results: Results, metric: str, output: str) -> Estimate | None:
    return next((e for e in results.of(metric, output) if e.group == EVERYONE), None)


def _interval(found: Estimate) -> Interval:
    reason = found.value.reason if isinstance(found.value, Undefined) else ""
    return Interval(found.number, found.low, found.high, reason)
