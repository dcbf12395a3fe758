"""Predict and evaluate: the verbs in order.

`evaluate` takes a model's official file to results; `predict` puts a question to a model and writes that file.
There is one path: what a model said is evaluated from the file it was written to.
"""

from evenhand.run.evaluation import evaluate
from evenhand.run.prediction import PredictOutcome, predict
from evenhand.run.providers import find_model

__all__ = ["PredictOutcome", "evaluate", "find_model", "predict"]
