"""Streams, caches and problems: what can't be measured is named, and nothing else is lost."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from evenhand.core.errors import OptionError, StorageError
from evenhand.instruments.comparers import ms_ssim_comparer, psnr_comparer, ssim_comparer
from evenhand.instruments.errors import PictureError
from evenhand.instruments.pictures import AS_IT_IS, HIS_EVALUATORS, Loading
from evenhand.instruments.readers import PictureReader
from evenhand.instruments.readings import SHARD, Instrument, Pictures, ReadingCache, measure

SMALL = HIS_EVALUATORS.at(16, 16)


def pictures(folder: Path, count: int, size: int = 16) -> list[Path]:
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{number:03}.png" for number in range(count)]
    for number, path in enumerate(paths):
        Image.fromarray(np.full((size, size, 3), number, np.uint8)).save(path)
    return paths


class Means:
    """A stand-in for a network: the mean of each picture; remembers how many it was given at a time."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def __call__(self, jobs: Sequence[Pictures]) -> np.ndarray:
        self.batches.append(len(jobs))
        return np.array([[job[0].pixels.mean(), 1.0] for job in jobs], dtype=np.float32)

    def reader(self, cache: Path | None = None, batch: int = 4, fingerprint: str = "means") -> PictureReader:
        return PictureReader(Instrument(fingerprint, SMALL, 2, together=self, batch=batch, workers=2), cache)


def test_pictures_come_back_in_the_order_they_were_asked_in_full_batches(tmp_path: Path) -> None:
    paths, means = pictures(tmp_path, 11), Means()
    values = means.reader().read(paths[::-1])
    assert values[:, 0].tolist() == list(range(10, -1, -1))
    assert means.batches == [4, 4, 3]


def test_the_same_bytes_are_measured_once_under_any_name(tmp_path: Path) -> None:
    paths, means = pictures(tmp_path, 2), Means()
    twin = tmp_path / "twin.png"
    twin.write_bytes(paths[1].read_bytes())
    readings = means.reader().readings([paths[0], paths[1], twin, paths[1], paths[0]])
    assert readings.values[:, 0].tolist() == [0, 1, 1, 1, 0]
    assert sum(means.batches) == 2
    assert (readings.waits.measured, readings.waits.remembered) == (2, 3)


def test_bad_pictures_are_named_and_counted_and_nothing_else_is_lost(tmp_path: Path) -> None:
    paths = pictures(tmp_path, 6)
    paths[1].write_bytes(b"")
    paths[4].write_bytes(paths[4].read_bytes()[:60])
    asked = [*paths, tmp_path / "absent.png"]
    readings = Means().reader().readings(asked)
    assert readings.positions.tolist() == [0, 2, 3, 5]
    assert readings.values[:, 0].tolist() == [0, 2, 3, 5]
    assert [problem.position for problem in readings.problems] == [1, 4, 6]
    assert "zero bytes" in readings.problems[0].reason
    assert all(problem.picture.endswith(".png") for problem in readings.problems)
    with pytest.raises(PictureError, match=r"001\.png: .*This and 2 more of 7 can't be measured by means"):
        Means().reader().read(asked)


def test_a_copy_of_a_bad_picture_is_bad_for_the_same_reason(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(b"no picture")
    readings = Means().reader().readings([tmp_path / "a.png", tmp_path / "b.png"])
    assert [problem.picture[-5:] for problem in readings.problems] == ["a.png", "b.png"]
    assert len({problem.reason for problem in readings.problems}) == 1


def test_a_picture_that_the_instrument_refuses_does_not_take_its_batch_along(tmp_path: Path) -> None:
    paths = pictures(tmp_path, 5)

    def fussy(jobs: Sequence[Pictures]) -> np.ndarray:
        for (picture,) in jobs:
            if picture.pixels[0, 0, 0] == 3:
                raise PictureError(picture.name, "is the third.")
        return np.array([[job[0].pixels.mean()] for job in jobs], dtype=np.float32)

    reader = PictureReader(Instrument("fussy", SMALL, 1, together=fussy, batch=8))
    readings = reader.readings(paths)
    assert readings.values[:, 0].tolist() == [0, 1, 2, 4]
    assert readings.problems[0].reason == "is the third."


def test_readings_are_kept_by_content_and_fingerprint(tmp_path: Path) -> None:
    paths, cache = pictures(tmp_path / "in", 5), tmp_path / "cache"
    first = Means()
    expected = first.reader(cache).read(paths)
    again = Means()
    moved = paths[0].rename(tmp_path / "in" / "moved.png")
    readings = again.reader(cache).readings([moved, *paths[1:]])
    assert np.array_equal(readings.values, expected)
    assert again.batches == []
    assert readings.waits.remembered == 5
    other = Means()
    other.reader(cache, fingerprint="means of other weights").read([moved])
    assert other.batches == [1]
    Image.fromarray(np.full((16, 16, 3), 99, np.uint8)).save(moved)
    changed = Means()
    assert changed.reader(cache).read([moved, paths[1]])[:, 0].tolist() == [99, 1]
    assert changed.batches == [1]


def test_what_was_read_before_an_error_is_kept(tmp_path: Path) -> None:
    paths = pictures(tmp_path / "in", 4)

    def breaks(jobs: Sequence[Pictures]) -> np.ndarray:
        if jobs[0][0].pixels[0, 0, 0] >= 2:
            raise RuntimeError("the network broke")
        return np.zeros((len(jobs), 2), np.float32)

    reader = PictureReader(Instrument("means", SMALL, 2, together=breaks, batch=2), tmp_path / "cache")
    with pytest.raises(RuntimeError, match="the network broke"):
        reader.readings(paths)
    means = Means()
    means.reader(tmp_path / "cache").read(paths)
    assert sum(means.batches) == 2


def test_a_damaged_shard_is_read_again(tmp_path: Path) -> None:
    paths, cache = pictures(tmp_path / "in", 3), tmp_path / "cache"
    Means().reader(cache).read(paths)
    for shard in cache.rglob("*.values.npy"):
        shard.write_bytes(shard.read_bytes()[:50])
    means = Means()
    assert means.reader(cache).read(paths)[:, 0].tolist() == [0, 1, 2]
    assert sum(means.batches) == 3


def test_a_cache_says_when_it_can_not_be_written(tmp_path: Path) -> None:
    cache = ReadingCache(tmp_path, "x")
    cache.add({"k": np.ones(2)})
    assert len(ReadingCache(tmp_path, "x")) == 0
    cache.flush()
    assert len(ReadingCache(tmp_path, "x")) == 1
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="There is a file where a folder is needed"):
        ReadingCache(tmp_path / "file", "x").add({str(number): np.ones(2) for number in range(SHARD)})


def test_pictures_are_decoded_while_the_network_works(tmp_path: Path) -> None:
    paths = pictures(tmp_path, 12)
    seen: list[str] = []

    def slow(jobs: Sequence[Pictures]) -> np.ndarray:
        seen.extend(thread.name for thread in threading.enumerate() if thread.name.startswith("pictures"))
        time.sleep(0.02)
        return np.zeros((len(jobs), 1), np.float32)

    readings = PictureReader(Instrument("slow", SMALL, 1, together=slow, batch=2, workers=2)).readings(paths)
    assert seen, "no thread was decoding while the network worked"
    assert 0.0 <= readings.waits.share < 0.9


def test_readers_and_comparers_have_fingerprints() -> None:
    assert Means().reader().fingerprint == "means"
    assert ssim_comparer(loading=SMALL).fingerprint == "ssim:his_evaluators|his_evaluators:opencv:16x16:opencv-linear"


def test_no_pictures_give_no_rows(tmp_path: Path) -> None:
    assert Means().reader(tmp_path).read([]).shape == (0, 2)
    assert ssim_comparer(loading=SMALL).compare([], []).shape == (0,)


def test_comparers_keep_their_numbers_to_the_last_bit(tmp_path: Path) -> None:
    paths = pictures(tmp_path / "in", 4)
    for comparer in (ssim_comparer, psnr_comparer):
        fresh = comparer(loading=SMALL, cache=tmp_path / "cache").compare(paths, paths[::-1])
        kept = comparer(loading=SMALL, cache=tmp_path / "cache").compare(paths, paths[::-1])
        assert np.array_equal(fresh, kept)


def test_pairs_of_unequal_size_are_named_when_each_keeps_its_own(tmp_path: Path) -> None:
    one, two = pictures(tmp_path / "a", 3, 16), pictures(tmp_path / "b", 2, 20) + pictures(tmp_path / "c", 3, 16)[2:]
    readings = ssim_comparer(loading=Loading("own", AS_IT_IS.decoder)).comparisons(one, two)
    assert readings.positions.tolist() == [2]
    assert "16 × 16 against 20 × 20" in readings.problems[0].reason
    assert "a/000.png and " in readings.problems[0].picture


def test_as_many_pictures_are_needed_on_both_sides(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="2 pictures against 1"):
        psnr_comparer(loading=SMALL).compare(pictures(tmp_path, 2), pictures(tmp_path, 1))


def test_an_infinite_psnr_stays_infinite(tmp_path: Path) -> None:
    paths = pictures(tmp_path / "in", 2)
    comparer = psnr_comparer(loading=SMALL, cache=tmp_path)
    assert np.isinf(comparer.compare(paths, paths)).all()
    assert np.isinf(comparer.compare(paths, paths)).all()


def test_multi_scale_ssim_can_be_asked_for_by_name(tmp_path: Path) -> None:
    paths = pictures(tmp_path, 1, 200)
    assert ms_ssim_comparer("piq", loading=HIS_EVALUATORS.at(192, 192)).compare(paths, paths) == pytest.approx(1.0)
    with pytest.raises(OptionError, match="ms_ssim:wang2003"):
        ms_ssim_comparer("none")


def test_a_file_that_never_ends_is_named_and_the_others_are_measured(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.png" for number in range(4)]
    for number in (0, 1, 3):
        Image.fromarray(np.full((8, 8, 3), 10 * number, np.uint8)).save(paths[number])
    os.mkfifo(paths[2])  # a pipe that nobody writes to: reading it blocks

    def mean(job: Pictures) -> list[float]:
        return [float(job[0].pixels.mean())]

    for workers in (1, 3):
        instrument = Instrument("mean", AS_IT_IS, 1, alone=mean, workers=workers, limit=0.3)
        found = measure(instrument, [(path,) for path in paths], ReadingCache(None, "mean"))
        assert found.positions.tolist() == [0, 1, 3]
        assert found.values[:, 0].tolist() == [0.0, 10.0, 30.0]
        (problem,) = found.problems
        assert problem.picture == str(paths[2])
        assert "is a pipe" in problem.reason


def test_a_run_of_frames_is_looked_at_once(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from evenhand.instruments.architectures import ReadyNetwork
    from evenhand.instruments.readers import clip_reader

    paths = []
    for number in range(4):
        paths.append(tmp_path / f"{number}.png")
        Image.fromarray(np.full((8, 8, 3), 40 * number, np.uint8)).save(paths[-1])
    asked = []

    class Network(torch.nn.Module):
        def forward(self, batch: Any) -> Any:
            asked.append(tuple(batch.shape))
            return batch.mean(dim=(1, 2, 3, 4)).repeat(400)[None]

    for _ in range(2):
        reader = clip_reader(cache=tmp_path / "cache", ready=ReadyNetwork(Network(), "counted", "cpu"))
        vectors = reader.read_clips([paths[:2], paths[2:]])
    assert asked == [(1, 3, 2, 224, 224)] * 2
    assert vectors[:, 0] == pytest.approx([20 / 127.5 - 1, 100 / 127.5 - 1], abs=1e-6)
