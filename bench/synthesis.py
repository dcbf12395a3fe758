"""Distances between sets of frames, and pairs of frames from files to numbers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.hot import Hot

INCEPTION, FRAMES = 2048, 3000  # about as many frames as iPER's cross-imitation has
PARTS, FEW = 12_288, 2000
SCALED = 1024  # dimensions of the part sets that the published way is given
PAIRS, SIDE = 200, 512
STREAMED = 40_000
PASSES = 6  # of a network, so that building it hardly counts


def inception_sets() -> dict[str, Any]:
    """Two sets of features with the falling spectrum that pooled features have."""
    rng = np.random.default_rng(3)
    scale = np.geomspace(1.0, 1e-2, INCEPTION)
    mix = np.linalg.qr(rng.normal(size=(INCEPTION, INCEPTION)))[0]
    made = (np.abs(rng.normal(size=(FRAMES, INCEPTION))) * scale) @ mix
    real = (np.abs(rng.normal(size=(FRAMES, INCEPTION))) * scale * 1.1) @ mix + 0.02
    return {"made": made.astype(np.float32), "real": real.astype(np.float32)}


def part_sets() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    return {name: np.abs(rng.normal(size=(FEW, PARTS))).astype(np.float32) for name in ("made", "real")}


def ours(data: dict[str, Any]) -> float:
    from evenhand.metrics.distances import frechet_distance

    return frechet_distance(data["made"], data["real"])


def square_root(data: dict[str, Any]) -> float:
    """The published way: covariances, and the general matrix square root of their product."""
    from scipy import linalg

    made, real = data["made"], data["real"]
    c1, c2 = np.cov(made, rowvar=False), np.cov(real, rowvar=False)
    difference = made.mean(axis=0) - real.mean(axis=0)
    root = linalg.sqrtm(c1 @ c2)
    return float(difference @ difference + np.trace(c1) + np.trace(c2) - 2 * np.trace(root).real)


def square_root_of_few(data: dict[str, Any]) -> float:
    """The same on the first dimensions: all of them would take over an hour."""
    return square_root({name: side[:, :SCALED] for name, side in data.items()})


def on_cores(cores: int, work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The work with so many threads in linear algebra, whatever the machine has."""

    def limited(data: Any) -> Any:
        import scipy.linalg  # noqa: F401  # brings a library of its own, which must be there to be limited
        from threadpoolctl import threadpool_limits

        with threadpool_limits(cores):
            return work(data)

    return limited


def covariances(data: dict[str, Any]) -> Any:
    return [side.astype(np.float64).T @ side.astype(np.float64) for side in data.values()]


def cross_gram(data: dict[str, Any]) -> Any:
    return data["made"].astype(np.float64) @ data["real"].astype(np.float64).T


def pictures() -> dict[str, Any]:
    import cv2

    kept = tempfile.TemporaryDirectory(prefix="evenhand-bench-")  # removed when the data are forgotten
    folder = Path(kept.name)
    rng = np.random.default_rng(7)
    pairs = []
    for number in range(PAIRS):
        real = cv2.GaussianBlur(rng.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8), (0, 0), 3)
        made = cv2.add(real, rng.integers(0, 12, real.shape, dtype=np.uint8))
        paths = folder / f"made{number}.png", folder / f"real{number}.png"
        for path, picture in zip(paths, (made, real), strict=True):
            cv2.imwrite(str(path), picture)
        pairs.append(paths)
    return {"pairs": pairs, "kept": kept}


def on_one_core() -> None:
    """Keep this process, with all its threads, on one core."""
    import cv2

    cv2.setNumThreads(1)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def from_files(data: dict[str, Any]) -> Any:
    """SSIM of pairs as the task measures them: read, decoded, compared, averaged."""
    from evenhand.benchmarks.synthesis.features import FeatureTable
    from evenhand.benchmarks.synthesis.measuring import FrameInstruments, FrameSource
    from evenhand.benchmarks.synthesis.options import SynthesisOptions
    from evenhand.benchmarks.synthesis.pairs import FramePair
    from evenhand.benchmarks.synthesis.record import MeasurementPlan
    from evenhand.compat.his_evaluators.evaluators.base import run_paired

    on_one_core()
    nowhere = FeatureTable(Path())
    pairs = [FramePair(str(n), str(n), str(n), *paths) for n, paths in enumerate(data["pairs"])]
    looks = FrameInstruments(FrameSource("synthesised", nowhere), FrameSource("real", nowhere))
    return run_paired(pairs, ("ssim",), looks, MeasurementPlan((), SynthesisOptions(image_size=SIDE))).values


def published_ssim(data: dict[str, Any]) -> float:
    """The published way: float pictures in −1…1, scikit-image in double precision, channel by channel."""
    import cv2
    from skimage.metrics import structural_similarity

    on_one_core()
    total = 0.0
    for paths in data["pairs"]:
        made, real = (cv2.imread(str(path)).astype(np.float32) / 255 * 2 - 1 for path in paths)
        total += structural_similarity(
            made.astype(np.float64), real.astype(np.float64), data_range=2.0, channel_axis=2, win_size=7
        )
    return total / len(data["pairs"])


def decoded(data: dict[str, Any]) -> Any:
    import cv2

    on_one_core()
    return sum(int(cv2.imread(str(path))[0, 0, 0]) for paths in data["pairs"] for path in paths)


def nothing() -> dict[str, Any]:
    return {}


def streamed(data: dict[str, Any]) -> Any:
    """Moments of 40,000 frames a side at 512 dimensions, made and forgotten in parts: memory must not grow."""
    from evenhand.core.engine import total
    from evenhand.core.records import Records
    from evenhand.metrics.distances import FrechetOfMoments

    metric = FrechetOfMoments("fd", "features")

    def parts() -> Any:
        rng = np.random.default_rng(9)
        for start in range(0, 2 * STREAMED, 2000):
            made = start < STREAMED
            features = rng.normal(size=(2000, 512)).astype(np.float32) + 0.1 * made
            yield metric.measure(Records({"features": features, "synthesised": np.full(2000, made)}, {}))

    whole = total(parts())
    return metric.result(whole, whole)


def two_thousand() -> dict[str, Any]:
    return {name: side[:2000] for name, side in inception_sets().items()}


def frechet_of_torchmetrics(data: dict[str, Any]) -> float:
    """What FrechetInceptionDistance computes once it has the features."""
    import torch
    from torchmetrics.image.fid import _compute_fid

    made, real = (torch.from_numpy(data[name]).double() for name in ("made", "real"))
    return float(_compute_fid(made.mean(0), torch.cov(made.T), real.mean(0), torch.cov(real.T)))


def ten_thousand() -> dict[str, Any]:
    rng = np.random.default_rng(8)
    sides = {name: np.abs(rng.normal(size=(10_000, INCEPTION))).astype(np.float32) for name in ("made", "real")}
    return sides


def kernel(data: dict[str, Any]) -> float:
    """Over all pairs: what the mean over subsets estimates."""
    from evenhand.metrics.distances import kernel_distance

    return kernel_distance(data["made"], data["real"])


def kernel_of_torchmetrics(data: dict[str, Any]) -> float:
    """What KernelInceptionDistance computes once it has the features: 100 subsets of 1,000."""
    import torch
    from torchmetrics.image.kid import poly_mmd

    torch.manual_seed(0)
    made, real = (torch.from_numpy(data[name]) for name in ("made", "real"))
    scores = []
    for _ in range(100):
        picked = [side[torch.randperm(len(side))[:1000]] for side in (real, made)]
        scores.append(float(poly_mmd(*picked)))
    return float(np.mean(scores))


def batch_of_pairs() -> dict[str, Any]:
    rng = np.random.default_rng(4)
    first = rng.integers(0, 256, (16, 256, 256, 3), dtype=np.uint8)
    return {"first": first, "second": np.clip(first + rng.normal(0, 20, first.shape), 0, 255).astype(np.uint8)}


def _unit(pictures: Any) -> Any:
    import torch

    return torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 255


def perceptual(network: str) -> Callable[[Any], Any]:
    """LPIPS or DISTS of a batch, by our network with reproducible weights."""

    def work(data: dict[str, Any]) -> Any:
        import torch

        from bench.filled import fill_network
        from evenhand.instruments.comparers import signed

        ready = fill_network(network)
        first, second = _unit(data["first"]), _unit(data["second"])
        if network.startswith("lpips"):
            first, second = signed(first), signed(second)
        with torch.inference_mode():
            return [ready.network(first, second).numpy() for _ in range(PASSES)]

    return work


def lpips_package(data: dict[str, Any]) -> Any:
    import lpips
    import torch

    network = lpips.LPIPS(net="alex", pnet_rand=True, verbose=False).eval()
    with torch.inference_mode():
        first, second = _unit(data["first"]) * 2 - 1, _unit(data["second"]) * 2 - 1
        return [network(first, second).numpy() for _ in range(PASSES)]


def dists_package(data: dict[str, Any]) -> Any:
    """The authors' package, whose backbone would be downloaded: with any weights it takes as long."""
    import torch
    import torchvision

    plain = torchvision.models.vgg16
    torchvision.models.vgg16 = lambda pretrained: plain(weights=None)
    import DISTS_pytorch

    network = DISTS_pytorch.DISTS(load_weights=False).eval()
    with torch.inference_mode():
        return [network(_unit(data["first"]), _unit(data["second"])).numpy() for _ in range(PASSES)]


def inception_features(data: dict[str, Any]) -> Any:
    import torch

    from bench.filled import fill_network
    from evenhand.instruments.readers import _to_299

    network = fill_network("inception-fid").network
    with torch.inference_mode():
        return [network(_to_299(_unit(data["first"]))).numpy() for _ in range(PASSES)]


def inception_of_torchvision(data: dict[str, Any]) -> Any:
    import torch
    import torchvision

    network = torchvision.models.inception_v3(weights=None, init_weights=False, aux_logits=True).eval()
    network.fc = torch.nn.Identity()
    grown = torch.nn.functional.interpolate(_unit(data["first"]), (299, 299), mode="bilinear", align_corners=False)
    with torch.inference_mode():
        return [network(grown * 2 - 1).numpy() for _ in range(PASSES)]


PEERS = [
    Hot(
        "synthesis/frechet_features",
        f"Fréchet distance from features, 2,000 frames a side at {INCEPTION} dimensions",
        two_thousand,
        ours,
        peer=frechet_of_torchmetrics,
        peer_name="torchmetrics",
        goal="at least twice as fast, in less memory",
        repeat=2,
        slow=True,
    ),
    Hot(
        "synthesis/kernel_features",
        f"kernel distance (KID) from features, 10,000 frames a side at {INCEPTION} dimensions",
        ten_thousand,
        kernel,
        peer=kernel_of_torchmetrics,
        peer_name="torchmetrics, 100 subsets of 1,000",
        goal="at least twice as fast",
        repeat=1,
        slow=True,
    ),
    *(
        Hot(
            f"synthesis/{name}",
            f"{title} of 16 pictures of 256 × 256, {PASSES} times",
            batch_of_pairs,
            work,
            peer=peer,
            peer_name=package,
            goal="at least as fast",
            repeat=2,
            slow=True,
        )
        for name, title, work, peer, package in (
            ("lpips", "LPIPS (AlexNet)", perceptual("lpips-alex"), lpips_package, "lpips"),
            ("dists", "DISTS", perceptual("dists"), dists_package, "DISTS_pytorch"),
            ("inception", "Inception features", inception_features, inception_of_torchvision, "torchvision"),
        )
    ),
]
HOT = [
    *PEERS,
    *(
        Hot(
            f"synthesis/frechet_2048_on_{cores}",
            f"Fréchet distance of two sets of {FRAMES} frames at {INCEPTION} dimensions, threads: {cores}",
            inception_sets,
            on_cores(cores, ours),
            peer=on_cores(cores, square_root),
            peer_name="covariances and sqrtm (SciPy)",
            peer_here=True,
            bound=on_cores(cores, covariances),
            bound_name="the two covariances",
            goal=f"at least {goal} times faster",
            repeat=2,
            slow=True,
        )
        for cores, goal in ((1, 6), (2, 10))
    ),
    *(
        Hot(
            f"synthesis/frechet_12288_on_{cores}",
            f"Fréchet distance of two sets of {FEW} frames at {PARTS} dimensions, threads: {cores}",
            part_sets,
            on_cores(cores, ours),
            peer=on_cores(cores, square_root_of_few),
            peer_name="covariances and sqrtm (SciPy), scaled by the cube of the dimensions",
            peer_here=True,
            peer_share=(SCALED / PARTS) ** 3,
            bound=on_cores(cores, cross_gram),
            bound_name="the cross-Gram product",
            goal="under 10 s; the published way takes over an hour",
            repeat=2,
            slow=True,
        )
        for cores in (1, 2)
    ),
    Hot(
        "synthesis/ssim_from_files",
        f"SSIM of {PAIRS} pairs of PNG files at {SIDE} × {SIDE}, one core, by the task",
        pictures,
        from_files,
        peer=published_ssim,
        peer_name="OpenCV and scikit-image, as published",
        peer_here=True,
        bound=decoded,
        bound_name="decoding the files",
        goal="under 6 s",
        repeat=2,
        slow=True,
    ),
    Hot(
        "synthesis/frechet_streamed",
        f"Fréchet distance of two sets of {STREAMED} frames at 512 dimensions, from moments",
        nothing,
        streamed,
        goal="memory does not grow with the number of frames",
        repeat=1,
        slow=True,
    ),
]
