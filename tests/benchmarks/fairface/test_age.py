"""Age rules: each way of writing an age, each word, each branch."""

import pytest

from evenhand.benchmarks.fairface.normalise import Mode, Normaliser, Reason
from evenhand.benchmarks.fairface.taxonomy import (
    AGE_BINS,
    AgeInterval,
    AgeKind,
    bins_beyond_touch,
    bins_overlapped,
    single_bin,
)

READ = Normaliser()
NO_LIMIT = None


def ages(raw, mode: str = "field"):
    interval = READ.age(raw, Mode(mode)).interval
    return None if interval is None else (interval.low, interval.high)


@pytest.mark.parametrize(
    ("raw", "low", "high"),
    [
        # A0
        ("forty-something", 40, 49),
        ("40-something", 40, 49),
        ("fiftysomething", 50, 59),
        ("ninety-nine", 99, 99),
        ("one hundred", 100, 100),
        ("about ~ 30", 30, 30),
        ("20 ~ 30", 20, 30),
        ("30 (90% sure)", 30, 30),
        ("80-90% sure, 30", 30, 30),
        ("35 (confidence 80)", 35, 35),
        ("35, score: 7/10", 35, 35),
        ("certainty of 95, age 20-29", 20, 29),
        ("probability 0.7; 41", 41, 41),
        ("1) 30-39", 30, 39),
        ("2. 55", 55, 55),
        ("nineteen", 19, 19),
        ("twelve to fifteen", 12, 15),
        ("55.", 55, 55),
        # A1
        ("more than 70 years old", 70, NO_LIMIT),
        ("More than 70.", 70, NO_LIMIT),
        ("more than 71", 72, NO_LIMIT),
        # A2
        ("11 months", 0, 0),
        ("12 months", 1, 1),
        ("24-month-old", 2, 2),
        ("6 to 18 months", 0, 1),
        ("10 days old", 0, 0),
        ("2 weeks", 0, 0),
        ("3 years 2 months", 3, 3),
        ("1 year and 11 months old", 1, 1),
        ("between 12 and 30 months", 1, 2),
        ("6 months to 2 years", 0, 2),
        ("eighteen months", 1, 1),
        # A3
        ("35 +/- 5", 30, 40),
        ("35 plus or minus 5 years", 30, 40),
        ("2 ± 5", 0, 7),
        ("30 years ± 2.5", 27, 32),
        ("40+-3", 37, 43),
        # A4
        ("20's", 20, 29),
        ("the 60s", 60, 69),
        ("late-20s", 27, 29),
        ("middle 40s", 44, 46),
        ("early to mid 30s", 30, 36),
        ("mid-late 30s", 34, 39),
        ("early teens", 13, 14),
        ("mid teens", 15, 16),
        ("mid to late teens", 15, 19),
        ("teens to 20s", 13, 29),
        ("20-30s", 20, 39),
        ("25 to early 30s", 25, 33),
        ("between his 20s and 30s", 20, 39),
        ("thirties or forties", 30, 49),
        ("100s", 100, 109),
        ("twenties to thirties", 20, 39),
        ("20s/30s", 20, 39),
        ("early 20s, maybe late 20s", 20, 29),
        # A5, up
        ("60 +", 60, NO_LIMIT),
        ("60 plus", 60, NO_LIMIT),
        ("60 or older", 60, NO_LIMIT),
        ("60 and above", 60, NO_LIMIT),
        ("60 and over", 60, NO_LIMIT),
        ("60 or up", 60, NO_LIMIT),
        ("60 or more", 60, NO_LIMIT),
        ("60 and beyond", 60, NO_LIMIT),
        ("60 years old or older", 60, NO_LIMIT),
        ("60 years of age and older", 60, NO_LIMIT),
        ("at least 30 years", 30, NO_LIMIT),
        (">= 40", 40, NO_LIMIT),
        ("≥40", 40, NO_LIMIT),
        ("not younger than 30", 30, NO_LIMIT),
        ("no less than 30", 30, NO_LIMIT),
        ("above 50", 51, NO_LIMIT),
        ("older than 50", 51, NO_LIMIT),
        ("more than 50", 51, NO_LIMIT),
        ("past 50", 51, NO_LIMIT),
        ("> 50", 51, NO_LIMIT),
        ("over the age of 60", 61, NO_LIMIT),
        ("40 to 50+", 40, NO_LIMIT),
        ("60-70 and older", 60, NO_LIMIT),
        (">29.5", 30, NO_LIMIT),
        # A5, down
        ("10 and younger", 0, 10),
        ("10 or under", 0, 10),
        ("10 and below", 0, 10),
        ("10 or less", 0, 10),
        ("at most 12", 0, 12),
        ("<= 12", 0, 12),
        ("not older than 12", 0, 12),
        ("no more than 12", 0, 12),
        ("no more than 70", 0, 70),
        ("under 2", 0, 1),
        ("below 30", 0, 29),
        ("less than 30", 0, 29),
        ("< 30", 0, 29),
        ("younger than 2.5", 0, 2),
        ("up to 5 years old", 0, 5),
        ("under the age of 18", 0, 17),
        # A6
        ("20 through 25", 20, 25),
        ("20 until 25", 20, 25),
        ("20, maybe 25", 20, 25),
        ("20, possibly 25", 20, 25),
        ("20, perhaps 25", 20, 25),
        ("20 or maybe 25", 20, 25),
        ("from 20 to 25", 20, 25),
        ("between ages 20 and 25", 20, 25),
        ("between the ages of 20 to 25", 20, 25),
        ("20 years to 25 years", 20, 25),
        ("24.9-30.1", 24, 30),
        ("40 to 35", 35, 40),
        ("20-25 years old", 20, 25),
        ("15- to 17-year-old", 15, 17),
        ("20 -30", 20, 30),
        # A7
        ("35 yrs", 35, 35),
        ("35yo", 35, 35),
        ("35-ish", 35, 35),
        ("35ish", 35, 35),
        ("35 years of age", 35, 35),
        ("0", 0, 0),
        ("120", 120, 120),
        ("120.5", 120, 120),
        ("0.5", 0, 0),
        ("approx. 30", 30, 30),
        ("ca. 30", 30, 30),
        ("Age: approx. 30", 30, 30),
        # A10
        ("30-39 or over 60", 30, None),
        ("30 or older than 60", 30, None),
        ("20-29 or 30-39", 20, 39),
        ("25-35, most likely 30", 30, 30),
        ("30 years old, so 30", 30, 30),
        ("over 60, 65", 65, 65),
        ("over 60, in the 70s", 70, 79),
        ("at least 60, over 65", 66, NO_LIMIT),
        ("teenager or young adult", 13, 29),
        ("toddler to preschooler", 1, 5),
    ],
)
def test_ages_in_a_field(raw, low, high):
    assert ages(raw) == (low, high)


@pytest.mark.parametrize(
    "cue",
    [
        "age",
        "aged",
        "ages",
        "approximately",
        "approx",
        "around",
        "about",
        "roughly",
        "circa",
        "ca",
        "nearly",
        "almost",
        "estimated",
        "estimated at",
        "estimated to be",
        "turning",
        "is",
        "to be",
        "likely",
        "probably",
        "at the age of",
        "~",
    ],
)
def test_a_cue_before_a_number_makes_it_an_age_in_prose(cue):
    assert ages(f"The person {cue} 34 in this picture", "prose") == (34, 34)


@pytest.mark.parametrize(
    "cue", ["years", "years old", "years of age", "yrs", "y/o", "yo", "-ish", "-year-old", "year old", "yr"]
)
def test_a_cue_after_a_number_makes_it_an_age_in_prose(cue):
    assert ages(f"We see 34 {cue} in this picture", "prose") == (34, 34)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("There are 3 people", None),
        ("34", (34, 34)),
        ("34.", (34, 34)),
        ("Photo 12 of 40", None),
        ("Taken in 1999, he is 40", (40, 40)),
        ("In 2021-2022 the 35-year-old", (35, 35)),
        ("In the 1990s, an elderly man", (65, None)),
        ("No one knows, maybe 30 years old", (30, 30)),
        ("One of them is 30", (30, 30)),
        ("A one-year-old", (1, 1)),
        ("He is not 30 years old, he is a teenager.", (13, 19)),
        ("I can't say. About 50.", (50, 50)),
        ("He is 25-30 years old and she is 26", (26, 26)),
        ("between 20 and 30. Or is it 40 to 50?", None),
    ],
)
def test_ages_in_prose(raw, expected):
    assert ages(raw, "prose") == expected


WORDS = {
    (0, 2): "newborn, neonate, infant, baby",
    (1, 3): "toddler",
    (3, 5): "preschooler, pre-schooler, preschool-age",
    (
        3,
        9,
    ): (
        "young child, small child, little child, young kid, small kid, little kid, young girl, small "
        "girl, little girl, young boy, small boy, little boy"
    ),
    (3, 12): "child, kid, schoolboy, schoolgirl, school-age",
    (10, 12): "preteen, pre-teen, tween",
    (13, 19): "teen, teenager, adolescent",
    (18, 29): "young adult",
    (40, 59): "middle-aged, middle age",
    (
        65,
        None,
    ): (
        "elderly, senior, senior citizen, old man, old woman, old lady, old person, old gentleman, "
        "older adult, geriatric"
    ),
    (60, 69): "sexagenarian",
    (70, 79): "septuagenarian",
    (80, 89): "octogenarian",
    (90, 99): "nonagenarian",
    (100, None): "centenarian",
}


@pytest.mark.parametrize(
    ("word", "expected"), [(word, span) for span, words in WORDS.items() for word in words.split(", ")]
)
def test_every_age_word_has_its_span(word, expected):
    assert ages(word) == expected
    assert ages(f"The picture shows a {word} smiling.", "prose") == expected
    assert ages(f"not a {word}") is None
    assert Normaliser(age_words=False).age(word).interval is None


@pytest.mark.parametrize(
    "word", ["adult", "grown-up", "young", "young man", "young woman", "youth", "old", "older", "mature", "minor"]
)
def test_vague_words_are_unknown(word):
    assert READ.age(word).reason is Reason.VAGUE


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("", Reason.EMPTY),
        ("150", Reason.RANGE),
        ("121", Reason.RANGE),
        ("-5", Reason.RANGE),
        ("(-5)", Reason.RANGE),
        ("1980", Reason.RANGE),
        ("100-130", Reason.RANGE),
        ("under 0", Reason.RANGE),
        ("over 120", Reason.RANGE),
        ("118 ± 5", Reason.RANGE),
        ("20, 25", Reason.SEVERAL),
        ("30 and under 20", Reason.SEVERAL),
        ("20-30, 25-35", Reason.SEVERAL),
        ("not 30", Reason.NEGATED),
        ("33.3%", Reason.NOT_UNDERSTOOD),
        ("33 percent", Reason.NOT_UNDERSTOOD),
        ("I'm sorry", Reason.REFUSAL),
    ],
)
def test_an_unknown_says_why(raw, reason):
    assert READ.age(raw).reason is reason


def test_a_baby_face_is_no_baby_and_a_year_old_man_no_old_man():
    assert ages("A baby-faced man", "prose") is None
    assert ages("a baby face", "prose") is None
    assert ages("An 1100-year-old man", "prose") is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (44.7, (44, 44)),
        (0, (0, 0)),
        (True, None),
        (None, None),
        (float("nan"), None),
        (10**400, None),
        (-1, None),
        (121, None),
    ],
)
def test_numbers_are_rounded_down(value, expected):
    assert ages(value) == expected


def interval(low, high, kind=AgeKind.RANGE):
    return AgeInterval(low, high, kind)


@pytest.mark.parametrize(
    ("age", "inclusive", "strict", "single"),
    [
        (interval(20, 30), ["20-29", "30-39"], ["20-29"], "20-29"),
        (interval(25, 30), ["20-29", "30-39"], ["20-29"], "20-29"),
        (interval(25, 35), ["20-29", "30-39"], ["20-29", "30-39"], "30-39"),
        (interval(1, 3), ["0-2", "3-9"], ["0-2"], "0-2"),
        (interval(30, 30, AgeKind.POINT), ["30-39"], ["30-39"], "30-39"),
        (interval(70, None, AgeKind.OPEN), ["70+"], ["70+"], "70+"),
        (interval(60, None, AgeKind.OPEN), ["60-69", "70+"], ["60-69", "70+"], None),
        (interval(65, None, AgeKind.WORD), ["60-69", "70+"], ["60-69", "70+"], None),
        (interval(0, 17, AgeKind.OPEN), ["0-2", "3-9", "10-19"], ["0-2", "3-9", "10-19"], None),
        (interval(40, 59, AgeKind.WORD), ["40-49", "50-59"], ["40-49", "50-59"], "40-49"),
        (interval(65, 90), ["60-69", "70+"], ["60-69", "70+"], "70+"),
        (interval(0, 1, AgeKind.OPEN), ["0-2"], ["0-2"], "0-2"),
    ],
)
def test_the_three_readings_of_an_age(age, inclusive, strict, single):
    assert [AGE_BINS[i] for i in bins_overlapped(age)] == inclusive
    assert [AGE_BINS[i] for i in bins_beyond_touch(age)] == strict
    found = single_bin(age)
    assert (None if found is None else AGE_BINS[found]) == single
