"""Reports: `BiasReport`."""

from evenhand.compat.fhibe.reporting.reporting import BiasReport

__all__ = ["BiasReport"]
