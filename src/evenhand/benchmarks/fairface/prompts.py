"""The prompts that ask a model about a face, by name and version, from `prompts.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from evenhand.benchmarks.fairface.taxonomy import CLASSES
from evenhand.core.errors import UnknownNameError
from evenhand.files.packaged import packaged_table

_TABLE: Final = packaged_table("evenhand.benchmarks.fairface", "prompts.toml")
PROMPTS: Final[Mapping[str, str]] = {name: entry["text"] for name, entry in _TABLE.items()}


def prompt_of(name: str) -> str:
    """The text of a prompt; a text of several words is itself the prompt.

    >>> prompt_of("Describe the person.")
    'Describe the person.'
    """
    if name not in PROMPTS and len(name.split()) < 2:
        raise UnknownNameError("prompt", name, PROMPTS, "A prompt of your own has at least two words.")
    return PROMPTS.get(name, name)


def schema_of(name: str) -> Mapping[str, Any] | None:
    """The JSON schema of the answers to one of our prompts; None for the user's own."""
    if name not in _TABLE:
        return None
    asked = _TABLE[name]["asks"]
    return {
        "type": "object",
        "properties": {key: {"type": "string", "enum": [*CLASSES[key], "unknown"]} for key in asked},
        "required": asked,
        "additionalProperties": False,
    }
