"""The demonstration: the planted group is found, the one that only looks worse is not over-read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from evenhand.benchmarks.synthesis import availability, benchmark
from evenhand.benchmarks.synthesis.availability import needed, unavailable
from evenhand.benchmarks.synthesis.catalogue import NAMES, TABLE
from evenhand.benchmarks.synthesis.demo import CHANCE, PLANTED
from evenhand.benchmarks.synthesis.options import PictureOptions
from evenhand.benchmarks.synthesis.protocol import Rules
from evenhand.benchmarks.synthesis.sections import paper_table
from evenhand.core.records import Group
from evenhand.core.results import Verdict
from evenhand.core.task import Demo
from evenhand.run.evaluation import evaluate


@pytest.fixture(scope="module")
def demos(demos_of: Callable[[str], Sequence[Demo]]) -> dict[str, Demo]:
    return {demo.task: demo for demo in demos_of("synthesis")}


def group(text: str) -> Group:
    name, _, level = text.partition("=")
    return Group(((name, level),))


@pytest.mark.parametrize(
    ("task", "metric"),
    [
        ("synthesis/self_imitation", "ssim/strict"),
        ("synthesis/cross_imitation", "kid:layout"),
        ("synthesis/pictures", "ssim"),
    ],
)
def test_the_planted_group_is_found_and_chance_is_not_over_read(demos: dict, task: str, metric: str) -> None:
    demo = demos[task]
    options = {"metrics": ("ssim", "l1", "flicker")} if task == "synthesis/pictures" else demo.options
    run = evaluate(benchmark.find(task), demo.predictions, demo.data, options=options, by=("clothing", "sex"), depth=1)
    contrasts = [c for c in run.results.contrasts if c.metric == metric]
    planted = next(c for c in contrasts if group(PLANTED) in (c.first, c.second))
    assert planted.verdict in (Verdict.LARGE, Verdict.DIFFERENT)
    assert planted.worse == group(PLANTED)
    for contrast in contrasts:
        if group(CHANCE) in (contrast.first, contrast.second):
            assert contrast.verdict in (Verdict.UNDECIDED, Verdict.EQUIVALENT)
    assert all(section(run.results) is not None for section in benchmark.find(task).sections)


def test_the_table_has_all_that_can_be_computed_and_the_note_names_the_rest(demos: dict) -> None:
    demo = demos["synthesis/pictures"]
    missing = unavailable(TABLE, PictureOptions())
    lost = [name for name in TABLE if any(one in missing for one in needed(name, Rules.STRICT))]
    assert demo.options["metrics"] == tuple(name for name in TABLE if name not in lost)
    assert demo.note.count("\n") == 0
    assert all(NAMES.value(name, "mean") in demo.note for name in lost if not name.startswith("neighbours"))
    assert bool(demo.note) == bool(lost)


def test_without_a_package_the_note_says_which_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability, "find_package", lambda name: None)
    metrics, note = availability.obtainable(("ssim", "lps", "akd"), PictureOptions())
    assert metrics == ("ssim",)
    assert note == (
        "LPIPS left out: it needs torch: pip install 'evenhand[torch]'. "
        "AKD left out: it needs ai_edge_litert: pip install 'evenhand[models]'."
    )


@pytest.mark.slow
def test_every_row_of_the_table_has_a_value(demos: dict) -> None:
    demo = demos["synthesis/pictures"]
    task = benchmark.find("synthesis/pictures")
    run = evaluate(task, demo.predictions, demo.data, options=demo.options, draws=0)
    section = paper_table(run.results)
    assert section is not None
    rows = section.blocks[0].rows
    assert [row[0] for row in rows if row[1] is None] == []
    assert len(rows) == len(demo.options["metrics"]) + 3 * ("neighbours:pytorch-fid" in demo.options["metrics"])


def test_two_demonstrations_are_the_same_byte_for_byte(tmp_path: Path) -> None:
    from evenhand.benchmarks.synthesis.demo import cast_of_videos, write_videos

    for name in ("a", "b"):
        write_videos(tmp_path / name, cast_of_videos(2), frames=2, size=24)
    for path in sorted((tmp_path / "a").rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes(), path
