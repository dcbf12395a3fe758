"""The published weights, as `weights.toml` lists them: checked against the schema when they are first looked up."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import msgspec

from evenhand.instruments.weight_files import WeightFile


def read_table(text: str) -> Mapping[str, WeightFile]:
    """The weights of a table by name, in its order; a key or type that the schema does not know is an error."""
    content: dict[str, Any] = tomllib.loads(text)
    for entry in content["weights"]:
        unknown = entry.keys() - {field.name for field in fields(WeightFile)}
        if unknown:
            raise ValueError(f"{entry.get('name')}: weights files have no {', '.join(sorted(unknown))}")
    try:
        entries = msgspec.convert(content["weights"], tuple[WeightFile, ...])
    except msgspec.ValidationError as error:  # a ValueError from msgspec 0.21 on
        raise ValueError(str(error)) from None
    table = {entry.name: entry for entry in entries}
    if len(table) != len(entries):
        raise ValueError("a name is given to two weights files")
    return MappingProxyType(table)


WEIGHTS: Mapping[str, WeightFile] = read_table(files(__package__).joinpath("weights.toml").read_text(encoding="utf-8"))
"""Every weights file by name, in the order of the documentation."""
