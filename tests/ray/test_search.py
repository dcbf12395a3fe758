"""Search at scale on a cluster: the same bits as here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cluster import Cluster

from evenhand.engines import parse
from evenhand.run.stores import points_of_all_pairs
from evenhand.search.enrol import Templates
from evenhand.search.one_to_many import Searched, search, search_stores
from evenhand.search.stores import open_store

pytestmark = pytest.mark.ray


def unit(count: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((count, 64), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def assert_same(found: Searched, expected: Searched) -> None:
    for name, mine, theirs in zip(Searched._fields, found, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs, err_msg=name)


def test_two_thousand_probes_in_fifty_thousand_templates(cluster: Cluster, tmp_path: Path):
    gallery, probes = unit(50_000, 1), unit(2_000, 2)
    who = np.random.default_rng(3).integers(0, 60_000, 2_000)
    engine = parse("ray")
    templates = [Templates(rows, np.ones(len(rows), np.bool_), 0) for rows in (probes, gallery)]
    in_memory = [
        search(templates[0], who, templates[1], np.arange(50_000), engine=where, largest=50)
        for where in (parse("threads:2"), engine)
    ]
    assert_same(in_memory[1], in_memory[0])
    np.save(tmp_path / "p.npy", probes)
    (tmp_path / "g").mkdir()
    for number in range(5):
        np.save(tmp_path / "g" / f"{number}.npy", gallery[number * 10_000 : (number + 1) * 10_000])
    stores = open_store(tmp_path / "p.npy"), open_store(tmp_path / "g")
    assert_same(search_stores(stores[0], who, stores[1], np.arange(50_000), engine=engine, largest=50), in_memory[0])


def test_all_pairs_by_group(cluster: Cluster, tmp_path: Path):
    np.save(tmp_path / "a.npy", unit(5_000, 4))
    person, group = np.arange(5_000) // 3, np.arange(5_000) % 4 - 1
    found = [
        points_of_all_pairs(
            open_store(tmp_path / "a.npy"), person, group, ("a", "b", "c"), (1e-4, 1e-2), engine=parse(name)
        )
        for name in ("serial", "ray")
    ]
    assert found[0] == found[1]
