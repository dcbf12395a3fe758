"""The age an answer asserts, as an interval of completed years (rules A0 to A11)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from evenhand.benchmarks.fairface.normalise.age_numbers import numbered
from evenhand.benchmarks.fairface.normalise.age_patterns import Candidate, find_ages
from evenhand.benchmarks.fairface.normalise.lexicon import by_first_word, phrases, table, words
from evenhand.benchmarks.fairface.normalise.negation import (
    ASSERTED,
    CLAUSE_CUES,
    CLAUSE_ENDS,
    CONTRASTS,
    IN_SCOPE,
    negation,
)
from evenhand.benchmarks.fairface.normalise.race_lexicon import RACE_WORDS
from evenhand.benchmarks.fairface.normalise.readings import Mode, Reading, Reason, unknown
from evenhand.benchmarks.fairface.normalise.tokenized import TokenizedText
from evenhand.benchmarks.fairface.taxonomy import OLDEST, UNKNOWN, AgeInterval, AgeKind

_TABLE: Final = table("age.toml")
VAGUE: Final = words(_TABLE["vague"])
SPANS: Final[dict[tuple[int, int | None], tuple[str, ...]]] = {  # low and high → the phrases that stand for them
    (entry["low"], entry.get("high")): phrases(entry["phrases"]) for entry in _TABLE["words"]
}
AGE_WORDS: Final = by_first_word({tuple(text.split()): span for span, texts in SPANS.items() for text in texts})
FIRST_WORDS: Final = frozenset(AGE_WORDS)
_YEARS: Final = ("year", "years", "yr", "yrs")
_GRAMMAR: Final = _TABLE["grammar"]
_JOINTS: Final = words(_GRAMMAR["joints"])
_BETWEEN_JOINTS: Final = _JOINTS | words(_GRAMMAR["between_joints"]) | {","}
_new: Final = tuple.__new__  # as calling a named tuple does, in half the time
_LONGEST_JOINT: Final = 5
_FARTHEST_CUE: Final = 40  # words between a negation and the age that it denies
_NOT_KNOWN: Final = words(_GRAMMAR["not_known"])
_LONGEST_PLAIN: Final = len("20 - 29")
_PLAIN: Final = re.compile(r"([0-9]{1,2})(?: ?- ?([0-9]{1,2}))?")


def read_age(text: TokenizedText, mode: Mode, *, age_words: bool = True) -> Reading:
    """The age that a prepared text asserts; a number beats a word.

    >>> read_age(TokenizedText("between 25 and 35. i'd estimate 30 years old."), Mode.PROSE).interval[:2]
    (30, 30)
    >>> read_age(TokenizedText("60-70+"), Mode.FIELD).interval
    AgeInterval(low=60, high=None, kind=<AgeKind.OPEN: 'open'>)
    >>> read_age(TokenizedText("20, 25"), Mode.FIELD).reason.value
    'several classes'
    """
    if len(text.text) <= _LONGEST_PLAIN and (plain_age := _PLAIN.fullmatch(text.text)):
        # Most answers: they take a short way to the same result.
        low, high = sorted((int(plain_age[1]), int(plain_age[2] or plain_age[1])))
        kind, rule = (AgeKind.RANGE, "A6") if plain_age[2] else (AgeKind.POINT, "A7")
        return Reading(rules=(rule,), words=(text.text,), interval=AgeInterval(low, high, kind))
    tokens = text.tokens
    if not tokens:
        return unknown(Reason.EMPTY)
    negated = False
    plain = numbered(text, mode)
    candidates = find_ages(plain, mode)
    if candidates:
        marks = text.marks if plain.words == tokens else negation(plain.words, text.text)
        kept = _asserted(candidates, marks, plain.words)
        if kept:
            return _decide(kept, plain.words)
        negated = True
    if not FIRST_WORDS.isdisjoint(tokens):
        named = find_age_words(tokens)
        if named:
            if not age_words:
                return unknown(Reason.VAGUE, "A8 off")
            kept = _asserted(named, text.marks, tokens)
            return _decide(kept, tokens) if kept else unknown(Reason.NEGATED, "A9")
    if negated:
        return unknown(Reason.NEGATED, "A9")
    return unknown(text.why_nothing) if VAGUE.isdisjoint(tokens) else unknown(Reason.VAGUE, "A8")


def read_age_range(low: float, high: float | None) -> Reading:
    """The age that two numbers state, in any order, rounded down, 0 to 120; no upper limit when `high` is None.

    >>> read_age_range(29.9, 29.9).interval
    AgeInterval(low=29, high=29, kind=<AgeKind.POINT: 'point'>)
    >>> read_age_range(float("nan"), None).reason.value
    'out of range'
    """
    if not math.isfinite(low) or (high is not None and not math.isfinite(high)):
        return unknown(Reason.RANGE, "S5", "A11")
    if high is None:
        return _decide([Candidate(0, 0, math.floor(low), None, AgeKind.OPEN, "S5")], ())
    first, last = sorted((math.floor(low), math.floor(high)))
    return _decide([Candidate(0, 0, first, last, AgeKind.POINT if low == high else AgeKind.RANGE, "S5")], ())


def find_age_words(tokens: Sequence[str]) -> list[Candidate]:
    """The age words of a text, longest first, hyphens ignored.

    >>> [age[:4] for age in find_age_words("a pre - teen or young adult".split())]
    [(1, 4, 10, 12), (5, 7, 18, 29)]
    >>> find_age_words("a baby - faced man".split())
    []
    """
    ages: list[Candidate] = []
    free = 0
    for position in [at for at, token in enumerate(tokens) if token in FIRST_WORDS]:
        if position < free:
            continue
        for phrase, (low, high) in AGE_WORDS[tokens[position]]:
            end = _match(tokens, position, phrase)
            if end and not _is_something_else(tokens, position, end):
                ages.append(Candidate(position, end, low, high, AgeKind.WORD, "A8"))
                free = end
                break
    return ages


def _match(tokens: Sequence[str], position: int, phrase: tuple[str, ...]) -> int:
    """The position after the phrase if it stands at `position`, else 0."""
    for word in phrase:
        if word is not phrase[0]:
            while position < len(tokens) and (tokens[position] == "-" or tokens[position] in RACE_WORDS):
                position += 1  # "a little Asian girl" is a little girl
        if position >= len(tokens) or tokens[position] != word:
            return 0
        position += 1
    return position


def _is_something_else(tokens: Sequence[str], start: int, end: int) -> bool:
    """A baby face is no baby, and a 30-year-old man is no old man."""
    if tokens[start] in ("baby", "child"):
        after = [token for token in tokens[end : end + 2] if token != "-"]
        return bool(after) and after[0] in ("face", "faced", "like")
    if tokens[start] == "old":
        before = [token for token in tokens[max(start - 2, 0) : start] if token != "-"]
        return bool(before) and before[-1] in _YEARS
    return False


def _asserted(candidates: list[Candidate], marks: bytearray, tokens: Sequence[str]) -> list[Candidate]:
    """The candidates that no negation reaches; a one-sided age that is negated becomes its complement (A9)."""
    if marks.count(ASSERTED) == len(marks):
        return candidates
    kept: list[Candidate] = []
    for candidate in candidates:
        if not any(mark & IN_SCOPE for mark in marks[candidate.start : candidate.end]):
            kept.append(candidate)
        elif candidate.rule in ("A1", "A5") and _is_denied(tokens, candidate.start):
            kept.extend(_complement(candidate))
    return kept


def _is_denied(tokens: Sequence[str], start: int) -> bool:
    """Whether the clause before a position denies what follows, rather than saying that it can't be determined."""
    for word in reversed(tokens[max(start - _FARTHEST_CUE, 0) : start]):
        if word in CLAUSE_ENDS or word in CONTRASTS or word in _NOT_KNOWN:
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


def _decide(candidates: list[Candidate], tokens: Sequence[str]) -> Reading:
    """One age of several candidates (A10), if it is a possible one (A11)."""
    if len(candidates) == 1:
        only = candidates[0]
        if not _possible(only):
            return unknown(Reason.RANGE, only.rule, "A11")
        start, end, low, high, kind, rule = only
        interval = _new(AgeInterval, (low, high, kind))
        words = (" ".join(tokens[start:end]),)
        return _new(Reading, (UNKNOWN, UNKNOWN, (rule,), None, words, False, interval))
    joined = _join(candidates, tokens)
    rules = tuple(dict.fromkeys(candidate.rule for candidate in candidates))
    if len(joined) < len(candidates):
        rules = (*rules, "A10")
    if any(not _possible(candidate) for candidate in joined):
        return unknown(Reason.RANGE, *rules, "A11")
    joined.sort(key=_narrowness)
    for narrow, wide in pairwise(joined):
        if not (
            wide.low <= narrow.low and (wide.high is None or (narrow.high is not None and narrow.high <= wide.high))
        ):
            return unknown(Reason.SEVERAL, *rules, "A10", words=_words(candidates, tokens))
    chosen = joined[0]
    if len(joined) > 1 and "A10" not in rules:
        rules = (*rules, "A10")
    interval = AgeInterval(chosen.low, chosen.high, chosen.kind)
    return Reading(rules=rules, words=_words(candidates, tokens), interval=interval)


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
    return 0 <= candidate.low <= (OLDEST if candidate.high is None else candidate.high) <= OLDEST


def _narrowness(candidate: Candidate) -> tuple[float, int]:
    return (math.inf if candidate.high is None else candidate.high - candidate.low), -candidate.low
