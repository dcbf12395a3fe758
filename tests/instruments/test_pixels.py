"""SSIM, MS-SSIM and PSNR against the implementations they are named after."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from evenhand.core.errors import OptionError
from evenhand.instruments.errors import PictureError
from evenhand.instruments.pixels import MS_SSIM, PSNR, SSIM, ms_ssim, psnr, setting_named, ssim


def pair(height: int, width: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A smooth random picture and a noisy copy of it."""
    rng = np.random.default_rng(seed)
    first = cv2.GaussianBlur(rng.integers(0, 256, (height, width, 3), dtype=np.uint8), (0, 0), 3)
    second = np.clip(first + rng.normal(0, 20, first.shape), 0, 255).astype(np.uint8)
    return first, second


@pytest.mark.parametrize(("height", "width"), [(7, 7), (8, 31), (64, 64), (127, 90), (300, 301)])
def test_ssim_of_skimage_is_skimage_s(height: int, width: int) -> None:
    first, second = pair(height, width)
    expected = structural_similarity(first, second, channel_axis=2, data_range=255)
    assert ssim(first, second, SSIM["skimage"]) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(("height", "width"), [(7, 9), (64, 64), (127, 90)])
def test_ssim_of_the_synthesis_protocol_is_skimage_s_on_signed_doubles(height: int, width: int) -> None:
    first, second = pair(height, width, 1)
    a, b = ((one.astype(np.float32) / 255 * 2 - 1).astype(np.float64) for one in (first, second))
    assert ssim(first, second) == pytest.approx(structural_similarity(a, b, channel_axis=2, data_range=2), abs=1e-7)


def test_ssim_with_a_gaussian_window_is_skimage_s() -> None:
    first, second = pair(70, 60)
    expected = structural_similarity(
        first, second, channel_axis=2, data_range=255, gaussian_weights=True, use_sample_covariance=False, sigma=1.5
    )
    assert ssim(first, second, SSIM["skimage_gaussian"]) == pytest.approx(expected, abs=1e-9)


def luma(pixels: np.ndarray) -> np.ndarray:
    return np.floor(pixels.astype(float) @ np.array([0.2989, 0.5870, 0.1140]) + 0.5)


def test_ssim_of_the_original_paper_is_that_of_the_grey_picture() -> None:
    first, second = pair(70, 60)
    expected = structural_similarity(
        luma(first), luma(second), data_range=255, gaussian_weights=True, use_sample_covariance=False, sigma=1.5
    )
    assert ssim(first, second, SSIM["wang2004"]) == pytest.approx(expected, abs=1e-9)


def test_ssim_of_piq_averages_blocks_first_when_the_picture_is_large() -> None:
    # piq 0.8.0 on these pictures in double precision: 0.51963190, shrunk twofold.
    first, second = pair(512, 516)
    small = [one.reshape(256, 2, 258, 2, 3).mean(axis=(1, 3)) for one in (first, second)]
    expected = structural_similarity(
        *small, channel_axis=2, data_range=255, gaussian_weights=True, use_sample_covariance=False, sigma=1.5
    )
    assert ssim(first, second, SSIM["piq"]) == pytest.approx(expected, abs=1e-9)


def maps(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """Mean SSIM and mean contrast term of one plane by direct loops over windows."""
    taps = np.exp(-((np.arange(11) - 5) ** 2) / 4.5)
    window = np.outer(taps, taps) / taps.sum() ** 2
    total = contrast_total = 0.0
    rows, columns = first.shape[0] - 10, first.shape[1] - 10
    for y in range(rows):
        for x in range(columns):
            a, b = first[y : y + 11, x : x + 11], second[y : y + 11, x : x + 11]
            mean_a, mean_b = (window * a).sum(), (window * b).sum()
            variance = (window * a * a).sum() - mean_a**2 + (window * b * b).sum() - mean_b**2
            contrast = (2 * ((window * a * b).sum() - mean_a * mean_b) + 58.5225) / (variance + 58.5225)
            total += contrast * (2 * mean_a * mean_b + 6.5025) / (mean_a**2 + mean_b**2 + 6.5025)
            contrast_total += contrast
    return total / rows / columns, contrast_total / rows / columns


def test_ms_ssim_of_the_original_paper_by_direct_loops() -> None:
    first, second = pair(181, 176)
    a, b = luma(first), luma(second)
    value = 1.0
    for scale, exponent in enumerate((0.0448, 0.2856, 0.3001, 0.2363, 0.1333)):
        if scale < 2:  # loops over a large picture take long; its terms are those of the one-scale function
            both = [np.repeat(one[:, :, None], 3, axis=2) for one in (a, b)]
            term = float(_contrast(*both))
        else:
            similarity, contrast = maps(a, b)
            term = similarity if scale == 4 else contrast
        value *= term**exponent
        a, b = (_blocks(one) for one in (a, b))
    assert ms_ssim(first, second, MS_SSIM["wang2003"]) == pytest.approx(value, abs=1e-9)


def _blocks(plane: np.ndarray) -> np.ndarray:
    plane = np.pad(plane, ((0, plane.shape[0] % 2), (0, plane.shape[1] % 2)), mode="edge")
    return plane.reshape(plane.shape[0] // 2, 2, plane.shape[1] // 2, 2).mean(axis=(1, 3))


def _contrast(first: np.ndarray, second: np.ndarray) -> float:
    from scipy.ndimage import correlate1d

    taps = np.exp(-((np.arange(11) - 5) ** 2) / 4.5)
    taps /= taps.sum()

    def smooth(x: np.ndarray) -> np.ndarray:
        return correlate1d(correlate1d(x, taps, axis=0), taps, axis=1)[5:-5, 5:-5]

    a, b = first[:, :, 0], second[:, :, 0]
    mean_a, mean_b = smooth(a), smooth(b)
    covariance = smooth(a * b) - mean_a * mean_b
    variance = smooth(a * a) + smooth(b * b) - mean_a**2 - mean_b**2
    return float(((2 * covariance + 58.5225) / (variance + 58.5225)).mean())


PUBLISHED_MS_SSIM = {  # piq 0.8.0 and pytorch-msssim 1.0.0 on `pair` in double precision
    ("piq", 512, 512): 0.7140443183,
    ("piq", 301, 333): 0.7141943556,
    ("pytorch_msssim", 512, 512): 0.7140478001,
    ("pytorch_msssim", 301, 333): 0.7144778541,
}


@pytest.mark.parametrize(("name", "height", "width"), list(PUBLISHED_MS_SSIM))
def test_ms_ssim_equals_the_library_it_is_named_after(name: str, height: int, width: int) -> None:
    first, second = pair(height, width)
    assert ms_ssim(first, second, MS_SSIM[name]) == pytest.approx(PUBLISHED_MS_SSIM[name, height, width], abs=1e-6)


def test_ms_ssim_needs_room_for_its_coarsest_window() -> None:
    first, second = pair(160, 400)
    with pytest.raises(PictureError, match="at least 161 × 161"):
        ms_ssim(first, second, MS_SSIM["piq"])


def test_a_negative_similarity_is_refused_where_its_root_is_not_defined() -> None:
    first = np.random.default_rng(0).integers(0, 256, (180, 180, 3), dtype=np.uint8)
    with pytest.raises(PictureError, match="negative similarity"):
        ms_ssim(first, 255 - first, MS_SSIM["wang2003"])
    assert ms_ssim(first, 255 - first, MS_SSIM["pytorch_msssim"]) == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_psnr_equals_skimage_s(seed: int) -> None:
    first, second = pair(40, 50, seed)
    expected = peak_signal_noise_ratio(first, second)
    assert psnr(first, second, PSNR["skimage"]) == pytest.approx(expected, abs=1e-12)
    assert psnr(first, second, PSNR["his_evaluators_strict"]) == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 255), st.integers(0, 255))
@settings(max_examples=60, deadline=None)
def test_psnr_of_the_synthesis_protocol_rounds_flat_pictures_as_the_published_code(one: int, two: int) -> None:
    first, second = (np.full((8, 8, 3), shade, np.uint8) for shade in (one, two))
    a, b = (shade.astype(np.float32) / 255 * 2 - 1 for shade in (first, second))
    error = np.mean(np.square(a - b), dtype=np.float64)
    scale = 1.0 if b.min() >= 0 else 2.0
    expected = math.inf if error == 0 else 10 * math.log10(scale**2 / error)
    assert psnr(first, second) == pytest.approx(expected, abs=5e-7)


def test_the_range_of_psnr_follows_the_reference_alone() -> None:
    bright, darker = np.full((8, 8, 3), 200, np.uint8), np.full((8, 8, 3), 100, np.uint8)
    assert psnr(bright, darker) - psnr(darker, bright) == pytest.approx(20 * math.log10(2))


def test_identical_pictures_have_infinite_psnr_but_eighty_decibel_under_fhibe() -> None:
    first, _ = pair(16, 16)
    assert psnr(first, first) == math.inf
    assert psnr(first, first, PSNR["fhibe"]) == 80.0


def test_psnr_of_fhibe_is_the_logarithm_of_the_error_plus_a_hundred_millionth() -> None:
    first, second = pair(40, 40)
    error = ((first.astype(float) - second) ** 2).mean() / 255**2
    assert psnr(first, second, PSNR["fhibe"]) == pytest.approx(-10 * math.log10(error + 1e-8), abs=5e-6)


@pytest.mark.parametrize("measure", [ssim, psnr, ms_ssim])
def test_pictures_of_unequal_size_are_refused_with_both_sizes(measure: object) -> None:
    with pytest.raises(PictureError, match="60 × 70 against 70 × 60"):
        measure(pair(70, 60)[0], pair(60, 70)[0])  # type: ignore[operator]


def test_a_picture_smaller_than_the_window_is_refused() -> None:
    with pytest.raises(PictureError, match="at least 7 × 7"):
        ssim(*pair(6, 40))


@given(st.integers(7, 40), st.integers(7, 40), st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_ssim_is_symmetric_and_at_most_one(height: int, width: int, seed: int) -> None:
    first, second = pair(height, width, seed)
    for setting in (SSIM["his_evaluators"], SSIM["skimage"]):
        value = ssim(first, second, setting)
        assert value == pytest.approx(ssim(second, first, setting), abs=1e-12)
        assert value <= 1 + 1e-6
        assert ssim(first, first, setting) == pytest.approx(1.0, abs=1e-7)


def test_an_unknown_setting_is_refused_with_the_known_ones() -> None:
    with pytest.raises(OptionError, match="psnr:fhibe"):
        setting_named("psnr", "fibe")
