"""Films to look at, and films as predictions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenhand.benchmarks.synthesis.drawn import save
from evenhand.benchmarks.synthesis.films import write_film
from evenhand.core.errors import DataError, OptionError, StorageError
from evenhand.instruments.films import open_film
from evenhand.instruments.pictures import load


def pictures(folder: Path, count: int, side: int = 32) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number}.png" for number in range(count)]
    for number, path in enumerate(paths):
        save(str(path), np.full((side, side, 3), 60 + 20 * number, np.uint8))
    return paths


@pytest.mark.parametrize("sources", [1, 2, 3, 4, 8, 9])
def test_every_source_is_shown(tmp_path: Path, sources: int) -> None:
    shown = pictures(tmp_path / "sources", sources)
    motion = pictures(tmp_path / "motion", 3)
    assert write_film(tmp_path / "film.mp4", shown, motion, motion[:2], height=128) == 2
    first = load(open_film(tmp_path / "film.mp4").frames[0]).pixels
    grid = first[:, : -2 * 128 - 2 * 10 - first.shape[1] % 2].mean(axis=2)
    levels = {round((value - 60) / 20) for value in np.unique(np.round(grid[grid > 50] / 20) * 20)}
    assert set(range(sources)) <= levels


def test_a_film_is_a_folder_of_frames_with_running_numbers(tmp_path: Path) -> None:
    motion = pictures(tmp_path / "motion", 3)
    write_film(tmp_path / "film.mp4", motion[:1], motion, motion, height=64)
    frames = open_film(tmp_path / "film.mp4").frames
    assert [path.name for path in frames] == [f"{number:08d}" for number in range(3)]
    for order in (frames, frames[::-1]):  # also backwards, which begins the film again
        assert sorted(round(float(load(path).pixels[32, -20].mean()), -1) for path in order) == [60, 80, 100]
    with pytest.raises(DataError, match="this frame of the film can't be read"):
        load(frames[0].with_name("00000099"))


def test_what_is_no_film_and_what_can_not_be_one_is_named(tmp_path: Path) -> None:
    motion = pictures(tmp_path / "motion", 1)
    (tmp_path / "text.mp4").write_text("no film")
    with pytest.raises(DataError, match=r"text\.mp4: no frame can be read"):
        open_film(tmp_path / "text.mp4")
    with pytest.raises(DataError, match="there is no such film"):
        open_film(tmp_path / "absent.mp4")
    with pytest.raises(OptionError, match="one of them is empty"):
        write_film(tmp_path / "a.mp4", [], motion, motion)
    with pytest.raises(OptionError, match="at least 16"):
        write_film(tmp_path / "a.mp4", motion, motion, motion, height=4)
    with pytest.raises(StorageError, match=r"OpenCV can't write a film"):
        write_film(tmp_path / "a.unknown", motion, motion, motion, height=32)
