"""The copy of the official file beside its results."""

from pathlib import Path

import pytest

from evenhand.core.errors import PredictionError
from evenhand.files import inputs
from evenhand.store.runs import store_submission


def test_a_folder_is_copied_with_its_layout(tmp_path: Path):
    submission = tmp_path / "submission"
    (submission / "gallery").mkdir(parents=True)
    for name in ("scores.csv", "gallery/1.csv"):
        (submission / name).write_text(name)
    facts = [inputs.hash_of(path) for path in (submission / "scores.csv", submission / "gallery" / "1.csv")]
    assert store_submission(facts, submission, tmp_path / "copy")
    assert (tmp_path / "copy" / "gallery" / "1.csv").read_text() == "gallery/1.csv"
    assert (tmp_path / "copy" / "scores.csv").read_text() == "scores.csv"


def test_a_file_that_changed_since_it_was_read_is_refused(tmp_path: Path):
    path = tmp_path / "scores.csv"
    path.write_text("before")
    fact = inputs.hash_of(path)
    path.write_text("after")
    with pytest.raises(PredictionError, match=r"scores\.csv was changed while it was being evaluated"):
        store_submission([fact], path, tmp_path / "copy")


def test_files_of_the_same_name_from_two_places_are_not_mixed_up(tmp_path: Path):
    facts = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "scores.csv").write_text(folder)
        facts.append(inputs.hash_of(tmp_path / folder / "scores.csv"))
    assert not store_submission(facts, tmp_path / "list.toml", tmp_path / "copy")


def test_frames_that_were_not_hashed_are_not_copied(tmp_path: Path):
    (tmp_path / "frame.png").write_bytes(b"pixels")
    assert not store_submission([inputs.stamp(tmp_path / "frame.png")], tmp_path, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
