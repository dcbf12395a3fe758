"""Cells of one row each, kept without a table of their own."""

import numpy as np

from evenhand.core.records import Records
from evenhand.metrics.labels import ClassRates, Confusion, ConfusionCounts, SingleAnswers

METRIC = Confusion("label", ("a", "b", "c"))
ROWS = 2000


def states() -> tuple[SingleAnswers, ConfusionCounts]:
    rng = np.random.default_rng(0)
    rows = Records({"truth": rng.integers(0, 3, ROWS), "answer": rng.integers(0, 4, ROWS)}, {})
    single = METRIC.measure(rows, rng.permutation(ROWS + 100)[:ROWS], ROWS + 100)
    assert isinstance(single, SingleAnswers)
    return single, ConfusionCounts(single.tables())


def test_cells_of_one_row_say_the_same_as_tables_of_counts() -> None:
    single, tables = states()
    index = np.arange(single.size) % 7
    weights = np.random.default_rng(1).integers(0, 3, (5, single.size))
    other = SingleAnswers(np.where(single.counts < 0, 4, -1).astype(np.int16), 3)
    for mine, theirs in (
        (single.place(index, 7), tables.place(index, 7)),
        (
            single.place(np.arange(single.size)[::-1], single.size),
            tables.place(np.arange(single.size)[::-1], single.size),
        ),
        (single.weigh(weights), tables.weigh(weights)),
        (single + other, tables + other),
        (single + single, tables + tables),
    ):
        assert np.array_equal(mine.tables(), theirs.tables())
    assert isinstance(single + other, SingleAnswers)


def test_ratios_and_counts_of_single_answers_are_those_of_the_tables() -> None:
    single, tables = states()
    for metric in (METRIC, ClassRates("rates", METRIC.labels), ClassRates("rate", METRIC.labels, positive="b")):
        for name, ratio in metric.ratios(tables).items():
            assert np.array_equal(metric.ratios(single)[name].top, ratio.top)
            assert np.array_equal(metric.ratios(single)[name].bottom, ratio.bottom)
        assert np.array_equal(np.asarray(metric.tallied(single)), np.asarray(metric.tallied(tables)))
