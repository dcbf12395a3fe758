"""`deepface`: the DeepFace package as a model, where it is installed.

It answers with DeepFace's own dictionaries, one per face. The settings are those
of `DeepFace.analyze`; its weights are downloaded by DeepFace itself, on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from evenhand.core.errors import ModelError
from evenhand.core.task import Sample
from evenhand.models.python import FunctionModel

ACTIONS: Final = ("gender", "race", "age")

Analyse = Callable[..., Any]


def provider(name: str = "", *, device: str = "cpu", **settings: Any) -> DeepFaceModel:
    """DeepFace with a detector, such as `deepface:retinaface`; the default is DeepFace's own (`opencv`)."""
    detector = name.removeprefix("deepface").removeprefix(":")  # the name may come as the user wrote it
    return DeepFaceModel(_analyze(), detector=detector or "opencv", settings=settings)


def _analyze() -> Analyse:
    """DeepFace's entry; `DeepFace` is a module of its package, which the package does not import by itself."""
    try:
        analyze: Analyse = import_module("deepface.DeepFace").analyze
    except ImportError as error:
        raise ModelError(
            f"DeepFace can't be imported ({error}). Install it in this environment: pip install deepface; "
            "where a module that it needs is missing, install that too."
        ) from None
    return analyze


class DeepFaceModel:
    """Anything with the call signature of `DeepFace.analyze`."""

    def __init__(
        self, analyse: Analyse, *, detector: str = "opencv", settings: Mapping[str, Any] | None = None
    ) -> None:
        self.analyse, self.detector = analyse, detector
        self.settings = {"enforce_detection": False, "silent": True, **_typed(settings or {})}
        self.name = f"deepface:{detector}"

    @property
    def facts(self) -> Mapping[str, Any]:
        """What is stored with the run."""
        return {"detector": self.detector, "actions": list(ACTIONS), "settings": dict(self.settings), **_version()}

    def predict(self, samples: Iterable[Sample]) -> Iterator[tuple[str, Any]]:
        """DeepFace's dictionaries, picture by picture; a picture it can't analyse is unanswered."""
        return FunctionModel(self.name, self._analyse, ". Is it installed with its weights?").predict(samples)

    def _analyse(self, sample: Sample) -> Any:
        if not sample.media:
            raise FileNotFoundError("there is no picture; is the image folder beside the label file?")
        picture = sample.media[0]
        if not picture.is_file():
            raise FileNotFoundError(f"{picture} does not exist")
        faces = self.analyse(
            img_path=str(picture), actions=list(ACTIONS), detector_backend=self.detector, **self.settings
        )
        return plain_values(faces)


def plain_values(answer: Any) -> Any:
    """An answer as JSON has it, without NumPy's numbers, which DeepFace gives.

    >>> import numpy as np
    >>> plain_values(({"age": np.int64(31)},))
    [{'age': 31}]
    """
    if isinstance(answer, Mapping):
        return {str(key): plain_values(value) for key, value in answer.items()}
    if isinstance(answer, list | tuple):
        return [plain_values(value) for value in answer]
    return answer.item() if hasattr(answer, "item") else answer


def _typed(settings: Mapping[str, Any]) -> dict[str, Any]:
    words = {"true": True, "false": False}
    return {
        name: words.get(value.lower(), value) if isinstance(value, str) else value for name, value in settings.items()
    }


def _version() -> dict[str, str]:
    try:
        return {"deepface": version("deepface")}
    except PackageNotFoundError:
        return {}
