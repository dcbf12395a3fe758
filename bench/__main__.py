"""Runs hot paths and prints ours, peer, ratio, memory and bound."""

from __future__ import annotations

import argparse
import compileall
import importlib
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.hot import Hot, promises_cpu

HERE = Path(__file__).parent
PEERS = HERE.parent / ".venv-bench" / "bin" / "python"
HELPERS = {"__init__", "__main__", "hot", "calibrate", "document", "scaling", "failures"}


def every() -> dict[str, Hot]:
    """All hot paths, by name."""
    found: dict[str, Hot] = {}
    for path in sorted(HERE.glob("*.py")):
        if path.stem in HELPERS:
            continue
        module = importlib.import_module(f"bench.{path.stem}")
        found.update({hot.name: hot for hot in getattr(module, "HOT", [])})
    return found


def child(name: str, side: str, module: str) -> None:
    """Time one side in this process and print what it took."""
    hot = {hot.name: hot for hot in importlib.import_module(module).HOT}[name]
    work = {"ours": hot.ours, "peer": hot.peer, "bound": hot.bound}[side]
    assert work is not None
    data = hot.prepare()
    if side == "ours":  # as the command does, whose work this is
        from evenhand.cli.process import prepare_process

        prepare_process()
    before = _peak()
    best = cpu = float("inf")
    for _ in range(hot.peer_repeat if side == "peer" else hot.repeat):
        start, start_cpu = time.perf_counter(), time.process_time()
        work(data)
        best = min(best, time.perf_counter() - start)
        cpu = min(cpu, time.process_time() - start_cpu)
    print(json.dumps({"seconds": best, "cpu_seconds": cpu, "peak_mb": _peak(), "data_mb": before}))


def measure(hot: Hot, module: str, side: str) -> dict[str, Any]:
    """One side in a process of its own."""
    peers_own = side == "peer" and not hot.peer_here
    if peers_own and not PEERS.exists():
        return {"error": "no .venv-bench: run `make bench`"}
    python = str(PEERS) if peers_own else sys.executable
    command = [python, "-m", "bench", "--child", hot.name, "--side", side, "--module", module]
    # The peers' environment has no evenhand of its own, but data are made with it.
    env = {**os.environ, **({"PYTHONPATH": str(HERE.parent / "src")} if peers_own else {})}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled once
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, env=env, check=False)
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}"}
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", help="names or beginnings of names; all quick ones by default")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--all", action="store_true", help="the slow ones too")
    parser.add_argument("--document", type=Path, help="write the page of measurements here, with figures beside it")
    parser.add_argument("--list", action="store_true", help="only list the names")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--side", help=argparse.SUPPRESS)
    parser.add_argument("--module", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.child, given.side, given.module)
        return 0
    chosen = [
        hot
        for name, hot in every().items()
        if (any(name.startswith(wanted) for wanted in given.names) if given.names else given.all or not hot.slow)
    ]
    if given.list:
        print("\n".join(f"{hot.name:<36} {hot.what}" for hot in chosen))
        return 0
    compileall.compile_dir(HERE.parent / "src", quiet=1)
    rows = []
    for hot in chosen:
        module = hot.ours.__module__
        row: dict[str, Any] = {"name": hot.name, "what": hot.what, "goal": hot.goal, "peer_name": hot.peer_name}
        for side, work in (("ours", hot.ours), ("peer", hot.peer), ("bound", hot.bound)):
            if work is not None:
                row[side] = measure(hot, module, side)
        if "seconds" in row.get("peer", {}) and "seconds" in row["ours"]:
            row["peer"]["share"] = hot.peer_share
            clock = "cpu_seconds" if promises_cpu(hot.goal) else "seconds"  # as promised
            row["ratio"] = row["peer"][clock] / hot.peer_share / row["ours"][clock]
        rows.append(row)
        if not given.json:
            print(_line(hot, row), flush=True)
    if given.document is not None:
        from bench.document import SECTIONS, measure_section, write

        whole = {} if given.names else {name: measure_section(name) for name in SECTIONS}
        write(given.document, rows, whole)
    if given.json:
        machine = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
        print(json.dumps({"machine": machine, "rows": rows}, indent=2))
    return 1 if any("error" in row.get(side, {}) for row in rows for side in ("ours", "peer", "bound")) else 0


def _line(hot: Hot, row: dict[str, Any]) -> str:
    shown = [f"{hot.name:<34}"]
    for side, label in (("ours", "ours"), ("peer", hot.peer_name or "peer"), ("bound", hot.bound_name or "bound")):
        if side in row:
            entry = row[side]
            text = entry.get("error") or f"{entry['seconds']:.3f} s, {entry['peak_mb']:.0f} MB"
            if entry.get("share", 1) != 1:
                text += f", for {entry['share']:.2g} of the work"
            shown.append(f"{label}: {text}")
    if "ratio" in row:
        shown.append(f"ratio {row['ratio']:.1f}")
    if hot.goal:
        shown.append(f"[{hot.goal}]")
    return "  ".join(shown)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
