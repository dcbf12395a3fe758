"""Which words of a text are negated (rules N1 to N4).

A cue opens a scope; every term inside it is no evidence, neither for itself nor
for its opposite (N5). Clause cues reach to the end of the clause, sentence cues
to the end of the sentence, a contrast word or a hedge, `non-` to the next word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evenhand.benchmarks.fairface.normalise.lexicon import pairs, table, words

ASSERTED: Final = 0
IN_SCOPE: Final = 1  # N1, N2
PREFIXED: Final = 2  # N3
_ONE_IN_SCOPE: Final = bytes([IN_SCOPE])

_TABLE: Final = table("negation.toml")
CLAUSE_CUES: Final = words(_TABLE["clause_cues"])
CLAUSE_PAIRS: Final = pairs(_TABLE["clause_pairs"])
SENTENCE_CUES: Final = words(_TABLE["sentence_cues"])
BEFORE_SENTENCE_NOT: Final = words(_TABLE["before_sentence_not"])
NO_CUES: Final = pairs(_TABLE["no_cues"])  # "without a doubt" is looked at by itself
CONTRASTS: Final = words(_TABLE["contrasts"])
CONCEDING: Final = words(_TABLE["conceding"])
HEDGES: Final = words(_TABLE["hedges"])
SENTENCE_ENDS: Final = frozenset(".!?;\n")
CLAUSE_ENDS: Final = SENTENCE_ENDS | frozenset(",:()")

_TRIGGERS: Final = CLAUSE_CUES | SENTENCE_CUES | {"rather", "other", "instead", "non"}
_SPECIAL: Final = _TRIGGERS | CONTRASTS | HEDGES | CLAUSE_ENDS
_ONLY_CLOSING: Final = _SPECIAL - _TRIGGERS  # outside of every scope they change nothing


def negation(tokens: Sequence[str], text: str) -> bytearray:
    """One mark per token of a text: asserted, inside a negation's scope, or prefixed by `non-`.

    >>> text = "not a man but a woman"
    >>> list(negation(text.split(), text))
    [0, 1, 1, 0, 0, 0]
    """
    marks = bytearray(len(tokens))
    if "n't" in text:
        special = [at for at, token in enumerate(tokens) if token in _SPECIAL or ("'" in token and token[-3:] == "n't")]
    elif _TRIGGERS.isdisjoint(tokens):
        return marks
    else:
        special = [at for at, token in enumerate(tokens) if token in _SPECIAL]
    in_clause = in_sentence = opened_inside = after_whether = False
    after_last = sentence = 0
    prefixed: list[int] = []
    for position in special:
        token = tokens[position]
        if in_clause or in_sentence:
            marks[after_last:position] = _ONE_IN_SCOPE * (position - after_last)
        elif token in _ONLY_CLOSING:
            if token in SENTENCE_ENDS:
                sentence = position + 1
            continue
        after_last = position + 1
        if token in CLAUSE_ENDS:
            in_clause = False
            if token in SENTENCE_ENDS or (token == "," and tokens[sentence] in CONCEDING):
                in_sentence = after_whether = False
            if token in SENTENCE_ENDS:
                sentence = position + 1
            continue
        following = tokens[position + 1] if position + 1 < len(tokens) else ""
        if (token, following) in CLAUSE_PAIRS:
            in_clause, opened_inside = True, in_sentence
            continue
        if token in CONTRASTS:
            in_clause = in_sentence = after_whether = False
            continue
        if token in HEDGES and in_sentence and not after_whether:
            in_sentence = False
            if opened_inside:
                in_clause = False
            continue
        if in_clause or in_sentence:
            marks[position] |= IN_SCOPE
        if token == "non":
            prefixed.append(position + 2 if following == "-" else position + 1)
        elif token in SENTENCE_CUES or (
            token == "not" and position > 0 and tokens[position - 1] in BEFORE_SENTENCE_NOT
        ):
            in_sentence = True
            after_whether |= token == "whether"
        elif _opens_clause(tokens, position, following):
            in_clause, opened_inside = True, in_sentence
    if in_clause or in_sentence:
        marks[after_last:] = _ONE_IN_SCOPE * (len(tokens) - after_last)
    for position in prefixed:
        if position < len(tokens):
            marks[position] |= PREFIXED
    return marks


def is_lesser(tokens: Sequence[str], position: int) -> bool:
    """Whether a term is what another is preferred to: "more East Asian than South Asian".

    >>> is_lesser("more masculine than feminine".split(), 3)
    True
    """
    before = position - 1
    while before >= 0 and tokens[before] in ("a", "an", "to", "as", "like"):
        before -= 1
    return before >= 0 and tokens[before] == "than"


def _opens_clause(tokens: Sequence[str], position: int, following: str) -> bool:
    token = tokens[position]
    if token.endswith("n't"):
        return True
    if token not in CLAUSE_CUES or (token, following) in NO_CUES:
        return False
    return not (token == "without" and tuple(tokens[position + 1 : position + 3]) == ("a", "doubt"))
