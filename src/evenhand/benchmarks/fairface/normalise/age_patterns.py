"""The ways an age is written with numbers (rules A1 to A7), each as a search over words.

The patterns are tried in the order of the protocol: A1, A2, A3, ranges of
decades, A5, A6, single decades, A7. A word used by one is not used again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from evenhand.benchmarks.fairface.normalise.age_numbers import DECADE_WORDS, TEENS, Numbered
from evenhand.benchmarks.fairface.normalise.gender import CATEGORY_WORDS
from evenhand.benchmarks.fairface.normalise.lexicon import phrases, table, words
from evenhand.benchmarks.fairface.normalise.race_lexicon import ALONE, MIXED, NEUTRAL
from evenhand.benchmarks.fairface.normalise.readings import Mode
from evenhand.benchmarks.fairface.taxonomy import AgeKind

_GRAMMAR: Final = table("age.toml")["grammar"]
_MONTHS: Final = words(_GRAMMAR["months"])
_WEEKS_AND_DAYS: Final = words(_GRAMMAR["weeks_and_days"])
_YEARS: Final = words(_GRAMMAR["years"])
_BEGINS_UNIT: Final = _YEARS | {"-", "ish"}

_RANGE_JOINTS: Final = words(_GRAMMAR["joints"]) | {"until"}
_FILLERS: Final = words(_GRAMMAR["fillers"])
_BETWEEN: Final = frozenset({"between", "from"})
_AGES_OF: Final = frozenset({"the", "age", "ages", "of"})

_PARTS: Final = {"early": (0, 3), "mid": (4, 6), "middle": (4, 6), "late": (7, 9)}
_TEEN_PARTS: Final = {"early": (13, 14), "mid": (15, 16), "middle": (15, 16), "late": (17, 19)}
_PART_JOINTS: Final = frozenset({"to", "-", "/", "or"})

_MORE: Final = words(_GRAMMAR["more"])
_LESS: Final = words(_GRAMMAR["less"])
_BEYOND: Final[dict[str, bool]] = _GRAMMAR["beyond"]  # one or two words before a number → whether it opens upwards
_LIMITS: Final[dict[str, bool]] = _GRAMMAR["limits"]
_CUES_BEFORE: Final = words(_GRAMMAR["cues_before"])
_CUES_OF_TWO: Final = {second: words(first) for second, first in _GRAMMAR["cues_of_two"].items()}
_ESTIMATING: Final = words(_GRAMMAR["estimating"])
_PLUS_MINUS: Final = [sign.split() for sign in phrases(_GRAMMAR["plus_minus"])]
_NOT: Final = frozenset({"not", "no"})
_OTHER_UNITS: Final = words(_GRAMMAR["other_units"])
_SEPARATORS: Final = frozenset([",", "/", "|", ";", "\n", "(", ")", ".", "", "-", "•", "[", "]", "&"])
_TERMS: Final = (
    frozenset(CATEGORY_WORDS)
    | {word for word, label in ALONE.items() if label not in (NEUTRAL, MIXED)}
    | frozenset({"m", "f", "american", "eastern", "islander", "person", "individual"})
) - frozenset({"men", "women", "males", "females", "boys", "girls", "ladies", "gentlemen"})
_new: Final = tuple.__new__  # as calling a named tuple does, in half the time
_FIELD: Final = Mode.FIELD
_POINT: Final = AgeKind.POINT
_RANGE: Final = AgeKind.RANGE
_OPEN: Final = AgeKind.OPEN
_SMALLEST_UNMARKED: Final = 10  # "man 45" is an age, "person 2" a number


class Candidate(NamedTuple):
    """An age found in the words from `start` up to and without `end`; `high` None means no upper limit."""

    start: int
    end: int
    low: int
    high: int | None
    kind: AgeKind
    rule: str


# At the end of the words they stand for what is before the first word and after the last one alike.
_NO_WORDS: Final = [""] * 8


class _Search:
    """The words of one answer and which of them are used up."""

    __slots__ = ("decades", "mode", "numbers", "words")

    def __init__(self, plain: Numbered, mode: Mode) -> None:
        self.words = plain.words + _NO_WORDS
        self.numbers = plain.numbers.copy()  # those still free
        self.decades = plain.decades.copy()
        self.mode = mode

    def after_unit(self, position: int) -> int:
        """The position after an optional `-year-old`, `yrs`, `y/o`, `years of age` that begins here."""
        if self.words[position] not in _BEGINS_UNIT:
            return position
        at = position + 1 if self.words[position] == "-" else position
        unit = self.words[at]
        if unit == "ish":
            return at + 1
        if unit not in _YEARS:
            return position
        if unit == "y" and self.words[at + 1] in ("/", "."):
            return at + 3 if self.words[at + 2] == "o" else position
        at += 1
        old = at + 1 if self.words[at] == "-" else at
        if self.words[old] == "old":
            return old + 1
        return at + 2 if (self.words[at], self.words[at + 1]) == ("of", "age") else at

    def before_ages_of(self, position: int) -> int:
        """The position before an optional "the ages of" that ends just before `position`."""
        at = position - 1
        for _ in range(3):
            if self.words[at] in _AGES_OF:
                at -= 1
        return at

    def joined(self, position: int) -> int:
        """The position of what a joint ties to the number, or decade, at `position` (A6); -1 without a joint."""
        words = self.words
        at = self.after_unit(position + 1)
        joint = words[at]
        if joint == "and":
            if words[self.before_ages_of(position)] not in _BETWEEN:
                return -1
            at += 1
        elif joint == "," and words[at + 1] in ("maybe", "possibly", "perhaps"):
            at += 2
        elif joint in _RANGE_JOINTS:
            at += 1
            if joint == "-" and words[at] == "to":
                at += 1
        else:
            return -1
        fillers_end = at + 3
        while at < fillers_end and words[at] in _FILLERS:
            at += 1
        return at

    def free_numbers(self) -> Iterator[tuple[int, float]]:
        """The numbers and their positions, without those that are used up meanwhile."""
        for at, value in list(self.numbers.items()):
            if at in self.numbers:
                yield at, value

    def use(self, *positions: int) -> None:
        for position in positions:
            self.numbers.pop(position, None)
            self.decades.pop(position, None)


def find_ages(plain: Numbered, mode: Mode) -> list[Candidate]:
    """All ages written with numbers, in the order of the text; the ends may still be out of range.

    >>> from evenhand.benchmarks.fairface.normalise.age_numbers import numbered
    >>> from evenhand.benchmarks.fairface.normalise.tokenized import TokenizedText
    >>> plain = numbered(TokenizedText("30-39 or over 60"), Mode.FIELD)
    >>> [(age.low, age.high, age.rule) for age in find_ages(plain, Mode.FIELD)]
    [(30, 39, 'A6'), (61, None, 'A5')]
    """
    candidates: list[Candidate] = []
    ages = len(plain.numbers) + len(plain.decades)
    if not ages:
        return candidates
    search = _Search(plain, mode)
    telling = (_TELLING_OF_ONE if ages == 1 else _TELLING).intersection(plain.words)
    if telling:
        for find, needed_words, needed_ages in _IN_ORDER:
            if ages >= needed_ages and not needed_words.isdisjoint(telling):
                candidates.extend(find(search))
                ages = len(search.numbers) + len(search.decades)
                if not ages:
                    return sorted(candidates)
    candidates += [_decade(search, at) for at in search.decades]
    if search.numbers:
        candidates += _single_numbers(search)
    return sorted(candidates) if len(candidates) > 1 else candidates


def _more_than_seventy(search: _Search) -> Iterator[Candidate]:
    """A1: FairFace's own name of its last bin."""
    for at, value in search.free_numbers():
        if value == 70 and search.words[max(at - 2, 0) : at] == ["more", "than"] and search.words[at - 3] not in _NOT:
            search.use(at)
            yield Candidate(at - 2, search.after_unit(at + 1), 70, None, _OPEN, "A1")


def _months(search: _Search) -> Iterator[Candidate]:
    """A2: months are twelfths of a year, rounded down; weeks and days are 0; "2 years and 6 months" is 2."""
    for at, value in search.free_numbers():
        years_end = search.after_unit(at + 1)
        if years_end > at + 1:
            rest = years_end + 1 if search.words[years_end] in ("and", ",") else years_end
            if rest in search.numbers and _months_end(search, rest):
                search.use(at, rest)
                yield _point(at, _months_end(search, rest), value, "A2")
            continue
        other = search.joined(at)
        if other in search.numbers and (end := _months_end(search, other)):
            low, high = sorted((_in_years(search, end, value), _in_years(search, end, search.numbers[other])))
            search.use(at, other)
            yield Candidate(at, end, low, high, _POINT if low == high else _RANGE, "A2")
        elif end := _months_end(search, at):
            search.use(at)
            yield _point(at, end, _in_years(search, end, value), "A2")


def _months_end(search: _Search, number: int) -> int:
    """The position after the months, weeks or days of a number; 0 when it has none."""
    at = number + 2 if search.words[number + 1] == "-" else number + 1
    if search.words[at] not in _MONTHS and search.words[at] not in _WEEKS_AND_DAYS:
        return 0
    old = at + 2 if search.words[at + 1] == "-" else at + 1
    return old + 1 if search.words[old] == "old" else at + 1


def _in_years(search: _Search, end: int, value: float) -> int:
    if any(search.words[at] in _MONTHS for at in range(end - 3, end)):
        return math.floor(value / 12)
    return 0 if value >= 0 else -1


def _plus_minus(search: _Search) -> Iterator[Candidate]:
    """A3: `35 ± 5`, `35 (± 5)`, not below 0."""
    for at, value in search.free_numbers():
        sign = search.after_unit(at + 1)
        if search.words[sign] in ("(", ","):
            sign += 1
        for written in _PLUS_MINUS:
            other = sign + len(written)
            if other in search.numbers and search.words[sign:other] == written and at in search.numbers:
                spread = search.numbers[other]
                search.use(at, other)
                low, high = max(0, math.floor(value - spread)), math.floor(value + spread)
                yield Candidate(at, search.after_unit(other + 1), low, high, _RANGE, "A3")


def _decade_ranges(search: _Search) -> Iterator[Candidate]:
    """A4: a decade joined to a decade or to a number: "late 20s to early 30s", "mid 20s to 30", "20-30s"."""
    for at in sorted([*search.numbers, *search.decades]):
        target = _skip_parts(search, search.joined(at))
        if target in search.decades or (target in search.numbers and at in search.decades):
            first, second = _decade_or_number(search, at), _decade_or_number(search, target)
            if first and second:
                search.use(at, target)
                low, high = min(first.low, second.low), max(first.high or 0, second.high or 0)
                yield Candidate(first.start, second.end, low, high, _RANGE, "A4")


def _skip_parts(search: _Search, position: int) -> int:
    """The position after `early`, `mid-`, `mid to late`."""
    for _ in range(5):
        if search.words[position] in _PARTS or (
            search.words[position] in _PART_JOINTS and position not in search.numbers
        ):
            position += 1
    return position


def _decade_or_number(search: _Search, at: int) -> Candidate | None:
    if at in search.decades:
        return _decade(search, at)
    return _point(at, search.after_unit(at + 1), search.numbers[at], "A4") if at in search.numbers else None


def _decade(search: _Search, at: int) -> Candidate:
    """The decade at a position with its `early`, `mid`, `late` or a span of two of them."""
    first = search.decades[at]
    start, parts = _parts_before(search, at)
    if first == TEENS:
        spans = [_TEEN_PARTS[part] for part in parts] or [(13, 19)]
    else:
        spans = [(first + low, first + high) for low, high in [_PARTS[part] for part in parts] or [(0, 9)]]
    return Candidate(start, at + 1, min(spans)[0], max(spans)[1], _RANGE, "A4")


def _parts_before(search: _Search, at: int) -> tuple[int, list[str]]:
    """Where the parts of a decade begin, and which they are: "mid to late" gives both."""
    before = at - 2 if search.words[at - 1] == "-" else at - 1
    if search.words[before] not in _PARTS:
        return at, []
    start, parts = before, [search.words[before]]
    joint = start - 1
    while joint >= 0 and search.words[joint] in _PART_JOINTS and start - joint <= 3:
        joint -= 1
    if joint < start - 1 and search.words[joint] in _PARTS:
        start = joint
        parts.append(search.words[joint])
    return start, parts


def _one_sided(search: _Search) -> Iterator[Candidate]:
    """A5: `60+`, `65 and older`, `over 60`, `under 18`, `at least`, `up to`, `60-70+`."""
    for at, value in search.free_numbers():
        other = search.joined(at)
        if other in search.numbers and search.words[at + 1] in ("-", "to"):
            upward, end = _limit_after(search, other)
            if end:
                ends = value, search.numbers[other]
                search.use(at, other)
                yield _open(at, end, min(ends) if upward else max(ends), upward)
                continue
        upward, end = _limit_after(search, at)
        limit = _open(at, end, value, upward) if end else _limit_before(search, at)
        if limit:
            search.use(at)
            yield limit


def _limit_after(search: _Search, at: int) -> tuple[bool, int]:
    """Whether the words after a number open it upwards, and where they end; (False, 0) when they do neither."""
    sign = search.after_unit(at + 1)
    if search.words[sign] in ("+", "plus"):
        return True, search.after_unit(sign + 1)
    end = sign + 2
    belongs_to_another = end in search.numbers or search.words[end] == "than"  # "30 or over 60"
    if search.words[sign] in ("and", "or") and not belongs_to_another:
        if search.words[sign + 1] in _MORE:
            return True, end
        if search.words[sign + 1] in _LESS:
            return False, end
    return False, 0


def _limit_before(search: _Search, at: int) -> Candidate | None:
    """The one-sided age that the words before a number make of it, if they do."""
    value, end = search.numbers[at], search.after_unit(at + 1)
    last = search.before_ages_of(at)
    word = search.words[last]
    both = f"{search.words[last - 1]} {word}"
    if both in _LIMITS:
        return _open(last - 1, end, value, _LIMITS[both])
    if both in _BEYOND:
        return _open(last - 1, end, value, _BEYOND[both], beyond=True)
    if word in _BEYOND and both != "the past":
        return _open(last, end, value, _BEYOND[word], beyond=True)
    return None


def _open(start: int, end: int, limit: float, upward: bool, *, beyond: bool = False) -> Candidate:
    """Ages from a limit upwards or downwards, with the limit itself unless they are `beyond` it."""
    if upward:
        return Candidate(start, end, math.floor(limit) + beyond, None, _OPEN, "A5")
    return Candidate(start, end, 0, math.ceil(limit) - 1 if beyond else math.floor(limit), _OPEN, "A5")


def _ranges(search: _Search) -> Iterator[Candidate]:
    """A6: two numbers with a joint between them; the ends in any order, rounded down."""
    for at, value in search.free_numbers():
        other = search.joined(at)
        if other in search.numbers:
            low, high = sorted((math.floor(value), math.floor(search.numbers[other])))
            search.use(at, other)
            if not _measures_something_else(search, other):
                yield _new(Candidate, (at, search.after_unit(other + 1), low, high, _RANGE, "A6"))


def _single_numbers(search: _Search) -> list[Candidate]:
    """A7: a number with an age cue, or in an enumeration; without either in field mode or as the whole answer."""
    ages: list[Candidate] = []
    bare = True if search.mode is _FIELD else None  # None: not yet asked
    for at, value in search.numbers.items():
        end = search.after_unit(at + 1)
        if end == at + 1:
            if _measures_something_else(search, at):
                continue
            if not bare and not _has_cue_before(search, at) and not _is_listed(search, at):
                bare = _is_nothing_else(search) if bare is None else bare
                if not bare:
                    continue
        ages.append(_point(at, end, value, "A7"))
    return ages


def _measures_something_else(search: _Search, at: int) -> bool:
    """Whether the number at a position counts or measures anything but time: "175 cm", "224 x 224", "5'7"."""
    words = search.words
    following = words[at + 1]
    if following == "-":
        following = words[at + 2]
    return following in _OTHER_UNITS or (following == "'" and at + 2 in search.numbers) or words[at - 1] == "x"


def _is_listed(search: _Search, at: int) -> bool:
    """Whether a number stands in an enumeration beside a person or race term: "woman, 30", "male / 45 / Asian"."""
    words = search.words
    before, after = words[at - 1] if at else "", words[at + 1]
    if after in ("m", "f"):
        return words[at + 2] in _SEPARATORS
    if (before in _SEPARATORS or before == "and") and after in _SEPARATORS:
        return _begins_with_a_term(words[max(at - 5, 0) : max(at - 1, 0)][::-1]) or _begins_with_a_term(
            words[at + 2 : at + 6]
        )
    if search.numbers[at] < _SMALLEST_UNMARKED or not (before in _TERMS or after in _TERMS):
        return False
    return (before in _TERMS or before in _SEPARATORS) and (after in _TERMS or after in _SEPARATORS)


def _begins_with_a_term(words: list[str]) -> bool:
    """Whether a person or race term stands before the next separator."""
    for at, word in enumerate(words):
        if word in _SEPARATORS and not (at == 0 and word == ","):
            return False
        if word in _TERMS:
            return True
    return False


def _is_nothing_else(search: _Search) -> bool:
    """Whether the answer has no word but its numbers."""
    return all(at in search.numbers for at, word in enumerate(search.words) if word.isalnum())


def _has_cue_before(search: _Search, at: int) -> bool:
    word, previous = search.words[at - 1], search.words[at - 2]
    if word in _CUES_BEFORE:
        return True
    if word == "at":  # "estimated at 48", "her age at 48", "put him at 48"
        return previous in ("age", "estimated") or not _ESTIMATING.isdisjoint(search.words[max(at - 4, 0) : at - 2])
    if word == "of":
        return previous in ("age", "ages") or previous in _TERMS
    return previous in _CUES_OF_TWO.get(word, ())


def _point(start: int, end: int, value: float, rule: str) -> Candidate:
    age = math.floor(value)
    return _new(Candidate, (start, end, age, age, _POINT, rule))


class _Pattern(NamedTuple):
    """A way to write ages, with what it can't do without: most answers need none of them tried."""

    find: Callable[[_Search], Iterator[Candidate]]
    needs: frozenset[str]  # at least one of these words
    ages: int  # numbers and decades that are still free


_IN_ORDER: Final = (
    _Pattern(_more_than_seventy, frozenset({"more"}), 1),
    _Pattern(_months, _MONTHS | _WEEKS_AND_DAYS, 1),
    _Pattern(_plus_minus, frozenset({"±", "+", "plus", "give"}), 2),
    _Pattern(_decade_ranges, DECADE_WORDS | {"teens"}, 2),
    _Pattern(_one_sided, _MORE | _LESS | {"+", "plus"} | {limit.split()[-1] for limit in (*_BEYOND, *_LIMITS)}, 1),
    _Pattern(_ranges, _RANGE_JOINTS | {"and", ","}, 2),
)
_TELLING: Final = frozenset(word for pattern in _IN_ORDER for word in pattern.needs)
_TELLING_OF_ONE: Final = frozenset(word for pattern in _IN_ORDER if pattern.ages == 1 for word in pattern.needs)
