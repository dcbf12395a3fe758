"""The numbers of the FairFace protocol.

A `normalise_*.jsonl` file is rows of answers; a folder with `expected.json` is an evaluation, or a set of
forms of one label file. Its kind follows from the files beside it and the keys in them; names of models,
groups and policies are read from there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from harness import Case, Checks, read_expected

import evenhand
from evenhand.benchmarks.fairface import benchmark
from evenhand.benchmarks.fairface.data import read_labels
from evenhand.benchmarks.fairface.image_answers import AnswerReader, FileSummary
from evenhand.benchmarks.fairface.normalise import FaceAnswer, Mode, Normaliser
from evenhand.benchmarks.fairface.options import FaceOptions
from evenhand.benchmarks.fairface.sections import confusion as confusion_section
from evenhand.benchmarks.fairface.taxonomy import (
    AGE_BINS,
    FINE_RACES,
    GENDERS,
    RACES,
    AgeInterval,
    bins_beyond_touch,
    bins_overlapped,
)
from evenhand.core.metric import Grid
from evenhand.core.options import parse
from evenhand.core.page import Table
from evenhand.core.records import EVERYONE, Group
from evenhand.core.results import Estimate, Results
from evenhand.stats.contrasts import bonett_price, mcnemar, paired_table

DOCUMENTATION = re.compile(r"note|comment|reference|.*_DO_NOT_USE")
TASKS = ("gender", "race", "age")
READ = Normaliser()
DEEPFACE = AnswerReader(FaceOptions(), FileSummary())


def cases(folder: Path) -> Iterator[Case]:
    """Every file of answers, and every folder with an `expected.json`."""
    for path in sorted(folder.rglob("normalise_*.jsonl")):
        yield Case(str(path.relative_to(folder)), frozenset([path]), lambda checks, path=path: _answers(checks, path))
    for path in sorted(folder.rglob("expected.json")):
        expected = read_expected(path)
        files = frozenset(entry for entry in path.parent.iterdir() if entry.suffix in (".json", ".jsonl", ".csv"))
        yield Case(str(path.parent.relative_to(folder)), files, _kind(path.parent, expected))


def _kind(folder: Path, expected: Mapping[str, Any]) -> Callable[[Checks], None]:
    if "variants" in expected:
        return lambda checks: _label_files(checks, folder, expected)
    if any(key.startswith("policy_") for key in expected):
        return lambda checks: _policies(checks, folder, expected)
    if any(_is_of_an_evaluation(key) for key in expected):
        return lambda checks: _evaluation(checks, "", _Answers(folder, _answer_files(folder)[0]), expected)
    return lambda checks: _models(checks, folder, expected)


def _is_of_an_evaluation(key: str) -> bool:
    return key in ("n_images", "groups", "normalised", "race7", *TASKS, *_COUNTS) or key.endswith("_subset")


def _only_asked(found: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, Any]:
    """What is compared: the keys that a case has. One that we don't know stays a text, and so fails by name."""
    return {key: found.get(key, "an unknown key") for key in expected}


def _answer_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in (".csv", ".jsonl") and path.name != "labels.csv")


# Answers


def _answers(checks: Checks, path: Path) -> None:
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        name = f"{row['id']} {str(row['raw'])[:60]!r}"
        if "family" in row:
            is_deepface = row["family"] == "deepface"
            answer = DEEPFACE.deepface(row["raw"]).answer if is_deepface else READ.answer(row["raw"])
            checks.equal(name, _only_asked(_plain_answer(answer), row["expected"]), row["expected"])
            continue
        attribute = path.stem.removeprefix("normalise_")
        reading = getattr(READ, attribute)(row["raw"], Mode(row["mode"]))
        if attribute != "age":
            checks.equal(name, reading.label, row["expected"])
            continue
        checks.equal(name, _plain_age(reading.interval), row["expected"])
        for key, bins in (("inclusive", bins_overlapped), ("touch_excluded", bins_beyond_touch)):
            if f"expected_bins_{key}" in row:
                met = [] if reading.interval is None else [AGE_BINS[index] for index in bins(reading.interval)]
                checks.equal(f"{name} bins {key}", met, row[f"expected_bins_{key}"])


def _plain_age(age: AgeInterval | None) -> list[int | None] | None:
    return None if age is None else [age.low, age.high]


def _plain_answer(answer: FaceAnswer) -> dict[str, Any]:
    return {
        "gender": answer.gender.label,
        "race": answer.race.label,
        "age": _plain_age(answer.age.interval),
    }


# Label files


def _label_files(checks: Checks, folder: Path, expected: Mapping[str, Any]) -> None:
    for name, variant in expected["variants"].items():
        path = folder / f"labels_{name}.csv"
        if not variant["loads"]:
            checks.refused(name, lambda path=path: read_labels(path), *variant.get("error_mentions", ()))
            continue
        faces, warnings, _ = read_labels(path)
        if "warnings" in variant:
            checks.equal(f"{name} warnings", list(warnings), variant["warnings"])
        found = {
            "n": len(faces.files),
            "age": _counted(faces.age, AGE_BINS),
            "gender": _counted(faces.gender, GENDERS),
            "race7": _counted(faces.fine_race, FINE_RACES),
            "race6": _counted(faces.race, RACES),
        }
        if variant.get("service_test") == "absent":
            checks.true(f"{name} has no service_test", faces.service_test is None)
        elif "service_test_true" in expected:
            checks.equal(f"{name} service_test", int(np.sum(faces.service_test)), expected["service_test_true"])
        for key, value in expected.items():
            if key not in ("variants", "service_test_true") and not DOCUMENTATION.fullmatch(key):
                checks.true(f"{name} knows {key}", key in found, "an unknown key")
                mine = found.get(key)
                several = isinstance(mine, dict) and isinstance(value, dict)
                checks.equal(f"{name} {key}", _only_asked(mine, value) if several else mine, value)


def _counted(codes: Any, names: tuple[str, ...]) -> dict[str, int]:
    return dict(zip(names, np.bincount(codes, minlength=len(names)).tolist(), strict=True))


# Evaluations


class _Answers:
    """One answer file of a case, evaluated when a number of it is asked for."""

    def __init__(self, folder: Path, file: Path, **options: str) -> None:
        self.folder, self.file, self.options = folder, file, options
        self.evaluated = cache(self._evaluate)

    def _evaluate(self, task: str, depth: int, draws: int, fine: bool = False) -> evenhand.Run:
        options = {**self.options, **({"taxonomy": "fine"} if fine else {})}
        by = TASKS if depth else ()
        return evenhand.evaluate(
            f"fairface/{task}", self.file, data=self.folder, options=options, by=by, depth=max(depth, 1),
            draws=draws, permutations=0, rows="all",
        )  # fmt: skip

    def subset(self, name: str) -> _Answers:
        return _Answers(self.folder, self.file, **self.options, subset=name)

    def results(self, task: str, *, depth: int = 1, draws: int = 0, fine: bool = False) -> Results:
        return self.evaluated(task, depth, draws, fine).results


def _evaluation(checks: Checks, name: str, answers: _Answers, expected: Mapping[str, Any]) -> None:
    for key, value in expected.items():
        where = f"{name}{key}"
        if DOCUMENTATION.fullmatch(key):
            continue
        if key == "n_images":
            checks.equal(where, answers.results("gender").rows, value)
        elif key in _COUNTS:
            checks.equal(where, answers.results("gender").facts[_COUNTS[key]], value)
        elif key in ("gender", "race", "race7"):
            task = "gender" if key == "gender" else "race"
            draws = 2000 if "macro_f1_ci95_bootstrap" in value else 0
            results = answers.results(task, depth=0 if draws else 1, draws=draws, fine=key == "race7")
            _labels(checks, where, _Numbers(results), task, value)
        elif key == "age":
            _ages(checks, where, _Numbers(answers.results("age")), value)
        elif key == "groups":
            _groups(checks, where, answers, value)
        elif key.endswith("_subset"):
            _evaluation(checks, f"{where} ", answers.subset(key.removesuffix("_subset")), value)
        elif key == "normalised":
            _normalised(checks, where, answers, value)
        else:
            checks.true(where, False, "an unknown key")


_COUNTS = {
    "n_missing_predictions": "missing_predictions",
    "n_error_records": "error_records",
    "n_extra_predictions_ignored": "extra_predictions_ignored",
    "n_identical_duplicates_collapsed": "identical_duplicates_collapsed",
    "n_conflicting_duplicates": "conflicting_duplicates",
    "n_multi_face_images": "multi_face_images",
    "n_zero_face_confidence": "zero_face_confidence",
}


class _Numbers:
    """The estimates of a run, by metric, output and group."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.found = {(e.metric, e.output, frozenset(e.group.terms)): e for e in results.estimates}

    def get(self, metric: str, output: str, group: Group = EVERYONE) -> Estimate:
        return self.found[metric, output, frozenset(group.terms)]

    def share(self, metric: str, output: str, group: Group = EVERYONE) -> dict[str, Any]:
        found = self.get(metric, output, group)
        return {"n": found.rows, "k": found.events, "value": found.value, "ci95": [found.low, found.high]}

    def grid(self, metric: str) -> dict[str, Any]:
        grid = self.get(metric, "confusion").value
        assert isinstance(grid, Grid)
        return {"rows_ground_truth": list(grid.rows), "cols_predicted": list(grid.columns), "counts": grid.values}

    def support(self) -> dict[str, Any]:
        section = confusion_section(self.results)
        assert section is not None
        table = section.blocks[0]
        assert isinstance(table, Table)
        return {str(row[0]): row[-1] for row in table.rows}


def _labels(checks: Checks, where: str, numbers: _Numbers, metric: str, expected: Mapping[str, Any]) -> None:
    for key, value in expected.items():
        name = f"{where}.{key}"
        if DOCUMENTATION.fullmatch(key):
            continue
        if key == "accuracy":
            checks.close(name, _only_asked(numbers.share(metric, key), value), value)
        elif key == "n_unknown":
            checks.equal(name, numbers.get(metric, "unknown_rate").events, value)
        elif key == "coverage":
            checks.close(name, 1.0 - numbers.results.get(metric, "unknown_rate").number, value)
        elif key == "confusion":
            checks.equal(name, _only_asked(numbers.grid(metric), value), value)
        elif key == "per_class":
            support = numbers.support()
            for label, wanted in value.items():
                found = {what: numbers.get(metric, f"{what}:{label}").value for what in ("precision", "recall", "f1")}
                found["support"] = support[label]
                checks.close(f"{name}.{label}", _only_asked(found, wanted), wanted)
        elif key == "macro_f1_ci95_bootstrap":
            interval = numbers.get(metric, "macro_f1")
            for end, got in (("lo", interval.low), ("hi", interval.high)):
                checks.close(f"{name}.{end}", got, value[end], abs=value["abs_tolerance"])
        elif (metric, key, frozenset()) in numbers.found:
            checks.close(name, numbers.get(metric, key).value, value)
        else:
            checks.true(name, False, "an unknown key")


def _ages(checks: Checks, where: str, numbers: _Numbers, expected: Mapping[str, Any]) -> None:
    literal = "bin_overlap_accuracy_inclusive"
    for key, value in expected.items():
        name = f"{where}.{key}"
        if key in (literal, "bin_overlap_accuracy_touch_excluded"):
            checks.close(name, _only_asked(numbers.share(key, "accuracy"), value), value)
        elif key == "single_bin_accuracy":
            checks.close(name, _only_asked(numbers.share("single_bin", "accuracy"), value), value)
        elif key == "single_bin_within_1":
            checks.close(name, _only_asked(numbers.share("within_one_bin", "rate"), value), value)
        elif key == "single_bin_confusion":
            checks.equal(name, _only_asked(numbers.grid("single_bin"), value), value)
        elif key == "n_unknown":
            checks.equal(name, numbers.get("unknown", "rate").events, value)
        elif key == "mean_bins_covered_answered":
            checks.close(name, numbers.get("bins_covered", "mean").value, value)
        elif key == "mean_abs_bin_distance_assigned":
            checks.close(name, numbers.get("bin_distance", "mean").value, value)
        elif key == "share_open_ended":
            checks.close(name, numbers.get("open_ended", "rate").value, value)
        elif key == "per_gt_bin_inclusive":
            for label, wanted in value.items():
                found = numbers.share(literal, "accuracy", Group.of(age=label))
                checks.close(f"{name}.{label}", _only_asked(found, wanted), wanted)
        elif not DOCUMENTATION.fullmatch(key):
            checks.true(name, False, "an unknown key")


def _groups(checks: Checks, where: str, answers: _Answers, expected: list[Mapping[str, Any]]) -> None:
    depth = max(len(row["by"]) for row in expected)
    numbers = {task: _Numbers(answers.results(task, depth=depth)) for task in TASKS}
    right = {task: (task, "accuracy") for task in ("gender", "race")}
    right["age"] = ("bin_overlap_accuracy_inclusive", "accuracy")
    unknown = {"gender": ("gender", "unknown_rate"), "race": ("race", "unknown_rate"), "age": ("unknown", "rate")}
    for row in expected:
        group = Group(tuple(zip(row["by"], row["group"], strict=True)))
        for key, value in row.items():
            name = f"{where} {group} {key}"
            if key in ("by", "group"):
                continue
            if key == "n":
                checks.equal(name, numbers["gender"].get(*right["gender"], group).rows, value)
            elif key in right:
                checks.close(name, _only_asked(numbers[key].share(*right[key], group), value), value)
            elif key == "unknown":
                found = {task: numbers[task].get(*unknown[task], group).events for task in value}
                checks.equal(name, found, value)
            else:
                checks.true(name, False, "an unknown key")


def _normalised(checks: Checks, where: str, answers: _Answers, expected: Mapping[str, Any]) -> None:
    task = benchmark.find("fairface/gender")
    options = parse(task.options, answers.options)
    read = task.codec.read(answers.file, task.load(answers.folder, options), options)
    for image, wanted in expected.items():
        reply = read.get(image)
        if reply is None or wanted is None:
            checks.equal(f"{where} {image} has no answer", reply, wanted)
            continue
        checks.equal(f"{where} {image}", _only_asked(_plain_answer(reply.answer), wanted), wanted)


# Policies and models


def _policies(checks: Checks, folder: Path, expected: Mapping[str, Any]) -> None:
    file = _answer_files(folder)[0]
    counted = {key: value for key, value in expected.items() if key in _COUNTS}
    policies = {key.removeprefix("policy_"): value for key, value in expected.items() if key.startswith("policy_")}
    for key in expected:
        known = key in counted or key.startswith("policy_") or DOCUMENTATION.fullmatch(key)
        checks.true(f"{key} is known", bool(known), "an unknown key")
    for policy, wanted in policies.items():
        answers = _Answers(folder, file, duplicates=policy)
        if wanted.get("raises"):
            call = answers.results
            checks.refused(f"policy {policy}", lambda call=call: call("gender"), *wanted.get("message_mentions", ()))
            continue
        _evaluation(checks, f"policy {policy} ", answers, {**counted, **wanted})


def _models(checks: Checks, folder: Path, expected: Mapping[str, Any]) -> None:
    files = {path.stem.removeprefix("predictions_"): path for path in _answer_files(folder)}
    models = {name: _Answers(folder, path) for name, path in files.items()}
    for key, value in expected.items():
        if key in models:
            _evaluation(checks, f"{key} ", models[key], value)
        elif pair := re.fullmatch(r"paired_(.+)_vs_(.+)", key):
            first, second = (_model(models, name) for name in pair.groups())
            _paired(checks, key, first, second, value)
        elif key.startswith("published"):
            for name, figures in value.items():
                _published(checks, f"{key} {name}", models[name], figures)
        elif not DOCUMENTATION.fullmatch(key):
            checks.true(key, False, "an unknown key")


def _model(models: Mapping[str, _Answers], name: str) -> _Answers:
    return models[name] if name in models else next(models[full] for full in models if full.endswith(f"_{name}"))


def _paired(checks: Checks, where: str, first: _Answers, second: _Answers, expected: Mapping[str, Any]) -> None:
    for task, wanted in expected.items():
        runs = [answers.evaluated(task, 1, 0, False) for answers in (first, second)]
        metric = benchmark.find(f"fairface/{task}").metrics(parse(benchmark.find(f"fairface/{task}").options, {}))[0]
        table = paired_table(*(metric.row_scores(run.records()) for run in runs))
        interval = bonett_price(table.only_a, table.only_b, table.rows)
        found = {
            "both_right": table.both,
            "only_a": table.only_a,
            "only_b": table.only_b,
            "both_wrong": table.neither,
            "difference_a_minus_b": table.difference,
            "mcnemar_exact_p": float(mcnemar(table.only_a, table.only_b)),
            "bonett_price_ci95": [float(interval.low), float(interval.high)],
        }
        for key, value in wanted.items():
            checks.true(f"{where} {task} knows {key}", key in found, "an unknown key")
            checks.close(f"{where} {task} {key}", found.get(key), value)


def _published(checks: Checks, where: str, answers: _Answers, figures: Mapping[str, float]) -> None:
    """Figures that were published rounded: equal to half a unit of their last digit."""
    for key, value in figures.items():
        checks.true(f"{where} knows {key}", key in _FIGURES, "an unknown key")
        task, metric, output = _FIGURES[key]
        digits = len(str(value).partition(".")[2])
        got = _Numbers(answers.results(task)).get(metric, output).value
        checks.close(f"{where} {key}", got, value, abs=0.5001 * 10.0**-digits)


_FIGURES = {
    "gender_accuracy": ("gender", "gender", "accuracy"),
    "race_macro_f1": ("race", "race", "macro_f1"),
    "age_exact_bin_accuracy": ("age", "single_bin", "accuracy"),
    "mean_abs_bin_distance": ("age", "bin_distance", "mean"),
    "within_1_bin": ("age", "within_one_bin", "rate"),
}
