"""The measurements as a page: a table, figures, and the machine that they were made on.

    python -m bench --all --document docs/measured.md       hot paths, then this page
    python -m bench.document docs/measured.md               the page again, from the numbers beside it

Beside the page lie `measured.json` (all numbers) and the figures. Rows that were not measured this time stay from the
last time, with its date. `--scaling`, `--search`, `--scores` and `--predict` measure those sections anew, at the sizes
that are promised.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from bench.hot import promises_cpu
from evenhand.core.page import Figure, Lines, Table
from evenhand.reporting.canvas import INK, Axis, Canvas, line_colour, text_width
from evenhand.reporting.drawing import write_figure

HERE = Path(__file__).parent.parent
_NARROW = "\N{NARROW NO-BREAK SPACE}"  # a number and its unit stay on one line
SECTIONS = {
    "scaling": ("bench.scaling", "--json"),
    "search": ("bench.search_scale", "--json", "--gallery", "1000000", "--probes", "20000"),
    "scores": ("bench.scores", "--json", "--scores", "100000000"),
    "predict": ("bench.predict", "--json", "--pictures", "20000", "--kill", "10"),
}


def machine() -> dict[str, Any]:
    """The processor, memory, system and the libraries that times depend on."""
    import numpy as np
    from threadpoolctl import threadpool_info

    cpu, memory = platform.processor() or platform.machine(), 0.0
    cpuinfo, meminfo = Path("/proc/cpuinfo"), Path("/proc/meminfo")
    if cpuinfo.exists():
        named = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        cpu = named[0] if named else cpu
    if meminfo.exists():
        memory = int(meminfo.read_text().split()[1]) / 1e6
    blas = sorted({f"{pool['internal_api']} {pool.get('version') or ''}".strip() for pool in threadpool_info()})
    return {
        "processor": cpu,
        "cores": os.cpu_count(),
        "memory_gb": round(memory, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": ", ".join(blas),
    }


def keep(folder: Path, rows: list[dict[str, Any]], sections: dict[str, Any]) -> dict[str, Any]:
    """All numbers: what was measured now, and of the rest what was measured before."""
    path = folder / "measured.json"
    known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"rows": {}, "sections": {}}
    today = datetime.now(UTC).date().isoformat()
    here = machine()
    for before in known["rows"].values():
        before.setdefault("machine", known.get("machine", here))
    for row in rows:
        known["rows"][row["name"]] = {**row, "date": today, "machine": here}
    for name, found in sections.items():
        known["sections"][name] = {"date": today, "found": found}
    if rows or "machine" not in known:
        known["machine"] = here
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return known


def write(page: Path, rows: list[dict[str, Any]], sections: dict[str, Any]) -> None:
    """The page, its figures and its numbers."""
    folder = page.with_suffix("")
    known = keep(folder, rows, sections)
    found = [known["rows"][name] for name in sorted(known["rows"])]
    text = [
        "# Measured",
        "",
        "Written by `make bench`. Each side runs in a process of its own, over the same data, and the best of some "
        "repetitions counts. A peer that would take hours is given a share of the work, and *times* is scaled up. "
        "*Bound* is what no implementation can beat: a copy, a sort, the bare products. Memory is the peak of the "
        "whole process, data included. Read a factor below two as noise. Where no peer stands, no public tool does "
        "that work; where no bound stands, the peer is one, or none smaller than the work itself could be named.",
        "",
        _machine_line(known["machine"]),
        "",
    ]
    if found:
        text += ["## Hot paths", "", *_tables(found, known["machine"])]
        if _figure(folder / "peers.svg", _ratios(found, "peer"), "times as long as ours", "What people use today"):
            text += [f"![What people use today, as a multiple of our time]({folder.name}/peers.svg)", ""]
        if _figure(folder / "bounds.svg", _ratios(found, "bound"), "ours as a multiple of the bound", "The bound"):
            text += [f"![Our time as a multiple of the bound]({folder.name}/bounds.svg)", ""]
    for name, draw in (("search", _search), ("scores", _scores), ("predict", _predict), ("scaling", _scaling)):
        if name in known["sections"]:
            text += [*draw(known["sections"][name]["found"], folder), f"*{known['sections'][name]['date']}*", ""]
    page.write_text("\n".join(text).rstrip() + "\n", encoding="utf-8")


def measure_section(name: str, *arguments: str) -> Any:
    """What a program of the bench says in JSON."""
    module, *given = SECTIONS[name]
    command = [sys.executable, "-m", module, *given, *arguments]
    return json.loads(subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, text=True, check=True).stdout)


def _machine_line(found: dict[str, Any]) -> str:
    return (
        f"Machine: {found['processor']}, {found['cores']} cores, {found['memory_gb']:g} GB, {found['system']}, "
        f"Python {found['python']}, NumPy {found['numpy']} ({found['blas']})."
    )


def _tables(rows: list[dict[str, Any]], machine: dict[str, Any]) -> list[str]:
    """A table for each family, so that a page of ordinary width holds it.

    Rows of an earlier day say when they were measured, and where, if that was another machine.
    """
    lines: list[str] = []
    newest = max(str(row["date"]) for row in rows)
    for family, mine in groupby(rows, key=lambda row: str(row["name"]).partition("/")[0]):
        lines += [f"### {family}", "", "| work | ours | peer | times | bound |", "|---|---|---|---|---|"]
        for row in mine:
            promise = f" Promised: {row['goal']}." if row["goal"] else ""
            earlier = "" if row["date"] == newest else f" Measured on {row['date']}{_elsewhere(row, machine)}."
            work = f"**{row['name'].partition('/')[2]}**: {row['what']}.{promise}{earlier}"
            cpu = promises_cpu(row["goal"])
            peer = f"{row['peer_name']}: {_side(row['peer'], cpu)}" if "peer" in row else ""
            ratio = f"{row['ratio']:,.1f}" if "ratio" in row else ""
            bound = _side(row["bound"], cpu) if "bound" in row else ""
            lines.append(f"| {work} | {_side(row['ours'], cpu)} | {peer} | {ratio} | {bound} |")
        lines.append("")
    return lines


def _elsewhere(row: dict[str, Any], machine: dict[str, Any]) -> str:
    measured_on = row.get("machine", machine)
    return "" if measured_on == machine else f" on {measured_on['processor']}, NumPy {measured_on['numpy']}"


def _side(entry: dict[str, Any], cpu: bool = False) -> str:
    """What a side took; seconds of CPU where these are promised."""
    if "error" in entry:
        return str(entry["error"])
    share = entry.get("share", 1)
    part = "" if share == 1 else f" for {share:.2g} of the work"
    time = f"{_seconds(entry['cpu_seconds'])} of CPU" if cpu else _seconds(entry["seconds"])
    return f"{time}{part}, {entry['peak_mb']:,.0f}{_NARROW}MB"


def _seconds(value: float) -> str:
    return f"{value * 1000:.3g}{_NARROW}ms" if value < 1 else f"{value:.3g}{_NARROW}s"


def _ratios(rows: list[dict[str, Any]], side: str) -> list[dict[str, Any]]:
    """Ratios of times, as the tables have them: of CPU where that is promised."""
    found = []
    for row in rows:
        seconds = "cpu_seconds" if promises_cpu(row["goal"]) else "seconds"
        if seconds in row.get(side, {}) and seconds in row["ours"]:
            ours, other = row["ours"][seconds], row[side][seconds] / row[side].get("share", 1)
            found.append({"name": row["name"], "value": other / ours if side == "peer" else ours / other})
    return found


def _figure(path: Path, values: list[dict[str, Any]], axis: str, title: str) -> bool:
    """A bar chart on a logarithmic axis, from 1 to each value; False when there is nothing to draw."""
    if not values:
        return False
    rows = sorted(((entry["value"], entry["name"]) for entry in values), reverse=True)
    step, top, width = 14, 30, 760
    left, bottom = 16 + max(text_width(name) for _, name in rows), top + step * len(rows)
    low, high = (
        10.0 ** round_(math.log10(end)) for end, round_ in ((rows[-1][0], math.floor), (rows[0][0], math.ceil))
    )
    scale = Axis(min(low, 1.0), max(high, 10.0), left, width - 20, log=True)
    canvas = Canvas(width, bottom + 46)
    canvas.words((left + width) / 2, 18, title, "label", anchor="middle", fill=INK, font_size=14)
    canvas.bottom_axis(scale, top, bottom, axis)
    for place, (value, name) in enumerate(rows):
        ends = sorted((scale.place(1.0), scale.place(value)))
        y = top + step * place
        box = {"x": ends[0], "y": y + 2, "width": ends[1] - ends[0], "height": step - 4}
        canvas.add("rect", "", f"{name}: {value:,.3g}", **box, fill=line_colour(0))
        canvas.words(left - 8, y + step - 4, name, "label", anchor="end", fill=INK)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(canvas.text(title, alone=True), encoding="utf-8")
    return True


def _search(found: dict[str, Any], folder: Path) -> list[str]:
    lines = [
        "## Search 1:N on disk",
        "",
        f"{found['probes']:,} probes in {found['gallery']:,} templates of 512 numbers, {found['workers']} workers; "
        "the promise is 1.5 times the bare GEMM, and 6 GB in every process, for 20,000 in a million.",
        "",
        "| side | time | G multiply-adds a second | times the GEMM | largest process |",
        "|---|---|---|---|---|",
    ]
    for side, entry in found["sides"].items():
        lines.append(
            f"| {side} | {_seconds(entry['seconds'])} | {entry['gigamacs']:.1f} | {entry['times_gemm']:.2f} | "
            f"{entry['peak_mb']:,.0f} MB |"
        )
    return [*lines, ""]


def _scores(found: dict[str, Any], folder: Path) -> list[str]:
    return [
        "## Scores from disk to operating points by group",
        "",
        f"{found['scores']:,} scores with whole-number ids, three groups, six rates: {_seconds(found['seconds'])}, "
        f"{found['peak_mb']:,.0f} MB. The promise is 60 s and 1 GB for 10⁸.",
        "",
    ]


def _predict(found: dict[str, Any], folder: Path) -> list[str]:
    after, rate = found["killed_after"], found["asked_now"] / found["seconds"]
    killed = f" The driver was killed after {after:g} s and started again." if after else ""
    return [
        "## Asking a network on a cluster",
        "",
        f"{found['pictures']:,} pictures of 96 × 96, YuNet, {found['workers']} workers on this machine.{killed} "
        f"{found['asked_now']:,} pictures in {_seconds(found['seconds'])}, {rate:,.0f} a second; the model worked "
        f"{found['utilisation']:.1%} of the time, for the rest it waited. {found['answered']:,} were answered in the "
        f"end, {found['asked_again']:,} of them asked a second time.",
        "",
    ]


def _scaling(found: list[dict[str, Any]], folder: Path) -> list[str]:
    sizes = found[0]["sizes"]
    lines = [
        "## Cost against size",
        "",
        "CPU seconds by number of faces (templates of a gallery searched by 1,000 probes; tenths of it with all pairs; "
        "hundred times as many streamed scores). The exponent is the slope of log cost over log size; the last column "
        "has it between the two largest sizes, where start-up no longer hides it. 1 is linear.",
        "",
        "| verb | " + " | ".join(f"{size:,}" for size in sizes) + " | exponent | at the end |",
        "|---|" + "---|" * (len(sizes) + 2),
    ]
    points: list[tuple[str, int, float]] = []
    for row in found:
        times = " | ".join(_seconds(taken) for taken in row["seconds"])
        lines.append(f"| {row['verb']} | {times} | {row['exponent']:.2f} | {row['at_the_end']:.2f} |")
        points += [(row["verb"], size, max(taken, 1e-4)) for size, taken in zip(sizes, row["seconds"], strict=True)]
    table = Table("Cost against size", ("verb", "faces", "CPU seconds"), tuple(points))
    write_figure(Figure(table.title, Lines(log_x=True, log_y=True), table), folder / "scaling.svg", 760)
    return [*lines, "", f"![Cost against size, both logarithmic]({folder.name}/scaling.svg)", ""]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.document", description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path, nargs="?", default=HERE / "docs" / "measured.md")
    for name in SECTIONS:
        parser.add_argument(f"--{name}", action="store_true", help=f"measure the section on {name} first")
    parser.add_argument("--rows", type=Path, help="rows that `python -m bench --json` wrote")
    parser.add_argument("--section", action="append", default=[], metavar="NAME=FILE", help="what a program wrote")
    given = parser.parse_args()
    sections = {name: measure_section(name) for name in SECTIONS if getattr(given, name)}
    for text in given.section:
        name, _, file = text.partition("=")
        sections[name] = json.loads(Path(file).read_text())
    rows = json.loads(given.rows.read_text())["rows"] if given.rows is not None else []
    write(given.page, rows, sections)
    print(f"wrote {given.page}")


if __name__ == "__main__":
    main()
