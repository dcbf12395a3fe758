"""The age an answer asserts, as an interval of completed years (rules A0 to A11)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from evenhand.benchmarks.fairface.normalise.age_numbers import numbered
from evenhand.benchmarks.fairface.normalise.age_patterns import Candidate, find_ages
from evenhand.benchmarks.fairface.normalise.age_words import FIRST_WORDS, VAGUE, find_age_words
from evenhand.benchmarks.fairface.normalise.lexicon import table, words
from evenhand.benchmarks.fairface.normalise.negation import (
    ASSERTED,
    CLAUSE_CUES,
    CLAUSE_ENDS,
    CONTRASTS,
    IN_SCOPE,
    negation,
)
from evenhand.benchmarks.fairface.normalise.readings import AgeReading, Mode, Reason, no_age
from evenhand.benchmarks.fairface.normalise.tokenized import TokenizedText
from evenhand.benchmarks.fairface.taxonomy import OLDEST, AgeInterval, AgeKind

_JOINTS: Final = frozenset(["or", "/", "to", "-", "through", "maybe", "possibly", "perhaps"])
_BETWEEN_JOINTS: Final = _JOINTS | frozenset(
    [",", "a", "an", "his", "her", "their", "the", "in", "about", "around", "approximately", "roughly"]
)
_new: Final = tuple.__new__  # as calling a named tuple does, in half the time
_LONGEST_JOINT: Final = 5
_FARTHEST_CUE: Final = 40  # words between a negation and the age that it denies
# Behind these a negation says that something is not known: "can't tell if she is over 40" is no age at all.
_NOT_TOLD: Final = words(table("age.toml")["grammar"]["not_told"])
_LONGEST_PLAIN: Final = len("20 - 29")
_PLAIN: Final = re.compile(r"([0-9]{1,2})(?: ?- ?([0-9]{1,2}))?")


def read_age(text: str, mode: Mode, tokenized: TokenizedText | None = None, *, age_words: bool = True) -> AgeReading:
    """The age that a prepared text asserts; a number beats a word.

    >>> read_age("between 25 and 35. i'd estimate 30 years old.", Mode.PROSE).interval[:2]
    (30, 30)
    >>> read_age("60-70+", Mode.FIELD).interval
    AgeInterval(low=60, high=None, kind=<AgeKind.OPEN: 'open'>)
    >>> read_age("20, 25", Mode.FIELD).reason.value
    'several classes'
    """
    if len(text) <= _LONGEST_PLAIN and (plain_age := _PLAIN.fullmatch(text)):
        return _read_plain(int(plain_age[1]), plain_age[2], (text,))
    tokenized = tokenized or TokenizedText(text)
    tokens = tokenized.tokens
    if not tokens:
        return no_age(Reason.EMPTY)
    negated = False
    plain = numbered(text, mode, tokens)
    candidates = find_ages(plain, mode)
    if candidates:
        same = plain.tokens is tokens
        marks = tokenized.marks_without(plain.removed) if same else negation(plain.words)
        kept = _asserted(candidates, marks, plain.words)
        if kept:
            return _decide(kept, plain.words)
        negated = True
    if not FIRST_WORDS.isdisjoint(tokens):
        named = [Candidate(w.start, w.end, w.low, w.high, AgeKind.WORD, "A8") for w in find_age_words(tokens)]
        if named:
            if not age_words:
                return no_age(Reason.VAGUE, "A8 off")
            kept = _asserted(named, tokenized.marks, tokens)
            return _decide(kept, tokens) if kept else no_age(Reason.NEGATED, "A9")
    if negated:
        return no_age(Reason.NEGATED, "A9")
    return no_age(tokenized.why_nothing) if VAGUE.isdisjoint(tokens) else no_age(Reason.VAGUE, "A8")


def read_age_number(value: float) -> AgeReading:
    """The age a bare number states: rounded down, 0 to 120.

    >>> read_age_number(29.9).interval[:2]
    (29, 29)
    >>> read_age_number(float("nan")).reason.value
    'out of range'
    """
    return read_age_range(value, value)


def read_age_range(low: float, high: float | None) -> AgeReading:
    """The age that two numbers state, in any order; no upper limit when `high` is None."""
    if not math.isfinite(low) or (high is not None and not math.isfinite(high)):
        return no_age(Reason.RANGE, "S5", "A11")
    first = math.floor(low)
    if high is None:
        found = Candidate(0, 0, first, None, AgeKind.OPEN, "S5")
    else:
        first, last = sorted((first, math.floor(high)))
        found = Candidate(0, 0, first, last, AgeKind.POINT if low == high else AgeKind.RANGE, "S5")
    return _decide([found], ())


def _read_plain(first: int, second: str | None, words: tuple[str, ...]) -> AgeReading:
    """`35` or `20-29` and nothing else: most answers, so they take a short way to the same result."""
    if second is None:
        return AgeReading(AgeInterval(first, first, AgeKind.POINT), ("A7",), None, words)
    low, high = sorted((first, int(second)))
    return AgeReading(AgeInterval(low, high, AgeKind.RANGE), ("A6",), None, words)


def _asserted(candidates: list[Candidate], marks: bytearray, tokens: Sequence[str]) -> list[Candidate]:
    """The candidates that no negation reaches; a one-sided age that is negated becomes its complement (A9)."""
    if marks.count(ASSERTED) == len(marks):
        return candidates
    kept: list[Candidate] = []
    for candidate in candidates:
        if not _in_scope(marks[candidate.start : candidate.end]):
            kept.append(candidate)
        elif candidate.rule in ("A1", "A5") and _is_denied(tokens, candidate.start):
            kept.extend(_complement(candidate))
    return kept


def _is_denied(tokens: Sequence[str], start: int) -> bool:
    """Whether the clause before a position denies what follows, rather than saying that it can't be determined."""
    for word in reversed(tokens[max(start - _FARTHEST_CUE, 0) : start]):
        if word in CLAUSE_ENDS or word in CONTRASTS or word in _NOT_TOLD:
            return False
        if word in CLAUSE_CUES or word.endswith("n't") or word == "cannot":
            return True
    return False


def _complement(candidate: Candidate) -> list[Candidate]:
    """All other ages: not over 30 is at most 30, not under 18 is at least 18."""
    if candidate.high is not None:
        return [candidate._replace(low=candidate.high + 1, high=None, rule="A9")]
    high = 70 if candidate.rule == "A1" else candidate.low - 1
    return [candidate._replace(low=0, high=high, rule="A9")] if high >= 0 else []


def _in_scope(marks: bytearray) -> bool:
    return any(marks) and any(mark & IN_SCOPE for mark in marks)


def _decide(candidates: list[Candidate], tokens: Sequence[str]) -> AgeReading:
    """One age of several candidates (A10), if it is a possible one (A11)."""
    if len(candidates) == 1:
        only = candidates[0]
        if not _possible(only):
            return no_age(Reason.RANGE, only.rule, "A11")
        start, end, low, high, kind, rule = only
        interval = _new(AgeInterval, (low, high, kind))
        return _new(AgeReading, (interval, (rule,), None, (" ".join(tokens[start:end]),)))
    joined = _join(candidates, tokens)
    rules = tuple(dict.fromkeys(candidate.rule for candidate in candidates))
    if len(joined) < len(candidates):
        rules = (*rules, "A10")
    if any(not _possible(candidate) for candidate in joined):
        return no_age(Reason.RANGE, *rules, "A11")
    joined.sort(key=_narrowness)
    for narrow, wide in pairwise(joined):
        if not (
            wide.low <= narrow.low and (wide.high is None or (narrow.high is not None and narrow.high <= wide.high))
        ):
            return no_age(Reason.SEVERAL, *rules, "A10")._replace(words=_words(candidates, tokens))
    chosen = joined[0]
    if len(joined) > 1 and "A10" not in rules:
        rules = (*rules, "A10")
    return AgeReading(AgeInterval(chosen.low, chosen.high, chosen.kind), rules, None, _words(candidates, tokens))


def _words(candidates: Sequence[Candidate], tokens: Sequence[str]) -> tuple[str, ...]:
    return tuple(" ".join(tokens[candidate.start : candidate.end]) for candidate in candidates)


def _join(candidates: list[Candidate], tokens: Sequence[str]) -> list[Candidate]:
    """Neighbours with nothing but a joint between them become their hull."""
    joined = [candidates[0]]
    for candidate in candidates[1:]:
        last = joined[-1]
        if _are_joined(tokens, last, candidate):
            joined[-1] = _hull(last, candidate)
        else:
            joined.append(candidate)
    return joined


def _are_joined(tokens: Sequence[str], first: Candidate, second: Candidate) -> bool:
    if second.start - first.end > _LONGEST_JOINT:
        return False
    between = tokens[first.end : second.start]
    if "and" in between and "between" in tokens[max(first.start - 3, 0) : first.start]:
        return True
    return not _JOINTS.isdisjoint(between) and _BETWEEN_JOINTS.issuperset(between)


def _hull(first: Candidate, second: Candidate) -> Candidate:
    low = min(first.low, second.low)
    high = None if first.high is None or second.high is None else max(first.high, second.high)
    kind = AgeKind.WORD if first.kind is second.kind is AgeKind.WORD else AgeKind.RANGE
    if high is None and AgeKind.OPEN in (first.kind, second.kind):
        kind = AgeKind.OPEN
    return Candidate(first.start, second.end, low, high, kind, first.rule)


def _possible(candidate: Candidate) -> bool:
    if candidate.high is None:
        return 0 <= candidate.low <= OLDEST
    return 0 <= candidate.low <= candidate.high <= OLDEST


def _narrowness(candidate: Candidate) -> tuple[float, int]:
    return (math.inf if candidate.high is None else candidate.high - candidate.low), -candidate.low
