"""The watchlist challenge at its real size: whole commands, their time and memory.

    python -m bench uccs                    every hot path
    python bench/uccs.py [FOLDER [NAME…]]   whole commands as users call them, in processes of their own
    python bench/uccs.py compare [IMAGES]   whole commands beside scripts of the published way, in one run
    python bench/uccs.py growth             the same for 100,000, 320,000 and a million rows, with the exponents

The validation set has 7,584 images with 17,689 faces, the gallery 1,000 subjects with 10 pictures each, and a
detector that leaves 28 boxes an image gives 212,352 rows: 2.6 GB of text. The data are made from a fixed seed and kept
in the temporary folder, or in FOLDER. `published` in the goals is what the challenge's own package took for the same
work, measured on another two-core machine.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from bench.__main__ import PEERS
from bench.hot import Hot
from bench.plain import watchlist as plain

IMAGES, FACES, SUBJECTS, PER_SUBJECT, PER_IMAGE, SIZE = 7584, 17_689, 1000, 10, 28, 512


def challenge(
    folder: Path | None = None,
    images: int = IMAGES,
    faces: int = FACES,
    subjects: int = SUBJECTS,
    size: int = SIZE,
) -> Path:
    """The folder with data, a detection file and embedding stores of the given size; made once."""
    folder = folder or Path(tempfile.gettempdir()) / f"evenhand-bench-uccs-{images}"
    if (folder / "done").exists():
        return folder
    data, results = folder / "data", folder / "results"
    for place in (data, results / "gallery_embeddings", results / "validation_embeddings"):
        place.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(8)
    truth = _write_faces(data, rng, images, faces, subjects)
    _write_gallery(data, subjects)
    _write_answers(results, rng, images, truth, subjects, size)
    (folder / "done").touch()
    return folder


def _write_faces(data: Path, rng: np.random.Generator, images: int, faces: int, subjects: int) -> tuple[Any, Any, Any]:
    image = np.sort(np.concatenate([np.arange(images), rng.integers(0, images, faces - images)]))
    boxes = np.column_stack(
        [rng.uniform(0, 4800, faces), rng.uniform(0, 3200, faces), *rng.uniform(40, 250, (2, faces))]
    )
    subject = np.where(rng.random(faces) < 0.53, rng.integers(1, subjects + 1, faces), -1)
    lines = ["FILE,FACE_ID,SUBJECT_ID,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT"]
    lines += [
        f"img{i:05d}.jpg,{n},{s}," + ",".join(f"{v:.2f}" for v in box)
        for n, (i, s, box) in enumerate(zip(image.tolist(), subject.tolist(), boxes.tolist(), strict=True), 1)
    ]
    (data / "validation.csv").write_text("\n".join(lines) + "\n")
    listed = np.flatnonzero(subject > 0)[:900] + 1
    (data / "exclude_gallery_validation.txt").write_text("".join(f"{face}\n" for face in listed))
    return image, boxes.round(2), subject


def _write_gallery(data: Path, subjects: int) -> None:
    points = ",REYE_X,REYE_Y,LEYE_X,LEYE_Y,NOSE_X,NOSE_Y,RMOUTH_X,RMOUTH_Y,LMOUTH_X,LMOUTH_Y"
    lines = [f"FILE,SUBJECT_ID{points}"]
    lines += [f"{s:04d}_{k}.png,{s}" + ",1" * 10 for s in range(1, subjects + 1) for k in range(PER_SUBJECT)]
    (data / "gallery.csv").write_text("\n".join(lines) + "\n")


def _write_answers(
    results: Path, rng: np.random.Generator, images: int, truth: tuple[Any, Any, Any], subjects: int, size: int
) -> None:
    """A detection file and stores: most faces found, the rest of each image's 28 boxes in the background."""
    from evenhand.benchmarks.uccs.stores import save_npz

    image, boxes, subject = truth
    means = rng.normal(0, 1, (subjects, size)).astype(np.float32)
    for number in range(subjects):
        noise = rng.normal(0, 1.0, (PER_SUBJECT, size)).astype(np.float32)
        store = {"embeddings": means[number] + noise, "landmarks": np.zeros((PER_SUBJECT, 5, 2))}
        save_npz(results / "gallery_embeddings" / f"{number + 1:04d}.npz", store)
    starts = np.searchsorted(image, np.arange(images + 1))
    names: list[str] = []
    every: dict[str, list[Any]] = {"detection_scores": [], "bboxes": [], "embeddings": []}
    landmarks = ",".join(["100.00"] * 10)
    with (results / "UCCS-detection-baseline-validation.txt").open("w") as file:
        file.write("FILE,DETECTION_SCORE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT,REYE_X,REYE_Y,LEYE_X,LEYE_Y,NOSE_X,NOSE_Y,")
        file.write("RMOUTH_X,RMOUTH_Y,LMOUTH_X,LMOUTH_Y\n")
        for number in range(images):
            mine = np.arange(starts[number], starts[number + 1])
            mine = mine[rng.random(len(mine)) < 0.85][:PER_IMAGE]
            rest = PER_IMAGE - len(mine)
            extra = np.column_stack([rng.uniform(0, 5000, (rest, 2)), rng.uniform(30, 200, (rest, 2))])
            box = np.concatenate([boxes[mine] + rng.normal(0, 4, (len(mine), 4)), extra]).round(2)
            box[:, 2:] = np.maximum(box[:, 2:], 5)
            score = np.concatenate([rng.beta(6, 1, len(mine)), rng.beta(1, 6, rest)]).round(4)
            vectors = rng.normal(0, 1.5, (PER_IMAGE, size)).astype(np.float32)
            known = np.flatnonzero(subject[mine] > 0)
            vectors[known] += means[subject[mine[known]] - 1]
            name = f"img{number:05d}"
            for s, b in zip(score.tolist(), box.tolist(), strict=True):
                file.write(f"{name}.jpg,{s:.4f},{b[0]:.2f},{b[1]:.2f},{b[2]:.2f},{b[3]:.2f},{landmarks}\n")
            store = {"detection_scores": score[:, None], "bboxes": box, "embeddings": vectors}
            save_npz(results / "validation_embeddings" / f"{name}.npz", store)
            names += [name] * PER_IMAGE
            for key, value in store.items():
                every[key].append(value)
    np.save(results / "probes.npy", np.concatenate(every["embeddings"]))
    ids = {"files": np.array(names)} | {key: np.concatenate(every[key]) for key in ("detection_scores", "bboxes")}
    save_npz(results / "probes.ids.npz", ids)


def _line(folder: Path, name: str, *more: str) -> list[str]:
    return [name, "--data_directory", str(folder / "data"), "--result_directory", str(folder / "results"), *more]


def lines(folder: Path) -> dict[str, tuple[list[str], str]]:
    """The measured command lines, in the order in which one needs the other's files, with their goals."""
    results = folder / "results"
    binary, text = str(results / "scores.npy"), str(results / "UCCS-scoring-baseline-validation.txt")
    bare = ("--draws", "0", "--no-figure")
    rows = ("--scoring.probe", str(results / "probes.npy"))
    return {
        "detection, no intervals": (
            _line(folder, "evaluation", "-t", "detection", *bare),
            "at most 1.5 s, 300 MB (published: 26 s, 1.0 GB)",
        ),
        "detection, as called by default": (_line(folder, "evaluation", "-t", "detection"), "at most 5 s"),
        "scoring to binary": (_line(folder, "scoring", *rows, "--scoring.results", binary), "at most 4 s"),
        "scoring to binary, a store per image": (_line(folder, "scoring", "--scoring.results", binary), ""),
        "scoring to text": (_line(folder, "scoring", "--scoring.results", text), "at most 45 s (published: 263 s)"),
        "identification from binary": (
            _line(folder, "evaluation", "-t", "recognition", "--eval.recognition.files", binary, *bare),
            "at most 3 s",
        ),
        "identification from text": (
            _line(folder, "evaluation", "-t", "recognition", *bare),
            "at most 25 s, 600 MB (published: 138 s, 9.4 GB)",
        ),
    }


def _run(line: list[str]) -> None:
    from evenhand.compat.uccs.command import command

    with contextlib.redirect_stdout(io.StringIO()):
        code = command.main(line)
    assert code == 0, f"exit code {code}"


def _prepared(key: str) -> dict[str, Any]:
    """The folder and the line of a command. What it reads is there; what it writes is not.

    To free an old file of gigabytes takes a second that is not the command's.
    """
    folder = challenge()
    made = {name: line for name, (line, _) in lines(folder).items()}
    if key.startswith("scoring"):
        Path(made[key][-1]).unlink(missing_ok=True)
    elif key.startswith("identification"):
        scoring = made[key.replace("identification from", "scoring to")]
        if not Path(scoring[-1]).exists():
            _run(scoring)
    return {"folder": folder, "line": made[key]}


SMALL = 948  # images of the set that the published way is given: an eighth


def small(images: int = SMALL) -> Path:
    """A set for the published way."""
    return challenge(None, images, round(images * FACES / IMAGES))


def _hot(name: str, key: str, peer: Any, *read: str, slow: bool = False) -> Hot:
    """A command beside a script of the published way over an eighth; no command is faster than reading its files."""

    def prepared() -> dict[str, Any]:
        ready = _prepared(key)
        if peer is plain.identification_text:
            made = lines(small())["scoring to text"][0]
            if not Path(made[-1]).exists():
                _run(made)
        return ready

    return Hot(
        name=f"uccs/{name}",
        what=f"{key}: {IMAGES * PER_IMAGE:,} detections",
        prepare=prepared,
        ours=lambda data: _run(data["line"]),
        peer=None if peer is None else lambda data: peer(small()),
        peer_name="the published way",
        peer_share=SMALL / IMAGES,
        bound=lambda data: plain.bytes_of(*read)(data["folder"]),
        bound_name="reading the bytes",
        goal=lines(Path())[key][1],
        repeat=1,
        slow=slow,
    )


WATCHLIST = 100_000


def _large() -> Any:
    """100,000 probe rows and 100,000 subjects as vectors, and the faces they belong to."""
    from evenhand.benchmarks.uccs.data import WatchlistFaces
    from evenhand.benchmarks.uccs.scoring import Enrolment
    from evenhand.benchmarks.uccs.stores import ProbeEmbeddings

    rng = np.random.default_rng(3)
    means = rng.standard_normal((WATCHLIST, 128), dtype=np.float32)
    images = WATCHLIST // 10
    box = np.column_stack([np.arange(10) * 300.0, np.zeros(10), np.full((2, 10), 100.0).T])
    subject = rng.permutation(WATCHLIST) + 1
    faces = WatchlistFaces(
        tuple(f"img{n:05d}.jpg" for n in range(images)),
        np.repeat(np.arange(images), 10),
        np.tile(box, (images, 1)),
        np.where(rng.random(WATCHLIST) < 0.6, subject, -1),
        np.arange(WATCHLIST),
    )
    noise = rng.standard_normal((WATCHLIST, 128), dtype=np.float32)
    probes = means[subject - 1] + 1.2 * noise
    stores = [
        ProbeEmbeddings([f"img{n:05d}"] * 10, np.ones(10), box, probes[10 * n : 10 * n + 10]) for n in range(images)
    ]
    return faces, Enrolment(tuple(range(1, WATCHLIST + 1)), means), stores


def _large_run(prepared: Any) -> Any:
    from evenhand.benchmarks.uccs.options import WatchlistIdentificationOptions
    from evenhand.benchmarks.uccs.record import record_identification
    from evenhand.benchmarks.uccs.scores import evaluate_blocks
    from evenhand.benchmarks.uccs.scoring import score

    faces, enrolment, stores = prepared
    found = evaluate_blocks(score(stores, enrolment), enrolment.subjects, faces)
    return record_identification(faces, found, WatchlistIdentificationOptions(), items=False)


def _large_bound(prepared: Any) -> Any:
    _, enrolment, stores = prepared
    gallery = np.ascontiguousarray(enrolment.templates.T)
    block = np.concatenate([store.embeddings for store in stores[:64]])
    out = np.empty((len(block), gallery.shape[1]), dtype=np.float32)
    for _ in range(0, WATCHLIST, len(block)):
        np.matmul(block, gallery, out=out)
    return out


FEW_LARGE = 200


def _large_peer(prepared: Any) -> Any:
    """Two hundred rows against everybody, each sorted."""
    _, enrolment, stores = prepared
    rows = np.concatenate([store.embeddings for store in stores[: FEW_LARGE // 10]])
    return [np.argsort(-(enrolment.templates @ row))[:10] for row in rows]


_BOXES, _PROBES = "results/UCCS-detection-baseline-validation.txt", "results/probes.npy"
_BINARY, _TEXT = "results/scores.npy", "results/UCCS-scoring-baseline-validation.txt"

HOT = [
    _hot("detection", "detection, no intervals", plain.detection, _BOXES),
    _hot("detection_default", "detection, as called by default", plain.detection, _BOXES),
    _hot("scoring_binary", "scoring to binary", None, _PROBES, slow=True),
    _hot("scoring_text", "scoring to text", plain.scoring_text, _PROBES, slow=True),
    _hot("identification_binary", "identification from binary", None, _BINARY, slow=True),
    _hot("identification_text", "identification from text", plain.identification_text, _TEXT, slow=True),
    Hot(
        name="uccs/straight_from_embeddings",
        what=f"{WATCHLIST:,} subjects × {WATCHLIST:,} probe rows, no score file",
        prepare=_large,
        ours=_large_run,
        bound=_large_bound,
        bound_name="the products alone",
        peer=_large_peer,
        peer_name="a sort for every probe",
        peer_here=True,
        peer_share=FEW_LARGE / WATCHLIST,
        repeat=1,
        slow=True,
    ),
]  # fmt: skip


START = "import sys; from evenhand.compat.uccs import command; sys.exit(command.main(sys.argv[1:]))"


def growth() -> None:
    """CPU time and memory of the commands as rows grow tenfold; an exponent of 1 is linear."""
    rows = (100_000, 320_000, 1_000_000)
    used: dict[str, list[tuple[float, float]]] = {}
    for count in rows:
        images = count // PER_IMAGE
        with tempfile.TemporaryDirectory() as name:
            made = lines(challenge(Path(name), images, round(2.33 * images), subjects=100, size=64))
            for key, (line, _) in made.items():
                _, cpu, peak = _measured([sys.executable, "-c", START, *line])
                used.setdefault(key, []).append((cpu, peak))
    heading = "".join(f"{f'{count:,} rows':>18}" for count in rows)
    print(f"{'command, CPU s and MB':<40}{heading}{'exponent':>10}")
    for key, found in used.items():
        power = np.polyfit(np.log(rows), np.log([cpu for cpu, _ in found]), 1)[0]
        cells = "".join(f"{cpu:>11.2f}{peak:>7.0f}" for cpu, peak in found)
        print(f"{key:<40}{cells}{power:>10.2f}")


COMPARED = {  # a script of the published way, and the command that does the same; the goals are those of the project
    "detection": ("detection, no intervals", 10.0),
    "scoring_text": ("scoring to text", 6.0),
    "identification_text": ("identification from text", 5.0),
}


def compare(images: int) -> None:
    """Whole commands beside scripts of the published way over the same files, one after the other."""
    print(f"{images} images, {images * PER_IMAGE} detections: wall s, CPU s and MB of the published way and of ours;")
    print(f"detection on all {IMAGES} images, since its cost grows with images × faces")
    print(f"{'':<28}{'published':>24}{'evenhand':>24}{'wall':>8}{'CPU':>7}{'memory':>8}  goal")
    for name, (key, goal) in COMPARED.items():
        boxes = Path(tempfile.gettempdir()) / "evenhand-bench-uccs-boxes"
        folder = challenge(boxes, subjects=10, size=8) if name == "detection" else small(images)
        line = lines(folder)[key][0]
        if key.startswith("scoring"):
            Path(line[-1]).unlink(missing_ok=True)
        script = str(Path(__file__).parent / "plain" / "watchlist.py")
        theirs = _measured([str(PEERS) if PEERS.exists() else sys.executable, script, name, str(folder)])
        ours = _measured([sys.executable, "-c", START, *line])
        cells = "".join(f"{wall:>10.2f}{cpu:>8.2f}{peak:>6.0f}" for wall, cpu, peak in (theirs, ours))
        times = [f"{theirs[place] / ours[place]:.1f}×" for place in (0, 1)]
        print(f"{key:<28}{cells}{times[0]:>8}{times[1]:>7}{ours[2] / theirs[2]:>8.2f}  {goal:g}×", flush=True)


def main() -> None:
    """Run the whole commands in processes of their own, one after the other."""
    if sys.argv[1:2] == ["growth"]:
        growth()
        return
    if sys.argv[1:2] == ["compare"]:
        compare(int(sys.argv[2]) if len(sys.argv) > 2 else SMALL)
        return
    folder = challenge(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    print(f"{'command':<40}{'wall s':>8}{'CPU s':>8}{'MB':>7}  goal")
    chosen = sys.argv[2:]
    for name, (line, goal) in lines(folder).items():
        if chosen and not any(name.startswith(beginning) for beginning in chosen):
            continue
        if "--scoring.results" in line:  # a new file: to free an old one of gigabytes takes a second of its own
            Path(line[line.index("--scoring.results") + 1]).unlink(missing_ok=True)
        wall, cpu, peak = _measured([sys.executable, "-c", START, *line])
        print(f"{name:<40}{wall:>8.2f}{cpu:>8.2f}{peak:>7.0f}  {goal}", flush=True)


def _measured(line: list[str], work: Callable[..., Any] = subprocess.Popen) -> tuple[float, float, float]:
    begun = time.perf_counter()
    process = work(line, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, f"{line} ended with {status}"
    return time.perf_counter() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


if __name__ == "__main__":
    main()
