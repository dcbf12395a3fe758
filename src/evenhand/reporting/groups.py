"""Every group with its n, value and interval, as a figure with the table behind it; and how far apart the groups are:
one line per group, gaps beside what chance alone would show, and every pair.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from evenhand.core.contrasts import contrasts_of, verdict_counts
from evenhand.core.metric import Undefined
from evenhand.core.page import Block, Cell, Figure, Forest, Interval, Section, Table, Text
from evenhand.core.records import EVERYONE, Group
from evenhand.core.results import Contrast, Estimate, Results, Status, Summary, Verdict
from evenhand.reporting.display import ShownResults, shown, shown_output
from evenhand.reporting.phrases import (
    SURE,
    WORDING,
    as_cell,
    by_words,
    counted_units,
    direction_of,
    distance_words,
    end_words,
    group_words,
    levels,
    listed,
    not_compared,
    standing_words,
    standings,
    status_word,
    value_name,
    words,
)
from evenhand.reporting.rounding import p_value

VALUE = 3  # the place of the value among the columns
MOST_PAIRS = 50
MOST_DRAWN = 24


class _OutputGroups:
    """The groups of one output by their attributes, and what their tables and figures share."""

    def __init__(self, results: ShownResults, metric: str, output: str) -> None:
        self.name, self.stem, self.unit = value_name(metric, output), f"{metric}-{output}", results.unit(metric, output)
        self.by = by_attributes(results, metric, output)
        self.whole = next((e for e in results.of(metric, output) if e.group == EVERYONE), None)
        self.unknown = _unknown_shares(results)
        self.pooled = {s.by: s.shrunken for s in results.summaries if (s.metric, s.output) == (metric, output)}
        ranks = standings(tuple(contrasts_of(results.contrasts, metric, output, order=1)))
        self.disadvantaged = {group for group, standing in ranks.items() if standing.is_disadvantaged}
        self.swatches = results.swatches

    def figures(self, is_wanted: Callable[[tuple[str, ...]], bool]) -> tuple[Figure, ...]:
        return tuple(self.figure(by, estimates) for by, estimates in self.by.items() if is_wanted(by))

    def figure(self, by: tuple[str, ...], estimates: Sequence[Estimate]) -> Figure:
        """The groups of one attribute or intersection as a figure."""
        empty = [levels(e.group) for e in estimates if e.status is Status.EMPTY]
        estimates = [e for e in estimates if e.status is not Status.EMPTY]
        table = self.table(by, estimates)
        caption = f"No samples ({len(empty)}): {listed(empty, 12)}." if empty else ""
        known = self.swatches
        colours = [next((known[term] for term in e.group.terms if term in known), "") for e in estimates]
        chart = Forest(
            VALUE,
            count=1,
            axis=self.name,
            reference=self.whole.number if self.whole is not None else None,
            reference_name="all groups",
            tones=tuple("worse" if e.group in self.disadvantaged else "" for e in estimates),
            swatches=tuple(colours) if any(colours) else (),
            percent=bool(self.unit),
        )
        return Figure(table.title, chart, table, caption, name=f"{self.stem}-by-{'-'.join(by)}")

    def table(self, by: tuple[str, ...], estimates: Sequence[Estimate]) -> Table:
        """The groups of one attribute or intersection; those left out of comparisons are greyed and listed."""
        muted = frozenset(i for i, e in enumerate(estimates) if e.status is not Status.OK or e.group.is_missing)
        pooled = self.pooled.get(by, {})
        columns: dict[str, list[Cell]] = {
            by_words(by): [levels(e.group) for e in estimates],
            "n": [e.rows for e in estimates],
            "units": [counted_units(e) for e in estimates],
            self.name: [as_cell(e, self.unit) for e in estimates],
            "not measured": [e.missing for e in estimates] if any(e.missing for e in estimates) else [],
            "unusable answers": [self.unknown.get(e.group) for e in estimates] if self.unknown else [],
            "after pooling": [Interval(pooled.get(e.group), unit=self.unit) for e in estimates] if pooled else [],
            "note": [status_word(e, self.whole, self.unit) for e in estimates],
        }
        left_out = [levels(estimates[place].group) for place in sorted(muted)]
        caption = f"Left out of comparisons ({len(left_out)}): {listed(left_out)}." if left_out else ""
        return replace(_filled(f"{self.name} by {by_words(by)}", columns, caption), muted=muted)


def _filled(title: str, columns: Mapping[str, Sequence[Cell]], caption: str) -> Table:
    """A table of the columns that are not empty."""
    kept = {name: cells for name, cells in columns.items() if any(cell != "" for cell in cells)}
    return Table(title, tuple(kept), tuple(zip(*kept.values(), strict=True)), caption)


def output_figures(results: Results, metric: str, output: str, by: Collection[str] | None = None) -> tuple[Figure, ...]:
    """A figure of one output for each attribute, or for the attributes in `by` (as shown) together."""
    groups = _OutputGroups(shown(results), *shown_output(results, metric, output))
    return groups.figures(lambda names: len(names) == 1 if by is None else sorted(names) == sorted(by))


def group_figures(results: ShownResults, skip: Sequence[str] = ()) -> Section:
    """A figure for each attribute, but those that are shown elsewhere."""
    figures = _OutputGroups(results, *results.first).figures(lambda by: len(by) == 1 and by[0] not in skip)
    blocks: list[Block] = [Text(WORDING["notes"]["groups"], "small"), *figures] if figures else []
    if any("several groups" in note for summary in results.summaries for note in summary.notes):
        blocks.insert(1, Text("A sample may belong to several groups, so their n add up to more than all.", "small"))
    return Section("Groups" if not skip else "Other groups", blocks, name="groups")


def intersections(results: ShownResults) -> Section:
    """A figure for each intersection of attributes."""
    figures = _OutputGroups(results, *results.first).figures(lambda by: len(by) > 1)
    return Section("Intersections of attributes", figures, name="intersections", folded=True)


def group_tables(results: ShownResults) -> tuple[Table, ...]:
    """The tables of single attributes, for a terminal; intersections are in the report."""
    groups = _OutputGroups(results, *results.first)
    return tuple(groups.table(by, estimates) for by, estimates in groups.by.items() if len(by) == 1)


def by_attributes(results: Results, metric: str, output: str) -> Mapping[tuple[str, ...], list[Estimate]]:
    """The estimates of groups by the attributes that name them, in declared order."""
    estimates: dict[tuple[str, ...], list[Estimate]] = {}
    for estimate in results.of(metric, output):
        if estimate.group != EVERYONE:
            estimates.setdefault(estimate.group.by, []).append(estimate)
    return estimates


def _unknown_shares(results: ShownResults) -> Mapping[Group, Cell]:
    """By group, the share of answers that could not be used, where the family measures it."""
    for name in ("Unusable answers", "Refusals", "refusals"):
        shares = {e.group: Interval(e.number, unit="%") for e in results.of(name, name)}
        if any(share.value for share in shares.values()):
            return dict(shares)
    return {}


def differences(results: ShownResults) -> Section:
    """One line per group that performs worse beyond chance, then the gap of each attribute."""
    unit = results.unit(*results.first)
    higher = direction_of(results, *results.first) != "lower"
    rows: list[tuple[Cell, ...]] = []
    for standing in sorted(standings(results.first_pairs).values(), key=lambda s: -len(s.below)):
        if standing.below:
            against = ", ".join(dict.fromkeys(levels(_worse_first(pair).second) for pair in standing.below))
            name = by_words(standing.group.by)
            rows.append((levels(standing.group), name, standing_words(standing, unit, higher), against))
    columns = ("group", "attribute", "performs worse than", "which are")
    worse = [Table("Groups that perform worse beyond chance", columns, tuple(rows))] if rows else []
    return Section("Differences between groups", [*worse, *gaps(results)], name="gaps")


def gaps(results: ShownResults) -> list[Block]:
    """The difference between best and worst group of each attribute, beside what chance alone would show."""
    rows: list[tuple[Cell, ...]] = []
    texts: list[Block] = []
    points = results.points(*results.first)
    for summary in _summaries(results):
        gap = summary.values.get("max_gap")
        if isinstance(gap, float):
            mean, p = (summary.reference.mean, summary.reference.p) if summary.reference else (None, None)
            ends = *end_words(summary), len(summary.eligible), len(summary.excluded)
            both = Interval(gap, unit=points), Interval(mean, unit=points)
            rows.append((by_words(summary.by), *both, p_value(p), *ends))
        else:
            reason = gap.reason if isinstance(gap, Undefined) else "not computed"
            texts.append(Text(f"{by_words(summary.by)}: no gap, {reason}.", "small"))
    if not rows:
        return texts
    columns = ("by", "gap", "expected by chance alone", "p", "worst", "best", "groups", "left out")
    caption = "Gap: best minus worst group. Chance always makes some gap: compare the two columns."
    return [Table("Gap between best and worst group", columns, tuple(rows), caption), *texts]


def spread(results: ShownResults) -> Section:
    """Other numbers of spread, and whether there is any difference at all."""
    blocks = [table for table in (_spread(_summaries(results)), _omnibus(results)) if table.rows]
    return Section("Spread and overall tests", blocks, name="spread", folded=True)


def pairs(results: ShownResults) -> Section:
    """Every pair with its verdict, worse minus better, those that chance explains too."""
    every = tuple(contrasts_of(results.contrasts, *results.first))
    if not every:
        text = Text(not_compared(results.method), "small")
        return Section("All pairs of groups", [text], name="pairs", folded=True)
    order = {Verdict.LARGE: 0, Verdict.DIFFERENT: 1, Verdict.EQUIVALENT: 2, Verdict.UNDECIDED: 3, None: 4}
    ranked = sorted(every, key=lambda c: (order[c.verdict], -abs(c.difference or 0.0)))
    listed = list(map(_worse_first, ranked[:MOST_PAIRS]))
    unit = results.unit(*results.first)
    table = _pairs_table(listed, _pairs_caption(every, listed), "points" if unit else "")
    sure = [contrast for contrast in ranked if contrast.verdict in SURE and contrast.worse is not None][:MOST_DRAWN]
    label = words(results.first[1])
    drawn: list[Block] = [_difference_figure([_worse_first(pair) for pair in sure], label, unit)] if sure else []
    about = Table("What the verdicts mean", ("verdict", "meaning"), tuple(WORDING["verdicts"].items()))
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
        caption += " " + WORDING["notes"]["delta"]
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
    return replace(_filled("Pairs of groups", columns, caption), form="lookup" if len(listed) > 20 else "table")


def _worse_first(pair: Contrast) -> Contrast:
    """The pair as worse minus better; as it is where neither is worse."""
    if pair.worse != pair.second:
        return pair
    difference, low, high = (None if v is None else -v for v in (pair.difference, pair.high, pair.low))
    opposite = {"cliffs_delta": "cliffs_delta", "cliffs_delta_low": "cliffs_delta_high"}
    opposite |= {"cliffs_delta_high": "cliffs_delta_low"}
    effects = {name: -pair.effects[other] for name, other in opposite.items() if other in pair.effects}
    turned = replace(pair, first=pair.second, second=pair.first, effects=effects)
    return replace(turned, difference=difference, low=low, high=high)


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
    margin, tones = pairs[0].margin, ("worse",) * len(rows)
    chart = Forest(1, axis=f"difference of {label}", reference=0.0, margin=margin, tones=tones, percent=bool(unit))
    text = f"Shaded: ±{distance_words(margin, unit)}, the threshold for a meaningful difference." if margin else ""
    return Figure(title, chart, table, text, name="pairs")


def _summaries(results: ShownResults) -> list[Summary]:
    return [summary for summary in results.summaries if (summary.metric, summary.output) == results.first]


def _spread(summaries: Sequence[Summary]) -> Table:
    """The other summary numbers of spread, one row per attribute or intersection."""
    names = WORDING["spreads"]
    there = [name for name in names if any(name in summary.values for summary in summaries)]
    there += [name for name in dict.fromkeys(n for s in summaries for n in s.values) if name not in (*there, "max_gap")]
    rows = tuple(
        (by_words(s.by), s.reference.upper if s.reference else None, *(_number(s.values.get(name)) for name in there))
        for s in summaries
    )
    caption = "Over the groups that are large enough to be compared."
    columns = ("by", "gap by chance, 95 % below", *(names.get(name, words(name)) for name in there))
    return Table("Other numbers of spread", columns, rows, caption)


def _omnibus(results: ShownResults) -> Table:
    rows = tuple(
        (by_words(o.by), words(o.test) or "–", o.statistic, o.freedom, p_value(o.p), o.groups, o.reason)
        for o in results.omnibus
        if (o.metric, o.output) == results.first
    )
    columns = ("by", "test", "statistic", "degrees of freedom", "p", "groups", "note")
    return Table("Is there any difference at all?", columns, rows, "One test per attribute, before any pair.")


def _number(value: float | Undefined | None) -> Cell:
    return Interval(None, reason=value.reason) if isinstance(value, Undefined) else value
