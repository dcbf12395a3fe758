"""What an evaluation would cost is told before it is started."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from evenhand import registry
from evenhand.core.options import parse as parse_options
from evenhand.core.task import Demo
from evenhand.engines import parse
from evenhand.run.estimate import Cost, MachineRates, cost_of, measured_rates, probe


def test_seconds_grow_with_what_is_multiplied_and_shrink_with_the_machine():
    small, large = Cost(0, 10**12, 0, 0, 0.0), Cost(0, 10**13, 0, 0, 0.0)
    slow, quick = MachineRates(1, 1e10, 1e8, 1e7), MachineRates(64, 64e10, 1e8, 1e7)
    assert small.seconds(slow) == pytest.approx(100.5)
    assert large.seconds(slow) == pytest.approx(1000.5)
    assert large.seconds(quick) == pytest.approx(16.125)


def test_a_probe_measures_all_workers():
    rates = probe(parse("threads:2"))
    assert rates.workers == 2
    assert min(rates) > 0


def test_rates_are_kept_for_a_day_where_runs_are_kept(tmp_path: Path):
    engine = parse("serial")
    first = measured_rates(engine, tmp_path)
    (kept,) = (tmp_path / ".cache" / "probe").iterdir()
    assert measured_rates(engine, tmp_path) == first
    kept.write_text("[1, 2.0, 3.0, 4.0]")
    assert measured_rates(engine, tmp_path) == MachineRates(1, 2.0, 3.0, 4.0)
    assert measured_rates(engine, tmp_path, now=kept.stat().st_mtime + 100_000) != MachineRates(1, 2.0, 3.0, 4.0)


def test_a_damaged_cache_is_measured_again(tmp_path: Path):
    first = measured_rates(parse("serial"), tmp_path)
    (kept,) = (tmp_path / ".cache" / "probe").iterdir()
    kept.write_text("nothing")
    assert measured_rates(parse("serial"), tmp_path).workers == first.workers


def test_no_folder_is_made_for_a_probe(tmp_path: Path):
    measured_rates(parse("serial"), tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_search_costs_probes_times_gallery_times_dimensions(demos_of: Callable[[str], Sequence[Demo]]):
    demo = next(demo for demo in demos_of("ijb") if demo.task in ("ijb/test3", "ijb/test4", "ijb/test5"))
    task = registry.task(demo.task)
    options = parse_options(task.options, demo.options)
    dataset = task.load(demo.data, options)
    cost = cost_of(task, dataset, [demo.predictions], options, draws=10, groups=3, seconds_loading=0.1)
    searched = sum(len(gallery.ids) * len(gallery.probes.ids) for gallery in dataset.truth.galleries)
    assert cost.multiply_adds > 0
    assert cost.multiply_adds % searched == 0
    assert cost.bytes_read > 0


def test_the_command_says_bytes_products_and_time(demos_of: Callable[[str], Sequence[Demo]], tmp_path: Path):
    demo = demos_of("ijb")[0]
    chosen = [text for name, value in demo.options.items() for text in ("--set", f"{name}={value}")]
    command = [sys.executable, "-m", "evenhand.cli.main", "evaluate", demo.task, str(demo.predictions), "--dry-run"]
    command += ["--data", str(demo.data), "--runs", str(tmp_path / "runs"), "--json", *chosen]
    said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert {"bytes_read", "multiply_adds", "multiply_adds_of_draws", "workers", "seconds_about"} <= set(said)
    assert said["seconds_about"] > 0
