"""The page of measurements: made from the numbers beside it, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

from bench import document

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_measurements_says_what_its_numbers_say(tmp_path: Path) -> None:
    shutil.copytree(DOCS / "measured", tmp_path / "measured")
    for figure in (tmp_path / "measured").glob("*.svg"):
        figure.unlink()
    page = tmp_path / "measured.md"
    document.write(page, [], {})
    assert page.read_text(encoding="utf-8") == (DOCS / "measured.md").read_text(encoding="utf-8")
    for name in ("peers", "bounds", "scaling"):
        figure = tmp_path / "measured" / f"{name}.svg"
        assert figure.read_text(encoding="utf-8") == (DOCS / "measured" / figure.name).read_text(encoding="utf-8")


def test_rows_of_an_earlier_day_or_another_machine_say_so(tmp_path: Path) -> None:
    side = {"seconds": 2.0, "cpu_seconds": 1.0, "peak_mb": 10.0}
    row = {
        "name": "core/sum",
        "what": "a sum",
        "goal": "",
        "peer_name": "NumPy",
        "ours": side,
        "peer": side,
        "ratio": 1.0,
    }
    page = tmp_path / "measured.md"
    document.write(page, [row], {})
    known = document.keep(tmp_path / "measured", [], {})
    known["rows"]["core/sum"] |= {"date": "2020-01-01", "machine": {**known["machine"], "processor": "Old Chip"}}
    (tmp_path / "measured" / "measured.json").write_text(document.json.dumps(known))
    document.write(page, [{**row, "name": "core/product"}], {})
    lines = page.read_text(encoding="utf-8").splitlines()
    (earlier,) = (line for line in lines if "**sum**" in line)
    (now,) = (line for line in lines if "**product**" in line)
    assert "Measured on 2020-01-01 on Old Chip" in earlier
    assert "Measured on" not in now
