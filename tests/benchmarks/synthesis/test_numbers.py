"""The published arithmetic, and the corrected one beside it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evenhand.benchmarks.synthesis.metrics import DecibelsOfFrames, PublishedDecibels, PublishedMean
from evenhand.benchmarks.synthesis.numbers import batch_weights, cosine_rows, face_weights, sspe_rows
from evenhand.core.errors import DataError
from evenhand.core.metric import Undefined
from evenhand.core.records import Records


def value_of(metric: PublishedMean | DecibelsOfFrames, rows: Records, output: str = "mean") -> object:
    state = metric.measure(rows)
    return metric.result(state, state)[output][0]  # type: ignore[arg-type]  # the state is the metric's own


def test_a_short_last_batch_weighs_as_much_as_a_full_one() -> None:
    values = np.array([1.0, 1.0, 1.0, 1.0, 5.0])
    rows = Records({"ssim": values, "weight": batch_weights(5, 4)}, {})
    assert value_of(PublishedMean("ssim", "ssim"), rows) == pytest.approx(3.0)


def test_a_batch_without_a_reference_face_counts_as_zero() -> None:
    faces = np.array([True, False, False, False])
    values = np.where(faces, [0.8, 0.2, 0.9, 0.9], 0.0)
    rows = Records({"face_published": values, "face_weight": face_weights(faces, 2)}, {})
    assert value_of(PublishedMean("face-CS", "face_published", weight="face_weight"), rows) == 0.4


def test_a_vector_of_zeros_is_like_nothing() -> None:
    assert cosine_rows(np.zeros((1, 4)), np.ones((1, 4))).tolist() == [0.0]


def test_features_of_unequal_shape_are_refused() -> None:
    with pytest.raises(DataError, match="can't be compared row by row"):
        cosine_rows(np.ones((2, 4)), np.ones((3, 4)))


def test_one_identical_pair_makes_the_published_psnr_infinite() -> None:
    rows = Records({"psnr": np.array([20.0, math.inf]), "weight": np.array([0.5, 0.5])}, {})
    assert value_of(PublishedDecibels("psnr", "psnr"), rows) == math.inf


def test_a_published_mean_with_an_infinite_value_is_infinite_and_no_ratio_of_sums() -> None:
    metric = PublishedMean("lps", "lps")
    rows = Records({"lps": np.array([0.2, math.inf]), "weight": np.array([0.5, 0.5])}, {})
    assert value_of(metric, rows) == math.inf
    assert metric.ratios(metric.measure(rows)) == {}
    unasked = Records({"lps": np.array([0.2, math.inf]), "weight": np.array([0.5, 0.0])}, {})
    assert value_of(metric, unasked) == 0.2
    assert set(metric.ratios(metric.measure(unasked))) == {"mean"}


def test_the_corrected_psnr_counts_identical_pairs_and_averages_the_others() -> None:
    rows = Records({"squared_error": np.array([0.04, 0.0, 0.0004, np.nan])}, {})
    metric = DecibelsOfFrames("psnr/strict")
    assert value_of(metric, rows) == pytest.approx((20.0 + 40.0) / 2)
    assert value_of(metric, rows, "identical") == 1.0
    assert value_of(metric, rows, "of_mean_error") == pytest.approx(10 * math.log10(4 / (0.0404 / 3)))
    assert metric.missing(metric.measure(rows)).tolist() == [1]
    same = Records({"squared_error": np.zeros(3)}, {})
    assert isinstance(value_of(metric, same), Undefined)


def test_scale_counts_twice_in_the_body_error() -> None:
    here, there = np.zeros((2, 85)), np.zeros((2, 85))
    there[:, 0] = 1.0
    assert sspe_rows(here, there).tolist() == [2.0, 2.0]
    there[:, -1] = 3.0
    assert sspe_rows(here, there).tolist() == [5.0, 5.0]
    with pytest.raises(DataError, match=r"expected \(frames, 85\) twice"):
        sspe_rows(here[:, :80], there[:, :80])
