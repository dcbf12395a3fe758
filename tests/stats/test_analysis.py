"""From tallies to what may be said about groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from reference_statistics import newcombe

from evenhand.core.errors import OptionError
from evenhand.core.measure import tally
from evenhand.core.metric import Collected, Column, Direction, Kind, Metric, Numbers, Ratio, Undefined
from evenhand.core.records import EVERYONE, MISSING, Array, Attribute, Group, Records
from evenhand.core.results import Contrast, Estimate, Status, Summary, Verdict
from evenhand.metrics.labels import Confusion
from evenhand.metrics.means import Mean, Rate
from evenhand.stats.analysis import Analysis, analyse, work_asked
from evenhand.stats.contrasts import proportion_test
from evenhand.stats.intervals import clopper_pearson, cluster_means, mean_interval, proportion_interval, wilson
from evenhand.stats.multiplicity import Correction
from evenhand.stats.settings import Settings
from evenhand.stats.tables import layout, unit_table

QUICK = Settings(draws=200, permutations=200)


def rows_of(
    groups: Mapping[str, Sequence[float]], units: Sequence[object] | None = None, name: str = "tone"
) -> Records:
    """Rows with a value each, one attribute."""
    values = np.concatenate([np.asarray(group, dtype=float) for group in groups.values()])
    labels = [level for level, group in groups.items() for _ in group]
    unit = np.arange(len(values)) if units is None else np.asarray(units)
    columns = {"item": np.arange(len(values)), "unit": unit, "x": values, "right": values > 0.5}
    return Records(columns, {name: Attribute.of(labels, tuple(groups))})


def estimate_of(found: Analysis, group: Group = EVERYONE, output: str | None = None) -> Estimate:
    return next(e for e in found.estimates if e.group == group and output in (None, e.output))


def rates(*pairs: tuple[int, int]) -> dict[str, list[float]]:
    return {f"g{i}": [1.0] * k + [0.0] * (n - k) for i, (k, n) in enumerate(pairs)}


def test_a_proportion_of_independent_rows_gets_wilson_newcombe_and_the_score_test() -> None:
    found = analyse(tally(rows_of(rates((90, 100), (70, 100))), [Rate("hit", "right")], ["tone"]), ["tone"], 1, QUICK)
    first = estimate_of(found, Group.of(tone="g0"))
    expected = wilson(90, 100)
    assert (first.low, first.high, first.method) == (expected.low, expected.high, "wilson")
    assert first.events == 90
    contrast = found.contrasts[0]
    limits = newcombe(90, 100, 70, 100)
    assert (contrast.low, contrast.high) == (float(limits.low), float(limits.high))
    assert contrast.p == float(proportion_test(90, 100, 70, 100).p_value)
    assert (contrast.test, contrast.interval) == ("score_z", "newcombe")
    assert contrast.worse == Group.of(tone="g1")
    assert contrast.verdict is Verdict.LARGE


def test_exact_intervals_can_be_asked_for() -> None:
    rows = rows_of(rates((90, 100), (70, 100)))
    found = analyse(tally(rows, [Rate("hit", "right")], ["tone"]), ["tone"], 1, Settings(permutations=0, exact=True))
    first = estimate_of(found, Group.of(tone="g0"))
    limits = clopper_pearson(90, 100)
    assert (first.low, first.high, first.method) == (limits.low, limits.high, "clopper_pearson")


def test_several_rows_per_unit_get_the_cluster_forms_with_their_names() -> None:
    rng = np.random.default_rng(0)
    units = np.repeat(np.arange(60), 4)
    right = (rng.random(60)[units] + rng.random(240) > 0.9).astype(float)
    rows = rows_of({"a": right[:120], "b": right[120:]}, units)
    found = analyse(tally(rows, [Rate("hit", "right"), Mean("x", "x")], ["tone"]), ["tone"], 1, QUICK)
    sums = right[:120].reshape(30, 4).sum(axis=1)
    means = cluster_means(sums, np.full(30, 4))
    rate = estimate_of(found, Group.of(tone="a"), "rate")
    limits = proportion_interval(means, small_sample=True)
    assert (rate.low, rate.high, rate.method) == (limits.low[0], limits.high[0], "wilson_effective_t")
    mean = estimate_of(found, Group.of(tone="a"), "mean")
    limits = mean_interval(means)
    assert (mean.low, mean.high) == pytest.approx((limits.low[0], limits.high[0]))  # units of equal size
    assert mean.method == "cluster_t_jackknife"
    assert (mean.rows, mean.units) == (120, 30)
    assert {c.test for c in found.contrasts} == {"cluster_score", "mann_whitney"}
    assert [test.test for test in found.omnibus] == ["chi_square_permutation", "kruskal_wallis"]
    unpermuted = Settings(draws=0, permutations=0)
    plain = analyse(tally(rows, [Rate("hit", "right")], ["tone"]), ["tone"], 1, unpermuted)
    assert plain.omnibus[0].test == "wald"  # never a χ² that takes rows of one unit for independent


def test_small_empty_and_missing_groups_have_their_status_and_are_not_compared() -> None:
    values = [1.0] * 30 + [0.0] * 30 + [1.0] * 5 + [0.0] * 4
    labels = ["a"] * 30 + ["b"] * 30 + ["c"] * 5 + [None] * 4
    rows = Records(
        {"unit": np.arange(69), "right": np.array(values) > 0.5}, {"tone": Attribute.of(labels, ("a", "b", "c", "d"))}
    )
    found = analyse(tally(rows, [Rate("hit", "right")], ["tone"]), ["tone"], 1, QUICK)
    status = {dict(e.group.terms).get("tone"): e.status for e in found.estimates}
    assert status == {
        None: Status.OK, "a": Status.OK, "b": Status.OK, "c": Status.SMALL, "d": Status.EMPTY, MISSING: Status.SMALL,
    }  # fmt: skip
    assert isinstance(estimate_of(found, Group.of(tone="d")).value, Undefined)
    summary = found.summaries[0]
    assert summary.excluded == (Group.of(tone="c"), Group.of(tone="d"))
    assert len(found.contrasts) == 1
    small = estimate_of(found, Group.of(tone="c"))
    assert small.low is not None
    assert any("could show a difference" in note for note in small.notes)


def test_a_missing_group_is_never_compared_however_large() -> None:
    labels = ["a"] * 40 + ["b"] * 40 + [None] * 40
    rows = Records({"unit": np.arange(120), "right": np.arange(120) % 3 > 0}, {"t": Attribute.of(labels, ("a", "b"))})
    found = analyse(tally(rows, [Rate("hit", "right")], ["t"]), ["t"], 1, QUICK)
    assert all(not c.first.is_missing and not c.second.is_missing for c in found.contrasts)
    assert all(not group.is_missing for group in (*found.summaries[0].eligible, *found.summaries[0].excluded))


def test_a_group_of_one_subject_has_a_value_and_no_interval() -> None:
    rows = rows_of({"a": [1.0] * 20 + [0.0] * 5, "b": [1.0] * 30}, ["only"] * 25 + [f"s{i}" for i in range(30)])
    found = analyse(tally(rows, [Rate("hit", "right")], ["tone"]), ["tone"], 1, QUICK)
    one = estimate_of(found, Group.of(tone="a"))
    assert one.number == 0.8
    assert (one.low, one.high, one.status) == (None, None, Status.SMALL)
    assert any("one unit" in note for note in one.notes)


def test_an_attribute_with_one_level_has_no_summary_with_the_reason_and_no_contrast() -> None:
    found = analyse(tally(rows_of({"a": [1.0] * 40}), [Rate("hit", "right")], ["tone"]), ["tone"], 1, QUICK)
    assert found.contrasts == ()
    assert all(isinstance(value, Undefined) for value in found.summaries[0].values.values())
    assert "fewer than two" in found.omnibus[0].reason
    assert found.summaries[0].reference is None


def test_equal_values_everywhere_give_p_1_gap_0_and_no_warning() -> None:
    rows = rows_of({"a": [1.0] * 40, "b": [1.0] * 40})
    found = analyse(tally(rows, [Rate("hit", "right"), Mean("x", "x")], ["tone"]), ["tone"], 1, QUICK)
    for contrast in found.contrasts:
        assert contrast.p == 1.0
        assert contrast.difference == 0.0
        assert contrast.worse is None
    assert all(test.p is None and test.reason for test in found.omnibus)
    assert all(summary.values["max_gap"] == 0.0 for summary in found.summaries)


def test_rows_that_could_not_be_measured_leave_n_and_are_counted() -> None:
    rows = rows_of({"a": [0.2, 0.4, np.nan] * 12, "b": [np.nan] * 30})
    found = analyse(tally(rows, [Mean("x", "x")], ["tone"]), ["tone"], 1, QUICK)
    a, b = estimate_of(found, Group.of(tone="a")), estimate_of(found, Group.of(tone="b"))
    assert (a.rows, a.missing) == (24, 12)
    assert (b.rows, b.missing) == (0, 30)
    assert isinstance(b.value, Undefined)
    assert found.contrasts == ()


def test_rows_in_two_groups_are_removed_from_both_sides_and_counted() -> None:
    member = [{"a"}] * 40 + [{"b"}] * 40 + [{"a", "b"}] * 15
    values = np.array([1.0] * 30 + [0.0] * 10 + [1.0] * 20 + [0.0] * 20 + [1.0] * 15)
    rows = Records({"unit": np.arange(95), "right": values > 0.5}, {"t": Attribute.many(member, ("a", "b"))})
    found = analyse(tally(rows, [Rate("hit", "right")], ["t"]), ["t"], 1, QUICK)
    assert estimate_of(found, Group.of(t="a")).rows == 55
    contrast = found.contrasts[0]
    assert contrast.shared_rows == 15
    assert contrast.difference == pytest.approx(30 / 40 - 20 / 40)
    assert contrast.p == pytest.approx(float(proportion_test(30, 40, 20, 40).p_value))
    assert any("add up to more" in note for note in found.summaries[0].notes)


def test_units_that_span_exclusive_groups_use_the_joint_formula_and_say_so() -> None:
    rng = np.random.default_rng(0)
    skill = rng.random(50)
    units = np.concatenate([np.arange(50), np.arange(50)])
    values = np.concatenate([skill, skill - 0.02]) + rng.normal(0, 0.01, 100)
    rows = rows_of({"day": values[:50].tolist(), "night": values[50:].tolist()}, units)
    found = analyse(tally(rows, [Mean("x", "x")], ["tone"]), ["tone"], 1, QUICK)
    contrast = found.contrasts[0]
    assert contrast.test == "cluster_t"
    assert any("50 units have rows in both groups" in note for note in contrast.notes)
    assert contrast.p is not None
    assert contrast.p < 1e-6  # between subjects it would be hidden
    assert found.omnibus[0].test == "wald"
    assert any("moved to a common value" in note for note in found.summaries[0].notes)


def test_without_draws_a_gap_of_groups_that_share_units_has_no_reference_and_says_so() -> None:
    values = np.random.default_rng(0).random(80)
    rows = rows_of({"day": values[:40].tolist(), "night": values[40:].tolist()}, np.tile(np.arange(40), 2))
    found = analyse(tally(rows, [Mean("x", "x")], ["tone"]), ["tone"], 1, Settings(draws=0, permutations=50))
    assert found.summaries[0].reference is None
    assert any("no reference" in note for note in found.summaries[0].notes)


def test_one_family_is_one_output_and_one_order_with_all_attributes() -> None:
    rng = np.random.default_rng(1)
    rows = Records(
        {"unit": np.arange(600), "right": rng.random(600) < 0.8},
        {
            "tone": Attribute.coded(rng.integers(0, 3, 600), ("i", "ii", "iii")),
            "age": Attribute.coded(rng.integers(0, 2, 600), ("y", "o")),
        },
    )
    found = analyse(tally(rows, [Rate("hit", "right")], ["tone", "age"]), ["tone", "age"], 2, QUICK)
    families = {c.family: c.family_size for c in found.contrasts}
    assert families == {"hit.rate, single attributes": 3 + 1, "hit.rate, intersections of 2": 15}
    assert any("2 families of tests, 19 pairs" in note for note in found.method.notes)
    single = [c for c in found.contrasts if len(c.first.terms) == 1]
    p = [c.p for c in single if c.p is not None]
    assert [c.adjusted for c in single] == pytest.approx(Correction.HOLM(p).tolist())


def test_the_margin_of_a_scale_beyond_0_to_1_must_be_set() -> None:
    rows = rows_of({"a": np.linspace(20, 30, 40).tolist(), "b": np.linspace(20.1, 30.1, 40).tolist()})
    plain = analyse(tally(rows, [Mean("psnr", "x")], ["tone"]), ["tone"], 1, QUICK).contrasts[0]
    assert plain.verdict is Verdict.UNDECIDED
    assert plain.margin is None
    wide = Settings(draws=0, permutations=0, margins={"psnr": 5.0})
    assert (
        analyse(tally(rows, [Mean("psnr", "x")], ["tone"]), ["tone"], 1, wide).contrasts[0].verdict
        is Verdict.EQUIVALENT
    )


def test_for_a_lower_is_better_metric_the_larger_group_is_worse() -> None:
    rows = rows_of(rates((5, 100), (30, 100)))
    found = analyse(tally(rows, [Rate("error", "right", direction=Direction.LOWER)], ["tone"]), ["tone"], 1, QUICK)
    assert found.contrasts[0].worse == Group.of(tone="g1")
    assert found.summaries[0].worst == Group.of(tone="g1")
    assert any("based on n = 5 events" in note for note in estimate_of(found, Group.of(tone="g0")).notes)


def test_a_metric_without_formula_is_drawn_again_by_unit() -> None:
    rng = np.random.default_rng(0)
    units = np.repeat(np.arange(100), 3)
    truth = rng.integers(0, 2, 300)
    answer = np.where(rng.random(300) < 0.8, truth, 1 - truth)
    rows = Records(
        {"unit": units, "truth": truth, "answer": answer}, {"g": Attribute.coded((units % 2), ("even", "odd"))}
    )
    found = analyse(tally(rows, [Confusion("c", ("no", "yes"))], ["g"]), ["g"], 1, QUICK)
    f1 = estimate_of(found, Group.of(g="even"), "macro_f1")
    assert f1.method == "cluster_bootstrap_percentile_t"
    assert f1.low is not None
    assert f1.high is not None
    assert isinstance(f1.value, float)
    assert f1.low < f1.value < f1.high
    accuracy = estimate_of(found, Group.of(g="even"), "accuracy")
    assert accuracy.method == "wilson_effective_t"
    assert not any(":" in c.output for c in found.contrasts)
    contrast = next(c for c in found.contrasts if c.output == "macro_f1")
    assert contrast.test == "cluster_bootstrap_t"
    assert contrast.p is not None
    assert contrast.p > 0.001
    corrected = analyse(
        tally(rows, [Confusion("c", ("no", "yes"))], ["g"]),
        ["g"],
        1,
        Settings(draws=200, permutations=0, bias_corrected=True),
    )
    assert estimate_of(corrected, Group.of(g="even"), "macro_f1").method == "cluster_bootstrap_bca"


def test_pairs_of_subjects_get_the_dyadic_bootstrap() -> None:
    rng = np.random.default_rng(0)
    a, b = (side.ravel() for side in np.triu_indices(40, 1))
    rows = Records(
        {"unit": a, "unit_b": b, "right": rng.random(len(a)) < 0.1},
        {"g": Attribute.coded(((a < 20).astype(int) + (b < 20)) // 2, ("mixed or second", "first"))},
    )
    found = analyse(tally(rows, [Rate("fmr", "right")], ["g"]), ["g"], 1, QUICK)
    everyone = estimate_of(found)
    assert everyone.method.startswith("dyadic_bootstrap")
    assert everyone.low is not None
    assert everyone.low < 0.1 < (everyone.high or 0)
    assert everyone.units == 40


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not() -> None:
    rng = np.random.default_rng(0)
    rows = Records(
        {"unit": np.repeat(np.arange(80), 2), "truth": rng.integers(0, 2, 160), "answer": rng.integers(0, 2, 160)},
        {"g": Attribute.coded(np.repeat(rng.integers(0, 2, 80), 2), ("a", "b"))},
    )
    one = tally(rows, [Confusion("c", ("no", "yes"))], ["g"])
    parts = tally(rows.take(np.arange(77)), one.metrics, ["g"]) + tally(
        rows.take(np.arange(77, 160)), one.metrics, ["g"]
    )
    seeded = Settings(draws=100, permutations=100, seed=("run", "1"))
    assert repr(analyse(one, ["g"], 1, seeded)) == repr(analyse(parts, ["g"], 1, seeded))
    other = Settings(draws=100, permutations=100, seed=("run", "2"))
    assert analyse(one, ["g"], 1, seeded).estimates != analyse(one, ["g"], 1, other).estimates


def test_a_gap_comes_with_what_chance_alone_would_show() -> None:
    rng = np.random.default_rng(3)
    rows = Records(
        {"unit": np.arange(1200), "right": rng.random(1200) < 0.7},
        {"cell": Attribute.coded(rng.integers(0, 30, 1200), tuple(str(i) for i in range(30)))},
    )
    found = analyse(tally(rows, [Rate("hit", "right")], ["cell"]), ["cell"], 1, Settings(permutations=500))
    summary: Summary = found.summaries[0]
    assert summary.reference is not None
    assert summary.reference.mean > 0.2  # thirty cells of forty rows
    assert summary.reference.p > 0.05
    assert len(summary.shrunken) == len(summary.eligible)  # too many to rank raw
    assert max(summary.shrunken.values()) - min(summary.shrunken.values()) < 0.1


def test_more_than_five_thousand_pairs_are_compared() -> None:
    rng = np.random.default_rng(0)
    rows = Records(
        {"unit": np.arange(4400), "right": rng.random(4400) < 0.7},
        {"cell": Attribute.coded(np.arange(4400) % 108, tuple(str(i) for i in range(108)))},
    )
    found = analyse(tally(rows, [Rate("hit", "right")], ["cell"]), ["cell"], 1, Settings(permutations=100))
    assert len(found.contrasts) == 5778
    assert found.contrasts[0].family_size == 5778


def test_of_a_very_large_family_the_smallest_p_values_are_listed_and_the_rest_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evenhand.stats.analysis.MOST_PAIRS", 5)
    rng = np.random.default_rng(0)
    rows = Records(
        {"unit": np.arange(400), "right": rng.random(400) < 0.7},
        {"cell": Attribute.coded(np.arange(400) % 5, tuple("abcde"))},
    )
    found = analyse(tally(rows, [Rate("hit", "right")], ["cell"]), ["cell"], 1, Settings(permutations=0))
    assert len(found.contrasts) == 5
    assert {c.family_size for c in found.contrasts} == {10}
    assert any("10 pairs tested, the 5 with the smallest" in note for note in found.method.notes)


def test_a_row_that_counts_several_times_is_not_taken_for_independent_evidence() -> None:
    places = layout(tally(rows_of(rates((5, 8), (3, 8))), [Rate("hit", "right")], ["tone"]).cells, [EVERYONE])
    heavy = Ratio(np.full(16, 3.0) * (np.arange(16) % 2), np.full(16, 4.0), Kind.PROPORTION)
    assert not unit_table(places, heavy).independent


def test_no_rows_are_said_and_not_computed() -> None:
    rows = rows_of({"a": [1.0], "b": [0.0]}).take(np.zeros(0, dtype=int))
    found = analyse(tally(rows, [Rate("hit", "right")], ["tone"]), ["tone"], 1, QUICK)
    assert all(estimate.status is Status.EMPTY for estimate in found.estimates)
    assert found.method.notes == ("there are no rows",)


def test_the_number_of_cells_is_known_before_it_is_paid_for() -> None:
    rows = rows_of(rates((9, 10), (7, 10)))
    words = work_asked(tally(rows, [Rate("hit", "right")], ["tone"]), ["tone"], 2, QUICK)
    assert words.startswith("depth 2 means 2 groups and at most 1 pairs of them to be tested for each of 1 values")


def test_stratified_draws_are_made_inside_groups() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    rows = Records(
        {"unit": np.arange(200), "truth": truth, "answer": truth},
        {"g": Attribute.coded(np.repeat([0, 1], [180, 20]), ("big", "small"))},
    )
    found = analyse(
        tally(rows, [Confusion("c", ("no", "yes"))], ["g"]),
        ["g"],
        1,
        Settings(draws=50, permutations=0, stratified=True),
    )
    assert estimate_of(found, Group.of(g="small"), "macro_f1").number == 1.0


@pytest.mark.parametrize("wrong", [{"draws": -1}, {"confidence": 95}, {"margin": 0.0}, {"min_rows": -1}])
def test_impossible_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(OptionError, match=next(iter(wrong))):
        Settings(**wrong)  # type: ignore[arg-type]  # what the command line might pass


@dataclass(frozen=True, eq=False)
class Kept(Collected):
    """Values as they are."""

    values: Array


@dataclass(frozen=True)
class Median(Metric[Kept]):
    """The median, which keeps its rows."""

    name: str

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {"median": Direction.HIGHER}

    @property
    def columns(self) -> tuple[str, ...]:
        return ("x",)

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> Kept:
        codes = np.zeros(len(rows), dtype=np.intp) if cells is None else cells
        return Kept(codes, size, None, np.asarray(rows["x"], dtype=float))

    def result(self, part: Kept, whole: Kept) -> Mapping[str, Column]:
        found = []
        for cell in range(part.size):
            repeated = np.repeat(part.values, part.weights_of(cell).astype(int))
            found.append(np.median(repeated) if len(repeated) else np.nan)
        return {"median": Numbers(np.array(found), "no rows")}


def test_a_metric_that_keeps_its_rows_is_drawn_again_too() -> None:
    rng = np.random.default_rng(0)
    rows = rows_of({"a": rng.normal(0, 1, 60).tolist(), "b": rng.normal(2, 1, 60).tolist()})
    found = analyse(tally(rows, [Median("m")], ["tone"]), ["tone"], 1, QUICK)
    a = estimate_of(found, Group.of(tone="a"))
    assert a.number == pytest.approx(np.median(rows["x"][:60]))
    assert a.low is not None
    assert a.low < 0.0 < (a.high or 0)
    contrast: Contrast = found.contrasts[0]
    assert contrast.p is not None
    assert contrast.p < 1e-4
