"""Groups, disparities and the demonstration."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from evenhand.benchmarks.fhibe import attributes, disparity, grouping
from evenhand.benchmarks.fhibe.data import published_attribute
from evenhand.benchmarks.fhibe.demo import CHANCE, PLANTED
from evenhand.compat.fhibe.evaluate import files
from evenhand.core.errors import UnknownNameError
from evenhand.core.task import Demo

CELLS = {
    "pronoun": ["['0. She/her/hers']", "['1. He/him/his']", "['0. She/her/hers', '1. He/him/his']", None],
    "head_pose": ["0. Typical", "1. Atypical", "0. Typical", "1. Atypical"],
    "location_country": ["Kenya", "Côte D'Ivoire", "Kenya", "Kenya"],
}
PEOPLE = {name: published_attribute(name, cells) for name, cells in CELLS.items()}
SCORES = np.array([0.1, 0.2, 0.4, 0.8])


def test_groups_are_the_products_of_labels_over_all_subsets_of_attributes(tmp_path: Path) -> None:
    files.write_intersections(tmp_path / "x.json", "M", PEOPLE, list(CELLS), SCORES)
    found = json.loads((tmp_path / "x.json").read_text())
    labels = {
        name: [attributes.labels(name, c, attributes.found_values(name, CELLS[name])) for c in CELLS[name]]
        for name in CELLS
    }
    names = attributes.canonical(CELLS)
    expected: dict[str, dict[str, list[float]]] = {}
    for size in range(1, 4):
        for by in combinations(names, size):
            groups = expected.setdefault(attributes.group_key(by), {})
            for row in range(4):
                for group in product(*(labels[name][row] for name in by)):
                    groups.setdefault(attributes.group_key(group), []).append(float(SCORES[row]))
    assert {by: {key: entry["scores"] for key, entry in groups.items()} for by, groups in found.items()} == expected
    for entry in (entry for groups in found.values() for entry in groups.values()):
        assert entry["M"] == pytest.approx(np.mean(entry["scores"]), abs=1e-15)
        assert entry["Class_Size"] == len(entry["scores"])


def test_the_streamed_file_is_indented_json_without_scores_that_are_no_number(tmp_path: Path) -> None:
    scores = np.array([0.1, np.nan, 0.4, 0.8])
    files.write_intersections(tmp_path / "x.json", "M", PEOPLE, list(CELLS), scores, extra={"k": ["a"]})
    text = (tmp_path / "x.json").read_text()
    content = json.loads(text)
    assert text == json.dumps(content, indent=4)
    assert content.pop("k") == ["a"]
    assert content["['pronoun']"]["['1. He/him/his']"] == {"scores": [0.4], "M": 0.4, "Class_Size": 1}
    assert "Côte D'Ivoire" not in str(content)


def test_the_number_of_memberships_is_known_before(tmp_path: Path) -> None:
    found = sum(len(subset.rows) for subset in grouping.subsets(PEOPLE, list(CELLS)))
    assert grouping.count_memberships(PEOPLE, list(CELLS)) == found


def test_labels_that_share_a_number_keep_the_order_of_first_appearance() -> None:
    people = {"nationality": published_attribute("nationality", ["['7. B']", "['7. A']", "['7. B']"])}
    (subset,) = grouping.subsets(people, ["nationality"])
    assert subset.keys() == ["['7. B']", "['7. A']"]
    assert subset.means(np.array([1.0, 5.0, 3.0])).tolist() == [2.0, 5.0]


def test_an_attribute_that_is_not_there_is_named() -> None:
    with pytest.raises(UnknownNameError, match="shoe size"):
        list(grouping.subsets(PEOPLE, ["shoe size"]))


def test_no_attributes_give_no_groups() -> None:
    assert list(grouping.subsets(PEOPLE, [])) == []


def test_negative_medians_give_pairs_without_a_disparity() -> None:
    groups = {"a": np.linspace(-0.9, -0.2, 40), "b": np.linspace(0.1, 0.9, 40)}
    (pair,) = disparity.rank_tests(groups)
    assert pair.significant
    assert pair.disparity is None
    assert pair.worst == "a"


def test_equal_medians_call_the_second_group_worst() -> None:
    (pair,) = disparity.rank_tests({"a": np.full(30, 0.5), "b": np.full(30, 0.5)})
    assert (pair.worst, pair.disparity, pair.p_value) == ("b", 0.0, 1.0)


def test_a_table_without_significant_pairs_is_none() -> None:
    assert disparity.disparity_table(disparity.ScoredRows("M", PEOPLE, SCORES), ["head_pose"]) is None


def test_the_demo_finds_what_was_planted_and_does_not_over_read_chance(
    demos_of: Callable[[str], Sequence[Demo]],
) -> None:
    from evenhand.benchmarks.fhibe.tasks import task_named
    from evenhand.core.results import Verdict
    from evenhand.run import evaluate

    made = demos_of("fhibe")[0]
    run = evaluate(
        task_named(made.task), made.predictions, made.data, by=["apparent_skin_color", "age"], depth=1, draws=200,
        permutations=200,
    )  # fmt: skip
    sure = [
        c for c in run.results.contrasts if c.metric == "AR_IOU" and c.verdict in (Verdict.LARGE, Verdict.DIFFERENT)
    ]
    worse = {str(contrast.worse) for contrast in sure}
    assert PLANTED in worse
    assert CHANCE not in worse
    assert (made.planted, made.chance) == (PLANTED, CHANCE)


@pytest.mark.parametrize(("depth", "least"), [(1, 500), pytest.param(2, 2_000, marks=pytest.mark.slow)])
def test_no_number_of_the_demonstration_leaves_the_scale_of_its_metric(
    demos_of: Callable[[str], Sequence[Demo]], depth: int, least: int
) -> None:
    from evenhand.benchmarks.fhibe.tasks import task_named
    from evenhand.run import evaluate

    checked = 0
    for demo in demos_of("fhibe"):
        task = task_named(demo.task)
        metrics = task.metrics(task.options())
        scales = {(metric.name, output): scale for metric in metrics for output, scale in metric.scales.items()}
        results = evaluate(task, demo.predictions, demo.data, depth=depth, draws=100, permutations=50).results
        for one in results.estimates:
            if scale := scales.get((one.metric, one.output)):
                ends = [end for end in (one.number, one.low, one.high) if end is not None]
                assert all(scale.low <= end <= scale.high for end in ends), one
                checked += len(ends)
        for pair in results.contrasts:
            span = scales[pair.metric, pair.output].span
            ends = [end for end in (pair.difference, pair.low, pair.high) if end is not None]
            assert all(-span <= end <= span for end in ends), pair
    assert checked > least
