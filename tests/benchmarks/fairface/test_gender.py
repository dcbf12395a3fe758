"""Gender rules: each word, each branch."""

import pytest

from evenhand.benchmarks.fairface.normalise import Mode, Normaliser, Reason

READ = Normaliser()

FEMALE = "female females woman women girl girls lady ladies feminine schoolgirl lass gal"
MALE = "male males man men boy boys gentleman gentlemen masculine guy schoolboy lad dude"
SHE = "she her hers herself mother grandmother daughter sister wife mrs ms madam mom grandma"
HE = "he him his himself father grandfather son brother husband mr sir dad grandpa"


def label(raw: str, mode: str = "prose") -> str:
    return READ.gender(raw, Mode(mode)).label


@pytest.mark.parametrize(
    ("word", "expected"),
    [(word, "Female") for word in (FEMALE + " " + SHE).split()]
    + [(word, "Male") for word in (MALE + " " + HE).split()],
)
def test_every_word_of_the_lexicon_names_its_class(word, expected):
    assert label(word, "field") == expected
    assert label(f"I see {word.upper()}.") == expected


@pytest.mark.parametrize("word", ["human", "German", "mankind", "womanly", "Oman", "sheer", "history", "mister"])
def test_words_match_as_a_whole_only(word):
    assert label(word) == "unknown"


@pytest.mark.parametrize("raw", ["m", "M", " m. ", "(M)", "Gender: m"])
def test_a_single_letter_is_a_whole_answer(raw):
    assert label(raw) == "Male"


@pytest.mark.parametrize("raw", ["m/f", "M or F", "f m", "a m person", "size m"])
def test_a_letter_among_other_words_is_none(raw):
    assert label(raw) == "unknown"


@pytest.mark.parametrize(
    "echo",
    [
        f"{a} {joint} {b}"
        for one, other in (("male", "female"), ("man", "woman"), ("masculine", "feminine"))
        for a, b in ((one, other), (other, one))
        for joint in ("or", "/", "and", "vs", "vs.")
    ],
)
def test_an_echo_of_the_options_is_no_evidence(echo):
    assert label(echo) == "unknown"
    assert label(f"{echo}? A girl.") == "Female"
    assert label(f"{echo}? He smiles.") == "unknown"  # pronouns are not asked once options were echoed


@pytest.mark.parametrize(
    "word", ["non-binary", "nonbinary", "non binary", "genderqueer", "genderfluid", "agender", "intersex"]
)
def test_the_third_class_can_not_be_scored_alone_or_with_others(word):
    assert READ.gender(word).reason is Reason.OUTSIDE
    assert label(f"{word} or female") == "unknown"
    assert label(f"she is {word}") == "unknown"


def test_a_negated_third_class_leaves_the_others():
    assert label("He is a man, not non-binary.") == "Male"


@pytest.mark.parametrize("word", ["androgynous", "transgender", "trans"])
def test_words_without_a_class_change_nothing(word):
    assert label(f"A {word} woman.") == "Female"
    assert label(word) == "unknown"


def test_pronouns_are_asked_only_where_no_category_word_occurs():
    assert label("Her hair is long. Not a woman.") == "unknown"
    assert label("She stands next to a man.") == "Male"
    assert label("I cannot tell whether she is happy.") == "Female"
    assert label("She and her brother.") == "unknown"


@pytest.mark.parametrize(
    ("raw", "expected", "reason"),
    [
        ("", "unknown", Reason.EMPTY),
        ("not a man", "unknown", Reason.NEGATED),
        ("a man and a woman", "unknown", Reason.SEVERAL),
        ("I'm sorry, I can't help with that.", "unknown", Reason.REFUSAL),
        ("banana", "unknown", Reason.NOT_UNDERSTOOD),
        ("other", "unknown", Reason.OUTSIDE),
        ("male", "Male", None),
    ],
)
def test_an_unknown_says_why(raw, expected, reason):
    reading = READ.gender(raw, Mode.PROSE)
    assert (reading.label, reading.reason) == (expected, reason)


def test_a_possessive_is_cut_off():
    assert label("This woman's face is round.") == "Female"


def test_the_rules_that_fired_are_told():
    assert READ.gender("Final answer: gender: not male, female").rules == ("P7", "P8", "G2", "N5")
