"""Work done ahead in threads: in order, a few pieces ahead, errors in their turn, late pieces left behind."""

from __future__ import annotations

import threading
import time

import pytest

from evenhand.instruments.ahead import ahead


def test_outcomes_come_in_order_whatever_takes_longest() -> None:
    def work(number: int) -> int:
        time.sleep(0.02 * (number % 3 == 0))
        return -number

    assert [outcome.done for outcome in ahead(range(20), work, workers=4, depth=6)] == [-n for n in range(20)]


def test_no_more_is_begun_than_may_wait() -> None:
    begun: list[int] = []
    outcomes = ahead(range(100), begun.append, workers=3, depth=4)
    next(outcomes)
    time.sleep(0.05)
    assert len(begun) <= 5
    outcomes.close()  # type: ignore[attr-defined]  # a generator


def test_an_error_is_raised_in_its_turn() -> None:
    outcomes = ahead([1, 0, 2], lambda n: 1 / n, workers=2, depth=3)
    assert next(outcomes).done == 1.0
    with pytest.raises(ZeroDivisionError):
        next(outcomes)


def test_a_piece_that_takes_too_long_is_left_behind_and_another_thread_takes_over() -> None:
    forever, waited = threading.Event(), []

    def work(number: int) -> int:
        if number in (1, 2):
            waited.append(forever.wait(60))
        return number

    outcomes = [outcome.done for outcome in ahead(range(6), work, workers=1, depth=6, limit=1.0)]
    assert outcomes == [0, None, None, 3, 4, 5]
    assert not waited
    forever.set()


def test_nothing_to_do_starts_nothing() -> None:
    before = set(threading.enumerate())
    assert list(ahead([], len, workers=2, depth=2)) == []
    assert set(threading.enumerate()) <= before  # those of earlier tests may end meanwhile


def test_no_thread_outlives_the_iteration() -> None:
    """A thread that frees a network while the interpreter shuts down aborts the whole process."""
    before = set(threading.enumerate())
    assert len(list(ahead(range(8), abs, workers=3, depth=2))) == 8
    assert set(threading.enumerate()) <= before


def test_whoever_stops_early_leaves_no_thread_and_no_further_work() -> None:
    before, begun = set(threading.enumerate()), []

    def work(number: int) -> None:
        begun.append(number)
        time.sleep(0.05)

    outcomes = ahead(range(100), work, workers=2, depth=20)
    next(outcomes)
    outcomes.close()  # type: ignore[attr-defined]  # a generator
    assert set(threading.enumerate()) <= before
    assert len(begun) < 10
