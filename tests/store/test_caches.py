"""What lies beside the runs can be listed and emptied."""

from pathlib import Path

import pytest

from evenhand.core.errors import UnknownNameError
from evenhand.store import empty_caches, list_caches
from evenhand.store.unfinished import claim


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    (tmp_path / ".cache" / "readings" / "lpips").mkdir(parents=True)
    (tmp_path / ".cache" / "readings" / "lpips" / "a.npy").write_bytes(b"12345")
    (tmp_path / ".cache" / "frames").mkdir()
    left = claim(tmp_path / "tiny" / "found" / "model", "a1b2c3d4")
    (left.folder / "part").write_bytes(b"123")
    left.release()
    finished = tmp_path / "tiny" / "found" / "model" / "e5f6a7b8"
    finished.mkdir()
    (finished / "run.json").write_text("{}")
    return tmp_path


def test_caches_and_unfinished_runs_are_listed_with_their_size(runs: Path):
    listed = list_caches(runs)
    assert [(cache.kind, cache.files, cache.bytes) for cache in listed] == [
        ("cache", 0, 0),
        ("cache", 1, 5),
        ("unfinished", 1, 3),
    ]
    assert [cache.name for cache in listed][:2] == ["frames", "readings"]
    assert listed[2].name.startswith("tiny/found/model/.a1b2c3d4.partial-")


def test_emptying_frees_what_was_listed_and_leaves_finished_runs(runs: Path):
    emptied = empty_caches(runs)
    assert emptied.bytes == 8
    assert list_caches(runs) == ()
    assert [path.name for path in runs.rglob("run.json")] == ["run.json"]


def test_one_cache_can_be_emptied_by_name(runs: Path):
    assert [cache.name for cache in empty_caches(runs, ["readings"]).removed] == ["readings"]
    assert len(list_caches(runs)) == 2
    with pytest.raises(UnknownNameError, match="no cache 'reading'"):
        empty_caches(runs, ["reading"])


def test_what_another_process_is_writing_is_left(runs: Path):
    held = claim(runs / "tiny" / "found" / "model", "a1b2c3d4")
    emptied = empty_caches(runs)
    assert [cache.in_use for cache in emptied.left] == [True]
    assert held.folder.exists()
    held.release()
    assert len(empty_caches(runs).removed) == 1


def test_a_folder_without_caches_has_none(tmp_path: Path):
    assert list_caches(tmp_path / "nowhere") == ()


def test_emptying_does_not_follow_a_link_out_of_the_folder(tmp_path: Path):
    kept = tmp_path / "elsewhere" / "kept"
    kept.parent.mkdir()
    kept.write_text("kept")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / ".cache").symlink_to(kept.parent)
    (tmp_path / "runs" / ".a1b2.partial-x").symlink_to(kept.parent)
    assert empty_caches(tmp_path / "runs").removed == ()
    (tmp_path / "runs" / ".cache").unlink()
    (tmp_path / "runs" / ".cache" / "readings").mkdir(parents=True)
    (tmp_path / "runs" / ".cache" / "frames").symlink_to(kept.parent)
    (tmp_path / "runs" / ".cache" / "readings" / "link").symlink_to(kept.parent)
    assert len(empty_caches(tmp_path / "runs").removed) == 2
    assert kept.read_text() == "kept"
