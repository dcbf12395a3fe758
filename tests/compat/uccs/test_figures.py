"""The challenge's figures, as data and as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenhand.compat.uccs.figures import draw, froc_figure, oroc_figure, page_figure, vega
from evenhand.core.errors import OptionError
from evenhand.metrics.free_response import free_response


def curve(seed: int, count: int = 50):
    rng = np.random.default_rng(seed)
    return free_response(rng.random(30), rng.random(count), faces=40, images=10)


EMPTY = free_response(np.ones(3), np.zeros(0), faces=4, images=2)


def test_limits_run_from_the_smallest_last_to_the_largest_first_value() -> None:
    figure = froc_figure({"a": curve(1), "b": curve(2, 80)}, faces=40)
    assert figure.x_limits == (0.1, 8.0)
    assert figure.legend_location == "upper left"
    assert froc_figure({"a": curve(1)}, faces=40, linear=True).x_limits[0] == 0.0


def test_numbers_instead_of_rates_reach_to_the_number_of_faces() -> None:
    figure = oroc_figure({"a": curve(1)}, rank=3, known=40, numbers=True)
    assert (figure.title, figure.y_label, figure.y_limits) == ("Rank 3 O-ROC curve", "TPI", (0.0, 40.0))


def test_a_curve_without_points_is_left_out_and_said() -> None:
    figure = froc_figure({"a": curve(1), "none": EMPTY}, faces=40)
    assert [line.label for line in figure.lines] == ["a"]
    assert figure.left_out == ("none",)


def test_a_line_of_many_points_is_thinned_only_where_nobody_sees_it() -> None:
    rng = np.random.default_rng(0)
    large = free_response(rng.random(5000), rng.random(100_000), faces=6000, images=1000)
    figure = froc_figure({"a": large}, faces=6000)
    drawn = vega(figure)["data"]["values"]
    assert len(figure.lines[0].x) == 100_000
    assert len(drawn) < 3000
    assert drawn[0]["x"] == large.per_image[0]
    assert drawn[-1]["x"] == large.per_image[-1]


@pytest.mark.parametrize("suffix", [".pdf", ".svg", ".png"])
def test_figures_are_written_in_the_form_of_their_name(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "deep" / f"figure{suffix}"
    draw(froc_figure({"a": curve(1)}, faces=40), path)
    assert path.read_bytes()[:4] in (b"%PDF", b"<svg", b"\x89PNG")


def test_other_forms_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"\.pdf, \.svg, \.png"):
        draw(froc_figure({"a": curve(1)}, faces=40), tmp_path / "figure.gif")


def test_a_figure_for_a_report_comes_with_a_table() -> None:
    figure = page_figure(froc_figure({"a": curve(1)}, faces=40), "froc")
    assert figure.chart.log_x
    assert len(figure.data.rows) == 50
