"""Modified BCubed: the example of the dataset guide, and its edge cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.core.metric import Undefined
from evenhand.core.records import Records
from evenhand.metrics.clustering import BCubed, bcubed


def reduced(subjects: list[int], clusters: list[int], background: list[int] | None = None) -> list[object]:
    scores = bcubed(np.array(subjects), np.array(clusters), None if background is None else np.array(background))
    metric = BCubed("BCubed")
    state = metric.measure(Records({"precision": scores.precision, "recall": scores.recall}, {}))
    values = metric.result(state, state)
    return [values[name][0] for name in ("precision", "recall", "F")]


def test_the_example_of_the_dataset_guide() -> None:
    precision, recall, f = reduced([0, 0, 1, 0, 1], [1, 1, 1, 2, 2], background=[1, 2, 2])
    assert precision == pytest.approx(0.35, abs=1e-15)
    assert recall == pytest.approx(8 / 15, abs=1e-15)
    assert f == pytest.approx(0.42264150943, abs=1e-11)


def test_a_failure_to_enrol_has_neither_precision_nor_recall_and_lowers_the_recall_of_its_person() -> None:
    precision, recall, _ = reduced([0, 0, 0], [1, 1, -1])
    assert precision == pytest.approx(2 / 3)
    assert recall == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)


def test_only_failures_to_enrol_give_zero() -> None:
    assert reduced([0, 1], [-1, -1]) == [0.0, 0.0, 0.0]


def test_no_faces_at_all_are_undefined() -> None:
    assert all(isinstance(value, Undefined) for value in reduced([], []))


def test_clusters_of_background_only_are_ignored() -> None:
    assert reduced([0, 0], [1, 1], background=[7, 7, -1]) == [1.0, 1.0, 1.0]


def test_everyone_in_one_cluster_has_full_recall() -> None:
    precision, recall, _ = reduced([0, 1, 2, 3], [5, 5, 5, 5])
    assert (precision, recall) == (0.25, 1.0)


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 4)), max_size=30), st.lists(st.integers(-1, 4), max_size=9)
)
def test_the_definition_pair_by_pair_gives_the_same(faces: list[tuple[int, int]], background: list[int]) -> None:
    subjects, clusters = np.array([face[0] for face in faces], int), np.array([face[1] for face in faces], int)
    scores = bcubed(subjects, clusters, np.array(background, int))
    for place, (subject, cluster) in enumerate(faces):
        if cluster == -1:
            assert scores.precision[place] == scores.recall[place] == 0
            continue
        mates = sum(1 for face in faces if face == (subject, cluster))
        size = sum(1 for face in faces if face[1] == cluster) + background.count(cluster)
        assert scores.precision[place] == mates / size
        assert scores.recall[place] == mates / sum(1 for face in faces if face[0] == subject)
