"""Requirements on results."""

import numpy as np
import pytest

from evenhand.core.errors import OptionError, UnknownNameError
from evenhand.core.measure import tally
from evenhand.core.records import Attribute, Records
from evenhand.core.results import Coverage, Results
from evenhand.metrics.means import Rate
from evenhand.stats.analysis import analyse
from evenhand.stats.gate import GateOutcome, judge, read_requirements
from evenhand.stats.settings import Settings


def results(share_b: float = 0.6) -> Results:
    right = np.concatenate([np.arange(200) < 180, np.arange(200) < 200 * share_b, np.arange(6) < 3])
    labels = ["a"] * 200 + ["b"] * 200 + ["c"] * 6
    rows = Records({"unit": np.arange(406), "right": right}, {"tone": Attribute.of(labels, ("a", "b", "c"))})
    found = analyse(tally(rows, [Rate("hit", "right")], ["tone"]), ["tone"], 1, Settings(permutations=200))
    return Results(
        "demo/task", "model", "1", {}, (), found.estimates, Coverage(asked=406, answered=400, missing=6),
        found.contrasts, found.omnibus, found.summaries, found.method, by=("tone",),
    )  # fmt: skip


def only(text: str, share_b: float = 0.6) -> GateOutcome:
    return judge(results(share_b), read_requirements("[[require]]\n" + text))[0]


def test_a_value_is_held_against_its_limit_and_found_is_told() -> None:
    assert only('metric = "hit"\nat_least = 0.7').met
    missed = only('metric = "hit"\nat_least = 0.9')
    assert not missed.met
    assert "0.74" in missed.message
    assert not only('metric = "hit"\nof = "low"\nat_least = 0.74').met
    assert only('metric = "hit"\ngroup = { tone = "a" }\nat_least = 0.9').met


def test_the_worst_group_is_named_and_small_groups_are_told_as_left_out() -> None:
    found = only('metric = "hit"\nworst_of = "tone"\nat_least = 0.8')
    assert not found.met
    assert found.message.startswith("tone=b: 0.6")
    assert "1 groups too small" in found.message


def test_a_gap_fails_unless_chance_explains_it() -> None:
    assert not only('metric = "hit"\ngap_of = "tone"\nat_most = 0.1').met
    assert not only('metric = "hit"\ngap_of = "tone"\nat_most = 0.01\nbeyond_chance = true').met
    chance = only('metric = "hit"\ngap_of = "tone"\nat_most = 0.01\nbeyond_chance = true', share_b=0.88)
    assert chance.met
    assert "expected by chance alone" in chance.message


def test_verdicts_that_must_not_occur_are_listed_when_they_do() -> None:
    found = only('metric = "hit"\nverdicts_of = "tone"\nnone = ["large"]')
    assert not found.met
    assert "tone=a and tone=b: large" in found.message
    assert only('metric = "hit"\nverdicts_of = "tone"\nnone = ["large"]', share_b=0.9).met


def test_coverage_and_counts_can_be_required() -> None:
    assert not only('coverage = "missing"\nat_most = 0.01').met
    assert only('coverage = "answered"\nat_least = 0.9').met
    assert only('count = "units"\nat_least = 400').met
    smallest = only('count = "rows"\nsmallest_of = "tone"\nat_least = 20')
    assert not smallest.met
    assert smallest.message == "tone=c: 6"


def test_what_can_not_be_judged_is_not_met() -> None:
    assert not only('metric = "hit"\nworst_of = "age"\nat_least = 0.1').met
    assert not only('metric = "hit"\ngap_of = "age"\nat_most = 1').met
    assert not only('metric = "hit"\nverdicts_of = "age"\nnone = ["large"]').met


def test_a_requirement_may_have_its_own_name() -> None:
    named = only('name = "good enough"\nmetric = "hit"\nat_least = 0.1').name
    assert named == "good enough (value of hit for everyone is at least 0.1)"


@pytest.mark.parametrize(
    ("text", "error", "named"),
    [
        ("[[require]]\nmetric = 'hit'\nat_lest = 0.9", UnknownNameError, "at_least"),
        ("[[require]]\nmetric = 'hit'", OptionError, "no limit"),
        ("[[require]]\nat_least = 1", OptionError, "names nothing"),
        ("[[require]]\nmetric = 'hit'\nat_least = 'much'", OptionError, "expected a number"),
        ("[[require]]\nmetric = 'hit'\nverdicts_of = 'tone'\nnone = ['huge']", UnknownNameError, "huge"),
        ("[[require]]\ncoverage = 'seen'\nat_least = 1", UnknownNameError, "seen"),
        ("[[requires]]\nmetric = 'hit'", UnknownNameError, "require"),
        ("", OptionError, "no requirements"),
        ("[[require", OptionError, "not TOML"),
    ],
)
def test_a_faulty_file_is_refused_with_what_is_wrong(text: str, error: type[Exception], named: str) -> None:
    with pytest.raises(error, match=named):
        read_requirements(text)


def test_an_unknown_metric_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="hit"):
        only('metric = "hti"\nat_least = 0.1')
