"""The named switches of verification sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evenhand.core.errors import OptionError
from evenhand.core.options import Options, option
from evenhand.search.sanity import Halves


@dataclass(frozen=True)
class PairSetOptions(Options):
    """How embeddings become distances, and how these are judged."""

    flip: Literal["sum", "none"] = option("sum", "add the embedding of the mirrored picture, or ignore it")
    halves: Halves = option(
        "auto", "columns that hold a pass and its mirrored pass side by side: split where flip asks and they look so"
    )
    far: tuple[float, ...] = option((1e-3, 1e-2, 1e-1), "false accept rates at which the true accept rate is reported")
    folds: int = option(10, "parts of the pairs, in file order, whose thresholds are set on the others")
    missing: Literal["wrong", "exclude"] = option(
        "wrong", "a pair without an embedding on one side is judged wrong, or leaves all rates and is counted"
    )
    scores: Literal["cosine", "distance"] = option(
        "cosine", "what scores are: cosines from -1 to 1, or squared distances of unit vectors from 0 to 4"
    )
    column: str = option("", "the column of a table of scores that holds them; the only one, or SCORE, by default")

    def __post_init__(self) -> None:
        wrong = [rate for rate in self.far if not 0 <= rate <= 1]
        if wrong:
            raise OptionError(f"Option 'far' can't be {wrong[0]:g}: it takes rates from 0 to 1.")
        if len(set(self.far)) < len(self.far):
            raise OptionError("Option 'far' has a rate twice.")
        if self.folds < 2:
            raise OptionError(
                f"Option 'folds' can't be {self.folds}: it takes 2 or more, since the threshold of a fold is set on "
                "the others."
            )
