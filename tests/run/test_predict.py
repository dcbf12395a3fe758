"""Putting a question to a model: every sample once, by id, and nothing lost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny

from evenhand.core.errors import ModelError, RunError, UnknownNameError
from evenhand.core.task import Answers, Codec, Dataset, InputFact, Sample, Unanswered
from evenhand.engines import parse
from evenhand.files import inputs
from evenhand.instruments.errors import PictureError
from evenhand.models.python import ModelFile
from evenhand.run import evaluate, find_model, predict
from evenhand.run.format_1 import dataset_in_format_1
from evenhand.store.journal import Journal, UnwritableError, asked_before, read_journal
from evenhand.store.manifest import fingerprint

Files = tuple[Path, Path]


def score(sample: Sample) -> float:
    return int(sample.id[:5]) * 37 % 100 / 100


class Given:
    """A model that answers by a function over the stream of samples."""

    def __init__(self, answers: Any, name: str = "given") -> None:
        self.name, self.answers = name, answers
        self.asked: list[str] = []

    def predict(self, samples: Any) -> Iterator[tuple[str, Any]]:
        def noted() -> Iterator[Sample]:
            for sample in samples:
                self.asked.append(sample.id)
                yield sample

        return iter(self.answers(noted()))


def good(samples: Any) -> Iterator[tuple[str, float]]:
    return ((sample.id, score(sample)) for sample in samples)


def reordered(samples: Any) -> Iterator[tuple[str, float]]:
    return reversed([(sample.id, score(sample)) for sample in samples])


def test_the_official_file_has_every_answer_in_the_order_of_the_samples(tmp_path: Path, tiny_data: Files):
    outcome = predict(tiny.task, Given(reordered), tiny_data[0], runs=tmp_path / "runs")
    answers = json.loads(outcome.file.read_text())
    assert list(answers) == [f"{number:05d}.jpg" for number in range(400)]
    assert answers["00003.jpg"] == 0.11
    assert (outcome.answered, outcome.unanswered, outcome.asked_now, outcome.asked_again) == (400, {}, 400, ())
    run = evaluate(tiny.task, outcome.file, tiny_data[0], draws=0)
    assert run.results.coverage.answered == 400
    assert run.results.model == "given"


def test_a_sample_that_is_not_answered_has_its_reason(tmp_path: Path, tiny_data: Files):
    def picky(samples: Any) -> Iterator[tuple[str, Any]]:
        for number, sample in enumerate(samples):
            if number == 3:
                yield sample.id, Unanswered("no face found")
            elif number == 4:
                yield sample.id, None
            elif number == 5:
                yield sample.id, object()
            elif number != 6:
                yield sample.id, 0.5

    outcome = predict(tiny.task, Given(picky), tiny_data[0], runs=tmp_path)
    assert outcome.answered == 396
    assert outcome.unanswered == {
        "00003.jpg": "no face found",
        "00004.jpg": "the model answered with nothing",
        "00005.jpg": "the answer has another form than expected: a object is neither a JSON value nor an array",
        "00006.jpg": "the model gave no answer to it",
    }
    assert sum(outcome.reasons.values()) == 4
    assert len(json.loads(outcome.file.read_text())) == 396


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (lambda samples: ((sample.id.upper(), 0.5) for sample in samples), "'00000.JPG', which is no sample of tiny"),
        (lambda samples: ((s.id, 0.5) for s in samples for _ in range(2)), "a second answer to '00000.jpg'"),
        (lambda samples: [(next(samples).id, 0.5), ("00399.jpg", 0.5)], "'00399.jpg', which it had not been given"),
    ],
)
def test_an_answer_to_nothing_that_was_asked_is_caught_by_its_id(tmp_path: Path, tiny_data: Files, answers, words: str):
    with pytest.raises(ModelError, match=words):
        predict(tiny.task, Given(answers), tiny_data[0], runs=tmp_path)


def test_a_model_that_raises_keeps_its_answers_and_resume_asks_for_the_rest(tmp_path: Path, tiny_data: Files):
    def breaking(samples: Any) -> Iterator[tuple[str, float]]:
        for number, sample in enumerate(samples):
            if number == 100:
                raise RuntimeError("out of memory")
            yield sample.id, score(sample)

    data = tiny_data[0]
    with pytest.raises(
        ModelError, match=r"RuntimeError: out of memory.*working on 1 samples: '00100.jpg'. 100 answers"
    ):
        predict(tiny.task, Given(breaking), data, runs=tmp_path / "rough")
    with pytest.raises(RunError, match=r"holds 100 answers of an interrupted run\. Go on with --resume"):
        predict(tiny.task, Given(good), data, runs=tmp_path / "rough")
    healed = Given(good)
    outcome = predict(tiny.task, healed, data, runs=tmp_path / "rough", resume=True)
    assert healed.asked == [f"{number:05d}.jpg" for number in range(100, 400)]
    assert outcome.asked_again == ("00100.jpg",)
    calm = predict(tiny.task, Given(good), data, runs=tmp_path / "calm")
    assert outcome.file.read_bytes() == calm.file.read_bytes()


def test_a_picture_that_the_model_can_not_read_is_told_with_what_is_kept(tmp_path: Path, tiny_data: Files):
    def reading(samples: Any) -> Iterator[tuple[str, float]]:
        for number, sample in enumerate(samples):
            if number == 3:
                raise PictureError("img/3.jpg", "there is no such file.")
            yield sample.id, score(sample)

    with pytest.raises(
        ModelError, match=r"raised img/3\.jpg: there is no such file\. It was working.* 3 answers are kept"
    ):
        predict(tiny.task, Given(reading), tiny_data[0], runs=tmp_path)


def test_predictions_are_asked_anew_unless_resume_is_said(tmp_path: Path, tiny_data: Files):
    first = predict(tiny.task, Given(good), tiny_data[0], runs=tmp_path)
    model = Given(good)
    second = predict(tiny.task, model, tiny_data[0], runs=tmp_path)
    assert len(model.asked) == 400
    assert second.folder != first.folder
    assert first.file.exists()
    model = Given(good)
    third = predict(tiny.task, model, tiny_data[0], runs=tmp_path, resume=True)
    assert (model.asked, third.folder, third.answered) == ([], second.folder, 400)


def test_unanswered_samples_can_be_asked_once_more(tmp_path: Path, tiny_data: Files):
    def busy(samples: Any) -> Iterator[tuple[str, Any]]:
        return ((s.id, Unanswered("the endpoint is busy") if s.id < "00005" else score(s)) for s in samples)

    first = predict(tiny.task, Given(busy), tiny_data[0], runs=tmp_path)
    assert len(first.unanswered) == 5
    model = Given(good)
    second = predict(tiny.task, model, tiny_data[0], runs=tmp_path, resume=True, ask_unanswered=True)
    assert model.asked == [f"{number:05d}.jpg" for number in range(5)]
    assert (second.answered, second.unanswered) == (400, {})
    assert second.folder != first.folder


@pytest.mark.parametrize("engine", ["threads:3", "processes:2"])
def test_several_workers_write_the_same_file(tmp_path: Path, tiny_data: Files, engine: str):
    (tmp_path / "model.py").write_text("def score(sample):\n    return int(sample.id[:5]) * 37 % 100 / 100\n")
    model = find_model(f"{tmp_path / 'model.py'}:score")
    alone = predict(tiny.task, model, tiny_data[0], runs=tmp_path / "alone")
    several = predict(tiny.task, model, tiny_data[0], runs=tmp_path / "several", engine=parse(engine))
    assert several.file.read_bytes() == alone.file.read_bytes()


def test_a_worker_whose_model_raises_leaves_the_answers_of_the_others(tmp_path: Path, tiny_data: Files):
    def breaking(samples: Any) -> Iterator[tuple[str, float]]:
        for sample in samples:
            if sample.id == "00100.jpg":
                raise RuntimeError("out of memory")
            yield sample.id, score(sample)

    with pytest.raises(ModelError, match=r"out of memory in 1 chunks.*working on 16 samples"):
        predict(tiny.task, Given(breaking), tiny_data[0], runs=tmp_path, workers=2)
    model = Given(good)
    outcome = predict(tiny.task, model, tiny_data[0], runs=tmp_path, resume=True)
    assert sorted(model.asked) == sorted(outcome.asked_again) == [f"{number:05d}.jpg" for number in range(96, 112)]


class Simple:
    """A model that is made without anything."""

    name = "simple"

    def predict(self, samples: Any) -> Iterator[tuple[str, float]]:
        return good(samples)


def test_a_class_is_what_makes_a_model(tmp_path: Path, tiny_data: Files):
    outcome = predict(tiny.task, Simple, tiny_data[0], runs=tmp_path)
    assert outcome.answered == 400
    assert outcome.folder.parent.name == "simple"


def test_progress_counts_answers(tmp_path: Path, tiny_data: Files):
    seen: list[tuple[int, int | None, str]] = []
    predict(
        tiny.task,
        Given(good),
        tiny_data[0],
        runs=tmp_path,
        progress=lambda done, total, what: seen.append((done, total, what)),
    )
    assert (seen[0], seen[-1]) == ((0, 400, "answers"), (400, 400, "answers"))


def test_a_model_file_that_changed_since_its_first_answers_is_told(tmp_path: Path, tiny_data: Files):
    path = tmp_path / "model.py"
    body = "class Model:\n    def predict(self, samples):\n        for n, s in enumerate(samples):\n"
    path.write_text(body + "            if n == 300: raise ValueError('bug')\n            yield s.id, 0.5\n")
    said: list[str] = []
    with pytest.raises(ModelError, match="bug"):
        predict(tiny.task, find_model(f"{path}:Model"), tiny_data[0], runs=tmp_path / "runs", warn=said.append)
    path.write_text(body + "            yield s.id, 0.5\n")
    model = find_model(f"{path}:Model")
    predict(tiny.task, model, tiny_data[0], runs=tmp_path / "runs", resume=True, warn=said.append)
    assert len(said) == 1
    assert "model.Model has changed since its first answers" in said[0]


def test_predictions_that_were_begun_in_format_1_are_gone_on_with(tmp_path: Path, tiny_data: Files):
    def sha256(file: Path) -> str:
        return hashlib.sha256(file.read_bytes()).hexdigest()

    path, data, said = tmp_path / "model.py", tiny_data[0], list[str]()
    path.write_text(
        "from pathlib import Path\n"
        "class Model:\n"
        "    def predict(self, samples):\n"
        "        for n, s in enumerate(samples):\n"
        f"            if n == 300 and not Path({str(tmp_path / 'well')!r}).exists(): raise ValueError('bug')\n"
        "            yield s.id, 0.5\n"
    )
    ask = partial(predict, tiny.task, data=data, runs=tmp_path / "runs", warn=said.append)
    with pytest.raises(ModelError, match="bug"):
        ask(model=find_model(f"{path}:Model"))
    (begun,) = (tmp_path / "runs").rglob(".*.partial-*")
    labels = data / "faces.json"
    content = [("faces.json", labels.stat().st_size, sha256(labels))]
    named = fingerprint("predictions", tiny.task.name, "model.Model", {}, tiny.TinyOptions(), "tiny-1", content)[:8]
    begun = begun.rename(begun.with_name(f".{named}.partial-0"))
    facts = json.loads((begun / "model.json").read_bytes())
    del facts["hash"]
    (begun / "model.json").write_text(json.dumps({**facts, "sha256": sha256(path)}))
    (tmp_path / "well").touch()
    with pytest.raises(RunError, match="holds 300 answers of an interrupted run"):
        ask(model=find_model(f"{path}:Model"))
    outcome = ask(model=find_model(f"{path}:Model"), resume=True)
    assert (outcome.folder.name, outcome.answered, outcome.asked_now, said) == (named, 400, 100, [])
    assert ask(model=find_model(f"{path}:Model"), resume=True).asked_now == 0
    anew = ask(model=find_model(f"{path}:Model"))
    assert (anew.folder.name != named, anew.asked_now) == (True, 400)


def test_the_version_of_a_data_set_had_the_hash_of_format_1(tmp_path: Path):
    (tmp_path / "labels.csv").write_bytes(b"labels")
    fact, before = inputs.hash_of(tmp_path / "labels.csv"), hashlib.sha256(b"labels").hexdigest()
    weights = InputFact("weights.pt", 3, "sha256:b10c82")
    for version, former in (("FairFace (BLAKE3 {})", "FairFace (sha256 {})"), ("faces {}", "faces {}"), ("1", "1")):
        dataset = Dataset(version.format(fact.hash[:12]), (), None, {}, (fact, weights))
        known = dataset_in_format_1(dataset)
        assert known.version == former.format(before[:12])
        assert [file.hash for file in known.inputs] == [before, "b10c82"]


@pytest.mark.parametrize(
    ("body", "name", "words"),
    [
        ("import nothing_like_it", "Model", "can't be imported .ModuleNotFoundError"),
        ("class Model:\n    def __init__(self, weights): ...", "Model", "Model can't be made .TypeError"),
        ("Model = 3", "Model", "Model is a int without `predict`"),
    ],
)
def test_a_model_that_cannot_be_loaded_says_why(tmp_path: Path, body: str, name: str, words: str):
    path = tmp_path / "broken.py"
    path.write_text(body)
    with pytest.raises(ModelError, match=words):
        ModelFile.parse(f"{path}:{name}")()


def test_a_name_that_is_not_in_the_file_is_met_with_the_nearest(tmp_path: Path):
    path = tmp_path / "parser.py"
    path.write_text("def predict_face(sample): ...\n")
    with pytest.raises(UnknownNameError, match="Did you mean 'predict_face'"):
        ModelFile.parse(f"{path}:predict_fase")()


@pytest.mark.parametrize("spec", ["nowhere.py:Model", "model.py", "gpt-4o"])
def test_a_text_that_names_no_model_is_refused(spec: str):
    with pytest.raises(ModelError, match=r"does not exist|names no model"):
        find_model(spec)


def test_settings_and_device_reach_a_class_that_takes_them(tmp_path: Path):
    path = tmp_path / "sized.py"
    path.write_text(
        "class Model:\n    def __init__(self, size, device='?'): self.name = f'{size} on {device}'\n"
        "    def predict(self, samples): return iter(())\n"
    )
    assert find_model(f"{path}:Model", device="cuda:1", size=5)().name == "5 on cuda:1"


def test_a_function_that_always_raises_is_not_asked_for_ever(tmp_path: Path, tiny_data: Files):
    path = tmp_path / "wrong.py"
    path.write_text("def wrong(sample): return sample.picture\n")
    with pytest.raises(ModelError, match=r"raised for each of the first 10 samples.*has no attribute 'picture'"):
        predict(tiny.task, find_model(f"{path}:wrong"), tiny_data[0], runs=tmp_path / "runs")


def test_arrays_in_answers_survive_the_journal(tmp_path: Path):
    journal = Journal(tmp_path)
    answer = {"mask": np.arange(6, dtype=np.uint8).reshape(2, 3), "score": np.float32(0.25), "infinite": float("inf")}
    journal.ask("a")
    journal.add("a", answer)
    journal.add("b", Unanswered("blurred"))
    with pytest.raises(UnwritableError):
        journal.add("c", {1: object()})
    journal.close()
    found = read_journal(tmp_path)
    assert np.array_equal(found["a"].pop("mask"), answer["mask"])
    assert found == {"a": {"score": 0.25, "infinite": float("inf")}, "b": Unanswered("blurred")}
    assert asked_before(tmp_path) == {"a"}


def test_a_damaged_shard_is_named(tmp_path: Path):
    journal = Journal(tmp_path)
    journal.add("a", 1)
    journal.close()
    (tmp_path / "shard-000000.msgpack").write_bytes(b"\xc1")
    with pytest.raises(RunError, match=r"shard-000000\.msgpack is damaged"):
        read_journal(tmp_path)


def test_shards_are_numbered_on_after_a_crash(tmp_path: Path):
    for sample in "ab":
        journal = Journal(tmp_path)
        journal.add(sample, sample)
        journal.close()
    assert sorted(path.name for path in tmp_path.glob("shard*")) == ["shard-000000.msgpack", "shard-000001.msgpack"]
    assert read_journal(tmp_path) == {"a": "a", "b": "b"}


class Pairs(Codec[tuple[int, int]]):
    """A format whose answers are not plain values."""

    def read(self, path, dataset, options):
        return Answers({})

    def write(self, path, answers, dataset, options):
        path.write_text(repr(list(answers)[:1]))

    def to_plain(self, answer):
        return {"x": answer[0], "y": answer[1]}

    def from_plain(self, plain):
        return plain["x"], plain["y"]


def test_the_codec_takes_answers_apart_and_puts_them_together(tmp_path: Path, tiny_data: Files):
    from dataclasses import replace

    def pairs(samples: Any) -> Iterator[tuple[str, Any]]:
        return ((sample.id, (1, 2) if sample.id != "00001.jpg" else 7) for sample in samples)

    outcome = predict(replace(tiny.task, codec=Pairs()), Given(pairs), tiny_data[0], runs=tmp_path)
    assert outcome.file.read_text() == "[('00000.jpg', (1, 2))]"
    assert list(outcome.unanswered) == ["00001.jpg"]
