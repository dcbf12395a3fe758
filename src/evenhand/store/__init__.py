"""A run on disk: what was read, what was written, and how both are identified."""

from evenhand.store.caches import Cache, Emptied, empty_caches, list_caches
from evenhand.store.differences import Change, Difference, RowChange, RowChanges, diff
from evenhand.store.runs import Run, find_runs, open_run

__all__ = [
    "Cache",
    "Change",
    "Difference",
    "Emptied",
    "RowChange",
    "RowChanges",
    "Run",
    "diff",
    "empty_caches",
    "find_runs",
    "list_caches",
    "open_run",
]
