"""The data files of the normaliser: their keys and what each holds, so that a slip in a list is found here."""

import re
from importlib.resources import files

import pytest

from evenhand.benchmarks.fairface.normalise.lexicon import phrases, table
from evenhand.benchmarks.fairface.taxonomy import COARSE_OF, GENDERS

PHRASES, NUMBER, FLAG, SENTENCES = "phrases with commas", "a number", "true or false", "sentences"
RACES = ["Asian", *COARSE_OF, "mixed", "outside", "neutral"]


def lists(text):
    return dict.fromkeys(text.split(), PHRASES)


SCHEMA = {
    "age.toml": {
        "vague": PHRASES,
        "grammar": {
            **lists("cues_before estimating other_units not_known joints between_joints years months weeks_and_days"),
            **lists("fillers more less plus_minus"),
            "cues_of_two": {"*": PHRASES},
            "beyond": {"*": FLAG},
            "limits": {"*": FLAG},
        },
        "numbers": lists("units tens decades not_a_count_before after_digits"),
        "words": [{"low": NUMBER, "high": NUMBER, "phrases": PHRASES}],
    },
    "gender.toml": {
        "category": lists("Female Male"),
        "pronouns_and_kinship": lists("Female Male"),
        "third": lists("words pairs"),
        "echoes": lists("pairs joints"),
    },
    "keys.toml": {
        "objects": lists("fronts gender race age containers values ranges"),
        "records": lists("image text error attribute question list wrapping predicted true"),
    },
    "languages.toml": {"*": PHRASES},
    "negation.toml": lists(
        "clause_cues clause_pairs sentence_cues before_sentence_not no_cues contrasts conceding hedges"
    ),
    "patterns.toml": {
        "race": {"not_plain": PHRASES, "subjects": SENTENCES, "predicates": SENTENCES, "sentences": SENTENCES},
        "gender": {"sentences": SENTENCES, "slots": {"*": dict.fromkeys(GENDERS, PHRASES)}},
        "age": {"sentences": SENTENCES},
    },
    "race.toml": {
        "phrases": dict.fromkeys(RACES, PHRASES),
        "colours": lists("race other descriptors compounds"),
        "people": lists("words pronouns answers"),
        "things": lists("words pictures"),
        "grammar": lists(
            "copulas verbs prepositions worn worn_adverbs determiners function adverbs possessing of_a_place "
            "of_descent colour_joints not_adjectives structural"
        ),
    },
    "refusals.toml": lists("declining naming_others"),
    "rules.toml": {"rules": [{"id": "text", "about": "text", "text": "text", "examples": [["text"]]}]},
}
OPTIONAL = {"high", "examples"}


def mistakes(value, schema, place):
    """Where a value is not as the schema says."""
    if isinstance(schema, dict):
        expected = dict.fromkeys(value, schema["*"]) if "*" in schema else schema
        yield from (f"{place}: {key} is unknown or missing" for key in (value.keys() ^ expected.keys()) - OPTIONAL)
        for key in value.keys() & expected.keys():
            yield from mistakes(value[key], expected[key], f"{place}.{key}")
    elif isinstance(schema, list):
        for number, entry in enumerate(value):
            yield from mistakes(entry, schema[0], f"{place}[{number}]")
    elif schema == PHRASES:
        if not phrases(value) or not all(phrase == phrase.strip() for phrase in phrases(value)):
            yield f"{place}: no phrases"
        if re.search(r",\s*(,|$)", value):
            yield f"{place}: nothing between two commas, or behind the last one"
    elif schema == NUMBER and not 0 <= value <= 120:
        yield f"{place}: {value} is no age"
    elif (schema == FLAG and not isinstance(value, bool)) or (schema == SENTENCES and not all(map(str.strip, value))):
        yield f"{place}: not {schema}"


@pytest.mark.parametrize("name", SCHEMA)
def test_a_list_has_the_keys_and_values_that_are_read(name):
    assert list(mistakes(table(name), SCHEMA[name], name)) == []


def test_every_list_is_checked():
    there = {file.name for file in files("evenhand.benchmarks.fairface").joinpath("lexicon").iterdir()}
    assert {name for name in there if name.endswith(".toml")} == set(SCHEMA)


def test_words_that_are_compared_with_prepared_text_are_in_lower_case():
    for name in ("negation.toml", "refusals.toml", "languages.toml"):
        for text in table(name).values():
            assert text == text.lower()
