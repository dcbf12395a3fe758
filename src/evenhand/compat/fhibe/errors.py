"""Errors of the drop-in: ours, and at the same time of the class that the published tool raises."""

from __future__ import annotations

from evenhand.core.errors import DataError, OptionError, PredictionError


class ArgumentValueError(OptionError, ValueError):
    """An argument has a value that it can't take."""


class ArgumentKeyError(OptionError, KeyError):
    """An argument names something that does not exist."""

    __str__ = Exception.__str__  # KeyError would show the message quoted


class TableMissingError(DataError, RuntimeError):
    """The data root has no table for the data set."""


class ColumnMissingError(DataError, KeyError):
    """The table lacks a column that was asked for."""

    __str__ = Exception.__str__


class OutputsMissingError(PredictionError, FileNotFoundError):
    """Stored outputs were to be reused, and there are none."""

    __str__ = Exception.__str__


class ImageMissingError(PredictionError, KeyError):
    """Images are missing from the stored outputs; all of them are counted, some named."""

    __str__ = Exception.__str__


class PlotError(OptionError, RuntimeError):
    """A figure that the task does not have."""
