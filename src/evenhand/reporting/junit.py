"""Requirements as JUnit XML, which every build server shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from evenhand.files.writing import write_file

if TYPE_CHECKING:
    from evenhand.stats.gate import GateOutcome


def write_junit(verdicts: Sequence[GateOutcome], suite: str, path: Path) -> None:
    """Write one test case per requirement."""
    failed = sum(not verdict.met for verdict in verdicts)
    root = ElementTree.Element("testsuites", tests=str(len(verdicts)), failures=str(failed))
    cases = ElementTree.SubElement(root, "testsuite", name=_xml(suite), tests=str(len(verdicts)), failures=str(failed))
    for verdict in verdicts:
        case = ElementTree.SubElement(cases, "testcase", classname="evenhand.gate", name=_xml(verdict.name))
        if not verdict.met:
            ElementTree.SubElement(case, "failure", message=_xml(verdict.message)).text = _xml(verdict.message)
    ElementTree.indent(root)
    write_file(path, ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")


def _xml(text: str) -> str:
    """Text without the characters that XML forbids: controls, lone surrogates, U+FFFE and U+FFFF."""
    return "".join(char if _FORBIDDEN.match(char) is None else "�" for char in text)


_FORBIDDEN = re.compile("[^\\t\\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
