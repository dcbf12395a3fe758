"""How long a large run takes when machines are lost and some parts are slow: a simulation of the engine's rules.

    python -m bench.failures                    12 million probes in 12 million templates on 32 machines of 32 cores
    python -m bench.failures --machines 128 --hours-between-losses 200 --slow 0.05

The rules are those of the engine `ray`: parts are given out in order, a worker has one in work and one at hand, the
parts of a lost machine are given to others, a machine that is lost comes back after a while (or never), a bounded
number of parts is on its way, and outcomes are taken in order. A driver that dies starts again with what it had kept.
Nothing here is measured but the rate: multiply-adds a second and core are an argument.
"""

from __future__ import annotations

import argparse
import heapq
import json
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

AHEAD = 4  # parts per worker that may be finished before their turn, as in the engine


@dataclass(frozen=True)
class Setting:
    """A run: its parts, its machines, and what goes wrong."""

    parts: int
    seconds: float  # of one part on a healthy core
    machines: int = 32
    cores: int = 32
    hours_between_losses: float = 720.0  # of one machine
    minutes_away: float = 10.0  # until a lost machine is back; negative: never
    slow: float = 0.01  # share of parts that are slow
    times_slower: float = 5.0  # because of the core that they are on, not of what is in them
    ahead: int = AHEAD
    copies: bool = False  # a part that takes twice as long as usual is given to an idle core as well
    driver_hours_between_losses: float = 2000.0
    driver_minutes_away: float = 5.0


class Finished(NamedTuple):
    """How it went."""

    hours: float
    ideal_hours: float  # no losses, no slow parts, no last round
    lost_machines: int
    lost_drivers: int
    parts_done_again: int
    waiting: float  # share of worker time without a part


def simulate(setting: Setting, seed: int) -> Finished:
    """One run; the same seed gives the same losses.

    >>> never = {"hours_between_losses": 1e9, "driver_hours_between_losses": 1e9, "slow": 0.0}
    >>> calm = Setting(64, 10.0, machines=2, cores=4, **never)
    >>> simulate(calm, 0).hours * 3600, simulate(calm, 0).parts_done_again
    (80.0, 0)
    """
    rng = np.random.default_rng(seed)
    duration = setting.seconds * np.where(rng.random(setting.parts) < setting.slow, setting.times_slower, 1.0)
    workers = setting.machines * setting.cores
    events: list[tuple[float, int, str, int, int]] = []  # time, order, kind, machine or part, the machine's life
    count = 0

    def later(at: float, kind: str, who: int, life: int = 0) -> None:
        nonlocal count
        count += 1
        heapq.heappush(events, (at, count, kind, who, life))

    alive, life = [True] * setting.machines, [0] * setting.machines
    free = [setting.cores] * setting.machines
    running: list[set[int]] = [set() for _ in range(setting.machines)]
    done = np.zeros(setting.parts, dtype=np.bool_)
    again: list[int] = []
    begun: dict[int, float] = {}  # parts in work, in the order in which they were begun
    following = taken = lost = lost_drivers = repeated = 0
    busy = now = 0.0
    driver = True
    for machine in range(setting.machines):
        later(float(rng.exponential(setting.hours_between_losses * 3600)), "lose", machine)
    later(float(rng.exponential(setting.driver_hours_between_losses * 3600)), "driver", 0)

    def give_out() -> None:
        nonlocal following
        for machine in range(setting.machines):
            while driver and alive[machine] and free[machine]:
                if again:
                    part = again.pop()
                elif following < setting.parts and following - taken < workers * setting.ahead:
                    part = following
                    following += 1
                elif setting.copies and (overdue := _overdue(begun, now - 2 * setting.seconds)) is not None:
                    part = overdue
                    duration[part] = setting.seconds  # another core
                    del begun[part]
                    if part in running[machine]:
                        continue
                else:
                    return
                if duration[part] > setting.seconds:
                    begun[part] = now
                    if setting.copies:
                        later(now + 2 * setting.seconds, "look", 0)
                free[machine] -= 1
                running[machine].add(part)
                later(now + float(duration[part]), "done", machine * setting.parts + part, life[machine])

    give_out()
    while taken < setting.parts:
        now, _, kind, who, born = heapq.heappop(events)
        if kind == "done":
            machine, part = divmod(who, setting.parts)
            if born != life[machine] or part not in running[machine]:
                continue  # the machine was lost meanwhile
            running[machine].discard(part)
            free[machine] += 1
            busy += float(duration[part])
            done[part] = True
            begun.pop(part, None)
            while taken < setting.parts and done[taken]:
                taken += 1
        elif kind == "lose" and alive[who]:
            lost += 1
            alive[who] = False
            life[who] += 1
            repeated += len(running[who])
            again.extend(sorted(running[who], reverse=True))
            running[who].clear()
            if setting.minutes_away >= 0:
                later(now + setting.minutes_away * 60, "return", who)
        elif kind == "return":
            alive[who], free[who] = True, setting.cores
            later(now + float(rng.exponential(setting.hours_between_losses * 3600)), "lose", who)
        elif kind == "driver":
            lost_drivers += 1
            driver = False
            for machine in range(setting.machines):
                repeated += len(running[machine])
                again.extend(running[machine])
                running[machine].clear()
                life[machine] += 1
                free[machine] = setting.cores if alive[machine] else 0
            again.sort(reverse=True)
            later(now + setting.driver_minutes_away * 60, "start", 0)
        elif kind == "start":
            driver = True
            later(now + float(rng.exponential(setting.driver_hours_between_losses * 3600)), "driver", 0)
        give_out()
    ideal = setting.parts * setting.seconds / workers
    return Finished(now / 3600, ideal / 3600, lost, lost_drivers, repeated, 1 - busy / (now * workers))


def _overdue(begun: dict[int, float], since: float) -> int | None:
    """The part that has been in work longest, when that is since before a time."""
    part = next(iter(begun), None)
    return part if part is not None and begun[part] <= since else None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.failures", description=__doc__.splitlines()[0])
    parser.add_argument("--gallery", type=int, default=12_000_000)
    parser.add_argument("--probes", type=int, default=12_000_000)
    parser.add_argument("--probes-per-part", type=int, default=1024)
    parser.add_argument("--rate", type=float, default=25e9, help="multiply-adds a second and core")
    parser.add_argument("--machines", type=int, default=32)
    parser.add_argument("--cores", type=int, default=32)
    parser.add_argument("--hours-between-losses", type=float, default=720.0, help="of one machine")
    parser.add_argument("--minutes-away", type=float, default=10.0, help="until it is back; negative: never")
    parser.add_argument("--slow", type=float, default=0.01, help="share of parts that are five times slower")
    parser.add_argument("--copies", action="store_true", help="give an overdue part to an idle core as well")
    parser.add_argument("--ahead", type=int, default=AHEAD, help="parts per worker that may be on their way")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    setting = Setting(
        parts=-(-given.probes // given.probes_per_part),
        seconds=given.probes_per_part * given.gallery * 512 / given.rate,
        machines=given.machines,
        cores=given.cores,
        hours_between_losses=given.hours_between_losses,
        minutes_away=given.minutes_away,
        slow=given.slow,
        ahead=given.ahead,
        copies=given.copies,
    )
    found = [simulate(setting, seed) for seed in range(given.runs)]
    hours = np.array([run.hours for run in found])
    said = {
        "parts": setting.parts,
        "seconds_a_part": setting.seconds,
        "ideal_hours": found[0].ideal_hours,
        "median_hours": float(np.median(hours)),
        "worst_hours": float(hours.max()),
        "machines_lost": float(np.mean([run.lost_machines for run in found])),
        "drivers_lost": float(np.mean([run.lost_drivers for run in found])),
        "parts_done_again": float(np.mean([run.parts_done_again for run in found])),
        "waiting": float(np.mean([run.waiting for run in found])),
    }
    if given.json:
        print(json.dumps(said))
        return
    print(f"{said['parts']:,} parts of {said['seconds_a_part']:.0f} s on {given.machines} × {given.cores} cores")
    print(f"ideal {said['ideal_hours']:.2f} h; median {said['median_hours']:.2f} h, worst of {given.runs} ", end="")
    print(f"{said['worst_hours']:.2f} h; workers without a part {said['waiting']:.1%} of the time")
    print(f"lost on average: {said['machines_lost']:.1f} machines, {said['drivers_lost']:.2f} drivers; ", end="")
    print(f"{said['parts_done_again']:.0f} parts done again")


if __name__ == "__main__":
    main()
