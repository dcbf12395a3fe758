"""A table of a user, from a frame or a file to results."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.benchmarks.table import demo
from evenhand.benchmarks.table.sections import fairness_numbers
from evenhand.cli.main import main
from evenhand.core.errors import OptionError

RACES, AGES = ("A", "B", "C"), ("18-29", "30+")


def columns(rows: int = 1500, seed: int = 1) -> dict[str, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    subject = rng.integers(0, 200, rows)
    truth = rng.integers(0, 2, rows)
    race = np.array(RACES)[subject % 3]
    right = rng.random(rows) < np.where(race == "C", 0.6, 0.9)
    score = np.clip(0.25 + 0.5 * truth + rng.normal(0, 0.25, rows), 0, 1)
    return {
        "y": truth, "p": np.where(right, truth, 1 - truth), "s": score, "w": rng.random(rows) + 0.1,
        "race": race, "age": np.array(AGES)[subject % 2], "subject": subject,
    }  # fmt: skip


QUICK: dict[str, Any] = {"draws": 50, "permutations": 50}
LABELS: dict[str, Any] = {"truth": "y", "prediction": "p", "by": ["race", "age"], "unit": "subject", **QUICK}


def test_the_three_line_example() -> None:
    run = eh.evaluate_table(
        columns(), truth="y", prediction="p", by=["race", "age"], unit="subject", model="v2", **QUICK
    )
    accuracy = run.results.get("accuracy")
    assert accuracy.value == pytest.approx(float((columns()["y"] == columns()["p"]).mean()))
    assert (accuracy.rows, accuracy.units) == (1500, 200)
    assert run.results.get("accuracy", group=eh.Group.of(race="C")).number < 0.7  # type: ignore[operator]
    crossed = eh.Group((("age", "30+"), ("race", "C")))  # whatever the order of terms
    assert run.results.get("accuracy", group=crossed).rows > 0


def test_a_frame_of_polars_gives_the_same_results_to_the_bit() -> None:
    plain = eh.evaluate_table(columns(), **LABELS)
    frame = eh.evaluate_table(pl.DataFrame(columns()), **LABELS)
    assert frame.results == plain.results
    assert frame.manifest.fingerprint == plain.manifest.fingerprint
    lists = {name: values.tolist() for name, values in columns().items()}
    assert eh.evaluate_table(lists, **LABELS).results == plain.results


def test_frames_of_pandas_and_arrow_give_the_same_results_to_the_bit() -> None:
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    full: dict[str, Any] = columns()
    with_gaps: dict[str, Any] = {name: values.tolist() for name, values in columns().items()}
    for place, name in enumerate(("y", "p", "s", "race", "subject")):
        with_gaps[name][place] = None
    nullable = pandas.DataFrame(with_gaps).astype({"y": "Int64", "p": "Int64", "subject": "Int64", "race": "category"})
    scores = {"truth": "y", "score": "s", "weight": "w", "by": "race", "unit": "subject", **QUICK}
    for table, more in ((full, (pandas.DataFrame(full),)), (with_gaps, (pandas.DataFrame(with_gaps), nullable))):
        for asked in (LABELS, scores):
            plain = eh.evaluate_table(table, **asked)
            for frame in (pl.DataFrame(table), arrow.table(table), *more):
                run = eh.evaluate_table(frame, **asked)
                assert run.results == plain.results
                assert run.manifest.fingerprint == plain.manifest.fingerprint


def test_the_three_lines_run_where_pandas_and_arrow_can_not_be_imported(tmp_path: Path) -> None:
    script = f"""
import sys
sys.modules["pandas"] = sys.modules["pyarrow"] = None  # an import raises ImportError
import numpy as np
import evenhand as eh
table = {{"y": np.arange(60) % 2, "p": np.arange(60) % 3 % 2, "group": np.array(["a", "b"] * 30)}}
run = eh.evaluate_table(table, truth="y", prediction="p", by="group", draws=20, permutations=20)
print(len(run.results.to_frame()))
eh.report(run, path={str(tmp_path / "report.html")!r})
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_declared_categories_keep_their_order_and_numbers_theirs() -> None:
    table = pl.DataFrame({"y": [1, 0] * 30, "p": [1, 1] * 30, "n": [10, 9, 2] * 20, "size": ["small", "large"] * 30})
    table = table.with_columns(pl.col("size").cast(pl.Enum(["small", "large"])))
    run = eh.evaluate_table(table, truth="y", prediction="p", by=["n", "size"], **QUICK)
    assert run.results.levels == {"n": ("2", "9", "10"), "size": ("small", "large")}


def test_the_columns_that_are_named_decide_the_question() -> None:
    table = {
        **columns(),
        "t": columns()["s"] * 3,
        "a": columns()["subject"],
        "b": columns()["subject"] ^ columns()["y"],
    }
    table["same"] = table["a"] == table["b"]
    for named, task in (
        ({"truth": "y", "prediction": "p"}, "table/labels"),
        ({"truth": "y", "score": "s"}, "table/scores"),
        ({"truth": "t", "prediction": "s"}, "table/numbers"),
        ({"truth": "same", "score": "s", "unit": ("a", "b")}, "table/pairs"),
        ({"value": ["s", "t"]}, "table/values"),
    ):
        assert eh.evaluate_table(table, **named, **QUICK).results.task == task
    forced = eh.evaluate_table(table, truth="y", prediction="p", kind="numbers", options={"tolerance": 0.5}, **QUICK)
    assert forced.results.get("within_0.5").value == eh.evaluate_table(table, **LABELS).results.get("accuracy").value


def test_rates_and_parity_are_what_people_mean_by_them() -> None:
    table = columns()
    run = eh.evaluate_table(table, **LABELS)
    chosen = {race: table["p"][table["race"] == race].mean() for race in RACES}
    for race in RACES:
        inside = (table["race"] == race) & (table["y"] == 1)
        group = eh.Group.of(race=race)
        assert run.results.get("selection_rate", group=group).value == pytest.approx(chosen[race])
        assert run.results.get("true_positive_rate", group=group).value == pytest.approx(table["p"][inside].mean())
    parity = fairness_numbers(run.results)["race"]
    assert parity["demographic parity difference"] == pytest.approx(max(chosen.values()) - min(chosen.values()))
    assert parity["equalized odds difference"] > 0.2


def test_sample_weights_weigh() -> None:
    table = columns()
    run = eh.evaluate_table(table, weight="w", **LABELS)
    right = table["y"] == table["p"]
    assert run.results.get("accuracy").value == pytest.approx(float(np.average(right, weights=table["w"])))
    whole = eh.evaluate_table({**table, "w": np.ones(1500)}, weight="w", **LABELS)
    assert whole.results.get("accuracy").value == eh.evaluate_table(table, **LABELS).results.get("accuracy").value
    mean = eh.evaluate_table(table, value="s", weight="w", **QUICK).results.get("s")
    assert mean.value == pytest.approx(float(np.average(table["s"], weights=table["w"])))
    assert 0 < mean.low < mean.high < 1  # type: ignore[operator]


def test_scores_are_read_at_a_threshold_set_on_everyone() -> None:
    table = columns()
    run = eh.evaluate_table(table, truth="y", score="s", by="race", unit="subject", **QUICK)
    results = run.results
    overall = results.get("FPR@FPR=0.1")
    assert overall.at is not None
    threshold = overall.at.threshold
    negatives = table["s"][table["y"] == 0]
    assert (negatives >= threshold).mean() <= 0.1 < (negatives >= np.nextafter(threshold, -1)).mean()
    inside = (table["race"] == "A") & (table["y"] == 1)
    got = results.get("TPR@FPR=0.1", group=eh.Group.of(race="A"))
    assert got.value == pytest.approx((table["s"][inside] >= threshold).mean())
    assert results.get("brier").value == pytest.approx(float(((table["s"] - table["y"]) ** 2).mean()))
    above = table["s"][table["y"] == 1][:, None] > table["s"][table["y"] == 0]
    ties = table["s"][table["y"] == 1][:, None] == table["s"][table["y"] == 0]
    assert results.get("AUC").value == pytest.approx(float(above.mean() + ties.mean() / 2))


def test_scores_with_sample_weights() -> None:
    table = columns(400)
    y, s, w = (table[name] for name in "ysw")
    weighted = eh.evaluate_table(table, truth="y", score="s", weight="w", unit="subject", **QUICK).results
    pairs = np.outer(w[y == 1], w[y == 0])
    above = np.where(s[y == 1][:, None] > s[y == 0], 1.0, 0.5 * (s[y == 1][:, None] == s[y == 0]))
    assert weighted.get("AUC").value == pytest.approx(float((pairs * above).sum() / pairs.sum()), rel=1e-12)
    assert weighted.get("AUC").low < weighted.get("AUC").number < weighted.get("AUC").high  # type: ignore[operator]
    bins = np.minimum((s * 10).astype(int), 9)
    error = sum(abs(np.sum((w * (s - y))[bins == b])) for b in range(10)) / w.sum()
    assert weighted.get("expected_calibration_error").value == pytest.approx(error, rel=1e-12)
    plain = eh.evaluate_table(table, truth="y", score="s", unit="subject", **QUICK).results
    ones = {**table, "w": np.full(400, 2.0)}
    same = eh.evaluate_table(ones, truth="y", score="s", weight="w", unit="subject", **QUICK).results
    for name in ("AUC", "EER", "TPR@FPR=0.1", "brier", "expected_calibration_error"):
        assert same.get(name).value == pytest.approx(plain.get(name).value, rel=1e-12), name


def test_a_missing_score_is_left_out_or_never_accepted_and_counted() -> None:
    table = columns(400)
    table["s"][:3] = np.nan
    rest = {name: values[3:] for name, values in table.items()}
    for more in ({}, {"weight": "w"}):
        found, expected = (eh.evaluate_table(t, truth="y", score="s", **more, **QUICK).results for t in (table, rest))
        for name in ("AUC", "EER", "TPR@FPR=0.1", "brier", "expected_calibration_error"):
            assert found.get(name).value == expected.get(name).value, (name, more)
            assert (found.get(name).rows, found.get(name).missing) == (397, 3)
    pairs = {"same": [1, 0] * 50, "a": [*range(100)], "b": [n if n % 2 == 0 else n + 500 for n in range(100)]}
    pairs["score"] = [None, *(0.9 if n % 2 == 0 else 0.1 for n in range(1, 100))]  # type: ignore[list-item]
    run = eh.evaluate_table(pairs, truth="same", score="score", unit=("a", "b"), **QUICK)
    assert run.results.get("TAR@FAR=0.1").value == pytest.approx(49 / 50)


def test_metrics_by_name_as_objects_and_as_functions() -> None:
    def agreement(truth: np.ndarray[Any, Any], prediction: np.ndarray[Any, Any]) -> float:
        return float((truth == prediction).mean())

    table = {**columns(), "hit": columns()["y"] == columns()["p"]}
    own = eh.Rate("hits", "hit", equals=1)
    run = eh.evaluate_table(table, metrics=["accuracy", own, agreement], costly_draws=20, **LABELS)
    assert {(e.metric, e.output) for e in run.results.estimates} == {
        ("labels", "accuracy"), ("hits", "rate"), ("agreement", "value"),
    }  # fmt: skip
    values = {run.results.get(name).value for name in ("accuracy", "hits", "agreement")}
    assert len({round(float(value), 12) for value in values}) == 1  # type: ignore[arg-type]
    assert run.results.get("agreement").low is not None
    assert "cluster_bootstrap" in run.results.get("agreement").method
    with pytest.raises(eh.UnknownNameError, match="Did you mean 'accuracy'"):
        eh.evaluate_table(table, metrics=["acuracy"], **LABELS)


def test_missing_values_are_counted_and_never_dropped_in_silence() -> None:
    table: dict[str, Any] = {name: values.tolist() for name, values in columns(300).items()}
    table["y"][0] = table["y"][1] = None
    table["p"][2] = None
    table["race"][3] = None
    table["s"][4] = float("nan")
    run = eh.evaluate_table(table, **LABELS)
    assert run.results.rows == 298
    assert any("2 of 300 rows are left out: the truth is missing" in text for text in run.results.warnings)
    assert any("1 rows have no prediction" in text for text in run.results.warnings)
    assert run.results.get("unknown_rate").value == pytest.approx(1 / 298)
    assert run.results.missing_attributes == {"race": 1}
    mean = eh.evaluate_table(table, value="s", **QUICK).results.get("s")
    assert (mean.rows, mean.missing) == (299, 1)


def test_a_table_run_is_stored_reused_compared_gated_and_reported(tmp_path: Path) -> None:
    run = eh.evaluate_table(columns(), model="v1", runs=tmp_path / "runs", **LABELS)
    assert eh.load(run.folder).results == run.results  # type: ignore[arg-type]
    assert eh.evaluate_table(columns(), model="v1", runs=tmp_path / "runs", **LABELS).reused
    other = eh.evaluate_table(columns() | {"p": columns()["y"]}, model="v2", runs=tmp_path / "runs", **LABELS)
    compared = eh.compare(run, other, draws=50)[0]
    overall = next(c for c in compared.contrasts if c.output == "accuracy" and not c.group.terms)
    assert overall.difference == pytest.approx(1 - run.results.get("accuracy").number)  # type: ignore[operator]
    assert eh.report(run, path=tmp_path / "r.html").stat().st_size > 10_000
    assert "demographic parity difference" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_runs_that_disagree_on_the_data_are_not_compared(tmp_path: Path, capsys: Any) -> None:
    table = {name: np.array(values) for name, values in columns(300).items()} | {"w": np.ones(300)}
    say = {**LABELS, "weight": "w", "runs": tmp_path / "runs"}
    v1 = eh.evaluate_table(table, model="v1", **say)
    for column, name in (("y", "truth"), ("race", "race"), ("subject", "unit"), ("w", "sample_weight")):
        other = table[column].copy()
        other[[7, 9]] = (3, 4) if column == "w" else np.unique(other)[:2]
        expected = int((other != table[column]).sum())
        v2 = eh.evaluate_table(table | {column: other}, model=f"other {column}", **say)
        with pytest.raises(eh.EvenhandError, match=f"{name!r} differs in {expected} of 300 rows") as refused:
            eh.compare(v1, v2, draws=20)
        assert "Evaluate both models on the same data" in str(refused.value)
        with pytest.raises(eh.EvenhandError, match="do not agree on the data"):
            eh.gate(v2, [{"metric": "accuracy", "not_worse_than": str(v1.folder)}])
        assert command("compare", v1.folder, v2.folder) == 2
        assert command("diff", v1.folder, v2.folder) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert f"The data differ: {name!r} is not the same in {expected} of 300 rows" in shown


def test_results_tell_the_labels_of_their_class_codes() -> None:
    words = np.array(["no", "yes"])
    table = columns(300)
    table |= {"y": words[table["y"]], "p": words[table["p"]]}
    first = eh.evaluate_table(table, **LABELS)
    assert dict(first.results.class_labels()) == {"truth": ("no", "yes"), "answer": ("no", "yes")}
    other = table["y"].copy()
    other[7] = "no" if other[7] == "yes" else "yes"
    with pytest.raises(eh.EvenhandError, match=f"8: {table['y'][7]} and {other[7]}"):
        eh.compare(first, eh.evaluate_table(table | {"y": other}, **LABELS), draws=20)


def test_rows_of_shared_units_that_one_run_lacks_are_counted() -> None:
    table = {name: np.array(values) for name, values in columns(300).items()} | {"key": np.arange(300)}
    fewer = {name: values[10:][::-1] for name, values in table.items()}  # also in another order
    runs = [eh.evaluate_table(frame, key="key", model=name, **LABELS) for name, frame in (("a", table), ("b", fewer))]
    compared = eh.compare(*runs, draws=20)[0]
    shared = int(np.isin(table["subject"][:10], fewer["subject"]).sum())
    assert (compared.rows_only_first, compared.rows_only_second) == (shared, 0)
    assert 0 < shared < 10


@pytest.fixture
def files(tmp_path: Path) -> Path:
    frame = pl.DataFrame(columns())
    frame.write_csv(tmp_path / "a.csv")
    frame.write_csv(tmp_path / "a.tsv", separator="\t")
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ndjson(tmp_path / "a.jsonl")
    frame.write_ipc(tmp_path / "a.arrow")
    keyed = frame.with_row_index("image")
    keyed.drop("p").write_csv(tmp_path / "truth.csv")
    keyed.select("image", "p").reverse().write_csv(tmp_path / "predictions.csv")
    return tmp_path


SET = ("--set", "truth=y", "prediction=p", "unit=subject", "--by", "race,age", "--draws", "50", "--permutations", "50")


def command(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        sys.exit(main([str(argument) for argument in arguments]))
    return int(ended.value.code or 0)


def test_files_of_every_kind_give_what_the_frame_gives(files: Path) -> None:
    plain = eh.evaluate_table(columns(), model="a", **LABELS).results
    for name in ("a.csv", "a.tsv", "a.parquet", "a.jsonl", "a.arrow"):
        options = {"truth": "y", "prediction": "p", "unit": "subject"}
        run = eh.evaluate("table/labels", files / name, options=options, by=["race", "age"], **QUICK)
        assert run.results.estimates == plain.estimates, name
        assert run.results.options == plain.options


def test_the_command_evaluates_several_files_and_a_second_file_by_key(files: Path, capsys: Any) -> None:
    runs = ("--runs", files / "runs")
    assert command("evaluate", "table/labels", f"v1={files / 'a.csv'}", f"v2={files / 'a.parquet'}", *SET, *runs) == 0
    joined = ("--data", files / "truth.csv", "--set", "key=image", *SET, *runs)
    assert command("evaluate", "table/labels", f"v3={files / 'predictions.csv'}", *joined) == 0
    accuracies = {run.results.model: run.results.get("accuracy").value for run in _runs(files / "runs")}
    assert len(set(accuracies.values())) == 1
    assert set(accuracies) == {"v1", "v2", "v3"}
    v1, v2 = (run.folder for run in _runs(files / "runs") if run.results.model in ("v1", "v2"))
    assert command("compare", v1, v2, "--draws", "50") == 0
    assert command("rows", v1, "--worst", "3") == 0
    capsys.readouterr()


def test_ids_with_leading_zeros_are_not_numbers(tmp_path: Path) -> None:
    lines = ["y,p,subject", *(f"{n % 2},{n % 3 % 2},{'00' if n % 2 else ''}{n % 20}" for n in range(200))]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    options = {"truth": "y", "prediction": "p", "unit": "subject"}
    assert eh.evaluate("table/labels", tmp_path / "a.csv", options=options, **QUICK).results.units == 20
    zeros = [line.replace("y,p,s", "n,p,s").replace("0,", "00.5,", 1) for line in lines]
    (tmp_path / "b.csv").write_text("\n".join(zeros), encoding="utf-8")
    assert eh.evaluate("table/values", tmp_path / "b.csv", options={"value": "n"}, **QUICK).results.get("n").rows == 200


def test_a_misspelt_option_and_a_missing_file_are_found_before_anything_runs(files: Path, capsys: Any) -> None:
    runs = ("--runs", files / "runs")
    for extra, message in (
        ("wieght=w", "no option 'wieght'. Did you mean 'weight'"),
        ("x.csv", "x.csv does not exist"),
    ):
        call = ("evaluate", "table/labels", files / "a.csv", "--set", "truth=y", "prediction=p", extra, *runs)
        assert command(*call) == 2
        assert message in " ".join(capsys.readouterr().err.split())
    assert not (files / "runs").exists()


def _runs(folder: Path) -> list[eh.Run]:
    return [eh.load(path.parent) for path in sorted(folder.rglob("run.json"))]


def _bad(change: Callable[[dict[str, Any]], Any], **named: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    table: dict[str, Any] = dict(columns(200))
    change(table)
    return table, {**LABELS, **named}


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (_bad(lambda t: None, truth="yy"), "There is no column 'yy'. Did you mean 'y'"),
        (_bad(lambda t: t.update(p=np.array(["cat", "dog"])[t["p"]])), "no prediction in 'p' .cat, dog."),
        (_bad(lambda t: None, prediction="s"), "given as predicted label, but holds 1.. different numbers"),
        (_bad(lambda t: t.update(y=np.ones(200, int))), "has one class only .1."),
        (_bad(lambda t: t.update(w=t["w"] - 5), weight="w"), "row 1: the weight 'w' is negative"),
        (_bad(lambda t: t.update(w=t["w"] * 0), weight="w"), "every weight in 'w' is 0"),
        (_bad(lambda t: t.update(k=t["subject"]), key="k"), "occur more than once"),
        (_bad(lambda t: t.update(z=np.arange(200) * 7), by="z", options={"most_levels": 50}), "200 groups and 19,9"),
        (_bad(lambda t: t.clear()), "The table is empty"),
        (_bad(lambda t: t.update(y=t["y"][:5])), "different lengths"),
        (_bad(lambda t: t["s"].__setitem__(7, np.inf), truth="y", prediction=None, score="s"), "row 8: 's'.*infinite"),
        (_bad(lambda t: None, truth=None, prediction=None), "Name the columns: truth="),
        (_bad(lambda t: None, positive="1", draws=-1), "draws=-1|no setting 'positive'"),
        (_bad(lambda t: None, kind="label"), "no kind of table 'label'"),
        (_bad(lambda t: t.update(y=np.array(["x"] * 200)), kind="numbers"), "where a number was expected"),
        (_bad(lambda t: t.update(p=np.zeros((200, 2)))), "holds Array.*expected one number or text"),
        (_bad(lambda t: t.update(p=3)), "'p' of the table is a single value"),
        (_bad(lambda t: t.update(p=[None] * 200)), "'p' is empty in every row"),
        (_bad(lambda t: None, metrics=[3]), "3 is no metric"),
        (_bad(lambda t: None, score="s"), "score=… and prediction=… ask different questions"),
        (_bad(lambda t: None, prediction=None, score="s", options={"fpr": 2}), "a rate lies between 0 and 1"),
        (_bad(lambda t: None, truth=None, prediction=None, value="s", options={"scale": "1,0"}), "the lower end first"),
        (_bad(lambda t: None, depth=-1), "depth=-1"),
    ],
)  # fmt: skip
def test_bad_tables_are_refused_in_words(
    case: tuple[dict[str, Any], dict[str, Any]], message: str, tmp_path: Path
) -> None:
    table, named = case
    with pytest.raises(eh.InputError, match=message):
        eh.evaluate_table(table, runs=tmp_path / "runs", **named)
    assert not list(tmp_path.rglob("run.json"))


def test_what_is_no_frame_is_refused() -> None:
    with pytest.raises(eh.OptionError, match="A list is no table"):
        eh.evaluate_table([1, 2], truth="y", prediction="p")


def test_units_that_cross_groups_are_told() -> None:
    table = columns(300)
    run = eh.evaluate_table(
        {**table, "light": np.array(["day", "night"])[np.arange(300) % 2]}, **{**LABELS, "by": "light"}
    )
    assert any("are in several groups of 'light'" in text for text in run.results.warnings)


def test_verification_pairs_have_a_sheet_by_group() -> None:
    rng = np.random.default_rng(3)
    first = rng.integers(0, 60, 2000)
    second = np.where(rng.random(2000) < 0.4, first, rng.integers(0, 60, 2000))
    table = {
        "a": first, "b": second, "same": first == second,
        "score": np.where(first == second, 0.7, 0.3) + rng.normal(0, 0.15, 2000),
        "sex_a": np.where(first % 2, "f", "m"), "sex_b": np.where(second % 2, "f", "m"),
    }  # fmt: skip
    run = eh.evaluate_table(
        table, truth="same", score="score", unit=("a", "b"), by="sex", options={"far": "0.1"}, **QUICK
    )
    sheet = run.results.facts["verification"]["sex"]
    assert [group["group"] for group in sheet["groups"]] == ["f", "m"]
    assert {"fairness", "garbe", "inequity"} <= {name.partition("_")[0] for name in sheet["numbers"]}
    assert "dyadic_bootstrap" in run.results.get("verification").method
    table["same"] = ~table["same"]
    with pytest.raises(eh.DataError, match="but the pair is of"):
        eh.evaluate_table(table, truth="same", score="score", unit=("a", "b"), **QUICK)


def test_the_demo_plants_a_candidate_that_is_better_on_average_and_worse_for_one_group(tmp_path: Path) -> None:
    (shown,) = demo.write(tmp_path)
    runs = {
        name: eh.evaluate(shown.task, tmp_path / f"{name}.csv", options=shown.options, **QUICK).results
        for name in ("production", "candidate")
    }
    assert runs["candidate"].get("accuracy").number > runs["production"].get("accuracy").number  # type: ignore[operator]
    c = eh.Group.of(group="C")
    assert runs["candidate"].get("accuracy", group=c).number < runs["production"].get("accuracy", group=c).number  # type: ignore[operator]


def test_a_gate_stops_a_candidate_that_is_better_on_average_and_worse_for_one_group(
    tmp_path: Path, capsys: Any
) -> None:
    (shown,) = demo.write(tmp_path)
    runs = tmp_path / "runs"
    by_model = {
        name: eh.evaluate(shown.task, tmp_path / f"{name}.csv", options=shown.options, runs=runs, **QUICK)
        for name in ("production", "candidate")
    }
    production = runs / "table" / "labels" / "production"  # the folder of a model
    (tmp_path / "release.toml").write_text(demo.GATE.format(production=production), encoding="utf-8")
    (outcome,) = eh.gate(by_model["candidate"], tmp_path / "release.toml")
    assert not outcome.met
    assert "group=C" in outcome.message
    assert "everyone" not in outcome.message
    (itself,) = eh.gate(by_model["production"], [{"metric": "labels", "not_worse_than": str(production)}])
    assert itself.met
    (strict,) = eh.gate(
        by_model["candidate"],
        [{"metric": "accuracy", "not_worse_than": str(production), "proven": True, "margin": 0.5}],
    )
    assert strict.met
    capsys.readouterr()
    assert command("gate", by_model["candidate"].folder, "--require", tmp_path / "release.toml") == 1
    assert "FAILED: 1 of 1 requirement not met" in capsys.readouterr().out
    named = ("key=image", "truth=label", "prediction=predicted", "unit=subject")
    arguments = ("--by", "group,age", "--set", *named, "--runs", runs)
    gated = ("--require", tmp_path / "release.toml", "--draws", 50, "--permutations", 50)
    assert command("evaluate", "table/labels", tmp_path / "candidate.csv", *arguments, *gated) == 1
    assert command("gate", runs, "--require", tmp_path / "release.toml") == 2
    assert command("gate", runs, "--latest", "--require", tmp_path / "release.toml") == 1
    capsys.readouterr()


def test_runs_of_tasks_that_are_registered_nowhere_are_compared_and_looked_into(tmp_path: Path, capsys: Any) -> None:
    from dataclasses import replace

    from evenhand.benchmarks.table.tasks import labels

    table = pl.DataFrame(columns())
    table.write_csv(tmp_path / "a.csv")
    own = replace(labels, name="nowhere/labels")
    options = {"truth": "y", "prediction": "p", "unit": "subject"}
    run = eh.evaluate(own, tmp_path / "a.csv", options=options, by=["race"], runs=tmp_path / "runs", **QUICK)
    stored = eh.load(tmp_path / "runs" / "nowhere")
    mean = eh.Mean("score", "s", scale=eh.Scale(0, 1))
    two = [eh.evaluate_table(columns(), metrics=[mean], model=m, runs=tmp_path / "own", **LABELS) for m in ("a", "b")]
    again = [eh.load(each.folder) for each in two if each.folder is not None]
    assert {c.metric for c in eh.compare(*again, draws=50)[0].contrasts} == {"score"}
    assert eh.compare(stored, run, draws=50)[0].contrasts
    assert command("rows", run.folder, "--worst", "2") == 0
    capsys.readouterr()
    assert command("explain", run.folder) == 0
    assert "How the numbers of nowhere/labels are defined" in capsys.readouterr().out
    assert command("explain", run.folder, "--target", "90") == 2
    assert "no combinations to choose from" in capsys.readouterr().err


def test_values_are_standardised_when_asked_for(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    age = rng.integers(0, 2, 4000)
    race = np.where(rng.random(4000) < np.where(age == 1, 0.8, 0.2), "A", "B")  # A is older
    truth = rng.integers(0, 2, 4000)
    right = rng.random(4000) < np.where(age == 1, 0.6, 0.9)  # and age is what is hard
    table = {"y": truth, "p": np.where(right, truth, 1 - truth), "race": race, "age": age}
    run = eh.evaluate_table(table, truth="y", prediction="p", by=["race", "age"], standardise="age", **QUICK)
    entry = next(e for e in run.results.facts["standardised"] if e["output"] == "accuracy")
    assert entry["crude"]["B"] - entry["crude"]["A"] > 0.15
    assert abs(entry["standardised"]["B"] - entry["standardised"]["A"]) < 0.05
    eh.report(run, path=tmp_path / "r.html")
    assert "Standardised by age" in (tmp_path / "r.html").read_text(encoding="utf-8")
    with pytest.raises(eh.UnknownNameError, match="standardise names one"):
        eh.evaluate_table(table, truth="y", prediction="p", by=["race"], standardise="age", **QUICK)


@pytest.mark.parametrize("column", ["subject", "group", "y_true"])
def test_a_text_too_long_to_be_a_name_is_refused_with_its_row(column: str) -> None:
    table: dict[str, list[Any]] = {
        "y_true": ["a", "b", "a"], "y_pred": ["a", "a", "a"], "group": ["x", "y", "x"], "subject": ["s", "t", "u"]
    }  # fmt: skip
    table[column][1] = "z" * 70_000  # every row would take its length in memory
    with pytest.raises(eh.EvenhandError, match=f"row 2: '{column}'.*70,000 characters"):
        eh.evaluate_table(table, truth="y_true", prediction="y_pred", by=["group"], unit="subject")


def test_numbers_are_grouped_in_steps_at_the_limits_that_are_named() -> None:
    ages = np.array([5.0, 18.0, 29.9, 30.0, np.nan, 80.0] * 40)
    table = {"y": np.ones(240, int), "p": np.tile([1, 0, 1, 1, 1, 0], 40), "age": ages}
    table["y"][0] = 0
    run = eh.evaluate_table(table, truth="y", prediction="p", by="age", bins={"age": [18, 30]}, draws=0)
    rows = {str(e.group): e.rows for e in run.results.of("labels", "accuracy")}
    assert rows["age=under 18"] == 40
    assert rows["age=18 to under 30"] == rows["age=30 and over"] == 80
    assert rows["age=(missing)"] == 40


def test_limits_are_kept_to_the_last_digit_whatever_holds_them() -> None:
    incomes = np.array([1234566.0, 1234567.0, 1234568.5, 1234569.0] * 30)
    table = {"y": [0, 1] * 60, "p": [0, 1] * 60, "in:come": incomes}
    limits = np.array([1234567, 1234568.5])
    run = eh.evaluate_table(table, truth="y", prediction="p", by="in:come", bins={"in:come": limits}, draws=0)
    rows = {str(e.group): e.rows for e in run.results.of("labels", "accuracy")}
    assert rows["in:come=under 1234567"] == rows["in:come=1234567 to under 1234568.5"] == 30
    assert rows["in:come=1234568.5 and over"] == 60


def test_every_age_as_a_group_is_told_with_what_to_do() -> None:
    table = {"y": [0, 1] * 300, "p": [0, 1] * 300, "age": np.arange(600) % 60}
    run = eh.evaluate_table(table, truth="y", prediction="p", by="age", draws=0)
    assert any("bins=age:30:60" in warning for warning in run.results.warnings)


@pytest.mark.parametrize("bins", [{"age": []}, {"age": [30, 18]}, {"height": [1]}, {"age": [float("nan")]}])
def test_limits_that_can_not_be_used_are_refused(bins: dict[str, list[float]]) -> None:
    table = {"y": [0, 1] * 30, "p": [0, 1] * 30, "age": np.arange(60)}
    with pytest.raises(OptionError, match="bins"):
        eh.evaluate_table(table, truth="y", prediction="p", by="age", bins=bins)


def test_a_table_given_to_evaluate_is_sent_to_evaluate_table() -> None:
    with pytest.raises(OptionError, match="evaluate_table"):
        eh.evaluate({"y": [0, 1]})  # type: ignore[arg-type]  # what people try first
