"""Negation, shared by all attributes."""

import pytest

from evenhand.benchmarks.fairface.normalise import Mode, Normaliser

READ = Normaliser()


def gender(raw: str) -> str:
    return READ.gender(raw, Mode.PROSE).label


@pytest.mark.parametrize(
    "cue",
    [
        "not",
        "no",
        "never",
        "neither",
        "nor",
        "without",
        "unlikely",
        "rather than",
        "other than",
        "instead of",
        "isn't",
        "wasn't",
        "aren't",
    ],
)
def test_a_clause_cue_negates_to_the_end_of_the_clause(cue):
    assert gender(f"{cue} a man") == "unknown"
    assert gender(f"{cue} a man in this old picture here") == "unknown"
    assert gender(f"{cue} a woman, a man") == "Male"


@pytest.mark.parametrize("end", [".", "!", "?", ";", ",", ":", " (", ")", "\n"])
def test_every_clause_end_ends_a_clause_scope(end):
    assert gender(f"not a woman{end} a man") == "Male"


CONTRASTS = ["but", "however", "though", "although", "yet", "still", "nevertheless", "nonetheless", "instead"]


@pytest.mark.parametrize("word", CONTRASTS)
def test_a_contrast_word_ends_every_scope(word):
    assert gender(f"not a woman {word} a man") == "Male"
    assert gender(f"I cannot see a woman {word} a man") == "Male"


CUES = (
    "cannot|can't|couldn't|won't|wouldn't|don't|doesn't|didn't|can not|could not|do not|does not|"
    "did not|am not|unable|impossible|difficult|hard|unclear|uncertain|unsure|refuse|whether"
)


@pytest.mark.parametrize("cue", CUES.split("|"))
def test_a_sentence_cue_reaches_over_commas(cue):
    assert gender(f"{cue} this, a man") == "unknown"
    assert gender(f"{cue} this. A man.") == "Male"
    assert gender(f"{cue} this; a man") == "Male"
    assert gender(f"{cue} this\na man") == "Male"


@pytest.mark.parametrize("hedge", ["probably", "likely", "possibly", "perhaps", "maybe", "guess", "estimate", "say"])
def test_a_hedge_ends_a_sentence_scope_unless_after_whether(hedge):
    assert gender(f"It is unclear, {hedge} a man") == "Male"
    assert gender(f"It is unclear whether {hedge} a man") == "unknown"


def test_a_hedge_closes_a_clause_scope_that_was_opened_inside():
    assert gender("I cannot see, not really, probably a man") == "Male"
    assert gender("unable to see and not sure maybe a man") == "Male"


def test_a_hedge_does_not_close_a_clause_scope_on_its_own():
    assert gender("not probably a man") == "unknown"


@pytest.mark.parametrize(
    "phrase", ["No doubt", "Without doubt", "Without a doubt", "No question", "Not only", "No longer"]
)
def test_some_phrases_only_look_like_negations(phrase):
    assert gender(f"{phrase} a man") == "Male"


@pytest.mark.parametrize("prefix", ["non-", "non ", "Non-"])
def test_a_prefix_negates_the_next_word_only(prefix):
    assert READ.race(f"{prefix}Hispanic White").label == "White"
    assert READ.race(f"{prefix}white").label == "unknown"


def test_a_negated_word_says_nothing_of_its_opposite():
    assert gender("not male") == "unknown"
    assert READ.race("not white").label == "unknown"
    assert READ.age("not a child").interval is None


@pytest.mark.parametrize("hedge", ["likely", "possibly", "appears", "maybe", "seems"])
def test_a_hedge_never_weakens_a_statement(hedge):
    assert gender(f"{hedge} female") == "Female"
