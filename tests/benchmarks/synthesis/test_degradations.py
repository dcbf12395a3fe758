"""A model that degrades on purpose: every metric ranks what it can see, with intervals that tell the steps apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from degrading import DegradingModel, degrade

from evenhand.benchmarks.synthesis import benchmark
from evenhand.benchmarks.synthesis.demo import cast_of_videos, write_layouts, write_videos
from evenhand.benchmarks.synthesis.drawn import read, save
from evenhand.core.results import Estimate
from evenhand.run.evaluation import evaluate

VIDEOS, SIZE = 12, 48


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    write_videos(folder, cast_of_videos(VIDEOS), frames=3, size=SIZE)
    return folder


@pytest.fixture(scope="module")
def measured(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The estimate of a metric for a degradation of some strength; each model is run once."""
    task = benchmark.find("synthesis/self_imitation")
    options = {"metrics": ("ssim", "psnr", "CS:layout"), "image_size": SIZE}
    dataset = task.load(data, task.options(**options))
    stranger = data / "images_HD" / cast_of_videos(VIDEOS)[5].name
    known: dict[tuple[str, float], Any] = {}

    def estimate(kind: Any, strength: float, metric: str = "ssim/strict") -> Estimate:
        if (kind, strength) not in known:
            out = tmp_path_factory.mktemp(f"{kind}-{strength}")
            model = DegradingModel(out, kind, strength, stranger=stranger)
            model.build_model()
            for sample in dataset.samples:
                model.answer_sample(sample)
            write_layouts(out)
            run = evaluate(task, out, data, options=options, by=(), draws=200, permutations=0)
            known[kind, strength] = run.results
        return known[kind, strength].get(metric)

    return estimate


@pytest.mark.parametrize("kind", ["blur", "shift", "colour", "identity", "noise"])
@pytest.mark.parametrize("metric", ["ssim/strict", "psnr/strict", "CS:layout"])
def test_more_of_a_degradation_is_worse(measured: Any, kind: str, metric: str) -> None:
    steps = [measured(kind, strength, metric) for strength in (0.1, 0.4, 1.0)]
    values = [step.number for step in steps]
    assert values == sorted(values, reverse=True)
    assert steps[0].low > steps[2].high  # the intervals tell the ends apart
    assert all(step.low <= step.number <= step.high and step.units == VIDEOS for step in steps)


@pytest.fixture(scope="module")
def sets_measured(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The estimate of a distance between sets, for all frames degraded."""
    task = benchmark.find("synthesis/unpaired")
    options = {"metrics": ("fid:layout", "kid:layout", "neighbours:layout")}
    real = tmp_path_factory.mktemp("real")
    frames = sorted((data / "images_HD").rglob("*.png"))
    strangers = frames[15:18]  # the three frames of one video
    known: dict[tuple[str, float], Any] = {}

    def copied(folder: Path, kind: Any, strength: float) -> Path:
        for number, path in enumerate(frames):
            place = folder / path.relative_to(data / "images_HD")
            place.parent.mkdir(parents=True, exist_ok=True)
            stranger = read(str(strangers[number % 3]))
            save(str(place), degrade(read(str(path)), kind, strength, stranger=stranger, seed=number))
        write_layouts(folder)
        return folder / "features.npz"

    truth = copied(real, "nothing", 0.0)

    def estimate(kind: Any, strength: float, metric: str, output: str) -> Estimate:
        if (kind, strength) not in known:
            made = copied(tmp_path_factory.mktemp(f"{kind}-{strength}"), kind, strength)
            run = evaluate(task, made, truth, options=options, by=(), draws=100, permutations=0)
            known[kind, strength] = run.results
        return known[kind, strength].get(metric, output)

    return estimate


@pytest.mark.parametrize("kind", ["blur", "shift", "colour", "identity", "noise"])
@pytest.mark.parametrize(
    ("metric", "output", "sign"),
    [("fid:layout", "distance", 1), ("kid:layout", "distance", 1), ("neighbours:layout", "coverage", -1)],
)
def test_sets_move_apart_with_the_strength_of_a_degradation(
    sets_measured: Any, kind: str, metric: str, output: str, sign: int
) -> None:
    steps = [sets_measured(kind, strength, metric, output) for strength in (0.05, 0.4, 1.0)]
    values = [sign * step.number for step in steps]
    assert values == sorted(values)
    assert values[-1] > values[0]
    assert all(step.low <= step.number <= step.high for step in steps)
    if metric != "neighbours:layout":  # counts of neighbours saturate
        assert steps[0].high < steps[2].low


def test_equal_sets_have_no_distance_and_the_unbiased_one_may_be_below_zero(sets_measured: Any) -> None:
    assert sets_measured("nothing", 0.0, "fid:layout", "distance").number < 1e-6
    assert sets_measured("nothing", 0.0, "kid:layout", "distance").number < 0
    for output in ("precision", "recall", "coverage"):
        assert sets_measured("nothing", 0.0, "neighbours:layout", output).number == 1.0


def test_structure_minds_noise_more_than_a_tint_and_decibels_the_other_way(measured: Any) -> None:
    noise, tint = (measured(kind, 0.1, "ssim/strict").number for kind in ("noise", "colour"))
    assert noise < tint
    noise, tint = (measured(kind, 0.1, "psnr/strict").number for kind in ("noise", "colour"))
    assert tint < noise


def test_nothing_done_is_measured_as_nothing(measured: Any) -> None:
    assert measured("nothing", 0.0, "ssim/strict").number == pytest.approx(1.0)
    assert measured("nothing", 0.0, "psnr").value == np.inf


@pytest.mark.slow
def test_networks_with_real_weights_rank_the_degradations(data: Path, tmp_path: Path) -> None:
    """LPIPS minds blur; identity is what a face embedding minds: real weights from packages, on a photograph."""
    pytest.importorskip("torch")
    import skimage.data

    from evenhand.benchmarks.synthesis.features import FeatureTable
    from evenhand.benchmarks.synthesis.measuring import FrameInstruments, FrameSource, NetworkBuilder
    from evenhand.benchmarks.synthesis.options import SynthesisOptions
    from evenhand.benchmarks.synthesis.pairs import FramePair
    from evenhand.benchmarks.synthesis.record import MeasurementPlan
    from evenhand.compat.his_evaluators.evaluators.base import run_paired

    face = np.ascontiguousarray(skimage.data.astronaut()[:256, 96:352])
    other = read(str(next((data / "images_HD").rglob("0000.png"))))
    stranger = np.kron(other, np.ones((6, 6, 1), np.uint8))[:256, :256]
    save(str(tmp_path / "real.png"), face)
    options = SynthesisOptions(image_size=256)
    looks = FrameInstruments(
        FrameSource("made", FeatureTable(tmp_path)),
        FrameSource("real", FeatureTable(tmp_path)),
        NetworkBuilder(options),
    )
    found = {}
    for kind, strength in (("blur", 0.05), ("blur", 0.4), ("colour", 0.3), ("identity", 0.9)):
        path = tmp_path / f"{kind}-{strength}.png"
        padded = np.zeros_like(face)
        padded[: len(stranger), : stranger.shape[1]] = stranger
        save(str(path), degrade(face, kind, strength, stranger=padded))  # type: ignore[arg-type]  # the kinds of above
        pair = FramePair("a", "a", "a", path, tmp_path / "real.png")
        found[kind, strength] = run_paired([pair], ("lps", "face-CS"), looks, MeasurementPlan((), options)).values
    assert found["blur", 0.05]["lps"] < found["blur", 0.4]["lps"]
    assert found["blur", 0.05]["face-CS"] > found["blur", 0.4]["face-CS"]
    assert found["colour", 0.3]["face-CS"] > 0.7 > found["identity", 0.9]["face-CS"]
