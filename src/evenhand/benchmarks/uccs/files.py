"""What stands beside a figure: curves, counts and operating points as JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evenhand.core.errors import StorageError


def write_report(figure: Path, systems: Mapping[str, Mapping[str, Any]], extra: Mapping[str, Any]) -> tuple[Path, Path]:
    """Write `NAME.json` (everything) and `NAME.csv` (curves as a long table) beside a figure's path."""
    import msgspec
    import polars as pl

    whole, table = figure.with_suffix(".json"), figure.with_suffix(".csv")
    try:
        figure.parent.mkdir(parents=True, exist_ok=True)
        whole.write_bytes(msgspec.json.format(msgspec.json.encode({"systems": systems, **extra}), indent=1) + b"\n")
        frames = [frame for label, system in systems.items() for frame in _curves(label, system)]
        (pl.concat(frames) if frames else pl.DataFrame(schema=_COLUMNS)).write_csv(table)
    except OSError as error:
        raise StorageError(f"{error.filename or figure} can't be written: {error.strerror}.") from error
    return whole, table


_COLUMNS = ("system", "reading", "rank", "threshold", "rate", "false_per_image", "faces")


def _curves(label: str, system: Mapping[str, Any]) -> Iterator[Any]:
    import polars as pl

    froc = ("detection_rate", "false_detections_per_image", "detected_faces")
    oroc = ("tpir", "fpipi", "identified_faces")
    curves: list[tuple[str, int, Mapping[str, Any], tuple[str, str, str]]] = []
    if "curve" in system:
        curves.append(("froc", 0, system["curve"], froc))
    for reading, name in (("oroc", "ranks"), ("oroc_documented", "oroc_documented")):
        curves += [(reading, int(rank), curve, oroc) for rank, curve in system.get(name, {}).items()]
    for reading, rank, curve, (rate, per_image, faces) in curves:
        count = len(curve["thresholds"])
        yield pl.DataFrame(
            {
                "system": pl.Series([label] * count, dtype=pl.String),
                "reading": pl.Series([reading] * count, dtype=pl.String),
                "rank": pl.Series([rank] * count, dtype=pl.Int64),
                "threshold": pl.Series(curve["thresholds"], dtype=pl.Float64),
                "rate": pl.Series(curve[rate], dtype=pl.Float64),
                "false_per_image": pl.Series(curve[per_image], dtype=pl.Float64),
                "faces": pl.Series(curve[faces], dtype=pl.Int64),
            }
        )
