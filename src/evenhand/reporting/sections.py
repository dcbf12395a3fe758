"""The sections that every family's report has, from results alone.

The order is that of a reader's questions. First what a reader in a hurry sees: who performs worse, by how much, how
sure is that; then what else there is to see, folded: intersections, every pair, every value, what was answered, how it
was computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.core.contrasts import verdict_counts
from evenhand.core.metric import Undefined
from evenhand.core.page import Block, Cell, Figure, Section, Table, Text
from evenhand.core.records import EVERYONE, Group
from evenhand.core.results import Contrast, Estimate, Results, Status, Summary, Verdict
from evenhand.reporting.curves import confusion_section, curve_section, split_curves
from evenhand.reporting.display import NO_OUTPUT, ShownResults, shown, task_title
from evenhand.reporting.groups import differences, group_figures, intersections, output_figures, pairs, spread
from evenhand.reporting.phrases import (
    WORDING,
    as_cell,
    by_words,
    certainly_worse,
    counted_units,
    coverage_sentence,
    direction_of,
    distance_words,
    in_sentence,
    in_words,
    levels,
    listed,
    method_words,
    not_compared,
    standings,
    status_word,
    value_name,
    words,
)
from evenhand.reporting.rounding import percent, with_even_digits

if TYPE_CHECKING:
    from evenhand.store.manifest import Input

PAPER = "paper"  # the name of the section in which a family shows what papers print
_MAIN = 4  # numbers beside the finding
MOST_VALUES = 20_000  # rows of the table of every value of every group


def overview(results: ShownResults, question: str = "") -> Section:
    """One sentence, a verdict per attribute, and the figure of the attribute with the widest gap beyond chance."""
    first, lead = results.first, "No metric has a value for these samples."
    value = None if first == NO_OUTPUT else results.get(*first).value
    blocks: list[Block] = []
    if isinstance(value, Undefined):
        lead = f"{value_name(*first)} is undefined: {value.reason}."
    elif value is not None:
        lead, badges, summary = finding(results), verdict_badges(results), widest(results, first)
        blocks += [badges] if badges.rows else []
        blocks += output_figures(results, *first, by=summary.by[:1]) if summary is not None else ()
        blocks += [Text(overall_sentence(results, question)), main_numbers(results)]
    return Section("Summary", [Text(lead, "lead"), *blocks], name="summary")


def main_numbers(results: ShownResults) -> Table:
    """The few numbers that the task is known by, for all groups together."""
    pairs = [results.first]
    for estimate in results.estimates:
        pair = (estimate.metric, estimate.output)
        useful = estimate.group == EVERYONE and estimate.number is not None and pair not in pairs
        if useful and direction_of(results, *pair) != "neither":
            pairs.append(pair)
    rows = tuple((value_name(*pair), as_cell(results.get(*pair), results.unit(*pair))) for pair in pairs[:_MAIN])
    return Table("Main numbers, all groups together", ("value", "estimate"), rows)


def finding(results: ShownResults) -> str:
    """Who performs worse, by how much, and whether chance explains it: the first sentence of a report."""
    first, pairs = results.first, results.first_pairs
    name, unit = value_name(*first), results.unit(*first)
    if not pairs:
        grouped = any(estimate.group != EVERYONE for estimate in results.estimates)
        reason = not_compared(results.method) if grouped else "It is not grouped by anything."
        return f"{name}: {in_words(results.get(*first), unit)}. {reason}"
    worst = worst_group(results)
    if worst is not None:
        sentence = group_sentence(results, results.get(*first, worst)) + "; chance does not explain this."
        return sentence + intersection_sentence(results)
    undecided = verdict_counts(pairs)[Verdict.UNDECIDED]
    if not undecided:
        alike = "both groups perform" if len(pairs) == 1 else "all groups perform"
        margin = "the threshold" if pairs[0].margin is None else distance_words(pairs[0].margin, unit)
        return f"{name}: {alike} alike, within {margin} of each other."
    doubt = f"{undecided} of {len(pairs)} comparisons are inconclusive"
    doubt = "the data are too few to rule it out" if len(pairs) == 1 else doubt
    return f"{name}: no group is shown to perform worse, but {doubt}."


def intersection_sentence(results: ShownResults) -> str:
    """Names the intersection that performs worst, where it does so clearly beyond the groups it is part of."""
    first = results.first
    sign = -1.0 if direction_of(results, *first) == "lower" else 1.0

    def limits(estimate: Estimate) -> tuple[float, float] | None:
        if estimate.low is None or estimate.high is None or estimate.status is not Status.OK:
            return None
        worst, best = sorted((sign * estimate.low, sign * estimate.high))
        return worst, best

    single = {e.group: limits(e) for e in results.of(*first) if len(e.group.terms) == 1}
    beyond: list[tuple[float, Estimate]] = []
    for estimate in results.of(*first):
        own = limits(estimate) if len(estimate.group.terms) == 2 else None
        parents = [single.get(Group((term,))) for term in estimate.group.terms] if own else []
        if own and all(parent is not None and own[1] < parent[0] for parent in parents):
            beyond.append((sign * (estimate.number or 0.0), estimate))
    if not beyond:
        return ""
    estimate = min(beyond, key=lambda pair: pair[0])[1]
    value = in_words(estimate, results.unit(*first), results.method.confidence)
    return f" Of the intersections, {levels(estimate.group)} performs worst: {value}."


def group_sentence(results: ShownResults, estimate: Estimate) -> str:
    """One group's value and how far it is from the average, without a full stop."""
    unit, overall = results.unit(*results.first), results.get(*results.first).number
    value = in_words(estimate, unit, results.method.confidence)
    group = levels(estimate.group)
    if results.names.sentence and unit:
        share, _, limits = value.partition(" (")
        text = results.names.sentence.format(group=group[:1].upper() + group[1:], value=share)
        text += f" ({limits}" if limits else ""
    else:
        text = f"For {by_words(estimate.group.by)} “{group}”, {in_sentence(value_name(*results.first))} is {value}"
    if overall is None or estimate.number is None or overall == estimate.number:
        return text
    way = "below" if estimate.number < overall else "above"
    return f"{text}, {distance_words(estimate.number - overall, unit)} {way} average"


def worst_group(results: ShownResults) -> Group | None:
    """The group that the first sentence is about: worse beyond chance, of the attribute with the widest gap."""
    first, summary = results.first, widest(results, results.first)
    sure = [group for groups in certainly_worse(results.first_pairs).values() for group in groups]
    if summary is not None and summary.worst in sure:
        return summary.worst
    sign = -1 if direction_of(results, *first) == "lower" else 1
    return min(sure, key=lambda group: sign * (results.get(*first, group).number or 0.0), default=None)


def overall_sentence(results: ShownResults, question: str = "") -> str:
    """The value of everyone, and what else is to be known about the groups."""
    first, pairs, unit = results.first, results.first_pairs, results.unit(*results.first)
    better = {"higher": "higher is better", "lower": "lower is better"}.get(direction_of(results, *first), "")
    text = f"{value_name(*first)} over all groups: {in_words(results.get(*first), unit, results.method.confidence)}"
    text += f"; {better}." if better else "."
    worse = [levels(group) for groups in certainly_worse(pairs).values() for group in groups]
    if len(worse) > 1:
        text += f" Groups that perform worse than some other beyond chance: {listed(worse)}."
    if pairs and pairs[0].margin is not None:
        text += f" A difference counts as meaningful from {distance_words(pairs[0].margin, unit)}."
    asked = question.partition(":")[0].rstrip(".")
    return f"{text} Task: {asked}." if asked else text


def verdict_badges(results: ShownResults) -> Table:
    """One verdict per attribute, the strongest that its pairs of groups support."""
    attributes = [summary.by for summary in ordered(results, results.first)]
    rows = tuple((by_words(by), *badge([p for p in results.first_pairs if p.first.by == by])) for by in attributes)
    return Table("Verdict by attribute", ("attribute", "verdict", "finding"), rows, form="badges")


def badge(pairs: Sequence[Contrast], named: Callable[[Group], str] = levels) -> tuple[str, str]:
    """The verdict about one attribute, as a word and in short; `named` writes the groups."""
    if not pairs:
        return "undecided", "not compared: groups too small"
    worse = certainly_worse(pairs)
    for verdict in (Verdict.LARGE, Verdict.DIFFERENT):
        if worse[verdict]:
            below = {group for group, standing in standings(pairs).items() if standing.is_disadvantaged}
            groups = [group for group in worse[verdict] if group in below] or worse[verdict]
            return verdict.value, f"{WORDING['badges'][verdict.value]} {listed(list(map(named, groups)), 3)}"
    undecided = verdict_counts(pairs)[Verdict.UNDECIDED]
    verdict = Verdict.UNDECIDED if undecided else Verdict.EQUIVALENT
    return verdict.value, WORDING["badges"][verdict.value]


def ordered(results: Results, first: tuple[str, str]) -> list[Summary]:
    """The single attributes: the one whose gap is least like chance first, then by the size of the gap."""
    single = [s for s in results.summaries if (s.metric, s.output) == first and len(s.by) == 1]
    return sorted(single, key=lambda s: (s.reference.p if s.reference else 1.0, -gap_of(s)))


def widest(results: Results, first: tuple[str, str]) -> Summary | None:
    """Of the single attributes, the one whose gap is the least like chance; the widest where chance is not known."""
    return next((s for s in ordered(results, first) if isinstance(s.values.get("max_gap"), float)), None)


def gap_of(summary: Summary) -> float:
    """The gap as a number; 0 where there is none."""
    gap = summary.values.get("max_gap")
    return gap if isinstance(gap, float) else 0.0


def main_values(results: ShownResults) -> Section:
    """Every number of everyone, and every number of every group that is not shown above, to look up."""
    rows: list[tuple[Cell, ...]] = []
    every: list[tuple[Cell, ...]] = []
    for estimate in results.estimates:
        if estimate.number is None and not isinstance(estimate.value, Undefined):
            continue
        name = value_name(estimate.metric, estimate.output)
        value = as_cell(estimate, results.unit(estimate.metric, estimate.output))
        if estimate.group == EVERYONE:
            rows.append((name, value, estimate.rows, method_words(estimate.method)))
        elif (estimate.metric, estimate.output) != results.first:
            group, by = levels(estimate.group), by_words(estimate.group.by)
            every.append((name, by, group, value, estimate.rows, counted_units(estimate), status_word(estimate)))
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
    rows: list[tuple[Cell, ...]] = [(text, getattr(counts, name)) for name, text in WORDING["coverage"].items()]
    rows.extend((f"– {reason}", count) for reason, count in counts.reasons.items())
    counted: list[tuple[Cell, ...]] = [("rows", results.rows), ("independent units", results.units)]
    counted.extend((f"rows without {name}", count) for name, count in results.missing_attributes.items())
    examples = tuple((reason, ", ".join(ids)) for reason, ids in counts.examples.items())
    tables = [
        Table("What was asked and answered", ("what", "count"), tuple(rows)),
        Table("What was counted", ("what", "count"), tuple(counted)),
        *([Table("Examples", ("reason", "ids"), examples)] if examples else []),
    ]
    return Section("What was answered", [Text(coverage_sentence(results)), *tables], name="coverage", folded=True)


def standardised(results: ShownResults) -> Section:
    """Values of groups as if all had the same composition by another attribute; empty unless it was asked for."""
    entries = results.facts.get("standardised", ())
    if not entries:
        return Section("Standardised values")
    rows = [
        (entry["metric"], words(entry["output"]), entry["attribute"], level, *map(_known_number, values))
        for entry in entries
        for level, *values in zip(entry["crude"], entry["crude"].values(), entry["standardised"].values(), strict=True)
    ]
    text = WORDING["notes"]["standardised"].format(by=entries[0]["strata"])
    columns = ("metric", "value of", "by", "group", "as observed", "standardised")
    return Section("Standardised values", [Text(text), Table("", columns, tuple(rows))], name="standardised")


def _known_number(value: Any) -> Cell:
    return value if isinstance(value, float) else "–"


def method(results: ShownResults, inputs: Sequence[Input] = ()) -> Section:
    """How it was computed, so that somebody else can."""
    how = results.method
    margin = how.margin if how.margin is None else distance_words(how.margin, results.unit(*results.first))
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
    hashes = tuple((file.role, file.name, file.hash) for file in inputs)
    blocks: list[Block] = [
        *map(Text, WORDING["cautions"].values()),
        Table("How it was computed", ("what", "value"), tuple(facts)),
        *([Table("Input files", ("role", "file", "BLAKE3 hash"), hashes)] if hashes else []),
        _definitions(results),
        *(Text(note, "small") for note in how.notes),
    ]
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


def reading_guide(results: ShownResults) -> Section:
    """What the words and signs of a report mean, in two minutes."""
    verdicts = "; ".join(f"{verdict}: {text}" for verdict, text in WORDING["verdicts"].items())
    filled = {"confidence": percent(results.method.confidence), "verdicts": verdicts}
    items = tuple((term, meaning.format(**filled)) for term, meaning in WORDING["guide"].items())
    table = Table("Words used in this report", ("term", "meaning"), items)
    return Section("How to read this report", [table], name="guide", folded=True)


def standard(results: Results, question: str = "", inputs: Sequence[Input] = ()) -> tuple[Section, ...]:
    """All of the above, in order; empty sections are left out."""
    results = shown(results)
    summary = widest(results, results.first)
    by = summary.by if summary is not None else ()
    curves, more_curves = split_curves(curve_section(results), by[0] if by else "")
    every = (
        overview(results, question),
        group_figures(results, skip=by),
        differences(results),
        warnings(results),
        curves,
        confusion_section(results),
        more_curves,
        intersections(results),
        pairs(results),
        spread(results),
        standardised(results),
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
    return Section("Warnings", [Text(warning, "caution") for warning in results.warnings], name="warnings")


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
    is_open = section.name == PAPER or any(isinstance(block, Figure) for block in section.blocks)
    return section if is_open else replace(section, folded=True)


def methods_table(added: Sequence[Sequence[Section]], names: Sequence[str], title: str = "Metrics") -> Table | None:
    """Methods × metrics as papers print them: a row per metric, a column per method, one number of decimals in a row.

    From the sections "paper" that a family adds for each method; None when it has none.
    """
    methods: list[dict[Cell, tuple[Cell, str]]] = []
    captions: dict[str, list[str]] = {}
    for name, sections in zip(names, added, strict=True):
        blocks = [block for section in sections if section.name == PAPER for block in section.blocks]
        tables = [block for block in blocks if isinstance(block, Table)]
        rows = [pair for table in tables for pair in zip(table.rows, table.better, strict=True)]
        methods.append({metric: (value, way) for (metric, value), way in rows})
        for table in tables:
            captions.setdefault(table.caption, []).append(name)
    metrics = dict.fromkeys(metric for method in methods for metric in method)
    if not metrics:
        return None
    lines = tuple((metric, *(method.get(metric, (None, ""))[0] for method in methods)) for metric in metrics)
    better = tuple(next(method[metric][1] for method in methods if metric in method) for metric in metrics)
    notes = [f"{', '.join(of)}: {text}" if len(captions) > 1 else text for text, of in captions.items() if text]
    table = Table(title, ("Metric", *names), lines, " ".join(notes), form="paper by metric", better=better)
    return with_even_digits(table)
