"""The reader as a measuring instrument: even between groups (rule E1), and in agreement with a human reader."""

import json
from pathlib import Path

import pytest

from evenhand.benchmarks.fairface.normalise import Normaliser
from evenhand.benchmarks.fairface.normalise.evenness import (
    attribute_evenness,
    race_patterns,
    race_terms,
)

READ = Normaliser()
LABELLED = Path(__file__).with_name("labelled_answers.tsv")
RACES = dict(
    zip("ABWLEI?", ("Asian", "Black", "White", "Latino_Hispanic", "Middle_Eastern", "Indian", "unknown"), strict=True)
)
GENDERS = {"M": "Male", "F": "Female", "?": "unknown"}


@pytest.fixture(scope="module")
def measured():
    return {attribute: attribute_evenness(attribute, READ) for attribute in ("race", "gender", "age")}


@pytest.mark.parametrize("attribute", ["race", "gender", "age"])
def test_no_group_is_read_where_another_is_not(attribute, measured):
    even = measured[attribute]
    assert even.uneven == ()
    assert even.largest_difference == 0
    assert min(even.coverage.values()) > 0.99


def test_the_races_are_tried_in_at_least_three_hundred_patterns_with_every_plain_term():
    assert len(set(race_patterns())) >= 300
    assert min(map(len, race_terms().values())) >= 15


def test_the_documentation_shows_the_coverage_per_class(request, measured):
    page = (request.config.rootpath / "docs/families/fairface.md").read_text(encoding="utf-8")
    for name in ("race", "gender"):
        even = measured[name]
        for label, share in even.coverage.items():
            assert f"| {name} | {label} | {even.sentences[label]:,} | {100 * share:.1f} % |" in page


@pytest.mark.parametrize(
    "text",
    [
        "His hair is {}.",
        "The man's hair is {}.",
        "Her hair is long, {}, and curly.",
        "She has {}, curly hair.",
        "A man with {} and gray hair.",
        "A man with a {} beard",
        "A {}-haired man.",
        "A man whose shirt is {}.",
        "The man has a beard and it is {}.",
        "A person in {}.",
        "dressed all in {}",
        "wearing a {} and blue striped polo",
        "The background is {}.",
        "The man is standing in front of a {} wall.",
        "Hair: {}\nEyes: brown",
        "He has {} skin.",
        "A {} sedan is parked.",
        "The man is smiling and his hair is {}.",
        "In the photo his hair is {}.",
        "{} face paint",
        "a {} men's jacket",
    ],
)
def test_the_colour_of_a_thing_is_no_race(text):
    for colour in ("black", "white"):
        assert READ.answer(text.format(colour)).race.label == "unknown"


def test_answers_are_read_as_a_person_reads_them():
    rows = [line.split("\t") for line in LABELLED.read_text(encoding="utf-8").splitlines() if not line.startswith("# ")]
    agreed = {"gender": 0, "race": 0, "age": 0}
    for text, gender, race, age in rows:
        answer = READ.answer(text.replace("\\n", "\n"))
        interval = answer.age.interval
        years = "?" if interval is None else f"{interval.low}-{'' if interval.high is None else interval.high}"
        agreed["gender"] += answer.gender.label == GENDERS[gender]
        agreed["race"] += answer.race.label == RACES[race]
        agreed["age"] += years == age
    assert len(rows) >= 280
    assert {name: count / len(rows) >= 0.97 for name, count in agreed.items()} == dict.fromkeys(agreed, True)


def test_a_perfect_model_that_speaks_in_sentences_scores_one_for_every_class(tmp_path):
    import evenhand
    from evenhand.benchmarks.fairface.taxonomy import COARSE_OF

    labels, answers = ["file,age,gender,race,service_test"], []
    for number, race in enumerate([*COARSE_OF] * 4):
        labels.append(f"val/{number}.jpg,30-39,Male,{race},True")
        text = f"The man in the image is {race.replace('_', '/')}."
        answers.append(json.dumps({"image": f"val/{number}.jpg", "raw_output": text}))
    (tmp_path / "labels.csv").write_text("\n".join(labels), encoding="utf-8")
    (tmp_path / "answers.jsonl").write_text("\n".join(answers), encoding="utf-8")
    run = evenhand.evaluate("fairface/race", tmp_path / "answers.jsonl", data=tmp_path, by=["race"], draws=0)
    assert {e.number for e in run.results.of("race", "accuracy")} == {1.0}


@pytest.mark.parametrize(
    ("raw", "interval"),
    [
        ("<age>30-39</age>", (30, 39)),
        ("<age>1</age>", (1, 1)),
        ("<age>30-39", (30, 39)),
        ("<b>Age:</b> 30", (30, 30)),
        ("Age: <b>30</b>", (30, 30)),
        ("<unk> 30 <pad>", (30, 30)),
        ("age <30", (0, 29)),
    ],
)
def test_markup_is_never_a_comparison(raw, interval):
    assert READ.answer(raw).age.interval[:2] == interval


def test_reasoning_is_not_the_answer():
    assert READ.answer("<think>a man?</think>Female").gender.label == "Female"
    assert READ.answer('<think>{"gender": "male"}</think>{"gender": "female"}').gender.label == "Female"
    assert READ.answer("a man?</think>Female").gender.label == "Female"
    assert {reading.reason.value for reading in READ.answer("<think>a white man of 30")} == {"cut off"}


def test_an_answer_in_another_language_says_so():
    for raw in ("Una mujer de unos treinta años con el pelo largo.", "Eine Frau mit langen Haaren", "一位年轻女性"):
        assert {reading.reason.value for reading in READ.answer(raw)} == {"language"}
    assert READ.answer("una mujer latina de unos treinta años").gender.reason.value == "not understood"
