"""Models by name: `FILE.py:NAME`, or `PROVIDER:NAME` by entry point; and the instruments that a task asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from evenhand import registry
from evenhand.core.errors import ModelError, UnknownNameError
from evenhand.core.task import Model
from evenhand.models.python import ModelFile, is_python


def find_model(spec: str, *, device: str = "cpu", **settings: Any) -> Model[Any] | Callable[[], Model[Any]]:
    """The model that a text names, or what makes it.

    A provider is called with the text after its name, the device and the settings.
    """
    if is_python(spec):
        return ModelFile.parse(spec, device=device, **settings)
    provider, colon, name = spec.partition(":")
    if not colon and provider not in registry.names(registry.MODELS):
        raise ModelError(f"{spec!r} names no model. Write FILE.py:NAME or PROVIDER:NAME, such as openai:gpt-4o.")
    model: Model[Any] | Callable[[], Model[Any]] = registry.load(registry.MODELS, provider)(
        name, device=device, **settings
    )
    return model


class LazyInstruments(Mapping[str, Any]):
    """Name → reader or comparer. What is given is taken; the rest is found by entry point and built for the device."""

    def __init__(self, names: Sequence[str], given: Mapping[str, Any], device: str) -> None:
        self._names = tuple(dict.fromkeys((*names, *given)))
        self._device = device
        self._built = dict(given)

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise UnknownNameError("instrument", name, self._names)
        if name not in self._built:
            self._built[name] = registry.load(registry.INSTRUMENTS, name)(device=self._device)
        return self._built[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
