"""Results as strict JSON: everything comes back as it was."""

import json
import math
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from evenhand.core.metric import Curve, Grid, OperatingPoint, Undefined
from evenhand.core.records import EVERYONE, Group
from evenhand.core.results import (
    Contrast,
    Coverage,
    Estimate,
    Method,
    MetricFact,
    Omnibus,
    Reference,
    Results,
    Status,
    Summary,
    Verdict,
)
from evenhand.store.plain import dumps, dumps_lines, from_plain, loads, to_plain

OLD = Group.of(age="70+", tone="dark")


def full_results() -> Results:
    """Results in which every field of every type holds something."""
    curve = Curve(
        np.array([0.0, 1e-300, 1.0]), np.array([0.1, math.nan, 1.0]), "far", "tar", np.array([math.inf, 0.3, -math.inf])
    )
    grid = Grid(("female", "male"), ("female", "unknown"), np.array([[3, 1], [0, 2]]), "truth", "answer")
    return Results(
        task="tiny/found",
        model="a model, «quoted» \u2028 and \x00 odd",
        dataset="1.0",
        options={"ranks": [1, 5], "threshold": 0.1},
        metrics=(MetricFact("m", "Definition.", {"value": "higher"}, {"at": [0.1]}),),
        estimates=(
            Estimate("m", "value", EVERYONE, 0.1 + 0.2, -math.inf, math.inf, 7, 3, "wilson", Status.SMALL, 1, 4),
            Estimate("m", "value", OLD, Undefined("the group has no faces"), status=Status.EMPTY, notes=("one", "two")),
            Estimate("m", "curve", EVERYONE, curve, at=OperatingPoint("floor", 0.01, None, math.inf, 3)),
            Estimate("m", "grid", EVERYONE, grid),
            Estimate("m", "zero", EVERYONE, -0.0),
        ),
        coverage=Coverage(9, 8, 1, 1, 1, 2, {"no such sample": 2}, {"no such sample": ("a", "b")}),
        contrasts=(
            Contrast(
                "m", "value", OLD, EVERYONE, 0.1, None, 0.3, 0.04, 0.08, Verdict.UNDECIDED, OLD, effects={"h": 0.2}
            ),
        ),
        omnibus=(Omnibus("m", "value", ("age",), "chi2", 3.5, 2.0, 0.17, 3),),
        summaries=(
            Summary(
                "m",
                "value",
                ("age", "tone"),
                {"max_gap": 0.2, "ratio": Undefined("division by zero")},
                OLD,
                None,
                (OLD,),
                (EVERYONE,),
                Reference(100, 0.1, 0.2, 0.5, 0.1),
                {OLD: 0.25},
            ),
        ),
        method=Method(draws=10, notes=("a note",)),
        instruments={"lpips": "sha256:…"},
        headline=("m", "value"),
        by=("age", "tone"),
        levels={"age": ("young", "70+"), "empty": ()},
        rows=7,
        units=3,
        missing_attributes={"age": 1},
        warnings=("careful",),
        facts={"prompt": "Who?", "nested": {"list": [1, 2.5, None, True]}},
        version="0.1.0",
    )


def test_results_come_back_equal_and_to_the_same_bytes():
    results = full_results()
    data = dumps(results)
    back = from_plain(loads(data), Results)
    assert back == results
    assert dumps(back) == data


def test_the_form_with_lines_says_the_same():
    results = full_results()
    fields_of = {field.name: getattr(results, field.name) for field in fields(Results)}
    assert loads(dumps_lines(fields_of)) == loads(dumps(results))


def test_every_field_of_results_is_filled_by_the_example():
    assert all(getattr(full_results(), field.name) not in ((), {}, "", 0, None) for field in fields(Results))


def test_the_json_is_strict():
    def refuse(literal: str) -> None:
        raise AssertionError(f"{literal} is no JSON")

    plain = json.loads(dumps(full_results()), parse_constant=refuse)
    assert plain["estimates"][0]["low"] == "-inf"
    assert plain["estimates"][1]["value"] == {"undefined": "the group has no faces"}
    assert plain["estimates"][2]["value"]["curve"]["y"][1] == "nan"


@given(some.floats(allow_nan=False))
def test_a_number_comes_back_to_the_last_bit(number: float):
    back = from_plain(loads(dumps(number)), float)
    assert np.float64(back).tobytes() == np.float64(number).tobytes()


@given(some.lists(some.tuples(some.text(), some.text()), max_size=3).map(lambda terms: Group(tuple(terms))))
def test_a_group_comes_back(group: Group):
    assert from_plain(loads(dumps(group)), Group) == group


def test_an_unknown_field_is_refused_by_name():
    with pytest.raises(ValueError, match="Estimate has no field 'surprise'"):
        from_plain({"metric": "m", "output": "o", "group": [], "value": 1.0, "surprise": 1}, Estimate)


def test_a_missing_field_is_refused_by_name_unless_it_has_a_default():
    with pytest.raises(ValueError, match="needs the field 'value'"):
        from_plain({"metric": "m", "output": "o", "group": []}, Estimate)
    assert from_plain({"metric": "m", "output": "o", "group": [], "value": 1}, Estimate).rows == 0


def test_a_text_where_a_number_belongs_is_refused_with_its_place():
    with pytest.raises(ValueError, match=r"Estimate\.rows: expected int, found '7'"):
        from_plain({"metric": "m", "output": "o", "group": [], "value": 1.0, "rows": "7"}, Estimate)


def test_numpy_values_are_written_as_what_they_are():
    plain = to_plain({"a": np.float32(0.5), "b": np.int8(3), "c": np.array([[True]]), "d": np.str_("x"), "e": {2, 1}})
    assert plain == {"a": 0.5, "b": 3, "c": [[True]], "d": "x", "e": [1, 2]}


def test_what_has_no_meaning_in_json_is_refused():
    with pytest.raises(TypeError, match="a object can't be written as JSON"):
        to_plain(object())
