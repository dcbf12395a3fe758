"""Results in words: what a number, a group, a gap or a coverage is called in a sentence."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evenhand.core.metric import Undefined
from evenhand.core.page import Interval
from evenhand.core.records import MISSING, Group
from evenhand.core.results import Contrast, Estimate, Method, Results, Status, Summary, Verdict
from evenhand.files.packaged import packaged_table
from evenhand.reporting.rounding import interval, number, p_value, percent, range_places, share_range

WORDING: Mapping[str, Mapping[str, str]] = packaged_table(__package__, "wording.toml", dict[str, dict[str, str]])
"""What things are called in reports: tables of words, by name."""

FEW_ROWS = 50  # below it, a group is shown with the difference that it could show
SURE = (Verdict.LARGE, Verdict.DIFFERENT)  # chance does not explain it


def headline(results: Results) -> tuple[str, str] | None:
    """The metric and output that the task puts first; the first number when the options left that one out."""
    if results.headline is not None and next(results.of(*results.headline), None) is not None:
        return results.headline
    for estimate in results.estimates:
        if estimate.number is not None:
            return estimate.metric, estimate.output
    return None


def words(output: str) -> str:
    """An output's name as words.

    >>> words("balanced_accuracy")
    'balanced accuracy'
    """
    return output.replace("_", " ")


def value_name(metric: str, output: str) -> str:
    """What a value is called: metric and output, or one of them when they are the same.

    >>> value_name("gender", "macro_f1"), value_name("Accuracy", "Accuracy")
    ('gender: macro f1', 'Accuracy')
    """
    return words(output) if metric == output else f"{metric}: {words(output)}"


def levels(group: Group | None) -> str:
    """The levels of a group without the names of attributes.

    >>> levels(Group.of(age="70+", gender="Female")), levels(Group()), levels(None)
    ('70+ × Female', 'everyone', '–')
    """
    if group is None:
        return "–"
    return " × ".join("not annotated" if level == MISSING else level for _, level in group.terms) or "everyone"


def group_words(group: Group) -> str:
    """A group with its attributes, in words.

    >>> group_words(Group.of(age="70+", gender="Female"))
    'age 70+, gender Female'
    """
    return ", ".join(f"{name} {levels(Group(((name, level),)))}" for name, level in group.terms) or "everyone"


def by_words(by: Sequence[str]) -> str:
    return " × ".join(by)


def direction_of(results: Results, metric: str, output: str) -> str:
    """Which way is better: higher, lower or neither."""
    facts = (fact for fact in results.metrics if fact.name == metric)
    return next((fact.outputs[output] for fact in facts if output in fact.outputs), "neither")


def as_cell(estimate: Estimate, unit: str = "") -> Interval:
    """A value with its interval, or the reason why there is none."""
    if isinstance(estimate.value, float):
        return Interval(estimate.value, estimate.low, estimate.high, unit=unit)
    reason = estimate.value.reason if isinstance(estimate.value, Undefined) else "not a number"
    return Interval(None, reason=reason, unit=unit)


def in_words(estimate: Estimate, unit: str = "", confidence: float = 0.95) -> str:
    """A value in a sentence: `65 % (95 % CI 58–71 %)`."""
    if not isinstance(estimate.value, float):
        return interval(as_cell(estimate))
    if estimate.low is None or estimate.high is None:
        return percent(estimate.value) if unit else number(estimate.value)
    sure = percent(confidence)
    if unit:
        places = range_places(estimate.low, estimate.high)
        return f"{percent(estimate.value, places)} ({sure} CI {share_range(estimate.low, estimate.high)})"
    limits = interval(as_cell(estimate)).partition(" [")
    return f"{limits[0]} ({sure} CI {limits[2].rstrip(']').replace(', ', ' to ')})"


def in_sentence(name: str) -> str:
    """A name inside a sentence: its first letter small, unless it is an abbreviation.

    >>> in_sentence("Detection rate"), in_sentence("SSIM"), in_sentence("PCK")
    ('detection rate', 'SSIM', 'PCK')
    """
    return name[:1].lower() + name[1:] if name[1:2].islower() else name


def distance_words(difference: float, unit: str) -> str:
    """How far two values are apart, in a sentence.

    >>> distance_words(-0.182, "%"), distance_words(0.0042, "%"), distance_words(0.25, "")
    ('18 points', '0.4 points', '0.250')
    """
    if not unit:
        return number(abs(difference))
    points = abs(100 * difference)
    return f"{points:.0f} point{'s' if round(points) != 1 else ''}" if points >= 1 else f"{points:.1f} points"


def status_word(estimate: Estimate, overall: Estimate | None = None, unit: str = "") -> str:
    """What to mind about a group: small or empty, then its notes, then what so few rows could show."""
    if estimate.group.is_missing:
        return "not annotated, not compared"
    if estimate.status is Status.OK and not estimate.notes and estimate.rows >= FEW_ROWS:
        return ""
    if estimate.status is Status.EMPTY:
        return "no samples"
    notes = ["small, not compared"] if estimate.status is Status.SMALL else []
    notes.extend(estimate.notes)
    shows = None if any("could show a difference" in note for note in estimate.notes) else detectable(estimate, overall)
    if shows is not None:
        notes.append(f"could show a difference of {distance_words(shows, unit)} or more")
    return "; ".join(notes)


def counted_units(estimate: Estimate) -> int | None:
    """How many units an estimate is based on; None where they were not counted."""
    return estimate.units if estimate.units or not estimate.rows else None


def not_compared(method: Method) -> str:
    """Why there are groups but no comparisons of them."""
    if not method.draws:
        return "Groups were not compared: this value is compared by resampling, which was switched off (draws = 0)."
    return "No two groups were large enough to be compared."


def detectable(estimate: Estimate, overall: Estimate | None) -> float | None:
    """The difference from everyone that a group of fewer than fifty rows would show four times out of five.

    From the width of the two intervals; None for larger groups and without intervals.
    """
    if overall is None or not 0 < estimate.rows < FEW_ROWS:
        return None
    limits = [one for one in (estimate, overall) if one.low is not None and one.high is not None]
    if len(limits) < 2:
        return None
    from evenhand.stats.contrasts import detectable_by_error

    errors = [((one.high or 0.0) - (one.low or 0.0)) / (2 * 1.959963984540054) for one in limits]
    return float(detectable_by_error((errors[0] ** 2 + errors[1] ** 2) ** 0.5))


def end_words(summary: Summary) -> tuple[str, str]:
    """The worst and the best group; neither where all have the same value."""
    return ("–", "–") if summary.values.get("max_gap") == 0 else (levels(summary.worst), levels(summary.best))


def gap_sentence(summary: Summary, unit: str = "") -> str:
    """The gap, with the one that is expected by chance alone."""
    by = by_words(summary.by)
    gap = summary.values.get("max_gap")
    if gap is None or isinstance(gap, Undefined):
        return f"By {by}: {gap.reason if isinstance(gap, Undefined) else 'no gap was computed'}."
    worst, best = end_words(summary)
    ends = f"{worst} performs worst, {best} best"
    text = f"By {by}: lowest and highest group are {distance_words(gap, unit)} apart ({ends})."
    if gap == 0:
        text = f"By {by}: all groups have the same value."
    if summary.reference is not None:
        p = p_value(summary.reference.p)
        text += f" Expected by chance alone: about {distance_words(summary.reference.mean, unit)} "
        text += f"(p {p if p.startswith('<') else '= ' + p})."
    return text


def coverage_sentence(results: Results) -> str:
    """How much of what was asked was answered."""
    coverage = results.coverage
    text = f"{coverage.answered:,} of {coverage.asked:,} samples were answered"
    counts = ((coverage.missing, "not answered"), (coverage.unusable, "unusable"), (coverage.empty, "empty"))
    rest = [f"{count:,} {what}" for count, what in counts if count]
    return text + (f" ({', '.join(rest)})." if rest else ".")


def certainly_worse(contrasts: Sequence[Contrast]) -> dict[Verdict, list[Group]]:
    """The groups that perform worse in some pair beyond chance, by the strongest verdict, in the order of the pairs."""
    worse = {verdict: [c.worse for c in contrasts if c.verdict is verdict and c.worse is not None] for verdict in SURE}
    large = dict.fromkeys(worse[Verdict.LARGE])
    different = [group for group in dict.fromkeys(worse[Verdict.DIFFERENT]) if group not in large]
    return {Verdict.LARGE: list(large), Verdict.DIFFERENT: different}


@dataclass(frozen=True)
class Standing:
    """How one group compares with the others of its attribute."""

    group: Group
    below: tuple[Contrast, ...]  # pairs in which it performs worse, beyond chance
    above: tuple[Contrast, ...]
    pairs: int

    @property
    def is_disadvantaged(self) -> bool:
        """Whether it performs worse more often than better."""
        return len(self.below) > len(self.above)


def standings(contrasts: Sequence[Contrast]) -> dict[Group, Standing]:
    """Every group that takes part in a pair, with the pairs that chance does not explain."""
    below: dict[Group, list[Contrast]] = defaultdict(list)
    above: dict[Group, list[Contrast]] = defaultdict(list)
    for contrast in contrasts:
        if contrast.verdict in SURE and contrast.worse is not None:
            below[contrast.worse].append(contrast)
            above[contrast.second if contrast.worse == contrast.first else contrast.first].append(contrast)
    pairs = Counter(group for contrast in contrasts for group in (contrast.first, contrast.second))
    return {group: Standing(group, tuple(below[group]), tuple(above[group]), count) for group, count in pairs.items()}


def standing_words(standing: Standing, unit: str, higher_is_better: bool = True) -> str:
    """One line about a group: `below 5 of 5, by 18 to 27 points`."""
    apart = sorted(abs(contrast.difference or 0.0) for contrast in standing.below)
    low, high = distance_words(apart[0], unit), distance_words(apart[-1], unit)
    text = low if low == high else f"{low.partition(' ')[0]} to {high}"
    way = "below" if higher_is_better else "above"
    return f"{way} {len(apart)} of {standing.pairs}, by {text}"


def listed(names: list[str], most: int = 6) -> str:
    """Names in a sentence, the first few of many.

    >>> listed(["a", "b", "c"]), listed(list("abcd"), most=2)
    ('a, b, c', 'a, b and 2 more')
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def method_words(method: str) -> str:
    """How an interval was computed, in words.

    >>> method_words("cluster_bootstrap_percentile"), method_words("wilson_effective_t"), method_words("")
    ('bootstrap over units, percentile', 'Wilson with the effective number of rows, widened for few units', '–')
    >>> method_words("cluster_t_jackknife_logit")
    "Student's t over units, jackknife, on the logit scale"
    """
    variants: list[str] = []
    stem = method
    while stem not in WORDING["methods"]:
        ending = next((name for name in WORDING["variants"] if stem.endswith(name)), None)
        if ending is None:
            return method.replace("_", " ") or "–"
        variants.insert(0, WORDING["variants"][ending])
        stem = stem.removesuffix(ending)
    return ", ".join([WORDING["methods"][stem], *variants])
