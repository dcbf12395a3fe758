"""From label file and answers to rows, numbers, sections and findings."""

import json
import math

import numpy as np
import pytest

import evenhand
from evenhand.benchmarks.fairface import benchmark
from evenhand.benchmarks.fairface.check import check
from evenhand.benchmarks.fairface.metrics import ONE_CLASS, LabelAgreement
from evenhand.benchmarks.fairface.options import AgeOptions, FaceOptions, RaceTaskOptions
from evenhand.benchmarks.fairface.prompts import PROMPTS, prompt_of, schema_of
from evenhand.cli.main import main
from evenhand.core.errors import UnknownNameError
from evenhand.core.metric import Undefined
from evenhand.core.page import Table
from evenhand.core.records import Attribute, Group, Records, concatenate
from evenhand.core.task import Tools

LABELS = [
    ("val/1.jpg", "20-29", "Female", "East Asian"),
    ("val/2.jpg", "30-39", "Male", "Southeast Asian"),
    ("val/3.jpg", "3-9", "Male", "Black"),
    ("val/4.jpg", "more than 70", "Female", "White"),
    ("val/5.jpg", "40-49", "Male", "Indian"),
]
SAID = [
    ("val/1.jpg", '{"gender": "Female", "race": "Asian", "age": "20-30"}'),
    ("val/2.jpg", '{"gender": "Female", "race": "Thai", "age": "20-30"}'),
    ("val/3.jpg", "A black boy, 5-7 years old."),
    ("val/4.jpg", "I'm sorry, I can't help with that."),
]


@pytest.fixture
def folder(tmp_path):
    rows = "".join(f"{','.join(row)},True\n" for row in LABELS)
    (tmp_path / "labels.csv").write_text("file,age,gender,race,service_test\n" + rows)
    lines = [json.dumps({"image_path": image, "raw_output": raw}) for image, raw in SAID]
    (tmp_path / "answers.jsonl").write_text("\n".join(lines))
    return tmp_path


def rows(folder, name, options):
    task = benchmark.find(f"fairface/{name}")
    dataset = task.load(folder, options)
    answers = task.codec.read(folder / "answers.jsonl", dataset, options)
    return concatenate(list(task.record(dataset, answers, options, Tools())))


def test_a_row_says_what_was_said_and_what_was_understood(folder):
    found = rows(folder, "gender", FaceOptions())
    assert found["item"].tolist() == [row[0] for row in LABELS]
    assert found["truth"].tolist() == [1, 0, 0, 1, 0]
    assert found["answer"].tolist() == [1, 1, 0, 2, 2]
    assert found["refused"].tolist() == [False, False, False, True, False]
    assert found["reason"].tolist() == ["", "", "", "refusal", "missing"]
    assert found["rule"][2] == "G2"
    assert found["said"][2] == "A black boy, 5-7 years old."
    assert found["said_race7"].tolist() == ["unknown", "Southeast Asian", "Black", "unknown", "unknown"]
    assert found["said_age_low"][:3].tolist() == [20, 20, 5]
    assert found.attributes["race"].levels[0] == "Asian"


def test_race_has_six_or_seven_classes(folder):
    coarse = rows(folder, "race", RaceTaskOptions())
    fine = rows(folder, "race", RaceTaskOptions(taxonomy="fine"))
    assert coarse["truth"].tolist() == [0, 0, 1, 2, 5]
    assert coarse["answer"].tolist() == [0, 0, 1, 6, 6]
    assert fine["truth"].tolist() == [3, 4, 1, 0, 5]
    assert fine["answer"].tolist() == [7, 4, 1, 7, 7]
    assert fine["asian_unspecified"].tolist() == [True, False, False, False, False]


def test_an_age_is_read_in_three_ways(folder):
    found = rows(folder, "age", AgeOptions())
    assert found["overlaps"].tolist() == [True, True, True, False, False]
    assert found["overlaps_beyond_touch"].tolist() == [True, False, True, False, False]
    assert found["answer"].tolist() == [3, 3, 1, 9, 9]
    assert found["bins_covered"][:3].tolist() == [2, 2, 1]
    assert np.isnan(found["bins_covered"][3:]).all()
    assert found["within_one_bin"].tolist() == [True, True, True, False, False]
    assert found["unknown"].tolist() == [False, False, False, True, True]


def test_an_age_without_limit_is_infinite_in_the_rows(folder):
    (folder / "answers.jsonl").write_text(json.dumps({"id": 4, "text": "70+"}))
    assert rows(folder, "age", AgeOptions())["said_age_high"][3] == math.inf


def test_a_very_long_or_broken_answer_is_cut_in_the_rows_with_its_length(folder):
    (folder / "answers.jsonl").write_text(json.dumps({"id": 1, "text": "\ud800\x00" + "man " * 5000}))
    said = rows(folder, "gender", FaceOptions())["said"][0]
    assert said.endswith("(20002 characters)")
    said.encode()


def test_the_option_strict_names_the_stricter_reading_first():
    task = benchmark.find("fairface/age")
    assert task.metrics(AgeOptions())[0].name == "bin_overlap_accuracy_inclusive"
    assert task.metrics(AgeOptions(age_overlap="strict"))[0].name == "bin_overlap_accuracy_touch_excluded"


def test_averages_over_classes_are_undefined_where_a_group_has_one_class():
    metric = LabelAgreement("race", ("a", "b"))
    group = Attribute.of(["x", "x", "y"], levels=("x", "y"))
    data = Records({"truth": np.array([0, 0, 1]), "answer": np.array([0, 2, 1])}, {"g": group})
    whole = metric.measure(data)
    part = metric.measure(data.select(Group.of(g="x")))
    found = metric.result(part, whole)
    assert found["macro_f1"][0] == Undefined(ONE_CLASS)
    assert found["balanced_accuracy"][0] == Undefined(ONE_CLASS)
    assert found["accuracy"][0] == 0.5
    assert metric.result(part, part)["macro_f1"][0] == pytest.approx(1 / 3)  # the data themselves have one class
    assert metric.result(whole, whole)["macro_f1"][0] == pytest.approx((2 / 3 + 1) / 2)


def test_unknown_is_wrong_and_never_a_class(folder):
    run = evenhand.evaluate("fairface/race", folder / "answers.jsonl", data=folder, draws=0, permutations=0)
    accuracy = run.results.get("race", "accuracy")
    assert (accuracy.events, accuracy.rows) == (3, 5)
    assert run.results.get("race", "macro_f1").number == pytest.approx((1 + 1 + 0 + 0 + 0 + 0) / 6)
    assert run.results.get("race", "unknown_rate").number == pytest.approx(0.4)
    assert run.results.get("refusals", "rate").events == 1
    assert run.results.get("race", "macro_f1", Group.of(race="Asian")).number is None
    assert run.results.facts["unknown_reasons"]["race"] == {"missing": 1, "refusal": 1}


@pytest.mark.parametrize("name", ["gender", "race", "age"])
def test_every_section_can_be_drawn(folder, name):
    options = {"taxonomy": "fine", "seen": "yes"} if name == "race" else {"seen": "yes"}
    run = evenhand.evaluate(
        f"fairface/{name}", folder / "answers.jsonl", data=folder, draws=0, permutations=0, options=options
    )
    sections = [section(run.results) for section in benchmark.find(f"fairface/{name}").sections]
    titles = [section.title for section in sections if section]
    assert "Was the data seen in training?" in titles
    assert "Confusion: what is taken for what" in titles
    assert "Answers that could not be used" in titles
    assert "available to the model in training" in sections[0].blocks[0].text
    matrix = next(
        section for section in sections if section and section.title == "Confusion: what is taken for what"
    ).blocks[0]
    assert isinstance(matrix, Table)
    assert sum(row[-1] for row in matrix.rows) == 5
    if name == "age":
        assert len(sections[1].blocks[1].rows) == 6


def test_explain_shows_every_convention(folder):
    labels = evenhand.evaluate("fairface/race", folder / "answers.jsonl", data=folder, draws=0, permutations=0)
    table = benchmark.find("fairface/race").explain(labels).blocks[1]
    shown = {row[0]: row[2] for row in table.rows}
    assert shown["accuracy"] == pytest.approx(0.6)
    assert shown["accuracy_answered_only"] == pytest.approx(1.0)
    assert shown["macro_f1_unknown_as_a_class"] == pytest.approx(2 / 5)  # four classes occur, and unknown
    ages = evenhand.evaluate("fairface/age", folder / "answers.jsonl", data=folder, draws=0, permutations=0)
    table = benchmark.find("fairface/age").explain(ages).blocks[1]
    assert [row[2] for row in table.rows] == pytest.approx([0.6, 0.4, 0.4])


def test_check_says_what_was_not_understood_and_why(folder):
    report = check(folder / "answers.jsonl", folder, FaceOptions())
    assert report.ok
    header, *rows_ = report.tables["understood"]
    assert header == ("", "gender", "race", "age")
    assert rows_ == [("understood", 3, 3, 3), ("refusal", 1, 1, 1)]
    assert report.tables["not understood: gender"][1] == ("I'm sorry, I can't help with that.", 1, "refusal")
    assert report.tables["kinds of records"][1] == ("vlm", 4)
    assert any("1 images have no answer" in finding.message for finding in report.findings)


def test_check_shows_the_fifty_most_frequent_answers(folder):
    lines = [json.dumps({"id": f"val/{1 + n % 5}.jpg", "text": f"nonsense {n}"}) for n in range(5)]
    (folder / "answers.jsonl").write_text("\n".join(lines))
    table = check(folder / "answers.jsonl", folder, FaceOptions()).tables["not understood: race"]
    assert len(table) == 6
    assert table[0] == ("answer", "times", "why")


def test_check_counts_the_values_that_were_not_understood(folder):
    records = [
        {"id": 1, "text": '{"gender": "banana", "age": 30}'},
        {"id": 2, "text": '{"gender": "banana", "age": 40}'},
        {"id": 3, "text": "Nothing to see."},
    ]
    (folder / "answers.jsonl").write_text("\n".join(json.dumps(record) for record in records))
    tables = check(folder / "answers.jsonl", folder, FaceOptions()).tables
    assert tables["not understood: gender"][1] == ("banana", 2, "not understood")
    assert tables["not understood: race"][1] == ("(absent)", 2, "empty")
    (folder / "answers.csv").write_text("file,gender,race,age\n1,x,y,z\n2,x,White,3\n")
    assert check(folder / "answers.csv", folder, FaceOptions()).tables["not understood: gender"][1][:2] == ("x", 2)


def test_check_of_the_data_compares_with_the_published_file(folder):
    report = check(None, folder, FaceOptions())
    assert report.ok
    messages = [finding.message for finding in report.findings]
    assert any("5 labels; the published val file has 10954" in message for message in messages)
    assert any("5 labelled images are not in the folder" in message for message in messages)
    assert report.tables["labels"][1] == ("gender", "Male", 3, 5792)
    assert len(report.tables["balance of race and gender inside each age"]) == 10


def test_check_reports_what_can_not_be_read(folder):
    (folder / "answers.jsonl").write_text("{")
    report = check(folder / "answers.jsonl", folder, FaceOptions())
    assert not report.ok
    assert not check(None, folder / "nowhere", FaceOptions()).ok


def test_the_demo_has_one_group_served_worse_and_one_that_only_looks_so(tmp_path):
    demos = benchmark.demo(tmp_path / "a")
    again = benchmark.demo(tmp_path / "b")
    assert demos[0].predictions.read_bytes() == again[0].predictions.read_bytes()
    for demo in demos:
        run = evenhand.evaluate(demo.task, demo.predictions, data=demo.data, depth=1, draws=0, permutations=200)
        metric, output = run.results.headline
        overall = run.results.get(metric, output).number
        planted, chance = (
            run.results.get(metric, output, Group((tuple(name.split("=")),))) for name in (demo.planted, demo.chance)
        )
        assert planted.high < overall
        assert chance.number < overall < chance.high


def test_prompts_have_names_and_schemas():
    assert prompt_of("all-v1") == PROMPTS["all-v1"]
    assert set(schema_of("all-v1")["properties"]) == {"gender", "race", "age"}
    assert schema_of("race-v1")["required"] == ["race"]
    assert schema_of("my own words") is None
    with pytest.raises(UnknownNameError, match="all-v1"):
        prompt_of("all-v2")


def test_describe_has_the_rules_of_the_attribute():
    assert "A10" in benchmark.find("fairface/age").about.rules
    assert "A10" not in benchmark.find("fairface/gender").about.rules


def test_the_command_names_the_worst_intersection_and_shows_the_main_numbers(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    races = {"East Asian": "Asian", "Black": "Black", "White": "White", "Middle Eastern": "Middle Eastern"}
    rows, answers = [], []
    for number in range(800):
        truth = list(races)[number % 4], ("Male", "Female")[number // 4 % 2]
        planted = truth == ("Middle Eastern", "Female") and number % 3
        rows.append(f"val/{number}.jpg,20-29,{truth[1]},{truth[0]},True\n")
        answers.append({"image": f"val/{number}.jpg", "text": f"{'White' if planted else truth[0]}, 25"})
    (tmp_path / "labels.csv").write_text("file,age,gender,race,service_test\n" + "".join(rows))
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)))
    arguments = [tmp_path / "answers.jsonl", "--data", tmp_path, "--draws", "100", "--permutations", "100"]
    shown = {}
    for task in ("race", "age"):
        command = ["evaluate", f"fairface/{task}", *arguments, "--runs", tmp_path / "runs"]
        assert main([str(argument) for argument in command]) == 0
        shown[task] = " ".join(capsys.readouterr().out.split())
    assert "Of the intersections, Female × Middle Eastern performs worst" in shown["race"]
    main_numbers = shown["race"].partition("Main numbers")[2]
    assert all(name in main_numbers for name in ("Accuracy", "Macro F1", "Unusable answers"))
    three = ("(age range overlaps)", "(age range overlaps, touching excluded)", "(one age group named)")
    assert all(name in shown["age"].partition("Main numbers")[2] for name in three)
