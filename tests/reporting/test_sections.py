"""What every report shows: the ten points, one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from evenhand.core.metric import Undefined
from evenhand.core.page import Figure, Forest, Interval, Section, Table, Text
from evenhand.core.records import EVERYONE
from evenhand.core.results import Contrast, Status, Verdict
from evenhand.reporting.reported import Reported
from evenhand.reporting.sections import standard, with_added
from evenhand.reporting.summary import how_even


def section(results, name: str) -> Section:
    return next(one for one in standard(results) if one.name == name)


def tables(found: Section) -> dict[str, Table]:
    blocks = [block.data if isinstance(block, Figure) else block for block in found.blocks]
    return {block.title: block for block in blocks if isinstance(block, Table)}


def texts(found: Section) -> str:
    return "\n".join(block.text for block in found.blocks if isinstance(block, Text))


def test_1_rows_units_and_what_is_missing_are_counted(results):
    counted = dict(tables(section(results, "coverage"))["What it came to"].rows)
    assert counted == {"rows": 400, "units": 200, "rows without tone": 8}
    asked = dict(tables(section(results, "coverage"))["What was asked and answered"].rows)
    assert (asked["asked"], asked["not answered"], asked["could not be read"]) == (410, 5, 3)
    table = tables(section(results, "groups"))["match: rate by tone"]
    place = table.columns.index("not measured")
    assert [row[place] for row in table.rows] == [0, 3, 0, 0]


def test_2_small_and_missing_groups_are_greyed_and_listed_as_left_out(results):
    table = tables(section(results, "groups"))["match: rate by tone"]
    assert table.muted == {2, 3}
    assert table.caption == "Left out of comparisons (2): few, (missing)."
    assert table.rows[1][:4] == ("dark", 180, 90, Interval(0.725, 0.66, 0.78))


def test_2_the_share_of_unknown_answers_stands_in_the_table_where_it_is_measured(results):
    unknown = tuple(replace(e, output="unknown_rate", value=0.25) for e in results.of("match", "rate") if e.group.terms)
    table = tables(section(replace(results, estimates=(*results.estimates, *unknown)), "groups"))
    assert "unknown share" in table["match: rate by tone"].columns


def test_2_pooled_values_stand_beside_raw_ones_where_they_were_asked_for(results):
    pooled = replace(results.summaries[0], shrunken={results.estimates[1].group: 0.88})
    table = tables(section(replace(results, summaries=(pooled,)), "groups"))["match: rate by tone"]
    place = table.columns.index("pooled")
    assert [row[place] for row in table.rows] == [0.88, None, None, None]


def test_3_the_gap_is_never_without_what_an_even_model_would_show(results):
    told = texts(section(results, "summary"))
    assert "worst for dark, best for light, a gap of 0.175" in told
    assert "A model without any difference would show a gap of about 0.030 here (p = 0.0005)." in told
    facts = tables(section(results, "summary"))["At a glance"]
    assert facts.form == "facts"
    assert ("worst tone: dark", Interval(0.725, 0.66, 0.78), "180 rows") in facts.rows
    assert "equal weight mean" in tables(section(results, "gaps"))["Other numbers of spread"].columns


def test_4_pairs_come_with_verdicts_families_and_those_that_were_not_significant(results):
    undecided = replace(results.contrasts[0], verdict=Verdict.UNDECIDED, adjusted=0.4, worse=None)
    table = tables(section(replace(results, contrasts=(*results.contrasts, undecided)), "pairs"))["Pairs of groups"]
    assert [row[4] for row in table.rows] == ["large", "undecided"]
    assert table.rows[1][5] == "0.110"  # what would have been detectable
    assert "2 pairs tested: 1 large, 0 different, 0 equivalent, 1 undecided" in table.caption
    assert "match.rate, single attributes (1 pairs, holm)" in table.caption


def test_4_of_a_family_too_large_to_list_both_numbers_are_said(results):
    one = replace(results.contrasts[0], family_size=158_344)
    caption = tables(section(replace(results, contrasts=(one,)), "pairs"))["Pairs of groups"].caption
    assert "158,344 pairs tested, 1 with the smallest p-values listed: 1 large" in caption


def test_4_cliffs_delta_stands_beside_its_pair_with_limits_where_it_has_some(results):
    effects = {"cliffs_delta": -0.2, "cliffs_delta_low": -0.3, "cliffs_delta_high": -0.1}
    pairs = tuple(replace(results.contrasts[0], effects=found) for found in (effects, {"cliffs_delta": 0.1}))
    table = tables(section(replace(results, contrasts=pairs), "pairs"))["Pairs of groups"]
    at = table.columns.index("Cliff's δ")
    assert {row[at] for row in table.rows} == {Interval(-0.2, -0.3, -0.1), Interval(0.1, None, None)}


def test_4_of_very_many_pairs_the_fifty_most_telling_are_shown(results):
    many = tuple(replace(results.contrasts[0], difference=at / 100) for at in range(60))
    table = tables(section(replace(results, contrasts=many), "pairs"))["Pairs of groups"]
    assert len(table.rows) == 50
    assert "all are in the JSON" in table.caption


def test_5_a_group_under_fifty_rows_says_what_it_could_show(results):
    table = tables(section(results, "groups"))["match: rate by tone"]
    assert "could show a difference of 0.43 or more" in table.rows[2][-1]


def test_6_figures_are_points_with_intervals_in_declared_order_with_n(results):
    figure = next(block for block in section(results, "groups").blocks if isinstance(block, Figure))
    assert isinstance(figure.chart, Forest)
    assert [row[0] for row in figure.data.rows] == ["light", "dark", "few", "(missing)"]
    assert figure.data.columns[figure.chart.count] == "rows"


@dataclass(frozen=True)
class File:
    role: str
    name: str
    sha256: str


def test_7_the_method_says_what_somebody_else_needs(results):
    found = standard(results, inputs=[File("data", "labels.csv", "ab" * 32)])[-1]
    facts = dict(tables(found)["How it was computed"].rows)
    assert facts["bootstrap draws"] == 2000
    assert facts["permutations"] == 2000
    assert facts["margin"] == 0.05
    assert facts["correction"] == "holm"
    assert facts["smallest group"] == "20 rows, 10 units"
    assert facts["interval methods"] == "cluster_wilson"
    assert facts["seed"] == "made/up (PCG64)"
    assert facts["evenhand"] == "0.1.0"
    assert tables(found)["Files it rests on"].rows == (("data", "labels.csv", "ab" * 32),)
    assert ("match", "rate", "higher", "Share of faces that were matched.") in tables(found)["Metrics"].rows


def test_9_the_cautions_are_there(results):
    told = texts(section(results, "method"))
    assert "No evidence of a difference is not evidence of none." in told
    assert "they are not identities" in told
    assert "this data set, this threshold and this margin" in told
    assert "something to mind" in told


def test_the_summary_says_what_was_asked_how_well_and_for_whom_worse(results):
    found = Reported(results, question="Match the faces.").sections[0]
    told = texts(found)
    assert "a reaches 0.812 [0.780, 0.840] match (higher is better) on 400 rows of 200 units." in told
    assert "It is uneven: beyond the margin of 0.05 and beyond chance, it does worse for dark." in told
    assert "Match the faces." in told
    assert "400 of 410 samples were answered (5 not answered, 3 unusable, 2 empty)." in told


def contrast(verdict: Verdict, worse=None) -> Contrast:
    group = EVERYONE
    return Contrast("m", "o", group, group, 0.1, 0.0, 0.2, 0.1, 0.1, verdict, worse, margin=0.05)


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([], "No two groups were large enough"),
        ([contrast(Verdict.EQUIVALENT)], "The groups are even: both groups are alike"),
        ([contrast(Verdict.UNDECIDED)], "the data cannot tell"),
        ([contrast(Verdict.DIFFERENT, EVERYONE)], "differs beyond chance"),
    ],
)
def test_evenness_is_said_in_one_sentence_and_undecided_is_not_even(pairs, said):
    assert said in how_even(pairs)


def test_results_without_any_value_say_so(results):
    nothing = replace(results, estimates=(), contrasts=(), summaries=(), headline=None)
    assert "No metric has a value" in texts(section(nothing, "summary"))


def test_an_undefined_headline_says_why(results):
    whole = replace(results.estimates[0], value=Undefined("no faces"), low=None, high=None)
    assert "undefined: no faces" in texts(section(replace(results, estimates=(whole,)), "summary"))


def test_an_empty_group_is_shown_as_empty(results):
    empty = replace(results.estimates[1], value=Undefined("no rows"), rows=0, units=0, status=Status.EMPTY)
    changed = replace(results, estimates=(results.estimates[0], empty, *results.estimates[2:]))
    table = tables(section(changed, "groups"))["match: rate by tone"]
    assert table.rows[0][-1] == "no rows"
    assert 0 in table.muted


def test_a_family_section_of_the_same_name_is_joined_without_its_figures(results):
    spec = {"data": {"values": []}, "mark": "line"}
    own = Section(
        "Curves", [Figure("f", spec, Table("f", ("x",), ())), Table("points", ("x",), ((1,),))], name="curves"
    )
    extra = Section("Extra", [Text("more")], name="extra")
    found = with_added(standard(results), [own, extra])
    names = [one.name for one in found]
    assert names.count("curves") == 1
    assert names.index("extra") < names.index("values")
    joined = next(one for one in found if one.name == "curves")
    assert joined.blocks[-1].title == "points"
    assert "f" not in [block.title for block in joined.blocks]


def test_curves_of_everyone_and_of_groups_are_one_figure_per_attribute(results):
    figures = section(results, "curves").blocks
    assert [figure.title for figure in figures] == ["match: ROC curve by tone"]
    assert list(dict.fromkeys(row[0] for row in figures[0].data.rows)) == ["everyone", "light", "dark"]
    assert figures[0].chart.log_x


def test_a_matrix_shows_shares_of_rows_and_counts(results):
    figure = section(results, "confusion").blocks[0]
    assert figure.data.rows[0] == ("yes", "yes", 0.8, 8)
