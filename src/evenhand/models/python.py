"""Models from a Python file: `FILE.py:NAME`.

NAME is a class with `predict`, an object that has it, or a plain function that takes one sample and
returns its answer. A class is made with `device` and with the given settings where it takes them.
A family may know classes of its own published contract, which have no `predict`: they are adapted by it.

```python
class Parser:
    name = "my parser"

    def predict(self, samples):
        for sample in samples:
            yield sample.id, self.parse(sample.media[0])
```
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any

from evenhand.core.errors import ModelError, UnknownNameError
from evenhand.core.task import Adapt, Model, Sample, Unanswered
from evenhand.files import inputs

_IN_A_ROW = 10  # failures without a single answer: then it is the function, not the samples


def is_python(spec: str) -> bool:
    """Whether a text names something in a Python file.

    >>> is_python("my_parser.py:Parser"), is_python("openai:gpt-4o")
    (True, False)
    """
    return spec.rpartition(":")[0].endswith(".py") or spec.endswith(".py")


@dataclass(frozen=True)
class ModelFile:
    """A model in a Python file; call it to get the model. Workers that are sent it load the file themselves."""

    path: Path
    attribute: str
    device: str = "cpu"
    settings: Mapping[str, Any] = field(default_factory=dict)
    adapt: Adapt | None = None  # how the family that asks makes a model of an object of its own contract

    @classmethod
    def parse(cls, spec: str, *, device: str = "cpu", **settings: Any) -> ModelFile:
        """The model that `FILE.py:NAME` names; the file must be there, it is loaded when it is called."""
        file, _, attribute = spec.rpartition(":")
        if not file.endswith(".py") or not attribute:
            raise ModelError(f"{spec!r} names no model. Write FILE.py:NAME, the file and the class or function in it.")
        path = Path(file)
        if not path.is_file():
            raise ModelError(f"{path} does not exist. Write FILE.py:NAME with the path of your Python file.")
        return cls(path.absolute(), attribute, device, settings)

    @property
    def name(self) -> str:
        """What runs are filed under."""
        return f"{self.path.stem}.{self.attribute}"

    @property
    def facts(self) -> Mapping[str, Any]:
        """The file as it is now, for the manifest."""
        return {"file": str(self.path), "attribute": self.attribute, "hash": inputs.hash_of(self.path).hash}

    def __call__(self) -> Model[Any]:
        """The model, loaded."""
        module = _module(self.path)
        try:
            model = getattr(module, self.attribute)
        except AttributeError:
            known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
            raise UnknownNameError(f"model in {self.path.name}", self.attribute, known) from None
        if inspect.isclass(model):
            model = self._made(model)
        if self.adapt is not None and not inspect.isfunction(model):
            adapted = self.adapt(model, self.name, self.device)
            if adapted is not None:
                return adapted
        if callable(getattr(model, "predict", None)):
            return model if isinstance(getattr(model, "name", None), str) else NamedModel(self.name, model)
        if callable(model):
            return FunctionModel(self.name, model)
        raise ModelError(
            f"{self.path}: {self.attribute} is a {type(model).__name__} without `predict`. "
            "Name a class or object with predict(samples), or a function that answers one sample."
        )

    def _made(self, kind: type[Any]) -> Any:
        wanted = dict(self.settings)
        try:
            parameters: Mapping[str, inspect.Parameter] = inspect.signature(kind).parameters
        except ValueError:  # made in C, without a signature
            parameters = {}
        if "device" in parameters:
            wanted.setdefault("device", self.device)
        try:
            return kind(**wanted)
        except Exception as error:
            raise ModelError(
                f"{self.path}: {self.attribute} can't be made ({type(error).__name__}: {error}). "
                "It is called with its settings (--model-set) and, where it takes one, the device. "
                "A class that needs more can be made in the file: name the object instead."
            ) from error


@dataclass(frozen=True)
class NamedModel:
    """A model that did not say its name."""

    name: str
    model: Any

    def predict(self, samples: Iterable[Sample]) -> Iterator[tuple[str, Any]]:
        """The answers of the model."""
        return iter(self.model.predict(samples))


@dataclass(frozen=True)
class FunctionModel:
    """A function of one sample as a model; a sample for which it raises is unanswered, with the reason.

    When the first ten samples all raise, it is the function that is broken: then it stops.
    """

    name: str
    answer: Callable[[Sample], Any]
    advice: str = ""  # behind the error that stops it

    def predict(self, samples: Iterable[Sample]) -> Iterator[tuple[str, Any]]:
        """One answer after the other."""
        answered = failed = 0
        for sample in samples:
            try:
                answer = self.answer(sample)
            except Exception as error:
                failed += 1
                if not answered and failed == _IN_A_ROW:
                    raise ModelError(
                        f"{self.name} raised for each of the first {failed} samples, "
                        f"for {sample.id!r}: {type(error).__name__}: {error}{self.advice}"
                    ) from error
                yield sample.id, Unanswered(f"{type(error).__name__}: {error}")
            else:
                answered += 1
                yield sample.id, answer


class UncachedLoader(importlib.machinery.SourceFileLoader):
    """Compiles a source file each time: nothing is written beside it, and an edit within the same second counts."""

    def get_code(self, fullname: str) -> CodeType:
        """The code of the file as it is now."""
        code: CodeType = self.source_to_code(self.get_data(self.path), self.path)
        return code


def _module(path: Path) -> Any:
    name = f"evenhand_model_{path.stem}"
    loader = UncachedLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None  # there is a loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(path.parent) not in sys.path:  # files beside it can be imported, as when it is run
        sys.path.append(str(path.parent))
    try:
        loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ModelError(f"{path} can't be imported ({type(error).__name__}: {error}).") from error
    return module
