"""The sections that every family's report has, from results alone.

The order is that of a reader's questions: how well, for whom worse, how sure, of what was
asked how much was answered, and how was it computed.
"""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.metric import Undefined
from evenhand.core.page import Block, Cell, Interval, Section, Table, Text
from evenhand.core.records import EVERYONE, Group
from evenhand.core.results import Contrast, Estimate, Results, Status, Summary, Verdict
from evenhand.reporting.rounding import number, p_value

MOST_PAIRS = 50


def headline(results: Results) -> tuple[str, str] | None:
    """The metric and output that the task puts first; the first number when the options left that one out."""
    if results.headline is not None and next(results.of(*results.headline), None) is not None:
        return results.headline
    for estimate in results.estimates:
        if estimate.number is not None:
            return estimate.metric, estimate.output
    return None


def overview(results: Results) -> Section:
    """What a non-specialist reads: how well, for whom worse, how sure."""
    blocks: list[Block] = []
    first = headline(results)
    name = results.model or "The model"
    if first is None:
        return Section("Summary", [Text("No metric has a value for these rows.", "lead")], name="summary")
    metric, output = first
    whole = results.get(metric, output)
    if isinstance(whole.value, Undefined):
        blocks.append(Text(f"{name}: {output} of {results.task} is undefined: {whole.value.reason}.", "lead"))
        return Section("Summary", blocks, name="summary")
    blocks.append(
        Text(f"{name} reaches {said(whole)} {words(output)} on {whole.rows:,} rows ({whole.units:,} units).", "lead")
    )
    blocks.extend(Text(gap_sentence(summary)) for summary in results.summaries if _is(summary, first, order=1))
    large = [c for c in results.contrasts if (c.metric, c.output) == first and c.verdict is Verdict.LARGE]
    if large:
        worst = {str(c.worse) for c in large if c.worse is not None}
        blocks.append(Text(f"Large differences, beyond the margin and beyond chance, at the cost of: {_list(worst)}."))
    elif any((c.metric, c.output) == first for c in results.contrasts):
        blocks.append(Text("No pair of groups differs by more than the margin beyond chance."))
    blocks.append(Text(coverage_sentence(results)))
    return Section("Summary", blocks, name="summary")


def main_values(results: Results) -> Section:
    """Every number of everyone."""
    rows: list[tuple[Cell, ...]] = []
    for estimate in results.estimates:
        if estimate.group == EVERYONE and (estimate.number is not None or isinstance(estimate.value, Undefined)):
            rows.append((estimate.metric, estimate.output, as_cell(estimate), estimate.rows, estimate.method or "–"))
    table = Table("All values, everyone", ("metric", "output", "value", "rows", "interval"), tuple(rows))
    return Section("All values", [table], name="values")


def group_tables(results: Results, outputs: Sequence[tuple[str, str]] | None = None) -> Section:
    """One table per attribute: every group with its rows, units, value and interval; small groups greyed."""
    chosen = outputs if outputs is not None else [found for found in [headline(results)] if found is not None]
    blocks: list[Block] = []
    for metric, output in chosen:
        by: dict[tuple[str, ...], list[Estimate]] = {}
        for estimate in results.of(metric, output):
            if estimate.group != EVERYONE:
                by.setdefault(estimate.group.by, []).append(estimate)
        for names, found in by.items():
            blocks.append(group_table(metric, output, names, found))
    return Section("Groups", blocks, name="groups")


def group_table(metric: str, output: str, by: Sequence[str], found: Sequence[Estimate]) -> Table:
    """The groups of one attribute or intersection."""
    muted = frozenset(i for i, e in enumerate(found) if e.status is not Status.OK or e.group.is_missing)
    rows = tuple(
        (" × ".join(level for _, level in e.group.terms), e.rows, e.units, as_cell(e), status_word(e)) for e in found
    )
    title = (
        f"{words(output)} by {' × '.join(by)}" if metric == output else f"{metric}: {words(output)} by {' × '.join(by)}"
    )
    return Table(title, ("group", "rows", "units", "value", "note"), rows, muted=muted)


def gaps(results: Results) -> Section:
    """The spread over groups, each gap beside what an even model would show."""
    first = headline(results)
    rows: list[tuple[Cell, ...]] = []
    texts: list[Block] = []
    for summary in results.summaries:
        if first is not None and (summary.metric, summary.output) != first:
            continue
        gap = summary.values.get("max_gap")
        if isinstance(gap, Undefined) or gap is None:
            texts.append(Text(f"{' × '.join(summary.by)}: no gap, {gap.reason if gap else 'not computed'}.", "small"))
            continue
        reference = summary.reference
        rows.append(
            (
                " × ".join(summary.by),
                levels(summary.worst),
                levels(summary.best),
                gap,
                reference.mean if reference else None,
                reference.excess if reference else None,
                p_value(reference.p) if reference else "–",
                len(summary.eligible),
                len(summary.excluded),
            )
        )
    columns = ("by", "worst", "best", "gap", "an even model", "excess", "p", "groups", "excluded")
    table = Table("Gaps between groups", columns, tuple(rows), "«an even model»: the mean gap when labels are permuted")
    return Section("Gaps", [table, *texts] if rows else texts, name="gaps")


def pairs(results: Results) -> Section:
    """The pairs with verdicts, those that were not significant too."""
    first = headline(results)
    found = [c for c in results.contrasts if first is None or (c.metric, c.output) == first]
    if not found:
        return Section("Pairs", [Text("No two groups were large enough to be compared.", "small")], name="pairs")
    order = {Verdict.LARGE: 0, Verdict.DIFFERENT: 1, Verdict.UNDECIDED: 2, Verdict.EQUIVALENT: 3, None: 4}
    ranked = sorted(found, key=lambda c: (order[c.verdict], -abs(c.difference or 0.0)))
    shown = ranked[:MOST_PAIRS]
    rows = tuple(pair_row(contrast) for contrast in shown)
    counts = ", ".join(f"{sum(c.verdict is verdict for c in found)} {verdict.value}" for verdict in Verdict)
    families = sorted({(c.family, c.family_size) for c in found})
    about = "; ".join(f"{family}: {size} pairs" for family, size in families)
    caption = f"{len(found)} pairs tested: {counts}. Adjusted within {about}."
    if len(found) > len(shown):
        caption += f" The {len(shown)} most telling are shown, all are in the JSON."
    columns = ("first", "second", "difference", "p adjusted", "verdict", "detectable")
    return Section("Pairs", [Table("Pairs of groups", columns, rows, caption)], name="pairs")


def pair_row(contrast: Contrast) -> tuple[Cell, ...]:
    """One pair as a row of the table."""
    return (
        str(contrast.first),
        str(contrast.second),
        Interval(contrast.difference, contrast.low, contrast.high),
        p_value(contrast.adjusted),
        contrast.verdict.value if contrast.verdict else "–",
        number(contrast.detectable) if contrast.verdict is Verdict.UNDECIDED else "",
    )


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
    rows.extend((f"rows without {name}", count) for name, count in results.missing_attributes.items())
    return Section("Coverage", [Table("What was asked and answered", ("", "count"), tuple(rows))], name="coverage")


def method(results: Results) -> Section:
    """How it was computed, so that somebody else can."""
    how = results.method
    facts: list[tuple[Cell, ...]] = [
        ("task", results.task),
        ("data", results.dataset),
        ("options", ", ".join(f"{key}={value}" for key, value in results.options.items()) or "defaults"),
        ("confidence", f"{how.confidence:.0%}"),
        ("draws", how.draws),
        ("permutations", how.permutations),
        ("seed", f"{how.seed} ({how.generator})" if how.seed else "–"),
        ("margin", how.margin),
        ("correction", how.correction),
        ("smallest group", f"{how.min_rows} rows, {how.min_units} units"),
        ("unit", how.unit or "–"),
        ("evenhand", results.version),
    ]
    facts.extend((f"instrument {name}", fingerprint) for name, fingerprint in results.instruments.items())
    definitions: tuple[tuple[Cell, ...], ...] = tuple(
        (fact.name, output, direction, fact.definition)
        for fact in results.metrics
        for output, direction in fact.outputs.items()
    )
    blocks: list[Block] = [
        Table("Method", ("", ""), tuple(facts)),
        Table("Metrics", ("metric", "output", "better", "definition"), definitions),
    ]
    blocks.extend(Text(note, "small") for note in how.notes)
    blocks.extend(Text(warning, "caution") for warning in results.warnings)
    blocks.extend(Text(text, "small") for text in CAUTIONS)
    return Section("Method", blocks, name="method")


CAUTIONS = (
    "No evidence of a difference is not evidence of none.",
    "Groups are labels in the data set, annotated by people or self-declared; they are not identities.",
    "A verdict holds for this data set, this threshold and this margin.",
)


def standard(results: Results) -> tuple[Section, ...]:
    """All of the above, in order; empty sections are left out."""
    every = (
        overview(results),
        group_tables(results),
        gaps(results),
        pairs(results),
        main_values(results),
        coverage(results),
        method(results),
    )
    return tuple(section for section in every if section.blocks or section.sections)


def gap_sentence(summary: Summary) -> str:
    """The gap, with what a model without any difference would show."""
    by = " × ".join(summary.by)
    gap = summary.values.get("max_gap")
    if gap is None or isinstance(gap, Undefined):
        return f"By {by}: {gap.reason if isinstance(gap, Undefined) else 'no gap was computed'}."
    text = f"By {by}: worst for {levels(summary.worst)}, best for {levels(summary.best)}, a gap of {number(gap)}."
    if summary.reference is not None:
        text += f" A model without any difference would show a gap of about {number(summary.reference.mean)} here"
        text += f" (p = {p_value(summary.reference.p)})." if summary.reference.p >= 1e-4 else " (p < 0.0001)."
    return text


def coverage_sentence(results: Results) -> str:
    """How much of what was asked was answered."""
    found = results.coverage
    text = f"{found.answered:,} of {found.asked:,} samples were answered"
    rest = [
        f"{count:,} {what}"
        for count, what in ((found.missing, "not answered"), (found.unusable, "unusable"), (found.empty, "empty"))
        if count
    ]
    return text + (f" ({', '.join(rest)})." if rest else ".")


def as_cell(estimate: Estimate) -> Interval:
    """A value with its interval, or the reason why there is none."""
    if isinstance(estimate.value, float):
        return Interval(estimate.value, estimate.low, estimate.high)
    return Interval(None, reason=estimate.value.reason if isinstance(estimate.value, Undefined) else "not a number")


def status_word(estimate: Estimate) -> str:
    """What to mind about a group, in a few words."""
    if estimate.group.is_missing:
        return "not annotated, not compared"
    if estimate.status is Status.EMPTY:
        return "no rows"
    if estimate.status is Status.SMALL:
        return "small, not compared"
    return "; ".join(estimate.notes)


def said(estimate: Estimate) -> str:
    """A value in a sentence."""
    from evenhand.reporting.rounding import interval

    return interval(as_cell(estimate))


def levels(group: Group | None) -> str:
    """The levels of a group without the names of attributes."""
    return "–" if group is None else " × ".join(level for _, level in group.terms) or "everyone"


def words(output: str) -> str:
    """An output's name as words."""
    return output.replace("_", " ")


def _is(summary: Summary, first: tuple[str, str], order: int) -> bool:
    return (summary.metric, summary.output) == first and len(summary.by) == order


def _list(names: set[str]) -> str:
    ordered = sorted(names)
    return ", ".join(ordered[:6]) + (f" and {len(ordered) - 6} more" if len(ordered) > 6 else "")
