"""The rule table: what `describe` prints, and what the tests hold the code to.

Each rule says what it does in a sentence and brings examples of the form
(answer, mode, what is understood). Lexicons are printed from the code's own tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from evenhand.benchmarks.fairface.normalise.age_words import AGE_WORDS
from evenhand.benchmarks.fairface.normalise.gender import CATEGORY_WORDS, PRONOUNS
from evenhand.benchmarks.fairface.normalise.normaliser import NORMALISER_VERSION
from evenhand.benchmarks.fairface.normalise.race_lexicon import PHRASES


class Rule(NamedTuple):
    """A rule of the normaliser; `about` is the attribute, or `all`."""

    id: str
    about: str
    text: str
    examples: tuple[tuple[str, str, str], ...] = ()  # answer, mode, label or "low-high"


RULES: Final = (
    Rule("P0", "all", "Reasoning (`<think>`) is removed; tags and table cells label values, other tags are blanks."),
    Rule("P1-P6", "all", "One alphabet (NFKC), one dash, straight quotes, no accents, lower case, no markup signs."),
    Rule("P7", "all", "After `answer:` or `final answer:` only what follows the last one is read."),
    Rule(
        "P8",
        "all",
        "A labelled value (`Gender: …`, `Age range = …`) is read alone, up to the next label, line end, `;`, `|` "
        "or sentence end; the last that is not empty wins.",
    ),
    Rule(
        "S1", "all", "An object in the text is read as JSON; trailing commas and Python's way of writing are forgiven."
    ),
    Rule("S2", "all", "A list stands for its first object; containers such as `result` are looked into, one level."),
    Rule("S3", "all", "Of several objects with known keys the last counts."),
    Rule("S4", "all", "Keys are compared by their letters: `Age (years)` is `ageyears`; `dominant_…` comes first."),
    Rule("S5", "all", "Numbers are ages only; score tables give their best label; two equal best scores are unknown."),
    Rule("S6", "all", "A recognised object decides alone: a key that is absent is unknown."),
    Rule("S7", "all", "Of an object that was cut off, only complete pairs are used."),
    Rule("N1", "all", "not, no, never, neither, nor, without, unlikely, rather than …: negate up to the clause's end."),
    Rule(
        "N2", "all", "cannot, unable, hard, unclear, whether …: negate up to the sentence's end, a contrast or a hedge."
    ),
    Rule("N3", "all", "`non-` negates the next word."),
    Rule("N4", "all", "no doubt, no question, not only, no longer, without a doubt negate nothing."),
    Rule("L1", "all", "An answer in another language in which nothing was read is unknown for that reason."),
    Rule("N5", "all", "A negated word is no evidence, neither for itself nor for the opposite."),
    Rule("G1", "gender", "The whole answer is `m` or `f`.", (("M", "field", "Male"), ("f.", "field", "Female"))),
    Rule("G2", "gender", "Words of a category, as whole words.", (("a female person", "field", "Female"),)),
    Rule(
        "G3",
        "gender",
        "An echo of the options (`male or female`) is no evidence.",
        (("male/female", "field", "unknown"),),
    ),
    Rule(
        "G4",
        "gender",
        "Non-binary and the like are a third class that can't be scored.",
        (("agender", "field", "unknown"),),
    ),
    Rule(
        "G5",
        "gender",
        "Pronouns and kinship, only where no word of a category and no echo occurs; never negated.",
        (("I can't tell his age.", "prose", "Male"),),
    ),
    Rule("G6", "gender", "Exactly one class must be asserted.", (("a man or possibly a woman", "prose", "unknown"),)),
    Rule(
        "R1", "race", "Phrases of the lexicon, longest first, hyphens ignored.", (("Asian Indian", "field", "Indian"),)
    ),
    Rule(
        "R2",
        "race",
        "black and white count when said of a person: before a person noun, or where the subject's head is no thing.",
        (
            ("She has long black hair.", "prose", "unknown"),
            ("The man in the white shirt is black.", "prose", "Black"),
        ),
    ),
    Rule("R3", "race", "Mixed and outside terms make the answer unknown.", (("American Indian", "field", "unknown"),)),
    Rule("R4", "race", "Neutral phrases carry nothing.", (("white South African", "field", "White"),)),
    Rule("R5", "race", "Negated terms are removed.", (("Hispanic, not Black", "field", "Latino_Hispanic"),)),
    Rule(
        "R6",
        "race",
        "Unspecified Asian gives way to Indian, East or Southeast Asian, unless offered as `Asian or Indian`.",
        (("Asian (Indian)", "field", "Indian"), ("Asian or Indian", "field", "unknown")),
    ),
    Rule("R7", "race", "One coarse class must remain.", (("White or Hispanic", "field", "unknown"),)),
    Rule("R8", "race", "The fine label is known when exactly one of the seven is asserted."),
    Rule(
        "A0",
        "age",
        "Number words become digits; percentages, confidences, list numbers, years go.",
        (("twenty-five", "field", "25-25"),),
    ),
    Rule("A1", "age", "`more than 70` is FairFace's own label.", (("more than 70", "field", "70-"),)),
    Rule("A2", "age", "Months are twelfths, rounded down; weeks and days are 0.", (("18 months old", "field", "1-1"),)),
    Rule("A3", "age", "a ± b.", (("35 +/- 5", "field", "30-40"),)),
    Rule("A4", "age", "Decades and teens, with early, mid and late.", (("mid to late 50s", "field", "54-59"),)),
    Rule("A5", "age", "One-sided ages.", (("over 60", "field", "61-"), ("under 18", "field", "0-17"))),
    Rule("A6", "age", "Two numbers with a joint between them.", (("between 25 and 35", "field", "25-35"),)),
    Rule(
        "A7",
        "age",
        "One number with an age cue or in an enumeration; without either in a field.",
        (("about 35", "prose", "35-35"), ("woman, 30", "prose", "30-30"), ("175 cm", "field", "unknown")),
    ),
    Rule(
        "A8",
        "age",
        "Words, where no number is found.",
        (("middle-aged", "field", "40-59"), ("adult", "field", "unknown")),
    ),
    Rule(
        "A9",
        "age",
        "Negated ages are removed; a one-sided age that is denied becomes its complement.",
        (("not 30 but 40 years old", "prose", "40-40"), ("She can't be over 40.", "prose", "0-40")),
    ),
    Rule(
        "A10",
        "age",
        "Several ages: joined ones become one, of nested ones the narrowest counts, others are unknown.",
        (("20s or 30s", "field", "20-39"), ("20, 25", "field", "unknown")),
    ),
    Rule("A11", "age", "Ages run from 0 to 120.", (("150", "field", "unknown"),)),
)


def rule_text(attribute: str) -> str:
    """The rules and lexicons of an attribute, as `describe` prints them.

    >>> rule_text("gender").splitlines()[0]
    'Normaliser version 2'
    """
    return "\n".join(_lines(attribute))


def _lines(attribute: str) -> Iterator[str]:
    yield f"Normaliser version {NORMALISER_VERSION}"
    for rule in RULES:
        if rule.about in ("all", attribute):
            yield f"{rule.id:<6} {rule.text}"
            for raw, mode, label in rule.examples:
                yield f"         {raw!r} ({mode}): {_shown(label)}"
    yield "Words"
    yield from _LEXICONS[attribute]()


def _shown(label: str) -> str:
    return f"{label}no limit" if label.endswith("-") else label


def _gender_words() -> Iterator[str]:
    for kind, table in (("G2", CATEGORY_WORDS), ("G5", PRONOUNS)):
        for label in ("Male", "Female"):
            yield f"{kind:<6} {label}: {', '.join(word for word, named in table.items() if named == label)}"


def _race_words() -> Iterator[str]:
    for label, phrases in PHRASES.items():
        yield f"R1     {label}: {', '.join(phrases)}"


def _age_words() -> Iterator[str]:
    by_span: dict[tuple[int, int | None], list[str]] = {}
    for entries in AGE_WORDS.values():
        for entry in entries:
            by_span.setdefault((entry.low, entry.high), []).append(" ".join(entry.words))
    for (low, high), phrases in sorted(by_span.items(), key=lambda item: (item[0][0], item[0][1] or 999)):
        yield f"A8     {low}-{'no limit' if high is None else high}: {', '.join(phrases)}"


_LEXICONS: Final = {"gender": _gender_words, "race": _race_words, "age": _age_words}
