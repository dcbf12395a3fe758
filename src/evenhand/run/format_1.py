"""What predictions were known by in format 1, when inputs were named by their SHA-256.

The hashes of inputs are in the fingerprint of predictions, and in the version of some data sets. Answers can have cost
money, so those that were begun then are found, and asking goes on with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evenhand.core.task import Dataset
from evenhand.files.inputs import SHA256, sha256_of

_SHOWN = 12  # digits of a hash in the version of a data set


def dataset_in_format_1(dataset: Dataset[Any]) -> Dataset[Any]:
    """The same data, with the version and the hashes of inputs that format 1 has."""
    version, facts = dataset.version, []
    for fact in dataset.inputs:
        digits = fact.hash.removeprefix(SHA256)
        if digits and digits == fact.hash and Path(fact.path).is_file():
            digits = sha256_of(Path(fact.path))
            now, before = fact.hash[:_SHOWN], digits[:_SHOWN]
            version = version.replace(f"BLAKE3 {now}", f"sha256 {before}").replace(now, before)
        facts.append(replace(fact, hash=digits))
    return replace(dataset, version=version, inputs=tuple(facts))


def model_facts_in_format_1(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is noted of a model; of one in a Python file with the SHA-256 of that file."""
    if not isinstance(file := facts.get("file"), str) or "hash" not in facts or not Path(file).is_file():
        return facts
    return {**{name: value for name, value in facts.items() if name != "hash"}, "sha256": sha256_of(Path(file))}
