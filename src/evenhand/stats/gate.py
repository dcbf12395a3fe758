"""What must hold before a model is released: requirements, and whether results meet them.

A requirement looks at one thing: a value, the worst group of an attribute, a gap beyond chance, the verdicts
of an attribute, coverage, or a count. What can't be judged is not met: a value that does not exist, a
group that is not there, a gap without two groups. Nothing passes because nobody could look.

```toml
[[require]]
metric = "gender"            # output = "accuracy" names another than the first
at_least = 0.9               # of = "low" asks it of the lower limit

[[require]]
metric = "gender"
worst_of = "race"            # or ["race", "age"] for their intersections
at_least = 0.85

[[require]]
metric = "gender"
gap_of = "race"              # beyond_chance = true: only a gap that permutations do not explain fails
at_most = 0.1

[[require]]
metric = "gender"
verdicts_of = "race"
none = ["large"]

[[require]]
metric = "gender"
not_worse_than = "runs/fairface/gender/production"   # a run, or the folder of a model: its latest run
margin = 0.02                # worse by more than this, beyond chance, fails: overall, and for every group

[[require]]
coverage = "missing"         # a share of what was asked
at_most = 0.01

[[require]]
count = "units"              # or "rows"; with group = { race = "Black" } or smallest_of = "race"
at_least = 500
```
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.core.errors import OptionError, UnknownNameError
from evenhand.core.metric import Direction, Undefined
from evenhand.core.records import EVERYONE, Group
from evenhand.core.results import Estimate, Results, Status, Summary, Verdict
from evenhand.files.inputs import parse_toml
from evenhand.stats.comparison import Comparison, ModelContrast

COVERAGE = ("answered", "empty", "unusable", "missing", "extra")
COUNTS = ("rows", "units")
ENDS = ("value", "low", "high")


@dataclass(frozen=True)
class GateOutcome:
    """Whether a requirement is met: what was asked, and what was found."""

    name: str
    met: bool
    message: str


CompareWith = Callable[[str, int], Comparison]  # a reference by name, and the depth of groups
Check = Callable[[Results, CompareWith], tuple[bool, str]]  # whether it is met, and what was found


@dataclass(frozen=True)
class Requirement:
    """One condition, read from a file; `check` says whether results meet it."""

    text: str
    check: Check


def no_reference(name: str, depth: int) -> Comparison:
    """For results alone: there are no rows to compare."""
    raise OptionError(f"not_worse_than = {name!r} needs runs with their rows: gate a run, not its results.")


def judge(
    results: Results, requirements: Sequence[Requirement], compare_with: CompareWith = no_reference
) -> tuple[GateOutcome, ...]:
    """Every requirement, in order, with whether it is met and what was found.

    `compare_with` compares the run with the one that a requirement names, on the same units.
    """
    return tuple(GateOutcome(asked.text, *asked.check(results, compare_with)) for asked in requirements)


def read_requirements(text: str, where: str = "the requirements") -> tuple[Requirement, ...]:
    """The requirements of a TOML text; `where` names the file in messages.

    >>> [one.text for one in read_requirements('[[require]]\\nmetric = "gender"\\nat_least = 0.9')]
    ['value of gender for everyone is at least 0.9']
    """
    return parse_requirements(parse_toml(text, where, OptionError, "Write [[require]] and keys below it."))


def parse_requirements(document: Mapping[str, Any]) -> tuple[Requirement, ...]:
    """The requirements of a parsed TOML document; an unknown key or a missing limit is refused by name."""
    for key in document:
        if key != "require":
            raise UnknownNameError(
                "section of requirements", key, ["require"], "Write [[require]] for each requirement."
            )
    entries = document.get("require", [])
    if not isinstance(entries, list) or not entries:
        raise OptionError("There are no requirements: write at least one [[require]].")
    return tuple(_parse(number, entry) for number, entry in enumerate(entries, start=1))


def _parse(number: int, entry: Mapping[str, Any]) -> Requirement:
    where = f"requirement {number}"
    if not isinstance(entry, Mapping):
        raise OptionError(f"{where}: expected [[require]] with keys below it, found {entry!r}.")
    for subject, (parse, keys) in _KINDS.items():
        if subject not in entry:
            continue
        for key in entry:
            if key not in (*keys, "name"):
                raise UnknownNameError(f"key of {where}", key, (*keys, "name"))
        if "metric" in keys and "metric" not in entry and subject != "count":
            raise OptionError(f"{where}: names no `metric`.")
        asked, check = parse(where, entry)
        return Requirement(f"{entry['name']} ({asked})" if "name" in entry else asked, check)
    raise OptionError(f"{where}: names nothing to look at. Give `metric`, `coverage` or `count`.")


def _value(where: str, entry: Mapping[str, Any]) -> tuple[str, Check]:
    limit, group, end = _limit(where, entry), _group(where, entry), _end(where, entry)
    asked = f"{end} of {_label(entry)} for {group} {limit.text}"

    def check(results: Results, compare_with: CompareWith) -> tuple[bool, str]:
        return _measured(results.get(str(entry["metric"]), entry.get("output"), group), end, limit)

    return asked, check


def _worst(where: str, entry: Mapping[str, Any]) -> tuple[str, Check]:
    limit, by, end = _limit(where, entry), _names(where, entry, "worst_of"), _end(where, entry)
    asked = f"{end} of {_label(entry)} in the worst group by {' × '.join(by)} {limit.text}"

    def check(results: Results, compare_with: CompareWith) -> tuple[bool, str]:
        summary = _summary(results, entry, by)
        if summary is None or summary.worst is None:
            return False, f"there is no worst group by {' × '.join(by)}: {_too_few(summary)}"
        met, message = _measured(results.get(summary.metric, summary.output, summary.worst), end, limit)
        return met, f"{summary.worst}: {message}{_left_out(summary)}"

    return asked, check


def _gap(where: str, entry: Mapping[str, Any]) -> tuple[str, Check]:
    limit, by = _limit(where, entry), _names(where, entry, "gap_of")
    chance, alpha = bool(entry.get("beyond_chance", False)), float(entry.get("alpha", 0.05))
    beyond = ", unless chance explains it" if chance else ""
    asked = f"gap of {_label(entry)} by {' × '.join(by)} {limit.text}{beyond}"

    def check(results: Results, compare_with: CompareWith) -> tuple[bool, str]:
        summary = _summary(results, entry, by)
        gap = None if summary is None else summary.values.get("max_gap")
        if summary is None or not isinstance(gap, float):
            return False, f"there is no gap by {' × '.join(by)}: {_too_few(summary)}"
        reference = summary.reference
        met = limit.holds(gap)
        message = f"gap {gap:.4g} between {summary.worst} and {summary.best}"
        if reference is not None:
            message += f"; about {reference.mean:.4g} is expected by chance alone (p = {reference.p:.3g})"
            met = met or (chance and reference.p >= alpha)
        elif chance:
            message += "; it has no permutation reference, so chance can't be ruled out or in"
        return met, message + _left_out(summary)

    return asked, check


def _not_worse(where: str, entry: Mapping[str, Any]) -> tuple[str, Check]:
    reference = str(entry["not_worse_than"])
    margin, alpha = _positive(where, entry, "margin", 0.0), _positive(where, entry, "alpha", 0.05)
    depth, proven = int(entry.get("depth", 1)), bool(entry.get("proven", False))
    by_more = f" by more than {margin:g}" if margin else ""
    how = "is shown to be no worse" if proven else "is not worse"
    asked = f"{_label(entry)} {how} than {reference}{by_more}, overall and for every group"

    def check(results: Results, compare_with: CompareWith) -> tuple[bool, str]:
        first = _first(results, entry)
        direction = next(
            (Direction(fact.outputs[first.output]) for fact in results.metrics if fact.name == first.metric),
            Direction.NEITHER,
        )
        if direction is Direction.NEITHER:
            return False, f"{first.metric}.{first.output} has no better and no worse"
        sign = 1.0 if direction is Direction.HIGHER else -1.0
        contrasts = compare_with(reference, depth).contrasts
        pairs = [c for c in contrasts if (c.metric, c.output) == (first.metric, first.output)]
        judged = [c for c in pairs if c.status is Status.OK and c.difference is not None and c.adjusted is not None]
        if not any(not c.group.terms for c in judged):
            return False, "the two runs could not be compared overall"
        worse = [c for c in judged if _is_worse(c, sign, margin, alpha, proven)]
        shown = _listed(
            f"{c.group}: {_shown(c.value_second)} instead of {_shown(c.value_first)} (p = {c.adjusted:.2g})"
            for c in worse
        )
        small = len(pairs) - len(judged)
        left = f"; {small} groups too small to judge" if small else ""
        if not worse:
            return True, f"{len(judged)} comparisons, overall and by group, none worse{left}"
        return False, f"worse in {len(worse)} of {len(judged)} comparisons: {shown}{left}"

    return asked, check


def _is_worse(contrast: ModelContrast, sign: float, margin: float, alpha: float, proven: bool) -> bool:
    """Worse beyond margin and chance; with `proven`, whatever is not shown to be within the margin."""
    assert contrast.difference is not None
    assert contrast.adjusted is not None
    if proven:
        limits = [sign * end for end in (contrast.low, contrast.high) if end is not None]
        return not limits or min(limits) < -margin
    return sign * contrast.difference < -margin and contrast.adjusted < alpha


def _positive(where: str, entry: Mapping[str, Any], key: str, default: float) -> float:
    value = entry.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise OptionError(f"{where}: {key} = {value!r}; expected a number of 0 or more.")
    return float(value)


def _shown(value: float | None) -> str:
    if value is None:
        return "nothing"
    return f"{value:.3g}" if 0 < abs(value) < 0.01 else f"{value:.3f}"


def _verdicts(where: str, entry: Mapping[str, Any]) -> tuple[str, Check]:
    by = _names(where, entry, "verdicts_of")
    words = [verdict.value for verdict in Verdict]
    refused = entry.get("none", [])
    if not isinstance(refused, list) or not refused:
        raise OptionError(f"{where}: `none` lists the verdicts that must not occur, of {', '.join(words)}.")
    for word in refused:
        if word not in words:
            raise UnknownNameError("verdict", str(word), words)
    asked = f"no pair of {_label(entry)} by {' × '.join(by)} is {' or '.join(refused)}"

    def check(results: Results, compare_with: CompareWith) -> tuple[bool, str]:
        first = _first(results, entry)
        every = [c for c in results.contrasts if (c.metric, c.output) == (first.metric, first.output)]
        pairs = [c for c in every if set(c.first.by) == set(by)]
        if not pairs:
            return False, f"no pair of groups by {' × '.join(by)} was compared"
        bad = [c for c in pairs if c.verdict is not None and c.verdict.value in refused]
        shown = _listed(f"{c.first} and {c.second}: {c.verdict.value if c.verdict else ''}" for c in bad)
        return not bad, f"{len(bad)} of {len(pairs)} pairs{': ' + shown if bad else ''}"

    return asked, check


def _coverage(where: str, entry: Mapping[str, Any]) -> tuple[str, Check]:
    what, limit = str(entry["coverage"]), _limit(where, entry)
    if what not in COVERAGE:
        raise UnknownNameError("part of the coverage", what, COVERAGE)
    asked = f"share {what} {limit.text}"

    def check(results: Results, compare_with: CompareWith) -> tuple[bool, str]:
        asked = results.coverage.asked
        if not asked:
            return False, "nothing was asked"
        count = int(getattr(results.coverage, what))
        return limit.holds(count / asked), f"{count} of {asked} ({count / asked:.4g})"

    return asked, check


def _count(where: str, entry: Mapping[str, Any]) -> tuple[str, Check]:
    what, limit, group = str(entry["count"]), _limit(where, entry), _group(where, entry)
    if what not in COUNTS:
        raise UnknownNameError("count", what, COUNTS)
    by = _names(where, entry, "smallest_of") if "smallest_of" in entry else None
    counted = str(group) if by is None else f"the smallest group by {' × '.join(by)}"
    asked = f"{what} of {counted} {limit.text}"

    def check(results: Results, compare_with: CompareWith) -> tuple[bool, str]:
        metric = str(entry.get("metric", results.estimates[0].metric if results.estimates else ""))
        if by is None:
            estimate = results.get(metric, entry.get("output"), group)
        else:
            first = results.get(metric, entry.get("output"))
            groups = [e for e in results.of(first.metric, first.output) if not e.group.is_missing]
            inside = [e for e in groups if set(e.group.by) == set(by)]
            if not inside:
                return False, f"there are no groups by {' × '.join(by)}"
            estimate = min(inside, key=lambda e: getattr(e, what))
        count = int(getattr(estimate, what))
        return limit.holds(count), f"{estimate.group}: {count}"

    return asked, check


_LIMITS = ("at_least", "at_most")
_KINDS: dict[str, tuple[Callable[[str, Mapping[str, Any]], tuple[str, Check]], tuple[str, ...]]] = {
    "worst_of": (_worst, ("metric", "output", "worst_of", "of", *_LIMITS)),
    "gap_of": (_gap, ("metric", "output", "gap_of", "beyond_chance", "alpha", "at_most")),
    "verdicts_of": (_verdicts, ("metric", "output", "verdicts_of", "none")),
    "not_worse_than": (
        _not_worse,
        ("metric", "output", "not_worse_than", "margin", "alpha", "proven", "depth"),
    ),
    "coverage": (_coverage, ("coverage", *_LIMITS)),
    "count": (_count, ("count", "metric", "output", "group", "smallest_of", *_LIMITS)),
    "metric": (_value, ("metric", "output", "group", "of", *_LIMITS)),
}


@dataclass(frozen=True)
class _Limit:
    at_least: float | None
    at_most: float | None

    @property
    def text(self) -> str:
        parts = [f"is at least {self.at_least:g}"] if self.at_least is not None else []
        parts += [f"is at most {self.at_most:g}"] if self.at_most is not None else []
        return " and ".join(parts)

    def holds(self, value: float) -> bool:
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)


def _limit(where: str, entry: Mapping[str, Any]) -> _Limit:
    found = []
    for key in ("at_least", "at_most"):
        value = entry.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise OptionError(f"{where}: {key} = {value!r}; expected a number.")
        found.append(None if value is None else float(value))
    if found == [None, None]:
        raise OptionError(f"{where}: has no limit. Give `at_least` or `at_most`.")
    return _Limit(*found)


def _group(where: str, entry: Mapping[str, Any]) -> Group:
    named = entry.get("group", {})
    if not isinstance(named, Mapping) or not all(isinstance(level, str) for level in named.values()):
        raise OptionError(f'{where}: group = {named!r}; expected levels by attribute, such as {{ race = "Black" }}.')
    return Group(tuple(named.items())) if named else EVERYONE


def _end(where: str, entry: Mapping[str, Any]) -> str:
    end = str(entry.get("of", "value"))
    if end not in ENDS:
        raise UnknownNameError("end of an interval", end, ENDS, f"It is asked for in {where}.")
    return end


def _names(where: str, entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = entry[key]
    names = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise OptionError(f"{where}: {key} = {value!r}; expected an attribute or a list of attributes.")
    return names


def _label(entry: Mapping[str, Any]) -> str:
    return f"{entry['metric']}.{entry['output']}" if "output" in entry else str(entry["metric"])


def _listed(texts: Iterable[str]) -> str:
    """The first five of some texts, and how many more there are."""
    every = list(texts)
    return "; ".join(every[:5]) + (f" and {len(every) - 5} more" if len(every) > 5 else "")


def _first(results: Results, entry: Mapping[str, Any]) -> Estimate:
    """The value for everyone of what a requirement names."""
    return results.get(str(entry["metric"]), entry.get("output"))


def _measured(estimate: Estimate, end: str, limit: _Limit) -> tuple[bool, str]:
    if isinstance(estimate.value, Undefined):
        return False, str(estimate.value)
    number = estimate.number if end == "value" else getattr(estimate, end)
    if number is None:
        return False, f"there is no {end}" + ("" if end == "value" else ": the value has no interval")
    limits = (
        f" [{estimate.low:.4g}, {estimate.high:.4g}]" if estimate.low is not None and estimate.high is not None else ""
    )
    small = ", a small group" if estimate.status is Status.SMALL else ""
    value = f"{estimate.number:.4g}" if estimate.number is not None else str(estimate.value)
    return limit.holds(number), f"{value}{limits} from {estimate.rows} rows{small}"


def _summary(results: Results, entry: Mapping[str, Any], by: tuple[str, ...]) -> Summary | None:
    first = _first(results, entry)
    asked = first.metric, first.output, set(by)
    return next((one for one in results.summaries if (one.metric, one.output, set(one.by)) == asked), None)


def _too_few(summary: Summary | None) -> str:
    if summary is None:
        return "the run was not evaluated by it"
    return f"{len(summary.eligible)} groups are large enough"


def _left_out(summary: Summary) -> str:
    return f"; {len(summary.excluded)} groups too small to count" if summary.excluded else ""
