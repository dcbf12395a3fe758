"""Folders of frames, files of features, attributes: what is read, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenhand.benchmarks.synthesis.drawn import save
from evenhand.benchmarks.synthesis.features import frame_id, read_features
from evenhand.benchmarks.synthesis.folders import read_attributes, read_frames
from evenhand.core.errors import DataError, PredictionError


def picture(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    save(str(path), np.full((8, 8, 3), 100, np.uint8))


def test_frames_are_known_by_their_path_and_videos_by_their_folder(tmp_path: Path) -> None:
    for name in ("001/b.png", "001/a.jpg", "alone.png"):
        picture(tmp_path / name)
    found = read_frames(tmp_path, DataError)
    assert found.ids == ("001/a", "001/b", "alone")
    assert [found.unit_of(name) for name in found.ids] == ["001", "001", "alone"]


def test_other_files_are_left_out_and_counted(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / ".hidden").write_text("x")
    assert "1 files are no pictures; left out (1 × .txt)" in read_frames(tmp_path, DataError).warnings[0]


def test_an_empty_folder_an_absent_one_and_two_pictures_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no picture"):
        read_frames(tmp_path, DataError)
    with pytest.raises(PredictionError, match="does not exist"):
        read_frames(tmp_path / "absent", PredictionError)
    picture(tmp_path / "a.png")
    picture(tmp_path / "a.jpg")
    with pytest.raises(DataError, match="have one name"):
        read_frames(tmp_path, DataError)


def test_features_come_with_ids_in_any_of_three_forms(tmp_path: Path) -> None:
    vectors = np.arange(6.0).reshape(2, 3)
    np.savez(tmp_path / "all.npz", ids=np.array(["x/1.png", "x/2"]), clip=vectors)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "ids.txt").write_text("x/1\nx/2\n")
    np.save(folder / "clip.npy", vectors)
    np.save(tmp_path / "clip.npy", vectors)
    (tmp_path / "clip.ids.txt").write_text("x/1\nx/2\n")
    for path in (tmp_path / "all.npz", folder, tmp_path / "clip.npy"):
        table = read_features(path, tmp_path, DataError)
        assert table.ids == ("x/1", "x/2")
        rows = table.rows("clip", [tmp_path / "x/2.png", tmp_path / "absent.png"])
        assert rows[0].tolist() == [3.0, 4.0, 5.0]
        assert np.isnan(rows[1]).all()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"clip": np.zeros((2, 3))}, "no array 'ids'"),
        ({"ids": np.array(["a", "a"]), "clip": np.zeros((2, 3))}, "the id 'a' occurs twice"),
        ({"ids": np.array(["a"]), "clip": np.zeros((2, 3))}, "2 rows of 'clip' for 1 ids"),
        ({"ids": np.array(["a"]), "clip": np.array(["x"])}, "not numbers"),
    ],
)
def test_a_file_of_features_that_does_not_fit_is_refused(
    tmp_path: Path, arrays: dict[str, np.ndarray], message: str
) -> None:
    np.savez(tmp_path / "f.npz", **arrays)
    with pytest.raises(PredictionError, match=message):
        read_features(tmp_path / "f.npz", tmp_path, PredictionError)


def test_arrays_of_objects_and_damaged_files_are_never_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", ids=np.array(["a"], dtype=object))
    (tmp_path / "g.npz").write_bytes(b"PK\x03\x04 damaged")
    for name in ("f.npz", "g.npz"):
        with pytest.raises(DataError, match=r"is no \.npz file that can be read"):
            read_features(tmp_path / name, tmp_path, DataError)


def test_attributes_belong_to_frames_or_videos(tmp_path: Path) -> None:
    path = tmp_path / "attributes.csv"
    path.write_text("video,sex\n001,female\n002,male\n")
    table = read_attributes(path, DataError)
    assert table.levels == {"sex": ("female", "male")}
    columns = table.columns(["001/a", "9/z"], ["001", "9"], table.levels)
    assert columns["sex"].member.tolist() == [[True, False], [False, False]]
    path.write_text("id,video,light\n001/a,v1,dim\n")
    table = read_attributes(path, DataError)
    assert (table.video_of, table.by_frame) == ({"001/a": "v1"}, {"001/a": {"light": "dim"}})
    path.write_text("name,sex\nx,y\n")
    with pytest.raises(DataError, match="a column 'id' or 'video' was expected; found name, sex"):
        read_attributes(path, DataError)
    path.write_text("id,sex\nx,y\nx,y\n")
    with pytest.raises(DataError, match="line 3: the id 'x' is empty or occurs twice"):
        read_attributes(path, DataError)


def test_only_the_endings_of_pictures_are_taken_off() -> None:
    assert frame_id(Path("r/a.b/frame.v2"), Path("r")) == "a.b/frame.v2"
    assert frame_id(Path("r/frame.v2.png"), Path("r")) == "frame.v2"
