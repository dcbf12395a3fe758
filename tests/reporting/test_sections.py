"""What every report shows: the ten points, one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from evenhand.core.metric import Undefined
from evenhand.core.page import Figure, Forest, Interval, Lines, Section, Table, Text
from evenhand.core.records import EVERYONE, Group
from evenhand.core.results import Contrast, Status, Verdict
from evenhand.reporting.display import shown
from evenhand.reporting.html import page_html
from evenhand.reporting.phrases import gap_sentence, in_words
from evenhand.reporting.reported import Reported, report_page
from evenhand.reporting.sections import badge, finding, standard, with_added


def section(results, name: str) -> Section:
    return next(one for one in standard(results) if one.name == name)


def two_attributes(results):
    """The results with a second attribute, so that the first one's figure stands in the summary and others below."""
    again = [replace(e, group=Group((("site", level),))) for e in results.estimates for _, level in e.group.terms]
    return replace(results, estimates=(*results.estimates, *again))


def tables(found: Section) -> dict[str, Table]:
    blocks = [block.data if isinstance(block, Figure) else block for block in found.blocks]
    return {block.title: block for block in blocks if isinstance(block, Table)}


def texts(found: Section) -> str:
    return "\n".join(block.text for block in found.blocks if isinstance(block, Text))


def test_1_rows_units_and_what_is_missing_are_counted(results):
    counted = dict(tables(section(results, "coverage"))["What was counted"].rows)
    assert counted == {"rows": 400, "independent units": 200, "rows without tone": 8}
    asked = dict(tables(section(results, "coverage"))["What was asked and answered"].rows)
    assert (asked["asked"], asked["not answered"], asked["could not be read"]) == (410, 5, 3)
    table = tables(section(results, "summary"))["match by tone"]
    place = table.columns.index("not measured")
    assert [row[place] for row in table.rows] == [0, 3, 0, 0]


def test_2_small_and_missing_groups_are_greyed_and_listed_as_left_out(results):
    table = tables(section(results, "summary"))["match by tone"]
    assert table.muted == {2, 3}
    assert table.caption == "Left out of comparisons (2): few, not annotated."
    assert table.rows[1][:4] == ("dark", 180, 90, Interval(0.725, 0.66, 0.78, unit="%"))


def test_2_the_share_of_unknown_answers_stands_in_the_table_where_it_is_measured(results):
    refused = tuple(replace(e, metric="refusals", value=0.25) for e in results.of("match", "rate") if e.group.terms)
    table = tables(section(replace(results, estimates=(*results.estimates, *refused)), "summary"))
    assert "unusable answers" in table["match by tone"].columns


def test_2_pooled_values_stand_beside_raw_ones_where_they_were_asked_for(results):
    pooled = replace(results.summaries[0], shrunken={results.estimates[1].group: 0.88})
    table = tables(section(replace(results, summaries=(pooled,)), "summary"))["match by tone"]
    place = table.columns.index("after pooling")
    assert [row[place].value for row in table.rows] == [0.88, None, None, None]


def test_3_the_gap_is_never_without_what_chance_alone_would_show(results):
    table = tables(section(results, "gaps"))["Gap between best and worst group"]
    gap, chance = Interval(0.175, unit="points"), Interval(0.03, unit="points")
    assert table.rows[0][:6] == ("tone", gap, chance, "0.0005", "dark", "light")
    assert "mean over groups" in tables(section(results, "spread"))["Other numbers of spread"].columns


def test_3_a_group_that_performs_worse_has_one_line(results):
    table = tables(section(results, "gaps"))["Groups that perform worse beyond chance"]
    assert table.rows == (("dark", "tone", "below 1 of 1, by 18 points", "light"),)


def test_4_pairs_are_worse_minus_better_and_those_that_chance_explains_are_there_too(results):
    undecided = replace(results.contrasts[0], verdict=Verdict.UNDECIDED, adjusted=0.4, worse=None)
    found = section(replace(results, contrasts=(*results.contrasts, undecided)), "pairs")
    table = tables(found)["Pairs of groups"]
    assert table.rows[0][:3] == ("tone dark", "tone light", Interval(-0.175, -0.26, -0.09, unit="points"))
    assert [row[4] for row in table.rows] == ["large", "undecided"]
    assert table.rows[1][5] == "11 points"  # what would have been detectable
    assert "2 pairs tested: 1 large, 0 different, 0 equivalent, 1 undecided" in table.caption
    assert "adjusted within 1 pairs, holm" in table.caption
    drawn = next(block for block in found.blocks if isinstance(block, Figure))
    assert len(drawn.data.rows) == 1  # what is inconclusive is not drawn


def test_4_of_a_family_too_large_to_list_both_numbers_are_said(results):
    one = replace(results.contrasts[0], family_size=158_344)
    caption = tables(section(replace(results, contrasts=(one,)), "pairs"))["Pairs of groups"].caption
    assert "158,344 pairs tested, 1 with the smallest p-values listed: 1 large" in caption


def test_4_cliffs_delta_stands_beside_its_pair_with_limits_where_it_has_some(results):
    effects = {"cliffs_delta": -0.2, "cliffs_delta_low": -0.3, "cliffs_delta_high": -0.1}
    pairs = tuple(replace(results.contrasts[0], effects=found) for found in (effects, {"cliffs_delta": 0.1}))
    table = tables(section(replace(results, contrasts=pairs), "pairs"))["Pairs of groups"]
    at = table.columns.index("Cliff's δ")
    assert {row[at] for row in table.rows} == {
        Interval(0.2, 0.1, 0.3),
        Interval(-0.1, None, None),
    }


def test_4_of_very_many_pairs_the_fifty_most_telling_are_shown(results):
    many = tuple(replace(results.contrasts[0], difference=at / 100) for at in range(60))
    table = tables(section(replace(results, contrasts=many), "pairs"))["Pairs of groups"]
    assert len(table.rows) == 50
    assert "all are in the JSON" in table.caption


def test_5_a_group_under_fifty_rows_says_what_it_could_show(results):
    table = tables(section(results, "summary"))["match by tone"]
    assert "could show a difference of 43 points or more" in table.rows[2][-1]


def test_6_figures_are_points_with_intervals_in_declared_order_with_n(results):
    figure = next(block for block in section(results, "summary").blocks if isinstance(block, Figure))
    assert isinstance(figure.chart, Forest)
    assert [row[0] for row in figure.data.rows] == ["light", "dark", "few", "not annotated"]
    assert figure.data.columns[figure.chart.count] == "n"
    assert figure.chart.tones == ("", "worse", "", "")


@dataclass(frozen=True)
class File:
    role: str
    name: str
    hash: str


def test_7_the_method_says_what_somebody_else_needs(results):
    found = next(
        one for one in standard(results, inputs=[File("data", "labels.csv", "ab" * 32)]) if one.name == "method"
    )
    facts = dict(tables(found)["How it was computed"].rows)
    assert facts["bootstrap resamples"] == 2000
    assert facts["permutations"] == 2000
    assert facts["threshold for a meaningful difference"] == "5 points"
    assert facts["correction for many comparisons"] == "Holm"
    assert facts["smallest group compared"] == "20 rows, 10 units"
    assert facts["intervals"] == "Wilson with the effective number of rows"
    assert facts["seed"] == "made/up (PCG64)"
    assert facts["evenhand"] == "0.1.0"
    assert tables(found)["Input files"].rows == (("data", "labels.csv", "ab" * 32),)
    assert ("Share of faces that were matched.", "match ↑, match: ratio ↓") in tables(found)["Metrics"].rows


def test_8_words_of_the_report_are_explained(results):
    guide = section(results, "guide")
    assert guide.folded
    terms = [row[0] for row in tables(guide)["Words used in this report"].rows]
    assert {"Confidence interval", "Expected by chance alone", "Independent unit", "Points"} <= set(terms)


def test_9_the_cautions_are_there(results):
    text = texts(section(results, "method"))
    assert "No evidence of a difference is not evidence of no difference." in text
    assert "they are not identities" in text
    assert "this data set and this threshold" in text
    assert "something to mind" in texts(section(results, "warnings"))


def test_no_identifier_of_ours_is_shown(results):
    text = page_html(report_page([Reported(two_attributes(results))])).split("<script")[0]
    for word in ("cluster_wilson", "max_gap", "equal_weight", "tone=", "even model", "worse off", "«"):
        assert word not in text, word


def test_a_confidence_close_to_one_is_not_written_as_certainty(results):
    sure = replace(results, method=replace(results.method, confidence=0.999))
    assert "(99.9 % CI" in texts(section(sure, "summary")).replace("\N{NO-BREAK SPACE}", " ")
    rows = [row for block in section(sure, "method").blocks if isinstance(block, Table) for row in block.rows]
    assert ("confidence level", "99.9\N{NO-BREAK SPACE}%") in rows


def test_the_first_sentence_says_who_performs_worse_by_how_much_and_how_sure_that_is(results):
    reported = Reported(results, question="Match the faces.", finished="2026-03-01T12:00:00+00:00")
    text = texts(reported.sections[0]).replace("\N{NO-BREAK SPACE}", " ")
    assert text.startswith("For tone “dark”, match is 72 % (95 % CI 66–78 %), 9 points below average; chance does not")
    assert "match over all groups: 81 % (95 % CI 78–84 %); higher is better." in text
    assert "Task: Match the faces." in text
    assert reported.facts == ("Data: made up 1", "2026-03-01", "n = 400 of 200 independent units", "97.6 % answered")


def contrast(verdict: Verdict, worse=None) -> Contrast:
    group = EVERYONE
    return Contrast("m", "o", group, group, 0.1, 0.0, 0.2, 0.1, 0.1, verdict, worse, margin=0.05)


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([], "not compared"),
        ([contrast(Verdict.EQUIVALENT)], "no meaningful difference"),
        ([contrast(Verdict.UNDECIDED)], "inconclusive"),
        ([contrast(Verdict.DIFFERENT, EVERYONE)], "differs, perhaps little: worse for"),
        ([contrast(Verdict.LARGE, EVERYONE)], "performs worse for"),
    ],
)
def test_an_attribute_has_one_verdict_and_undecided_is_not_even(pairs, words):
    assert words in badge(pairs)[1]


def test_without_a_difference_the_first_sentence_says_how_much_is_inconclusive(results):
    pair = replace(results.contrasts[0], verdict=Verdict.UNDECIDED, worse=None)
    one, two = (shown(replace(results, contrasts=pairs)) for pairs in ((pair,), (pair, pair)))
    assert "too few to rule it out" in finding(one)
    assert "2 of 2 comparisons are inconclusive" in finding(two)
    alike = shown(replace(results, contrasts=(replace(pair, verdict=Verdict.EQUIVALENT),)))
    assert "both groups perform alike, within 5 points" in finding(alike)


def test_results_without_any_value_say_so(results):
    nothing = replace(results, estimates=(), contrasts=(), summaries=(), headline=None)
    assert "No metric has a value" in texts(section(nothing, "summary"))


def test_an_undefined_headline_says_why(results):
    whole = replace(results.estimates[0], value=Undefined("no faces"), low=None, high=None)
    assert "undefined: no faces" in texts(section(replace(results, estimates=(whole,)), "summary"))


def test_an_empty_group_is_named_below_the_figure(results):
    empty = replace(results.estimates[1], value=Undefined("no rows"), rows=0, units=0, status=Status.EMPTY)
    changed = replace(results, estimates=(results.estimates[0], empty, *results.estimates[2:]))
    figure = next(block for block in section(changed, "summary").blocks if isinstance(block, Figure))
    assert [row[0] for row in figure.data.rows] == ["dark", "few", "not annotated"]
    assert figure.caption == "No samples (1): light."


def test_a_family_section_of_the_same_name_is_joined_without_its_figures(results):
    drawn = Figure("f", Lines(), Table("f", ("x",), ()))
    own = Section("Curves", [drawn, Text("points"), Table("t", ("x",), ((1,),))], name="curves")
    extra = Section("Extra", [Text("more")], name="extra")
    found = with_added(standard(results), [own, extra])
    names = [one.name for one in found]
    assert names.count("curves") == 1
    assert names.index("extra") < names.index("values")
    joined = next(one for one in found if one.name == "curves")
    assert joined.blocks[-1] == Text("points")
    assert drawn not in joined.blocks


def test_curves_of_everyone_and_of_groups_are_one_figure_per_attribute(results):
    figures = section(results, "curves").blocks
    assert [figure.title for figure in figures] == ["match: curve: ROC curve by tone"]
    assert list(dict.fromkeys(row[0] for row in figures[0].data.rows)) == ["everyone", "light", "dark"]
    assert figures[0].chart.log_x


def test_a_matrix_shows_shares_of_rows_and_counts(results):
    figure = section(results, "confusion").blocks[0]
    assert figure.data.rows[0] == ("yes", "yes", Interval(0.8, unit="%"), 8)


def test_without_resampling_the_report_says_so_and_shows_no_count_of_units(results):
    plain = tuple(replace(estimate, units=0) for estimate in results.estimates)
    without = replace(results, estimates=plain, contrasts=(), units=0, method=replace(results.method, draws=0))
    for name in ("summary", "pairs"):
        said = texts(section(without, name))
        assert "resampling, which was switched off" in said
        assert "large enough" not in said
    table = tables(section(without, "summary"))["match by tone"]
    assert {row[table.columns.index("units")] for row in table.rows} == {None}


def test_groups_with_one_value_have_neither_a_worst_nor_a_best(results):
    alike = tuple(replace(summary, values={"max_gap": 0.0}, best=summary.worst) for summary in results.summaries)
    results = replace(results, summaries=alike)
    table = next(t for found in standard(results) for t in tables(found).values() if "Gap between" in t.title)
    row = dict(zip(table.columns, table.rows[0], strict=True))
    assert (row["worst"], row["best"]) == ("–", "–")
    assert gap_sentence(alike[0], "%").startswith("By tone: all groups have the same value.")


def test_a_share_in_a_sentence_has_as_many_digits_as_its_interval(results):
    one = replace(results.estimates[0], value=0.985, low=0.979, high=0.989)
    assert in_words(one, "%").replace("\xa0", " ") == "98.5 % (95 % CI 97.9–98.9 %)"
