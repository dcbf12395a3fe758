"""The page for users is true: its files are read, its settings exist."""

import json
import re
from pathlib import Path

import pytest

from evenhand.benchmarks.fairface import benchmark
from evenhand.benchmarks.fairface.options import AgeOptions, FaceOptions, RaceTaskOptions
from evenhand.core.options import facts, parse
from evenhand.models.settings import ChatSettings

PAGE = Path(__file__).parents[3] / "docs" / "families" / "fairface.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_every_record_on_the_page_is_read(tmp_path):
    lines = [line for block in re.findall(r"```json\n(.*?)\n```\n", TEXT, re.DOTALL) for line in block.splitlines()]
    records = [json.loads(line) for line in lines]
    images = dict.fromkeys(record["image_path"] for record in records)
    rows = "".join(f"{image},20-29,Female,White,True\n" for image in images)
    (tmp_path / "labels.csv").write_text("file,age,gender,race,service_test\n" + rows)
    (tmp_path / "answers.jsonl").write_text("\n".join(lines), encoding="utf-8")
    task = benchmark.find("fairface/gender")
    options = FaceOptions(duplicates="first")
    answers = task.codec.read(tmp_path / "answers.jsonl", task.load(tmp_path, options), options)
    labels = [answers.get(image).answer.gender.label for image in images]
    assert labels == ["Female", "Male", "unknown", "Female"]
    assert answers.facts["families"] == {"deepface": 1, "vlm": 3}


@pytest.mark.parametrize("assignment", sorted(set(re.findall(r"--set\s+(\w+=\w+)", TEXT)) - {"labels=NAME"}))
def test_every_option_on_the_page_exists(assignment):
    name, value = assignment.split("=")
    known = [kind for kind in (FaceOptions, RaceTaskOptions, AgeOptions) if name in {fact.name for fact in facts(kind)}]
    assert known
    parse(known[0], {name: value})


def test_every_setting_on_the_page_exists():
    named = set(re.findall(r"--model-set (\w+)=", TEXT)) - {"key"}  # the placeholder key=value
    table = TEXT.partition("| Setting |")[2].partition("\n\n")[0]
    named |= {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert named <= {fact.name for fact in facts(ChatSettings)}
    assert len(named) > 10


def test_the_family_is_a_module_of_the_package():
    import evenhand.fairface
    from evenhand.fairface import read

    assert read is evenhand.fairface.read
    assert read("A woman.")["gender"]["value"] == "Female"
