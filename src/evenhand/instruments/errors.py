"""What can go wrong with the pictures and the weights that we measure with: data and models that can't be used."""

from __future__ import annotations

from evenhand.core.errors import DataError, ModelError


class PictureError(DataError):
    """A picture that can't be measured: `picture` is its name, `reason` what is wrong with it."""

    def __init__(self, picture: str, reason: str) -> None:
        self.picture, self.reason = picture, reason
        super().__init__(f"{picture}: {reason}")

    def __reduce__(self) -> tuple[type[PictureError], tuple[str, str]]:
        return type(self), (self.picture, self.reason)


class WeightsError(ModelError):
    """A weights file that is missing, damaged, unsafe to read or made for another network."""
