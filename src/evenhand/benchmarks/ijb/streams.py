"""Operating points of score files that do not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.ijb.embeddings import read_array
from evenhand.core.errors import PredictionError
from evenhand.metrics.operating_points import Convention, area_under_roc, equal_error_rate, readings
from evenhand.metrics.operating_points_stream import streamed_readings
from evenhand.metrics.score_stream import Block, blocks_of, streamed_sides

_AT_ONCE = 1 << 21  # comparisons that are held


def report_stream(
    shards: Sequence[tuple[Path, Path]], rates: Sequence[float], convention: Convention = Convention.EXACT
) -> dict[str, Any]:
    """Operating points, AUC and EER of arrays of scores and of labels (1 for genuine), read in blocks.

    The same numbers as from all scores at once.
    """
    opened = []
    for scores, labels in shards:
        score, _ = read_array(scores, dimensions=1)
        label, _ = read_array(labels, dimensions=1)
        if len(score) != len(label):
            raise PredictionError(f"{scores} has {len(score)} scores, but {labels} has {len(label)} labels.")
        opened.append((scores, score, label))

    def stream() -> Iterator[Block]:
        for path, score, label in opened:
            for number, block in enumerate(blocks_of(score, label, _AT_ONCE)):
                wrong = np.flatnonzero((block.same != 0) & (block.same != 1) | np.isnan(block.score))
                if len(wrong):
                    entry = number * _AT_ONCE + int(wrong[0])
                    raise PredictionError(f"{path}, entry {entry}: a score that is no number, or a label but 0 or 1.")
                yield Block(block.score, block.same == 1)

    genuine, impostor = streamed_sides(stream, rates)
    if convention is Convention.NEAREST:
        try:
            read = streamed_readings(stream, rates, convention)
        except ValueError as error:
            raise PredictionError(f"{shards[0][0]}: {error}. Ask for another convention.") from None
    else:
        read = readings(genuine, impostor, rates, convention)
    return {
        "convention": convention.value,
        "genuine": int(genuine.total),
        "impostor": int(impostor.total),
        "tar_at_far": [
            {
                "far": rate,
                "tar": _number(reading.tar),
                "fmr": _number(reading.fmr),
                "threshold": _number(reading.threshold),
                "false_accepts": round(reading.false_accepts),
            }
            for rate, reading in zip(rates, read, strict=True)
        ],
        "auc": _number(area_under_roc(genuine, impostor)),
        "eer": _number(equal_error_rate(genuine, impostor)),
    }


def _number(value: float) -> float | str | None:
    if np.isnan(value):
        return None
    return float(value) if np.isfinite(value) else ("inf" if value > 0 else "-inf")
