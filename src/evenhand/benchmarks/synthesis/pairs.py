"""Which synthesised frame stands beside which real one.

By position: the first prediction of an item with its first reference, and so on. The published code cuts both lists to
the shorter one and says nothing; here `compat` cuts and warns with the counts, and `strict` refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from evenhand.benchmarks.synthesis.imitation import Outcome, Unfinished
from evenhand.benchmarks.synthesis.items import Item
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
    predictions: Sequence[str | Path],
    references: Sequence[Path],
    *,
    item: str,
    unit: str,
    rules: Rules,
    warn: Callable[[str], None],
) -> tuple[FramePair, ...]:
    """Pairs by position. Unequal lists are cut to the shorter one with a warning, or refused under `strict`.

    >>> pair_up(["a.jpg"], [Path("0.png")], item="001", unit="001", rules=Rules.COMPAT, warn=print)[0].id
    '001:0000'
    """
    if len(predictions) != len(references):
        found = f"{item}: {len(predictions)} synthesised frames for {len(references)} reference frames"
        if rules is Rules.STRICT:
            raise PredictionError(f"{found}. Write one picture per reference frame, in their order.")
        warn(f"{found}; only the first {min(len(predictions), len(references))} of both are compared.")
    return tuple(
        FramePair(f"{item}:{position:04d}", item, unit, Path(made), real)
        for position, (made, real) in enumerate(zip(predictions, references, strict=False))
    )


def pair_lists(outcomes: Iterable[Outcome], *, rules: Rules, warn: Callable[[str], None]) -> PairLists:
    """The pairs of every item: self-imitations with the frames themselves, cross-imitations with the flag.

    The frames of an item that was not finished are there too, without a prediction and with the reason.
    """
    own: list[FramePair] = []
    cross: list[FramePair] = []
    unfinished: list[tuple[str, Unfinished]] = []
    for item, answer, _ in outcomes:
        if isinstance(answer, Unfinished):
            unfinished.append((item.name, answer))
            own.extend(_without_pictures(item, item.own.images, answer))
            cross.extend(_without_pictures(item, item.flag if item.cross is not None else (), answer))
            continue
        own.extend(pair_up(answer.own, item.own.images, item=item.name, unit=item.video, rules=rules, warn=warn))
        if item.cross is not None:
            # The model was asked for the cross frames; what they are measured against may be cut shorter.
            if len(answer.cross) != len(item.cross.images) and rules is Rules.STRICT:
                raise PredictionError(
                    f"{item.name}: {len(answer.cross)} pictures for {len(item.cross.images)} cross-imitation frames."
                )
            cross.extend(pair_up(answer.cross, item.flag, item=item.name, unit=item.video, rules=rules, warn=warn))
    return PairLists(tuple(own), tuple(cross), tuple(unfinished))


def _without_pictures(item: Item, references: Sequence[Path], why: Unfinished) -> Iterator[FramePair]:
    for position, real in enumerate(references):
        yield FramePair(f"{item.name}:{position:04d}", item.name, item.video, None, real, why.cause)
