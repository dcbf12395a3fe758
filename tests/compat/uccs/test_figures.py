"""The challenge's figures, as data and as files."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evenhand.compat.uccs.outcomes import Band, CurveReport, curve_figure
from evenhand.compat.uccs.preflight import figure_path
from evenhand.core.errors import OptionError
from evenhand.core.page import Figure
from evenhand.metrics.free_response import FreeResponseCurve, free_response, read_at
from evenhand.reporting import drawing


def curve(seed: int, count: int = 50) -> FreeResponseCurve:
    rng = np.random.default_rng(seed)
    return free_response(rng.random(30), rng.random(count), faces=40, images=10)


def system(seed: int, count: int = 50) -> CurveReport:
    return CurveReport(curve(seed, count), read_at(curve(seed, count)))


EMPTY = CurveReport(free_response(np.ones(3), np.zeros(0), faces=4, images=2))


def froc(**systems: CurveReport) -> Figure:
    return curve_figure(systems, rank=0, faces=40)


def test_limits_run_from_the_smallest_last_to_the_largest_first_value() -> None:
    assert froc(a=system(1), b=system(2, 80)).chart.x_domain == (0.1, 8.0)
    linear = curve_figure({"a": system(1)}, rank=0, faces=40, linear=True)
    assert linear.chart.x_domain[0] == 0.0


def test_numbers_instead_of_rates_reach_to_the_number_of_faces() -> None:
    figure = curve_figure({"a": system(1)}, rank=3, faces=40, numbers=True)
    assert (figure.title, figure.data.columns[2]) == ("Rank 3 O-ROC curve", "TPI")
    assert figure.chart.y_domain == (0.0, 40.0)
    assert all(y == int(y) for _, _, y in figure.chart.points)


def test_a_curve_without_points_is_left_out() -> None:
    assert {row[0] for row in froc(a=system(1), none=EMPTY).data.rows} == {"a"}
    assert not len(EMPTY.heights(numbers=False))


def test_a_line_of_many_points_is_thinned_only_where_nobody_sees_it() -> None:
    rng = np.random.default_rng(0)
    large = free_response(rng.random(5000), rng.random(100_000), faces=6000, images=1000)
    drawn = curve_figure({"a": CurveReport(large)}, rank=0, faces=6000).data.rows
    assert len(drawn) < 5000
    assert drawn[0][1] == large.per_image[0]
    assert drawn[-1][1] == large.per_image[-1]


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("f.pdf", b"%PDF"),
        ("f.svg", b"<svg"),
        ("f.eps", b"%!PS"),
        ("f.png", b"\x89PNG"),
        ("f.JPG", b"\xff\xd8"),
        ("f", b"\x89PNG"),
    ],
)
def test_figures_are_written_in_the_form_of_their_name(tmp_path: Path, name: str, begins: bytes) -> None:
    drawing.write_figure(froc(a=system(1)), figure_path(tmp_path / "deep" / name))
    path = tmp_path / "deep" / (name if "." in name else f"{name}.png")
    assert path.read_bytes().startswith(begins)


def test_other_forms_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"\.pdf, \.svg, \.png"):
        drawing.write_figure(froc(a=system(1)), tmp_path / "figure.gif")


def test_a_figure_for_a_paper_has_a_frame_points_bands_dashes_and_a_legend_below() -> None:
    band = Band(np.array([0.1, 1.0]), np.array([0.2, 0.3]), np.array([0.4, 0.5]))
    systems = {f"system {n}": replace(system(n), band=band) for n in range(9)}
    figure = froc(**systems)
    drawn = drawing.svg(figure, alone=True)
    assert drawn.count("<circle") == len(figure.chart.points)
    assert drawn.count(": interval</title>") == 9
    assert 'class="frame"' in drawn
    assert "stroke-dasharray" in drawn  # of the ninth
    assert ">system 8</text>" in drawn


@pytest.mark.parametrize("outlines", [True, False])
def test_an_eps_closes_every_text_and_state(outlines: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not outlines:
        monkeypatch.setitem(sys.modules, "typst", None)
    figure = curve_figure({"a (b) \\ −": system(1), 'ü "γ"': system(2)}, rank=1, faces=40)
    text = drawing.picture(drawing.svg(figure, alone=True), "eps").decode("latin-1")
    assert text.count("gsave") == text.count("grestore")
    assert ("findfont" in text) is not outlines  # letters as outlines need no font
    assert (r"(a \(b\) \\ -)" in text) is not outlines
    used, drawn = set(re.findall(r"moveto (g[0-9A-F]{32})", text)), set(re.findall(r"^/(g[0-9A-F]{32}) ", text, re.M))
    assert used == drawn
    assert len(used) > 20 * outlines - 1
    assert text.endswith("showpage\n%%EOF\n")
