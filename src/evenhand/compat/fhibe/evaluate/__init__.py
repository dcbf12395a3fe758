"""Evaluation: `evaluate_task`."""

from evenhand.compat.fhibe.evaluate.evaluate import evaluate_task

__all__ = ["evaluate_task"]
