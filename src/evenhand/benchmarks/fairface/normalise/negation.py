"""Which words of a text are negated (rules N1 to N4).

A cue opens a scope; every term inside it is no evidence, neither for itself nor
for its opposite (N5). Clause cues reach to the end of the clause, sentence cues
to the end of the sentence, a contrast word or a hedge, `non-` to the next word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evenhand.benchmarks.fairface.normalise.wording import listed

ASSERTED: Final = 0
IN_SCOPE: Final = 1  # N1, N2
PREFIXED: Final = 2  # N3

CLAUSE_CUES: Final = frozenset({"not", "no", "never", "neither", "nor", "without", "unlikely"})
CLAUSE_PAIRS: Final = frozenset({("rather", "than"), ("other", "than"), ("instead", "of")})
SENTENCE_CUES: Final = frozenset(
    listed(
        "cannot can't couldn't won't wouldn't don't doesn't didn't unable impossible difficult hard unclear "
        "uncertain unsure refuse whether"
    )
)
BEFORE_SENTENCE_NOT: Final = frozenset({"can", "could", "do", "does", "did", "am"})
NO_CUES: Final = frozenset(
    {("no", "doubt"), ("no", "question"), ("no", "longer"), ("not", "only"), ("without", "doubt")}
)  # N4; "without a doubt" is looked at by itself
CONTRASTS: Final = frozenset(listed("but however though although yet still nevertheless nonetheless instead"))
HEDGES: Final = frozenset(listed("probably likely possibly perhaps maybe guess estimate say"))
SENTENCE_ENDS: Final = frozenset(".!?;\n")
CLAUSE_ENDS: Final = SENTENCE_ENDS | frozenset(",:()")

_TRIGGERS: Final = CLAUSE_CUES | SENTENCE_CUES | {"rather", "other", "instead", "non"}
_SPECIAL: Final = _TRIGGERS | CONTRASTS | HEDGES | CLAUSE_ENDS


def negation(tokens: Sequence[str]) -> bytearray:
    """One mark per token: asserted, inside a negation's scope, or prefixed by `non-`.

    >>> tokens = "not a man but a woman".split()
    >>> list(negation(tokens))
    [0, 1, 1, 0, 0, 0]
    """
    marks = bytearray(len(tokens))
    if _TRIGGERS.isdisjoint(tokens) and "n't" not in " ".join(tokens):
        return marks
    in_clause = in_sentence = opened_inside = after_whether = False
    for position, token in enumerate(tokens):
        if token not in _SPECIAL and token[-3:] != "n't":
            if in_clause or in_sentence:
                marks[position] = IN_SCOPE | marks[position]
            continue
        following = tokens[position + 1] if position + 1 < len(tokens) else ""
        if (token, following) in CLAUSE_PAIRS:
            in_clause, opened_inside = True, in_sentence
            continue
        if token in CLAUSE_ENDS or token in CONTRASTS:
            in_clause = False
            if token in SENTENCE_ENDS or token in CONTRASTS:
                in_sentence = after_whether = False
            continue
        if token in HEDGES and in_sentence and not after_whether:
            in_sentence = False
            if opened_inside:
                in_clause = False
            continue
        if in_clause or in_sentence:
            marks[position] |= IN_SCOPE
        if token == "non":
            _mark_prefixed(marks, tokens, position)
        elif _opens_sentence(tokens, position):
            in_sentence = True
            after_whether |= token == "whether"
        elif _opens_clause(tokens, position, following):
            in_clause, opened_inside = True, in_sentence
    return marks


def _opens_sentence(tokens: Sequence[str], position: int) -> bool:
    token = tokens[position]
    if token == "not":
        return position > 0 and tokens[position - 1] in BEFORE_SENTENCE_NOT
    return token in SENTENCE_CUES


def _opens_clause(tokens: Sequence[str], position: int, following: str) -> bool:
    token = tokens[position]
    if token.endswith("n't"):
        return True
    if token not in CLAUSE_CUES or (token, following) in NO_CUES:
        return False
    return not (token == "without" and tuple(tokens[position + 1 : position + 3]) == ("a", "doubt"))


def _mark_prefixed(marks: bytearray, tokens: Sequence[str], position: int) -> None:
    target = position + 1
    if target < len(tokens) and tokens[target] == "-":
        target += 1
    if target < len(tokens):
        marks[target] |= PREFIXED
