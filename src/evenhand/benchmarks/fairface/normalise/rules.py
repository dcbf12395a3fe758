"""The rule table of `lexicon/rules.toml`: what `describe` prints, and what the tests hold the code to.

Each rule says what it does in a sentence and brings examples of the form
(answer, mode, what is understood). Lexicons are printed from the code's own tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from evenhand.benchmarks.fairface.normalise.age import SPANS
from evenhand.benchmarks.fairface.normalise.gender import CATEGORY_WORDS, PRONOUNS
from evenhand.benchmarks.fairface.normalise.lexicon import table
from evenhand.benchmarks.fairface.normalise.normaliser import NORMALISER_VERSION
from evenhand.benchmarks.fairface.normalise.race_lexicon import PHRASES
from evenhand.benchmarks.fairface.taxonomy import GENDERS


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
    for rule_id, label, phrases in _word_lists(attribute):
        yield f"{rule_id:<6} {label}: {', '.join(phrases)}"


def _word_lists(attribute: str) -> Iterator[tuple[str, str, Iterable[str]]]:
    if attribute == "gender":
        for rule_id, listed in (("G2", CATEGORY_WORDS), ("G5", PRONOUNS)):
            for label in GENDERS:
                yield rule_id, label, [word for word, named in listed.items() if named == label]
    elif attribute == "race":
        yield from (("R1", label, phrases) for label, phrases in PHRASES.items())
    else:
        for (low, high), phrases in SPANS.items():
            yield "A8", f"{low}-{'no limit' if high is None else high}", phrases
