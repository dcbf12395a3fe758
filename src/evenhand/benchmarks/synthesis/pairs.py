"""Which synthesised frame stands beside which real one.

By position: the first prediction of an item with its first reference, and so on. The published code cuts both lists to
the shorter one and says nothing; here `compat` cuts and warns with the counts, and `strict` refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from evenhand.benchmarks.synthesis.imitation import Outcome
from evenhand.benchmarks.synthesis.protocol import Rules
from evenhand.core.engine import Failed
from evenhand.core.errors import PredictionError


class FramePair(NamedTuple):
    """A synthesised frame and the real one that it is measured against."""

    id: str  # item, side and position: what a row is about
    item: str
    unit: str  # the video
    prediction: Path | None  # None: the model gave none
    reference: Path | None
    reason: str = ""  # why there is no prediction


class PairLists(NamedTuple):
    """The pairs of a whole run, pooled over items in order."""

    own: tuple[FramePair, ...]
    cross: tuple[FramePair, ...]
    unfinished: tuple[tuple[str, Failed], ...]  # items that cost themselves


def pair_up(
    item: str,
    unit: str,
    predictions: Sequence[str | Path | None] | None,
    references: Sequence[Path],
    asked: int,  # frames that the model was asked for; what they are measured against may be cut shorter
    *,
    rules: Rules,
    warn: Callable[[str], None],
    reason: str = "",
) -> list[FramePair]:
    """Pairs by position, up to the end of the shorter list; without predictions, the references with the reason.

    >>> pair_up("001", "001", ["a.jpg"], [Path("0.png")], 1, rules=Rules.STRICT, warn=print)[0].id
    '001:0000'
    """
    pictures = [None] * len(references) if predictions is None else predictions
    shorter = min(len(pictures), len(references))
    if predictions is not None and len(pictures) != asked:
        note_unequal(f"{item}: {len(pictures)} pictures for {asked} frames", shorter, rules, warn)
    elif len(pictures) != len(references):  # a flag window, cut at the end of its video
        warn(
            f"{item}: {len(pictures)} pictures are measured against {len(references)} real frames; "
            f"the first {shorter} of both count."
        )
    pairs = []
    for position, (picture, real) in enumerate(zip(pictures, references, strict=False)):
        why = "" if picture is not None else reason or "this picture is missing."
        path = None if picture is None else Path(picture)
        pairs.append(FramePair(f"{item}:{position:04d}", item, unit, path, real, why))
    return pairs


def note_unequal(counts: str, shorter: int, rules: Rules, warn: Callable[[str], None]) -> None:
    """Refuse lists of unequal length under `strict`; otherwise warn that they are cut."""
    if rules is Rules.STRICT:
        raise PredictionError(f"{counts}. Write one picture per reference frame, in their order.")
    warn(f"{counts}; only the first {shorter} of both are compared.")


def pair_lists(outcomes: Iterable[Outcome], *, rules: Rules, warn: Callable[[str], None]) -> PairLists:
    """The pairs of every item: self-imitations with the frames themselves, cross-imitations with the flag.

    The frames of an item that was not finished are there too, without a prediction and with the reason.
    """
    own: list[FramePair] = []
    cross: list[FramePair] = []
    unfinished: list[tuple[str, Failed]] = []
    for item, answer, _ in outcomes:
        reason = ""
        answered: tuple[Sequence[str] | None, Sequence[str] | None] = (None, None)
        if isinstance(answer, Failed):
            unfinished.append((item.name, answer))
            reason = answer.cause
        else:
            answered = answer
        sides = ((own, answered[0], item.own, item.own.images), (cross, answered[1], item.cross, item.flag))
        for pairs, predictions, asked, real in sides:
            if asked is not None:
                count = len(asked.images)
                if rules is Rules.STRICT and predictions is not None and count != len(real):
                    raise PredictionError(
                        f"{item.name}: {count} frames were asked for, but there are {len(real)} real frames to measure "
                        "them against. Make the cross_imitation and the flag window equally long, within their videos."
                    )
                pairs += pair_up(item.name, item.video, predictions, real, count, rules=rules, warn=warn, reason=reason)
    return PairLists(tuple(own), tuple(cross), tuple(unfinished))
