"""What lies inside a folder, and what only seems to."""

from __future__ import annotations

from pathlib import Path
from threading import Thread
from time import sleep

import pytest

from evenhand.serve.folders import OutsideError, ServedFolders
from evenhand.serve.library import LRUCache


def test_a_folder_with_a_name_that_begins_alike_is_outside(tmp_path: Path) -> None:
    for name in ("data", "data-private"):
        (tmp_path / name).mkdir()
    allowed = ServedFolders.of([tmp_path / "data"])
    assert allowed.holds(tmp_path / "data" / "a.jpg")
    assert not allowed.holds(tmp_path / "data-private" / "a.jpg")
    assert not allowed.holds(tmp_path / "data" / ".." / "data-private" / "a.jpg")


def test_links_are_followed_before_they_are_judged(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
    (outside / "secret").write_text("x")
    (inside / "link").symlink_to(outside / "secret")
    (inside / "loop").symlink_to(inside / "loop")
    allowed = ServedFolders.of([inside])
    assert not allowed.holds(inside / "link")
    assert not allowed.holds(inside / "loop")
    with pytest.raises(OutsideError, match="--data"):
        allowed.check_tree(inside)


def test_a_folder_that_is_itself_a_link_may_be_named(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "disk")
    assert ServedFolders.of([tmp_path / "data"]).holds(tmp_path / "data" / "a.jpg")


def test_a_null_byte_is_no_way_out(tmp_path: Path) -> None:
    assert not ServedFolders.of([tmp_path]).holds(tmp_path / "a\0b")


def test_two_who_ask_at_the_same_time_get_one_making() -> None:
    kept = LRUCache[int](most=2)
    made: list[int] = []

    def make() -> int:
        made.append(1)
        sleep(0.05)
        return 7

    readers = [Thread(target=kept.get, args=("key", make)) for _ in range(8)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert kept.get("key", make) == 7
    assert len(made) == 1


def test_what_fails_is_not_kept() -> None:
    kept = LRUCache[int](most=2)
    with pytest.raises(ZeroDivisionError):
        kept.get("key", lambda: 1 // 0)
    assert kept.get("key", lambda: 3) == 3
