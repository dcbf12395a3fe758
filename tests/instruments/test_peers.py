"""Every convention against the package it is named after; skipped where the package is not installed.

`pip install -r bench/requirements.txt` brings them (torchvision 0.16.2 without its dependencies, as the file says).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.benchmarks.synthesis.drawn import draw, save
from evenhand.instruments.pixels import MS_SSIM, SSIM, ms_ssim, psnr, ssim
from evenhand.metrics.distances import frechet_distance, kernel_distance, neighbourhood

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # warnings of the packages are theirs


@pytest.fixture(scope="module")
def pairs() -> list[tuple[Any, Any]]:
    rng = np.random.default_rng(0)
    made = []
    for number, side in enumerate((224, 256, 301)):
        real = draw(f"somebody {number}", "walk", 0.3, size=side)
        noise = rng.normal(0, 12, real.shape)
        made.append((np.clip(real + noise, 0, 255).astype(np.uint8), real))
    return made


def unit(picture: Any) -> Any:
    torch = pytest.importorskip("torch")
    return torch.from_numpy(picture.transpose(2, 0, 1)[None]).double() / 255


def test_ssim_is_that_of_torchmetrics(pairs: Any) -> None:
    image = pytest.importorskip("torchmetrics.functional.image")
    for made, real in pairs:
        theirs = float(image.structural_similarity_index_measure(unit(made), unit(real), data_range=1.0))
        assert ssim(made, real, SSIM["torchmetrics"]) == pytest.approx(theirs, abs=1e-6)


def test_ssim_and_ms_ssim_are_those_of_piq(pairs: Any) -> None:
    piq = pytest.importorskip("piq")
    for made, real in pairs:
        assert ssim(made, real, SSIM["piq"]) == pytest.approx(float(piq.ssim(unit(made), unit(real))), abs=1e-6)
        theirs = float(piq.multi_scale_ssim(unit(made), unit(real)))
        assert ms_ssim(made, real, MS_SSIM["piq"]) == pytest.approx(theirs, abs=1e-6)


def test_ms_ssim_is_that_of_pytorch_msssim(pairs: Any) -> None:
    package = pytest.importorskip("pytorch_msssim")
    for made, real in pairs:
        theirs = float(package.ms_ssim(unit(made) * 255, unit(real) * 255, data_range=255))
        assert ms_ssim(made, real, MS_SSIM["pytorch_msssim"]) == pytest.approx(theirs, abs=1e-6)


def test_ssim_is_that_of_pyiqa(pairs: Any) -> None:
    torch, arch = pytest.importorskip("torch"), pytest.importorskip("pyiqa.archs.ssim_arch")
    taps = torch.exp(-((torch.arange(11, dtype=torch.float64) - 5) ** 2) / (2 * 1.5**2))
    window = (taps[:, None] * taps) / taps.sum() ** 2
    for made, real in pairs:
        ours = ssim(made, real, SSIM["pyiqa"])
        luma = [arch.preprocess_rgb(unit(side).float(), True, 255, "yiq").double() for side in (made, real)]
        assert ours == pytest.approx(float(arch.ssim(*luma, win=window[None, None], data_range=255)), abs=1e-10)
        # As the package is called: its window is rounded to single precision, which moves the value by some 1.5e-6.
        assert ours == pytest.approx(float(arch.SSIM()(unit(made).float(), unit(real).float())), abs=3e-6)


def test_psnr_is_that_of_torchmetrics(pairs: Any) -> None:
    image = pytest.importorskip("torchmetrics.functional.image")
    from evenhand.instruments.pixels import PSNR

    for made, real in pairs:
        theirs = float(image.peak_signal_noise_ratio(unit(made), unit(real), data_range=1.0))
        assert psnr(made, real, PSNR["skimage"]) == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("backbone", ["alex", "vgg"])
def test_lpips_is_that_of_its_package(pairs: Any, tmp_path: Path, backbone: str) -> None:
    torch, lpips = pytest.importorskip("torch"), pytest.importorskip("lpips")
    from evenhand.instruments.architectures import build_network

    ready = build_network(f"lpips-{backbone}")
    theirs = lpips.LPIPS(net=backbone, pretrained=True, pnet_rand=True, verbose=False).eval()
    ours = ready.network.backbone.state_dict()
    theirs.net.load_state_dict({key: ours[f"features.{key.split('.', 1)[1]}"] for key in theirs.net.state_dict()})
    with torch.inference_mode():
        for made, real in pairs:
            first, second = (unit(side).float() * 2 - 1 for side in (made, real))
            assert float(ready.network(first, second)) == pytest.approx(float(theirs(first, second)), abs=1e-6)


def test_dists_is_that_of_its_authors(pairs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    torch, torchvision = pytest.importorskip("torch"), pytest.importorskip("torchvision")
    package = pytest.importorskip("DISTS_pytorch")
    from evenhand.instruments.architectures import build_network

    network = build_network("dists").network
    backbone = torchvision.models.vgg16(weights=None)
    backbone.load_state_dict(network.backbone.state_dict(), strict=False)
    monkeypatch.setattr(torchvision.models, "vgg16", lambda pretrained: backbone)
    theirs = package.DISTS(load_weights=False).eval()
    theirs.alpha, theirs.beta = network.shares.alpha, network.shares.beta
    with torch.inference_mode():
        made, real = (unit(side).float() for side in pairs[0])
        assert float(network(made, real)) == pytest.approx(float(theirs(made, real)), abs=1e-6)


def test_precision_recall_density_and_coverage_are_those_of_prdc() -> None:
    prdc = pytest.importorskip("prdc")
    rng = np.random.default_rng(1)
    real, made = rng.normal(size=(300, 16)), rng.normal(size=(250, 16)) * 1.1 + 0.2
    theirs = prdc.compute_prdc(real, made, nearest_k=5)
    assert neighbourhood(made, real, 5)._asdict() == pytest.approx(theirs, abs=1e-12)


def test_distances_are_those_of_torchmetrics_and_torch_fidelity() -> None:
    torch = pytest.importorskip("torch")
    fid, kid = pytest.importorskip("torchmetrics.image.fid"), pytest.importorskip("torchmetrics.image.kid")
    rng = np.random.default_rng(2)
    real, made = rng.normal(size=(400, 64)), rng.normal(size=(350, 64)) * 1.1 + 0.1
    a, b = torch.from_numpy(made), torch.from_numpy(real)
    theirs = float(fid._compute_fid(a.mean(0), torch.cov(a.T), b.mean(0), torch.cov(b.T)))
    assert frechet_distance(made, real) == pytest.approx(theirs, rel=1e-6)
    assert kernel_distance(made, real[:350]) == pytest.approx(float(kid.poly_mmd(b[:350], a)), abs=1e-9)
    fidelity = pytest.importorskip("torch_fidelity.metric_fid")
    statistics = [{"mu": side.mean(axis=0), "sigma": np.cov(side, rowvar=False)} for side in (made, real)]
    (value,) = fidelity.fid_statistics_to_metric(*statistics, verbose=False).values()
    assert frechet_distance(made, real) == pytest.approx(float(value), rel=1e-6)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("pictures")
    paths = []
    for number, side in enumerate((96, 320)):
        paths.append(folder / f"{number}.png")
        save(str(paths[-1]), draw(f"somebody {number}", "arms", 0.1, size=side))
    return paths


@pytest.mark.parametrize("form", ["pytorch-fid", "torch-fidelity", "clean-fid"])
def test_pictures_are_prepared_for_fid_as_each_package_does(files: list[Path], form: str) -> None:
    torch = pytest.importorskip("torch")
    from evenhand.instruments.pictures import load
    from evenhand.instruments.readers import _clean_299, _to_299, _to_299_by_corners

    for path in files:
        pixels = load(path).pixels
        batch = torch.from_numpy(pixels.transpose(2, 0, 1)[None]).float() / 255
        if form == "pytorch-fid":
            pytest.importorskip("pytorch_fid")
            theirs = (
                2 * torch.nn.functional.interpolate(batch, size=(299, 299), mode="bilinear", align_corners=False) - 1
            )
            ours = _to_299(batch)
        elif form == "torch-fidelity":
            resize = pytest.importorskip("torch_fidelity.interpolate_compat_tensorflow")
            grown = resize.interpolate_bilinear_2d_like_tensorflow1x(batch * 255, size=(299, 299), align_corners=False)
            theirs, ours = (grown - 128) / 128, _to_299_by_corners(batch)
        else:
            resizer = pytest.importorskip("cleanfid.resize").build_resizer("clean")
            theirs = (torch.from_numpy(resizer(pixels).transpose(2, 0, 1)[None]) - 128) / 128
            ours = _clean_299(batch)
        assert float((ours - theirs).abs().max()) < 1e-6
