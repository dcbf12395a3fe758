"""Files and folders that are whole or absent, and who may write them."""

from pathlib import Path

import pytest

from evenhand.core.errors import StorageError
from evenhand.files.writing import write_file
from evenhand.store.unfinished import claim, lock_folder, unfinished


def test_a_file_replaces_its_predecessor_at_once(tmp_path: Path):
    path = tmp_path / "results.json"
    write_file(path, b"old")
    write_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_leaves_its_predecessor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "results.json"
    write_file(path, b"old")

    def refuse(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", refuse)
    with pytest.raises(StorageError, match="The disk is full"):
        write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_published_folder_has_its_name_and_all_its_files(tmp_path: Path):
    held = claim(tmp_path, "a1b2")
    (held.folder / "run.json").write_text("{}")
    assert held.publish(tmp_path / "a1b2")
    assert [path.name for path in tmp_path.rglob("*")] == ["a1b2", "run.json"]


def test_two_claims_on_one_run_get_two_folders_and_the_first_wins(tmp_path: Path):
    first, second = claim(tmp_path, "a1b2"), claim(tmp_path, "a1b2")
    assert first.folder != second.folder
    for held in (first, second):
        (held.folder / "run.json").write_text(held.folder.name)
    assert first.publish(tmp_path / "a1b2")
    assert not second.publish(tmp_path / "a1b2")
    second.discard()
    assert (tmp_path / "a1b2" / "run.json").read_text() == first.folder.name
    assert unfinished(tmp_path, "a1b2") == []


def test_what_a_dead_process_left_is_taken_over_and_surplus_is_removed(tmp_path: Path):
    first, second = claim(tmp_path, "a1b2"), claim(tmp_path, "a1b2")
    for held in (first, second):
        (held.folder / "part").write_text("finished")
        held.release()
    taken = claim(tmp_path, "a1b2")
    assert taken.adopted
    assert (taken.folder / "part").exists()
    assert unfinished(tmp_path, "a1b2") == [taken.folder]


def test_the_folder_of_another_run_is_not_taken(tmp_path: Path):
    other = claim(tmp_path, "a1b2")
    other.release()
    assert not claim(tmp_path, "c3d4").adopted


def test_a_replaced_run_makes_room_only_when_its_successor_is_whole(tmp_path: Path):
    first = claim(tmp_path, "a1b2")
    (first.folder / "run.json").write_text("old")
    first.publish(tmp_path / "a1b2")
    second = claim(tmp_path, "a1b2")
    (second.folder / "run.json").write_text("new")
    assert (tmp_path / "a1b2" / "run.json").read_text() == "old"
    assert second.publish(tmp_path / "a1b2", replace=True)
    assert (tmp_path / "a1b2" / "run.json").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["a1b2"]


def test_a_lock_on_what_is_gone_is_none(tmp_path: Path):
    assert lock_folder(tmp_path / "nowhere") is None


def test_an_emptied_claim_is_still_held(tmp_path: Path):
    held = claim(tmp_path, "a1b2")
    (held.folder / "deep").mkdir()
    (held.folder / "deep" / "file").write_text("x")
    held.empty()
    assert list(held.folder.iterdir()) == []
    assert lock_folder(held.folder) is None


def test_the_temporary_file_of_a_dead_process_is_not_published(tmp_path: Path):
    dead = claim(tmp_path, "a1b2")
    (dead.folder / "records").mkdir()
    for name in (".results.0123abcd.partial.json", "records/.part-0000.89abcdef.partial.parquet", "records/.keep"):
        (dead.folder / name).write_text("half")
    dead.release()
    assert claim(tmp_path, "a1b2").publish(tmp_path / "a1b2")
    assert sorted(path.name for path in (tmp_path / "a1b2").rglob("*")) == [".keep", "records"]


def test_a_link_planted_as_unfinished_run_is_not_taken_over(tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / ".a1b2.partial-x").symlink_to(tmp_path / "elsewhere")
    assert not claim(tmp_path / "runs", "a1b2").adopted
    assert lock_folder(tmp_path / "runs" / ".a1b2.partial-x") is None


def test_links_inside_what_is_taken_over_are_removed(tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    planted = tmp_path / "runs" / ".a1b2.partial-x"
    (planted / "deep").mkdir(parents=True)
    for link in (planted / "records", planted / "deep" / "records"):
        link.symlink_to(tmp_path / "elsewhere")
    taken = claim(tmp_path / "runs", "a1b2")
    assert taken.adopted
    assert sorted(path.name for path in taken.folder.rglob("*")) == ["deep"]
    assert (tmp_path / "elsewhere").is_dir()
