"""FairFace: answers understood per second, however long they are, and a whole evaluation.

There is no peer that reads answers by the same rules; the bound of the normaliser is one pass of a
regular expression that splits the same answers into words.
"""

from __future__ import annotations

import json
import random
import re
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.hot import Hot
from bench.plain import people as plain

ANSWERS = 20_000
FACES = 10_954

_PARTS = {
    "gender": ["Male", "female", "a woman", "Likely male", "masculine", "unknown", "boy", "not a man", "f"],
    "race": ["White", "East Asian", "South-East Asian", "African-American", "Hispanic or Latino", "Caucasian (white)",
             "Middle Eastern", "Indian", "mixed race", "Not Black but South Asian"],
    "age": ["20-29", "35", "mid-20s", "between 25 and 35", "more than 70", "late teens to early 20s", "6 months",
            "about 40 years old", "middle-aged", "60+"],
}  # fmt: skip
_FRAMES = (
    '{{"gender": "{gender}", "ethnicity": "{race}", "age_range": "{age}"}}',
    '```json\n{{\n "gender": "{gender}",\n "race": "{race}",\n "age": "{age}"\n}}\n```',
    "Gender: {gender}\nRace: {race}\nAge: {age}",
    "The picture shows a {race} person, {gender}, {age}, with short black hair and a white shirt.",
    "I can't identify people, but the person looks {race}, is {gender} and {age}.",
)


def different_answers() -> list[str]:
    """Answers of every kind, each with a number of its own so that none is the same as another."""
    chance = random.Random(7)
    found = []
    for number in range(ANSWERS):
        chosen = {name: chance.choice(values) for name, values in _PARTS.items()}
        found.append(chance.choice(_FRAMES).format(**chosen) + f"\nPicture {number} of the set.")
    return found


def understand(answers: list[str]) -> int:
    """Gender, race and age of every answer; short values that come again are remembered, texts are not."""
    from evenhand.benchmarks.fairface.normalise import Normaliser

    read = Normaliser()
    return sum(read.answer(answer).gender.reason is None for answer in answers)


def split(answers: list[str]) -> int:
    """The words of every answer."""
    pattern = re.compile(r"\w+|[^\w\s]")
    return sum(len(pattern.findall(answer)) for answer in answers)


LONG = (
    "{",
    '{"',
    "{}",
    '{"a":',
    "1-",
    "1~",
    "black ",
    "black hair ",
    "white white-",
    "25 years old, ",
    "20-30 or ",
    "age: ",
    "not ",
    "early to mid ",
)


def long_answers() -> list[tuple[str, str]]:
    """Hostile answers of 20,000 signs, and the same ten times as long."""
    return [(unit * (20_000 // len(unit)), unit * (200_000 // len(unit))) for unit in LONG]


def worst_growth(pairs: list[tuple[str, str]]) -> float:
    """How much longer the ten times longer answer takes, in the worst case; about 10 when time is linear."""
    from evenhand.benchmarks.fairface.normalise import Normaliser

    read = Normaliser()
    worst = 0.0
    for short, long in pairs:
        times = []
        for answer in (short, long):
            start = time.process_time()
            read.answer(answer)
            times.append(time.process_time() - start)
        worst = max(worst, times[1] / max(times[0], 1e-3))
    return worst


def published_size() -> Path:
    """A label file of the published size and a model's answers to it."""
    return _made_up(FACES)


def a_million() -> Path:
    """The same with a million faces."""
    return _made_up(1_000_000)


def _made_up(faces: int) -> Path:
    chance = random.Random(11)
    folder = Path(tempfile.mkdtemp(prefix="fairface-bench-"))
    bins = ["0-2", "3-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "more than 70"]
    shares = [199, 1356, 1181, 3300, 2330, 1353, 796, 321, 118]
    races = ["White", "Black", "Latino_Hispanic", "East Asian", "Southeast Asian", "Indian", "Middle Eastern"]
    labels = ["file,age,gender,race,service_test"]
    records = []
    for number in range(1, faces + 1):
        age, gender, race = chance.choices(bins, shares)[0], chance.choice(["Male", "Female"]), chance.choice(races)
        labels.append(f"val/{number}.jpg,{age},{gender},{race},{chance.random() < 0.5}")
        said = {
            "gender": gender if chance.random() < 0.9 else "Male",
            "race": race if chance.random() < 0.75 else chance.choice(races),
            "age": age if chance.random() < 0.6 else chance.choice(bins),
        }
        records.append(json.dumps({"image_path": f"val/{number}.jpg", "raw_output": json.dumps(said)}))
    (folder / "fairface_label_val.csv").write_text("\n".join(labels) + "\n", encoding="utf-8")
    (folder / "answers.jsonl").write_text("\n".join(records) + "\n", encoding="utf-8")
    return folder


def evaluation(task: str, **more: Any) -> Any:
    """A whole evaluation by gender, race and age with their pairs, 2,000 draws and 2,000 permutations."""

    def run(folder: Path) -> int:
        import evenhand

        found = evenhand.evaluate(f"fairface/{task}", folder / "answers.jsonl", data=folder, depth=2, **more)
        return len(found.results.estimates)

    return run


HOT = [
    Hot(
        name="fairface/normalise",
        what=f"gender, race and age of {ANSWERS:,} different answers",
        prepare=different_answers,
        ours=understand,
        bound=split,
        bound_name="splitting into words",
        goal="20,000 answers a second: at most 1 s",
    ),
    Hot(
        name="fairface/long_answers",
        what="hostile answers of 20,000 and 200,000 signs",
        prepare=long_answers,
        ours=worst_growth,
        goal="linear: ten times longer takes about ten times as long",
        repeat=1,
    ),
    Hot(
        name="fairface/evaluate_a_million",
        what="a million answers about race, all groups and their pairs",
        prepare=a_million,
        ours=evaluation("race"),
        bound=plain.files_of("fairface_label_val.csv", "answers.jsonl"),
        bound_name="reading the files",
        goal="under 20 s of CPU and 1.5 GB",
        repeat=1,
    ),
    *(
        Hot(
            name=f"fairface/evaluate_{task}",
            what=f"{FACES:,} answers, all groups and their pairs, 2,000 draws and permutations",
            prepare=published_size,
            ours=evaluation(task),
            peer=plain.faces(task),
            peer_name="pandas and scikit-learn, values alone",
            bound=plain.files_of("fairface_label_val.csv", "answers.jsonl"),
            bound_name="reading the files",
            goal="under 3 s",
            repeat=1,
        )
        for task in ("gender", "race", "age")
    ),
]
