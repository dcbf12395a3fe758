"""How far apart the groups are: gaps beside what an even model would show, and pairs with verdicts."""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.core.contrasts import contrasts_of, verdict_counts
from evenhand.core.metric import Undefined
from evenhand.core.page import Block, Cell, Figure, Forest, Interval, Section, Table, Text
from evenhand.core.results import Contrast, Omnibus, Results, Summary, Verdict
from evenhand.reporting.phrases import headline, levels, words
from evenhand.reporting.rounding import number, p_value

MOST_PAIRS = 50
MOST_DRAWN = 24
FEW_PAIRS = 20  # more are drawn in steps

ABOUT_DELTA = (
    "Cliff's δ: how much more often a unit of the first group has the higher mean than one of the second, from −1 "
    "to 1; without limits where units have rows in both groups."
)
VERDICTS: Mapping[Verdict, str] = {
    Verdict.LARGE: "the interval lies beyond the margin, and chance does not explain it",
    Verdict.DIFFERENT: "chance does not explain it, but it may be smaller than the margin",
    Verdict.UNDECIDED: "the data cannot tell; «detectable» is the difference they would have shown",
    Verdict.EQUIVALENT: "alike within the margin",
}


def gaps(results: Results) -> Section:
    """The spread over groups, each gap beside what an even model would show."""
    first = headline(results)
    chosen = [s for s in results.summaries if first is None or (s.metric, s.output) == first]
    rows: list[tuple[Cell, ...]] = []
    texts: list[Block] = []
    for summary in chosen:
        gap = summary.values.get("max_gap")
        if isinstance(gap, float):
            rows.append(_gap_row(summary, gap))
        else:
            reason = gap.reason if isinstance(gap, Undefined) else "not computed"
            texts.append(Text(f"{' × '.join(summary.by)}: no gap, {reason}.", "small"))
    if not rows:
        return Section("Gaps", texts, name="gaps")
    columns = ("by", "worst", "best", "gap", "an even model", "excess", "p", "groups", "excluded")
    table = Table("Gaps between groups", columns, tuple(rows), "«an even model»: the mean gap when labels are permuted")
    return Section("Gaps", [table, *texts], name="gaps")


def spread(results: Results) -> Section:
    """The other numbers of spread, and whether there is any difference at all."""
    first = headline(results)
    chosen = [s for s in results.summaries if first is None or (s.metric, s.output) == first]
    omnibus = [o for o in results.omnibus if first is None or (o.metric, o.output) == first]
    blocks: list[Block] = [_spread(chosen)] if chosen else []
    blocks += [_omnibus(omnibus)] if omnibus else []
    return Section("Spread", blocks, name="spread")


def pairs(results: Results) -> Section:
    """The pairs with verdicts, those that were not significant too."""
    first = headline(results)
    found = tuple(results.contrasts if first is None else contrasts_of(results.contrasts, *first))
    if not found:
        return Section("Pairs", [Text("No two groups were large enough to be compared.", "small")], name="pairs")
    order = {Verdict.LARGE: 0, Verdict.DIFFERENT: 1, Verdict.UNDECIDED: 2, Verdict.EQUIVALENT: 3, None: 4}
    ranked = sorted(found, key=lambda c: (order[c.verdict], -abs(c.difference or 0.0)))
    shown = ranked[:MOST_PAIRS]
    counts = ", ".join(f"{verdict_counts(found)[verdict]:,} {verdict.value}" for verdict in Verdict)
    families = sorted({(c.family, c.family_size, c.correction) for c in found})
    about = "; ".join(f"{family} ({size:,} pairs, {correction})" for family, size, correction in families)
    tested = sum(size for _, size, _ in families)
    many = tested > len(found)  # of very large families the smallest p-values are listed
    listed = f"{tested:,} pairs tested, {len(found):,} with the smallest p-values listed" if many else ""
    caption = f"{listed or f'{len(found):,} pairs tested'}: {counts}. Adjusted within {about}."
    if len(found) > len(shown):
        caption += f" The {len(shown)} most telling are shown, all {'listed ones ' if many else ''}are in the JSON."
    if any("cliffs_delta" in contrast.effects for contrast in shown):
        caption += f" {ABOUT_DELTA}"
    table = _pairs_table(shown, caption)
    meaning = tuple((verdict.value, text) for verdict, text in VERDICTS.items())
    drawn = [_difference_figure(shown[:MOST_DRAWN], words(first[1]) if first else "value")] if first else []
    return Section(
        "Pairs", [*drawn, table, Table("What the verdicts mean", ("verdict", "meaning"), meaning)], name="pairs"
    )


def _pairs_table(shown: list[Contrast], caption: str) -> Table:
    """A row for each pair; columns that would be empty are left out."""
    sure = (Verdict.LARGE, Verdict.DIFFERENT)
    columns: dict[str, list[Cell]] = {
        "first": [str(one.first) for one in shown],
        "second": [str(one.second) for one in shown],
        "difference": [Interval(one.difference, one.low, one.high) for one in shown],
        "Cliff's δ": [_cliffs_delta(one) for one in shown],
        "p adjusted": [p_value(one.adjusted) for one in shown],
        "verdict": [one.verdict.value if one.verdict else "–" for one in shown],
        "detectable": [number(one.detectable) if one.verdict is Verdict.UNDECIDED else "" for one in shown],
        "worse off": [_worse_off(one) if one.verdict in sure else "" for one in shown],
    }
    kept = {name: cells for name, cells in columns.items() if any(cell != "" for cell in cells)}
    form = "lookup" if len(shown) > FEW_PAIRS else "table"
    return Table("Pairs of groups", tuple(kept), tuple(zip(*kept.values(), strict=True)), caption, form=form)


def _worse_off(contrast: Contrast) -> str:
    return "first" if contrast.worse == contrast.first else "second" if contrast.worse == contrast.second else ""


def _cliffs_delta(contrast: Contrast) -> Cell:
    found = contrast.effects
    value = found.get("cliffs_delta")
    return Interval(value, found.get("cliffs_delta_low"), found.get("cliffs_delta_high")) if value is not None else ""


def _difference_figure(shown: list[Contrast], label: str) -> Figure:
    """The most telling pairs, the worse group first, so that sure differences point the same way."""
    rows, tones = [], []
    for contrast in shown:
        sure = contrast.verdict in (Verdict.LARGE, Verdict.DIFFERENT)
        tone = "worse" if sure and contrast.worse is not None else "neither"
        turned = tone == "worse" and contrast.worse == contrast.second
        first, second = (contrast.second, contrast.first) if turned else (contrast.first, contrast.second)
        cell = Interval(contrast.difference, contrast.low, contrast.high)
        if turned:
            cell = Interval(minus(contrast.difference), minus(contrast.high), minus(contrast.low))
        verdict = contrast.verdict.value if contrast.verdict else "–"
        tones.append("worse" if tone == "worse" else "")
        rows.append((f"{levels(first)} − {levels(second)}", cell, verdict))
    title = "The most telling pairs: first minus second"
    table = Table(title, ("pair", "difference", "verdict"), tuple(rows))
    margin = shown[0].margin
    chart = Forest(1, axis=f"difference of {label}", reference=0.0, margin=margin, tones=tuple(tones))
    caption = "Filled: different beyond chance. Hollow: not. " + (f"Shaded: ±{margin:g}." if margin is not None else "")
    return Figure(title, chart, table, caption, name="pairs")


def minus(value: float | None) -> float | None:
    """The number with the other sign; None stays None."""
    return None if value is None else -value


def _gap_row(summary: Summary, gap: float) -> tuple[Cell, ...]:
    reference = summary.reference
    return (
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


_SPREADS = (
    "equal_weight_mean",
    "min_over_max_ratio",
    "max_gap_to_overall",
    "std_population",
    "gini_corrected",
    "max_over_geometric_mean",
    "max_over_min_ratio",
)


def _spread(chosen: list[Summary]) -> Table:
    """The other summary numbers of spread, one row per attribute or intersection."""
    there = [name for name in _SPREADS if any(name in summary.values for summary in chosen)]
    rows = tuple(
        (" × ".join(s.by), s.reference.upper if s.reference else None, *(_number(s.values.get(name)) for name in there))
        for s in chosen
    )
    caption = "Over the groups that are large enough to be compared. An even model's gap is below the first in 95 %."
    columns = ("by", "an even model, 95 % below", *map(words, there))
    return Table("Other numbers of spread", columns, rows, caption)


def _omnibus(found: list[Omnibus]) -> Table:
    rows = tuple(
        (" × ".join(o.by), o.test or "–", o.statistic, o.freedom, p_value(o.p), o.groups, o.reason) for o in found
    )
    columns = ("by", "test", "statistic", "degrees of freedom", "p", "groups", "note")
    return Table("Is there any difference at all?", columns, rows, "One test per attribute, before any pair.")


def _number(value: float | Undefined | None) -> Cell:
    return Interval(None, reason=value.reason) if isinstance(value, Undefined) else value
