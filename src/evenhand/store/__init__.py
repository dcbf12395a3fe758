"""A run on disk: what was read, what was written, and how both are told apart."""

from evenhand.store.runs import Run, find_runs, open_run

__all__ = ["Run", "find_runs", "open_run"]
