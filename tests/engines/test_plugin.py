"""An engine of another package, found by its entry point, as docs/runs.md says."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.core.errors import UnknownNameError
from evenhand.core.task import Demo
from evenhand.engines import parse

MODULE = """
from dataclasses import dataclass
from evenhand.core.engine import Serial

USED = []

@dataclass
class Counting:
    text: str
    name = "counting"

    def map(self, fn, parts, **options):
        for outcome in Serial().map(fn, parts, **options):
            USED.append(outcome.part)
            yield outcome
"""


def test_an_engine_of_another_package_does_the_work(
    demos_of: Callable[[str], Sequence[Demo]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    package = tmp_path / "site"
    info = package / "counting_engine-1.0.dist-info"
    info.mkdir(parents=True)
    (package / "counting_engine.py").write_text(MODULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: counting-engine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[evenhand.engines]\ncounting = counting_engine:Counting\n")
    with pytest.raises(UnknownNameError):
        parse("counting:4")
    monkeypatch.syspath_prepend(str(package))
    engine = parse("counting:4")
    made = next(made for made in demos_of("ijb") if made.task == "ijb/test4")
    both = [
        eh.evaluate(made.task, made.predictions, data=made.data, options=made.options, draws=20, engine=each)
        for each in (engine, parse("serial"))
    ]
    assert sys.modules["counting_engine"].USED
    assert vars(engine) == {"text": "counting:4"}
    assert both[0].results.to_frame().equals(both[1].results.to_frame())
