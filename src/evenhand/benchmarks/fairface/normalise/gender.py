"""The gender an answer asserts (rules G1 to G6)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, count, pairwise
from typing import Final

from evenhand.benchmarks.fairface.normalise.lexicon import pairs, phrases, table, words
from evenhand.benchmarks.fairface.normalise.negation import ASSERTED, IN_SCOPE, is_lesser
from evenhand.benchmarks.fairface.normalise.readings import Mode, Reading, Reason, unknown
from evenhand.benchmarks.fairface.normalise.tokenized import TokenizedText
from evenhand.benchmarks.fairface.taxonomy import UNKNOWN

MALE, FEMALE, THIRD = "Male", "Female", "third"

LETTERS: Final = {"m": MALE, "f": FEMALE}
_TABLE: Final = table("gender.toml")
CATEGORY_WORDS: Final = {word: label for label in (FEMALE, MALE) for word in phrases(_TABLE["category"][label])}
ECHO_PAIRS: Final = pairs(_TABLE["echoes"]["pairs"])
ECHO_JOINTS: Final = words(_TABLE["echoes"]["joints"])
THIRD_WORDS: Final = words(_TABLE["third"]["words"])
THIRD_PAIRS: Final = pairs(_TABLE["third"]["pairs"])
PRONOUNS: Final = {word: label for label in (FEMALE, MALE) for word in phrases(_TABLE["pronouns_and_kinship"][label])}

_new: Final = tuple.__new__  # as calling a named tuple does, in half the time
_LONGEST_ENUMERATION: Final = 14
_NO_POSITIONS: Final[frozenset[int]] = frozenset()
_THIRD_FIRST: Final = frozenset(pair[0] for pair in THIRD_PAIRS)
_KNOWN: Final = frozenset(CATEGORY_WORDS) | THIRD_WORDS | _THIRD_FIRST
_IS_KNOWN: Final = _KNOWN.__contains__


def read_gender(text: TokenizedText, mode: Mode) -> Reading:
    """The gender that a prepared text asserts; the same in field and prose mode.

    Exactly one scorable class must be asserted. Negated words are no evidence,
    and an echo of the options ("male or female") is none either.

    >>> read_gender(TokenizedText("not male but female"), Mode.FIELD).label
    'Female'
    >>> read_gender(TokenizedText("a man or possibly a woman"), Mode.PROSE).reason.value
    'several classes'
    """
    tokens = text.tokens
    if not tokens:
        return unknown(Reason.EMPTY)
    if letter := _single_letter(tokens):
        return Reading(LETTERS[letter], rules=("G1",), words=(letter,))
    known = list(compress(count(), map(_IS_KNOWN, tokens)))
    if not known:
        return _by_pronouns(text)
    marks = text.marks
    compares = "than" in text.text
    echoed = _echoes(tokens, known) if len(known) > 1 else _NO_POSITIONS
    classes: set[str] = set()
    asserted: list[str] = []
    negated = category_seen = False
    for position in known:
        token = tokens[position]
        label = CATEGORY_WORDS.get(token)
        if label is not None:
            if position in echoed:
                continue
            category_seen = True
            if marks[position] == ASSERTED and not (compares and is_lesser(tokens, position)):
                classes.add(label)
                asserted.append(token)
            else:
                negated = True
        elif token in THIRD_WORDS or (token in _THIRD_FIRST and _third_pair(tokens, position)):
            if marks[position] & IN_SCOPE:
                negated = True
            else:
                classes.add(THIRD)
    rules: tuple[str, ...] = ("G3",) if echoed else ()
    if not category_seen and not echoed and not negated and not classes:
        return _by_pronouns(text)
    if not category_seen and not echoed:  # only words of the third class: pronouns may contradict them
        classes.update(PRONOUNS[token] for token in tokens if token in PRONOUNS)
        rules += ("G5",) if classes - {THIRD} else ()
    return _decide(classes, negated, rules, tuple(asserted))


def _decide(classes: set[str], negated: bool, rules: tuple[str, ...], words: tuple[str, ...]) -> Reading:
    if THIRD in classes:
        reason = Reason.OUTSIDE if len(classes) == 1 else Reason.SEVERAL
        return unknown(reason, *rules, "G4", "G6", words=words)
    if len(classes) == 1:
        fired = rules if "G5" in rules else (*rules, "G2")
        fired = (*fired, "N5") if negated else fired
        return _new(Reading, (classes.pop(), UNKNOWN, fired, None, words, False, None))
    if classes:
        return unknown(Reason.SEVERAL, *rules, "G6", words=words)
    if negated:
        return unknown(Reason.NEGATED, *rules, "N5", words=words)
    return unknown(Reason.SEVERAL, *rules, words=words)  # nothing but an echo of the options


def _by_pronouns(text: TokenizedText) -> Reading:
    """Rule G5: pronouns and kinship, which no negation reaches ("I can't tell his age")."""
    words = tuple(token for token in text.tokens if token in PRONOUNS)
    classes = {PRONOUNS[word] for word in words}
    if len(classes) == 1:
        return Reading(classes.pop(), rules=("G5",), words=words)
    return unknown(Reason.SEVERAL, "G5", "G6") if classes else unknown(text.why_nothing)


def _single_letter(tokens: Sequence[str]) -> str | None:
    """Rule G1: `m` or `f` as the only word of an answer, or as one item of a short enumeration ("F, 35, Asian")."""
    if len(tokens) > _LONGEST_ENUMERATION or not ("m" in tokens or "f" in tokens):
        return None
    letters = [at for at, token in enumerate(tokens) if token in LETTERS]
    if len(letters) != 1:
        return None
    at = letters[0]
    before, after = tokens[at - 1] if at else ",", tokens[at + 1] if at + 1 < len(tokens) else ","
    alone = not after.isalnum() and (not before.isalnum() or before.isdigit())
    return tokens[at] if alone and after != "'" else None


def _echoes(tokens: Sequence[str], known: Sequence[int]) -> frozenset[int]:
    """The positions of echoed options (rule G3), which are neighbours among the known words."""
    echoed: list[int] = []
    for position, other in pairwise(known):
        if (tokens[position], tokens[other]) in ECHO_PAIRS and position not in echoed[-2:]:
            between = tokens[position + 1 : other]
            if between == ["vs", "."] or (len(between) == 1 and between[0] in ECHO_JOINTS):
                echoed += [position, other]
    return frozenset(echoed)


def _third_pair(tokens: Sequence[str], position: int) -> bool:
    """Rule G4: `non-binary`, with or without its hyphen."""
    after = position + 1
    if after < len(tokens) and tokens[after] == "-":
        after += 1
    return after < len(tokens) and (tokens[position], tokens[after]) in THIRD_PAIRS
