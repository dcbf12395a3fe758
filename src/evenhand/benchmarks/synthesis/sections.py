"""What a report of this family adds: on how many frames each number rests, and what the number looks at."""

from __future__ import annotations

from evenhand.benchmarks.synthesis.catalogue import CATALOGUE, STRICT, canonical, entry_of
from evenhand.core.errors import OptionError
from evenhand.core.page import Cell, Section, Table, Text
from evenhand.core.records import EVERYONE
from evenhand.core.results import Results


def how_it_was_measured(results: Results) -> Section | None:
    """Every metric with its reading, what it looks at, the share of frames it was measured on, and its policy."""
    rows: list[tuple[Cell, ...]] = []
    policies = {fact.name: str(fact.parameters.get("policy", "")) for fact in results.metrics}
    for estimate in results.estimates:
        name = estimate.metric
        try:
            entry = entry_of(canonical(name))
        except OptionError:
            continue
        if estimate.group != EVERYONE or estimate.output not in _FIRST:
            continue
        total = estimate.rows + estimate.missing
        share = estimate.rows / total if total else None
        rows.append(
            (
                name,
                _reading(name),
                entry.looks_at.value,
                share,
                estimate.missing,
                policies.get(name) or "a frame that could not be measured is left out and counted",
            )
        )
    if not rows:
        return None
    columns = ("metric", "reading", "looks at", "share measured", "frames missing", "policy for the rest")
    blocks: list[Text | Table] = [
        Text(f"Reading of the rows: {results.options.get('reading', 'compat')}."),
        Table("What each number rests on", columns, tuple(rows)),
    ]
    missing = results.facts.get("not_available") or {}
    blocks.extend(Text(f"{name} is not available: {reason}", "caution") for name, reason in missing.items())
    used = results.facts.get("instruments_used") or {}
    if used:
        blocks.append(Table("Instruments", ("feature", "fingerprint"), tuple((k, str(v)) for k, v in used.items())))
    return Section("How it was measured", tuple(blocks), name="measured")


_FIRST = frozenset({"mean", "distance", "score", "precision"})


def _reading(name: str) -> str:
    if name.endswith(STRICT):
        return "corrected"
    return "published" if name in CATALOGUE and CATALOGUE[name].published else "ours"
