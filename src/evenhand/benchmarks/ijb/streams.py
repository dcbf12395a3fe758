"""Operating points of score files that do not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.ijb.embeddings import open_array
from evenhand.core.errors import PredictionError
from evenhand.core.records import Array, blocks
from evenhand.files.arrays import FileArray, open_npy
from evenhand.metrics.operating_points import Convention, area_under_roc, equal_error_rate, rates_at
from evenhand.metrics.score_stream import ScoreBlock, streamed_rates, streamed_scores

_AT_ONCE = 1 << 21  # comparisons that are held


def report_stream(
    shards: Sequence[tuple[Path, Path]], rates: Sequence[float], convention: Convention = Convention.EXACT
) -> dict[str, Any]:
    """Operating points, AUC and EER of arrays of scores and of labels (1 for genuine), read in blocks.

    The same numbers as from all scores at once, in memory that does not grow with the number of impostors; only
    `nearest` needs more where the curve is straight over millions of them.
    """
    opened = [_opened_shard(Path(scores), Path(labels)) for scores, labels in shards]

    def stream() -> Iterator[ScoreBlock]:
        for path, score, label in opened:
            yield from _blocks(path, score, label)

    genuine, impostor = streamed_scores(stream, rates)
    if convention is Convention.NEAREST:
        read = streamed_rates(stream, rates, convention)
    else:
        read = rates_at(genuine, impostor, rates, convention)
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


def _opened_shard(scores: Path, labels: Path) -> tuple[Path, Array | FileArray, Array | FileArray]:
    """Scores and their labels, equally many; those of `.npy` files are read block by block."""
    score, label = _opened(scores), _opened(labels, kinds="fiub")
    if len(score) != len(label):
        raise PredictionError(f"{scores} has {len(score)} scores, but {labels} has {len(label)} labels.")
    return scores, score, label


def _blocks(path: Path, scores: Array | FileArray, labels: Array | FileArray) -> Iterator[ScoreBlock]:
    """The comparisons, so many at a time; raises at the first that can't be counted."""
    for part in blocks(len(scores), _AT_ONCE):
        score, label = scores[part], labels[part]
        wrong = np.flatnonzero((label != 0) & (label != 1) | np.isnan(score))
        if len(wrong):
            entry = part.start + int(wrong[0])
            raise PredictionError(f"{path}, entry {entry}: a score that is no number, or a label but 0 or 1.")
        yield ScoreBlock(score, label == 1)


def _opened(path: Path, kinds: str = "fiu") -> Array | FileArray:
    """The numbers of a file; labels may be true and false too."""
    if path.suffix == ".npy":
        array = open_npy(path, PredictionError)
        if array.ndim == 1 and array.dtype.kind in kinds:
            return array
    return open_array(path, dimensions=1)


def _number(value: float) -> float | str | None:
    if np.isnan(value):
        return None
    return float(value) if np.isfinite(value) else ("inf" if value > 0 else "-inf")
