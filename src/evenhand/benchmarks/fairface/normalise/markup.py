"""Reasoning and markup in an answer (rule P0): what is not the answer goes, what labels a value becomes a label.

`<think>…</think>` is removed, `<age>30-39</age>` and a table's `| Age | 30-39 |` become `age: 30-39`, every
other tag becomes a blank. No sign of a tag is left that could be taken for "less than".
"""

from __future__ import annotations

import re
from typing import Final

from evenhand.benchmarks.fairface.normalise.lexicon import words
from evenhand.benchmarks.fairface.normalise.structured import ATTRIBUTE_OF, letters_only

_REASONING: Final = re.compile(
    r"<\s{0,3}(/?)\s{0,3}(?:think|thinking|thought|reasoning|scratchpad)\b[^<>]{0,80}>", re.IGNORECASE
)
_TAG: Final = re.compile(r"<([/!?|]?)\s?([A-Za-z][\w.:-]{0,60}+)([^<>]{0,300}+)>")
_BROKEN_TAG: Final = re.compile(r"</?(?=[A-Za-z|!])")
_LINE_TAGS: Final = words("br, p, div, li, ul, ol, tr, table, tbody, thead, h1, h2, h3, h4, h5, h6, hr, dl, dt, dd")
_CELL_TAGS: Final = frozenset({"td", "th"})
_ANSWER_TAGS: Final = frozenset({"answer", "finalanswer", "final", "output", "response"})
_CONTENT: Final = re.compile(r"\s*[:=]")
_RULE_SIGNS: Final = frozenset(" \t\r|:+-")


def without_reasoning(raw: str) -> str | None:
    """An answer without its spans of reasoning; None when one of them never ends.

    >>> without_reasoning("<think>A man? A woman?</think>Female"), without_reasoning("<think>Let me see")
    ('Female', None)
    >>> without_reasoning("30 or 40.</think> 40")
    ' 40'
    """
    if "<" not in raw:
        return raw
    kept: list[str] = []
    free, depth = 0, 0
    for tag in _REASONING.finditer(raw):
        if tag[1]:
            if not depth:  # a closing one alone: everything before it was reasoning
                kept.clear()
            depth = max(depth - 1, 0)
            free = tag.end()
        else:
            if not depth:
                kept.append(raw[free : tag.start()])
            depth += 1
    return None if depth else "".join([*kept, raw[free:]])


def plain_text(text: str) -> str:
    """A text without markup, its labelled values written as `label: value` in lines of their own.

    >>> plain_text("<age>30-39</age><b>Gender:</b> male").split("\\n")
    ['', 'age: 30-39', ' Gender:  male']
    >>> plain_text("| Gender | Age |\\n|---|---|\\n| male | 30 |").split("\\n")
    ['gender: male', 'age: 30']
    """
    if "<" in text:
        text = _BROKEN_TAG.sub(" ", _without_tags(text))
    return _without_tables(text) if "|" in text else text


def _without_tags(text: str) -> str:
    parts: list[str] = []
    free = 0
    label = ""  # of the element that is open
    for tag in _TAG.finditer(text):
        before = text[free : tag.start()]
        free = tag.end()
        parts.append(" ".join(before.split()) if label else before)
        name = letters_only(tag[2])
        if not tag[1] and _CONTENT.match(tag[3]):  # <gender: male>
            parts.append(f"\n{tag[2]}{tag[3]}\n")
        elif name in ATTRIBUTE_OF:
            label = "" if tag[1] else ATTRIBUTE_OF[name]
            parts.append(f"\n{label}: " if label else "\n")
        elif name in _ANSWER_TAGS:
            parts.append("\n" if tag[1] else "\nfinal answer: ")
        elif name in _CELL_TAGS:
            parts.append(" " if label else "|")
        else:
            parts.append("\n" if tag[2].lower() in _LINE_TAGS and not label else " ")
    return "".join([*parts, text[free:]])


def _without_tables(text: str) -> str:
    """A text in which table rows that hold labels and values have become labelled values."""
    lines: list[str] = []
    header: list[str] = []
    for line in text.split("\n"):
        if "|" not in line:
            header = [] if line.strip() else header
            lines.append(line)
            continue
        cells = [cell.strip(" *`") for cell in line.strip().strip("|").split("|") if cell.strip(" *`")]
        if "-" in line and _RULE_SIGNS.issuperset(line):
            continue
        labels = [ATTRIBUTE_OF.get(letters_only(cell), "") for cell in cells]
        if header and not any(labels) and len(cells) == len(header):
            lines.extend(f"{label}: {cell}" for label, cell in zip(header, cells, strict=True) if label)
        elif sum(map(bool, labels)) >= 2 and len(cells) == sum(map(bool, labels)) + (not labels[0]):
            header = labels
        elif labels and labels[0] and len(cells) >= 2:
            lines.append(f"{labels[0]}: {cells[1]}")
        else:
            lines.append(line)
    return "\n".join(lines)
