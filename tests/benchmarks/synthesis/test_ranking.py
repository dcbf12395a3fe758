"""Which degradations each metric sees: one table, measured through the whole interface, with intervals.

A model spoils what it imitates in a known way, a little or a lot. Networks whose published weights no package carries
(OSNet, PCB, Inception of ImageNet) are the real architectures with reproducible weights, written to a checkpoint and
loaded as a user's would be. Of random features nobody knows which degradation they should mind most, but equal pictures
must score best, and more of a degradation worse than less.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from degrading import DegradingModel, Kind
from filled import GAINS, filled_tensors
from scipy import stats

from evenhand.benchmarks.synthesis import benchmark
from evenhand.benchmarks.synthesis.catalogue import column_of
from evenhand.benchmarks.synthesis.demo import cast_of_videos, frame_of, write_videos
from evenhand.benchmarks.synthesis.drawn import save
from evenhand.benchmarks.synthesis.imitation import run_model
from evenhand.benchmarks.synthesis.protocol import FLAVOURS, Protocol
from evenhand.core.engine import Failed
from evenhand.core.results import Estimate
from evenhand.run.evaluation import evaluate

pytestmark = pytest.mark.torch

PAGE = Path(__file__).parents[3] / "docs" / "families" / "synthesis.md"
KINDS: tuple[Kind, ...] = ("blur", "shift", "colour", "identity")
LITTLE: Mapping[Kind, float] = {"blur": 0.04, "shift": 0.1, "colour": 0.1, "identity": 0.1}
LOT = 0.9
FEW, MANY = 4, 12  # videos
SIZE = 176  # five scales of structural similarity need 161

# A number: how strongly a lot of it is minded, 1 most; a tick where features are those of a stand-in. In brackets: more
# is worse, but intervals over twelve videos do not tell a lot from a little. A dash: more of it is not worse.
TABLE = """
ssim                            | none     |  4  |  3  |  1  |  2
psnr                            | none     |  4  |  3  |  2  |  1
ms-ssim                         | none     |  3  |  1  |  4  |  2
lps                             | real     |  1  |  3  |  4  |  2
dists                           | real     |  1  |  4  |  3  |  2
face-CS                         | real     |  1  |  –  | (3) |  2
OS-CS-reid                      | stand-in |  ✓  |  ✓  |  ✓  |  ✓
PCB-CS-reid                     | stand-in |  ✓  | (✓) |  ✓  |  ✓
face-FD                         | real     |  1  |  –  | (3) |  2
OS-freid                        | stand-in |  ✓  |  ✓  |  ✓  | (✓)
PCB-freid                       | stand-in |  ✓  | (✓) |  ✓  |  ✓
fid                             | stand-in |  ✓  |  ✓  |  ✓  |  ✓
kid                             | stand-in |  ✓  | (✓) | (✓) |  ✓
is                              | stand-in | (✓) | (✓) |  –  |  ✓
fid:fid-2015                    | real     |  1  | (4) |  3  |  2
kid:fid-2015                    | real     |  1  | (3) | (4) |  2
neighbours:fid-2015, precision  | real     |  1  |  –  |  –  |  –
neighbours:fid-2015, recall     | real     |  1  |  –  |  –  |  1
neighbours:fid-2015, density    | real     |  1  | (2) | (3) |  –
neighbours:fid-2015, coverage   | real     |  1  |  –  |  –  | (2)
"""
PAIRED = ("ssim", "psnr", "ms-ssim", "lps", "dists", "face-CS", "OS-CS-reid", "PCB-CS-reid")
SETS = ("face-FD", "OS-freid", "PCB-freid", "fid", "kid", "is")
LITERATURE = ("fid:fid-2015", "kid:fid-2015", "neighbours:fid-2015")
LOWER_IS_BETTER = ("lps", "dists", "face-FD", "OS-freid", "PCB-freid", "fid", "kid", "fid:fid-2015", "kid:fid-2015")


class Line(NamedTuple):
    """One line of the table."""

    name: str
    weights: str
    cells: dict[Kind, str]

    @property
    def metric(self) -> str:
        return self.name.partition(", ")[0]

    @property
    def sign(self) -> int:
        """1 where more is worse."""
        return 1 if self.metric in LOWER_IS_BETTER else -1


def lines(text: str) -> Iterator[Line]:
    for line in text.strip().splitlines():
        name, weights, *cells = (cell.strip() for cell in line.split("|"))
        yield Line(name, weights, dict(zip(KINDS, cells, strict=True)))


EXPECTED = tuple(lines(TABLE))
Measured = Callable[[Line, Kind, float], "Judged"]


@dataclass(frozen=True)
class Judged(Estimate):
    """An estimate, with the value of every frame where the metric is a mean over frames."""

    frames: tuple[float, ...] = ()


@dataclass(frozen=True)
class Classifier:
    """Pooled features and class logits of one Inception network, as the score of its name asks for them."""

    reader: Any
    ready: Any

    @property
    def fingerprint(self) -> str:
        return str(self.reader.fingerprint)

    def readings(self, images: list[Path]) -> Any:
        return self.reader.readings(images)

    def logits(self, features: np.ndarray) -> np.ndarray:
        import torch

        with torch.inference_mode():
            return np.asarray(self.ready.network.logits(torch.from_numpy(features)))


def stand_ins(folder: Path) -> dict[str, Any]:
    """Readers of the networks whose weights no package carries: reproducible ones, by way of a checkpoint."""
    import torch

    from evenhand.instruments.architectures import bare_network, build_network
    from evenhand.instruments.checkpoints import shapes_of
    from evenhand.instruments.readers import inception_reader, person_reader

    ready = {}
    for name in ("osnet-ibn", "pcb", "inception-imagenet"):
        with torch.device("meta"):
            shapes = shapes_of(bare_network(name))
        torch.save(filled_tensors(shapes, GAINS.get(name, 1.0)), folder / f"{name}.pth")
        ready[name] = build_network(name, paths={name: folder / f"{name}.pth"})
    how: dict[str, Any] = {"image_size": SIZE, "cache": folder / "cache"}
    inception = inception_reader(ready=ready["inception-imagenet"], **how)
    classifier = Classifier(inception, ready["inception-imagenet"])
    return {
        "osnet": person_reader("osnet", ready=ready["osnet-ibn"], **how),
        "pcb": person_reader("pcb", ready=ready["pcb"], **how),
        "inception": classifier,
        "logits": classifier,
    }


def published(folder: Path, size_of_dists: int) -> dict[str, Any]:
    """Instruments with published weights, which packages carry; built once for all runs."""
    from evenhand.instruments.comparers import dists_comparer, lpips_comparer
    from evenhand.instruments.pictures import HIS_EVALUATORS
    from evenhand.instruments.readers import face_reader

    cache = folder / "cache"
    return {
        "face": face_reader(image_size=SIZE, cache=cache),
        "lps": lpips_comparer("alex", loading=HIS_EVALUATORS.at(SIZE, SIZE), cache=cache),
        "dists": dists_comparer(loading=HIS_EVALUATORS.at(size_of_dists, size_of_dists), cache=cache),
    }


def write_data(folder: Path, videos: int) -> Path:
    """Drawn people, one frame each, who imitate themselves in both questions; and a stranger."""
    cast = cast_of_videos(videos + 1)
    write_videos(folder, cast[:videos], frames=1, size=SIZE)
    told = json.loads((folder / "protocol.json").read_text())
    for name, entry in told["val"].items():
        entry["cross_imitation"]["target"] = name
    (folder / "protocol.json").write_text(json.dumps(told))
    (folder / "stranger").mkdir()
    save(str(folder / "stranger" / "0000.png"), frame_of(cast[videos], 0, 1, SIZE))
    return folder


def measuring(folder: Path, videos: int, sets: tuple[str, ...], pairs: Mapping[int, tuple[str, ...]]) -> Measured:
    """What a metric says of a degradation; each model is run once, its pictures are measured by both tasks.

    `pairs` are the paired metrics by the size at which pictures are compared.
    """
    data = write_data(folder / "data", videos)
    size_of_dists = next(size for size, names in pairs.items() if "dists" in names)
    instruments = {**stand_ins(folder), **published(folder, size_of_dists)}
    known: dict[tuple[Kind, float], dict[tuple[str, str], Judged]] = {}
    common: dict[str, Any] = {"by": (), "draws": 200, "permutations": 0, "runs": folder / "runs"}

    def run(kind: Kind, strength: float) -> dict[tuple[str, str], Judged]:
        made = folder / f"{kind}-{strength}"
        model = DegradingModel(made, kind, strength, stranger=data / "stranger")
        for outcome in run_model(model, Protocol(data / "protocol.json", data, FLAVOURS["iPER"]), start="here"):
            assert not isinstance(outcome.answer, Failed)
        found: dict[tuple[str, str], Judged] = {}
        asked = [("self_imitation", names, size) for size, names in pairs.items()]
        for task, names, size in (*asked, ("cross_imitation", sets, SIZE)):
            options = {"metrics": names, "image_size": size}
            outcome = evaluate(
                benchmark.find(f"synthesis/{task}"), made, data, options=options, instruments=instruments, **common
            )
            assert not outcome.results.facts["not_available"]
            rows = outcome.records()
            for estimate in outcome.results.estimates:
                column = column_of(estimate.metric) if task == "self_imitation" and estimate.metric in PAIRED else ""
                frames = tuple(rows[column].tolist()) if column else ()
                judged = Judged(**{part.name: getattr(estimate, part.name) for part in fields(Estimate)}, frames=frames)
                found.setdefault((estimate.metric, estimate.output), judged)
        return found

    def measured(line: Line, kind: Kind, strength: float) -> Judged:
        if (kind, strength) not in known:
            known[kind, strength] = run(kind, strength)
        found, output = known[kind, strength], line.name.partition(", ")[2]
        outputs = (output,) if output else ("mean", "distance", "score")
        return next(found[line.metric, output] for output in outputs if (line.metric, output) in found)

    return measured


def worse(line: Line, one: Estimate, other: Estimate) -> bool:
    """Whether the second is worse than the first."""
    return line.sign * float(other.value) > line.sign * float(one.value)  # type: ignore[arg-type]  # all are numbers


def apart(one: Estimate, other: Estimate) -> bool:
    """Whether the intervals do not meet."""
    assert None not in (one.low, one.high, other.low, other.high)
    return one.high < other.low or other.high < one.low  # type: ignore[operator]  # as asserted


def test_the_page_of_the_family_shows_this_table_and_every_metric_is_in_it() -> None:
    shown = [
        [cell.strip().replace("`", "") for cell in line.strip("|").split("|")][:6]
        for line in PAGE.read_text(encoding="utf-8").partition("## What each metric sees")[2].splitlines()
        if line.startswith("| `")
    ]
    assert shown == [[line.name, line.weights, *line.cells.values()] for line in EXPECTED]
    assert {line.metric for line in EXPECTED} == {*PAIRED, *SETS, *LITERATURE}


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """A few videos, blurred: what a quick look at every network affords. DISTS is dear, so it sees small pictures."""
    pytest.importorskip("torch")
    pairs = {SIZE: tuple(name for name in PAIRED if name != "dists"), 64: ("dists",)}
    return measuring(tmp_path_factory.mktemp("few"), FEW, SETS, pairs)


@pytest.mark.parametrize(
    "line", [line for line in EXPECTED if line.metric not in LITERATURE], ids=lambda line: line.name
)
def test_every_metric_says_that_more_blur_is_worse_and_none_is_best(few: Measured, line: Line) -> None:
    none, little, lot = (few(line, "blur", strength) for strength in (0.0, LITTLE["blur"], LOT))
    assert worse(line, none, little)
    assert worse(line, little, lot)
    assert lot.units == FEW
    if line.metric != "face-FD":  # half of the videos, whose spread makes its interval, may show no face
        assert lot.low <= lot.number <= lot.high  # type: ignore[operator]  # it has an interval
    if line.metric in PAIRED and line.metric != "psnr":  # which is infinite for equal pictures
        assert none.number is not None
        assert not lot.low <= none.number <= lot.high  # type: ignore[operator]  # it has an interval
    if line.metric in PAIRED:  # every single frame, not only the mean, is worse
        pairs = [pair for pair in zip(none.frames, lot.frames, strict=True) if not np.isnan(pair).any()]
        assert len(pairs) >= 2
        assert all(line.sign * after > line.sign * before for before, after in pairs)


def test_four_equal_pairs_say_that_the_best_was_seen_and_little_about_a_rare_failure(few: Measured) -> None:
    none = few(EXPECTED[0], "blur", 0.0)
    assert (EXPECTED[0].name, none.value, none.high) == ("ssim", 1.0, 1.0)
    # Without any spread every video counts once, as for a proportion: Wilson with the quantile of t, on −1…1.
    edge = stats.t.ppf(0.975, FEW - 1) ** 2 / (FEW + stats.t.ppf(0.975, FEW - 1) ** 2)
    assert none.low == pytest.approx(1 - 2 * edge)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    pytest.importorskip("torch")
    return measuring(tmp_path_factory.mktemp("many"), MANY, (*SETS, *LITERATURE), {SIZE: PAIRED})


@pytest.mark.slow
@pytest.mark.parametrize("line", EXPECTED, ids=lambda line: line.name)
def test_each_metric_ranks_the_degradations_as_the_table_says(many: Measured, line: Line) -> None:
    none = many(line, "nothing", 0.0)
    lots = {kind: many(line, kind, LOT) for kind in KINDS}
    for kind in KINDS:
        little, lot, cell = many(line, kind, LITTLE[kind]), lots[kind], line.cells[kind]
        if cell == "–":
            assert not (worse(line, little, lot) and apart(little, lot)), (line.name, kind)
            continue
        assert worse(line, none, lot), (line.name, kind)
        assert worse(line, little, lot), (line.name, kind)
        assert cell.startswith("(") or apart(little, lot), (line.name, kind)
    ranks = {kind: cell.strip("()") for kind, cell in line.cells.items() if cell.strip("()").isdigit()}
    for kind, rank in ranks.items():
        before = sum(worse(line, lots[kind], lots[other]) for other in ranks)
        assert int(rank) == before + 1, (line.name, kind)
