"""From a file of predictions to a run: what is computed, what is kept, what is used again."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny

from evenhand import store
from evenhand.core.errors import DataError, OptionError, PartError, RunError, UnknownNameError
from evenhand.core.metric import Metric
from evenhand.core.records import Group, Records
from evenhand.core.task import Task
from evenhand.engines import parse
from evenhand.run import evaluate
from evenhand.run.analysis import UNCOUNTED
from evenhand.stats.comparison import compare
from evenhand.store.damaged import inspect_run
from evenhand.store.differences import Change, diff
from evenhand.store.manifest import FORMAT, Input, Media, code_facts
from evenhand.store.runs import open_run, run_folders

QUICK = {"draws": 0, "permutations": 0}
Files = tuple[Path, Path]


def test_without_a_folder_nothing_is_written(tmp_path: Path, tiny_data: Files):
    data, predictions = tiny_data
    before = sorted(tmp_path.rglob("*"))
    run = evaluate(tiny.task, predictions, data, **QUICK)
    assert sorted(tmp_path.rglob("*")) == before
    assert run.folder is None
    assert len(run.records()) == 400


def test_a_stored_run_says_what_the_one_in_memory_says(tmp_path: Path, tiny_data: Files):
    data, predictions = tiny_data
    in_memory = evaluate(tiny.task, predictions, data, draws=50, permutations=50)
    stored = evaluate(tiny.task, predictions, data, draws=50, permutations=50, runs=tmp_path / "runs")
    opened = store.open_run(stored.folder)
    assert in_memory.results == stored.results == opened.results
    assert opened.manifest == stored.manifest
    assert np.array_equal(opened.records()["score"], in_memory.records()["score"])
    assert stored.results.get("found").low < stored.results.get("found").value < stored.results.get("found").high
    (tmp_path / "results.json").write_text("{}")  # somebody's own
    assert store.find_runs(tmp_path) == (opened,)


def test_values_are_those_of_the_rows(tiny_data: Files):
    data, predictions = tiny_data
    run = evaluate(tiny.task, predictions, data, **QUICK)
    dark = run.records().select(Group.of(tone="dark"))
    assert run.results.get("found", group=Group.of(tone="dark")).value == dark["found"].mean()
    assert run.results.get("score").value == pytest.approx(run.records()["score"].mean(), rel=1e-12)
    assert (run.results.rows, run.results.units) == (400, 200)
    assert run.results.missing_attributes == {"tone": int(run.records().members(Group.of(tone="(missing)")).sum())}
    assert run.results.coverage.missing == run.results.coverage.extra == 1
    assert run.results.warnings == ("1 faces without a score count as missed",)
    assert run.results.facts == {"faces": 400}


@pytest.mark.parametrize("engine", ["threads:2", "processes:2", pytest.param("processes:5", marks=pytest.mark.slow)])
def test_every_engine_gives_the_same_bytes(tmp_path: Path, tiny_data: Files, engine: str):
    data, predictions = tiny_data
    folders = [
        evaluate(tiny.task, predictions, data, draws=20, runs=tmp_path / name, engine=parse(name)).folder
        for name in ("serial", engine)
    ]
    names = [path.relative_to(folders[0]) for path in sorted(folders[0].rglob("*")) if path.is_file()]
    assert len(names) == 12
    for name in names:
        if name.name != "run.json":
            assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes(), name


def test_a_run_is_used_again_by_its_fingerprint_alone(tmp_path: Path, tiny_data: Files):
    data, predictions = tiny_data
    runs = tmp_path / "runs"
    first = evaluate(tiny.task, predictions, data, runs=runs, **QUICK)
    assert not first.reused
    again = evaluate(tiny.task, predictions, data, runs=runs, **QUICK)
    assert again.reused
    assert again.folder == first.folder
    assert again.manifest.clock == first.manifest.clock
    moved = tmp_path / "elsewhere.json"
    shutil.copy(predictions, moved)
    assert evaluate(tiny.task, moved, data, model="model", runs=runs, **QUICK).reused


def test_other_content_under_the_same_name_is_another_run(tmp_path: Path, tiny_data: Files):
    data, predictions = tiny_data
    first = evaluate(tiny.task, predictions, data, runs=tmp_path / "runs", **QUICK)
    scores = json.loads(predictions.read_text())
    scores["00000.jpg"] = 0.123
    predictions.write_text(json.dumps(scores))
    second = evaluate(tiny.task, predictions, data, runs=tmp_path / "runs", **QUICK)
    assert second.folder != first.folder
    assert len(store.find_runs(tmp_path / "runs")) == 2


@pytest.mark.parametrize(
    "other", [{"options": {"threshold": "0.6"}}, {"by": ["tone"]}, {"seed": 1}, {"model": "b"}, {"min_rows": 5}]
)
def test_other_settings_are_another_run(tmp_path: Path, tiny_data: Files, other: dict):
    data, predictions = tiny_data
    first = evaluate(tiny.task, predictions, data, runs=tmp_path, **QUICK)
    second = evaluate(tiny.task, predictions, data, runs=tmp_path, **QUICK, **other)
    assert not second.reused
    assert second.manifest.fingerprint != first.manifest.fingerprint


def test_a_file_that_an_option_names_counts_by_its_content(tmp_path: Path, tiny_data: Files):
    data, predictions = tiny_data
    weights = tmp_path / "weights.bin"
    prints = []
    for content in (b"one", b"two", b"one"):
        weights.write_bytes(content)
        run = evaluate(tiny.task, predictions, data, options={"weights": str(weights)}, **QUICK)
        prints.append(run.manifest.fingerprint)
    assert prints[0] == prints[2] != prints[1]
    assert [(file.role, file.name) for file in run.manifest.inputs][-1] == ("options", "weights")


def test_other_code_is_another_run(tmp_path: Path, tiny_data: Files, monkeypatch: pytest.MonkeyPatch):
    data, predictions = tiny_data
    before = evaluate(tiny.task, predictions, data, runs=tmp_path / "runs", **QUICK)
    monkeypatch.setattr("evenhand.run.evaluation.code_facts", code_facts)
    after = evaluate(tiny.task, predictions, data, runs=tmp_path / "runs", **QUICK)
    assert after.folder != before.folder
    assert set(after.manifest.code) == {"evenhand", "tiny"}


def test_other_groups_are_measured_from_the_stored_rows(tmp_path: Path, tiny_data: Files, monkeypatch):
    data, predictions = tiny_data
    evaluate(tiny.task, predictions, data, runs=tmp_path / "runs", **QUICK)
    monkeypatch.setenv("TINY_LOG", str(tmp_path / "log"))
    by_tone = evaluate(tiny.task, predictions, data, by=["tone"], runs=tmp_path / "runs", **QUICK)
    assert not (tmp_path / "log").exists()
    fresh = evaluate(tiny.task, predictions, data, by=["tone"], **QUICK)
    assert by_tone.results == fresh.results
    assert len(by_tone.records()) == 400


def test_force_computes_again_and_replaces(tmp_path: Path, tiny_data: Files, monkeypatch):
    data, predictions = tiny_data
    first = evaluate(tiny.task, predictions, data, runs=tmp_path / "runs", **QUICK)
    (first.folder / "records" / "part-0000.parquet").write_bytes(b"damaged")
    monkeypatch.setenv("TINY_LOG", str(tmp_path / "log"))
    again = evaluate(tiny.task, predictions, data, runs=tmp_path / "runs", force=True, **QUICK)
    assert (tmp_path / "log").exists()
    assert again.folder == first.folder
    assert len(again.records()) == 400
    assert [path.name for path in again.folder.parent.iterdir()] == [again.folder.name]


def test_rows_are_kept_when_asked_for(tmp_path: Path, tiny_data: Files):
    data, predictions = tiny_data
    pairs = replace(tiny.task, store_rows=False)
    first = evaluate(pairs, predictions, data, runs=tmp_path, **QUICK)
    assert not (first.folder / "records").exists()
    with pytest.raises(RunError, match="--rows all"):
        first.records()
    second = evaluate(pairs, predictions, data, runs=tmp_path, rows="all", **QUICK)
    assert second.folder == first.folder
    assert len(second.records()) == 400
    assert evaluate(pairs, predictions, data, runs=tmp_path, rows="all", **QUICK).reused
    none = evaluate(tiny.task, predictions, data, runs=tmp_path / "none", rows="none", **QUICK)
    assert not (none.folder / "records").exists()


def test_the_manifest_names_inputs_with_size_and_hash(tmp_path: Path, tiny_data: Files):
    data, predictions = tiny_data
    manifest = evaluate(tiny.task, predictions, data, runs=tmp_path / "runs", **QUICK).manifest
    assert [(file.role, file.name, file.size) for file in manifest.inputs] == [
        ("data", "faces.json", (data / "faces.json").stat().st_size),
        ("predictions", "", predictions.stat().st_size),
    ]
    assert all(len(file.hash) == 64 for file in manifest.inputs)
    assert {"evenhand", "python", "numpy", "polars"} <= set(manifest.versions)
    assert set(manifest.clock.seconds) >= {"load", "read", "record", "measure"}


def in_format_1(folder: Path) -> None:
    """Write a run as it was stored when hashes were SHA-256."""

    def sha256(path: Path) -> str:
        return hashlib.sha256(path.read_bytes()).hexdigest()

    manifest, recorded = folder / "run.json", folder / "records" / "recorded.json"
    plain, parts = json.loads(manifest.read_bytes()), json.loads(recorded.read_bytes())
    for file in (*plain["inputs"], *parts["inputs"]):
        file["sha256"] = sha256(Path(file["path"]))
    for part in parts["parts"]:
        part["sha256"] = sha256(recorded.parent / part["name"])
    plain["results_sha256"] = sha256(folder / "results.json")
    for entry in (*plain["inputs"], *parts["inputs"], *parts["parts"]):
        del entry["hash"]
    del plain["results_hash"]
    manifest.write_text(json.dumps({**plain, "format": 1}))
    recorded.write_text(json.dumps({**parts, "format": 1}))


def test_runs_of_format_1_are_read_compared_and_checked_by_their_own_hashes(tmp_path: Path, tiny_data: Files):
    data, predictions = tiny_data
    before, after = (
        evaluate(tiny.task, predictions, data, runs=tmp_path / name, rows="all", **QUICK) for name in ("old", "new")
    )
    in_format_1(before.folder)
    read = open_run(before.folder)
    assert read.results == after.results
    assert len(read.records()) == len(after.records())
    assert [file.hash for file in read.manifest.inputs] == [
        f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}" for path in (data / "faces.json", predictions)
    ]
    difference = diff(read, after)
    assert difference.facts == (Change("hash of inputs", "SHA-256", "BLAKE3"),)
    assert (difference.inputs, difference.values, difference.rows.changed) == ((), (), 0)
    part = next((before.folder / "records").glob("*.parquet"))
    part.write_bytes(part.read_bytes() + b"more")
    with pytest.raises(RunError, match="content has changed"):
        open_run(before.folder).records()
    (before.folder / "results.json").write_bytes((before.folder / "results.json").read_bytes() + b"\n")
    assert "was changed after the run was written" in " ".join(open_run(before.folder).results.warnings)


def test_inputs_whose_hashes_are_of_one_kind_are_compared_by_them_in_runs_of_two_formats(
    tmp_path: Path, tiny_data: Files
):
    data, predictions = tiny_data
    first, second = (evaluate(tiny.task, predictions, data, runs=tmp_path / name, **QUICK) for name in ("a", "b"))
    in_format_1(first.folder)
    before, now = open_run(first.folder), open_run(second.folder)
    media = Media(1, 10, 0, hashed=False, sha256="earlier")
    weights = Input("data", "weights.pt", "weights.pt", 10, "sha256:0")
    before = replace(before, manifest=replace(before.manifest, inputs=(weights,), media=media))
    changed = (replace(weights, hash="sha256:1"),), replace(media, sha256="later")
    now = replace(now, manifest=replace(now.manifest, inputs=changed[0], media=changed[1]))
    assert diff(before, now).inputs == (
        Change("data: weights.pt", "sha256:0", "sha256:1"),
        Change("media", "earlier", "later"),
    )
    of_content = (
        replace(run, manifest=replace(run.manifest, media=replace(media, hashed=True, sha256=name)))
        for run, name in ((before, "SHA-256 of all"), (now, "BLAKE3 of all"))
    )
    assert [change.name for change in diff(*of_content).inputs] == ["data: weights.pt"]


def test_a_damaged_manifest_of_format_1_still_names_the_inputs(tmp_path: Path, tiny_data: Files):
    data, predictions = tiny_data
    folder = evaluate(tiny.task, predictions, data, runs=tmp_path, **QUICK).folder
    in_format_1(folder)
    path = folder / "run.json"
    plain = json.loads(path.read_bytes())
    path.write_text(json.dumps({**plain, "engine": 7}))
    inspected = inspect_run(folder)
    assert inspected.manifest is None
    assert [(file.name, file.hash[:7]) for file in inspected.inputs] == [("faces.json", "sha256:"), ("", "sha256:")]


@pytest.mark.parametrize("name", ["results_sha256", "inputs"])
def test_a_hash_of_format_1_that_is_no_text_is_refused_by_what_was_found(tmp_path: Path, tiny_data: Files, name: str):
    data, predictions = tiny_data
    folder = evaluate(tiny.task, predictions, data, runs=tmp_path, **QUICK).folder
    in_format_1(folder)
    path = folder / "run.json"
    plain = json.loads(path.read_bytes())
    if name == "inputs":
        plain["inputs"][0]["sha256"] = None
    else:
        plain[name] = None
    path.write_text(json.dumps(plain))
    with pytest.raises(RunError, match="hash: expected str, found None"):
        open_run(folder)


def test_media_are_known_by_size_and_time_unless_they_are_hashed(tmp_path: Path, tiny_data: Files):
    import os

    data, predictions = tiny_data
    picture = data / "face.jpg"
    picture.write_bytes(b"pixels")

    def load(folder: Path, options: object):
        dataset = tiny.load(folder, options)
        first, *rest = dataset.samples
        return replace(dataset, samples=[replace(first, media=(picture, data / "absent.jpg")), *rest])

    task: Task = replace(tiny.task, load=load)
    stamped = evaluate(task, predictions, data, **QUICK).manifest
    hashed = evaluate(task, predictions, data, hash_media=True, **QUICK).manifest
    assert (stamped.media.files, stamped.media.bytes, stamped.media.absent) == (2, 6, 1)
    os.utime(picture, (1, 1))
    assert evaluate(task, predictions, data, **QUICK).manifest.fingerprint != stamped.fingerprint
    assert evaluate(task, predictions, data, hash_media=True, **QUICK).manifest.fingerprint == hashed.fingerprint
    picture.write_bytes(b"PIXELS")
    assert evaluate(task, predictions, data, hash_media=True, **QUICK).manifest.fingerprint != hashed.fingerprint


def test_a_newer_format_is_refused_with_a_sentence(tmp_path: Path, tiny_data: Files):
    data, predictions = tiny_data
    folder = evaluate(tiny.task, predictions, data, runs=tmp_path, **QUICK).folder
    for name in ("run.json", "results.json"):
        path = folder / name
        path.write_text(path.read_text().replace(f'"format": {FORMAT}', '"format": 99', 1))
        with pytest.raises(
            RunError, match=rf"{name} has format 99.*knows formats up to {FORMAT}.*pip install -U evenhand"
        ):
            store.open_run(folder)
        path.write_text(path.read_text().replace('"format": 99', f'"format": {FORMAT}', 1))
    store.open_run(folder)


@pytest.mark.parametrize("name", ["run.json", "results.json"])
def test_a_damaged_run_is_refused_by_the_file(tmp_path: Path, tiny_data: Files, name: str):
    data, predictions = tiny_data
    folder = evaluate(tiny.task, predictions, data, runs=tmp_path, **QUICK).folder
    path = folder / name
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(RunError, match=name):
        store.open_run(folder)
    problems: list[str] = []
    assert store.find_runs(tmp_path, problem=problems.append) == ()
    assert name in problems[0]
    assert evaluate(tiny.task, predictions, data, runs=tmp_path, force=True, **QUICK).folder == folder
    store.open_run(folder)


@pytest.mark.parametrize("text", ['{"format": 1}', '{"format": 2}', "[]", '{"format": "new"}', "no JSON"])
def test_a_manifest_that_is_none_is_refused_in_words(tmp_path: Path, text: str):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(RunError, match=r"run\.json (can't be read|has no format version)"):
        store.open_run(tmp_path)


def test_a_changed_part_is_noticed(tmp_path: Path, tiny_data: Files):
    data, predictions = tiny_data
    run = evaluate(tiny.task, predictions, data, runs=tmp_path, **QUICK)
    part = run.folder / "records" / "part-0003.parquet"
    part.write_bytes((run.folder / "records" / "part-0004.parquet").read_bytes())
    with pytest.raises(RunError, match=r"part-0003\.parquet is not the file that was written"):
        run.records()


def test_what_is_no_run_says_so(tmp_path: Path):
    with pytest.raises(RunError, match=r"is not a run: it has no run\.json. The folder does not exist"):
        store.open_run(tmp_path / "nowhere")


def test_an_attribute_that_does_not_exist_is_met_with_the_nearest(tiny_data: Files):
    data, predictions = tiny_data
    with pytest.raises(UnknownNameError, match=r"no attribute 'tones'\. Did you mean 'tone'"):
        evaluate(tiny.task, predictions, data, by=["tones"])
    with pytest.raises(OptionError, match="'size' can't be 'many'"):
        evaluate(tiny.task, predictions, data, options={"size": "many"})


def test_no_rows_are_an_error_and_not_an_empty_table(tmp_path: Path, tiny_data: Files):
    data, predictions = tiny_data
    silent = replace(tiny.task, record=lambda *given: iter(()))
    with pytest.raises(DataError, match="gave no rows"):
        evaluate(silent, predictions, data, runs=tmp_path / "runs")
    assert list(run_folders(tmp_path)) == []
    assert not [path for path in (tmp_path / "runs").rglob("*") if path.is_file()]


def test_rows_without_an_item_are_refused(tiny_data: Files):
    data, predictions = tiny_data
    careless = replace(tiny.task, record=lambda *given: iter([Records({"unit": np.arange(3)}, {})]))
    with pytest.raises(PartError, match="part 0 has no column 'item'"):
        evaluate(careless, predictions, data)


def test_a_row_without_a_unit_is_its_own_unit(tmp_path: Path, tiny_data: Files):
    data, predictions = tiny_data

    def without_units(*given: Any) -> Iterator[Records]:
        for part in tiny.task.record(*given):
            yield Records({name: part[name] for name in part.columns if name != "unit"}, part.attributes)

    unitless = replace(tiny.task, record=without_units)
    run = evaluate(unitless, predictions, data, runs=tmp_path, **QUICK)
    assert run.results.units == run.results.rows == 400
    assert evaluate(unitless, predictions, data, **QUICK).results == run.results
    same = compare(run.records(), run.records(), tiny.task.metrics(tiny.task.options()))
    assert same.units == 400


def test_extras_see_all_rows_and_become_facts(tmp_path: Path, tiny_data: Files):
    data, predictions = tiny_data
    task = replace(tiny.task, extras=lambda rows, options: {"best": rows["score"].max(), "rows": len(rows)})
    run = evaluate(task, predictions, data, runs=tmp_path, **QUICK)
    assert run.results.facts == {"faces": 400, "best": run.records()["score"].max(), "rows": 400}
    assert store.open_run(run.folder).results == run.results


def test_without_draws_a_metric_without_formula_pays_nothing_for_units(tiny_data: Files):
    data, predictions = tiny_data

    class Highest(tiny.Mean):
        """A mean that has no formula for its interval."""

        ratios = Metric.ratios

    task = replace(tiny.task, metrics=lambda options: (Highest("plain", column="score"), *tiny.task.metrics(options)))
    run = evaluate(task, predictions, data, draws=0)
    plain, formula = run.results.get("plain"), run.results.get("score")
    assert plain.value == pytest.approx(formula.value, rel=1e-12)
    assert (plain.units, plain.low, plain.notes) == (0, None, (UNCOUNTED,))
    assert formula.units == 200
    assert formula.low is not None
    assert [estimate.metric for estimate in run.results.estimates][:1] == ["plain"]
    drawn = evaluate(task, predictions, data, draws=50, permutations=50).results.get("plain")
    assert (drawn.units, drawn.low is not None) == (200, True)


def test_the_official_file_is_kept_beside_its_results(tmp_path: Path, tiny_data: Files):
    data, predictions = tiny_data
    run = evaluate(tiny.task, predictions, data, runs=tmp_path / "runs", **QUICK)
    assert run.predictions.read_bytes() == predictions.read_bytes()


def test_a_large_submission_is_named_by_its_hash_and_not_copied(tmp_path: Path, tiny_data: Files, monkeypatch):
    data, predictions = tiny_data
    monkeypatch.setattr("evenhand.store.runs.MOST_BYTES", 100)
    run = evaluate(tiny.task, predictions, data, runs=tmp_path / "runs", **QUICK)
    assert run.predictions is None
    assert not run.manifest.stored["predictions"]


def test_a_model_name_cannot_leave_the_folder(tmp_path: Path, tiny_data: Files):
    data, predictions = tiny_data
    run = evaluate(tiny.task, predictions, data, model="../../etc/passwd", runs=tmp_path / "runs", **QUICK)
    assert run.folder.is_relative_to(tmp_path / "runs" / "tiny" / "found")
    assert run.results.model == "../../etc/passwd"


def test_a_difference_is_told_from_inputs_to_rows(tmp_path: Path, tiny_data: Files):
    data, predictions = tiny_data
    first = evaluate(tiny.task, predictions, data, runs=tmp_path / "runs", **QUICK)
    scores = json.loads(predictions.read_text())
    found_before = next(item for item, score in scores.items() if score > 0.8)
    scores[found_before] = -5.0
    predictions.write_text(json.dumps(scores))
    second = evaluate(
        tiny.task, predictions, data, runs=tmp_path / "runs", options={"threshold": 0.51}, by=["tone"], **QUICK
    )
    found = store.diff(first, store.open_run(second.folder))
    assert [change.name for change in found.inputs] == ["predictions"]
    assert found.options == (store.Change("threshold", 0.5, 0.51),)
    assert [change.name for change in found.settings] == ["by"]
    assert found.versions == ()
    assert found.rows.worst[0].item == found_before
    assert found.values[0].name.startswith("score.mean")
    assert not found.is_empty
    assert store.diff(first, first).is_empty


def test_a_difference_without_rows_says_why_there_are_none(tmp_path: Path, tiny_data: Files):
    data, predictions = tiny_data
    run = evaluate(tiny.task, predictions, data, runs=tmp_path / "runs", rows="none", **QUICK)
    assert "--rows all" in store.diff(run, run).rows.reason


def test_runs_of_different_tasks_have_no_difference(tiny_data: Files):
    data, predictions = tiny_data
    first = evaluate(tiny.task, predictions, data, **QUICK)
    second = evaluate(replace(tiny.task, name="tiny/other"), predictions, data, **QUICK)
    with pytest.raises(RunError, match=f"a run of {tiny.task.name}.* one of tiny/other. Give two runs of one task"):
        store.diff(first, second)


def test_functions_with_arguments_set_before_are_code_of_where_they_are_written():
    assert set(code_facts([partial(replace, tiny.task), partial(tiny.task.load)])) == {
        "dataclasses",
        "evenhand",
        "tiny",
    }


def test_a_margin_of_a_value_that_does_not_exist_is_told(tiny_data: Files):
    data, predictions = tiny_data
    told: list[str] = []
    evaluate(tiny.task, predictions, data, margins={"found": 0.1, "score.mena": 0.2}, warn=told.append, **QUICK)
    (about,) = (message for message in told if "margins" in message)
    assert about.startswith(f"margins: {tiny.task.name} has no value 'score.mena', so it has no effect.")
    assert "score.mean" in about


class Ruler:
    """An instrument that knows its name."""

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint


def test_instruments_are_part_of_the_results_and_of_the_fingerprint(tmp_path: Path, tiny_data: Files):
    data, predictions = tiny_data
    task = replace(tiny.task, instruments=lambda options: ("ruler",))
    first = evaluate(task, predictions, data, instruments={"ruler": Ruler("steel")}, **QUICK)
    second = evaluate(task, predictions, data, instruments={"ruler": Ruler("wood")}, **QUICK)
    assert first.results.instruments == {"ruler": "steel"}
    assert first.manifest.stages["records"] != second.manifest.stages["records"]
    with pytest.raises(UnknownNameError, match="no instrument 'ruler'"):
        evaluate(task, predictions, data, **QUICK)


def test_recording_tells_how_far_it_is(tiny_data: Files):
    data, predictions = tiny_data
    seen: list[tuple[int, int | None, str]] = []
    evaluate(tiny.task, predictions, data, progress=lambda *told: seen.append(told), **QUICK)
    assert (8, None, "parts recorded") in seen
