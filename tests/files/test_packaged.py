"""The texts of families are data that is checked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evenhand.files.packaged import FamilyTexts

TEXTS = """
[names]
family = "Example"
values = [["hits: rate", "Hit rate"]]
[shared]
licence = "Ask first."
[every]
licence = "{licence}"
[tasks.first]
title = "The first"
aliases = ["one"]
summary = "Find it."
conventions = ["{licence}", "Or not."]
[tasks.second]
like = "first"
aliases = []
summary = "Find another."
"""


@pytest.fixture
def family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def write(text: str) -> FamilyTexts:
        (tmp_path / "example").mkdir()
        (tmp_path / "example" / "__init__.py").touch()
        (tmp_path / "example" / "texts.toml").write_text(text, encoding="utf-8")
        return FamilyTexts("example")

    monkeypatch.syspath_prepend(tmp_path)
    yield write
    sys.modules.pop("example", None)


def test_texts_are_filled_in_and_a_task_may_say_what_another_says(family):
    texts = family(TEXTS)
    first, second = texts.task("first"), texts.task("second")
    assert (first["name"], first["aliases"], first["summary"]) == ("example/first", ("example/one",), "Find it.")
    assert first["about"].conventions == second["about"].conventions == ("Ask first.", "Or not.")
    assert second["about"].licence == "Ask first."
    assert (second["aliases"], second["summary"]) == ((), "Find another.")


def test_names_have_titles_and_shared_patterns(family):
    names = family(TEXTS).names(("rates: all", "All rates"))
    assert names.tasks == {"example/first": "The first"}
    assert [names.value(*pair) for pair in (("hits", "rate"), ("rates", "all"))] == ["Hit rate", "All rates"]


def test_a_key_that_nothing_reads_and_a_text_that_is_not_there_are_errors(family):
    texts = family(TEXTS.replace("conventions =", "convention =") + '[tasks.third]\nsummary = "{licenec}"\n')
    with pytest.raises(TypeError, match="convention"):
        texts.task("first")
    with pytest.raises(KeyError, match="licenec"):
        texts.task("third")
