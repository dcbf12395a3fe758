"""`predict` over small pictures with a real network, on a cluster: does the model ever wait for the disk?

    python -m bench.predict                          1,000 pictures on a cluster of two workers that is started here
    python -m bench.predict --pictures 20000         as it is promised
    python -m bench.predict --kill 10 --pictures …   the driver is killed after so many seconds, and started again

Pictures are crops of one photograph, 96 × 96, as JPEG; the network is YuNet. Printed are pictures a second, the
share of time in which the model waited, and after a kill how many pictures were asked a second time.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.task import Answers, Codec, Dataset, Question, Sample
from evenhand.models.batched import Batched

SIDE = 96


class FaceCounter(Batched):
    """YuNet, loaded where it works."""

    name = "yunet"

    def __init__(self) -> None:
        from evenhand.instruments.detectors import yunet_detector

        self.detector = yunet_detector()

    def decode(self, sample: Sample) -> Any:
        from PIL import Image

        with Image.open(sample.media[0]) as picture:
            return np.asarray(picture.convert("RGB"))

    def infer(self, samples: Sequence[Sample], decoded: Sequence[Any]) -> Iterable[Any]:
        return [[round(face.score, 6) for face in self.detector.faces(pixels)] for pixels in decoded]


class Scores(Codec[list[float]]):
    filename = "faces.json"

    def read(self, path: Path, dataset: Dataset[Any], options: Any) -> Answers[list[float]]:
        return Answers(json.loads(path.read_text()))

    def write(self, path: Path, answers: Iterable[tuple[str, list[float]]], dataset: Any, options: Any) -> None:
        path.write_text(json.dumps(dict(answers)))


def load(folder: Path, options: Any) -> Dataset[None]:
    return Dataset("1", [Sample(path.name, (path,)) for path in sorted(folder.glob("*.jpg"))], None)


QUESTION = Question(name="bench/faces", summary="Faces of small pictures.", load=load, codec=Scores())


def write_pictures(folder: Path, count: int) -> None:
    """So many different crops of a portrait, in a folder."""
    from PIL import Image
    from skimage.data import astronaut

    folder.mkdir(parents=True, exist_ok=True)
    photograph = Image.fromarray(astronaut())
    rng = np.random.default_rng(0)
    for number in range(count):
        x, y = (int(value) for value in rng.integers(100, 200, 2))
        side = int(rng.integers(120, 240))
        crop = photograph.crop((x, y - 90, x + side, y - 90 + side)).resize((SIDE, SIDE))
        crop.save(folder / f"{number:06d}.jpg", quality=90)


def run(folder: Path, engine: str, *, resume: bool = False, workers: int = 0) -> Any:
    """Ask the network everything that is not on disk yet."""
    from evenhand.api import engine_of
    from evenhand.run import predict

    return predict(
        QUESTION,
        FaceCounter,
        folder / "pictures",
        runs=folder / "runs",
        engine=engine_of(engine),
        resume=resume,
        workers=workers,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.predict", description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=int, default=1_000)
    parser.add_argument("--engine", default="ray")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kill", type=float, help="kill the driver after so many seconds, then go on")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--in", dest="folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.folder is not None:
        run(given.folder, given.engine, workers=given.workers)
        return
    with tempfile.TemporaryDirectory(prefix="evenhand-bench-") as name:
        folder = Path(name)
        write_pictures(folder / "pictures", given.pictures)
        if given.kill:
            again = ["--in", name, "--engine", given.engine, "--workers", str(given.workers)]
            child = subprocess.Popen([sys.executable, "-m", "bench.predict", *again])
            time.sleep(given.kill)
            child.send_signal(signal.SIGKILL)
            child.wait()
        begin = time.perf_counter()
        outcome = run(folder, given.engine, resume=bool(given.kill), workers=given.workers)
        seconds = time.perf_counter() - begin
        if given.json:
            found = {"pictures": given.pictures, "workers": given.workers, "killed_after": given.kill}
            found |= {"answered": outcome.answered, "asked_now": outcome.asked_now, "seconds": seconds}
            found |= {"utilisation": outcome.utilisation, "asked_again": len(outcome.asked_again)}
            print(json.dumps(found))
            return
        print(f"{outcome.asked_now:,} pictures in {seconds:.1f} s: {outcome.asked_now / seconds:,.0f} a second")
        print(f"the model worked {outcome.utilisation:.1%} of the time and waited {1 - outcome.utilisation:.1%}")
        print(f"answered {outcome.answered:,} of {given.pictures:,}; asked a second time: {len(outcome.asked_again):,}")


if __name__ == "__main__":
    main()
