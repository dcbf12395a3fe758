"""The served pages in a real browser: clicked through, followed live, scanned for accessibility."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MODELS = "#found tbody td[data-label=Model] a"


def models(page: Any) -> list[str]:
    """The models of the list, in order."""
    return [text.strip() for text in page.locator(MODELS).all_inner_texts()]


def shows(page: Any, number: int) -> None:
    """Wait until the list has so many runs."""
    until(page, f"document.querySelectorAll('{MODELS}').length === {number}")


def until(page: Any, condition: str) -> None:
    """Wait until something is true in the page, whose policy forbids the driver's own way of waiting."""
    for _ in range(200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"never true: {condition}")


def test_the_list_is_filtered_and_sorted_without_leaving_the_page(open_page: Any, address: str) -> None:
    page = open_page(address, expect=MODELS)
    page.evaluate("window.mark = 1")
    page.fill("#q", "hasty")
    shows(page, 1)
    assert models(page) == ["hasty"]
    assert "q=hasty" in page.url
    page.fill("#q", "")
    shows(page, 3)
    page.get_by_role("button", name="Value").click()
    page.wait_for_selector("th[aria-sort=descending] button[value=value]")
    assert models(page) == ["careful", "middling", "hasty"]
    page.get_by_role("button", name="Value").click()
    page.wait_for_selector("th[aria-sort=ascending] button[value=value]")
    assert models(page) == ["hasty", "middling", "careful"]
    assert page.evaluate("window.mark") == 1, "the page was not loaded again"


def test_the_list_works_by_keyboard_alone(open_page: Any, address: str) -> None:
    page = open_page(address, expect=MODELS)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.focus("#q")
    page.keyboard.type("careful")
    shows(page, 1)
    page.focus("input.tick[type=checkbox]")
    page.keyboard.press("Space")
    assert "1 run ticked" in page.inner_text("#ticked")
    page.focus(MODELS)
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('careful')")


def test_ticked_runs_are_compared(open_page: Any, address: str) -> None:
    page = open_page(address, expect=MODELS)
    assert page.is_disabled("#compare")
    page.get_by_label("Tick fairface/gender of careful").check()
    page.fill("#q", "hasty")  # the first tick is hidden and stays
    shows(page, 1)
    page.get_by_label("Tick fairface/gender of hasty").check()
    assert page.inner_text("#ticked") == "2 runs ticked."
    page.click("#compare")
    page.wait_for_selector("#sections svg.plot:visible")
    assert "careful" in page.inner_text("#sections")
    page.click("text=Why do they differ?")
    page.wait_for_selector("#sections h2:has-text('What they were made of')")
    page.go_back()
    page.wait_for_selector("#sections svg.plot:visible")
    page.click("text=Open as a page")
    page.wait_for_selector("h1")
    assert "/compare/page" in page.url


def test_a_number_is_followed_down_to_the_picture(open_page: Any, address: str) -> None:
    page = open_page(address, expect=MODELS)
    page.click(f"{MODELS}:has-text('hasty')")
    page.wait_for_selector("table.groups")
    page.click("table.groups a:has-text('Female')")
    page.wait_for_selector("#rows tbody tr")
    assert "worst first" in page.inner_text("#rows")
    until(page, "[...document.querySelectorAll('.thumb img')].some(one => one.naturalWidth === 160)")
    page.click("#rows tbody tr:first-child td.break a")
    page.wait_for_selector(".pictures img")
    until(page, "document.querySelector('.pictures img').naturalWidth === 200")
    page.click("text=Back to the samples")
    page.wait_for_selector(".gallery")


def test_another_value_is_chosen_on_the_run(open_page: Any, address: str) -> None:
    page = open_page(address, expect=MODELS)
    page.click(f"{MODELS}:has-text('hasty')")
    page.wait_for_selector("#value")
    first = page.inner_text(".figure")
    page.select_option("#value", index=1)
    page.wait_for_url("**value=1")
    page.wait_for_selector(".figure")
    assert page.locator("#value option[selected]").get_attribute("value") == "1"
    assert page.inner_text(".figure") != first


def test_the_report_opens_and_draws_under_its_policy(open_page: Any, address: str, complaints: list[str]) -> None:
    page = open_page(address, expect=MODELS)
    page.click(f"{MODELS}:has-text('careful')")
    page.click("text=Open the report")
    page.wait_for_selector("h1")
    page.wait_for_timeout(1500)
    assert not complaints


def test_a_run_is_followed_live_until_it_is_in_the_list(open_page: Any, address: str, place: Path) -> None:
    run = next((place / "runs" / "fairface" / "gender" / "middling").iterdir())
    name = json.loads((run / "run.json").read_text())["fingerprint"]
    folder, aside = run.with_name(f".{name}.partial-0a1b2c3d"), place / "aside"
    shutil.move(run, folder)
    shutil.move(folder / "run.json", aside)
    shutil.move(folder / "results.json", place / "aside-results")
    page = open_page(address, expect="#live:not([hidden]) li")
    shows(page, 2)
    page.click("#live a")
    page.wait_for_selector("#following .lead")
    shutil.move(place / "aside-results", folder / "results.json")
    page.wait_for_selector("#following:has-text('writing')")
    shutil.move(aside, folder / "run.json")
    folder.rename(run)
    page.wait_for_selector("#following:has-text('The run is finished')")
    page.click("text=Open it")
    page.wait_for_selector("h1:has-text('middling')")


def test_the_list_grows_by_itself(open_page: Any, address: str, place: Path) -> None:
    page = open_page(address, expect=MODELS)
    run = next((place / "runs" / "fairface" / "gender" / "hasty").iterdir())
    copy = place / "runs" / "fairface" / "gender" / "again" / run.name
    shutil.copytree(run, copy)
    try:
        shows(page, 4)
    finally:
        shutil.rmtree(copy.parent)
    shows(page, 3)


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_no_serious_accessibility_finding_and_no_sideways_scrolling(
    open_page: Any, serious_findings: Callable[[Any], list[str]], address: str, width: int, dark: bool
) -> None:
    page = open_page(address, width=width, dark=dark, expect=MODELS)
    run, other = (page.locator(MODELS).nth(at).get_attribute("href") for at in (0, 1))
    for verb in ("compare", "diff"):
        page.wait_for_load_state("networkidle")  # leaving a page stops what it still loads
        page.goto(f"{address}{verb}?run={run[5:]}&run={other[5:]}")
        page.wait_for_selector("#sections h2", state="attached")
        assert serious_findings(page) == [], verb
        assert page.evaluate("document.documentElement.scrollWidth") <= width, verb
    for path in ("", run[1:], f"{run[1:]}/group?g=gender%3DFemale", f"{run[1:]}/row/3", f"{run[1:]}/gallery"):
        page.wait_for_load_state("networkidle")
        page.goto(address + path)
        page.wait_for_selector("h1")
        assert serious_findings(page) == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_a_page_that_is_not_there_is_a_page(open_page: Any, address: str, complaints: list[str]) -> None:
    page = open_page(f"{address}run/nothing", expect="h1")
    assert re.search("no run of that key", page.inner_text("main"))
    complaints.clear()  # the browser itself mentions the 404


def test_from_a_confusion_cell_to_its_pictures_and_on_by_keyboard(open_page: Any, address: str) -> None:
    page = open_page(address)
    page.get_by_role("link", name="hasty").first.click()
    page.locator("table.matrix a[title*='Male answered as Female']").first.click()  # the first click: pictures
    pictures = page.locator(".gallery img")
    pictures.first.wait_for()
    assert pictures.count() == 10
    page.wait_for_function("() => [...document.querySelectorAll('.gallery img')].some(i => i.naturalWidth > 50)")
    shared = page.url
    page.locator(".gallery a").first.click()  # the second: one of them
    page.get_by_text("1 of 10").wait_for()
    page.keyboard.press("ArrowRight")
    page.get_by_text("2 of 10").wait_for()
    page.keyboard.press("ArrowLeft")
    page.get_by_text("1 of 10").wait_for()
    again = open_page(shared)  # the address can be shared
    assert again.locator(".gallery img").count() == 10
    again.get_by_label("Order").select_option("recorded")
    again.wait_for_url("**sort=recorded**")
