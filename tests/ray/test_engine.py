"""The engine on a real cluster behaves as the others do."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import parts
import pytest
from cluster import Cluster, free_port

from evenhand.core.engine import Done, Failed, finished
from evenhand.core.errors import DataError, EngineError, MissingExtraError, OptionError, PartError
from evenhand.engines import parse
from evenhand.engines.ray_cluster import worker
from evenhand.engines.ray_cluster.joining import compare, join

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def engine(cluster: Cluster):
    return parse("ray")


def test_outcomes_come_in_the_order_of_parts(engine):
    assert list(engine.map(parts.unequally_slow, range(9))) == [Done(part, part) for part in range(9)]


def test_no_parts_give_no_outcomes(engine):
    assert list(engine.map(parts.square, [])) == []


def test_a_part_that_always_raises_is_reported_with_its_cause_and_the_rest_is_kept(engine):
    outcomes = list(engine.map(parts.troubled, ["a", "raise", "b"]))
    assert [type(outcome) for outcome in outcomes] == [Done, Failed, Done]
    assert outcomes[1].cause == "ValueError: picture 7 is damaged"
    assert "Traceback" in outcomes[1].detail


def test_what_is_set_up_and_shared_is_at_hand(engine):
    found = list(finished(engine.map(parts.with_place, range(5), setup=parts.load_model, shared=[np.arange(5.0)])))
    assert found == [(part, float(part), "a model") for part in range(5)]


def test_a_large_shared_array_is_a_read_only_view_of_the_object_store(engine):
    shared = np.arange(200_000.0)
    assert list(finished(engine.map(parts.owns_its_data, [0], shared=[shared]))) == [(False, False)]


def test_a_failing_set_up_is_told_once_and_not_per_part(engine):
    with pytest.raises(PartError, match=r"could not be set up \(RuntimeError: no weights here"):
        list(engine.map(parts.square, range(100), setup=parts.load_nothing))


def test_an_error_of_ours_in_the_set_up_stays_what_it_is(engine):
    with pytest.raises(DataError, match=r"weights\.bin is empty"):
        list(engine.map(parts.square, range(3), setup=parts.load_bad_data))


def test_a_bounded_number_of_parts_is_on_its_way(engine):
    taken = []

    def endless():
        for part in range(10**9):
            taken.append(part)
            yield part

    outcomes = engine.map(parts.square, endless())
    assert next(outcomes) == Done(0, 0)
    outcomes.close()
    assert len(taken) <= 9


def test_both_nodes_work(engine):
    seen = set()

    def until_both_were_seen():
        for part in range(300):
            if len(seen) == 2:
                return
            yield part

    for process in finished(engine.map(parts.slow_where, until_both_were_seen())):
        seen.add(process)
    assert len(seen) == 2


def test_a_part_that_hangs_is_stopped_and_the_others_go_on(engine):
    outcomes = list(engine.map(parts.troubled, ["a", "hang", "b", "c"], time_limit=1.0))
    assert [getattr(outcome, "value", None) for outcome in outcomes] == ["a", None, "b", "c"]
    assert outcomes[1].cause == "took longer than 1 s and was stopped"


def test_a_part_that_ends_its_worker_is_tried_again_and_then_named(engine):
    outcomes = list(engine.map(parts.troubled, ["a", "kill", "b"]))
    assert [getattr(outcome, "value", None) for outcome in outcomes] == ["a", None, "b"]
    assert "its worker was lost 3 times" in outcomes[1].cause
    assert "may have run out of memory" in outcomes[1].cause


def test_a_part_that_is_lost_once_is_done_by_another_worker(engine, tmp_path: Path):
    outcomes = list(engine.map(parts.dies_the_first_time, [str(tmp_path / "been here"), str(tmp_path / "and here")]))
    assert outcomes == [Done(0, "done"), Done(1, "done")]


def test_a_part_that_needs_more_memory_than_there_is_fails_alone(engine):
    first, second = engine.map(parts.greedy, [1 << 60, 8])
    assert "MemoryError" in first.cause
    assert second == Done(1, 8)


def test_every_part_has_one_thread_of_linear_algebra(engine):
    assert list(finished(engine.map(parts.threads_of_blas, range(2)))) == [1, 1]


def test_products_have_the_same_bits_as_here(engine):
    here = list(finished(parse("serial").map(parts.product, range(3))))
    assert list(finished(engine.map(parts.product, range(3)))) == here


def test_parts_are_told_of_before_their_turn(engine, tmp_path: Path):
    heard = []
    listening = engine.with_listener(lambda outcome: heard.append(outcome.part))
    work = [(number, str(tmp_path / "marker")) for number in range(6)]
    assert list(finished(listening.map(parts.waits_for_a_later_one, work))) == list(range(6))
    assert sorted(heard) == list(range(6))
    assert heard.index(3) < heard.index(0)


def test_work_that_no_machine_can_load_says_what_to_do(engine):
    with pytest.raises(PartError, match=r"can't load the work it was sent \(ModuleNotFoundError"):
        list(engine.map(_of_a_module_that_is_only_here(), [1]))


def test_a_work_that_belongs_to_this_process_is_refused(engine):
    lock = threading.Lock()
    with pytest.raises(PartError, match="can't be sent to a cluster"):
        list(engine.map(lambda part, place: lock.locked(), [1]))


def test_a_cluster_far_away_is_reached_through_its_client_port(cluster: Cluster):
    program = (
        "import parts; from evenhand.engines import parse; from evenhand.core.engine import finished\n"
        f"print(list(finished(parse('ray://{cluster.host}:{cluster.client_port}').map(parts.square, range(5)))))"
    )
    environment = {name: value for name, value in cluster.environment.items() if name != "RAY_ADDRESS"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout.strip() == "[0, 1, 4, 9, 16]", done.stderr


@pytest.mark.slow  # Ray itself tries for twenty seconds
def test_a_cluster_that_does_not_know_our_token_says_which_setting_it_wants(cluster: Cluster):
    done = _joined_elsewhere({**cluster.environment, "RAY_AUTH_TOKEN": "0" * 64, "RAY_ADDRESS": cluster.address})
    assert "EngineError" in done
    assert "RAY_AUTH_TOKEN" in done


def test_a_cluster_that_cannot_be_reached_is_told_in_a_line():
    output = _joined_elsewhere({**os.environ, "RAY_ADDRESS": f"127.0.0.2:{free_port()}"})
    assert "can't be reached (Connection refused)" in output


def test_without_ray_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'evenhand\[ray\]'"):
        join("")


def test_versions_that_differ_are_named():
    here = worker.installed()
    with pytest.raises(EngineError, match=r"evenhand is .* here and 0\.0\.1 there"):
        compare(here, {**here, "evenhand": "0.0.1"}, "10.0.0.7")
    with pytest.raises(EngineError, match=r"evenhand is .* here and missing there"):
        compare(here, {name: found for name, found in here.items() if name != "evenhand"}, "10.0.0.7")


@pytest.mark.parametrize("text", ["ray:", "ray:0", "ray:two", "ray://"])
def test_an_address_that_is_none_is_refused_with_what_to_write(text: str):
    with pytest.raises(OptionError, match="expected ray, ray:8"):
        parse(text)


def _joined_elsewhere(environment: dict[str, str]) -> str:
    program = "from evenhand.engines.ray_cluster.joining import join; join('')"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    return done.stderr.strip().splitlines()[-1]


def _of_a_module_that_is_only_here():
    import types

    module = types.ModuleType("only_here")
    exec("def work(part, place):\n    return part\n", vars(module))  # noqa: S102 - the tests' own text
    sys.modules["only_here"] = module
    return module.work
