"""Tables and files of other forms land on the right rows, are warned of, or are refused."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import OptionError
from evenhand.core.results import Results

QUICK: dict[str, Any] = {"draws": 0, "permutations": 0}
TRUTH = [1, 0] * 20
GUESS = [1, 0, 1, 1] * 10
TONE = ["dark", "light", "light", "dark"] * 10


def table(**more: Any) -> dict[str, Any]:
    return {"y": TRUTH, "p": GUESS, "tone": TONE, **more}


def labels(frame: Any, **more: Any) -> Results:
    columns = {"truth": "y", "prediction": "p", "by": "tone"}
    return eh.evaluate_table(frame, **{**columns, **QUICK, **more}).results


def rates(results: Results) -> Mapping[str, float | None]:
    return {str(one.group): one.number for one in results.estimates if one.output == "accuracy"}


@pytest.fixture
def expected() -> Mapping[str, float | None]:
    return rates(labels(table()))


def test_series_whose_indexes_are_in_another_order_are_refused() -> None:
    pandas = pytest.importorskip("pandas")
    truth, guess = pandas.Series(TRUTH), pandas.Series(GUESS)
    with pytest.raises(OptionError, match=r"'p' and 'y' have different indexes \(row 1 is 39 and 0\)"):
        labels({"y": truth, "p": guess.iloc[::-1], "tone": TONE})


def test_series_of_one_index_in_any_order_and_plain_arrays_stand_together(expected: Any) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table()).iloc[::-1]
    assert rates(labels({"y": frame.y, "p": frame.p.to_numpy(), "tone": frame.tone})) == expected
    counted_anew = {"y": frame.y.set_axis(range(100, 140)), "p": frame.p.reset_index(drop=True), "tone": frame.tone}
    with pytest.raises(OptionError, match="different indexes"):
        labels(counted_anew)


@pytest.mark.parametrize(
    "values",
    [
        [Decimal(f"{value}.00") for value in GUESS],
        [float(value) for value in GUESS],
        [f" {value} " for value in GUESS],
        [bool(value) for value in GUESS],
    ],
)
def test_a_class_is_the_same_whatever_type_its_column_has(values: list[Any], expected: Any) -> None:
    assert rates(labels(table(p=values))) == expected


def test_a_group_is_the_same_with_blanks_around_it_in_frames_and_in_files(tmp_path: Path, expected: Any) -> None:
    frame = pl.DataFrame(table(tone=[f" {tone}" if place % 3 else tone for place, tone in enumerate(TONE)]))
    frame.write_csv(tmp_path / "table.csv")
    frame.write_parquet(tmp_path / "table.parquet")
    assert rates(labels(frame)) == expected
    for name in ("table.csv", "table.parquet"):
        options = {"truth": "y", "prediction": "p"}
        run = eh.evaluate("table/labels", tmp_path / name, options=options, by=["tone"], settings=QUICK)
        assert rates(run.results) == expected


def test_categories_of_numbers_keep_their_declared_order() -> None:
    pandas = pytest.importorskip("pandas")
    categories = pandas.Categorical([2.0, 10.0] * 20, categories=[10.0, 2.0], ordered=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert labels(pandas.DataFrame(table(tone=categories))).levels["tone"] == ("10", "2")
        cut = pandas.cut(pandas.Series([5, 25] * 20), [0, 10, 20, 30])
        assert labels(pandas.DataFrame(table(tone=cut))).levels["tone"] == ("(0, 10]", "(10, 20]", "(20, 30]")


def test_days_are_named_as_days_and_durations_are_refused() -> None:
    days = [datetime(2020 + place % 2, 1, 1) for place in range(40)]
    assert labels(table(tone=days)).levels["tone"] == ("2020-01-01", "2021-01-01")
    nanoseconds = np.array(days, dtype="datetime64[ns]")
    assert labels(table(tone=nanoseconds)).levels["tone"] == ("2020-01-01", "2021-01-01")
    with pytest.raises(OptionError, match="holds Duration"):
        labels(table(tone=[timedelta(days=1)] * 40))


def test_dates_are_no_scores() -> None:
    with pytest.raises(OptionError, match="holds dates or times"):
        labels(table(p=[datetime(2020, 1, 1 + place % 28) for place in range(40)]), kind="numbers")


def test_units_beyond_64_bits_are_units() -> None:
    units = np.repeat(np.arange(20, dtype=np.uint64) + np.uint64(2**63), 2)
    assert labels(table(u=units), unit="u").get("accuracy").units == 20


def test_columns_of_several_levels_and_of_one_name_are_refused_in_words() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table())
    with pytest.raises(OptionError, match="Two columns of the table have the same name"):
        labels(pandas.concat([frame, frame[["tone"]]], axis=1))
    frame.columns = pandas.MultiIndex.from_tuples([(name, "") for name in frame.columns])
    with pytest.raises(OptionError, match="names of several levels"):
        labels(frame)


@pytest.mark.parametrize(
    ("tones", "words"),
    [
        (["Black", "black"] * 20, r"differ only in case or blanks \('Black', 'black'\)"),
        (["nan", "dark"] * 20, "holds the text 'nan', which is taken as a value"),
    ],
)
def test_groups_that_look_like_slips_are_named(tones: list[str], words: str) -> None:
    assert any(re.search(words, warning) for warning in labels(table(tone=tones)).warnings)


def test_predictions_of_another_case_are_named() -> None:
    names = table(y=["Male", "Female"] * 20, p=["male", "Female"] * 20)
    assert any("('Male', 'male')" in warning for warning in labels(names).warnings)


def test_one_column_as_truth_and_prediction_is_refused() -> None:
    with pytest.raises(OptionError, match="'y' was named as the truth and as what is compared with it"):
        labels(table(), prediction="y")


def test_rows_whose_class_was_not_asked_for_are_said_to_be_of_another_class() -> None:
    warned = labels(table(y=[0, 1, 2, 0] * 10), options={"labels": ("0", "1")}).warnings
    assert "10 of 40 rows are left out: the truth is none of the classes" in warned


def test_scores_that_are_the_wrong_way_round_are_named() -> None:
    scores = [0.2 + 0.01 * place if truth else 0.7 + 0.001 * place for place, truth in enumerate(TRUTH)]
    asked: dict[str, Any] = {"prediction": None, "score": "s"}
    reversed_ = labels(table(s=scores), **asked).warnings
    assert any("wrong way round: for '1' they are mostly lower" in warning for warning in reversed_)
    assert not labels(table(s=[1 - score for score in scores]), **asked).warnings
    words = ["genuine" if truth else "impostor" for truth in TRUTH]
    named = labels(table(y=words, s=[1 - score for score in scores]), **asked).warnings
    assert any("positive=genuine" in warning for warning in named)


def test_the_positive_class_of_yes_and_no_may_be_called_true() -> None:
    truth = [value == 1 for value in TRUTH]
    plain = labels(table(), options={"positive": "1"})
    assert rates(labels(table(y=truth), options={"positive": True})) == rates(plain)


def test_a_table_that_was_written_twice_is_named() -> None:
    scores = [0.01 * place for place in range(40)]
    asked: dict[str, Any] = {"prediction": None, "score": "s"}
    twice = {name: [*values, *values] for name, values in table(s=scores).items()}
    assert any("every row is there 2 times (40 different ones in 80)" in w for w in labels(twice, **asked).warnings)


def test_pairs_that_are_repeated_the_other_way_round_are_named() -> None:
    first = [f"a{place}" for place in range(40)]
    second = [one if same else f"b{one}" for one, same in zip(first, TRUTH, strict=True)]
    scores = [0.01 * place for place in range(40)]
    frame = {"y": TRUTH + TRUTH, "s": scores + scores, "a": first + second, "b": second + first}
    results = eh.evaluate_table(frame, truth="y", score="s", unit=("a", "b"), **QUICK).results
    assert any("every row is there 2 times" in warning for warning in results.warnings)


def test_keys_that_count_from_another_number_are_refused_and_strange_ones_are_named(tmp_path: Path) -> None:
    truth, guess = tmp_path / "truth.csv", tmp_path / "guess.csv"
    pl.DataFrame({"k": range(40), "y": TRUTH}).write_csv(truth)
    options = {"truth": "y", "prediction": "p", "key": "k"}
    pl.DataFrame({"k": range(1, 41), "p": GUESS}).write_csv(guess)
    with pytest.raises(eh.PredictionError, match=r"'k' counts from 1, but in .*truth.csv it counts from 0"):
        eh.evaluate("table/labels", guess, data=truth, options=options, by=(), settings=QUICK)
    pl.DataFrame({"k": [*range(40), 77], "p": [*GUESS, 1]}).write_csv(guess)
    run = eh.evaluate("table/labels", guess, data=truth, options=options, by=(), settings=QUICK)
    assert any("1 predictions are of no row of the truth (77)" in warning for warning in run.results.warnings)


def test_values_instead_of_the_name_of_a_column_are_refused() -> None:
    with pytest.raises(OptionError, match=r"truth=… takes the name of a column, and got ndarray"):
        eh.evaluate_table(table(), truth=np.array(TRUTH), prediction="p")  # type: ignore[arg-type]


def test_columns_that_are_numbered_are_named_by_their_number(expected: Any) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table()).set_axis([0, 1, 2], axis=1)
    assert [*rates(labels(frame, truth=0, prediction=1, by=[2])).values()] == [*expected.values()]


@pytest.mark.parametrize("depth", [1.5, "2", None, True])
def test_a_depth_that_is_no_whole_number_is_refused(depth: Any) -> None:
    with pytest.raises(OptionError, match="a whole number was expected"):
        labels(table(), depth=depth)


def test_a_frame_given_for_a_file_is_refused_and_one_attribute_is_one(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"takes the name of a file as its predictions, and got DataFrame"):
        eh.evaluate("table/labels", pl.DataFrame(table()))  # type: ignore[arg-type]
    pl.DataFrame(table()).write_csv(tmp_path / "table.csv")
    options = {"truth": "y", "prediction": "p"}
    run = eh.evaluate("table/labels", tmp_path / "table.csv", by="tone", options=options, settings=QUICK)
    assert run.results.by == ("tone",)


@pytest.mark.parametrize("scale", [0, 2])
def test_decimal_ids_beyond_the_precision_of_doubles_stay_different(scale: int) -> None:
    ids = pl.Series([Decimal(2**60 + place) for place in range(40)], dtype=pl.Decimal(38, scale))
    assert labels(table(u=ids), unit="u").get("accuracy").units == 40
    assert labels(table(tone=ids)).levels["tone"] == tuple(str(2**60 + place) for place in range(40))
    huge = pl.Series([Decimal(2**70 + place) for place in range(40)], dtype=pl.Decimal(38, scale))
    assert labels(table(u=huge), unit="u").get("accuracy").units == 40
    some = pl.Series([None, *ids[1:]], dtype=pl.Decimal(38, scale))
    assert labels(table(u=some), unit="u").get("accuracy").units == 40


def test_decimals_with_a_fraction_are_the_classes_that_doubles_are() -> None:
    decimals = [Decimal("1.50") if value else Decimal("2.00") for value in GUESS]
    doubles = [1.5 if value else 2.0 for value in TRUTH]
    assert rates(labels(table(y=doubles, p=decimals), kind="labels")) == rates(labels(table()))


def test_parts_of_one_list_that_overlap_are_joined(tmp_path: Path) -> None:
    truth, guess = tmp_path / "truth.csv", tmp_path / "guess.csv"
    pl.DataFrame({"k": range(40), "y": TRUTH}).write_csv(truth)
    pl.DataFrame({"k": range(20, 60), "p": GUESS}).write_csv(guess)
    options = {"truth": "y", "prediction": "p", "key": "k"}
    run = eh.evaluate("table/labels", guess, data=truth, options=options, by=(), settings=QUICK)
    assert any("20 of 40 rows have no prediction" in warning for warning in run.results.warnings)


def test_two_pictures_of_every_subject_are_no_table_that_was_written_twice() -> None:
    subjects = {"y": [place % 2 for place in range(60)], "p": [place % 3 % 2 for place in range(60)]}
    columns = {name: np.repeat(values, 2) for name, values in {**subjects, "u": range(60)}.items()}
    frame = {**columns, "tone": np.repeat(["dark", "light"] * 30, 2), "image": np.arange(120)}
    assert not any("written" in warning for warning in labels(frame, unit="u").warnings)
    frame["image"] = np.repeat(np.arange(60), 2)
    assert any("every row is there 2 times" in warning for warning in labels(frame, unit="u").warnings)


def test_weak_scores_are_not_the_wrong_way_round_however_many_there_are() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 40_000)
    frame = {"y": truth, "s": rng.normal(size=40_000) - 0.2 * truth, "tone": rng.integers(0, 2, 40_000)}
    assert not labels(frame, prediction=None, score="s").warnings


def test_of_several_classes_no_other_one_is_advised() -> None:
    classes = [["a", "b", "c"][place % 3] for place in range(60)]
    scores = [0.001 * place - (one == "b") for place, one in enumerate(classes)]
    frame = {"y": classes, "s": scores, "tone": ["dark", "light"] * 30}
    asked: dict[str, Any] = {"prediction": None, "score": "s", "options": {"positive": "b"}}
    warned = [warning for warning in labels(frame, **asked).warnings if "wrong way round" in warning]
    assert len(warned) == 1
    assert "positive=" not in warned[0]


@pytest.mark.parametrize("level", ["none", "None", "-", "NA"])
def test_groups_that_are_called_none_are_groups(level: str) -> None:
    assert not labels(table(tone=[level, "dark"] * 20)).warnings


def test_classes_are_never_said_to_be_missing_and_are_compared_once() -> None:
    assert not labels(table(y=["null", "x"] * 20, p=["null", "x"] * 20)).warnings
    warned = labels(table(y=["Male", "male"] * 20, p=["MALE", "male"] * 20)).warnings
    assert sum("differ only in case" in warning for warning in warned) == 1
