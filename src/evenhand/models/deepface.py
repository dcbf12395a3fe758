"""`deepface`: the DeepFace package as a model, where it is installed.

It answers with DeepFace's own dictionaries, one per face. The settings are those
of `DeepFace.analyze`; its weights are downloaded by DeepFace itself, on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from evenhand.core.errors import ModelError
from evenhand.core.task import Sample, Unanswered

ACTIONS: Final = ("gender", "race", "age")
_FAILURES_IN_A_ROW: Final = 10

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
        failures = 0
        answered = False
        for sample in samples:
            try:
                found = self._analyse(sample.media)
            except ModelError:
                raise
            except Exception as error:  # DeepFace raises anything
                failures += 1
                if failures >= _FAILURES_IN_A_ROW and not answered:
                    raise ModelError(
                        f"{self.name} failed on the first {failures} pictures, the last time with "
                        f"{type(error).__name__}: {error}. Is it installed with its weights?"
                    ) from error
                yield sample.id, Unanswered(f"{type(error).__name__}: {error}")
                continue
            answered = True
            yield sample.id, _plain(found)

    def _analyse(self, media: Sequence[Path]) -> Any:
        if not media:
            raise FileNotFoundError("there is no picture; is the image folder beside the label file?")
        picture = media[0]
        if not picture.is_file():
            raise FileNotFoundError(f"{picture} does not exist")
        return self.analyse(
            img_path=str(picture), actions=list(ACTIONS), detector_backend=self.detector, **self.settings
        )


def _plain(found: Any) -> Any:
    """DeepFace's answer without NumPy's types."""
    if isinstance(found, Mapping):
        return {str(key): _plain(value) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [_plain(value) for value in found]
    return found.item() if hasattr(found, "item") else found


def _typed(settings: Mapping[str, Any]) -> dict[str, Any]:
    words = {"true": True, "false": False}
    return {
        name: words.get(value.lower(), value) if isinstance(value, str) else value for name, value in settings.items()
    }


def _version() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return {"deepface": version("deepface")}
    except PackageNotFoundError:
        return {}
