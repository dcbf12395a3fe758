"""Tables for papers: LaTeX that compiles in a plain article, and Markdown in which nothing of the data is markup."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from latex import compile_latex

from evenhand.core.page import Interval, Section, Table
from evenhand.core.records import Group
from evenhand.reporting.forms import paper_tables, write_csv, write_latex
from evenhand.reporting.markup import latex_table, latex_tables, latex_text, markdown_table, markdown_text
from evenhand.reporting.reported import Reported
from evenhand.reporting.rounding import best_cells
from evenhand.store.frames import inert

NASTY = "[30, 40) 50% a_b & {x} #1 $y$ ~^\\ <b> “q” é ÷ 漢 \x07"


def check_syntax(text: str) -> None:
    """Braces are balanced, environments closed, no line of a table begins with a bracket, cells fit the columns."""
    bare = re.sub(r"\\[{}%&$#_]", "", text)
    assert bare.count("{") == bare.count("}")
    assert re.findall(r"\\begin\{(\w+)\}", bare).sort() == re.findall(r"\\end\{(\w+)\}", bare).sort()
    assert not re.search(r"\\\\\s*\[", bare)
    for columns, body in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", bare, re.DOTALL):
        for line in body.split(r"\\")[:-1]:
            assert line.count("&") == len(columns) - 1


@pytest.fixture
def two_models(results):
    """Two models, one with names that LaTeX would interpret."""
    group = Group((("age_[x]", NASTY),))
    renamed = tuple(replace(e, group=group) if str(e.group) == "tone=dark" else e for e in results.estimates)
    other = replace(results, model=NASTY, estimates=renamed, summaries=(), contrasts=())
    table = Table(
        "Rates", ("TAR at FAR 1e-4", "Rank 1"), ((Interval(0.9, unit="%"), 0.5),), form="paper", better=("higher", "")
    )
    return [Reported(results, (Section("s", [table]),)), Reported(other, (Section("s", [table]),))]


@pytest.mark.parametrize("packages", [(), ("booktabs",)], ids=["plain", "booktabs"])
def test_tables_of_nasty_names_compile(two_models, tmp_path, packages):
    write_latex(two_models, tmp_path / "tables.tex")
    check_syntax((tmp_path / "tables.tex").read_text(encoding="utf-8"))
    compile_latex(tmp_path / "tables.tex", tmp_path, *packages)


def test_the_tables_are_overall_with_gap_metrics_groups_and_what_the_family_adds(two_models):
    tables = paper_tables(two_models)
    assert [table.columns[0] for table in tables] == ["Model", "Model", "Group", "Model"]
    fairness = tables[0]
    assert fairness.columns[1:] == ("All groups", "Worst group", "Which", "Gap", "By chance")
    assert fairness.rows[0][3] == "tone dark"
    assert [row[0] for row in tables[-1].rows] == ["a", NASTY]  # the family's rows of both models in one table


def test_the_best_of_a_column_or_of_a_row_is_bold():
    rows = (("a", 0.5, Interval(0.1)), ("b", 0.7, Interval(0.2)))
    table = Table("t", ("model", "x", "y"), rows, form="paper", better=("", "higher", "lower"))
    assert r"a & 0.500 & \textbf{0.100}" in latex_table(table)
    assert r"b & \textbf{0.700} & 0.200" in latex_table(table)
    by_row = replace(table, columns=("group", "m1", "m2"), form="paper by row", better=("", "higher", "higher"))
    assert r"a & \textbf{0.500} & 0.100" in latex_table(by_row)
    assert "| a | **0.500** | 0.100 |" in markdown_table(by_row)


def test_a_table_has_a_caption_and_a_label():
    text = latex_table(Table("Accuracy by group", ("a",), (("x",),)))
    assert r"\caption{Accuracy by group.}" in text
    assert r"\label{tab:accuracy-by-group}" in text


def test_text_is_shown_as_it_is():
    assert latex_text("100 % & [1, 2)") == r"100 \% \& {[}1, 2)"
    assert "<" not in markdown_text("![a](javascript:x) <script>")
    assert markdown_text("[a](http://x)") == r"\[a\](http\://x)"


def test_cells_that_a_spreadsheet_would_run_are_quoted(results, tmp_path):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"t": ["=1+1", "@x", "-0.5", "-a", "plain", None], "n": [-1, 2, 3, 4, 5, 6]})
    assert inert(frame)["t"].to_list() == ["'=1+1", "'@x", "-0.5", "'-a", "plain", None]
    write_csv([Reported(replace(results, model='=HYPERLINK("x")'))], tmp_path / "r.csv")
    for path in tmp_path.glob("*.csv"):
        assert "\n=HYPER" not in path.read_text()
        assert ',"=HYPER' not in path.read_text()


@pytest.mark.slow
def test_the_tables_of_all_demos_compile(tmp_path):
    from evenhand import api, registry

    runs = []
    for family in registry.names(registry.BENCHMARKS):
        if registry.benchmark(family).demo is None:
            continue
        for made in api.demo(family, tmp_path / "data" / family):
            chosen = {"data": made.data, "options": made.options, "runs": tmp_path / "runs"}
            runs.append(api.evaluate(made.task, made.predictions, model="demo", draws=40, permutations=40, **chosen))
    api.report(*runs, path=tmp_path / "all.tex", form="latex")
    check_syntax((tmp_path / "all.tex").read_text(encoding="utf-8"))
    compile_latex(tmp_path / "all.tex", tmp_path)


def test_models_in_two_tables_are_compared_over_both(results, tmp_path):
    rates = (0.2, 0.3, 0.1, 0.25, 0.9)
    models = []
    for number, rate in enumerate(rates):
        estimates = tuple(
            replace(e, value=rate, low=None, high=None) if e.number is not None and e.group.terms else e
            for e in results.estimates
        )
        models.append(Reported(replace(results, model=f"m{number}", estimates=estimates)))
    first, second = [table for table in paper_tables(models) if table.columns[0] == "Group"]
    assert (first.columns[2:], second.columns[2:]) == (("m0", "m1", "m2", "m3"), ("m4",))
    assert best_cells(first) == set()
    assert best_cells(second) == {(line, 2) for line in range(len(second.rows))}
    assert r"\textbf{" in latex_table(second)


def test_tables_with_one_title_have_labels_of_their_own():
    long = "TPIR at FPIR 0.01, rank 1 by group on IJB: search of mixed media (test 4)"
    titles = [f"{long} (1)", f"{long} (2)", "a b", "a-b"]
    text = latex_tables([Table(title, ("a",), (("x",),)) for title in titles])
    labels = re.findall(r"\\label\{(.*?)\}", text)
    assert len(set(labels)) == len(titles)


def test_names_that_latex_can_not_set_are_told_in_a_comment():
    text = latex_tables([Table("t", ("model",), (("模型 a\n",), ("why?",), ("Größe",)))])
    (comment,) = [line for line in text.splitlines() if line.startswith("% Letters")]
    assert "模型 a  as ?? a" in comment
    assert "why" not in comment
    assert "Gr" not in comment


def test_values_that_differ_by_rounding_alone_are_equally_good_and_no_gap_is_zero():
    noise = 0.1 + 0.2 - 0.3
    rows = (("a", Interval(noise, unit="points")), ("b", Interval(0.0, unit="points")), ("c", Interval(0.1)))
    table = Table("t", ("model", "gap"), rows, form="paper", better=("", "lower"))
    assert best_cells(table) == {(0, 1), (1, 1)}
    assert best_cells(replace(table, rows=rows[:2])) == set()
    assert "0.0 points" in latex_table(table)
    assert "e-1" not in latex_table(table)
