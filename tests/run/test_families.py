"""Every family's demonstration, through every engine and the store: the same bytes."""

from pathlib import Path

import pytest

from evenhand import engines, registry, store
from evenhand.run import evaluate
from evenhand.store.runs import results_json


@pytest.mark.slow
@pytest.mark.parametrize("family", registry.names(registry.BENCHMARKS))
def test_a_family_has_the_same_results_on_every_engine(tmp_path: Path, family: str):
    benchmark = registry.benchmark(family)
    assert benchmark.demo is not None
    for demo in benchmark.demo(tmp_path / "demo"):
        task = registry.task(demo.task)
        few = {"options": demo.options, "draws": 20, "permutations": 20}
        alone = results_json(evaluate(task, demo.predictions, demo.data, **few).results)
        for name in ("threads:2", "processes:2"):
            runs = tmp_path / name.replace(":", "-")
            run = evaluate(task, demo.predictions, demo.data, engine=engines.parse(name), runs=runs, **few)
            assert results_json(run.results) == alone, (demo.task, name)
            assert results_json(store.open_run(run.folder).results) == alone
