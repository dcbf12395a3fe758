"""Pictures: how fast two are compared, and how much a network waits for them.

python -m bench instruments             SSIM and PSNR beside scikit-image, streaming beside one step after another
python bench/instruments.py             the share of time that the network waits, by number of decoding threads
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from bench.hot import Hot

PAIRS, SIDE = 200, 512
PICTURES, LARGE = 48, 1024


def pairs() -> list[tuple[Any, Any]]:
    """Pairs of smooth eight-bit pictures and noisy copies; twenty are made and come ten times each."""
    import cv2

    cv2.setNumThreads(1)
    rng = np.random.default_rng(9)
    made = []
    for _ in range(20):
        first = cv2.GaussianBlur(rng.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8), (0, 0), 3)
        made.append((first, np.clip(first + rng.normal(0, 15, first.shape), 0, 255).astype(np.uint8)))
    return made * (PAIRS // 20)


def ours(name: str, setting_name: str = "his_evaluators") -> Callable[[Any], None]:
    def work(data: Any) -> None:
        from evenhand.instruments import pixels

        setting = pixels.setting_named(name, setting_name)
        for first, second in data:
            getattr(pixels, name)(first, second, setting)

    return work


def skimage_ssim(data: Any) -> None:
    """As the published evaluator calls it: signed doubles, a range of 2."""
    from skimage.metrics import structural_similarity

    for first, second in data:
        a, b = ((one.astype(np.float32) / 255 * 2 - 1).astype(np.float64) for one in (first, second))
        structural_similarity(a, b, channel_axis=2, data_range=2)


def skimage_psnr(data: Any) -> None:
    """On the eight-bit pictures themselves."""
    from skimage.metrics import peak_signal_noise_ratio

    for first, second in data:
        peak_signal_noise_ratio(second, first)


def skimage_psnr_signed(data: Any) -> None:
    """As the published evaluator calls it: mapped to [-1, 1] in single precision first."""
    from skimage.metrics import peak_signal_noise_ratio

    for first, second in data:
        a, b = (one.astype(np.float32) / 255 * 2 - 1 for one in (first, second))
        peak_signal_noise_ratio(b, a, data_range=2)


def read_once(data: Any) -> int:
    """Every byte of both pictures once."""
    return int(sum(int(first.max()) + int(second.max()) for first, second in data))


def large_pictures() -> tuple[tempfile.TemporaryDirectory[str], list[Path]]:
    """A folder of JPEG files of 1024 × 1024, all different; it goes when nobody holds it any more."""
    import cv2
    import torch

    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    folder = tempfile.TemporaryDirectory(prefix="evenhand-bench-")
    rng = np.random.default_rng(9)
    paths = [Path(folder.name) / f"{number:03}.jpg" for number in range(PICTURES)]
    for path in paths:
        noise = cv2.GaussianBlur(rng.integers(0, 256, (LARGE, LARGE, 3), dtype=np.uint8), (0, 0), 2)
        cv2.imwrite(str(path), noise, [cv2.IMWRITE_JPEG_QUALITY, 95])
    return folder, paths


def streamed(data: Any) -> Any:
    """Inception features at 299 × 299 of files that are decoded ahead; gives the waits."""
    from bench.filled import fill_network
    from evenhand.instruments.readers import inception_reader

    _, paths = data
    return inception_reader(image_size=512, ready=fill_network("inception-imagenet")).readings(paths).waits


def one_after_another(data: Any) -> None:
    """The same work without overlap: all pictures decoded first, then the network."""
    import torch

    from bench.filled import fill_network
    from evenhand.instruments.comparers import signed, unit_batch
    from evenhand.instruments.pictures import HIS_EVALUATORS, load

    _, paths = data
    network = fill_network("inception-imagenet").network
    pixels = [load(path, HIS_EVALUATORS).pixels for path in paths]
    with torch.inference_mode():
        for start in range(0, len(pixels), 16):
            batch = signed(unit_batch(pixels[start : start + 16], "cpu"))
            network(torch.nn.functional.interpolate(batch, size=(299, 299), mode="bilinear", align_corners=False))


HOT = [
    Hot(
        "instruments/ssim",
        f"SSIM of the synthesis protocol, {PAIRS} pairs of {SIDE} × {SIDE}, one core",
        pairs,
        ours("ssim"),
        peer=skimage_ssim,
        peer_name="scikit-image",
        peer_here=True,
        bound=read_once,
        bound_name="reading the pixels",
        goal="at least 5 times faster",
    ),
    Hot(
        "instruments/psnr",
        f"PSNR of eight-bit pictures, {PAIRS} pairs of {SIDE} × {SIDE}, one core",
        pairs,
        ours("psnr", "skimage"),
        peer=skimage_psnr,
        peer_name="scikit-image",
        peer_here=True,
        bound=read_once,
        bound_name="reading the pixels",
        goal="at least 5 times faster",
    ),
    Hot(
        "instruments/psnr_signed",
        f"PSNR of the synthesis protocol, {PAIRS} pairs of {SIDE} × {SIDE}, one core",
        pairs,
        ours("psnr"),
        peer=skimage_psnr_signed,
        peer_name="scikit-image",
        peer_here=True,
        bound=read_once,
        bound_name="reading the pixels",
    ),
    Hot(
        "instruments/stream",
        f"Inception features of {PICTURES} JPEG files of {LARGE} × {LARGE}, decoding beside the network",
        large_pictures,
        streamed,
        peer=one_after_another,
        peer_name="decode, then compute",
        peer_here=True,
        goal="the network does not wait",
        repeat=1,
        slow=True,
    ),
]


def main() -> None:
    """Print how long the network waits for pictures, in full and from the cache."""
    from bench.filled import fill_network
    from evenhand.instruments.readers import PictureReader, inception_reader

    folder, paths = large_pictures()
    reader = inception_reader(image_size=512, ready=fill_network("inception-imagenet"))
    from dataclasses import replace

    for workers in (1, 2, 4):
        one = PictureReader(replace(reader.instrument, workers=workers), Path(folder.name) / f"cache-{workers}")
        waits = one.readings(paths).waits
        again = one.readings(paths).waits
        print(
            f"{workers} decoding threads: {waits.measured} pictures in {waits.seconds:.2f} s, "
            f"the network waited {waits.share:.1%}; again from the cache {again.seconds:.2f} s"
        )


if __name__ == "__main__":
    main()
