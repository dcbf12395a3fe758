"""Reports in a real browser: every figure drawn, everything that can be clicked clicked, nothing serious to axe."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand import api
from evenhand.core.metric import Curve
from evenhand.core.page import Interval, Section, Table
from evenhand.core.records import EVERYONE
from evenhand.reporting.comparison import comparison_page
from evenhand.reporting.html import Article, Page, page_html, write_page
from evenhand.reporting.reported import Reported, report_page
from evenhand.reporting.rounding import cell

TASKS = ("fairface/race", "fhibe/keypoint_estimation", "ijb/test4", "synthesis/self_imitation", "uccs/detection")
READY = "document.querySelectorAll('figure[data-figure]').length"
DRAWN = "[...document.querySelectorAll('.drawing')].filter(d => d.querySelector('svg.plot')?.childElementCount).length"


def draw_all(page: Any) -> int:
    """Draw every figure and long table, and say how many figures there are."""
    page.wait_for_function("() => window.evenhand !== undefined")
    return int(page.evaluate("window.evenhand.drawAll()"))


@pytest.fixture(scope="module")
def reports(demo_runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The report of one task of each family."""
    folder = tmp_path_factory.mktemp("reports")
    found = {task: api.report(demo_runs[task], path=folder / f"{task.replace('/', '-')}.html") for task in TASKS}
    found["all"] = api.report(*demo_runs.values(), path=folder / "all.html")
    return found


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (390, True)], ids=["wide-light", "phone-dark"])
@pytest.mark.parametrize("task", TASKS)
def test_every_figure_is_drawn_the_page_fits_its_width_and_axe_finds_nothing_serious(
    open_page, reports, serious_findings, task, width, dark
):
    page = open_page(reports[task], width=width, dark=dark)
    assert draw_all(page) == page.evaluate(READY) == page.evaluate(DRAWN) > 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert serious_findings(page) == []


def test_a_wide_dark_page_has_nothing_serious_for_axe(open_page, reports, serious_findings):
    page = open_page(reports["uccs/detection"], dark=True)
    draw_all(page)
    assert serious_findings(page) == []


def test_the_report_of_several_runs_unfolds_what_a_link_leads_to(open_page, reports):
    page = open_page(reports["all"])
    assert page.locator("details.rest[open]").count() == 0
    page.evaluate("window.location.hash = 'part3-gaps'")
    page.wait_for_selector("#part3 details.rest[open]", state="attached")
    page.wait_for_selector("#part3 .drawing svg", state="attached")


def point_at(page: Any, element: Any) -> None:
    """Scroll to an element first: scrolling puts away what pointing shows."""
    element.scroll_into_view_if_needed()
    page.wait_for_timeout(150)
    box = element.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 1, y)
    page.mouse.move(x, y)


def curve_figure(page: Any) -> Any:
    draw_all(page)
    return page.locator("figure:has(.drawing[data-lines])").first


def lines_drawn(figure: Any) -> int:
    return int(
        figure.locator("svg.plot path[data-line]").evaluate_all(
            "paths => paths.filter(p => p.getAttribute('d')).length"
        )
    )


def test_lines_can_be_switched_off_and_on(open_page, reports):
    page = open_page(reports["uccs/detection"])
    figure = curve_figure(page)
    boxes = figure.locator(".lines input")
    assert lines_drawn(figure) == boxes.count() == 4
    boxes.nth(1).uncheck()
    page.wait_for_function(
        "e => [...e.querySelectorAll('svg.plot path[data-line]')].length === 3", arg=figure.element_handle()
    )
    boxes.nth(1).check()
    page.wait_for_function(
        "e => [...e.querySelectorAll('svg.plot path[data-line]')].length === 4", arg=figure.element_handle()
    )
    figure.get_by_role("button", name="Only the first").click()
    page.wait_for_function(
        "e => [...e.querySelectorAll('svg.plot path[data-line]')].length === 1", arg=figure.element_handle()
    )


def test_a_curve_is_zoomed_moved_and_reset_by_buttons_keys_and_wheel(open_page, reports):
    page = open_page(reports["uccs/detection"])
    figure = curve_figure(page)
    shape = "e => e.querySelector('svg.plot path[data-line]').getAttribute('d')"
    first = figure.evaluate(shape)
    reset = figure.get_by_role("button", name="Show the whole figure again")
    assert reset.is_disabled()
    figure.get_by_role("button", name="Zoom in").click()
    page.wait_for_function(f"([e, d]) => ({shape})(e) !== d", arg=[figure.element_handle(), first])
    reset.click()
    page.wait_for_function(f"([e, d]) => ({shape})(e) === d", arg=[figure.element_handle(), first])
    figure.locator(".drawing").focus()
    page.keyboard.press("+")
    page.wait_for_function(f"([e, d]) => ({shape})(e) !== d", arg=[figure.element_handle(), first])
    zoomed = figure.evaluate(shape)
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"([e, d]) => ({shape})(e) !== d", arg=[figure.element_handle(), zoomed])
    page.keyboard.press("0")
    page.wait_for_function(f"([e, d]) => ({shape})(e) === d", arg=[figure.element_handle(), first])
    figure.locator(".drawing svg.plot").hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    page.wait_for_function(f"([e, d]) => ({shape})(e) !== d", arg=[figure.element_handle(), first])


def test_axes_become_logarithmic_and_linear(open_page, reports):
    page = open_page(reports["uccs/detection"])
    figure = curve_figure(page)
    button = figure.get_by_role("button", name="Logarithmic horizontal axis")
    assert button.get_attribute("aria-pressed") == "true"
    first = figure.locator("svg.plot path[data-line]").first.get_attribute("d")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    page.wait_for_function(
        "([e, d]) => e.querySelector('svg.plot path[data-line]')?.getAttribute('d') !== d",
        arg=[figure.element_handle(), first],
    )


def test_pointing_at_a_curve_reads_every_line(open_page, reports):
    page = open_page(reports["uccs/detection"])
    figure = curve_figure(page)
    point_at(page, figure.locator(".drawing svg.plot"))
    readout = page.locator("#readout")
    readout.wait_for(state="visible")
    assert "false detections per image" in readout.inner_text()
    assert readout.locator("tr").count() == 4
    page.keyboard.press("Escape")
    readout.wait_for(state="hidden")


def test_pointing_at_a_group_tells_its_value(open_page, reports):
    page = open_page(reports["fairface/race"])
    draw_all(page)
    point_at(page, page.locator("#part0-groups svg.for-wide circle").first)
    page.locator("#readout").wait_for(state="visible")
    assert "[" in page.locator("#readout").inner_text()


@pytest.mark.parametrize(
    "policy",
    [
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
        "sandbox; default-src 'none'; img-src 'self'; style-src 'self';",
        "no script",
    ],
)
@pytest.mark.parametrize("task", TASKS)
def test_every_figure_is_there_without_script_and_under_strict_policies(chromium, reports, task, policy):
    context = chromium.new_context(java_script_enabled=policy != "no script", viewport={"width": 1280, "height": 900})
    page = context.new_page()
    headers = {"content-type": "text/html; charset=utf-8", "content-security-policy": policy}
    body = reports[task].read_text(encoding="utf-8")
    page.route("http://made.invalid/", lambda route: route.fulfill(body=body, headers=headers))
    page.goto("http://made.invalid/")
    figures = page.locator("figure[data-figure]:visible")
    assert figures.count() > 0
    for at in range(figures.count()):
        box = figures.nth(at).locator("svg.plot").first.bounding_box()
        assert box is not None
        assert box["width"] > 200
        assert box["height"] > 40
    context.close()


@pytest.mark.parametrize(("form", "start"), [("SVG", b"<svg"), ("PNG", b"\x89PNG"), ("CSV", b"line,")])
def test_a_figure_is_saved(open_page, reports, form, start):
    page = open_page(reports["uccs/detection"])
    figure = curve_figure(page)
    with page.expect_download() as waiting:
        figure.get_by_role("button", name=f"as {form}").click()
    kept = Path(waiting.value.path()).read_bytes()
    assert kept.startswith(start)
    assert waiting.value.suggested_filename.endswith(form.lower())


def test_a_long_table_is_filtered_sorted_and_shown_in_steps(open_page, reports):
    page = open_page(reports["fhibe/keypoint_estimation"])
    draw_all(page)
    table = page.locator("#part0-values .packed")
    rows = table.locator("tbody tr")
    assert rows.count() == 20
    table.get_by_role("button", name="Show more rows").click()
    assert rows.count() == 70
    table.get_by_role("searchbox").fill("She/her")
    page.wait_for_function(
        "() => document.querySelector('#part0-values .packed [role=status]').textContent.includes('match')"
    )
    assert "She/her" in rows.first.inner_text()
    table.get_by_role("searchbox").fill("")
    table.get_by_role("button", name="n", exact=True).click()
    counts = [int(text.replace(",", "")) for text in table.locator("tbody tr td:nth-child(5)").all_inner_texts()]
    assert counts == sorted(counts, reverse=True)


def test_numbers_drawn_by_the_page_are_rounded_as_everywhere_else(open_page, tmp_path):
    rng = np.random.default_rng(0)
    values = [*(rng.normal(0, 1, 60) * 10.0 ** rng.integers(-6, 5, 60)).tolist(), 0.0, -0.0004, 1e-9]
    values += [999.9996, 1000.5, 1001.5, 0.0625, 0.1875, -0.0625, 2.5]
    rows: list[tuple[Any, ...]] = []
    for at in range(240):
        value = values[at % len(values)]
        width = abs(value) * 10.0 ** -(at % 5) + 1e-9
        interval = Interval(value, value - width, value + width) if at % 3 else Interval(value)
        rows.append((f"row {at}", value, interval if at % 7 else Interval(None, reason="none"), at * 1000))
    table = Table("Long", ("name", "number", "interval", "whole"), tuple(rows))
    path = write_page(Page("t", [Article("t", [Section("s", [table])])]), tmp_path / "page.html")
    page = open_page(path)
    page.evaluate("window.evenhand.drawAll()")
    for _ in range(5):
        page.get_by_role("button", name="Show more rows").click()
    drawn = page.evaluate(
        "[...document.querySelectorAll('tbody tr')].map(r => [...r.children].map(c => c.textContent))"
    )
    assert drawn == [[cell(value) for value in row] for row in rows]


def test_hostile_names_do_not_run(open_page, made, tmp_path):
    hostile = made.made_results(
        made.HOSTILE, task=f"t/{made.HOSTILE}", attribute=made.HOSTILE, levels=(made.HOSTILE, f"2{made.HOSTILE}")
    )
    path = write_page(report_page([Reported(hostile), Reported(replace(hostile, model="b"))]), tmp_path / "page.html")
    page = open_page(path)
    page.on("dialog", lambda dialog: pytest.fail("a script ran"))
    draw_all(page)
    assert page.locator("img").count() == 0
    assert page.evaluate("[...document.querySelectorAll('*')].every(e => !e.hasAttribute('onerror'))")
    point_at(page, page.locator(".drawing[data-lines] svg.plot").first)
    page.locator("#readout").wait_for(state="visible")
    assert page.locator("#readout img").count() == 0


def test_a_page_served_with_a_nonce_draws_under_a_strict_policy(open_page, made, tmp_path, chromium, complaints):
    text = page_html(report_page([Reported(made.made_results())]), nonce="n0nce")
    context = chromium.new_context()
    page = context.new_page()
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    policy = "default-src 'none'; script-src 'nonce-n0nce'; style-src 'nonce-n0nce'; img-src data: blob:"
    headers = {"content-type": "text/html; charset=utf-8", "content-security-policy": policy}
    page.route("http://made.invalid/", lambda route: route.fulfill(body=text, headers=headers))
    page.goto("http://made.invalid/")
    assert draw_all(page) == page.evaluate(DRAWN)
    context.close()
    assert complaints == []


def test_a_comparison_is_drawn_with_all_systems_to_switch(open_page, demo_runs, tmp_path, serious_findings):
    one = api.load(demo_runs["uccs/detection"])
    found = api.compare(one, one, draws=20)
    page = open_page(write_page(comparison_page(found, [one.results, one.results]), tmp_path / "compare.html"))
    assert draw_all(page) == page.evaluate(DRAWN) > 2
    assert page.get_by_text("All systems").count() >= 1
    assert serious_findings(page) == []


def test_a_curve_of_a_hundred_thousand_points_and_thirty_systems_stays_quick_to_use(open_page, made, tmp_path):
    x = np.linspace(1e-6, 1, 100_000)
    runs = []
    for number in range(30):
        results = made.made_results(f"system {number}")
        curve = Curve(x, x ** (0.1 + number / 100), "false match rate", "true accept rate", log_x=True)
        kept = tuple(e for e in results.estimates if e.output != "curve")
        whole = replace(results.get("match", "curve"), group=EVERYONE, value=curve)
        runs.append(Reported(replace(results, estimates=(*kept, whole))))
    path = write_page(report_page(runs), tmp_path / "page.html")
    assert path.stat().st_size < 4_000_000
    page = open_page(path)
    figure = curve_figure(page)
    assert lines_drawn(figure) == 30
    figure.get_by_role("button", name="Only the first").click()
    page.wait_for_function(
        "e => [...e.querySelectorAll('svg.plot path[data-line]')].length === 1", arg=figure.element_handle()
    )


def test_a_printed_page_has_every_figure(open_page, reports):
    page = open_page(reports["synthesis/self_imitation"])
    page.emulate_media(media="print")
    assert page.pdf()[:4] == b"%PDF"
    page.wait_for_function(f"() => {READY} === {DRAWN}")
    assert not page.locator(".contents").is_visible()


@pytest.mark.parametrize("width", [1440, 1280, 390])
def test_a_report_with_everything_folded_is_short_small_and_fits_the_window(open_page, reports, width):
    assert reports["fairface/race"].stat().st_size < 1_500_000
    page = open_page(reports["fairface/race"], width=width)
    page.wait_for_function("() => window.evenhand !== undefined")
    height, wide = page.evaluate("[document.documentElement.scrollHeight, document.documentElement.scrollWidth]")
    assert height < 5000
    assert wide <= width
    lead, chart = page.locator("p.lead").first.bounding_box(), page.locator("svg.plot:visible").first.bounding_box()
    assert lead["y"] + lead["height"] < 900
    assert chart["y"] + chart["height"] < 900  # the sentence and the figure are on the first screen


def test_the_report_of_several_runs_cuts_no_column_at_1280(open_page, reports):
    page = open_page(reports["all"], width=1280)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    cut = "[...document.querySelectorAll('#part0 .wide')].filter(w => w.scrollWidth > w.clientWidth + 1).length"
    assert page.evaluate(cut) == 0
