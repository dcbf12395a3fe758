"""The race or ethnicity an answer asserts (rules R1 to R8)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, count, pairwise
from typing import Final, NamedTuple

from evenhand.benchmarks.fairface.normalise.colours import ColourReader, is_before_a_thing
from evenhand.benchmarks.fairface.normalise.negation import is_lesser, negation
from evenhand.benchmarks.fairface.normalise.race_lexicon import (
    ALONE,
    ASIAN,
    COLOURS,
    LEXICON,
    MIXED,
    NEUTRAL,
    OUTSIDE,
    SECOND_WORDS,
)
from evenhand.benchmarks.fairface.normalise.readings import Mode, Reading, Reason, unknown
from evenhand.benchmarks.fairface.normalise.tokenized import TokenizedText
from evenhand.benchmarks.fairface.taxonomy import COARSE_OF, UNKNOWN

_R1: Final = ("R1",)
_new: Final = tuple.__new__  # as calling a named tuple does, in half the time
_IS_FIRST_WORD: Final = SECOND_WORDS.__contains__
_SPECIFIC_ASIAN: Final = frozenset({"Indian", "East Asian", "Southeast Asian"})


class Term(NamedTuple):
    """A phrase found in the words: where it begins, how many words it has, what it stands for."""

    start: int
    length: int
    label: str


def read_race(text: TokenizedText, mode: Mode, *, first_of_several: bool = False) -> Reading:
    """The coarse and the fine class that a prepared text asserts; the same in field and prose mode.

    Two coarse classes are unknown, unless `first_of_several` (option `multi=first`).

    >>> read_race(TokenizedText("south-east asian"), Mode.FIELD)[:2]
    ('Asian', 'Southeast Asian')
    >>> read_race(TokenizedText("a white south african with black hair"), Mode.PROSE).label
    'White'
    >>> read_race(TokenizedText("white or hispanic"), Mode.FIELD).reason.value
    'several classes'
    """
    tokens = text.tokens
    if "-" in text.text:
        tokens = [token for token in tokens if token != "-"]
    if not tokens:
        return unknown(Reason.EMPTY)
    terms = find_terms(tokens)
    if not terms:
        return unknown(text.why_nothing)
    marks = text.marks if tokens is text.tokens else negation(tokens, text.text)
    asserted: list[Term] = []
    negated = coloured = False
    unmarked = not any(marks)
    compares = "than" in text.text
    colours: ColourReader | None = None
    for place, term in enumerate(terms):
        start, length, label = term
        if label == NEUTRAL:
            continue
        if (not unmarked and any(marks[start : start + length])) or (compares and is_lesser(tokens, start)):
            negated = True
        elif length == 1 and tokens[start] in COLOURS:
            if is_before_a_thing(tokens, start):
                coloured = True
                continue
            if colours is None:
                hyphens = [at for at, token in enumerate(text.tokens) if token == "-"]
                colours = ColourReader(tokens, {at - before for before, at in enumerate(hyphens)})
            followed = place + 1 < len(terms) and terms[place + 1].start == start + 1
            if colours.is_said_of_a_person(start, before_a_term=followed):
                asserted.append(term)
            else:
                coloured = True
        else:
            asserted.append(term)
    rules: tuple[str, ...] = ("N5",) if negated else ()
    if coloured:
        rules += ("R2",)
    if not asserted:
        if negated:
            return unknown(Reason.NEGATED, *rules)
        return unknown(Reason.OUTSIDE, "R4") if not coloured else unknown(text.why_nothing, *rules)
    return _decide(asserted, tokens, rules, first_of_several)


def find_terms(tokens: Sequence[str]) -> list[Term]:
    """The phrases of the lexicon in a text without hyphens: from left to right, longest first, not overlapping.

    >>> [term.label for term in find_terms(["native", "american", "indian", "or", "asian", "indian"])]
    ['outside', 'Indian']
    """
    terms: list[Term] = []
    free, last = 0, len(tokens) - 1
    for position in compress(count(), map(_IS_FIRST_WORD, tokens)):
        if position < free:
            continue
        first = tokens[position]
        if position < last and tokens[position + 1] in SECOND_WORDS[first]:
            term = _longest_term_at(tokens, position)
            if term:
                terms.append(term)
                free = position + term.length
        elif first in ALONE:
            terms.append(_new(Term, (position, 1, ALONE[first])))
    return terms


def _longest_term_at(tokens: Sequence[str], position: int) -> Term | None:
    """The longest phrase that begins at a position."""
    for phrase, label in LEXICON[tokens[position]]:
        length = len(phrase)
        if length == 1 or tuple(tokens[position : position + length]) == phrase:
            return _new(Term, (position, length, label))
    return None


def _decide(asserted: list[Term], tokens: Sequence[str], rules: tuple[str, ...], first_of_several: bool) -> Reading:
    if len(asserted) == 1 and (only := asserted[0].label) in COARSE_OF:
        words = _words(asserted, tokens)
        return _new(Reading, (COARSE_OF[only], only, (*rules, "R1") if rules else _R1, None, words, False, None))
    labels = {term.label for term in asserted}
    if MIXED in labels or OUTSIDE in labels:
        return unknown(Reason.OUTSIDE, *rules, "R3", words=_words(asserted, tokens))
    if ASIAN in labels and labels & _SPECIFIC_ASIAN and not _offers_asian_or_indian(asserted, tokens):
        labels.discard(ASIAN)
        asserted = [term for term in asserted if term.label != ASIAN]
        rules = (*rules, "R6")
    coarse = {COARSE_OF.get(label, label) for label in labels}
    if len(coarse) == 1:
        rules = (*rules, "R1")
    elif first_of_several:
        coarse = {COARSE_OF.get(asserted[0].label, asserted[0].label)}
        labels = {label for label in labels if COARSE_OF.get(label, label) in coarse}
        rules = (*rules, "R7 first")
    else:
        return unknown(Reason.SEVERAL, *rules, "R7", words=_words(asserted, tokens))
    label = coarse.pop()
    fine = labels.pop() if len(labels) == 1 else UNKNOWN
    if fine == ASIAN:
        return Reading(label, UNKNOWN, (*rules, "R8"), None, _words(asserted, tokens), unspecified=True)
    return Reading(label, fine, rules, None, _words(asserted, tokens))


def _words(asserted: Sequence[Term], tokens: Sequence[str]) -> tuple[str, ...]:
    if len(asserted) == 1:
        start, length, _ = asserted[0]
        return (tokens[start] if length == 1 else " ".join(tokens[start : start + length]),)
    return tuple(" ".join(tokens[start : start + length]) for start, length, _ in asserted)


def _offers_asian_or_indian(asserted: Sequence[Term], tokens: Sequence[str]) -> bool:
    """Rule R6's exception: unspecified Asian and Indian joined directly by `or` or `/`, so both stay."""
    for one, other in pairwise(asserted):
        if {one.label, other.label} == {ASIAN, "Indian"}:
            joint = one.start + one.length
            if other.start == joint + 1 and tokens[joint] in ("or", "/"):
                return True
    return False
