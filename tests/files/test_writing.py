"""Files are whole or absent, outputs never destroy inputs, and nothing is written or deleted through a link out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand.core.errors import OptionError, StorageError
from evenhand.files.writing import (
    PathPolicy,
    append_file,
    make_folder,
    open_file,
    remove,
    remove_stale,
    replace_file,
    write_file,
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


def test_a_file_replaces_its_predecessor_at_once_and_keeps_its_mode(tmp_path: Path):
    path = tmp_path / "deep" / "results.json"
    write_file(path, b"old")
    path.chmod(0o640)
    write_file(path, "new Ä")
    assert path.read_text(encoding="utf-8") == "new Ä"
    assert path.stat().st_mode & 0o777 == 0o640
    assert names(tmp_path) == ["deep", "results.json"]


@pytest.mark.parametrize("way", [open_file, replace_file])
def test_a_block_that_raises_leaves_the_previous_file_and_nothing_else(tmp_path: Path, way):
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(ValueError, match="stop"), way(path):
        raise ValueError("stop")
    assert (path.read_text(), names(tmp_path)) == ("old", ["table.csv"])


def test_a_library_gets_a_path_with_the_same_ending(tmp_path: Path):
    with replace_file(tmp_path / "picture.png") as temporary:
        assert temporary.suffix == ".png"
        temporary.write_bytes(b"pixels")
    assert (tmp_path / "picture.png").read_bytes() == b"pixels"
    assert names(tmp_path) == ["picture.png"]


def test_failures_are_told_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(StorageError, match=f"{tmp_path} can't be written: Is a directory. It is a folder"):
        write_file(tmp_path, b"")
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="There is a file where a folder is needed"):
        write_file(tmp_path / "file" / "deeper", b"")
    with pytest.raises(StorageError, match="name is too long"):
        write_file(tmp_path / ("x" * 300), b"")

    def refuse(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", refuse)
    with pytest.raises(StorageError, match=r"file can't be written: No space left on device. The disk is full"):
        write_file(tmp_path / "file", b"new")
    assert ((tmp_path / "file").read_text(), names(tmp_path)) == ("x", ["file"])


def test_a_file_that_cannot_be_read_while_another_is_written_is_not_called_unwritable(tmp_path: Path):
    with pytest.raises(FileNotFoundError), open_file(tmp_path / "copy", "wb") as file:
        file.write((tmp_path / "nowhere").read_bytes())
    assert names(tmp_path) == []


def test_what_a_killed_process_left_is_removed_by_the_next_one_and_a_living_one_is_left_alone(tmp_path: Path):
    code = (
        "import os, signal; from evenhand.files.writing import open_file\n"
        "with open_file('report.html') as f:\n f.write('half'); f.flush(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False)
    assert len(names(tmp_path)) == 1
    with open_file(tmp_path / "report.html") as first:
        first.write("first")
        write_file(tmp_path / "report.html", "second")
        remove_stale(tmp_path)
    assert ((tmp_path / "report.html").read_text(), names(tmp_path)) == ("first", ["report.html"])


def test_a_link_is_replaced_and_its_target_stays(tmp_path: Path):
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "report.html").symlink_to("secret")
    write_file(tmp_path / "report.html", "report")
    assert (tmp_path / "secret").read_text() == "secret"
    assert not (tmp_path / "report.html").is_symlink()


def test_a_device_or_pipe_is_written_and_not_replaced(tmp_path: Path):
    write_file("/dev/null", b"gone")
    assert not Path("/dev/null").is_file()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    write_file(pipe, b"through")
    assert reader.communicate()[0] == b"through"
    assert pipe.is_fifo()


class TestBelowARoot:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "kept").write_text("kept")
        (tmp_path / "root" / "inner").mkdir(parents=True)
        (tmp_path / "root" / "out").symlink_to(tmp_path / "elsewhere")
        (tmp_path / "root" / "in").symlink_to("inner")
        (tmp_path / "root" / "loop").symlink_to("loop")
        return tmp_path / "root"

    def test_nothing_is_written_or_deleted_through_a_link_out(self, root: Path):
        for action in (
            lambda: write_file(root / "out" / "new", b"", below=root),
            lambda: make_folder(root / "out" / "deep" / "er", below=root),
            lambda: remove(root / "out" / "kept", below=root),
            lambda: remove(root / "loop" / "kept", below=root),
        ):
            with pytest.raises(StorageError, match="is a link that leads out"):
                action()
        with pytest.raises(StorageError, match="lies outside"):
            remove(root / ".." / "elsewhere", below=root)
        with pytest.raises(StorageError, match="the folder itself"):
            remove(root, below=root)
        assert names(root.parent / "elsewhere") == ["kept"]

    def test_a_link_is_deleted_and_not_what_it_points_to(self, root: Path):
        remove(root / "out", below=root)
        assert not (root / "out").exists()
        assert names(root.parent / "elsewhere") == ["kept"]

    def test_a_tree_is_deleted_without_following_links_in_it(self, root: Path):
        (root / "inner" / "out").symlink_to(root.parent / "elsewhere")
        remove(root / "inner", below=root)
        remove(root / "inner", below=root)  # what is not there needs no deleting
        assert names(root.parent / "elsewhere") == ["kept"]

    def test_a_link_inside_the_root_is_followed(self, root: Path):
        write_file(root / "in" / "deep" / "new", b"new", below=root)
        assert (root / "inner" / "deep" / "new").read_bytes() == b"new"

    def test_a_journal_refuses_a_link(self, root: Path):
        (root / "asked").symlink_to(root.parent / "elsewhere" / "kept")
        with pytest.raises(StorageError), append_file(root / "asked"):
            pass
        with append_file(root / "other") as file:
            file.write("line\n")
        with append_file(root / "other") as file:
            file.write("line\n")
        assert (root / "other").read_text() == "line\nline\n"


class TestPathPolicy:
    def test_an_output_that_is_an_input_in_any_spelling_is_refused(self, tmp_path: Path):
        source = tmp_path / "scores.csv"
        source.write_text("x")
        (tmp_path / "soft.csv").symlink_to(source)
        os.link(source, tmp_path / "hard.csv")
        for spelling in (source, tmp_path / "a" / ".." / "scores.csv", tmp_path / "soft.csv", tmp_path / "hard.csv"):
            policy = PathPolicy()
            policy.reads(source, "the predictions")
            policy.writes(spelling, "the report")
            with pytest.raises(OptionError, match="is the predictions; the report would overwrite it"):
                policy.check()

    def test_an_existing_file_of_the_data_folder_is_refused_and_a_new_one_is_not(self, tmp_path: Path):
        (tmp_path / "labels.csv").write_text("x")
        policy = PathPolicy()
        policy.reads(tmp_path, "the data folder")
        policy.writes(tmp_path / "new.html", "the report")
        policy.check()
        policy.writes(tmp_path / "labels.csv", "the table")
        with pytest.raises(OptionError, match=r"is a file in .* \(the data folder\); the table would overwrite it"):
            policy.check()

    def test_two_outputs_are_two_files_and_standard_output_may_be_named_twice(self, tmp_path: Path):
        policy = PathPolicy()
        policy.writes("/dev/stdout", "the page")
        policy.writes("/dev/stdout", "the table")
        policy.writes(tmp_path / "out", "the page")
        policy.writes(None, "nothing")
        policy.check()
        policy.writes(tmp_path / "x" / ".." / "out", "the table")
        with pytest.raises(OptionError, match="named twice, for the page and for the table"):
            policy.check()
