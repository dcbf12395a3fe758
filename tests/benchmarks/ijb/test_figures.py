"""What the report of a test shows beside its numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.benchmarks.ijb import benchmark
from evenhand.benchmarks.ijb.sections import (
    confidence_curve,
    confidence_section,
    histogram,
    histogram_section,
)
from evenhand.core.metric import Curve
from evenhand.core.page import Figure, Lines
from evenhand.core.records import Group, Records
from evenhand.reporting.curves import curve_figure
from evenhand.run import evaluate


def run(number: int, predictions: Path, data: Path, **options: Any) -> Any:
    task: Any = benchmark.find(f"ijb/test{number}")
    given = {} if number == 7 else {"flip": "none", **options}
    return evaluate(task, predictions, data, options=given, draws=0, permutations=0, depth=1).results


def test_shares_of_a_histogram_add_up_to_what_has_a_score() -> None:
    found = histogram({"genuine": np.array([-np.inf, 0.2, 0.9, 1.0]), "impostor": np.array([-0.5, 0.1])})
    made = found["score_histogram"]
    assert sum(made["shares"]["genuine"]) == pytest.approx(0.75)
    assert sum(made["shares"]["impostor"]) == pytest.approx(1.0)
    assert made["unscored"] == {"genuine": 1, "impostor": 0}
    assert (made["edges"][0], made["edges"][-1]) == (-0.5, 1.0)
    assert histogram({"genuine": np.array([-np.inf])}) == {}


def test_scores_of_verification_and_search_are_shown_by_sort(folder: Path) -> None:
    for number, sorts in ((1, {"genuine", "impostor"}), (4, {"mates", "best of non-mated"})):
        results = run(number, folder, folder)
        section = histogram_section(results)
        assert section is not None
        (figure,) = section.blocks
        assert isinstance(figure, Figure)
        assert isinstance(figure.chart, Lines)
        assert {row[0] for row in figure.data.rows} == sorts


def test_ranks_of_a_cmc_begin_with_one(folder: Path) -> None:
    curve = run(4, folder, folder, fpir="0.5").get("CMC", "curve").value
    ranks = np.arange(1.0, 51.0)
    longer = replace(curve, x=ranks, y=np.minimum(0.9 + ranks / 40, 1.0), threshold=None)
    figure = curve_figure({"everyone": longer}, "CMC")
    assert figure is not None
    assert isinstance(figure.chart, Lines)
    assert figure.chart.x_domain == (1.0, 11.0)


def test_precision_recall_and_f_of_a_clustering_have_one_unit() -> None:
    for output in ("precision", "recall", "F"):
        assert benchmark.names.is_share("BCubed", output)


def test_every_gallery_and_their_combination_have_an_iet_curve(folder: Path) -> None:
    results = run(4, folder, folder, fpir="0.5")
    for group in (Group(), Group.of(gallery="A")):
        curve = results.get("search", "IET", group).value
        assert isinstance(curve, Curve)
        assert (curve.x_name, curve.y_name, curve.x[0]) == ("FPIR", "FNIR", 0.0)
        assert curve.y.min() == 0.0
    assert results.get("search", "IET", Group.of(gallery="A")).value.threshold is not None


def test_the_surest_faces_come_first_and_ties_together() -> None:
    rows = Records(
        {
            "confidence": np.array([0.9, 0.1, 0.9, np.nan]),
            "precision": np.array([1.0, 0.5, 0.0, 0.0]),
            "recall": np.array([1.0, 1.0, 0.5, 0.0]),
        },
        {},
    )
    found = confidence_curve(rows, None)["confidence_curve"]
    assert found["share"] == [0.5, 0.75, 1.0]
    assert found["precision"] == [0.5, 0.5, 0.375]
    assert found["recall"] == pytest.approx([0.75, 2.5 / 3, 0.625])
    assert found["confidence"] == [0.9, 0.1, None]


def test_clusters_without_different_confidences_have_no_curve(tmp_path: Path, official: Any) -> None:
    truth = [(number, number // 2, f"img/{number}.jpg") for number in range(6)]
    official.write(tmp_path / "ground_truth.csv", [("TEMPLATE_ID", "SUBJECT_ID", "FILENAME"), *truth])
    header = ("TEMPLATE_ID", "FILENAME", "CLUSTER_INDEX", "CONFIDENCE")
    for sure, shown in (((0.5,) * 6, False), ((0.9, 0.8, 0.7, 0.6, 0.5, 0.4), True)):
        rows = [(number, name, who, one) for (number, who, name), one in zip(truth, sure, strict=True)]
        results = run(7, official.write(tmp_path / "clusters.csv", [header, *rows]), tmp_path)
        section = confidence_section(results)
        assert (section is not None) == shown
