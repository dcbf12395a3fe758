"""Which runs a list shows, in which order: what stands in its address."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import QueryParams

from evenhand.serve.listing import RunEntry, RunList, RunState

_ORDERS: dict[str, Callable[[RunEntry], Any]] = {
    "task": lambda line: (line.task, line.model, line.name),
    "model": lambda line: (line.model.casefold(), line.task, line.name),
    "value": lambda line: -math.inf if line.value.value is None else line.value.value,
    "gap": lambda line: -1.0 if line.gap is None else line.gap,
    "units": lambda line: line.units,
    "finished": lambda line: line.finished,
}
_FALLING = ("value", "gap", "units", "finished")  # the direction that people want first
MOST = 500  # lines on a page


@dataclass(frozen=True)
class RunFilter:
    """Filters, order and ticks."""

    text: str = ""
    task: str = ""
    state: str = ""
    order: str = "finished"
    falling: bool = True
    ticked: tuple[str, ...] = ()

    @classmethod
    def of(cls, query: QueryParams) -> RunFilter:
        """What an address says; names that are not known are ignored."""
        order = query.get("sort", "finished")
        order = order if order in _ORDERS else "finished"
        way = query.get("way", "")
        falling = way == "down" if way in ("up", "down") else order in _FALLING
        state = query.get("state", "")
        return cls(
            query.get("q", "").strip()[:200],
            query.get("task", ""),
            state if state in {one.value for one in RunState} else "",
            order,
            falling,
            tuple(dict.fromkeys(query.getlist("run"))),
        )

    def pick(self, listing: RunList) -> tuple[RunEntry, ...]:
        """The lines that are shown, in order."""
        wanted = self.text.casefold().split()
        found = [
            line
            for line in listing.lines
            if (not self.task or line.task == self.task)
            and (not self.state or line.state.value == self.state)
            and all(word in _words(line) for word in wanted)
        ]
        found.sort(key=lambda line: line.name)
        found.sort(key=_ORDERS[self.order], reverse=self.falling)
        return tuple(found)

    def hidden(self, shown: Sequence[RunEntry], listing: RunList) -> tuple[RunEntry, ...]:
        """Ticked runs that the filter hides; they stay ticked."""
        visible = {line.key for line in shown}
        return tuple(line for key in self.ticked if key not in visible and (line := listing.find(key)) is not None)

    def turned(self, order: str) -> str:
        """The way in which a click on a column sorts."""
        if order == self.order:
            return "up" if self.falling else "down"
        return "down" if order in _FALLING else "up"

    def aria(self, order: str) -> str:
        """How a column is sorted, for a screen reader."""
        return "none" if order != self.order else "descending" if self.falling else "ascending"


def _words(line: RunEntry) -> str:
    return f"{line.task} {line.model} {line.dataset} {line.name} {line.worst}".casefold()
