"""fairlearn's MetricFrame over evenhand: the same values, and what stands beside them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from evenhand.compat import fairlearn as ours
from evenhand.compat.fairlearn import MetricFrame
from evenhand.core.errors import OptionError

Array = np.ndarray[Any, Any]


def accuracy(y_true: Array, y_pred: Array, sample_weight: Array | None = None) -> float:
    return float(np.average(y_true == y_pred, weights=sample_weight))


def selected(y_true: Array, y_pred: Array, sample_weight: Array | None = None) -> float:
    return float(np.average(y_pred == 1, weights=sample_weight))


def table(seed: int, rows: int = 400) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, rows)
    sex = rng.choice(["f", "m", "x"], rows, p=[0.5, 0.4, 0.1])
    right = rng.random(rows) < np.where(sex == "x", 0.6, 0.85)
    return {
        "truth": truth, "predicted": np.where(right, truth, 1 - truth), "sex": sex, "age": rng.integers(0, 3, rows),
        "region": rng.choice(["north", "south"], rows), "weight": rng.random(rows) + 0.1,
    }  # fmt: skip


def frame(seed: int = 1, **more: Any) -> MetricFrame:
    t = table(seed)
    given: dict[str, Any] = {"metrics": accuracy, "sensitive_features": {"sex": t["sex"]}, **more}
    return MetricFrame(y_true=t["truth"], y_pred=t["predicted"], **given)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where pandas is not installed."""
    monkeypatch.setattr(ours, "_pandas", lambda: None)


@pytest.mark.usefixtures("plain")
def test_values_differences_and_ratios_are_those_of_the_groups() -> None:
    t = table(1)
    right = t["truth"] == t["predicted"]
    groups = {sex: float(right[t["sex"] == sex].mean()) for sex in ("f", "m", "x")}
    found = frame()
    assert found.overall == pytest.approx(float(right.mean()))
    assert found.by_group == pytest.approx(groups)
    assert found.difference() == pytest.approx(max(groups.values()) - min(groups.values()))
    assert found.ratio() == pytest.approx(min(groups.values()) / max(groups.values()))
    assert (found.group_min(), found.group_max()) == pytest.approx((min(groups.values()), max(groups.values())))
    far = max(abs(value - float(right.mean())) for value in groups.values())
    assert found.difference(method="to_overall") == pytest.approx(far)
    with pytest.raises(OptionError, match="between_groups"):
        found.difference(method="x")  # type: ignore[arg-type]


@pytest.mark.usefixtures("plain")
def test_several_metrics_control_features_and_weights() -> None:
    t = table(2)
    params = {"accuracy": {"sample_weight": t["weight"]}}
    found = frame(
        2,
        metrics={"accuracy": accuracy, "selected": selected},
        control_features={"region": t["region"]},
        sample_params=params,
    )
    inside = (t["region"] == "north") & (t["sex"] == "m")
    right = t["truth"] == t["predicted"]
    expected = float(np.average(right[inside], weights=t["weight"][inside]))
    assert found.by_group["north", "m"]["accuracy"] == pytest.approx(expected)
    assert set(found.overall) == {"north", "south"}
    assert found.difference()["south"]["selected"] >= 0
    assert (found.control_levels, found.sensitive_levels) == (["region"], ["sex"])


@pytest.mark.usefixtures("plain")
def test_intervals_and_verdicts_stand_beside() -> None:
    found = frame(3, n_boot=60, random_state=4)
    for sex, limits in found.intervals.items():
        assert limits["low"] < found.by_group[sex] < limits["high"]
    assert {(row["first"], row["second"]) for row in found.verdicts} == {("f", "m"), ("f", "x"), ("m", "x")}
    assert {row["verdict"] for row in found.verdicts} <= {"large", "different", "equivalent", "undecided"}


@pytest.mark.usefixtures("plain")
def test_an_empty_combination_has_no_value() -> None:
    t = table(5)
    t["age"][t["sex"] == "x"] = 0
    found = frame(5, sensitive_features={"sex": t["sex"], "age": t["age"]})
    assert math.isnan(found.by_group["x", 2])
    assert found.difference() < 1


@pytest.mark.slow
def test_everything_equals_fairlearn_on_twenty_tables() -> None:
    theirs = pytest.importorskip("fairlearn.metrics")
    measures = pytest.importorskip("sklearn.metrics")
    pandas = pytest.importorskip("pandas")
    for seed in range(20):
        t = pandas.DataFrame(table(seed, 300))
        several = {"accuracy": measures.accuracy_score, "f1": measures.f1_score, "selected": theirs.selection_rate}
        given: dict[str, Any] = {
            "metrics": several if seed % 2 else theirs.true_positive_rate,
            "y_true": t["truth"],
            "y_pred": t["predicted"],
            "sensitive_features": t[["sex", "age"]] if seed % 3 == 0 else t["sex"],
            "control_features": t["region"] if seed % 4 < 2 else None,
        }
        if seed % 5 == 0:
            weight = {"sample_weight": t["weight"]}
            given["sample_params"] = {"accuracy": weight, "selected": weight} if seed % 2 else weight
        mine, other = MetricFrame(**given), theirs.MetricFrame(**given)
        same = pandas.testing.assert_frame_equal if seed % 2 else pandas.testing.assert_series_equal
        loose = {"check_names": False, "check_dtype": False, "check_index_type": False, "rtol": 1e-12}
        same(mine.by_group, other.by_group, **loose)
        for name, arguments in (
            ("difference", {}), ("difference", {"method": "to_overall"}), ("ratio", {}),
            ("ratio", {"method": "to_overall"}), ("group_min", {}), ("group_max", {}),
        ):  # fmt: skip
            got, expected = getattr(mine, name)(**arguments), getattr(other, name)(**arguments)
            if isinstance(expected, float):
                assert got == pytest.approx(expected, rel=1e-12), (seed, name)
            elif isinstance(expected, pandas.DataFrame):
                pandas.testing.assert_frame_equal(got, expected.astype(float), **loose)
            else:
                pandas.testing.assert_series_equal(got, expected.astype(float), **loose)


@pytest.mark.slow
def test_scores_and_numbers_equal_scikit_learn() -> None:
    import evenhand as eh

    measures = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(1)
    truth, group = rng.integers(0, 2, 900), rng.choice(["a", "b"], 900)
    score = np.round(np.clip(0.3 * truth + rng.random(900) * 0.7, 0, 1), 2)
    table = {"y": truth, "s": score, "g": group, "t": rng.normal(size=900), "p": rng.normal(size=900)}
    quick: dict[str, Any] = {"by": "g", "draws": 20, "permutations": 0}
    scores = eh.evaluate_table(table, truth="y", score="s", **quick).results
    numbers = eh.evaluate_table(table, truth="t", prediction="p", **quick).results
    table["w"] = rng.random(900)
    weighted = eh.evaluate_table(table, truth="y", score="s", weight="w", **quick).results
    for inside, where in ((np.ones(900, bool), eh.Group()), (group == "b", eh.Group.of(g="b"))):
        y, s, w = (table[name][inside] for name in ("y", "s", "w"))
        false, true, _ = measures.roc_curve(y, s, sample_weight=w, drop_intermediate=False)
        for name, expected in (
            ("AUC", measures.roc_auc_score(y, s, sample_weight=w)),
            ("brier", measures.brier_score_loss(y, s, sample_weight=w)),
            *([("TPR@FPR=0.1", true[false <= 0.1].max())] if inside.all() else []),
        ):
            assert weighted.get(name, group=where).value == pytest.approx(expected, rel=1e-12), name
        y, s, t, p = (table[name][inside] for name in ("y", "s", "t", "p"))
        for results, name, expected in (
            (scores, "AUC", measures.roc_auc_score(y, s)),
            (scores, "brier", measures.brier_score_loss(y, s)),
            (numbers, "mae", measures.mean_absolute_error(t, p)),
            (numbers, "rmse", measures.root_mean_squared_error(t, p)),
        ):
            assert results.get(name, group=where).value == pytest.approx(expected, rel=1e-12), name


def of_series(**more: Any) -> MetricFrame:
    pandas = pytest.importorskip("pandas")
    given = {"y_true": pandas.Series([0, 1] * 20), "y_pred": pandas.Series([0, 0] * 20)}
    given["sensitive_features"] = pandas.Series(list("ab" * 20))
    return MetricFrame(metrics=right, **{**given, **more})


@pytest.mark.parametrize(
    "turned",
    [
        lambda feature: {"sensitive_features": feature},
        lambda feature: {"sensitive_features": {"tone": feature}},
        lambda feature: {"control_features": feature},
        lambda feature: {"control_features": feature.to_frame()},
    ],
)
def test_features_whose_index_is_in_another_order_are_taken_by_position_and_warned_of(turned: Any) -> None:
    pandas = pytest.importorskip("pandas")
    feature = pandas.Series(list("ab" * 20), name="tone").iloc[::-1]
    with pytest.warns(UserWarning, match="different indexes .* taken by their position"):
        found = of_series(**turned(feature))
    assert len(dict(found.by_group)) in (2, 4)


def test_predictions_of_a_model_beside_a_shuffled_truth_are_taken_by_position() -> None:
    pandas = pytest.importorskip("pandas")
    truth = pandas.Series([0, 1] * 20).sample(frac=1, random_state=0)
    with pytest.warns(UserWarning, match="taken by their position"):
        assert of_series(y_true=truth, y_pred=pandas.Series(truth.to_numpy())).overall == 1.0


def test_series_of_unequal_lengths_are_refused_in_words() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(OptionError, match="have different lengths"):
        of_series(y_true=pandas.Series([0, 1] * 19).iloc[::-1])


@pytest.mark.parametrize("values", [[0.0, 0.5], [" a", "b"], np.array(["2020", "2021"], dtype="datetime64[ns]")])
def test_groups_are_named_by_the_values_of_the_feature(values: Any) -> None:
    frame = MetricFrame(
        metrics=right, y_true=[0, 1] * 20, y_pred=[0, 0] * 20, sensitive_features=np.array([*values] * 20)
    )
    assert list(dict(frame.by_group).values()) == [1.0, 0.0]


def right(y_true: Any, y_pred: Any) -> float:
    return float(np.mean(np.asarray(y_true) == np.asarray(y_pred)))
