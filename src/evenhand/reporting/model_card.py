"""A fragment for a model card: the `model-index` that Hugging Face reads, and a paragraph that people read.

The worst group and the gap stand beside the overall value, so that a card does not say how
well a model does without saying for which group it performs worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand.core.page import Table
from evenhand.core.printing import printable
from evenhand.core.results import Estimate, Results
from evenhand.files.writing import write_file
from evenhand.reporting.display import NO_OUTPUT, shown, task_title
from evenhand.reporting.markup import markdown_table, markdown_text
from evenhand.reporting.phrases import WORDING, as_cell, gap_sentence, group_words, headline, in_words, value_name
from evenhand.reporting.reported import Reported
from evenhand.reporting.sections import widest

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
    return printable(f"---\n{front}---\n\n## Evaluation by group\n\n" + "\n\n".join(map(_words, results)) + "\n")


def _entry(results: Results) -> dict[str, Any]:
    first = headline(results)
    metrics: list[dict[str, Any]] = []
    if first is not None:
        overall = results.get(*first)
        summary = widest(results, first)
        if overall.number is not None:
            metrics.append(_metric(value_name(*first), overall))
        if summary is not None and summary.worst is not None:
            name = f"{value_name(*first)}, worst group ({summary.worst})"
            metrics.append(_metric(name, results.get(*first, summary.worst)))
            gap = summary.values.get("max_gap")
            even = "" if summary.reference is None else f" (expected by chance alone: {summary.reference.mean:.4g})"
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


def _metric(name: str, estimate: Estimate) -> dict[str, Any]:
    limits = {} if estimate.low is None else {"confidence_interval": [estimate.low, estimate.high]}
    return {"type": estimate.output, "name": name, "value": estimate.number, **limits}


def _words(results: Results) -> str:
    results = shown(results)
    first = results.first
    title = f"### {markdown_text(task_title(results.task, results.names))}"
    if first == NO_OUTPUT:
        return f"{title}\n\nNo metric has a value."
    unit = results.unit(*first)
    overall = results.get(*first)
    lines = [title, "", markdown_text(f"{value_name(*first)}: {in_words(overall, unit)}, n = {overall.rows:,}.")]
    rows = tuple(
        (group_words(e.group), e.rows, as_cell(e, unit))
        for e in results.of(*first)
        if len(e.group.terms) == 1 and not e.group.is_missing
    )
    lines += ["", markdown_table(Table("", ("group", "n", value_name(*first)), rows))]
    gaps = [gap_sentence(s, unit) for s in results.summaries if (s.metric, s.output) == first and len(s.by) == 1]
    return "\n".join([*lines, "", *map(markdown_text, gaps), "", *WORDING["cautions"].values()])
