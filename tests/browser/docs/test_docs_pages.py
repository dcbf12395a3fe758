"""The documentation site in a real browser: search, menu, widths, accessibility."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once."""
    folder: Path = tmp_path_factory.mktemp("docs") / "site"
    subprocess.run([sys.executable, str(ROOT / "docs" / "make.py"), str(folder)], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[str]:
    """The address of the site; the accessibility scan reads style sheets, which it can't from files."""
    handler = partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    """Says nothing about requests."""

    def log_message(self, *words: Any) -> None:
        """Nobody listens."""


def test_the_search_finds_a_task_and_leads_to_it(open_page: Any, site: str) -> None:
    page = open_page(f"{site}/index.html", expect="#q")
    page.keyboard.press("/")
    page.keyboard.type("fairface/gender")
    page.wait_for_selector("#hits a")
    page.click("#hits a:has-text('fairface/gender')")
    page.wait_for_selector("h1")
    assert "fairface/gender" in page.inner_text("h1")


def test_the_menu_opens_on_a_phone(open_page: Any, site: str) -> None:
    page = open_page(f"{site}/tutorials/team.html", width=390, expect="#menu")
    assert not page.is_visible("#nav")
    page.click("#menu")
    assert page.is_visible("#nav")
    assert page.get_attribute("#menu", "aria-expanded") == "true"
    page.click("#nav a:has-text('A release that stops')")
    page.wait_for_selector("h1:has-text('A release that stops')")


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (390, True)])
def test_no_serious_accessibility_finding_and_no_sideways_scrolling(
    open_page: Any, serious_findings: Callable[[Any], list[str]], site: str, width: int, dark: bool
) -> None:
    page = open_page(f"{site}/index.html", width=width, dark=dark)
    for name in ("index", "tutorials/researcher", "tasks/fairface-gender", "metrics", "coming-from/fhibe", "serve"):
        page.wait_for_load_state("networkidle")  # leaving a page stops what it still loads
        page.goto(f"{site}/{name}.html")
        page.wait_for_load_state("networkidle")
        assert serious_findings(page) == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
