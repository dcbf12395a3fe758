"""A run folder that wants other files to be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.errors import RunError
from evenhand.files.inputs import content_hash
from evenhand.store.plain import from_plain
from evenhand.store.runs import RecordedParts, read_parts


@pytest.mark.parametrize("kind", ["", "sha256:", "blake3:", "sha256:sha256:"])
@pytest.mark.parametrize("digits", ["", "xyz", content_hash(b"secret"), "0" * 64])
def test_a_part_is_read_only_when_its_hash_is_that_of_the_content(tmp_path: Path, kind: str, digits: str) -> None:
    (tmp_path / "part-0000.parquet").write_bytes(b"rows")
    part = {"name": "part-0000.parquet", "hash": kind + digits, "rows": 1}
    recorded = from_plain({"fingerprint": "0", "parts": [part]}, RecordedParts)
    with pytest.raises(RunError, match="its content has changed"):
        next(read_parts(tmp_path, recorded))


@pytest.mark.parametrize("name", ["../secret.parquet", "/etc/hostname", "..", "", "a\\b"])
def test_a_part_outside_the_folder_is_not_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.parquet").write_bytes(b"secret")
    records = tmp_path / "records"
    records.mkdir()
    part = {"name": name, "hash": content_hash(b"secret"), "rows": 1}
    recorded = from_plain({"fingerprint": "0", "parts": [part]}, RecordedParts)
    with pytest.raises(RunError, match="no file beside it"):
        next(read_parts(records, recorded))
