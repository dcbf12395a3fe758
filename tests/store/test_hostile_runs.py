"""A run folder that wants other files to be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.core.errors import RunError
from evenhand.files.inputs import content_hash
from evenhand.store.plain import from_plain
from evenhand.store.runs import RecordedParts, read_parts


@pytest.mark.parametrize("name", ["../secret.parquet", "/etc/hostname", "..", "", "a\\b"])
def test_a_part_outside_the_folder_is_not_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.parquet").write_bytes(b"secret")
    records = tmp_path / "records"
    records.mkdir()
    part = {"name": name, "hash": content_hash(b"secret"), "rows": 1}
    recorded = from_plain({"fingerprint": "0", "parts": [part]}, RecordedParts)
    with pytest.raises(RunError, match="no file beside it"):
        next(read_parts(records, recorded))
