"""Raw text made comparable: one alphabet, one dash, one case (rules P1 to P8), then words.

Every step takes time proportional to the length of the text, whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar
from unicodedata import combining, normalize

Result = TypeVar("Result")

LONGEST_REMEMBERED: Final = 64
MOST_REMEMBERED: Final = 8192

# P2 and P3. What Unicode calls dash punctuation, and the signs that are drawn like one.
_DASHES = (
    "\u02d7\u058a\u05be\u1400\u1806\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u207b\u208b\u2212"
    "\u2e17\u2e3a\u2e3b\u301c\u3030\ufe31\ufe32\ufe58\ufe63\uff0d"
)
_SINGLE_QUOTES = "\u00b4\u02b9\u02bc\u2018\u2019\u201a\u201b\u2032\uff07"
_DOUBLE_QUOTES = "\u00ab\u00bb\u201c\u201d\u201e\u201f\u2033\uff02"
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_SIGNS: Final = str.maketrans(
    dict.fromkeys(_DASHES, "-")
    | dict.fromkeys(_SINGLE_QUOTES, "'")
    | dict.fromkeys(_DOUBLE_QUOTES, '"')
    | dict.fromkeys(_INVISIBLE, "")
    | {"≥": ">=", "≤": "<=", "⩾": ">=", "⩽": "<=", "\r": "\n", "\u2028": "\n", "\u2029": "\n", "\u0085": "\n"}
)
# P5 and P6. Every sign that `str.isspace` calls a blank, but the line end.
BLANKS: Final = (
    "\t\v\f\x1c\x1d\x1e\x1f \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_MARKUP: Final = str.maketrans(dict.fromkeys("*`#_" + BLANKS, " ") | {"\r": "\n"})
_ASCII: Final = bytes(ord(chr(sign).casefold().translate(_MARKUP)) if sign < 128 else sign for sign in range(256))
_SPACES: Final = re.compile(r" {2,}")

_FINAL_ANSWER: Final = re.compile(r"\banswer(?: is)? ?[:=]")

# A question that is repeated before the answer, and the options that it offers.
_QUESTION: Final = re.compile(
    r"(?:(?<=[.!?\n:>])|^) ?(?:q(?:uestion)?(?: \d+)? ?[:.)] ?)?"
    r"(?:what|which|who|is|are|does|do|how|can|could|would|based on|looking at|please)\b[^.!?\n]{1,400}+\?"
)
_OPTIONS: Final = re.compile(r"\b(?:options|choices|candidates|possible (?:answers|values))(?: are)? ?:[^\n.;]*+")

_GENDER_LABEL = r"(?P<gender>(?:gender|sex)(?: ?/ ?(?:gender|sex))?(?: (?:identity|expression|presentation))?)"
_RACE_LABEL = (
    r"(?P<race>race(?: ?[/&] ?ethnicity| (?:or|and) ethnicity)?|ethnicity(?: ?/ ?race| or race)?"
    r"|(?:ethnic|racial) (?:group|background|origin|category|appearance|identity))"
)
_AGE_LABEL = r"(?P<age>age(?: (?:range|group|bracket|estimate|bin|category))?)"
_LABEL: Final = re.compile(  # the first letters are looked at before all else, for speed
    r"(?=[aeglprs])\b(?:(?:perceived|apparent|estimated|predicted|approximate|approx|likely)\.? )?"
    rf"(?:{_GENDER_LABEL}|{_RACE_LABEL}|{_AGE_LABEL})"
    r"(?: ?\([^()\n]*\))?(?:[\"']? ?(?:[:=]>?|-+>|\?)| - )"
)
_BEGINS_QUESTION: Final = re.compile(r"(?:^|[.!?;,|\n)]) ?$")
# A full stop ends a sentence unless it belongs to a number or to an abbreviation before one ("approx. 30").
_VALUE_END: Final = re.compile(r"[\n;|!?]|\.(?:(?<!\bapprox\.)(?<!\bca\.)(?=\s|$)|(?=\s\D|\s?$))")

_TOKEN: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+(?:\.\d+)?|\n|[^\w\s]")
_ASCII_TOKEN: Final = re.compile(r"[a-z]+(?:'[a-z]+)*|[0-9]+(?:\.[0-9]+)?|\n|[!-/:-@\[-^`{-~]")  # of lower-case text


class TextCache(dict[str, Result], Generic[Result]):
    """What a function of a text gives, with the latest short texts remembered.

    Words and short values come again in thousands of answers; long texts rarely do and are never kept, so that
    the memory stays small. The function must depend on the text alone, and what it gives must not be changed.
    A full memory is emptied and fills again.

    >>> asked = []
    >>> lengths = TextCache(lambda text: asked.append(text) or len(text))
    >>> lengths["man"], lengths["man"], asked
    (3, 3, ['man'])
    """

    def __init__(self, find: Callable[[str], Result]) -> None:
        super().__init__()
        self.find = find

    def __missing__(self, text: str) -> Result:
        result = self.find(text)
        if len(text) <= LONGEST_REMEMBERED:
            if len(self) >= MOST_REMEMBERED:
                self.clear()
            self[text] = result
        return result


class Passage(NamedTuple):
    """The part of an answer that is read, and the rules that chose it."""

    text: str
    rules: tuple[str, ...]


def prepare(raw: str) -> str:
    """The text in one alphabet, case and kind of dash (rules P1 to P6).

    Accents go before the letters are decomposed: long runs of combining marks
    would otherwise take quadratic time to be put in order.

    >>> prepare("**Ｍāori** – “twenty‑five”")
    'maori - "twenty-five"'
    """
    text = raw.replace("\r\n", "\n") if "\r" in raw else raw
    if text.isascii():
        text = text.encode().translate(_ASCII).decode()  # the same as below, by one table
    else:
        text = "".join([sign for sign in text.translate(_SIGNS) if not combining(sign)])
        text = "".join([sign for sign in normalize("NFKD", text) if not combining(sign)]).translate(_SIGNS)
        text = text.casefold().translate(_MARKUP)
    return (_SPACES.sub(" ", text) if "  " in text else text).strip()


def final_answer(text: str) -> Passage:
    """What follows the last `answer:`, unless nothing does (rule P7).

    >>> final_answer("long hair, a woman? final answer: male").text
    'male'
    """
    if "answer" in text:
        _, *answers = _FINAL_ANSWER.split(text)
        if answers and (last := answers[-1].strip()):
            return Passage(last, ("P7",))
    return Passage(text, ())


def without_questions(text: str) -> str:
    """A text without the question that it repeats, unless nothing else is left, or it says yes to it.

    >>> without_questions("is the person black or white? white.").strip()
    'white.'
    """
    if "?" in text:
        rest = _QUESTION.sub(" ", text).strip()
        if rest and not rest.startswith(("yes", "no", ",")) and any(sign.isalnum() for sign in rest):
            text = rest
    if ":" in text and ("options" in text or "choices" in text or "possible" in text or "candidates" in text):
        rest = _OPTIONS.sub(" ", text).strip()
        text = rest or text
    return text


def labelled_values(text: str) -> dict[str, str]:
    """The last non-empty value behind a label of each attribute (rule P8).

    >>> labelled_values("gender: male; age (years): 20-30, sure")
    {'gender': 'male', 'age': '20-30, sure'}
    >>> labelled_values("race? white. do i know the age? no.")
    {'race': 'white'}
    """
    values: dict[str, str] = {}
    if ":" not in text and "=" not in text and " -" not in text and "?" not in text:
        return values
    # A label with a question mark must be a question of its own: "Age? 25", not "Can you tell the age? No".
    labels = [
        label
        for label in _LABEL.finditer(text)
        if label[0][-1] != "?" or _BEGINS_QUESTION.search(text, max(label.start() - 2, 0), label.start())
    ]
    for position, label in enumerate(labels):
        stop = labels[position + 1].start() if position + 1 < len(labels) else len(text)
        end = _VALUE_END.search(text, label.end(), stop)
        value = text[label.end() : end.start() if end else stop].strip()
        if value:
            values[str(label.lastgroup)] = value
    return values


def words(text: str) -> list[str]:
    """Letter runs with inner apostrophes, numbers, single signs and line ends; a possessive `'s` is cut off.

    >>> words("the man's non-binary friend is 29.5.")
    ['the', 'man', 'non', '-', 'binary', 'friend', 'is', '29.5', '.']
    """
    # All but the first condition say what `text.islower()` alone does, which is slower.
    if text.isascii() and text == text.lower() and (text[:1].isalpha() or text.islower()):
        tokens: list[str] = []
        for piece in text.split(" "):
            tokens += _PIECES[piece]
        return tokens
    return _tokens(_TOKEN, text)


def _tokens(pattern: re.Pattern[str], text: str) -> list[str]:
    tokens: list[str] = pattern.findall(text)
    if "'s" in text:
        return [token[:-2] if token.endswith("'s") else token for token in tokens]
    return tokens


def _tokens_of_piece(piece: str) -> list[str]:
    """The tokens of lower-case ASCII text without a space; most such pieces are one word or one number."""
    return [piece] if piece.isalpha() or piece.isdecimal() else _tokens(_ASCII_TOKEN, piece)


# No token holds a space and none depends on what stands beside it, so the tokens of a text are those of its pieces.
_PIECES: Final = TextCache(_tokens_of_piece)
