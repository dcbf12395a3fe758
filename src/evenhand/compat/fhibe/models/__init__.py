"""Models: `BaseModelWrapper`."""

from evenhand.compat.fhibe.models.base_model import BaseModelWrapper

__all__ = ["BaseModelWrapper"]
