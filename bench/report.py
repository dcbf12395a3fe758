"""How long a large report takes to build, how large it is, and how soon it is painted.

    python -m bench report/large
    python -m bench.report [--systems 50] [--groups 1800] [--points 1000000] [--page FILE]

The results are made up in memory: so many systems, each with a value and an interval for so many groups and
one curve of so many points. Building is measured in this process, as seconds of the clock and of the processor;
first paint in Chromium, when there is one.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.hot import Hot
from evenhand.core.metric import Curve
from evenhand.core.records import EVERYONE, Group
from evenhand.core.results import Contrast, Coverage, Estimate, MetricFact, Reference, Results, Status, Summary, Verdict
from evenhand.reporting.html import page_html
from evenhand.reporting.reported import Reported, report_page


def made_up(number: int, groups: int, points: int, curve: Curve | None = None) -> Results:
    """One system's results: values of groups of three attributes and their intersections, and a curve."""
    rng = np.random.default_rng(number)
    names = groups_of(groups)
    values = np.clip(0.8 + 0.002 * number + rng.normal(0, 0.05, len(names)), 0, 1)
    half = rng.uniform(0.005, 0.1, len(names))
    rows = rng.integers(5, 5000, len(names))
    estimates = [Estimate("roc", "TAR", EVERYONE, 0.8, 0.79, 0.81, 1_000_000, 5000, "cluster_bootstrap")]
    for group, value, width, size in zip(names, values.tolist(), half.tolist(), rows.tolist(), strict=True):
        status = Status.OK if size >= 20 else Status.SMALL
        limits = (max(value - width, 0.0), min(value + width, 1.0))
        estimates.append(Estimate("roc", "TAR", group, value, *limits, size, max(size // 3, 1), "wilson", status))
    x = np.sort(10 ** -rng.uniform(0, 6, points))
    drawn = curve or Curve(x, x ** (0.02 + 0.001 * number), "false match rate", "true accept rate", -x, log_x=True)
    estimates.append(Estimate("roc", "curve", EVERYONE, drawn))
    reference = Reference(2000, 0.05, 0.08, 0.0005, 0.1)
    first, second = Group.of(age="age 0"), Group.of(age="age 1")
    contrast = Contrast("roc", "TAR", first, second, -0.1, -0.15, -0.06, 1e-6, 1e-5, Verdict.LARGE, first, family="f")
    summary = Summary("roc", "TAR", ("age",), {"max_gap": 0.15}, first, second, (first, second), (), reference)
    return Results(
        "ijb/test1", f"system {number:02d}", "made up", {}, (MetricFact("roc", "…", {"TAR": "higher"}, {}),),
        tuple(estimates), Coverage(asked=1_000_000, answered=999_000, missing=1000), contrasts=(contrast,),
        summaries=(summary,), headline=("roc", "TAR"), by=("age", "tone", "place"), rows=1_000_000, units=5000,
    )  # fmt: skip


def groups_of(count: int) -> list[Group]:
    """So many groups: ten ages, the rest intersections of age, tone and place."""
    ages = [Group.of(age=f"age {age}") for age in range(10)]
    pairs = [Group.of(age=f"age {at % 10}", place=f"place {at // 10}") for at in range(count - len(ages))]
    return [*ages, *pairs]


def first_paint(path: Path) -> float | None:
    """Milliseconds until Chromium painted the first content; None without Chromium."""
    executable = shutil.which("chromium")
    if executable is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(path.resolve().as_uri())
        script = "performance.getEntriesByName('first-contentful-paint').map((entry) => entry.startTime)"
        page.wait_for_function(f"({script}).length > 0")
        found = page.evaluate(script)
        browser.close()
    return float(found[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=50)
    parser.add_argument("--groups", type=int, default=1800)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--page", type=Path)
    chosen = parser.parse_args()
    runs = [Reported(made_up(number, chosen.groups, chosen.points)) for number in range(chosen.systems)]
    clock, processor = time.perf_counter(), time.process_time()
    text = page_html(report_page(runs))
    took, used = time.perf_counter() - clock, time.process_time() - processor
    path = chosen.page or Path(tempfile.mkdtemp()) / "report.html"
    path.write_text(text, encoding="utf-8")
    print(f"{chosen.systems} systems, {chosen.groups} groups, curves of {chosen.points:,} points")
    print(f"built in {took:.2f} s ({used:.2f} s of processor); at most 5")
    print(f"{path.stat().st_size / 1e6:.2f} MB; at most 8")
    painted = first_paint(path)
    print("first paint: no Chromium" if painted is None else f"first paint after {painted:.0f} ms; at most 1000")


def json_of(runs: list[Reported]) -> int:
    """Every value and interval as plain JSON, without curves."""
    import msgspec

    values = [
        [
            (str(one.group), one.value, one.low, one.high)
            for one in run.results.estimates
            if isinstance(one.value, float)
        ]
        for run in runs
    ]
    return len(msgspec.json.encode(values))


def hundred_runs() -> tuple[Path, list[Path]]:
    """108 stored runs: 36 models, each with three tasks of some 1,400 estimates and 10,000 pairs of groups."""
    import json

    from bench.fairface import evaluation, published_size
    from evenhand.files.inputs import content_hash

    data, root = published_size(), Path(tempfile.mkdtemp(prefix="report-bench-"))
    for task in ("gender", "race", "age"):
        evaluation(task, runs=root, model="model 00")(data)
    first = sorted(path.parent for path in root.rglob("run.json"))
    folders = list(first)
    for number, folder in itertools.product(range(1, 36), first):
        copy = folder.parent.with_name(f"model {number:02d}") / folder.name
        shutil.copytree(folder, copy)
        manifest = json.loads((copy / "run.json").read_bytes())
        results = (copy / "results.json").read_bytes().replace(b'"model 00"', b'"model %02d"' % number)
        (copy / "results.json").write_bytes(results)
        manifest |= {"model": f"model {number:02d}", "results_hash": content_hash(results)}
        (copy / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
        folders.append(copy)
    return root, folders


def joint_report(form: str) -> Callable[[tuple[Path, list[Path]]], object]:
    """One report of all runs."""

    def write(data: tuple[Path, list[Path]]) -> object:
        import evenhand

        return evenhand.report(*data[1], path=data[0] / f"report.{form}", form=form)

    return write


HOT = [
    *(
        Hot(
            name=f"report/hundred_runs_{form}",
            what=f"one report of 108 stored runs as {form.upper()}: three tasks, 36 models",
            prepare=hundred_runs,
            ours=joint_report(form),
            goal="under 10 s of CPU (HTML) and 1 GB",
            repeat=1,
            slow=True,
        )
        for form in ("html", "pdf")
    ),
    Hot(
        name="report/large",
        what="the page of 50 systems with 1,800 groups and a curve of 1 M points each",
        prepare=lambda: [Reported(made_up(number, 1800, 1_000_000)) for number in range(50)],
        ours=lambda runs: page_html(report_page(runs)),
        bound=lambda runs: json_of(runs),
        bound_name="the numbers as JSON",
        goal="under 5 s, under 8 MB",
        repeat=2,
    ),
]

if __name__ == "__main__":
    main()
