"""The rule table of `lexicon/rules.toml`: what `describe` prints, and what the tests hold the code to.

Each rule says what it does in a sentence and brings examples of the form
(answer, mode, what is understood). Lexicons are printed from the code's own tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from evenhand.benchmarks.fairface.normalise.age import SPANS
from evenhand.benchmarks.fairface.normalise.gender import CATEGORY_WORDS, PRONOUNS
from evenhand.benchmarks.fairface.normalise.lexicon import table
from evenhand.benchmarks.fairface.normalise.normaliser import NORMALISER_VERSION
from evenhand.benchmarks.fairface.normalise.race_lexicon import PHRASES


class Rule(NamedTuple):
    """A rule of the normaliser; `about` is the attribute, or `all`."""

    id: str
    about: str
    text: str
    examples: tuple[tuple[str, str, str], ...] = ()  # answer, mode, label or "low-high"


RULES: Final = tuple(
    Rule(rule["id"], rule["about"], rule["text"], tuple(map(tuple, rule.get("examples", ()))))
    for rule in table("rules.toml")["rules"]
)


def rule_text(attribute: str) -> str:
    """The rules and lexicons of an attribute, as `describe` prints them.

    >>> rule_text("gender").splitlines()[0]
    'Normaliser version 3'
    """
    return "\n".join(_lines(attribute))


def _lines(attribute: str) -> Iterator[str]:
    yield f"Normaliser version {NORMALISER_VERSION}"
    for rule in RULES:
        if rule.about in ("all", attribute):
            yield f"{rule.id:<6} {rule.text}"
            for raw, mode, label in rule.examples:
                yield f"         {raw!r} ({mode}): {label}{'no limit' if label.endswith('-') else ''}"
    yield "Words"
    yield from _LEXICONS[attribute]()


def _gender_words() -> Iterator[str]:
    for kind, listed in (("G2", CATEGORY_WORDS), ("G5", PRONOUNS)):
        for label in ("Male", "Female"):
            yield f"{kind:<6} {label}: {', '.join(word for word, named in listed.items() if named == label)}"


def _race_words() -> Iterator[str]:
    for label, phrases in PHRASES.items():
        yield f"R1     {label}: {', '.join(phrases)}"


def _age_words() -> Iterator[str]:
    for (low, high), phrases in SPANS.items():
        yield f"A8     {low}-{'no limit' if high is None else high}: {', '.join(phrases)}"


_LEXICONS: Final = {"gender": _gender_words, "race": _race_words, "age": _age_words}
