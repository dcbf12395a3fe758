"""Every family's demonstration on a cluster: the same bytes as one part after the other."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster import Cluster
from demos import quick_options

from evenhand import engines, registry
from evenhand.run import evaluate
from evenhand.store.runs import RESULTS

pytestmark = pytest.mark.ray


def test_every_family_has_the_same_results_on_a_cluster(cluster: Cluster, tmp_path: Path):
    engine = engines.parse("ray")
    seen = 0
    for family in registry.names(registry.BENCHMARKS):
        benchmark = registry.benchmark(family)
        assert benchmark.demo is not None
        for demo in benchmark.demo(tmp_path / "data" / family):
            found = []
            for name, where in (("serial", engines.parse("serial")), ("ray", engine)):
                run = evaluate(
                    registry.task(demo.task),
                    demo.predictions,
                    demo.data,
                    options=quick_options(demo, "lps"),
                    draws=10,
                    permutations=10,
                    depth=1,
                    engine=where,
                    runs=tmp_path / name,
                )
                assert run.folder is not None
                found.append((run.folder / RESULTS).read_bytes())
            assert found[0] == found[1], demo.task
            seen += 1
    assert seen >= len(registry.names(registry.BENCHMARKS))
