"""Ends the golden run with a table: family, cases, checks."""

from __future__ import annotations

from typing import Any

import pytest

collect_ignore_glob = ["families/*.py", "harness.py", "cases/*"]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    tallies: dict[str, list[int]] = {}
    notes: list[str] = []
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for name, value in report.user_properties:
                if name == "golden":
                    family, made, failed = value
                    entry = tallies.setdefault(family, [0, 0, 0])
                    entry[0], entry[1], entry[2] = entry[0] + 1, entry[1] + made, entry[2] + failed
                elif name == "golden_note":
                    notes.append(value)
    if not tallies and not notes:
        return
    terminalreporter.section("golden cases")
    terminalreporter.write_line(f"{'family':<12}{'cases':>7}{'checks':>9}{'failed':>8}")
    for family, (cases, made, failed) in sorted(tallies.items()):
        terminalreporter.write_line(f"{family:<12}{cases:>7}{made:>9}{failed:>8}")
    for note in notes:
        terminalreporter.write_line(note)


@pytest.fixture
def golden(record_property: Any) -> Any:
    """Writes what a case compared into the table at the end."""

    def write(family: str, made: int, failed: int) -> None:
        record_property("golden", (family, made, failed))

    return write
