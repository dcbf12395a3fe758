"""The sections that every family's report has, from results alone.

The order is that of a reader's questions: how well, for whom worse, how sure, of what was
asked how much was answered, and how was it computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from evenhand.core.metric import Undefined
from evenhand.core.page import Block, Cell, Figure, Section, Table, Text
from evenhand.core.records import EVERYONE
from evenhand.core.results import Results
from evenhand.reporting.confusion import confusion_section
from evenhand.reporting.contrasts import gaps, pairs, spread
from evenhand.reporting.curves import curve_section
from evenhand.reporting.groups import group_figures, group_tables
from evenhand.reporting.phrases import as_cell, gap_sentence, headline, levels, status_word, words
from evenhand.reporting.summary import overview

__all__ = [
    "CAUTIONS",
    "as_cell",
    "coverage",
    "gaps",
    "group_tables",
    "headline",
    "main_values",
    "method",
    "overview",
    "standard",
    "with_added",
    "words",
]

MOST_VALUES = 20_000  # rows of the table of every value of every group


class InputFile(Protocol):
    """A file that the run rests on, as its manifest names it."""

    @property
    def role(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def sha256(self) -> str: ...


def main_values(results: Results) -> Section:
    """Every number of everyone, and every number of every group that is not shown above, to look up."""
    first = headline(results)
    rows: list[tuple[Cell, ...]] = []
    every: list[tuple[Cell, ...]] = []
    for estimate in results.estimates:
        if estimate.number is None and not isinstance(estimate.value, Undefined):
            continue
        if estimate.group == EVERYONE:
            rows.append((estimate.metric, estimate.output, as_cell(estimate), estimate.rows, estimate.method or "–"))
        elif (estimate.metric, estimate.output) != first:
            name = f"{estimate.metric}: {estimate.output}"
            by, note = " × ".join(estimate.group.by), status_word(estimate)
            every.append((name, by, levels(estimate.group), as_cell(estimate), estimate.rows, estimate.units, note))
    blocks: list[Block] = [
        Table("All values, everyone", ("metric", "output", "value", "rows", "interval"), tuple(rows))
    ]
    if 0 < len(every) <= MOST_VALUES:
        columns = ("value of", "by", "group", "value", "rows", "units", "note")
        blocks.append(Table("All other values, every group", columns, tuple(every), form="lookup"))
    elif every:
        text = f"{len(every):,} more values of groups are in the JSON and CSV."
        blocks.append(Text(text, "small"))
    return Section("All values", blocks, name="values")


def coverage(results: Results) -> Section:
    """What was asked, and what became of it."""
    found = results.coverage
    rows: list[tuple[Cell, ...]] = [
        ("asked", found.asked),
        ("answered", found.answered),
        ("answered with nothing", found.empty),
        ("could not be read", found.unusable),
        ("not answered", found.missing),
        ("answers to nothing that was asked", found.extra),
    ]
    rows.extend((f"– {reason}", count) for reason, count in found.reasons.items())
    blocks: list[Block] = [Table("What was asked and answered", ("what", "count"), tuple(rows))]
    counted: list[tuple[Cell, ...]] = [("rows", results.rows), ("units", results.units)]
    counted.extend((f"rows without {name}", count) for name, count in results.missing_attributes.items())
    blocks.append(Table("What it came to", ("what", "count"), tuple(counted)))
    if found.examples:
        examples = tuple((reason, ", ".join(ids)) for reason, ids in found.examples.items())
        blocks.append(Table("Examples", ("reason", "ids"), examples))
    return Section("Coverage", blocks, name="coverage")


def method(results: Results, inputs: Sequence[InputFile] = ()) -> Section:
    """How it was computed, so that somebody else can."""
    how = results.method
    facts: list[tuple[Cell, ...]] = [
        ("task", results.task),
        ("model", results.model),
        ("data", results.dataset),
        ("options", ", ".join(f"{key}={value}" for key, value in results.options.items()) or "defaults"),
        ("confidence", f"{how.confidence:.0%}"),
        ("bootstrap draws", how.draws),
        ("permutations", how.permutations),
        ("seed", f"{how.seed} ({how.generator})" if how.seed else "–"),
        ("margin", how.margin),
        ("correction", how.correction),
        ("smallest group", f"{how.min_rows} rows, {how.min_units} units"),
        ("unit", how.unit or "–"),
        ("interval methods", ", ".join(sorted({e.method for e in results.estimates if e.method})) or "–"),
        ("evenhand", results.version or "–"),
    ]
    facts.extend((f"instrument {name}", fingerprint) for name, fingerprint in results.instruments.items())
    definitions: tuple[tuple[Cell, ...], ...] = tuple(
        (fact.name, output, direction, fact.definition)
        for fact in results.metrics
        for output, direction in fact.outputs.items()
    )
    blocks: list[Block] = [Text(warning, "caution") for warning in results.warnings]
    blocks += [Text(text) for text in CAUTIONS]
    blocks.append(Table("How it was computed", ("what", "value"), tuple(facts)))
    if inputs:
        hashes = tuple((one.role, one.name, one.sha256) for one in inputs)
        blocks.append(Table("Files it rests on", ("role", "file", "SHA-256"), hashes))
    blocks.append(Table("Metrics", ("metric", "output", "better", "definition"), definitions))
    blocks.extend(Text(note, "small") for note in how.notes)
    return Section("Method", blocks, name="method")


CAUTIONS = (
    "No evidence of a difference is not evidence of none.",
    "Groups are labels in the data set, annotated by people or self-declared; they are not identities.",
    "A verdict holds for this data set, this threshold and this margin.",
)


def standard(results: Results, question: str = "", inputs: Sequence[InputFile] = ()) -> tuple[Section, ...]:
    """All of the above, in order; empty sections are left out."""
    every = (
        overview(results, question),
        group_figures(results),
        _with_sentences(results),
        pairs(results),
        curve_section(results),
        confusion_section(results),
        main_values(results),
        coverage(results),
        method(results, inputs),
    )
    return tuple(section for section in every if section.blocks or section.sections)


def brief(results: Results, question: str = "", inputs: Sequence[InputFile] = ()) -> tuple[Section, ...]:
    """The sections of one run among many: what can't be shown together with the others."""
    every = (overview(results, question), group_figures(results), _with_sentences(results), pairs(results))
    rest = (coverage(results), method(results, inputs))
    return tuple(section for section in (*every, *rest) if section.blocks or section.sections)


def _with_sentences(results: Results) -> Section:
    """The gaps in sentences and as a table, then the other numbers of spread."""
    first = headline(results)
    told = [Text(gap_sentence(s)) for s in results.summaries if (s.metric, s.output) == first and len(s.by) == 1]
    found, more = gaps(results), spread(results)
    return Section(found.title, [*told, *found.blocks, *more.blocks], name=found.name)


def with_added(sections: Sequence[Section], added: Sequence[Section]) -> tuple[Section, ...]:
    """The family's sections before all values, coverage and method.

    One with the name of a section that is here already is joined to it: its texts and tables follow
    ours, its figures give way, since ours draw the same with more to do.
    """
    own = {section.name: section for section in added if section.name}
    joined = []
    for section in sections:
        more = own.get(section.name)
        if more is not None:
            kept = [block for block in more.blocks if not isinstance(block, Figure)]
            section = Section(section.title, [*section.blocks, *kept], section.sections, section.name)
        joined.append(section)
    here = {section.name for section in sections}
    new = [section for section in added if section.name not in here or not section.name]
    cut = next((at for at, section in enumerate(joined) if section.name in ("values", "coverage")), len(joined))
    return (*joined[:cut], *new, *joined[cut:])
