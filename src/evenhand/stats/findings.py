"""What is found about each output of each metric: its values in all groups, with intervals and notes.

A ratio of sums gets the formula that fits it; anything else is resampled, all metrics from the same resamples of units.
A group that is too small is shown, and not compared.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import isfinite
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.measure import AnyMetric, Tally, estimates
from evenhand.core.membership import Inside
from evenhand.core.metric import UNBOUNDED, Direction, Resampling
from evenhand.core.records import EVERYONE, blocks
from evenhand.core.results import Estimate, Status
from evenhand.core.streams import stream
from evenhand.stats.checks import Booleans, Floats, Integers, numbers_or_nan
from evenhand.stats.contrasts import detectable_difference
from evenhand.stats.evidence import DrawnEvidence, Evidence, RatioEvidence
from evenhand.stats.intervals import bias_corrected
from evenhand.stats.redraw import draws_of, kinds_of, left_out, redraw, redraw_dyadic
from evenhand.stats.resample import Weights, table_draws, weight_blocks
from evenhand.stats.sets import set_evidence
from evenhand.stats.settings import Settings
from evenhand.stats.tables import DRAWS_AT_ONCE, PatternTable, TallyLayout, pattern_table

_MOST_KEPT = 8_000_000  # weights of units in draws, four bytes each
_MOST_KEPT_BYTES = 150_000_000  # weights that are kept in one byte each
FEW_EVENTS = 30
FEW_ROWS = 50


@dataclass(frozen=True)
class OutputFinding:
    """One output of one metric: its direction, its estimates in the order of groups, its evidence."""

    metric: str
    output: str
    direction: Direction
    estimates: tuple[Estimate, ...]
    evidence: Evidence | None

    @cached_property
    def usable(self) -> Booleans:
        """(groups,): which groups may be compared: large enough, annotated, and with a value."""
        assert self.evidence is not None
        there = np.isfinite(self.evidence.values)
        large = [one.status is Status.OK and not one.group.is_missing for one in self.estimates]
        return np.array(large, dtype=np.bool_) & there


def findings_of(tally: Tally, places: TallyLayout, settings: Settings) -> Iterator[OutputFinding]:
    """The findings of each metric, output by output."""
    plain = iter(estimates(tally, places.groups, Inside(places.keeps, places.has)))
    drawn_units = _DrawnUnits(places, settings)
    for metric, state in zip(tally.metrics, tally.states, strict=True):
        mine = {output: tuple(islice(plain, len(places.groups))) for output in metric.outputs}
        evidence = _evidence(metric, state, places, mine, drawn_units, settings)
        for output, direction in metric.outputs.items():
            own = evidence.get(output)
            yield OutputFinding(metric.name, output, direction, _judged(mine[output], own, settings), own)


def _evidence(
    metric: AnyMetric,
    state: Any,
    places: TallyLayout,
    mine: Mapping[str, Sequence[Estimate]],
    drawn_units: "_DrawnUnits",
    settings: Settings,
) -> dict[str, Evidence]:
    """What is known about each numeric output of a metric."""
    numeric = [name for name, found in mine.items() if any(estimate.number is not None for estimate in found)]
    kinds = kinds_of(state, places) if places.single_rows and places.disjoint else None
    counted: dict[str, PatternTable | None] = {}
    if kinds is not None:  # rows that are their own units are counted by kind, where that is all that matters
        ratios = metric.ratios(state.weigh(kinds.pick))
        counted = {name: pattern_table(places, one, kinds.first, kinds.sizes) for name, one in ratios.items()}
    if kinds is None or None in counted.values():
        ratios = metric.ratios(state)
    found: dict[str, Evidence] = {}
    units = np.array([estimate.units for estimate in next(iter(mine.values()))], dtype=np.int64)

    for name in numeric:
        if name in ratios and places.unit_b is None:
            seed = (*settings.stream_names, metric.name, name)
            ratio = replace(ratios[name], scale=metric.scales.get(name, UNBOUNDED))
            found[name] = RatioEvidence(places, ratio, drawn_units.turned, seed, settings.exact, counted.get(name))
    left = [name for name in numeric if name not in found]
    if not left or metric.resampling is Resampling.NONE or settings.draws == 0:
        return found
    if metric.resampling is Resampling.SUBSAMPLE:
        return {**found, **set_evidence(metric, state, places, left, mine, units, settings)}
    name_of = "dyadic_bootstrap" if places.unit_b is not None else "cluster_bootstrap"
    drawn = {
        name: redraw_dyadic(ratios[name], places, drawn_units.of(settings.draws)) for name in left if name in ratios
    }
    others = frozenset(left) - ratios.keys()
    if others:
        count = draws_of(state, places, settings)

        def of_kinds(sizes: Integers) -> Iterator[Weights]:
            yield table_draws(sizes, count, stream("kinds", *settings.stream_names, metric.name)).astype(np.float32)

        together = None if settings.stratified else of_kinds
        drawn.update(redraw(metric, state, places, drawn_units.of(count), others, of_kinds=together, kinds=kinds))
    without = left_out(metric, state, places, others) if settings.bias_corrected and others else {}
    for name, values in drawn.items():
        centre = numbers_or_nan(e.number for e in mine[name])
        corrected = None
        if name in without:
            corrected = bias_corrected(values, centre, without[name], confidence=settings.confidence)
        drawn_by = f"{name_of}_linearised" if name in metric.linearised else name_of
        scale = metric.scales.get(name, UNBOUNDED)
        found[name] = DrawnEvidence(centre, values, units, places, drawn_by, corrected, scale)
    return found


class _DrawnUnits:
    """How often each unit comes in every draw: the same for all metrics, kept where that is little."""

    def __init__(self, places: TallyLayout, settings: Settings) -> None:
        self._places, self._settings = places, settings
        self._kept: dict[int, list[NDArray[Any]]] = {}
        self._turned: list[Floats] = []
        self._lock = Lock()  # outputs are judged in several threads

    def of(self, draws: int) -> Iterator[Weights]:
        """The weights of so many draws, in blocks."""
        with self._lock:
            kept = self._kept.get(draws)
            size = draws * self._places.units
            if kept is None and size <= _MOST_KEPT_BYTES:
                kept = self._kept[draws] = [_narrowed(many, size) for many in self._drawn(draws)]
        if kept is None:
            return self._drawn(draws)
        return (np.asarray(many, dtype=np.float32) for many in kept)

    def _drawn(self, draws: int) -> Iterator[Weights]:
        places, settings = self._places, self._settings
        rng = stream("bootstrap", *settings.stream_names, places.units)
        return weight_blocks(places.units, draws, rng, strata=_strata(places) if settings.stratified else None)

    def turned(self) -> Iterator[Weights | Floats]:
        """The weights of all draws, laid out for sums over units; turned once for all metrics and attributes."""
        draws = self._settings.draws
        if draws * self._places.units > _MOST_KEPT:
            return self.of(draws)
        if not self._turned:
            turned = [
                np.asfortranarray(many[block], dtype=np.float64)
                for many in self.of(draws)
                for block in blocks(len(many), DRAWS_AT_ONCE)
            ]
            with self._lock:
                self._turned = self._turned or turned
        return iter(self._turned)


def _narrowed(many: Weights, size: int) -> NDArray[Any]:
    """Weights as they are, or as small whole numbers where there are many."""
    return many if size <= _MOST_KEPT or many.max(initial=0) > 255 else many.astype(np.uint8)


def _strata(places: TallyLayout) -> Integers:
    """The membership pattern of each unit; one whose rows differ goes by its first."""
    first = np.full(places.units, -1, dtype=np.int64)
    first[places.unit[::-1]] = places.pattern[::-1]
    return first


def _judged(found: Sequence[Estimate], evidence: Evidence | None, settings: Settings) -> tuple[Estimate, ...]:
    """Estimates with interval, status, events and what has to be said beside them."""
    if evidence is None:
        return tuple(replace(estimate, status=_status(estimate, None, settings)) for estimate in found)
    limits = evidence.limits(settings.confidence)
    size = len(found)
    rows = [None] * size if evidence.rows is None or evidence.events is None else evidence.rows.tolist()
    counts = [one.rows for one in found]
    if isinstance(evidence, RatioEvidence) and evidence.ratio.own_rows:  # such as those that were answered
        counts = evidence.rows.astype(np.int64).tolist()
    events = [None] * size if evidence.events is None else [round(count) for count in evidence.events.tolist()]
    lows, highs = limits.interval.low.tolist(), limits.interval.high.tolist()
    shows = _shown(found[0], evidence, settings)
    judged = []
    for position, one in enumerate(found):
        low, high = lows[position], highs[position]
        there = one.number is not None and isfinite(low) and isfinite(high)
        count = events[position]
        beside = _beside(one, count, shows[position], there, settings)
        judged.append(
            Estimate(
                one.metric,
                one.output,
                one.group,
                one.value,
                low if there else None,
                high if there else None,
                counts[position],
                one.units,
                limits.method[position] if there else "",
                _status(one, rows[position], settings),
                one.missing,
                count,
                one.at,
                (*one.notes, *limits.notes[position], *beside),
            )
        )
    return tuple(judged)


def _shown(everyone: Estimate, evidence: Evidence, settings: Settings) -> list[float | None]:
    """The difference from the rest that each small group could show; None for large ones, and where nothing counts."""
    rows = evidence.rows
    if rows is None or evidence.events is None or everyone.number is None:
        return [None] * len(evidence.values)
    rate = min(max(everyone.number, 0.0), 1.0)
    shows = detectable_difference(rate, rows, np.maximum(rows[0] - rows, 1.0), alpha=settings.alpha)
    few = (rows > 0) & (rows < FEW_ROWS)
    return [one if small else None for one, small in zip(shows.tolist(), few.tolist(), strict=True)]


def _status(estimate: Estimate, size: float | None, settings: Settings) -> Status:
    """Empty without rows; small under either limit; a proportion by the rows that it counts."""
    if estimate.status is Status.EMPTY or estimate.rows + estimate.missing == 0:
        return Status.EMPTY
    rows = estimate.rows if size is None else min(estimate.rows, size)
    return Status.SMALL if rows < settings.min_rows or estimate.units < settings.min_units else Status.OK


def _beside(
    estimate: Estimate, events: int | None, shows: float | None, there: bool, settings: Settings
) -> Iterator[str]:
    """Notes that keep a number from being read for more than it is."""
    if estimate.number is None:
        return
    if events is not None and events < FEW_EVENTS:
        yield f"based on n = {events} events, fewer than {FEW_EVENTS}"
    if not there and estimate.units == 1:
        yield "one unit: no interval"
    if there and estimate.units < settings.min_units:
        yield f"an interval from {estimate.units} units may cover less than it says"
    if shows is not None and estimate.group != EVERYONE:
        yield f"could show a difference of {shows:.2g} or more from the rest"
