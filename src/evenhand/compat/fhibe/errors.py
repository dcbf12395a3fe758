"""Errors of the drop-in (ours, and at the same time of the class that the published tool raises), and its warnings."""

from __future__ import annotations

import logging

from evenhand.core.errors import DataError, OptionError, PredictionError
from evenhand.core.printing import printable_lines


def logger(name: str) -> logging.Logger:
    """The logger of a module, in whose messages names of others have no control characters."""
    named = logging.getLogger(name)
    named.addFilter(_made_printable)
    return named


def _made_printable(record: logging.LogRecord) -> bool:
    record.msg, record.args = printable_lines(record.getMessage()), ()
    return True


class ArgumentValueError(OptionError, ValueError):
    """An argument has a value that it can't take."""


class ArgumentKeyError(OptionError, KeyError):
    """An argument names something that does not exist."""


class TableMissingError(DataError, RuntimeError):
    """The data root has no table for the data set."""


class ColumnMissingError(DataError, KeyError):
    """The table lacks a column that was asked for."""


class OutputsMissingError(PredictionError, FileNotFoundError):
    """Stored outputs were to be reused, and there are none."""


class ImageMissingError(PredictionError, KeyError):
    """Images are missing from the stored outputs; all of them are counted, some named."""


class PlotError(OptionError, RuntimeError):
    """A figure that the task does not have."""
