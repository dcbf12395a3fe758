"""What made the answers of a file: prompt, model and decoding settings, or that it is not known.

Answers that `predict` wrote have their run's manifest beside them. Of any other file only
what its records tell is known; nothing is assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from evenhand.benchmarks.fairface.image_answers import FileSummary
from evenhand.benchmarks.fairface.prompts import prompt_of
from evenhand.core.errors import EvenhandError
from evenhand.store.manifest import FILENAME, Manifest, read_manifest

UNKNOWN: Final = "unknown"
_NOT_DECODING: Final = ("model", "base_url", "price_in", "price_out")


def provenance(path: Path, summary: FileSummary) -> dict[str, Any]:
    """Where the answers of a file come from, as far as it is known."""
    manifest = _manifest_of(path)
    common = {name: dict(counts.most_common(5)) for name, counts in summary.values.items()}
    files = {Path(fact.path).name: fact.sha256 for fact in summary.facts}
    if manifest is None:
        models = common.get("model")
        return {
            "written_by": UNKNOWN,
            "model": ", ".join(models) if models else UNKNOWN,
            "prompt": UNKNOWN,
            "decoding": UNKNOWN,
            "files": files,
            **({"finish_reasons": common["finish_reason"]} if "finish_reason" in common else {}),
        }
    facts = manifest.model_facts
    name = str(manifest.options.get("prompt") or "all-v1")
    return {
        "written_by": "evenhand predict",
        "model": manifest.model,
        "prompt": name,
        "prompt_text": _prompt_text(name),
        "endpoint": facts.get("base_url", ""),
        "decoding": {key: value for key, value in facts.items() if key not in _NOT_DECODING} or UNKNOWN,
        "asked": manifest.clock.started if manifest.clock else "",
        "files": files,
        **({"finish_reasons": common["finish_reason"]} if "finish_reason" in common else {}),
        **({"forms": common["form"]} if "form" in common else {}),
    }


def _manifest_of(path: Path) -> Manifest | None:
    """The manifest of the predictions that a file belongs to; None when it was not written by `predict`."""
    for folder in (path.parent, path.parent.parent):
        if (folder / FILENAME).is_file():
            try:
                manifest = read_manifest(folder)
            except EvenhandError:
                return None
            return manifest if manifest.kind == "predictions" and isinstance(manifest.options, Mapping) else None
    return None


def _prompt_text(name: str) -> str:
    try:
        return prompt_of(name)
    except EvenhandError:
        return name
