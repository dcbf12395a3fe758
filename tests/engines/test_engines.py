"""Every engine gives the same outcomes, in the order of parts."""

import multiprocessing
import sys
from pathlib import Path

import numpy as np
import parts
import pytest

from evenhand.core.engine import Done, Failed, finished
from evenhand.core.errors import DataError, OptionError, PartError, UnknownNameError
from evenhand.engines import parse

every_engine = pytest.mark.parametrize("engine", ["serial", "threads:2", "processes:1"])


@pytest.mark.parametrize("engine", ["serial", "threads:2", "processes:2"])
def test_outcomes_come_in_the_order_of_parts(engine: str):
    assert list(parse(engine).map(parts.unequally_slow, range(9))) == [Done(part, part) for part in range(9)]


@every_engine
def test_no_parts_give_no_outcomes(engine: str):
    assert list(parse(engine).map(parts.square, [])) == []


@every_engine
def test_a_part_that_raises_comes_beside_the_finished_ones(engine: str):
    outcomes = list(parse(engine).map(parts.troubled, ["a", "raise", "b"]))
    assert [type(outcome) for outcome in outcomes] == [Done, Failed, Done]
    assert outcomes[1].cause == "ValueError: picture 7 is damaged"
    assert "Traceback" in outcomes[1].detail


@pytest.mark.parametrize("engine", ["serial", "processes:1"])
def test_failed_parts_are_named_at_the_end_and_the_others_given(engine: str):
    values = finished(parse(engine).map(parts.troubled, ["a", "raise", "b"]), "picture")
    assert [next(values), next(values)] == ["a", "b"]
    with pytest.raises(PartError, match=r"1 pictures failed.*picture 1: ValueError: picture 7 is damaged"):
        next(values)


@every_engine
def test_what_is_set_up_and_shared_is_at_hand(engine: str):
    shared = np.arange(5.0)
    found = list(finished(parse(engine).map(parts.with_place, range(5), setup=parts.load_model, shared=[shared])))
    assert found == [(part, float(part), "a model") for part in range(5)]


@every_engine
def test_shared_arrays_of_any_shape_arrive(engine: str):
    shared = [np.zeros((0, 3)), np.array(["é", "bb"]), np.asfortranarray(np.arange(6).reshape(2, 3))]

    (found,) = finished(parse(engine).map(parts.of_shared, [0], shared=shared))
    assert found == [((0, 3), []), ((2,), ["é", "bb"]), ((2, 3), [[0, 1, 2], [3, 4, 5]])]


@every_engine
def test_a_failing_set_up_is_told_once_and_not_per_part(engine: str):
    with pytest.raises(PartError, match=r"could not be set up \(RuntimeError: no weights here"):
        list(parse(engine).map(parts.square, range(100), setup=parts.load_nothing))


@pytest.mark.parametrize("engine", ["threads:2", "processes:1"])
def test_an_error_of_ours_in_the_set_up_stays_what_it_is(engine: str):
    with pytest.raises(DataError, match=r"weights\.bin is empty"):
        list(parse(engine).map(parts.square, range(3), setup=parts.load_bad_data))


@every_engine
def test_parts_are_taken_only_as_they_are_needed(engine: str):
    taken = []

    def endless():
        for part in range(10**9):
            taken.append(part)
            yield part

    outcomes = parse(engine).map(parts.square, endless())
    assert next(outcomes) == Done(0, 0)
    outcomes.close()
    assert len(taken) <= 9


@pytest.mark.parametrize("engine", ["threads:2", "processes:1"])
def test_a_generator_of_parts_that_raises_is_heard(engine: str):
    def broken():
        yield 1
        raise DataError("faces.csv ends in the middle of a line.")

    with pytest.raises(DataError, match="ends in the middle"):
        list(parse(engine).map(parts.square, broken()))


@pytest.mark.parametrize("engine", ["threads:1", "processes:2"])
def test_a_part_that_hangs_is_stopped_and_the_others_go_on(engine: str):
    outcomes = list(parse(engine).map(parts.troubled, ["a", "hang", "b", "c"], time_limit=1.0))
    assert [getattr(outcome, "value", None) for outcome in outcomes] == ["a", None, "b", "c"]
    assert outcomes[1].cause == "took longer than 1 s and was stopped"


def test_a_part_may_guard_its_own_decoding_with_a_worker_of_its_own():
    (outcome,) = parse("processes:1").map(parts.guarded, ["a"])
    assert outcome == Done(0, ["a", "took longer than 1 s and was stopped"])


def test_a_worker_that_the_system_ends_costs_its_part_alone():
    outcomes = list(parse("processes:1").map(parts.troubled, ["a", "kill", "b", "exit", "c"]))
    assert [getattr(outcome, "value", None) for outcome in outcomes] == ["a", None, "b", None, "c"]
    assert "lost (ended by SIGKILL; the system may have run out of memory)" in outcomes[1].cause
    assert "exit code 5" in outcomes[3].cause


def test_a_result_that_cannot_be_sent_back_is_a_failed_part():
    first, second = parse("processes:1").map(parts.troubled, ["unsendable", "b"])
    assert "can't be sent back" in first.cause
    assert second == Done(1, "b")


def test_a_part_that_cannot_be_sent_is_a_failed_part():
    first, second = parse("processes:1").map(parts.troubled, [lambda: None, "b"])
    assert "can't be sent to a worker" in first.cause
    assert second == Done(1, "b")


def test_work_that_cannot_be_sent_to_processes_says_what_to_do():
    with pytest.raises(PartError, match="top of a module; or use serial or threads"):
        list(parse("processes:2").map(lambda part, place: part, [1]))


def test_a_worker_that_prints_does_not_disturb_the_talk(capfd: pytest.CaptureFixture[str]):
    assert list(parse("processes:1").map(parts.troubled, ["print"])) == [Done(0, "print")]


def test_work_without_a_module_runs_here_even_with_a_time_limit():
    assert list(parse("serial").map(lambda part, place: part, [1], time_limit=5)) == [Done(0, 1)]


def test_no_more_processes_are_started_than_there_are_parts():
    assert len(set(finished(parse("processes:4").map(parts.where, [1])))) == 1


def test_closing_early_ends_busy_workers_at_once():
    outcomes = parse("processes:2").map(parts.troubled, ["a", "hang", "hang", "hang"])
    assert next(outcomes) == Done(0, "a")
    outcomes.close()
    assert multiprocessing.active_children() == []


@every_engine
def test_every_part_has_one_thread_of_linear_algebra(engine: str):
    assert list(finished(parse(engine).map(parts.threads_of_blas, range(2)))) == [1, 1]


def test_products_have_the_same_bits_everywhere():
    found = {
        engine: list(finished(parse(engine).map(parts.product, range(3))))
        for engine in ("serial", "threads:2", "processes:2")
    }
    assert all(value == found["serial"] for value in found.values())


def test_a_picture_that_hangs_its_decoder_is_named_and_the_others_are_read():
    paths = [Path("good.jpg"), Path("hangs.jpg"), Path("damaged.jpg"), Path("fine.jpg")]
    good, hangs, damaged, fine = parse("serial").map(parts.read_picture, paths, time_limit=1.0)
    assert (good, fine) == (Done(0, 8), Done(3, 8))
    assert (hangs.part, hangs.cause) == (1, "took longer than 1 s and was stopped")
    assert (damaged.part, damaged.cause) == (2, "OSError: broken data stream")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("serial:2", "serial takes no number"),
        ("threads:x", "'x' is not a number of workers"),
        ("processes:0", "expected 1 to 1024 workers"),
        ("processes:-1", "'-1' is not a number"),
        ("threads:²", "is not a number"),
    ],
)
def test_an_engine_that_is_none_is_refused_with_what_to_write(text: str, words: str):
    with pytest.raises(OptionError, match=words):
        parse(text)


def test_an_unknown_engine_is_met_with_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'processes'"):
        parse("process:2")


def test_without_a_number_all_cores_are_used():
    assert parse("threads").name.startswith("threads:")


def test_closing_early_never_waits_for_a_part_that_a_worker_took():
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(150):
            outcomes = parse("threads:4").map(parts.square, range(200))
            next(outcomes)
            outcomes.close()
    finally:
        sys.setswitchinterval(usual)
