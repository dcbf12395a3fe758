"""The page: one file, nothing from the data taken for markup or code, the same bytes twice."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np

from evenhand.core.page import Interval, Section, Table, Text
from evenhand.reporting.display import task_title
from evenhand.reporting.html import Article, Page, page_html
from evenhand.reporting.reported import Reported, names_of, report_page


class Markup(HTMLParser):
    """The tags of a page with their attributes, and the text of its scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open = tag if tag in self.raw else ""
        if self.open:
            self.raw[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self.open = ""

    def handle_data(self, data: str) -> None:
        if self.open:
            self.raw[self.open][-1] += data


def page_of(*results) -> str:
    return page_html(report_page([Reported(one) for one in results]))


def data_of(text: str) -> dict:
    found = re.search(r'id="evenhand-data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


def test_hostile_names_make_no_tag_and_end_no_script(hostile, hostile_name):
    text = page_of(hostile)
    markup = Markup(text)
    assert not [tag for tag, _ in markup.tags if tag in ("img", "iframe", "object", "embed", "link", "base", "form")]
    assert not [name for _, attributes in markup.tags for name in attributes if name.startswith("on")]
    assert len(markup.raw["script"]) == 2  # the data, our own
    assert "&lt;/script&gt;&lt;img" in text
    assert hostile_name in "".join(data_of(text)["texts"])


def test_no_style_attribute_stands_in_the_markup(results):
    assert not [tag for tag, attributes in Markup(page_of(results)).tags if "style" in attributes]


def test_the_policy_allows_just_the_scripts_and_the_style_of_the_page(results):
    text = page_of(results)
    markup = Markup(text)
    policy = next(a["content"] or "" for tag, a in markup.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    for script in (*markup.raw["script"][1:], *markup.raw["style"]):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_with_a_nonce_the_policy_is_left_to_the_server(results):
    text = page_html(report_page([Reported(results)]), nonce="abc123")
    markup = Markup(text)
    assert "http-equiv" not in text.split("<style")[0]
    asked = [a.get("nonce") for tag, a in markup.tags if tag in ("script", "style") and a.get("type") is None]
    assert asked == ["abc123"] * 2


def test_the_same_results_give_the_same_bytes(results):
    assert page_of(results) == page_of(results)


def test_nothing_is_loaded_from_anywhere(results):
    for tag, attributes in Markup(page_of(results)).tags:
        assert "src" not in attributes, tag
        assert (attributes.get("href") or "#").startswith("#"), tag


def test_a_table_of_more_than_two_hundred_rows_is_packed_and_not_written_as_markup():
    rows = tuple((f"row {at}", at, at / 7, Interval(at / 3, 0.0, 1.0)) for at in range(201))
    long = Table("Long", ("name", "whole", "number", "interval"), rows)
    text = page_html(Page("t", [Article("t", [Section("s", [long])])]))
    assert text.count("<tr") == 0
    data = data_of(text)
    table = data["tables"][0]
    assert [column["kind"] for column in table["columns"]] == ["t", "w", "n", "i"]
    kept = np.frombuffer(base64.b64decode(data["blobs"][table["columns"][2]["v"]]), dtype="<f8")
    assert kept.tolist() == [row[2] for row in rows]


def test_a_page_without_figures_carries_no_drawing_code():
    small = page_html(Page("t", [Article("t", [Section("s", [Text("hello")])])]))
    assert len(small) < 60_000


def test_a_number_is_rounded_by_its_uncertainty_and_exact_on_hover():
    table = Table("T", ("v",), ((Interval(0.873123, 0.861, 0.884),),))
    text = page_html(Page("t", [Article("t", [Section("s", [table])])]))
    assert "0.873 [0.861, 0.884]" in text
    assert 'title="0.873123 [0.861, 0.884]"' in text


def test_several_runs_of_one_task_stand_side_by_side_with_their_curves_together(results):
    text = page_of(results, replace(results, model="b"))
    assert "2 models: made: up" in text
    assert "Side by side" in text
    assert "ROC curve all systems" in text


def test_several_runs_are_summed_up_in_a_sentence_and_named_by_what_tells_them_apart(results):
    again = replace(results, model="b")
    assert " over all groups: a, " in page_of(results, again)
    other = replace(results, task="other/task")
    names = names_of([results, again, other, results])
    assert names == [results.model, "b", results.model, f"{results.model} (2)"]
    assert f"b: {task_title(results.task)}" in page_of(results, again, other)
