"""A real Chromium for the tests below this folder.

`open_page` gives pages of an empty profile that may use no network but loopback. Whatever a page says on
its console as an error, throws or fails to load is collected, and fails the test at its end.

Without Chromium the tests are skipped and say so; with `EVENHAND_BROWSER=required` they fail instead.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from demos import quick_options

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
WIDE, PHONE = 1440, 390


class OpenPage(Protocol):
    """Opens a file or an address in a window of its own."""

    def __call__(
        self, where: Path | str, *, width: int = WIDE, height: int = 900, dark: bool = False, expect: str = ""
    ) -> Any: ...


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is marked `browser`."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """Debian's Chromium, driven by Playwright; started once, and ended before tests of other folders."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    reason = "" if executable else "no chromium on PATH: install Debian's chromium"
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        reason = "playwright is not installed: pip install playwright"
    if reason and os.environ.get("EVENHAND_BROWSER") == "required":
        pytest.fail(f"EVENHAND_BROWSER=required, but {reason}")
    if reason:
        pytest.skip(reason)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def demo_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of all demo runs by task, of every family, with few draws.

    Processes that test at the same time share them: each begins at another end of the families, and leaves those that
    another one makes or has made.
    """
    from evenhand import registry

    own, worker = tmp_path_factory.getbasetemp(), os.environ.get("PYTEST_XDIST_WORKER", "")
    folder = (own.parent if worker else own) / "demo"
    folder.mkdir(exist_ok=True)
    families = [family for family in registry.names(registry.BENCHMARKS) if registry.benchmark(family).demo is not None]
    for family in reversed(families) if worker.endswith("1") else families:
        with (folder / f"{family}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / f"{family}.json").exists():
                runs = _evaluated_demos(family, folder)
                (folder / f"{family}.json").write_text(json.dumps(runs), encoding="utf-8")
    listed = [json.loads((folder / f"{family}.json").read_text(encoding="utf-8")) for family in families]
    return {task: Path(run) for runs in listed for task, run in runs.items()}


def _evaluated_demos(family: str, folder: Path) -> dict[str, str]:
    from evenhand import api

    found = {}
    for made in api.demo(family, folder / "data" / family):
        asked: dict[str, Any] = {"data": made.data, "options": quick_options(made, "lps"), "runs": folder / "runs"}
        run = api.evaluate(made.task, made.predictions, model="demo", draws=40, permutations=40, **asked)
        found[made.task] = str(run.folder)
    return found


@pytest.fixture
def complaints() -> list[str]:
    """What the pages of this test complained about; a test that expects a complaint takes it out."""
    return []


@pytest.fixture
def open_page(chromium: Any, complaints: list[str]) -> Iterator[OpenPage]:
    """A function that opens a page; console errors, exceptions and failed requests fail the test."""
    contexts = []

    def opened(where: Path | str, *, width: int = WIDE, height: int = 900, dark: bool = False, expect: str = "") -> Any:
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            accept_downloads=True,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: _heard(message, complaints))
        page.on("pageerror", lambda error: complaints.append(f"exception: {error}"))
        page.on("requestfailed", lambda request: _failed(request, complaints))
        page.goto(where.resolve().as_uri() if isinstance(where, Path) else where)
        if expect:
            page.wait_for_selector(expect, state="attached")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not complaints, "\n".join(complaints)


@pytest.fixture
def serious_findings() -> Callable[[Any], list[str]]:
    """A function that scans a page with axe-core and lists serious and critical findings."""

    def scan(page: Any) -> list[str]:
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(page).response["violations"]
        return [
            f"{one['id']} ({one['impact']}): {one['help']}: "
            + "; ".join(f"{node['html'][:160]} {node['failureSummary'][:200]}" for node in one["nodes"][:4])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]

    return scan


def _failed(request: Any, complaints: list[str]) -> None:
    if "ERR_ABORTED" not in (request.failure or ""):  # the page was left while it still loaded something
        complaints.append(f"not loaded: {request.url[:200]}")


def _heard(message: Any, complaints: list[str]) -> None:
    if message.type == "error":
        complaints.append(f"console: {message.text}")
