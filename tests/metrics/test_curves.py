"""Free-response and open-set curves, by counting on fingers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.core.measure import measure
from evenhand.core.metric import Curve, Undefined
from evenhand.core.records import EVERYONE, Attribute, Group, Records
from evenhand.metrics.curves import Event, FreeResponse, OpenSet
from evenhand.metrics.free_response import free_response, read_at, sum_of


def by_counting(positives: list[float], negatives: list[float], faces: int, images: int) -> list[tuple[float, ...]]:
    """The definition, one pass per threshold."""
    return [
        (t, sum(p >= t for p in positives) / faces, sum(n >= t for n in negatives) / images)
        for t in sorted(set(negatives))
    ]


scores = st.lists(st.integers(0, 9).map(lambda tenths: tenths / 10), max_size=30)


@settings(deadline=None, max_examples=80)
@given(scores, scores)
def test_counting_by_binary_search_is_counting(positives: list[float], negatives: list[float]) -> None:
    curve = free_response(np.array(positives), np.array(negatives), faces=40, images=7)
    rate = curve.rate
    assert not isinstance(rate, Undefined)
    found = list(zip(curve.thresholds.tolist(), rate.tolist(), curve.per_image.tolist(), strict=True))
    assert found == by_counting(positives, negatives, 40, 7)


def test_positives_below_every_negative_are_never_counted() -> None:
    curve = free_response(np.array([0.1, 0.9]), np.array([0.5]), faces=2, images=1)
    assert curve.positives.tolist() == [1]


def test_every_score_as_threshold_is_never_below_the_published_reading() -> None:
    positives, negatives = np.array([0.1, 0.45, 0.9]), np.array([0.4, 0.5])
    published = read_at(free_response(positives, negatives, faces=3, images=1))
    documented = read_at(free_response(positives, negatives, faces=3, images=1, every_score=True))
    assert [r.rate for r in published] == [None, None, None, 1 / 3]
    assert [r.rate for r in documented] == [1 / 3, 1 / 3, 1 / 3, 2 / 3]


def test_no_negatives_give_an_empty_curve_and_no_reading() -> None:
    curve = free_response(np.array([0.5]), np.zeros(0), faces=1, images=1)
    assert len(curve.thresholds) == 0
    assert all(reading.rate is None for reading in read_at(curve))
    assert isinstance(sum_of(read_at(curve)), Undefined)


def test_a_curve_that_ends_early_gives_its_rightmost_value() -> None:
    curve = free_response(np.array([0.9, 0.2]), np.array([0.1]), faces=2, images=10)
    assert [reading.rate for reading in read_at(curve, (0.1, 1.0))] == [1.0, 1.0]


def test_a_curve_that_never_gets_so_low_gives_none_and_adds_nothing_to_the_sum() -> None:
    curve = free_response(np.array([0.9]), np.array([0.8, 0.7]), faces=2, images=10)
    readings = read_at(curve)
    assert [reading.rate for reading in readings] == [None, None, 0.5, 0.5]
    assert sum_of(readings) == 1.0


def test_equal_to_the_target_is_allowed() -> None:
    reading = read_at(free_response(np.array([0.9]), np.array([0.5, 0.4]), faces=1, images=10), (0.1,))[0]
    assert (reading.threshold, reading.actual, reading.negatives) == (0.5, 0.1, 1)


def rows(*events: tuple[Event, float, int], lighting: list[str] | None = None) -> Records:
    """Rows of (kind, score, what it adds to the faces)."""
    kind, score, faces = (np.array(column) for column in zip(*events, strict=True))
    attributes = {} if lighting is None else {"lighting": Attribute.of(lighting, ("sun", "shade"))}
    return Records(
        {
            "kind": kind,
            "score": score.astype(float),
            "faces": faces,
            "known": faces,
            "rank": np.ones(len(kind), int),
            "unit": np.arange(len(kind)),
        },
        attributes,
    )


NONE = float("nan")


def test_an_image_without_faces_still_counts_for_false_alarms_per_image() -> None:
    table = rows((Event.IMAGE, NONE, 0), (Event.IMAGE, NONE, 0), (Event.FOUND, 0.9, 1), (Event.FALSE_ALARM, 0.5, 0))
    curve = next(e.value for e in measure(table, [FreeResponse("froc")]) if e.output == "curve")
    assert isinstance(curve, Curve)
    assert curve.x.tolist() == [0.5]


def test_an_absent_exclusion_lowers_the_number_of_faces() -> None:
    table = rows(
        (Event.IMAGE, NONE, 0),
        (Event.FOUND, 0.9, 1),
        (Event.MISSED, NONE, 1),
        (Event.ABSENT, NONE, -1),
        (Event.FALSE_ALARM, 0.5, 0),
    )
    found = {e.output: e.value for e in measure(table, [FreeResponse("froc")])}
    assert found["DR@1"] == 1.0


def test_more_exclusions_than_faces_leave_the_rate_undefined_with_a_reason() -> None:
    table = rows((Event.IMAGE, NONE, 0), (Event.ABSENT, NONE, -1), (Event.FALSE_ALARM, 0.5, 0))
    found = {e.output: e.value for e in measure(table, [FreeResponse("froc")])}
    assert found["DR@1"] == Undefined("more faces are excluded than there are (by 1)")
    assert isinstance(found["curve"], Undefined)


def test_a_known_face_beyond_the_rank_is_only_missed() -> None:
    table = rows((Event.IMAGE, NONE, 0), (Event.FOUND, 0.9, 1), (Event.STRANGER, 0.5, 0))
    table = Records({**table.columns, "rank": np.array([0, 2, 0])}, {})
    values = {(e.metric, e.output): e.value for e in measure(table, [OpenSet("first", 1), OpenSet("second", 2)])}
    assert values["first", "TPIR@1"] == 0.0
    assert values["second", "TPIR@1"] == 1.0


def test_groups_show_their_own_and_the_shared_threshold() -> None:
    table = rows(
        (Event.IMAGE, NONE, 0),
        (Event.FOUND, 0.6, 1),
        (Event.FALSE_ALARM, 0.5, 0),
        (Event.IMAGE, NONE, 0),
        (Event.FOUND, 0.6, 1),
        (Event.FALSE_ALARM, 0.7, 0),
        (Event.FALSE_ALARM, 0.1, 0),
        (Event.FALSE_ALARM, 0.2, 0),
        lighting=["sun"] * 3 + ["shade"] * 5,
    )
    found = measure(table, [FreeResponse("froc", targets=(1.0,))], by=["lighting"])
    value = {(e.output, e.group): e.value for e in found}
    assert value["DR@1", EVERYONE] == 1.0  # two of four false alarms on two images: threshold 0.5
    assert value["DR@1", Group.of(lighting="shade")] == 0.0  # its own threshold is 0.7
    assert value["DR@1 shared", Group.of(lighting="shade")] == 1.0
    point = next(e.at for e in found if e.output == "DR@1" and e.group == EVERYONE)
    assert point is not None
    assert (point.threshold, point.realised, point.events) == (0.5, 1.0, 2)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_looking_at_the_top_only_reads_the_same_points_as_the_whole_curve(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 4000
    table = Records(
        {
            "kind": rng.choice([Event.IMAGE, Event.FOUND, Event.FALSE_ALARM], n, p=[0.05, 0.15, 0.8]),
            "score": rng.integers(0, 500, n) / 500,
            "faces": np.zeros(n, int),
        },
        {},
    )
    table = Records({**table.columns, "faces": (table["kind"] == Event.FOUND).astype(int)}, {})
    metric = FreeResponse("froc")
    state = metric.measure(table)
    values = metric.result(state, state)
    kind = table["kind"]
    curve = free_response(
        table["score"][kind == Event.FOUND],
        table["score"][kind == Event.FALSE_ALARM],
        faces=int((kind == Event.FOUND).sum()),
        images=int((kind == Event.IMAGE).sum()),
    )
    for reading in read_at(curve):
        assert values[f"DR@{reading.target:g}"][0] == (
            reading.rate
            if reading.rate is not None
            else Undefined("the curve has more false alarms per image at every threshold")
        )


def test_a_detector_without_false_alarms_is_told_from_one_with_too_many() -> None:
    table = rows((Event.IMAGE, NONE, 0), (Event.FOUND, 0.9, 1), (Event.IMAGE, NONE, 0), (Event.FOUND, 0.9, 1))
    few = FreeResponse("froc").measure(table)
    values = FreeResponse("froc").result(few, few)
    assert "there is no false alarm" in values["sum"][0].reason
    assert values["sum"][0] == values["DR@0.01"][0]
    assert values["sum"][0].reason == values["curve"][0].reason
    many = rows((Event.IMAGE, NONE, 0), (Event.FOUND, 0.9, 1), *[(Event.FALSE_ALARM, 0.95, 0)] * 9)
    state = FreeResponse("froc", targets=(0.5,)).measure(many)
    assert "more false alarms" in FreeResponse("froc", targets=(0.5,)).result(state, state)["sum"][0].reason


def test_curves_are_made_only_when_asked_for() -> None:
    table = rows((Event.IMAGE, NONE, 0), (Event.FOUND, 0.9, 1), (Event.FALSE_ALARM, 0.5, 0))
    state = FreeResponse("froc").measure(table, np.array([0, 0, 0]), 3)
    column = FreeResponse("froc").result(state, state)["curve"]
    assert len(column) == 3
    assert isinstance(column[0], Curve)
    assert isinstance(column[2], Undefined)
    with pytest.raises(IndexError):
        column[3]
