"""Objects inside answers, and the preparation of text."""

import pytest

from evenhand.benchmarks.fairface.normalise import Mode, Normaliser, Reason
from evenhand.benchmarks.fairface.normalise.lenient import parse
from evenhand.benchmarks.fairface.normalise.rules import RULES, rule_text
from evenhand.benchmarks.fairface.normalise.text import final_answer, labelled_values, prepare, words

READ = Normaliser()


def read(raw):
    answer = READ.answer(raw)
    age = answer.age.interval
    return answer.gender.label, answer.race.label, None if age is None else (age.low, age.high)


U = "unknown"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        # S1
        ('Here: {"gender": "Male", "race": "White", "age": 30} bye', ("Male", "White", (30, 30))),
        ('~~~\n{"gender": "Male",\n "age": "30-39",\n}\n~~~', ("Male", U, (30, 39))),
        ("{'gender': 'male', 'race': None, 'age': (20, 30)}", ("Male", U, (20, 30))),
        ("{'gender': 'it\\'s female', 'age': 3}", ("Female", U, (3, 3))),
        ('{"gender": "Male", "gender": "Female"}', ("Female", U, None)),
        ('{"note": "a } brace", "gender": "Male"}', ("Male", U, None)),
        ('{"gender": "Male", "age": 99999999999999999999999999}', ("Male", U, None)),
        # S2
        ('[{"gender": "Male"}, {"gender": "Female"}]', ("Male", U, None)),
        ('{"results": [{"gender": "Male"}]}', ("Male", U, None)),
        ('{"demographics": {"sex": "F", "ancestry": "Thai"}}', ("Female", "Asian", None)),
        ('{"unrelated": {"gender": "Male"}, "x": "She smiles"}', ("Male", U, None)),  # prose: a category word
        # S3
        ('{"gender": "Male"} {"other": 1} {"gender": "Female"} {"x": 2}', ("Female", U, None)),
        # S4
        ('{"Perceived Gender": "F", "Race/Ethnicity": "Black", "Age (years)": "41"}', ("Female", "Black", (41, 41))),
        ('{"gender": {"Man": 90, "Woman": 10}, "dominant_gender": "Woman"}', ("Female", U, None)),
        ('{"confidence": {"gender": 0.9, "age": 30}}', (U, U, None)),
        # S5
        ('{"gender": 1, "race": 2.0, "age": true}', (U, U, None)),
        ('{"gender": [], "race": ["Thai"], "age": [25]}', (U, "Asian", (25, 25))),
        ('{"race": ["White", "Caucasian"], "age": ["20", "30"]}', (U, "White", (20, 30))),
        ('{"gender": {"label": "Male", "confidence": 0.2}, "age": {"value": 7}}', ("Male", U, (7, 7))),
        ('{"age": {"min": 60, "max": null}}', (U, U, (60, None))),
        ('{"age": {"low": "18", "high": "25"}}', (U, U, (18, 25))),
        ('{"age": {"from": 30, "to": 20}}', (U, U, (20, 30))),
        ('{"age": {"lower": 1.5, "upper": 3.9}}', (U, U, (1, 3))),
        ('{"age": {"lo": 1, "hi": 300}}', (U, U, None)),
        ('{"age": {"20-29": 0.7, "30-39": 0.3}}', (U, U, (20, 29))),
        ('{"gender": {"Man": "0.5", "Woman": "0.5"}}', (U, U, None)),
        ('{"gender": {"Man": NaN, "Woman": 1}}', (U, U, None)),
        ('{"age": [20, 30, 40], "gender": [1, 2]}', (U, U, None)),
        # S6
        ('A woman: {"age": 30}', (U, U, (30, 30))),
        ('A woman: {"mood": "happy"}', ("Female", U, None)),
        # S7
        ('{"gender": "Male", "race": "Whi', ("Male", U, None)),
        ('{"gender": "Male", "age": 3', ("Male", U, None)),
        ('{"gender": "Male", "age": 35,', ("Male", U, (35, 35))),
        ('{"gender": "Male", "confidence": {"gender": 0.3, "age": 0.9}, "age": 35, "race"', ("Male", U, (35, 35))),
        ("{'sex': 'F', 'age': '20-2", ("Female", U, None)),
        ('{"attributes": {"gender": "Male", "age": "30-39", ', ("Male", U, (30, 39))),
        ('{"gender": "Ma', (U, U, None)),
        ("a lone { brace and a man", ("Male", U, None)),
        # broken outside, whole inside
        ('{oops {"gender": "Male", "age": 5}}', ("Male", U, (5, 5))),
        ('{oops, "confidence": {"gender": 0.9, "age": 0.8}} a man', ("Male", U, None)),
        ('{ he said "hi } then {"gender": "Male"}', ("Male", U, None)),
        ('{"gender": Male, "race": White, "age": 20-29}', ("Male", "White", (20, 29))),
        (None, (U, U, None)),
        ({"gender": "Male"}, ("Male", U, None)),
        (["nothing"], (U, U, None)),
    ],
)
def test_objects_in_answers(raw, expected):
    assert read(raw) == expected


def test_an_absent_key_says_so():
    answer = READ.answer('{"gender": "Male"}')
    assert answer.race.reason is Reason.EMPTY
    assert answer.race.rules == ("S6",)


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("２０–３０", "20-30"),
        ("Ｆｅｍａｌｅ", "female"),
        ("“José’s”", '"jose\'s"'),
        ("≥ 5 ≤", ">= 5 <="),
        ("**Bold**  `x`\t#y_z\r\nnext", "bold x y z\nnext"),
        ("fe\u00admale\u200b", "female"),
        ("STRASSE ß", "strasse ss"),
        ("a\u2212b\u2014c\u2011d", "a-b-c-d"),
    ],
)
def test_text_is_prepared(raw, plain):
    assert prepare(raw) == plain


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("reasoning. answer: male", "male"),
        ("answer: a. final answer = b", "b"),
        ("the final answer is: b", "b"),
        ("answer:", "answer:"),
        ("no answers here", "no answers here"),
        ("the answer is b", "the answer is b"),
    ],
)
def test_what_follows_the_last_answer_is_kept(text, kept):
    assert final_answer(text).text == kept


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("gender: male race: white age: 30", {"gender": "male", "race": "white", "age": "30"}),
        ("sex = f | age range (in years) = 20-30", {"gender": "f", "age": "20-30"}),
        ("race / ethnicity: black; ethnic background: thai", {"race": "thai"}),
        ("race or ethnicity: black", {"race": "black"}),
        ("ethnicity/race: black", {"race": "black"}),
        ("estimated age: 29.5 perceived gender: male", {"age": "29.5", "gender": "male"}),
        ("age: 30\nage:\n", {"age": "30"}),
        ("age:\n30", {}),
        ("image: 30, language: white, sexual: man", {}),
        ("age bracket: about 30! the rest: x", {"age": "about 30"}),
        ("age: approx. 30. he is bald", {"age": "approx. 30"}),
    ],
)
def test_labelled_values(text, values):
    assert labelled_values(text) == values


def test_a_labelled_value_decides_alone():
    assert read("Gender: unknown. The man wears a hat.") == (U, U, None)
    assert read("A young man of 20 years.\nAge: unclear") == ("Male", U, None)


def test_words_are_letter_runs_numbers_and_signs():
    assert words("don't o'neill's 3.5, non-x\ny") == ["don't", "o'neill", "3.5", ",", "non", "-", "x", "\n", "y"]


@pytest.mark.parametrize(
    "text", ["{1: 2}", "{'a' 'b'}", "{'a': b}", "{'a': 1 'b': 2}", "[1, 2", "{\"a\": __import__('os')}"]
)
def test_what_is_not_nearly_json_is_refused(text):
    with pytest.raises(ValueError, match=r".+"):
        parse(text)


def test_nothing_is_nested_too_deeply_to_be_refused():
    for opening, closing in (("[", "]"), ('{"a":', "}"), ("{'a':", "}")):
        with pytest.raises(ValueError, match="deep"):
            parse(opening * 5000 + "1," + closing * 5000)


@pytest.mark.parametrize(("rule", "example"), [(rule, example) for rule in RULES for example in rule.examples])
def test_every_example_of_the_rule_table_is_true(rule, example):
    raw, mode, expected = example
    reading = getattr(READ, rule.about)(raw, Mode(mode))
    if rule.about != "age":
        assert reading.label == expected
    elif expected == U:
        assert reading.interval is None
    else:
        low, high = expected.split("-")
        assert reading.interval[:2] == (int(low), int(high) if high else None)


@pytest.mark.parametrize("attribute", ["gender", "race", "age"])
def test_the_rule_table_names_every_rule_of_the_attribute(attribute):
    text = rule_text(attribute)
    prefixes = {"gender": "G", "race": "R", "age": "A"}[attribute]
    for rule in RULES:
        assert (f"\n{rule.id} " in text) == (rule.id[0] in prefixes + "PSNL")


@pytest.mark.parametrize(
    ("raw", "gender", "race", "age"),
    [
        ("Male", "Male", U, None),
        ("a woman", U, U, None),
        (
            '{"gender": "female", "race": "Latino_Hispanic", "age": "more than 70"}',
            "Female",
            "Latino_Hispanic",
            (70, None),
        ),
        ('{"gender": "girl", "race": "Chinese", "age": "20s"}', U, U, None),
        ("Gender: Male\nRace: East Asian\nAge: 0-2", "Male", "Asian", (0, 2)),
        ('{"age": "37.5"}', U, U, (37, 37)),
        ('{"age": 41}', U, U, (41, 41)),
        ('{"age": "20-30"}', U, U, None),
        ("", U, U, None),
    ],
)
def test_the_strict_profile_understands_labels_only(raw, gender, race, age):
    answer = Normaliser(strict=True).answer(raw)
    found = answer.age.interval
    assert (answer.gender.label, answer.race.label, None if found is None else found[:2]) == (gender, race, age)
