"""A disk that fills up, and a folder that can't be written: in a mount namespace of their own, gone at the end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

DRIVE = Path(__file__).parent / "drive.py"


def in_own_mounts(script: str, *arguments: object) -> str:
    """What a shell script prints that may mount what it likes; nobody else sees it."""
    owner = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = ["unshare", "--mount", *owner, "sh", "-eu", "-c", script, sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout


def test_a_full_disk_is_told_and_what_was_finished_is_kept(tmp_path: Path, tiny_data: tuple[Path, Path]):
    data, predictions = tiny_data
    (tmp_path / "runs").mkdir()
    said = in_own_mounts(
        """
        mount -t tmpfs -o size=24k evenhand "$4"
        "$0" "$1" evaluate "$2" "$3" "$4" draws=0 2>&1 || echo "exit code $?"
        find "$4" -name run.json
        TINY_LOG="$5" ; export TINY_LOG
        mount -o remount,size=32m "$4"
        "$0" "$1" evaluate "$2" "$3" "$4" draws=0 2>&1 || echo "exit code $?"
        """,
        DRIVE,
        data,
        predictions,
        tmp_path / "runs",
        tmp_path / "log",
    )
    problem, code, folder = said.splitlines()
    assert "parquet can't be written: No space left on device. The disk is full." in problem
    assert str(tmp_path / "runs") in problem
    assert code == "exit code 3"
    assert Path(folder).parent == tmp_path / "runs" / "tiny" / "found" / "model"
    computed = (tmp_path / "log").read_text().split()
    assert 0 < len(computed) < 8, "finished parts are used again"


def test_a_disk_that_fills_up_while_a_model_is_asked_keeps_the_answers(tmp_path: Path, tiny_data: tuple[Path, Path]):
    data, _ = tiny_data
    (tmp_path / "runs").mkdir()
    (tmp_path / "model.py").write_text(
        "import os\ndef half(sample):\n    open(os.environ['ASKED'], 'a').write(sample.id + '\\n')\n    return 0.5\n"
    )
    said = in_own_mounts(
        """
        mount -t tmpfs -o size=20k evenhand "$4"
        ASKED="$5" "$0" "$1" predict "$2" "$3" "$4" 2>&1 || echo "exit code $?"
        mount -o remount,size=32m "$4"
        ASKED="$6" "$0" "$1" predict "$2" "$3" "$4" 2>&1 || echo "exit code $?"
        """,
        DRIVE,
        data,
        f"{tmp_path / 'model.py'}:half",
        tmp_path / "runs",
        tmp_path / "first",
        tmp_path / "second",
    )
    problem, code, file = said.splitlines()
    assert "No space left on device" in problem
    assert code == "exit code 3"
    assert file.endswith("scores.json")
    first, second = ((tmp_path / name).read_text().split() for name in ("first", "second"))
    assert len(second) < 400
    assert set(first) | set(second) == {f"{number:05d}.jpg" for number in range(400)}


def test_a_read_only_folder_is_told_by_name(tmp_path: Path, tiny_data: tuple[Path, Path]):
    data, predictions = tiny_data
    (tmp_path / "runs").mkdir()
    said = in_own_mounts(
        """
        mount -t tmpfs -o size=1m,ro evenhand "$4"
        "$0" "$1" evaluate "$2" "$3" "$4" draws=0 2>&1 || echo "exit code $?"
        """,
        DRIVE,
        data,
        predictions,
        tmp_path / "runs",
    )
    problem, code = said.splitlines()
    assert problem.startswith(f"{tmp_path / 'runs'}")
    assert "Read-only file system. The folder is read-only. Name a folder that can be written (--runs)" in problem
    assert code == "exit code 3"


def test_a_file_where_a_folder_is_needed_is_told_by_name(tmp_path: Path, tiny_data: tuple[Path, Path]):
    data, predictions = tiny_data
    (tmp_path / "runs").write_text("not a folder")
    found = subprocess.run(
        [sys.executable, DRIVE, "evaluate", data, predictions, tmp_path / "runs"], capture_output=True, text=True
    )
    assert found.returncode == 3
    assert "There is a file where a folder is needed" in found.stderr
