"""The sections that every family's report has, from results alone.

The order is that of a reader's questions: who performs worse, by how much, how sure is that; then
what else there is to see, folded: intersections, every pair, every value, what was answered, how it was computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.core.metric import Undefined
from evenhand.core.page import Block, Cell, Figure, Section, Table, Text
from evenhand.core.records import EVERYONE
from evenhand.core.results import Results
from evenhand.reporting.contrasts import VERDICTS, differences, pairs, spread
from evenhand.reporting.curves import confusion_section, curve_section, split_curves
from evenhand.reporting.display import ShownResults, shown, task_title
from evenhand.reporting.groups import group_figures, intersections
from evenhand.reporting.methods import PAPER
from evenhand.reporting.phrases import (
    as_cell,
    by_words,
    coverage_sentence,
    distance_words,
    headline,
    levels,
    method_words,
    status_word,
    value_name,
    words,
)
from evenhand.reporting.rounding import percent
from evenhand.reporting.summary import overview, widest

if TYPE_CHECKING:
    from evenhand.store.manifest import Input

MOST_VALUES = 20_000  # rows of the table of every value of every group


def main_values(results: ShownResults) -> Section:
    """Every number of everyone, and every number of every group that is not shown above, to look up."""
    first = headline(results)
    rows: list[tuple[Cell, ...]] = []
    every: list[tuple[Cell, ...]] = []
    for estimate in results.estimates:
        if estimate.number is None and not isinstance(estimate.value, Undefined):
            continue
        name = value_name(estimate.metric, estimate.output)
        value = as_cell(estimate, results.unit(estimate.metric, estimate.output))
        if estimate.group == EVERYONE:
            rows.append((name, value, estimate.rows, method_words(estimate.method)))
        elif (estimate.metric, estimate.output) != first:
            group, by = levels(estimate.group), by_words(estimate.group.by)
            every.append((name, by, group, value, estimate.rows, estimate.units, status_word(estimate)))
    blocks: list[Block] = [
        Table("All values, all groups together", ("value", "estimate", "n", "interval"), tuple(rows))
    ]
    if 0 < len(every) <= MOST_VALUES:
        columns = ("value", "by", "group", "estimate", "n", "units", "note")
        blocks.append(Table("All other values, by group", columns, tuple(every), form="lookup"))
    elif every:
        blocks.append(Text(f"{len(every):,} more values of groups are in the JSON and CSV.", "small"))
    return Section("All values", blocks, name="values", folded=True)


def coverage(results: ShownResults) -> Section:
    """What was asked, and what became of it."""
    counts = results.coverage
    rows: list[tuple[Cell, ...]] = [
        ("asked", counts.asked),
        ("answered", counts.answered),
        ("answered with nothing", counts.empty),
        ("could not be read", counts.unusable),
        ("not answered", counts.missing),
        ("answers to nothing that was asked", counts.extra),
    ]
    rows.extend((f"– {reason}", count) for reason, count in counts.reasons.items())
    blocks: list[Block] = [
        Text(coverage_sentence(results)),
        Table("What was asked and answered", ("what", "count"), tuple(rows)),
    ]
    counted: list[tuple[Cell, ...]] = [("rows", results.rows), ("independent units", results.units)]
    counted.extend((f"rows without {name}", count) for name, count in results.missing_attributes.items())
    blocks.append(Table("What was counted", ("what", "count"), tuple(counted)))
    if counts.examples:
        examples = tuple((reason, ", ".join(ids)) for reason, ids in counts.examples.items())
        blocks.append(Table("Examples", ("reason", "ids"), examples))
    return Section("What was answered", blocks, name="coverage", folded=True)


def standardised(results: ShownResults) -> Section | None:
    """Values of groups as if all had the same composition by another attribute; nothing unless it was asked for."""
    entries = results.facts.get("standardised", ())
    if not entries:
        return None
    rows = [
        (entry["metric"], words(entry["output"]), entry["attribute"], level, _plain(crude), _plain(standard_value))
        for entry in entries
        for (level, crude), standard_value in zip(entry["crude"].items(), entry["standardised"].values(), strict=True)
    ]
    by = entries[0]["strata"]
    text = (
        f"Standardised by {by}: each group's value with the composition by {by} of the whole data. Where it is "
        "closer to the "
        "others than the value as observed, the difference is one of composition."
    )
    columns = ("metric", "value of", "by", "group", "as observed", "standardised")
    return Section("Standardised values", [Text(text), Table("", columns, tuple(rows))], name="standardised")


def _plain(value: Any) -> Cell:
    return value if isinstance(value, float) else "–"


def method(results: ShownResults, inputs: Sequence[Input] = ()) -> Section:
    """How it was computed, so that somebody else can."""
    how = results.method
    first = headline(results)
    unit = results.unit(*first) if first is not None else ""
    margin = how.margin if how.margin is None else distance_words(how.margin, unit)
    intervals = sorted({method_words(e.method) for e in results.estimates if e.method})
    facts: list[tuple[Cell, ...]] = [
        ("task", f"{task_title(results.task, results.names)} ({results.task})"),
        ("model", results.model),
        ("data", results.dataset),
        ("options", ", ".join(f"{key}={value}" for key, value in results.options.items()) or "defaults"),
        ("confidence level", percent(how.confidence)),
        ("bootstrap resamples", how.draws),
        ("permutations", how.permutations),
        ("seed", f"{how.seed} ({how.generator})" if how.seed else "–"),
        ("threshold for a meaningful difference", margin),
        ("correction for many comparisons", how.correction.capitalize()),
        ("smallest group compared", f"{how.min_rows} rows, {how.min_units} units"),
        ("independent unit", how.unit or "–"),
        ("intervals", "; ".join(intervals) or "–"),
        ("evenhand", results.version or "–"),
    ]
    facts.extend((f"instrument {name}", fingerprint) for name, fingerprint in results.instruments.items())
    blocks: list[Block] = [Text(text) for text in CAUTIONS]
    blocks.append(Table("How it was computed", ("what", "value"), tuple(facts)))
    if inputs:
        hashes = tuple((one.role, one.name, one.sha256) for one in inputs)
        blocks.append(Table("Input files", ("role", "file", "SHA-256"), hashes))
    blocks.append(_definitions(results))
    blocks.extend(Text(note, "small") for note in how.notes)
    return Section("Method", blocks, name="method", folded=True)


def _definitions(results: Results) -> Table:
    """Each definition once, with the values that it defines."""
    defined: dict[str, list[str]] = {}
    for fact in results.metrics:
        for output, direction in fact.outputs.items():
            arrow = {"higher": " ↑", "lower": " ↓"}.get(direction, "")
            defined.setdefault(fact.definition, []).append(value_name(fact.name, output) + arrow)
    rows = tuple((definition, ", ".join(names)) for definition, names in defined.items())
    return Table("Metrics", ("definition", "values (↑ higher is better, ↓ lower)"), rows)


CAUTIONS = (
    "No evidence of a difference is not evidence of no difference.",
    "Groups are labels in the data set, annotated by people or self-declared; they are not identities.",
    "A verdict holds for this data set and this threshold.",
)


def reading_guide(results: ShownResults) -> Section:
    """What the words and signs of a report mean, in two minutes."""
    confidence = percent(results.method.confidence)
    items = (
        ("Confidence interval", f"Had the data been collected again and again, {confidence} of such intervals would "
         "contain the true value. A wide interval means few samples."),
        ("Threshold for a meaningful difference", "A difference smaller than this would not matter in practice. It is "
         "set before the evaluation (--margin) and turns numbers into verdicts."),
        ("Expected by chance alone", "Even a model that treats everybody alike shows some gap between its best and "
         "worst group, because groups are finite. This is how large that gap would be on these data, on average; p is "
         "the probability of a gap as large as the observed one if there were no difference."),
        ("Chance does not explain this", "The adjusted p-value is below 0.05: so large a difference would be rare if "
         "the groups performed alike. Adjusted: corrected for the number of comparisons made."),
        ("Independent unit", "What was sampled independently, such as a subject. Ten photos of one person tell less "
         "than photos of ten people; intervals are computed over units."),
        ("Points", "Percentage points: from 60 % to 65 % are 5 points."),
        ("Verdicts", "; ".join(f"{verdict.value}: {text}" for verdict, text in VERDICTS.items()) + "."),
    )  # fmt: skip
    table = Table("Words used in this report", ("term", "meaning"), items)
    return Section("How to read this report", [table], name="guide", folded=True)


def standard(results: Results, question: str = "", inputs: Sequence[Input] = ()) -> tuple[Section, ...]:
    """All of the above, in order; empty sections are left out."""
    results = shown(results)
    first = headline(results)
    summary = widest(results, first) if first is not None else None
    curves, more_curves = split_curves(curve_section(results), summary.by[0] if summary is not None else "")
    every = (
        overview(results, question),
        group_figures(results, skip=summary.by if summary is not None else ()),
        differences(results),
        warnings(results),
        curves,
        confusion_section(results),
        more_curves,
        intersections(results),
        pairs(results),
        spread(results),
        *([added] if (added := standardised(results)) is not None else []),
        main_values(results),
        coverage(results),
        method(results, inputs),
        reading_guide(results),
    )
    return tuple(section for section in every if section.blocks or section.sections)


def brief(results: Results, question: str = "", inputs: Sequence[Input] = ()) -> tuple[Section, ...]:
    """The sections of one run among many: what can't be shown together with the others."""
    results = shown(results)
    every = (overview(results, question), differences(results), warnings(results), coverage(results))
    return tuple(section for section in (*every, method(results, inputs)) if section.blocks or section.sections)


def warnings(results: ShownResults) -> Section:
    """What the evaluation warned about."""
    return Section("To mind", [Text(warning, "caution") for warning in results.warnings], name="warnings")


def with_added(sections: Sequence[Section], added: Sequence[Section]) -> tuple[Section, ...]:
    """The family's sections before what is folded.

    One with the name of a section that is here already is joined to it: its texts follow ours; its figures and,
    where we draw one, its tables give way, since ours say the same with more to do.
    """
    own = {section.name: section for section in added if section.name}
    joined = []
    for section in sections:
        more = own.get(section.name)
        if more is not None:
            drawn = any(isinstance(block, Figure) for block in section.blocks)
            kept = [b for b in more.blocks if isinstance(b, Text) or (isinstance(b, Table) and not drawn)]
            section = replace(section, blocks=[*section.blocks, *kept])
        joined.append(section)
    here = {section.name for section in sections}
    new = [_fold_texts(section) for section in added if section.name not in here or not section.name]
    cut = next((at for at, section in enumerate(joined) if at > 1 and section.folded), len(joined))
    return (*joined[:cut], *new, *joined[cut:])


def _fold_texts(section: Section) -> Section:
    """A family's section without a figure is folded, like ours; its table for papers is not."""
    return (
        section
        if section.name == PAPER or any(isinstance(block, Figure) for block in section.blocks)
        else replace(section, folded=True)
    )
