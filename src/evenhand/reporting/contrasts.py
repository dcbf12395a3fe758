"""How far apart the groups are: one line per group, gaps beside what chance alone would show, and every pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evenhand.core.contrasts import contrasts_of, verdict_counts
from evenhand.core.metric import Undefined
from evenhand.core.page import Block, Cell, Figure, Forest, Interval, Section, Table, Text
from evenhand.core.results import Contrast, Omnibus, Summary, Verdict
from evenhand.reporting.display import ShownResults
from evenhand.reporting.phrases import (
    SURE,
    by_words,
    direction_of,
    distance_words,
    group_words,
    headline,
    levels,
    standing_words,
    standings,
    words,
)
from evenhand.reporting.rounding import p_value

MOST_PAIRS = 50
MOST_DRAWN = 24

ABOUT_DELTA = (
    "Cliff's δ: how much more often a unit of the worse group has the higher mean than one of the better, from −1 "
    "to 1; without limits where units have rows in both groups."
)
VERDICTS: Mapping[Verdict, str] = {
    Verdict.LARGE: "chance does not explain the difference, and it is larger than the threshold",
    Verdict.DIFFERENT: "chance does not explain the difference, but it may be smaller than the threshold",
    Verdict.UNDECIDED: "the data are too few to tell; “detectable” is the difference they would have shown",
    Verdict.EQUIVALENT: "the difference is smaller than the threshold",
}


def differences(results: ShownResults) -> Section:
    """One line per group that performs worse beyond chance, then the gap of each attribute."""
    first = headline(results)
    if first is None:
        return Section("Differences between groups", [], name="gaps")
    unit = results.unit(*first)
    higher = direction_of(results, *first) != "lower"
    pairs = tuple(contrasts_of(results.contrasts, *first, order=1))
    rows: list[tuple[Cell, ...]] = []
    for standing in sorted(standings(pairs).values(), key=lambda s: -len(s.below)):
        if standing.below:
            against = ", ".join(dict.fromkeys(levels(_worse_first(pair).second) for pair in standing.below))
            name = by_words(standing.group.by)
            rows.append((levels(standing.group), name, standing_words(standing, unit, higher), against))
    blocks: list[Block] = []
    if rows:
        columns = ("group", "attribute", "performs worse than", "which are")
        blocks.append(Table("Groups that perform worse beyond chance", columns, tuple(rows)))
    return Section("Differences between groups", [*blocks, *gaps(results)], name="gaps")


def gaps(results: ShownResults) -> list[Block]:
    """The difference between best and worst group of each attribute, beside what chance alone would show."""
    first = headline(results)
    rows: list[tuple[Cell, ...]] = []
    texts: list[Block] = []
    for summary in _of_headline(results.summaries, first):
        gap = summary.values.get("max_gap")
        if isinstance(gap, float):
            rows.append(_gap_row(summary, gap, results.unit(summary.metric, summary.output)))
        else:
            reason = gap.reason if isinstance(gap, Undefined) else "not computed"
            texts.append(Text(f"{by_words(summary.by)}: no gap, {reason}.", "small"))
    if not rows:
        return texts
    columns = ("by", "gap", "expected by chance alone", "p", "worst", "best", "groups", "left out")
    caption = "Gap: best minus worst group. Chance always makes some gap: compare the two columns."
    table = Table("Gap between best and worst group", columns, tuple(rows), caption)
    return [table, *texts]


def spread(results: ShownResults) -> Section:
    """Other numbers of spread, and whether there is any difference at all."""
    first = headline(results)
    summaries = _of_headline(results.summaries, first)
    omnibus = [o for o in results.omnibus if first is None or (o.metric, o.output) == first]
    blocks: list[Block] = [_spread(summaries)] if summaries else []
    blocks += [_omnibus(omnibus)] if omnibus else []
    return Section("Spread and overall tests", blocks, name="spread", folded=True)


def pairs(results: ShownResults) -> Section:
    """Every pair with its verdict, worse minus better, those that chance explains too."""
    first = headline(results)
    every = tuple(results.contrasts if first is None else contrasts_of(results.contrasts, *first))
    if not every:
        text = Text("No two groups were large enough to be compared.", "small")
        return Section("All pairs of groups", [text], name="pairs", folded=True)
    order = {Verdict.LARGE: 0, Verdict.DIFFERENT: 1, Verdict.EQUIVALENT: 2, Verdict.UNDECIDED: 3, None: 4}
    ranked = sorted(every, key=lambda c: (order[c.verdict], -abs(c.difference or 0.0)))
    listed = list(map(_worse_first, ranked[:MOST_PAIRS]))
    unit = results.unit(*first) if first is not None else ""
    table = _pairs_table(listed, _pairs_caption(every, listed), "points" if unit else "")
    sure = [contrast for contrast in ranked if contrast.verdict in SURE and contrast.worse is not None][:MOST_DRAWN]
    label = words(first[1]) if first is not None else "value"
    drawn: list[Block] = [_difference_figure(list(map(_worse_first, sure)), label, unit)] if sure else []
    meaning = tuple((verdict.value, text) for verdict, text in VERDICTS.items())
    about = Table("What the verdicts mean", ("verdict", "meaning"), meaning)
    return Section("All pairs of groups", [*drawn, table, about], name="pairs", folded=True)


def _pairs_caption(every: Sequence[Contrast], listed: Sequence[Contrast]) -> str:
    counts = ", ".join(f"{verdict_counts(every)[verdict]:,} {verdict.value}" for verdict in Verdict)
    families = sorted({(c.family_size, c.correction) for c in every})
    sizes = "; ".join(f"{size:,} pairs, {correction}" for size, correction in families)
    tested = sum(size for _, size, _ in {(c.family, c.family_size, c.correction) for c in every})
    many = tested > len(every)  # of very large families the smallest p-values are listed
    count = f"{tested:,} pairs tested, {len(every):,} with the smallest p-values listed"
    caption = f"{count if many else f'{len(every):,} pairs tested'}: {counts}. P-values are adjusted within {sizes}."
    if len(every) > len(listed):
        caption += f" {len(listed)} are shown, all {'listed ones ' if many else ''}are in the JSON."
    if any("cliffs_delta" in contrast.effects for contrast in listed):
        caption += f" {ABOUT_DELTA}"
    return caption


def _pairs_table(listed: Sequence[Contrast], caption: str, unit: str) -> Table:
    """A row for each pair; columns that would be empty are left out."""
    columns: dict[str, list[Cell]] = {
        "worse": [group_words(pair.first) for pair in listed],
        "better": [group_words(pair.second) for pair in listed],
        "worse minus better": [Interval(pair.difference, pair.low, pair.high, unit=unit) for pair in listed],
        "Cliff's δ": [_cliffs_delta(pair) for pair in listed],
        "p adjusted": [p_value(pair.adjusted) for pair in listed],
        "verdict": [pair.verdict.value if pair.verdict else "–" for pair in listed],
        "detectable": [
            distance_words(pair.detectable, unit) if pair.verdict is Verdict.UNDECIDED and pair.detectable else ""
            for pair in listed
        ],
    }
    kept = {name: cells for name, cells in columns.items() if any(cell != "" for cell in cells)}
    form = "lookup" if len(listed) > 20 else "table"
    return Table("Pairs of groups", tuple(kept), tuple(zip(*kept.values(), strict=True)), caption, form=form)


def _worse_first(pair: Contrast) -> Contrast:
    """The pair as worse minus better; as it is where neither is worse."""
    if pair.worse != pair.second:
        return pair
    opposite = {"cliffs_delta": "cliffs_delta", "cliffs_delta_low": "cliffs_delta_high"}
    opposite |= {"cliffs_delta_high": "cliffs_delta_low"}
    return replace(
        pair,
        first=pair.second,
        second=pair.first,
        difference=_minus(pair.difference),
        low=_minus(pair.high),
        high=_minus(pair.low),
        effects={name: -pair.effects[other] for name, other in opposite.items() if other in pair.effects},
    )


def _minus(value: float | None) -> float | None:
    return None if value is None else -value


def _cliffs_delta(pair: Contrast) -> Cell:
    limits = pair.effects.get("cliffs_delta_low"), pair.effects.get("cliffs_delta_high")
    return Interval(pair.effects["cliffs_delta"], *limits) if "cliffs_delta" in pair.effects else ""


def _difference_figure(pairs: Sequence[Contrast], label: str, unit: str) -> Figure:
    """The pairs that chance does not explain, worse minus better."""
    points = "points" if unit else ""
    rows = tuple(
        (f"{levels(p.first)} − {levels(p.second)}", Interval(p.difference, p.low, p.high, unit=points), p.verdict.value)
        for p in pairs
        if p.verdict is not None
    )
    title = "Differences that chance does not explain: worse minus better"
    table = Table(title, ("pair", "difference", "verdict"), rows)
    margin = pairs[0].margin
    tones = tuple("worse" for _ in rows)
    axis = f"difference of {label}"
    chart = Forest(1, axis=axis, reference=0.0, margin=margin, tones=tones, percent=bool(unit))
    text = f"Shaded: ±{distance_words(margin, unit)}, the threshold for a meaningful difference." if margin else ""
    return Figure(title, chart, table, text, name="pairs")


def _of_headline(summaries: Sequence[Summary], first: tuple[str, str] | None) -> list[Summary]:
    return [summary for summary in summaries if first is None or (summary.metric, summary.output) == first]


def _gap_row(summary: Summary, gap: float, unit: str) -> tuple[Cell, ...]:
    reference = summary.reference
    points = "points" if unit else ""
    return (
        by_words(summary.by),
        Interval(gap, unit=points),
        Interval(reference.mean, unit=points) if reference else Interval(None, unit=points),
        p_value(reference.p) if reference else "–",
        levels(summary.worst),
        levels(summary.best),
        len(summary.eligible),
        len(summary.excluded),
    )


_SPREADS = {
    "equal_weight_mean": "mean over groups",
    "min_over_max_ratio": "lowest ÷ highest",
    "max_gap_to_overall": "largest distance from average",
    "std_population": "standard deviation",
    "gini_corrected": "Gini coefficient",
    "max_over_geometric_mean": "highest ÷ geometric mean",
    "max_over_min_ratio": "highest ÷ lowest",
}


def _spread(summaries: Sequence[Summary]) -> Table:
    """The other summary numbers of spread, one row per attribute or intersection."""
    there = [name for name in _SPREADS if any(name in summary.values for summary in summaries)]
    there += [name for name in dict.fromkeys(n for s in summaries for n in s.values) if name not in (*there, "max_gap")]
    rows = tuple(
        (by_words(s.by), s.reference.upper if s.reference else None, *(_number(s.values.get(name)) for name in there))
        for s in summaries
    )
    caption = "Over the groups that are large enough to be compared."
    columns = ("by", "gap by chance, 95 % below", *(_SPREADS.get(name, words(name)) for name in there))
    return Table("Other numbers of spread", columns, rows, caption)


def _omnibus(tests: Sequence[Omnibus]) -> Table:
    rows = tuple(
        (by_words(o.by), words(o.test) or "–", o.statistic, o.freedom, p_value(o.p), o.groups, o.reason) for o in tests
    )
    columns = ("by", "test", "statistic", "degrees of freedom", "p", "groups", "note")
    return Table("Is there any difference at all?", columns, rows, "One test per attribute, before any pair.")


def _number(value: float | Undefined | None) -> Cell:
    return Interval(None, reason=value.reason) if isinstance(value, Undefined) else value
