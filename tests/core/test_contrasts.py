"""Pairs of groups kept as columns read like a tuple of contrasts."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.core.contrasts import Contrasts, Family, contrasts_of, verdict_counts
from evenhand.core.records import Group
from evenhand.core.results import Contrast, Verdict

GROUPS = tuple(Group.of(tone=tone) for tone in ("light", "medium", "dark"))


def family(metric: str = "recall", groups: tuple[Group, ...] = GROUPS) -> Family:
    return Family(
        metric=metric,
        output="value",
        name=f"{metric}.value, single attributes",
        size=3,
        correction="holm",
        margin=0.05,
        groups=groups,
        first=np.array([0, 0, 1]),
        second=np.array([1, 2, 2]),
        difference=np.array([0.5, -0.25, np.nan]),
        low=np.array([0.25, -0.5, np.nan]),
        high=np.array([0.75, 0.0, np.nan]),
        p=np.array([0.01, 0.2, np.nan]),
        adjusted=np.array([0.02, 0.2, np.nan]),
        detectable=np.array([0.1, 0.1, np.nan]),
        verdict=[Verdict.LARGE, Verdict.UNDECIDED, Verdict.UNDECIDED],
        worse=np.array([1, 0, -1]),
        test=["score_z", "score_z", "fisher"],
        interval=["newcombe"] * 3,
        shared_rows=np.array([0, 4, 0]),
        notes=[(), ("4 rows belong to both groups",), ()],
        effects={"ratio": np.array([2.0, np.nan, 1.0])},
    )


def test_a_pair_has_what_its_columns_say_and_none_where_there_is_no_number() -> None:
    first, second, third = Contrasts((family(),))
    assert first == Contrast(
        "recall", "value", GROUPS[0], GROUPS[1], 0.5, 0.25, 0.75, 0.01, 0.02, Verdict.LARGE, GROUPS[1], "score_z",
        "newcombe", "recall.value, single attributes", 3, "holm", {"ratio": 2.0}, 0.1, 0.05, 0, (),
    )  # fmt: skip
    assert (second.worse, second.effects, second.shared_rows) == (GROUPS[0], {}, 4)
    assert second.notes == ("4 rows belong to both groups",)
    assert (third.difference, third.p, third.adjusted, third.worse) == (None, None, None, None)


def test_pairs_are_counted_indexed_and_compared_like_a_tuple() -> None:
    found = Contrasts((family("recall"), family("precision")))
    listed = tuple(found)
    assert len(found) == 6
    assert [found[at] for at in range(6)] == list(listed)
    assert found[-1] == listed[-1]
    assert found[1:5:2] == listed[1:5:2]
    assert found == listed
    assert listed == found
    assert found == Contrasts(found.families)
    assert found != listed[:5]
    assert found != Contrasts()
    assert len({found, Contrasts(found.families)}) == 1
    with pytest.raises(IndexError):
        found[6]


@pytest.mark.parametrize("kept", ["columns", "tuple"])
def test_pairs_of_an_output_and_their_verdicts_are_the_same_however_they_are_kept(kept: str) -> None:
    deep = tuple(Group.of(tone=tone, age="70+") for tone in ("light", "medium", "dark"))
    columns = Contrasts((family("recall"), family("recall", deep), family("precision")))
    found = columns if kept == "columns" else tuple(columns)
    assert len(contrasts_of(found, "recall", "value")) == 6
    assert [one.first.by for one in contrasts_of(found, "recall", "value", order=2)] == [("tone", "age")] * 3
    assert len(contrasts_of(found, "recall", "other")) == 0
    assert verdict_counts(found) == {Verdict.LARGE: 3, Verdict.UNDECIDED: 6}
