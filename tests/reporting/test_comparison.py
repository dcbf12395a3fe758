"""Two models as a page: what improved, for whom it got worse; two runs as a page: why they differ."""

from __future__ import annotations

from dataclasses import replace

from evenhand.core.page import Figure, Table
from evenhand.core.records import EVERYONE, Group
from evenhand.core.results import Method, Status, Verdict
from evenhand.reporting.comparison import comparison_page, comparison_sections, difference_page, difference_sections
from evenhand.reporting.html import page_html
from evenhand.reporting.rounding import cell
from evenhand.stats.comparison import Comparison, GapContrast, ModelContrast
from evenhand.store.differences import Change, Difference, RowChange, RowChanges

LIGHT, DARK = Group.of(tone="light"), Group.of(tone="dark")


def contrast(group: Group, difference: float, verdict: Verdict, better: str | None) -> ModelContrast:
    """Second minus first: the new model minus the baseline."""
    return ModelContrast(
        "match", "rate", group, 0.8, 0.8 + difference, difference, difference - 0.02, difference + 0.02, 0.001, 0.002,
        verdict, better, "sign_flip", "t", 200, 100, Status.OK, "match.rate, everyone", 3,
    )  # fmt: skip


def compared(first: str = "a", second: str = "b") -> Comparison:
    contrasts = (
        contrast(EVERYONE, 0.05, Verdict.DIFFERENT, second),
        contrast(LIGHT, 0.1, Verdict.LARGE, second),
        contrast(DARK, -0.06, Verdict.DIFFERENT, first),
    )
    gaps = (GapContrast("match", "rate", ("tone",), 0.1, 0.2, 0.1, 0.05, 0.15, 0.01, None, None),)
    return Comparison(first, second, contrasts, gaps, 200, 3, 4, Method(draws=100))


def test_the_page_says_what_improved_and_for_whom_it_got_worse(results):
    page = comparison_page([compared()], [results, replace(results, model="b")])
    text = page_html(page).replace("\N{NO-BREAK SPACE}", " ")
    assert "b compared with a: match goes from 80 % to 85 %, 5 points higher (better; chance does not" in text
    assert "Worse for dark. Better for light." in text
    assert "7 units are in one run only" in text
    assert "ROC curve all systems" in text
    assert "Gap between best and worst group" in text


def test_the_figure_is_new_minus_baseline_with_what_got_worse_first(results):
    page = comparison_page([compared()], [results, replace(results, model="b")])
    figures = [block for part in page.articles[0].sections for block in part.blocks if isinstance(block, Figure)]
    rows = figures[0].data.rows
    assert [row[0] for row in rows] == ["all groups", "tone dark", "tone light"]
    assert [row[4].value for row in rows] == [0.05, -0.06, 0.1]
    assert [row[-1] for row in rows] == ["better", "worse", "clearly better"]
    assert list(figures[0].chart.tones) == ["better", "worse", "better"]


def test_a_terminal_gets_the_finding_and_one_table_unless_it_asks_for_all(results):
    sections = comparison_sections(compared(), results)
    assert [len(section.blocks) for section in sections] == [2, 1]
    assert [row[4].value for row in sections[1].blocks[0].rows] == [0.05, -0.06, 0.1]
    assert [section.title for section in comparison_sections(compared(), results, everything=True)][
        -1
    ] == "Did the gaps change?"


def test_three_systems_are_each_compared_with_the_first(results):
    systems = [replace(results, model=name) for name in ("a", "b", "c")]
    page = comparison_page([compared("a", "b"), compared("a", "c")], systems)
    assert [article.title for article in page.articles] == ["b compared with a", "c compared with a", "All models"]


def test_hostile_names_of_models_stay_text(results, hostile, hostile_name):
    page = comparison_page([compared(hostile_name, "b")], [hostile, results])
    assert "<img" not in page_html(page).split("<script")[0]


def test_why_two_runs_differ_is_a_page_with_causes_values_and_rows(hostile_name):
    rows = RowChanges(10, 1, worst=(RowChange(hostile_name, None, 0.5, (Change("iou", 0.9, 0.4),)),))
    found = Difference(
        "runs/1", "runs/2", inputs=(Change("data labels.csv", "a" * 64, "b" * 64),),
        options=(Change("split", "val", "test"),), values=(Change("match.rate everyone", 0.9, 0.8),), rows=rows,
    )  # fmt: skip
    text = page_html(difference_page(found))
    assert text.index("Different inputs") < text.index("Different values") < text.index("Rows that changed")
    assert "<img" not in text
    assert "Why two runs differ" in text


def test_two_runs_that_are_the_same_say_so():
    text = page_html(difference_page(Difference("1", "1", rows=RowChanges(same=5))))
    assert "Two runs that are the same" in text


def test_a_small_change_has_the_decimals_that_show_it():
    found = Difference("1", "2", values=(Change("TAR", 0.96281, 0.96285, 7), Change("rank 1", 0.5, 0.25, 7)))
    (table,) = [block for section in difference_sections(found) for block in section.blocks if isinstance(block, Table)]
    assert [[cell(value) for value in row[1:4]] for row in table.rows] == [
        ["0.962810", "0.962850", "0.000040"],
        ["0.500", "0.250", "−0.250"],
    ]
