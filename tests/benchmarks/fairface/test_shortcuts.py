"""What the normaliser skips or remembers changes no reading: each shortcut against the long way."""

import copy

from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.benchmarks.fairface.normalise import (
    Mode,
    Normaliser,
    age_numbers,
    age_patterns,
    colours,
    gender,
    negation,
    race,
    text,
    tokenized,
)
from evenhand.benchmarks.fairface.normalise.age import AGE_WORDS
from evenhand.benchmarks.fairface.normalise.race_lexicon import (
    COLOURS,
    LEXICON,
)
from evenhand.benchmarks.fairface.normalise.text import LONGEST_REMEMBERED, MOST_REMEMBERED, TextCache
from evenhand.benchmarks.fairface.normalise.tokenized import TokenizedText

SIGNS = [*".,;:!?()[]{}/-+~%=<>'\"", "\n", "±", "¬"]
NUMBERS = [
    "5",
    "30",
    "70",
    "1980",
    "0.9",
    "29.5",
    "20s",
    "30's",
    "1.",
    "(2)",
    "12)",
    "-7",
    ", -5",
    "80-90%",
    "1~2",
    "٣",
]
CUES = [*negation._SPECIAL, "than", "of", "doubt", "a", "can", "do", "am", "isn't", "mustn't", "x'other", "n"]
COUNTS = [*age_numbers.NUMBER_WORDS, "teens", "something", "percent", "s", "to", "confidence", "score"]
AGES = [*age_patterns._TELLING, *age_patterns._FILLERS, *age_patterns._CUES_BEFORE, *age_patterns._PARTS, "at", "years"]
RACES = [word for phrases in LEXICON.values() for phrase in phrases for word in phrase.words]
SAID_OF = [*COLOURS, *colours._DESCRIPTORS, *colours._THINGS, *colours._PEOPLE, *colours._FUNCTION, *colours._VERBS]
GENDERS = [*gender._KNOWN, *gender.PRONOUNS, *gender.ECHO_JOINTS, "m", "f", "binary", "fluid"]
DECLINED = [phrase.replace(" ?", " ") for phrase in (*tokenized._DECLINING, *tokenized._NAMING_OTHERS)]
AGE_PHRASES = [" ".join(entry.words) for entries in AGE_WORDS.values() for entry in entries]
EVERYTHING = [SIGNS, NUMBERS, CUES, COUNTS, AGES, RACES, SAID_OF, GENDERS, DECLINED, AGE_PHRASES, ["the", "hair", "🙂"]]


def some(*lists, most=25):
    return st.lists(st.one_of([st.sampled_from(sorted(words)) for words in lists]), max_size=most)


def texts(*lists):
    joints = st.sampled_from([" ", " ", " ", "", "-", "'", "\n"])
    return st.lists(st.tuples(some(*lists, most=6).map(" ".join), joints), min_size=1, max_size=5).map(
        lambda pieces: text.prepare("".join(part + joint for part, joint in pieces))
    )


def quickly(test):
    return settings(max_examples=150, deadline=None)(test)


def test_the_blanks_are_all_that_unicode_knows():
    assert set(text.BLANKS) == {chr(sign) for sign in range(0x110000) if chr(sign).isspace()} - {"\n", "\r"}


@quickly
@given(st.text(st.characters(max_codepoint=127)))
def test_plain_text_is_prepared_as_any_other(raw):
    assert text.prepare(raw) == text.prepare(raw + "\u0301")  # the accent goes, and with it the short way


@quickly
@given(texts(*EVERYTHING))
def test_the_words_of_a_text_are_those_of_its_pieces(raw):
    if raw.isascii() and raw.islower():
        assert text.words(raw) == text._tokens(text._ASCII_TOKEN, raw)


@quickly
@given(texts(NUMBERS, SIGNS, COUNTS))
def test_a_text_with_nothing_to_rewrite_is_read_as_it_stands(raw):
    tokens = text.words(raw)
    numeric = age_numbers._numeric(raw, tokens)
    if numeric and not age_numbers._may_need_rewriting(raw, tokens, numeric):
        assert age_numbers._rewrite(raw) == raw


@quickly
@given(texts(NUMBERS, COUNTS, AGES, SIGNS), st.sampled_from(Mode))
def test_a_pattern_without_its_words_finds_nothing(raw, mode):
    plain = age_numbers.numbered(TokenizedText(raw), mode)
    ages = len(plain.numbers) + len(plain.decades)
    for pattern in age_patterns._IN_ORDER:
        if ages < pattern.ages or pattern.needs.isdisjoint(plain.words):
            assert list(pattern.find(age_patterns._Search(plain, mode))) == []


@quickly
@given(texts(DECLINED, CUES, SIGNS))
def test_a_refusal_begins_with_one_of_its_words(raw):
    if not tokenized._may_begin(raw, text.words(raw)):
        assert not tokenized._DECLINES.search(raw)
        assert not tokenized._NAMES_OTHERS.search(raw)


@quickly
@given(some(RACES))
def test_the_longest_phrase_is_found_as_by_trying_all(tokens):
    for at, token in enumerate(tokens):
        fitting = (
            race.Term(0, len(phrase.words), phrase.meaning)
            for phrase in LEXICON.get(token, ())
            if tuple(tokens[at : at + len(phrase.words)]) == phrase.words
        )
        if token in LEXICON:
            found = race.find_terms(tokens[at:])
            assert next((term for term in found if term.start == 0), None) == next(fitting, None)


@quickly
@given(some(COLOURS, ["the", "man", "hair", "is", "has", "and", "with", "who", "which"], [",", "but", ".", ":"]))
def test_a_colour_is_read_alike_whatever_was_asked_before(tokens):
    reader = colours.ColourReader(tokens)
    for at in (position for position, token in enumerate(tokens) if token in COLOURS):
        alone = colours.ColourReader(tokens).is_said_of_a_person(at, before_a_term=False)
        assert reader.is_said_of_a_person(at, before_a_term=False) == alone


@quickly
@given(some(["male", "female", "man", "woman", "boy", "nonbinary", "or", "and", "vs", "/", "."], most=12))
def test_echoes_are_found_as_by_looking_at_every_word(tokens):
    found = []
    for position in range(len(tokens)):
        for between in (["or"], ["and"], ["vs"], ["/"], ["vs", "."]):
            other = position + 1 + len(between)
            if other < len(tokens) and tokens[position + 1 : other] == between and position not in found:
                pair = tokens[position], tokens[other]
                found += [position, other] if pair in gender.ECHO_PAIRS else []
    known = [at for at, token in enumerate(tokens) if token in gender._KNOWN]
    assert gender._echoes(tokens, known) == frozenset(found)


@quickly
@given(texts(*EVERYTHING))
def test_an_answer_read_again_is_read_alike(raw):
    reader = Normaliser()
    first = reader.answer(raw), reader.gender(raw), reader.race(raw), reader.age(raw)
    assert (reader.answer(raw), reader.gender(raw), reader.race(raw), reader.age(raw)) == first
    fresh = Normaliser()
    assert (fresh.answer(raw), fresh.gender(raw), fresh.race(raw), fresh.age(raw)) == first


def test_a_memory_keeps_short_texts_and_never_many():
    lengths = TextCache(len)
    for number in range(MOST_REMEMBERED + 10):
        assert lengths[f"{number}"] == len(f"{number}")
    assert len(lengths) == 10
    assert lengths["a" * (LONGEST_REMEMBERED + 1)] == LONGEST_REMEMBERED + 1
    assert len(lengths) == 10


def test_a_normaliser_can_be_copied_with_what_it_remembers():
    reader = Normaliser(first_of_several=True)
    reader.answer("Gender: male")
    copied = copy.deepcopy(reader)
    assert copied == reader
    assert copied.race("white or black").label == "White"
    assert copied.answer("Gender: male") == reader.answer("Gender: male")
