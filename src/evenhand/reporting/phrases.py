"""Results in words: what a number, a group, a gap or a coverage is called in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.metric import Undefined
from evenhand.core.page import Interval
from evenhand.core.records import Group
from evenhand.core.results import Contrast, Estimate, Results, Status, Summary, Verdict
from evenhand.reporting.rounding import interval, number, p_value

FEW_ROWS = 50  # below it, a group is shown with the difference that it could show


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

    >>> value_name("gender", "macro_f1"), value_name("accuracy", "accuracy")
    ('gender: macro f1', 'accuracy')
    """
    return words(output) if metric == output else f"{metric}: {words(output)}"


def short_name(metric: str, output: str) -> str:
    """What a value is called in a sentence: its output, or the metric where the output says only how it was reduced.

    >>> short_name("gender", "balanced_accuracy"), short_name("PCK", "mean")
    ('balanced accuracy', 'PCK')
    """
    return metric if output in ("mean", "rate", "distance", "sum", "value") else words(output)


def levels(group: Group | None) -> str:
    """The levels of a group without the names of attributes.

    >>> levels(Group.of(age="70+", gender="Female")), levels(Group()), levels(None)
    ('70+ × Female', 'everyone', '–')
    """
    return "–" if group is None else " × ".join(level for _, level in group.terms) or "everyone"


def direction_of(results: Results, metric: str, output: str) -> str:
    """Which way is better: higher, lower or neither."""
    return next((fact.outputs.get(output, "neither") for fact in results.metrics if fact.name == metric), "neither")


def as_cell(estimate: Estimate) -> Interval:
    """A value with its interval, or the reason why there is none."""
    if isinstance(estimate.value, float):
        return Interval(estimate.value, estimate.low, estimate.high)
    return Interval(None, reason=estimate.value.reason if isinstance(estimate.value, Undefined) else "not a number")


def said(estimate: Estimate) -> str:
    """A value in a sentence."""
    return interval(as_cell(estimate))


def status_word(estimate: Estimate, whole: Estimate | None = None) -> str:
    """What to mind about a group: small or empty, then its notes, then what so few rows could show."""
    if estimate.group.is_missing:
        return "not annotated, not compared"
    if estimate.status is Status.OK and not estimate.notes and estimate.rows >= FEW_ROWS:
        return ""
    if estimate.status is Status.EMPTY:
        return "no rows"
    found = ["small, not compared"] if estimate.status is Status.SMALL else []
    found.extend(estimate.notes)
    shown = None if any("could show a difference" in note for note in estimate.notes) else detectable(estimate, whole)
    if shown is not None:
        found.append(f"could show a difference of {shown:.2g} or more from the rest")
    return "; ".join(found)


def detectable(estimate: Estimate, whole: Estimate | None) -> float | None:
    """The difference from everyone that a group of fewer than fifty rows would show four times out of five.

    From the width of the two intervals; None for larger groups and without intervals.
    """
    if whole is None or not 0 < estimate.rows < FEW_ROWS:
        return None
    limits = [one for one in (estimate, whole) if one.low is not None and one.high is not None]
    if len(limits) < 2:
        return None
    from evenhand.stats.contrasts import detectable_by_error

    errors = [((one.high or 0.0) - (one.low or 0.0)) / (2 * 1.959963984540054) for one in limits]
    return float(detectable_by_error((errors[0] ** 2 + errors[1] ** 2) ** 0.5))


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


def certainly_worse(contrasts: Sequence[Contrast]) -> dict[Verdict, list[Group]]:
    """The groups that are worse off in some pair, by the strongest verdict, in the order of the pairs."""
    found: dict[Verdict, list[Group]] = {Verdict.LARGE: [], Verdict.DIFFERENT: []}
    for verdict in found:
        for contrast in contrasts:
            known = contrast.worse in found[Verdict.LARGE] or contrast.worse in found[verdict]
            if contrast.verdict is verdict and contrast.worse is not None and not known:
                found[verdict].append(contrast.worse)
    return found


def listed(names: list[str], most: int = 6) -> str:
    """Names in a sentence, the first few of many.

    >>> listed(["a", "b", "c"]), listed(list("abcd"), most=2)
    ('a, b, c', 'a, b and 2 more')
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
