"""Figures: every document can be drawn, colours can be told apart, curves keep what a screen shows."""

from __future__ import annotations

import itertools
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.core.errors import OptionError
from evenhand.core.metric import Curve
from evenhand.core.page import Figure, Forest, Interval, Lines, Section, Table
from evenhand.reporting import canvas, drawing
from evenhand.reporting.curves import curve_figure, visible
from evenhand.reporting.groups import output_figures
from evenhand.reporting.sections import standard


def figures(sections) -> list[Figure]:
    found = []
    for section in sections:
        found += [block for block in section.blocks if isinstance(block, Figure)]
        found += figures(section.sections)
    return found


@pytest.mark.parametrize("which", ["results", "hostile"])
def test_every_figure_can_be_drawn_without_a_browser(which, request):
    drawn = figures(standard(request.getfixturevalue(which)))
    assert len(drawn) == 4  # groups, pairs, curves, matrix
    for figure in drawn:
        svg = drawing.svg(figure)
        assert svg.startswith("<svg")
        assert "<img" not in svg
        assert svg == drawing.svg(figure)
        assert ElementTree.fromstring(drawing.svg(figure, alone=True)).tag.endswith("svg")


def test_a_figure_of_more_groups_than_can_be_labelled_has_no_labels(results):
    many = (results.estimates[1],) * 100
    (figure,) = output_figures(replace(results, estimates=many), many[0].metric, many[0].output)
    drawn = drawing.svg(figure)
    assert 'class="label"' not in drawn
    assert float(ElementTree.fromstring(drawn).get("height", "0")) < 520


def test_values_that_are_not_finite_are_left_blank():
    rows = (("a", Interval(None, reason="no")), ("b", Interval(float("inf"))), ("c", Interval(0.5, 0.1, float("nan"))))
    drawn = drawing.svg(Figure("t", Forest(1), Table("t", ("group", "value"), rows)))
    assert drawn.count("<circle") == 1
    assert "nan" not in drawn
    assert "inf" not in drawn


def test_a_forest_plot_says_what_its_points_are_and_marks_the_disadvantaged():
    rows = (("Latino/Hispanic", 184, Interval(0.65, 0.58, 0.71)), ("Indian", 210, Interval(0.87, 0.82, 0.91)))
    table = Table("t", ("group", "n", "accuracy"), rows)
    chart = Forest(2, count=1, reference=0.825, tones=("worse", ""), percent=True, swatches=("#664e41", ""))
    drawn = drawing.svg(Figure("t", chart, table))
    assert "<title>Latino/Hispanic n = 184: 65.0 % [58.0, 71.0]</title>" in drawn
    assert 'class="worse"' in drawn
    assert 'fill="#664e41"' in drawn
    assert "80 %" in drawn


def test_a_line_leaves_out_what_a_logarithmic_axis_has_no_place_for():
    rows = (("a", 0.0, 0.5, None), ("a", 0.01, 0.6, None), ("a", 1.0, 1.0, None))
    table = Table("t", ("line", "false match rate", "true accept rate", "threshold"), rows)
    drawn = drawing.svg(Figure("t", Lines(log_x=True), table))
    path = drawn[drawn.index(' d="M') :]
    assert path[: path.index('"', 5)].count("L") == 1


@pytest.mark.parametrize(("form", "start"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_a_figure_is_written_as_a_file(results, tmp_path, form, start):
    if form != "svg":
        pytest.importorskip("typst")
    figure = figures(standard(results))[0]
    drawing.write_figure(figure, tmp_path / f"figure.{form}")
    assert (tmp_path / f"figure.{form}").read_bytes().startswith(start)


def test_a_figure_of_an_unknown_form_is_refused(results, tmp_path):
    with pytest.raises(OptionError, match="can be written as"):
        drawing.write_figure(figures(standard(results))[0], tmp_path / "figure.bmp")


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


@pytest.mark.parametrize(
    ("colours", "paper"),
    [(canvas.LINE_COLOURS, "#ffffff"), (canvas.DARK_LINE_COLOURS, "#161d22")],
    ids=["light", "dark"],
)
def test_every_line_reaches_three_to_one_against_its_paper(colours, paper):
    for colour in colours:
        light, dark = sorted((luminance(colour), luminance(paper)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3, colour


# How people without red (protan) or green (deutan) receptors see linear RGB (Machado, Oliveira and Fernandes 2009).
BLIND = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


@pytest.mark.parametrize("eyes", BLIND)
@pytest.mark.parametrize("colours", [canvas.LINE_COLOURS, canvas.DARK_LINE_COLOURS], ids=["light", "dark"])
def test_lines_are_told_apart_by_colour_blind_eyes(colours, eyes):
    seen = []
    for colour in colours:
        linear = np.array([(int(colour[at : at + 2], 16) / 255) ** 2.2 for at in (1, 3, 5)])
        seen.append(np.clip(np.array(BLIND[eyes]) @ linear, 0, 1) ** (1 / 2.2))
    nearest = min(float(np.linalg.norm(one - other)) for one, other in itertools.combinations(seen, 2))
    assert nearest > 0.2


def test_a_curve_of_a_million_points_is_thinned_to_what_a_screen_shows():
    x = np.linspace(0, 1, 1_000_000)
    curve = Curve(x, np.sqrt(x), "false match rate", "true accept rate", log_x=True)
    figure = curve_figure({"a": curve}, "m")
    assert figure is not None
    assert len(figure.data.rows) < 4000
    assert "1,000,000 points, thinned" in figure.caption


@given(st.integers(1300, 5000), st.integers(0, 10), st.booleans())
def test_thinning_keeps_the_ends_the_extremes_and_the_order(size, seed, log):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.random(size))
    y = rng.random(size)
    kept = visible(Curve(x, y, "x", "y", log_x=log))
    assert kept[0] == 0
    assert kept[-1] == size - 1
    assert (np.diff(kept) > 0).all()
    assert y[kept].min() == y.min()
    assert y[kept].max() == y.max()


def test_every_pixel_column_keeps_its_lowest_and_highest_point():
    x = np.linspace(0, 1, 10_000)
    y = np.sin(200 * x)
    columns = 100
    kept = visible(Curve(x, y, "x", "y"), columns)
    column = (x * columns).astype(int)
    for at in range(columns):
        inside, shown = column == at, column[kept] == at
        assert y[kept][shown].max() == y[inside].max()
        assert y[kept][shown].min() == y[inside].min()


def test_a_curve_with_one_point_or_none_is_not_drawn():
    assert curve_figure({"a": Curve(np.array([0.1]), np.array([0.5]), "x", "y")}, "m") is None
    assert curve_figure({}, "m") is None


def test_a_section_without_figures_has_none():
    assert figures([Section("s")]) == []


def test_brackets_that_share_rows_lie_side_by_side_with_their_marks():
    rows = tuple((name, Interval(0.5, 0.4, 0.6)) for name in "abc")
    chart = Forest(1, brackets=((0, 1, "*"), (1, 2, "***"), (2, 0, "**")))
    drawn = drawing.svg(Figure("t", chart, Table("t", ("group", "value"), rows)))
    assert drawn.count('class="bracket"') == 3
    assert ">***</text>" in drawn


def test_an_interval_that_goes_on_beyond_the_axis_has_an_arrow():
    rows = (("a", Interval(0.5, 0.4, 0.6)), ("b", Interval(0.5, 0.1, 0.6)))
    figure = Figure("t", Forest(1, domain=(0.3, 0.7)), Table("t", ("group", "value"), rows))
    assert drawing.svg(figure).count("the interval goes on beyond the axis") == 1
    assert "beyond" not in drawing.svg(replace(figure, chart=Forest(1)))
