"""Pipes and devices where files are expected are refused at once, by every reader of files that others wrote."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.api import settings_of
from evenhand.core.errors import EvenhandError
from evenhand.files import arrays, pickles
from evenhand.instruments.checkpoints import read_tensors
from evenhand.search.stores import open_store

READERS: dict[str, Callable[[Path], Any]] = {
    "settings.toml": settings_of,
    "a.npy": arrays.read_npy,
    "b.npy": arrays.open_npy,
    "a.npz": arrays.read_npz,
    "a.safetensors": arrays.read_safetensors,
    "a.pkl": pickles.load_plain,
    "store.npy": open_store,
    "store.parquet": open_store,
    "weights.pth": read_tensors,
    "run": eh.load,
    **{
        f"table{suffix}": lambda path: eh.evaluate("table/labels", path, options={"truth": "y", "prediction": "p"})
        for suffix in (".csv", ".tsv", ".csv.gz", ".jsonl", ".parquet", ".arrow")
    },
}


@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("name", READERS)
def test_it_is_refused(name: str, kind: str, tmp_path: Path):
    path = tmp_path / name
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(EvenhandError):
        READERS[name](path)


@pytest.mark.parametrize("family", ["fairface", "pairs", "uccs"])
def test_in_a_data_folder_it_is_refused_too(family: str, tmp_path: Path):
    made = eh.demo(family, tmp_path)[0]
    files = [made.predictions] if made.predictions.is_file() else sorted(made.predictions.rglob("*.*"))
    for path in files[:3]:
        data = path.read_bytes()
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(EvenhandError):
            eh.evaluate(made.task, made.predictions, data=made.data, options=made.options, draws=0, permutations=0)
        path.unlink()
        path.write_bytes(data)
