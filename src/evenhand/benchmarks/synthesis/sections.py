"""What a report of this family adds: on how many frames each number rests, and what the number looks at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from evenhand.benchmarks.synthesis.catalogue import CONVENTIONS, NAMES, PUBLISHED, STRICT, CatalogueEntry, entry_of
from evenhand.benchmarks.synthesis.metrics import LEFT_OUT
from evenhand.core.errors import OptionError
from evenhand.core.metric import Direction, Undefined
from evenhand.core.page import Cell, Interval, Section, Table, Text
from evenhand.core.records import EVERYONE
from evenhand.core.results import UNVERIFIED_WEIGHTS, Estimate, Results


def paper_table(results: Results) -> Section | None:
    """The values of everyone as papers print them: a line per metric, a column for the method."""
    rows: list[tuple[Cell, ...]] = []
    better: list[str] = []
    without: dict[str, list[str]] = {}
    for estimate, entry in _of_everyone(results, every_output_of="neighbours"):
        name = estimate.metric
        shown = NAMES.value(name, estimate.output)
        rows.append((f"{_marked(shown, name, results)} {_ARROWS[entry.direction]}", estimate.number))
        better.append(entry.direction.value)
        if isinstance(estimate.value, Undefined):
            reason = "not available here" if name in results.not_available else estimate.value.reason
            without.setdefault(reason, []).append(shown)
    if not rows:
        return None
    caption = " ".join(f"No value for {', '.join(names)}: {reason.rstrip('.')}." for reason, names in without.items())
    columns = ("metric", results.model)
    return Section("Table", (Table("Metrics", columns, tuple(rows), caption, better=tuple(better)),), name="paper")


def _of_everyone(results: Results, every_output_of: str = "") -> Iterator[tuple[Estimate, CatalogueEntry]]:
    """The first value of each metric in the catalogue, of everyone, with what is known of the metric."""
    for estimate in results.estimates:
        kind = estimate.metric.partition(":")[0]
        if estimate.group == EVERYONE and (estimate.output in _FIRST or kind == every_output_of):
            with suppress(OptionError):
                yield estimate, entry_of(estimate.metric)


def _marked(shown: str, name: str, results: Results) -> str:
    """What a metric is called, with a mark where no hash of their authors confirms its weights."""
    return f"{shown} ({UNVERIFIED_WEIGHTS})" if name in results.unverified else shown


def how_it_was_measured(results: Results) -> Section | None:
    """Every metric with its convention, what it looks at, the share of frames it was measured on, and its policy."""
    rows: list[tuple[Cell, ...]] = []
    policies = {fact.name: str(fact.parameters.get("policy", "")) for fact in results.metrics}
    for estimate, entry in _of_everyone(results):
        name = estimate.metric
        total = estimate.rows + estimate.missing
        share = estimate.rows / total if total else None
        rows.append(
            (
                _marked(name, name, results),
                _convention(name, results),
                entry.looks_at.value,
                share,
                estimate.missing,
                policies.get(name) or LEFT_OUT,
            )
        )
    if not rows:
        return None
    columns = ("metric", "convention", "looks at", "share measured", "frames missing", "policy for the rest")
    blocks: list[Text | Table] = [Table("What each number is based on", columns, tuple(rows))]
    by_reason: dict[str, list[str]] = {}
    for name, reason in results.not_available.items():
        by_reason.setdefault(reason, []).append(name)
    blocks.extend(Text(f"{', '.join(names)} not available: {why}", "caution") for why, names in by_reason.items())
    used = results.facts.get("instruments_used") or {}
    if used:
        blocks.append(Table("Instruments", ("feature", "fingerprint"), tuple((k, str(v)) for k, v in used.items())))
    return Section("How it was measured", tuple(blocks), name="measured")


def every_convention(run: Any) -> Section:
    """`evenhand explain`: each number under every convention that was measured, and whose code each belongs to."""
    results: Results = run.results
    rows: list[tuple[Cell, ...]] = []
    for estimate, entry in _of_everyone(results):
        value = Interval(
            estimate.number, estimate.low, estimate.high, "" if estimate.number is not None else "undefined"
        )
        difference = (entry.differs or "a mean of batch means against a mean of frames") if entry.published else ""
        mark = _marked(entry.name, estimate.metric, results)
        rows.append((mark, _convention(estimate.metric, results), value, difference or entry.definition))
    columns = ("metric", "whose convention", "value", "what differs")
    note = Text("Rows that differ (boxes, windows, sources) need another run: --set rules=strict.", "small")
    measured = {estimate.metric for estimate in results.estimates}
    known = tuple(
        (f"{kind}:{name}", whose, "measured here" if f"{kind}:{name}" in measured else "--set metrics=…")
        for kind, names in CONVENTIONS.items()
        for name, whose in names.items()
    )
    return Section(
        "The same numbers under every convention",
        (Table("", columns, tuple(rows)), note, Table("Conventions by name", ("name", "whose", "value"), known)),
        name="explain",
    )


_ARROWS = {Direction.HIGHER: "↑", Direction.LOWER: "↓"}
_FIRST = frozenset({"mean", "distance", "score", "precision"})
_PLAIN = frozenset({"synthesis/pictures", "synthesis/paired", "synthesis/unpaired"})


def _convention(name: str, results: Results) -> str:
    """Whose convention a number follows, in words."""
    entry = entry_of(name)
    kind, _, which = entry.name.partition(":")
    if which in CONVENTIONS.get(kind, ()) or which in CONVENTIONS["fid"]:
        return which
    if name.endswith(PUBLISHED):
        return "his_evaluators"
    if name.endswith(STRICT):
        return "corrected"
    if results.task in _PLAIN:
        return "mean over pictures" if entry.paired else "evenhand"
    return "his_evaluators" if entry.published else "evenhand"
