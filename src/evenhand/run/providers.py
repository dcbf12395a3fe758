"""Models by name: `FILE.py:NAME`, or `PROVIDER:NAME` by entry point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evenhand import registry
from evenhand.core.errors import ModelError
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
