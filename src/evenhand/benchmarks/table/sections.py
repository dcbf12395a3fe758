"""What a report of a table adds: differences of rates under their usual names, and verification by group."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from evenhand.benchmarks.table.options import TablePairOptions
from evenhand.core.page import Section, Table, Text
from evenhand.core.records import Records
from evenhand.core.results import Results
from evenhand.files.packaged import packaged_table

TEXTS = packaged_table("evenhand.benchmarks.table", "texts.toml")
_ODDS = ("true_positive_rate", "false_positive_rate")


def fairness_numbers(results: Results) -> Mapping[str, Mapping[str, float]]:
    """By attribute: demographic parity and equalised odds, as difference and as ratio between groups.

    Demographic parity compares selection rates, equalised odds the worse of true and false positive rates. Only groups
    that are large enough count; a number that is undefined is left out.
    """
    rates: dict[str, dict[str, Mapping[str, Any]]] = {}
    for summary in results.summaries:
        if summary.metric == "rates" and summary.output in ("selection_rate", *_ODDS):
            rates.setdefault(" × ".join(summary.by), {})[summary.output] = summary.values
    numbers: dict[str, dict[str, float]] = {by: {} for by in rates}
    for by, values in rates.items():
        for kind, key, worst in (("difference", "max_gap", max), ("ratio", "min_over_max_ratio", min)):
            for name, outputs in (("demographic parity", ("selection_rate",)), ("equalized odds", _ODDS)):
                known = [value for output in outputs if isinstance(value := values.get(output, {}).get(key), float)]
                if len(known) == len(outputs):
                    numbers[by][f"{name} {kind}"] = worst(known)
    return numbers


def fairness_differences(results: Results) -> Section | None:
    """Demographic parity and equalised odds by attribute; nothing without rates of a positive class."""
    numbers = {by: values for by, values in fairness_numbers(results).items() if values}
    if not numbers:
        return None
    columns = tuple(dict.fromkeys(name for values in numbers.values() for name in values))
    rows = tuple((by, *(values.get(name) for name in columns)) for by, values in numbers.items())
    return Section(
        "Parity",
        [
            Text(
                "Demographic parity compares how often the positive class is predicted, equalised odds the worse of "
                "true and false positive rates. Whether a difference is more than chance is said under the gaps of "
                "these rates."
            ),
            Table("Differences and ratios between groups", ("by", *columns), rows),
        ],
    )


def verification_extras(rows: Records, options: TablePairOptions) -> Mapping[str, Any]:
    """The verification sheet of every attribute, at the strictest rate that was asked for."""
    from evenhand.stats.verification import verification_sheet

    target = min(options.far)
    sheets = {}
    for name in options.by:
        sides = (f"{name} (first)", f"{name} (second)")
        named = sides if sides[0] in rows.attributes else (name, None)
        sheets[name] = verification_sheet(rows, *named, target=target, targets=tuple(sorted(options.far, reverse=True)))
    return {"verification": sheets} if sheets else {}


def verification_section(results: Results) -> Section | None:
    """Error rates of every group at one threshold for all, and the published numbers of unevenness."""
    sheets: Mapping[str, Any] = results.facts.get("verification", {})
    if not sheets:
        return None
    blocks: list[Any] = [
        Text(
            "One threshold for everyone. FMR: impostor pairs of two people of the group that are accepted; "
            "FNMR: genuine pairs of the group that are not. Limits come from resampling people."
        )
    ]
    for name, sheet in sheets.items():
        columns = (name, *TEXTS["verification"].values())
        rows = tuple(
            tuple(_number(group[key]) for key in ("group", *TEXTS["verification"])) for group in sheet["groups"]
        )
        threshold = float(sheet["threshold"])  # an infinite one is stored as text
        reached = (
            f"threshold {threshold:.4g}" if math.isfinite(threshold) else "no threshold accepts so few, but nobody"
        )
        title = f"By {name}, at an FMR of {sheet['target']:g} ({reached})"
        blocks.append(Table(title, columns, rows))
        numbers = tuple((key, _number(value)) for key, value in sheet["numbers"].items() if not isinstance(value, dict))
        blocks.append(Table(f"How uneven it is, by {name}", ("number", "value"), numbers))
    return Section("Verification by group", blocks)


def _number(value: Any) -> Any:
    """A number, or why there is none."""
    return value.get("undefined", "undefined") if isinstance(value, dict) else value
