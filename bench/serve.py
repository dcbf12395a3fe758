"""The served page under load: 200 readers at the same time for 30 seconds, on loopback.

    python -m bench.serve [READERS [SECONDS]]

Every reader goes round the list, a filtered list, what is under way, a run, one of its groups and a picture. An answer
that is not 200 is an error, and so is a connection that breaks.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import httpx

from evenhand import api

RUNS = 12


@dataclass
class Load:
    """What the readers met."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def line(self, took: float) -> str:
        """The outcome in a line."""
        ordered = sorted(self.seconds) or [0.0]
        at = [ordered[min(int(share * len(ordered)), len(ordered) - 1)] for share in (0.5, 0.95, 0.99)]
        times = f"median {at[0] * 1000:.0f} ms, 95 % {at[1] * 1000:.0f} ms, 99 % {at[2] * 1000:.0f} ms"
        rate = f"{len(ordered):,} answers in {took:.1f} s, {len(ordered) / took:.0f} a second"
        return f"{rate} ({times}); {len(self.errors)} errors"


async def read(address: str, readers: int, seconds: float) -> Load:
    """So many readers for so long."""
    load = Load()
    async with httpx.AsyncClient(base_url=address, timeout=60) as first:
        listed = (await first.get("/")).text
        run = re.findall(r'href="(/run/\w+)"', listed)[0]
    paths = ("/", "/?q=demo&sort=value", "/live", run, f"{run}/group", f"{run}/row/3")

    async def one(number: int) -> None:
        async with httpx.AsyncClient(base_url=address, timeout=60) as client:
            with anyio.move_on_after(seconds):
                while True:
                    for path in paths[number % len(paths) :] + paths[: number % len(paths)]:
                        begun = time.perf_counter()
                        try:
                            response = await client.get(path)
                        except httpx.HTTPError as error:
                            load.errors.append(f"{path}: {error!r}")
                            continue
                        load.seconds.append(time.perf_counter() - begun)
                        if response.status_code != 200:
                            load.errors.append(f"{path}: {response.status_code}")

    async with anyio.create_task_group() as group:
        for number in range(readers):
            group.start_soon(one, number)
    return load


def main(readers: int = 200, seconds: float = 30.0) -> int:
    """Serve demo runs, load them, print the outcome; 1 when there was an error."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        made = api.demo("fairface", folder / "data")[0]
        for number in range(RUNS):
            api.evaluate(
                made.task, made.predictions, data=made.data, model=f"demo {number}", draws=100, permutations=100,
                options=made.options, runs=folder / "runs",
            )  # fmt: skip
        command = [sys.executable, "-m", "evenhand.cli.main", "serve", str(folder / "runs"), "--port", "0"]
        command += ["--data", str(folder / "data")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as page:
            assert page.stdout is not None
            try:
                address = page.stdout.readline().split()[1]
                begun = time.perf_counter()
                load = anyio.run(read, address, readers, seconds)
                print(f"serve: {readers} readers, {load.line(time.perf_counter() - begun)}")
            finally:
                page.terminate()
    for error in load.errors[:10]:
        print(error)
    return 1 if load.errors else 0


if __name__ == "__main__":
    sys.exit(main(*(kind(text) for kind, text in zip((int, float), sys.argv[1:], strict=False))))
