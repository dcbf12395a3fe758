"""Your own table of predictions: labels, scores, numbers, verification pairs, values."""

from evenhand.benchmarks.table.tasks import benchmark

__all__ = ["benchmark"]
