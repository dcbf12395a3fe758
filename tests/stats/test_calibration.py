"""A small fixed part of the calibration: coverage and false alarms on data with a known truth."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

PROGRAM = Path(__file__).parents[2] / "bench" / "calibrate.py"


@pytest.fixture(scope="module")
def calibrate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("calibrate_program", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("part", ["proportions", "clusters", "differences", "sets"])
def test_intervals_cover_as_often_as_they_say(calibrate: ModuleType, part: str) -> None:
    lines = list(calibrate.PARTS[part](0.02))
    failed = [f"{line.what}, {line.setting}: {line.reached:.3f}" for line in lines if not line.holds]
    assert any(line.required for line in lines)
    assert not failed


def test_ignoring_subjects_would_cover_far_less(calibrate: ModuleType) -> None:
    lines = list(calibrate.intervals_of_clusters(0.02))
    ignored = [line.reached for line in lines if "ignored" in line.what]
    assert min(ignored) < 0.8


def test_an_even_model_seldom_alarms_whatever_the_correlation_within_subjects(calibrate: ModuleType) -> None:
    rng = np.random.default_rng(0)
    families = 60
    for correlation, rate in ((0.1, 0.7), (0.5, 0.95)):
        table = calibrate.clustered(rng, 7 * families, 40, (1, 10), correlation, rate)
        alarms, _ = calibrate._family_alarms(table, 7, families)
        assert calibrate.Line("family", "", "", 0.05, alarms, families, (0.0, 0.05)).holds


def test_an_even_model_over_many_uneven_cells_seldom_alarms(calibrate: ModuleType) -> None:
    rng = np.random.default_rng(1)
    large = calibrate.UNEVEN[calibrate.UNEVEN >= 20]
    families = 20
    table = calibrate.independent(rng.binomial(np.tile(large, families), 0.7), np.tile(large, families))
    alarms, _ = calibrate._family_alarms(table, len(large), families)
    assert calibrate.Line("family", "", "", 0.05, alarms, families, (0.0, 0.05)).holds


def test_the_page_names_what_does_not_hold(calibrate: ModuleType) -> None:
    line = calibrate.Line("interval", "wilson", "somewhere", 0.95, 0.5, 1000, (0.93, 0.97))
    assert not line.holds
    assert "**no**" in calibrate.page([line])
