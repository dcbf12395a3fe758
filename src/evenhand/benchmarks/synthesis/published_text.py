"""The result file of the published evaluator, letter by letter.

It calls `ssim` a lower-is-better metric, and its two remarks differ in a full stop. Both are kept here and nowhere
else: our own reports take directions from the metrics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from evenhand.benchmarks.synthesis.catalogue import entry_of
from evenhand.core.metric import Direction

_RULE = "#" * 24
_CALLED_LOWER = frozenset({"ssim"})  # wrongly, in the saved file only

SELF, CROSS = "Self-imitation", "Cross-imitation"


def results_text(blocks: Mapping[str, Iterable[tuple[str, float]]]) -> str:
    """The text of the saved file: for every block a headline and a line per metric.

    >>> print(results_text({"Self-imitation": [("ssim", 0.5), ("psnr", 21.0)]}), end="")
    ########################Self-imitation Results########################
    ssim = 0.5, quality = lower score is better.
    psnr = 21.0, quality = higher score is better
    """
    lines = []
    for title, results in blocks.items():
        lines.append(f"{_RULE}{title} Results{_RULE}")
        lines.extend(f"{name} = {value}, quality = {quality(name, saved=True)}" for name, value in results)
    return "".join(f"{line}\n" for line in lines)


def quality(name: str, *, saved: bool) -> str:
    """The remark beside a value, as printed or as saved."""
    lower = entry_of(name).direction is Direction.LOWER or (saved and name in _CALLED_LOWER)
    return "lower score is better." if lower else "higher score is better"
