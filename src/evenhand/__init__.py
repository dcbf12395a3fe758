"""Evaluate vision models that look at people."""

__version__ = "0.1.0"
