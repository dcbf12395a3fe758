"""The race or ethnicity an answer asserts (rules R1 to R8)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from evenhand.benchmarks.fairface.normalise.negation import CLAUSE_ENDS, CONTRASTS
from evenhand.benchmarks.fairface.normalise.race_lexicon import (
    ASIAN,
    COLOURS,
    DESCRIPTORS,
    FUNCTION_WORDS,
    LEXICON,
    MIXED,
    NEUTRAL,
    OBJECT_NOUNS,
    OUTSIDE,
    PERSON_NOUNS,
    WEARING,
)
from evenhand.benchmarks.fairface.normalise.readings import Mode, RaceReading, Reason, no_race
from evenhand.benchmarks.fairface.normalise.refusals import why_nothing
from evenhand.benchmarks.fairface.normalise.spoken import Spoken
from evenhand.benchmarks.fairface.taxonomy import COARSE_OF, UNKNOWN

_SPECIFIC_ASIAN: Final = frozenset({"Indian", "East Asian", "Southeast Asian"})
_MAX_DESCRIPTORS: Final = 2
_CLAUSE_BREAKS: Final = CLAUSE_ENDS | CONTRASTS


class Term(NamedTuple):
    """A phrase found in the words: where it begins, how many words it has, what it stands for."""

    start: int
    length: int
    label: str


def read_race(text: str, mode: Mode, spoken: Spoken | None = None, *, first_of_several: bool = False) -> RaceReading:
    """The coarse and the fine class that a prepared text asserts.

    Two coarse classes are unknown, unless `first_of_several` (option `multi=first`).

    >>> read_race("south-east asian", Mode.FIELD)[:2]
    ('Asian', 'Southeast Asian')
    >>> read_race("a white south african with black hair", Mode.PROSE).label
    'White'
    >>> read_race("white or hispanic", Mode.FIELD).reason.value
    'several classes'
    """
    spoken = (spoken or Spoken(text)).unhyphenated
    tokens = spoken.tokens
    if not tokens:
        return no_race(Reason.EMPTY)
    terms = find_terms(tokens)
    if not terms:
        return no_race(why_nothing(text))
    marks = spoken.marks
    asserted: list[Term] = []
    negated = coloured = False
    colours = [term for term in terms if _is_colour(term, tokens)]
    said_of_objects = _object_before(tokens) if colours and mode is Mode.PROSE else None
    starts = {term.start for term in terms} if colours else set()
    for term in terms:
        if term.label == NEUTRAL:
            continue
        if any(marks[term.start : term.start + term.length]):
            negated = True
        elif term in colours and not _said_of_a_person(term, tokens, said_of_objects, starts):
            coloured = True
        else:
            asserted.append(term)
    rules = (*(("N5",) if negated else ()), *(("R2",) if coloured else ()))
    if not asserted:
        if negated:
            return no_race(Reason.NEGATED, *rules)
        return no_race(Reason.OUTSIDE, "R4") if not coloured else no_race(why_nothing(text), *rules)
    return _decide(asserted, tokens, rules, first_of_several)


def find_terms(tokens: Sequence[str]) -> list[Term]:
    """The phrases of the lexicon in a text without hyphens: from left to right, longest first, not overlapping.

    >>> [term.label for term in find_terms(["native", "american", "indian", "or", "asian", "indian"])]
    ['outside', 'Indian']
    """
    found: list[Term] = []
    free = 0
    for position in [at for at, token in enumerate(tokens) if token in LEXICON]:
        if position < free:
            continue
        for phrase, label in LEXICON[tokens[position]]:
            length = len(phrase)
            if length == 1 or tuple(tokens[position : position + length]) == phrase:
                found.append(Term(position, length, label))
                free = position + length
                break
    return found


def _decide(asserted: list[Term], tokens: Sequence[str], rules: tuple[str, ...], first_of_several: bool) -> RaceReading:
    labels = {term.label for term in asserted}
    if MIXED in labels or OUTSIDE in labels:
        return no_race(Reason.OUTSIDE, *rules, "R3")
    if ASIAN in labels and labels & _SPECIFIC_ASIAN and not _offers_asian_or_indian(asserted, tokens):
        labels.discard(ASIAN)
        asserted = [term for term in asserted if term.label != ASIAN]
        rules = (*rules, "R6")
    coarse = {_coarse(label) for label in labels}
    if len(coarse) == 1:
        rules = (*rules, "R1")
    elif first_of_several:
        coarse = {_coarse(asserted[0].label)}
        labels = {label for label in labels if _coarse(label) in coarse}
        rules = (*rules, "R7 first")
    else:
        return no_race(Reason.SEVERAL, *rules, "R7")
    label = coarse.pop()
    fine = labels.pop() if len(labels) == 1 else UNKNOWN
    if fine == ASIAN:
        return RaceReading(label, UNKNOWN, (*rules, "R8"), None, unspecified=True)
    return RaceReading(label, fine, rules)


def _coarse(label: str) -> str:
    return ASIAN if label == ASIAN else COARSE_OF[label]


def _offers_asian_or_indian(asserted: Sequence[Term], tokens: Sequence[str]) -> bool:
    """Rule R6's exception: unspecified Asian and Indian joined directly by `or` or `/`, so both stay."""
    for one, other in pairwise(asserted):
        if {one.label, other.label} == {ASIAN, "Indian"}:
            joint = one.start + one.length
            if other.start == joint + 1 and tokens[joint] in ("or", "/"):
                return True
    return False


def _is_colour(term: Term, tokens: Sequence[str]) -> bool:
    return term.length == 1 and tokens[term.start] in COLOURS


def _said_of_a_person(term: Term, tokens: Sequence[str], object_before: bytearray | None, starts: set[int]) -> bool:
    """Rule R2: whether `black` or `white` is said of a person; `object_before` is None in field mode."""
    position = term.start + 1
    person = False
    for _ in range(_MAX_DESCRIPTORS + 1):
        if position >= len(tokens):
            break
        token = tokens[position]
        if token in OBJECT_NOUNS:
            return False
        person = person or token in PERSON_NOUNS
        if token not in DESCRIPTORS:
            break
        position += 1
    if object_before is None or person:
        return True
    following = tokens[term.start + 1] if term.start + 1 < len(tokens) else "."
    predicated = (
        following in _CLAUSE_BREAKS or following == "/" or following in FUNCTION_WORDS or term.start + 1 in starts
    )
    before = tokens[term.start - 1] if term.start else ""
    return predicated and before != "in" and not object_before[term.start]


def _object_before(tokens: Sequence[str]) -> bytearray:
    """Per word: 1 when, walking back in the clause, an object or a garment comes before a person."""
    marks = bytearray(len(tokens))
    state = 0
    for position, token in enumerate(tokens):
        marks[position] = state
        if token in PERSON_NOUNS or token in _CLAUSE_BREAKS:
            state = 0
        elif token in OBJECT_NOUNS or token in WEARING:
            state = 1
    return marks
