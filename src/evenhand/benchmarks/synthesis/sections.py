"""What a report of this family adds: on how many frames each number rests, and what the number looks at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.benchmarks.synthesis.catalogue import CATALOGUE, STRICT, canonical, entry_of
from evenhand.benchmarks.synthesis.metrics import LEFT_OUT
from evenhand.core.errors import OptionError
from evenhand.core.page import Cell, Interval, Section, Table, Text
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
                policies.get(name) or LEFT_OUT,
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


def every_convention(run: Any) -> Section:
    """`evenhand explain`: each number as published and as corrected, with what the two do differently."""
    results: Results = run.results
    known = {
        (estimate.metric, estimate.output): estimate for estimate in results.estimates if estimate.group == EVERYONE
    }
    rows: list[tuple[Cell, ...]] = []
    for (name, output), estimate in known.items():
        if output not in _FIRST or name.removesuffix(STRICT) not in CATALOGUE:
            continue
        value = Interval(
            estimate.number, estimate.low, estimate.high, "" if estimate.number is not None else "undefined"
        )
        base = name.removesuffix(STRICT)
        code = "corrected" if name.endswith(STRICT) else "his_evaluators" if CATALOGUE[base].published else "evenhand"
        rows.append((base, code, value, _DIFFERENCE.get(base, "a mean of batch means against a mean of frames")))
    columns = ("metric", "whose convention", "value", "what differs")
    note = Text("Rows that differ (boxes, windows, sources) need another run: --set reading=strict.", "small")
    return Section("The same numbers under every convention", (Table("", columns, tuple(rows)), note), name="explain")


_DIFFERENCE: Mapping[str, str] = {
    "psnr": "range by the reference and infinite for one identical pair, against range 2 over pairs that differ",
    "face-CS": "batches without a face count as 0, against frames without one left out",
    "is": "pooled features in one split, against class logits in ten",
    "fid": "exact in both; published code is noisy or fails where frames are few",
    "OS-freid": "boxes scaled by size / 416, against true boxes (other rows)",
    "PCB-freid": "boxes scaled by size / 416, against true boxes (other rows)",
    "OS-CS-reid": "boxes scaled by size / 416, against true boxes (other rows)",
    "PCB-CS-reid": "boxes scaled by size / 416, against true boxes (other rows)",
    "face-FD": "exact in both; published code is noisy or fails where frames are few",
}
_FIRST = frozenset({"mean", "distance", "score", "precision"})


def _reading(name: str) -> str:
    if name.endswith(STRICT):
        return "corrected"
    return "published" if name in CATALOGUE and CATALOGUE[name].published else "ours"
