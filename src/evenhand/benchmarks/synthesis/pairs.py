"""Which synthesised frame stands beside which real one.

By position: the first prediction of an item with its first reference, and so on. The published code cuts both lists to
the shorter one and says nothing; here `compat` cuts and warns with the counts, and `strict` refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from evenhand.benchmarks.synthesis.imitation import Outcome, Unfinished
from evenhand.benchmarks.synthesis.protocol import Rules
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
    unfinished: tuple[tuple[str, Unfinished], ...]  # items that cost themselves


def pair_up(
    item: str, unit: str, predictions: Sequence[str | Path | None] | None, references: Sequence[Path], reason: str = ""
) -> list[FramePair]:
    """Pairs by position, up to the end of the shorter list; without predictions, the references with the reason.

    >>> pair_up("001", "001", ["a.jpg"], [Path("0.png"), Path("1.png")])[0].id
    '001:0000'
    """
    pairs = []
    made = [None] * len(references) if predictions is None else predictions
    for position, (picture, real) in enumerate(zip(made, references, strict=False)):
        why = "" if picture is not None else reason or "this picture is missing."
        path = None if picture is None else Path(picture)
        pairs.append(FramePair(f"{item}:{position:04d}", item, unit, path, real, why))
    return pairs


def note_unequal(counts: str, rules: Rules, warn: Callable[[str], None], compared: str) -> None:
    """Refuse lists of unequal length under `strict`; otherwise warn that they are cut."""
    if rules is Rules.STRICT:
        raise PredictionError(f"{counts}. Write one picture per reference frame, in their order.")
    warn(f"{counts}; only the first {compared}.")


def pair_lists(outcomes: Iterable[Outcome], *, rules: Rules, warn: Callable[[str], None]) -> PairLists:
    """The pairs of every item: self-imitations with the frames themselves, cross-imitations with the flag.

    The frames of an item that was not finished are there too, without a prediction and with the reason.
    """
    own: list[FramePair] = []
    cross: list[FramePair] = []
    unfinished: list[tuple[str, Unfinished]] = []
    for item, answer, _ in outcomes:
        references = item.flag if item.cross is not None else ()
        if isinstance(answer, Unfinished):
            unfinished.append((item.name, answer))
            own += pair_up(item.name, item.video, None, item.own.images, answer.cause)
            cross += pair_up(item.name, item.video, None, references, answer.cause)
            continue
        sides = ((own, answer.own, item.own.images), (cross, answer.cross if item.cross else (), references))
        for pairs, made, real in sides:
            if len(made) != len(real):
                counts = f"{item.name}: {len(made)} synthesised frames for {len(real)} reference frames"
                note_unequal(counts, rules, warn, f"{min(len(made), len(real))} of both are compared")
            pairs += pair_up(item.name, item.video, made, real)
        # The model was asked for the cross frames; what they are measured against may be cut shorter.
        if item.cross is not None and len(answer.cross) != len(item.cross.images) and rules is Rules.STRICT:
            raise PredictionError(
                f"{item.name}: {len(answer.cross)} pictures for {len(item.cross.images)} cross-imitation frames."
            )
    return PairLists(tuple(own), tuple(cross), tuple(unfinished))
