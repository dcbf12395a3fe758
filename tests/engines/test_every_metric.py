"""Every metric that is listed with the laws has the same bits on every engine."""

from __future__ import annotations

import pytest
import states

from evenhand.core.engine import finished, total
from evenhand.engines import parse

PARTS = 5


@pytest.fixture(scope="module")
def serial() -> list[bytes]:
    return results_on("serial")


def results_on(engine: str) -> list[bytes]:
    """The results of every listed metric, as bytes; its parts tallied by the engine, added here along the tree."""
    count = len(states.listed())
    parts = [(number, part) for number in range(count) for part in range(PARTS)]
    tallied = list(finished(parse(engine).map(states.tally_part, parts)))
    return [states.as_bytes(total(tallied[number * PARTS : (number + 1) * PARTS])) for number in range(count)]


@pytest.mark.parametrize("engine", ["threads:2", "processes:2", pytest.param("processes:5", marks=pytest.mark.slow)])
def test_every_listed_metric_has_the_same_bits_on_every_engine(engine: str, serial: list[bytes]):
    names = [entry.name for entry in states.listed()]
    found = results_on(engine)
    assert len(found) == len(names) > 0
    assert [name for name, mine, theirs in zip(names, found, serial, strict=True) if mine != theirs] == []
