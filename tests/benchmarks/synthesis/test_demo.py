"""The demonstration: the planted group is found, the one that only looks worse is not over-read."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.benchmarks.synthesis import benchmark
from evenhand.benchmarks.synthesis.demo import CHANCE, PLANTED
from evenhand.core.records import Group
from evenhand.core.results import Verdict
from evenhand.run.evaluation import evaluate


@pytest.fixture(scope="module")
def demos(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    assert benchmark.demo is not None
    return {demo.task: demo for demo in benchmark.demo(tmp_path_factory.mktemp("demo"))}


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
    run = evaluate(
        benchmark.find(task), demo.predictions, demo.data, options=demo.options, by=("clothing", "sex"), depth=1
    )
    contrasts = [c for c in run.results.contrasts if c.metric == metric]
    planted = next(c for c in contrasts if group(PLANTED) in (c.first, c.second))
    assert planted.verdict in (Verdict.LARGE, Verdict.DIFFERENT)
    assert planted.worse == group(PLANTED)
    for contrast in contrasts:
        if group(CHANCE) in (contrast.first, contrast.second):
            assert contrast.verdict in (Verdict.UNDECIDED, Verdict.EQUIVALENT)
    assert all(section(run.results) is not None for section in benchmark.find(task).sections)


def test_two_demonstrations_are_the_same_byte_for_byte(tmp_path: Path) -> None:
    from evenhand.benchmarks.synthesis.demo import cast_of_videos, write_videos

    for name in ("a", "b"):
        write_videos(tmp_path / name, cast_of_videos(2), frames=2, size=24)
    for path in sorted((tmp_path / "a").rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes(), path
