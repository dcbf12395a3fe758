"""Every verb takes runs of every kind of table, and of a task that is registered nowhere."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx
import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.benchmarks.table.tasks import labels
from evenhand.cli.main import main
from evenhand.serve import AccessPolicy, ServeSettings, make_app
from evenhand.serve.listing import key_of

ROWS = 300
LABELS = {"truth": "class", "prediction": "predicted", "unit": "subject"}
ASKED: Mapping[str, Mapping[str, str]] = {
    "labels": LABELS,
    "scores": {"truth": "class", "score": "score", "unit": "subject", "weight": "weight"},
    "numbers": {"truth": "size", "prediction": "measured", "unit": "subject", "tolerance": "0.5"},
    "pairs": {"truth": "same", "score": "score", "unit": "subject", "unit_b": "other"},
    "values": {"value": "score", "unit": "subject"},
    "nowhere": LABELS,
}

TITLES = {
    "labels": "Accuracy", "scores": "Brier score", "numbers": "Mean absolute error", "pairs": "TAR at FAR 0.1",
    "values": "score", "nowhere": "accuracy", "detection": "AP75",
}  # fmt: skip


def table(seed: int) -> pl.DataFrame:
    given, made = np.random.default_rng(0), np.random.default_rng(seed)
    subject, same = given.integers(0, 60, ROWS), given.integers(0, 2, ROWS)
    other, size = np.where(same == 1, subject, (subject + 1) % 60), given.normal(size=ROWS)
    score = np.clip(0.25 + 0.5 * same + made.normal(0, 0.25, ROWS), 0, 1)
    groups = {f"race{end}": np.array(["A", "B", "C"])[who % 3] for end, who in (("_a", subject), ("_b", other))}
    return pl.DataFrame(
        {
            "subject": subject, "other": other, "same": same, "class": np.array(["cat", "dog"])[same], "score": score,
            "predicted": np.array(["cat", "dog"])[(score > 0.5).astype(int)], "size": size,
            "weight": given.random(ROWS), "measured": size + made.normal(size=ROWS) / 2, **groups,
        }
    )  # fmt: skip


def detections(folder: Path, model: str) -> Path:
    """COCO files of one model; the ground truth and the groups are the same for all."""
    made = np.random.default_rng(1 if model == "v1" else 2)
    boxes = [{"image_id": n // 2, "category_id": 1, "bbox": [20 * (n % 2), 0, 10, 10]} for n in range(60)]
    truth = {"images": [{"id": n} for n in range(30)], "categories": [{"id": 1}]}
    truth["annotations"] = [{"id": n, **box} for n, box in enumerate(boxes)]
    results = [{**box, "score": float(made.random())} for box in boxes if made.random() < 0.8]
    for name, document in (("truth", truth), (model, results)):
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    lines = ["annotation_id,tone", *(f"{n},{'dark' if n % 3 else 'light'}" for n in range(60))]
    (folder / "groups.csv").write_text("\n".join(lines), encoding="utf-8")
    return folder / f"{model}.json"


def two_runs(folder: Path, task: str) -> list[Path]:
    asked: dict[str, Any] = {"draws": 20, "permutations": 20, "runs": folder / "runs", "options": ASKED.get(task)}
    folders = []
    for model in ("v1", "v2"):
        file = folder / f"{model}.csv"
        asked["by"] = ["race" if task == "pairs" else "race_a"]
        if task == "detection":
            file = detections(folder, model)
            asked |= {"data": folder / "truth.json", "by": ["tone"], "options": {"groups": folder / "groups.csv"}}
        else:
            table(1 if model == "v1" else 2).write_csv(file)
        own = replace(labels, name="nowhere/labels") if task == "nowhere" else f"table/{task}"
        run = eh.evaluate(own, file, **asked)
        assert run.folder is not None
        folders.append(run.folder)
    return folders


def command(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        sys.exit(main([str(argument) for argument in arguments]))
    return int(ended.value.code or 0)


@pytest.mark.parametrize("task", [*ASKED, "detection"])
def test_every_verb_takes_runs_of_every_kind_of_table(tmp_path: Path, capsys: Any, task: str) -> None:
    first, second = two_runs(tmp_path, task)
    for form in ("html", "csv", "markdown"):
        assert command("report", first, second, "-o", tmp_path / f"report.{form}", "--format", form) == 0
    assert TITLES[task] in (tmp_path / "report.markdown").read_text(encoding="utf-8")
    assert command("compare", first, second, "--draws", "20", "--page", tmp_path / "both.html") == 0
    assert command("diff", first, second, "--page", tmp_path / "why.html") == 0
    assert command("explain", first) == 0
    capsys.readouterr()
    few = ("--limit", "3") if task == "pairs" else ("--worst", "3")  # a pair alone is neither good nor bad
    assert command("rows", first, *few) == 0
    shown = capsys.readouterr().out
    assert re.search(r"\b3\b.*\bof [\d,]+", shown)
    assert task != "labels" or ("cat" in shown and "dog" in shown)  # classes, not their codes
    app = make_app(ServeSettings(tmp_path / "runs", (), draws=20), AccessPolicy.on_loopback(8765))
    runs = [key_of(folder, tmp_path / "runs") for folder in (first, second)]
    query = f"run={runs[0]}&run={runs[1]}"
    for page in ("/", f"/run/{runs[0]}", f"/run/{runs[0]}/row/0", f"/compare/found?{query}", f"/diff/found?{query}"):
        answer = anyio.run(_asked, app, page)
        assert answer.status_code == 200, (page, answer.text[:300])


async def _asked(app: Any, page: str) -> httpx.Response:
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as client:
        return await client.get(page)
