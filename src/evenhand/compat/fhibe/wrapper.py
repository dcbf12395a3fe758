"""`BaseModelWrapper`: what the published tool's users derive their models from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from evenhand.core.task import Sample


class _ClassName:
    """The name of the class, until an instance says another."""

    def __get__(self, wrapper: object, kind: type) -> str:
        return kind.__name__


class BaseModelWrapper(ABC):
    """A model that the benchmark can run: batches from a list of images, and answers to a batch.

    Some tasks need more members: `save_encoding` (face encoding), `save_array` (super resolution),
    `map_ears_to_skin` (face parsing), `align_faces` (verification).
    """

    name = _ClassName()

    def __init__(self, model: Any = None) -> None:
        self.model = model

    @abstractmethod
    def data_preprocessor(self, img_filepaths: list[str], **kwargs: Any) -> Iterable[Any]:
        """Batches of the images, in their order, none left out; a batch may carry the paths of its images."""

    @abstractmethod
    def __call__(self, batch: Any) -> Any:
        """One answer per image of the batch, in its order."""

    def predict(self, samples: Iterable[Sample]) -> Iterator[tuple[str, Any]]:
        """Answers by sample id, so that `evenhand predict TASK --model FILE.py:NAME` runs a wrapped model."""
        from evenhand.benchmarks.fhibe.wrapped import predict_wrapped

        return predict_wrapped(self, samples)
