"""A comparison is new minus baseline in every place: JSON, terminal, page and server."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import httpx
from saying import Command

from evenhand.serve import AccessPolicy, ServeSettings, make_app
from evenhand.serve.listing import key_of


def test_the_four_places_have_the_same_sign(
    evenhand: Command, first: Path, second: Path, runs: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    terminal = evenhand("compare", first, second, "--draws", 50, "--page", page).out
    contrasts = json.loads(evenhand("compare", first, second, "--draws", 50, "--json").out)[0]["contrasts"]
    overall = next(c for c in contrasts if c["output"] == "accuracy" and c["group"] == [])
    assert overall["value_second"] < overall["value_first"]  # the new model is worse
    assert overall["low"] < overall["difference"] < overall["high"] < 0
    printed = f"−{-100 * overall['difference']:.1f} points"
    assert printed.removesuffix(" points") in terminal  # a terminal of 80 columns has the unit in the heading
    assert "new − baseline, points" in terminal
    assert printed in page.read_text(encoding="utf-8")
    assert printed in served(runs, first, second)
    for text in (terminal, page.read_text(encoding="utf-8"), served(runs, first, second)):
        assert "b compared with a: accuracy goes from" in text
        assert "lower" in text
        assert "worse" in text


def served(runs: Path, *folders: Path) -> str:
    """The comparison as `evenhand serve` shows it."""
    app = make_app(ServeSettings(runs.resolve(), draws=50), AccessPolicy.on_loopback(8765))
    query = "&".join(f"run={key_of(folder, runs)}" for folder in folders)

    async def ask() -> str:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as client:
            return (await client.get(f"/compare/found?{query}")).text

    return anyio.run(ask)


def test_a_report_says_in_json_where_it_was_written(evenhand: Command, first: Path, tmp_path: Path) -> None:
    document = json.loads(evenhand("report", first, "-o", tmp_path / "r.html", "--json").out)
    assert document == {"report": str(tmp_path / "r.html"), "format": "html", "problems": [[]]}
