"""The words of an age answer with its numbers made plain (rule A0).

`thirty-five` becomes 35, `forty-something` and `20's` become decades; percentages,
confidences, list numbers and, in prose, years such as 1980 are taken out.
"""

from __future__ import annotations

import re
from itertools import compress, count
from typing import Final, NamedTuple

from evenhand.benchmarks.fairface.normalise.lexicon import phrases, table
from evenhand.benchmarks.fairface.normalise.lexicon import words as word_set
from evenhand.benchmarks.fairface.normalise.readings import Mode
from evenhand.benchmarks.fairface.normalise.text import words
from evenhand.benchmarks.fairface.normalise.tokenized import TokenizedText

_WORDS: Final = table("age.toml")["numbers"]
_UNITS: Final = {word: value for value, word in enumerate(phrases(_WORDS["units"]))}
_TENS: Final = {word: 10 * value for value, word in enumerate(phrases(_WORDS["tens"]), start=2)} | {"fourty": 40}
_DECADES: Final = {word: 10 * value for value, word in enumerate(phrases(_WORDS["decades"]), start=2)} | {
    f"{word}something": value for word, value in _TENS.items()
}
_NUMBERS: Final = {**_UNITS, **_TENS, "hundred": 100}
NUMBER_WORDS: Final = frozenset([*_NUMBERS, *_DECADES])

_NOT_A_COUNT_BEFORE: Final = word_set(_WORDS["not_a_count_before"])

_TILDE_BETWEEN: Final = re.compile(r"(?<=[\ds]) ?~ ?(?=\d)")
_CONFIDENCE: Final = re.compile(
    r"\b(?:confidence|probability|score|certainty)\D{0,12}?\d++(?:\.\d++)?(?: ?[-/] ?\d++(?:\.\d++)?)?"
)
_ENUMERATOR: Final = re.compile(r"^ ?\(?(?:\d|1[0-2])[.)] (?=\S)", re.MULTILINE)
_AFTER_DIGITS: Final = word_set(_WORDS["after_digits"])
_ENDS_ENUMERATOR: Final = (".", ")")
_NEGATIVE: Final = re.compile(r"-(?=\d)(?:(?<=^-)|(?<=[\n(\[{,:;=<>]-)|(?<=[\n(\[{,:;=<>] -))")
_BEFORE_MINUS: Final = frozenset("\n([{,:;=<>")
_MINUS: Final = "\u00ac"
_IS_BEFORE_COLON: Final = ":".__gt__
_NUMERIC: Final = NUMBER_WORDS | {"teens", _MINUS}
_FAR_OUTSIDE: Final = 1e9
_SHORTEST_YEAR: Final = 4  # digits
_PROSE: Final = Mode.PROSE
DECADE_WORDS: Final = frozenset(f"{decade}s" for decade in range(10, 130, 10))  # as they stand in `words`
TEENS: Final = 13  # the "decade" from 13 to 19


class Numbered(NamedTuple):
    """Words and signs of an answer; where one is a number or a decade, its value."""

    words: list[str]
    numbers: dict[int, float]  # position in `words` → value
    decades: dict[int, int]  # position in `words` → first year of the decade, or TEENS


def numbered(text: TokenizedText, mode: Mode) -> Numbered:
    """The words of a prepared text with its numbers recognised.

    >>> plain = numbered(TokenizedText("forty-something, or thirty-five? 90% sure"), Mode.FIELD)
    >>> plain.decades, plain.numbers
    ({0: 40}, {3: 35.0})
    """
    tokens = text.tokens
    numeric = _numeric(text.text, tokens)
    if numeric and _may_need_rewriting(text.text, tokens, numeric):
        rewritten = _rewrite(text.text)
        if rewritten != text.text:
            tokens = words(rewritten)
            numeric = _numeric(rewritten, tokens)
    return _recognise(tokens, numeric, mode)


def _may_need_rewriting(text: str, tokens: list[str], numeric: list[int]) -> bool:
    """Whether `_rewrite` can change a text with numbers at some of its words: False is certain, True is not.

    Besides tildes and words of confidence it changes list numbers, which are digits between
    the beginning of a line and a full stop or bracket, and minus signs, which are hyphens
    before digits, at the beginning of the text or behind a sign.
    """
    if "~" in text or "confidence" in text or "probability" in text or "score" in text or "certainty" in text:
        return True
    for at in numeric:
        if at + 1 < len(tokens) and tokens[at + 1] in _ENDS_ENUMERATOR and _begins_line(tokens, at):
            return True
        if at and tokens[at - 1] == "-" and (at == 1 or tokens[at - 2] in _BEFORE_MINUS):
            return True
    return False


def _begins_line(tokens: list[str], at: int) -> bool:
    """Whether nothing but a bracket stands between the beginning of a line and a position."""
    before = at - 2 if at and tokens[at - 1] == "(" else at - 1
    return before < 0 or tokens[before] == "\n"


def _rewrite(text: str) -> str:
    """A text without list numbers and confidences, each tilde a dash or `about`, each minus a sign of its own."""
    if "~" in text:
        text = _TILDE_BETWEEN.sub("-", text).replace("~", " about ")
    if "\n" in text or text[0] in "( " or text[0].isdecimal():
        text = _ENUMERATOR.sub("", text)
    if "-" in text:
        text = _NEGATIVE.sub(_MINUS, text)
    return _CONFIDENCE.sub(" ", text)


def _recognise(tokens: list[str], numeric: list[int], mode: Mode) -> Numbered:
    words: list[str] = []
    numbers: dict[int, float] = {}
    out = Numbered(words, numbers, {})
    end = len(tokens)
    free = 0  # the first token that is not yet in the output
    for position in numeric:
        if position < free:
            continue
        token = tokens[position]
        stands_alone = token < ":" and (position + 1 == end or tokens[position + 1] not in _AFTER_DIGITS)
        if stands_alone and len(token) < _SHORTEST_YEAR:  # it stays where it is, as by `_take_digits`, in fewer steps
            numbers[len(words) + position - free] = float(token)
            continue
        words += tokens[free:position]
        is_year = stands_alone and mode is _PROSE and token.isdecimal()  # as `_take_digits` finds it
        free = position + 1 if is_year else _take(tokens, position, mode, out)
    words += tokens[free:]
    return out


def _numeric(text: str, tokens: list[str]) -> list[int]:
    """Where a number may begin in the words of a text: at a word for one, a minus sign, or a digit of any script."""
    # Before ":" come signs and then digits, after it other signs and then letters.
    if text.isascii() and _NUMERIC.isdisjoint(tokens):
        return [at for at in compress(count(), map(_IS_BEFORE_COLON, tokens)) if tokens[at] >= "0"]
    return [
        at
        for at, token in enumerate(tokens)
        if (token >= "0" if token < ":" else token in _NUMERIC or (token > "\x7f" and token[0].isdecimal()))
    ]


def _take(tokens: list[str], position: int, mode: Mode, out: Numbered) -> int:
    """Append the number, or what only looks like one, at a position; returns the position after it."""
    token = tokens[position]
    if token[0].isdecimal():
        return _take_digits(tokens, position, mode, out, negative=False)
    if token in NUMBER_WORDS:
        return _take_words(tokens, position, out)
    if token == _MINUS:
        if position + 1 < len(tokens) and tokens[position + 1][0].isdecimal():
            return _take_digits(tokens, position + 1, mode, out, negative=True)
    elif "pre" not in tokens[max(position - 2, 0) : position]:
        out.decades[len(out.words)] = TEENS
    out.words.append(token)
    return position + 1


def _take_digits(tokens: list[str], position: int, mode: Mode, out: Numbered, negative: bool) -> int:
    """Append a number or decade in digits, unless it is a percentage or a year; returns the position after it."""
    token = tokens[position]
    whole = token.partition(".")[0]
    after = position + 1
    decade = False
    if after < len(tokens) and tokens[after] in _AFTER_DIGITS:
        following = tokens[after : after + 2]
        if following[0] in ("s", "something"):
            decade, after = True, after + 1
        elif following == ["'", "s"] or following == ["-", "something"]:
            decade, after = True, after + 2
        if _is_percentage(tokens, after):
            return after + 1
    if mode is _PROSE and len(whole) >= _SHORTEST_YEAR:
        return after
    value = float(token[:24]) if len(whole) < 10 else _FAR_OUTSIDE
    at = len(out.words)
    if decade and value % 10 == 0 and 10 <= value <= 120:
        out.decades[at] = int(value)
        out.words.append(f"{int(value)}s")
    else:
        out.numbers[at] = -value if negative else value
        out.words.append(token)
    return after


def _is_percentage(tokens: list[str], after: int) -> bool:
    """Whether a number that ends before `after` is a percentage, or the lower end of a range of percentages."""
    if after < len(tokens) and tokens[after] in ("%", "percent"):
        return True
    if after + 2 < len(tokens) and tokens[after] in ("-", "to") and tokens[after + 1][0].isdecimal():
        return tokens[after + 2] in ("%", "percent")
    return False


def _take_words(tokens: list[str], position: int, out: Numbered) -> int:
    """Append a number or decade in words; returns the position after it."""
    token = tokens[position]
    at = len(out.words)
    after = position + 1
    if token in _DECADES:
        out.decades[at] = _DECADES[token]
        out.words.append(f"{_DECADES[token]}s")
        return after
    if token == "one" and _is_pronoun(tokens, position):
        out.words.append(token)
        return after
    value = _NUMBERS[token]
    if token in _TENS:
        step = after + 1 if after < len(tokens) and tokens[after] == "-" else after
        joined = tokens[step] if step < len(tokens) else ""
        if 0 < _UNITS.get(joined, 0) < 10:
            value, after = value + _UNITS[joined], step + 1
        elif joined == "something":
            out.decades[at] = value
            out.words.append(f"{value}s")
            return step + 1
    elif token == "one" and after < len(tokens) and tokens[after] == "hundred":
        value, after = 100, after + 1
    out.numbers[at] = float(value)
    out.words.append(str(value))
    return after


def _is_pronoun(tokens: list[str], position: int) -> bool:
    """Whether `one` stands for somebody: "no one", "one of them"."""
    if position and tokens[position - 1] in _NOT_A_COUNT_BEFORE:
        return True
    return position + 1 < len(tokens) and tokens[position + 1] == "of"
