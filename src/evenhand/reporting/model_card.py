"""A fragment for a model card: the `model-index` that Hugging Face reads, and a paragraph that people read.

The worst group and the gap stand beside the overall value, so that a card does not say how
well a model does without saying for whom it does worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand.core.results import Results
from evenhand.files.writing import write_file
from evenhand.reporting.phrases import gap_sentence, headline, levels, said, value_name
from evenhand.reporting.reported import Reported
from evenhand.reporting.sections import CAUTIONS
from evenhand.reporting.summary import widest

# What Hugging Face calls the tasks that are nearest to ours; anything else keeps our own name.
_TYPES = {"fairface": "image-classification", "uccs/detection": "object-detection"}
_TYPES |= {"fhibe/person_localization": "object-detection", "fhibe/keypoint_estimation": "keypoint-detection"}


def write_card(runs: Sequence[Reported], path: Path) -> None:
    """Write the fragment of a model card for one or several runs."""
    write_file(path, card([run.results for run in runs]))


def card(results: Sequence[Results]) -> str:
    """YAML front matter with `model-index`, then what it says in words."""
    import yaml

    entries: dict[str, list[dict[str, Any]]] = {}
    for one in results:
        entries.setdefault(one.model, []).append(_entry(one))
    index = [{"name": model, "results": found} for model, found in entries.items()]
    front = yaml.safe_dump({"model-index": index}, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{front}---\n\n## Evaluation by group\n\n" + "\n\n".join(map(_words, results)) + "\n"


def _entry(results: Results) -> dict[str, Any]:
    first = headline(results)
    metrics: list[dict[str, Any]] = []
    if first is not None:
        whole = results.get(*first)
        summary = widest(results, first)
        if whole.number is not None:
            low_high = {} if whole.low is None else {"confidence_interval": [whole.low, whole.high]}
            metrics.append({"type": first[1], "name": value_name(*first), "value": whole.number, **low_high})
        if summary is not None and summary.worst is not None:
            worst = results.get(*first, summary.worst)
            name = f"{value_name(*first)}, worst group ({summary.worst})"
            low_high = {} if worst.low is None else {"confidence_interval": [worst.low, worst.high]}
            metrics.append({"type": first[1], "name": name, "value": worst.number, **low_high})
            gap = summary.values.get("max_gap")
            even = "" if summary.reference is None else f" (an even model: {summary.reference.mean:.4g})"
            name = f"{value_name(*first)}, gap by {' × '.join(summary.by)}{even}"
            metrics.append({"type": "max_gap", "name": name, "value": gap if isinstance(gap, float) else None})
    family = results.task.partition("/")[0]
    kind = _TYPES.get(results.task) or _TYPES.get(family) or family
    return {
        "task": {"type": kind, "name": results.task},
        "dataset": {"type": family, "name": results.dataset or family},
        "metrics": metrics,
        "source": {"name": f"evenhand {results.version}".strip()},
    }


def _words(results: Results) -> str:
    first = headline(results)
    if first is None:
        return f"### {results.task}\n\nNo metric has a value."
    whole = results.get(*first)
    lines = [f"### {results.task}", "", f"{value_name(*first)}: {said(whole)} on {whole.rows:,} rows."]
    lines += ["", "| group | rows | value |", "| --- | ---: | ---: |"]
    for estimate in results.of(*first):
        if len(estimate.group.terms) == 1 and not estimate.group.is_missing:
            name = f"{estimate.group.by[0]}: {levels(estimate.group)}".replace("|", "\\|").replace("<", "&lt;")
            lines.append(f"| {name} | {estimate.rows:,} | {said(estimate)} |")
    told = [gap_sentence(s) for s in results.summaries if (s.metric, s.output) == first and len(s.by) == 1]
    safe = [text.replace("<", "&lt;") for text in told]
    return "\n".join([*lines, "", *safe, "", *CAUTIONS])
