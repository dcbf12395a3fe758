"""Names of metrics: what is asked, what comes along, what is refused."""

from __future__ import annotations

import pytest

from evenhand.benchmarks.synthesis.catalogue import (
    canonical,
    cautions,
    entry_of,
    paired_metrics,
    paired_names,
    unpaired_metrics,
    unpaired_names,
    widened,
)
from evenhand.benchmarks.synthesis.protocol import Rules
from evenhand.core.errors import OptionError, UnknownNameError


def test_lpips_is_another_name_of_lps() -> None:
    assert paired_names(["lpips", "ssim", "lps"]) == ("lps", "ssim")


@pytest.mark.parametrize("name", ["fid", "is", "OS-freid", "PCB-freid", "face-FD", "kid"])
def test_distances_of_sets_are_refused_in_a_paired_run(name: str) -> None:
    with pytest.raises(OptionError, match="compares two sets of frames"):
        paired_names([name])


def test_comparisons_of_frames_are_refused_in_an_unpaired_run() -> None:
    with pytest.raises(OptionError, match="an unpaired run has none"):
        unpaired_names(["ssim"])


def test_the_nearest_names_are_given_for_an_unknown_one() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'OS-CS-reid'"):
        canonical("OS-CS-reed")


def test_published_runs_return_more_names_than_asked_in_a_fixed_order() -> None:
    assert widened(["is"]) == ("is", "fid")
    assert widened(["OS-CS-reid"]) == ("OS-freid", "OS-CS-reid")
    assert widened(["OS-freid", "PCB-CS-reid"]) == ("OS-freid", "OS-CS-reid", "PCB-freid", "PCB-CS-reid")
    assert widened(["PCB-freid"]) == ("PCB-freid",)
    assert widened(["face-CS"]) == ("face-FD", "face-CS")


def test_both_readings_stand_side_by_side_where_only_the_number_differs() -> None:
    compat = [metric.name for metric in paired_metrics(["ssim", "psnr", "OS-CS-reid", "face-CS"], Rules.COMPAT)]
    assert compat == [
        *("ssim", "ssim/strict", "psnr", "psnr/strict", "OS-CS-reid", "face-CS", "face-CS/strict"),
        "face found in the reference",
        "person found",
    ]
    strict = [metric.name for metric in paired_metrics(["ssim", "OS-CS-reid"], Rules.STRICT)]
    assert strict == ["ssim/strict", "OS-CS-reid/strict", "person found"]


def test_unpaired_readings_differ_in_rows_for_boxes_and_in_numbers_for_the_rest() -> None:
    names = [metric.name for metric in unpaired_metrics(["is", "fid", "OS-freid"], Rules.COMPAT)]
    assert names == ["is", "is/strict", "fid", "OS-freid", "person found"]
    names = [metric.name for metric in unpaired_metrics(["is", "fid", "OS-freid"], Rules.STRICT)]
    assert names == ["is/strict", "fid", "OS-freid/strict", "person found"]


def test_features_of_a_users_own_have_metrics_of_their_own_name() -> None:
    assert entry_of("fid:clip").feature == "clip"
    assert entry_of("CS:clip").paired
    with pytest.raises(UnknownNameError):
        canonical("ssim:clip")


def test_cautions_say_what_each_metric_looks_at() -> None:
    said = " ".join(cautions())
    assert "face-FD, face-CS: look at the face" in said
    assert "is: Says little about pictures of people" in said
    assert "face-FD, face-CS: It follows the face" in said
    assert "neighbours: Precision and density do not see" in said
