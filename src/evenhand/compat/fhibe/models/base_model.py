"""`BaseModelWrapper`: what the published tool's users derive their models from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any


class BaseModelWrapper(ABC):
    """A model that the benchmark can run: batches from a list of images, and answers to a batch.

    Some tasks need more members: `save_encoding` (face encoding), `save_array` (super resolution),
    `map_ears_to_skin` (face parsing), `align_faces` (verification). `evenhand predict TASK --model FILE.py:NAME`
    runs a wrapped model too.
    """

    def __init__(self, model: Any = None) -> None:
        self.model = model

    @abstractmethod
    def data_preprocessor(self, img_filepaths: list[str], **kwargs: Any) -> Iterable[Any]:
        """Batches of the images, in their order, none left out; a batch may carry the paths of its images."""

    @abstractmethod
    def __call__(self, batch: Any) -> Any:
        """One answer per image of the batch, in its order."""
