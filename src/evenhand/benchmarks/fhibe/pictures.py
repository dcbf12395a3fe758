"""Encoded and super-resolved faces against the originals: which picture belongs to which, and how alike they are.

Face encodings lie in a folder, named like the original picture or `<image id>_<subject id>`. Super
resolution names its pictures in `model_outputs.json`. A metric whose weights are not here is left out
of the default list and said; one that was asked for by name is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.fhibe.data import People, PeopleTruth
from evenhand.benchmarks.fhibe.output_file import OUTPUTS, MissingAnswersError, parse, read_outputs, write_entries
from evenhand.core.errors import EvenhandError, PredictionError
from evenhand.core.results import Coverage
from evenhand.core.task import Answers, Codec, Dataset, Tools
from evenhand.files import inputs
from evenhand.files.writing import make_folder, write_file

ENCODINGS = "face_encodings"
Picture = Path | bytes  # where it lies, or the content of its file
INSTRUMENTS: Mapping[str, str] = {
    "PSNR": "fhibe-psnr",
    "LPIPS": "fhibe-lpips",
    "CURRICULAR_FACE": "fhibe-curricular-face",
}


def psnr(device: str = "cpu") -> Any:
    """The comparer of PSNR: Pillow, 256 × 256, 1e-8 added to the error."""
    from evenhand.instruments.comparers import psnr_comparer

    return psnr_comparer("fhibe")


def lpips(device: str = "cpu") -> Any:
    """The comparer of LPIPS: VGG-16 features with the learned weights."""
    from evenhand.instruments.comparers import lpips_comparer

    return lpips_comparer("vgg", device=device)


def curricular_face(device: str = "cpu") -> Any:
    """The comparer of CURRICULAR_FACE: MTCNN, five landmarks, IR-101."""
    from evenhand.instruments import embedders

    return embedders.curricular_face(device=device)


_BUILDERS: Mapping[str, Callable[..., Any]] = {"PSNR": psnr, "LPIPS": lpips, "CURRICULAR_FACE": curricular_face}


def instrument_names(metrics: Sequence[str], asked: Sequence[str]) -> tuple[str, ...]:
    """The registered instruments that were asked for by name; without a wish, what needs no weights."""
    registered = {entry.name for entry in entry_points(group="evenhand.instruments")}
    chosen = asked or tuple(metric for metric in metrics if metric == "PSNR")
    return tuple(INSTRUMENTS[metric] for metric in chosen if INSTRUMENTS.get(metric) in registered)


def compare(
    metric: str, pictures: Sequence[Path], others: Sequence[Path], tools: Tools, *, required: bool
) -> NDArray[np.float64]:
    """One number per pair; NaN for pairs that can't be measured, or for all when the weights are not here.

    What was left out, and why, goes to `tools.warn`.
    """
    values = np.full(len(pictures), np.nan)
    name = INSTRUMENTS[metric]
    try:
        comparer = tools.instrument(name) if name in tools.instruments else _BUILDERS[metric](device=tools.device)
    except EvenhandError as error:
        if required:
            raise
        tools.warn(f"{metric} was left out: {error}")
        return values
    measured = comparer.comparisons(pictures, others)
    values[measured.positions] = np.asarray(measured.values)[:, 0]
    if measured.problems:
        first = measured.problems[0]
        tools.warn(
            f"{metric}: {len(measured.problems)} of {len(pictures)} pictures can't be measured and are left out, "
            f"such as {first.picture}: {first.reason}"
        )
    return values


class _PictureCodec(Codec[Picture]):
    """What both share: an answer is the content of a picture's file, and pictures may be missing."""

    def to_plain(self, answer: Picture) -> Any:
        return np.frombuffer(picture_bytes(answer), dtype=np.uint8)

    def from_plain(self, plain: Any) -> Picture:
        return np.asarray(plain, dtype=np.uint8).tobytes()

    def answers(
        self, pictures: Mapping[str, Path], dataset: Dataset[Any], options: Any, lacking: str, extra: int = 0
    ) -> Answers[Picture]:
        """The pictures as answers; raises when some are missing and may not, `lacking` says what they are."""
        missing = [sample.id for sample in dataset.samples if sample.id not in pictures]
        if missing and options.missing == "refuse":
            raise MissingAnswersError(
                f"{lacking} {len(missing)} of {len(dataset.samples)} pictures, such as {missing[0]}. Write them all, "
                "or leave these out with --set missing=missed."
            )
        coverage = Coverage(asked=len(dataset.samples), answered=len(pictures), missing=len(missing), extra=extra)
        return Answers(dict(pictures), coverage, tuple(inputs.stamp(picture) for picture in pictures.values()))


class EncodingCodec(_PictureCodec):
    """A folder of encoded pictures; `face_encodings` below a results folder, or the folder itself."""

    filename = ENCODINGS
    example = "face_encodings/<file name of the original>.png"

    def read(self, path: Path, dataset: Dataset[PeopleTruth], options: Any) -> Answers[Picture]:
        folder = Path(path) / ENCODINGS if (Path(path) / ENCODINGS).is_dir() else Path(path)
        if not folder.is_dir():
            raise PredictionError(f"{path} is not a folder; face encodings are a folder with one PNG per picture.")
        pictures = {}
        forms = set()
        for sample, names in possible_names(dataset.truth.people).items():
            there = next((folder / name for name in names if (folder / name).is_file()), None)
            if there is not None:
                pictures[sample] = there
                forms.add("documented name" if there.name != names[0] else "name of the original")
        answers = self.answers(pictures, dataset, options, f"{folder} lacks the encodings of")
        return replace(answers, facts={"form": ", ".join(sorted(forms)) or "published"})

    def write(self, path: Path, answers: Iterable[tuple[str, Picture]], dataset: Dataset[Any], options: Any) -> None:
        make_folder(path)
        for sample, picture in answers:
            write_file(Path(path) / Path(sample).name, picture_bytes(picture), flush=False)


class SuperResolutionCodec(_PictureCodec):
    """`{"<image path>": {"super_res_filename": "<picture>"}}`; relative names are looked for beside the file."""

    filename = OUTPUTS
    example = '{"<image path>": {"super_res_filename": "<results>/super_<file name>.png"}}'

    def read(self, path: Path, dataset: Dataset[Any], options: Any) -> Any:
        file = read_outputs(path, dataset)
        places = {
            sample: _beside(_picture_named(sample, entry), file.path.parent)
            for sample, text in file.raw.items()
            if (entry := parse(bytes(text))) is not None
        }
        pictures = {sample: place for sample, place in places.items() if place is not None}
        lacking = f"{file.path} names no super-resolved picture on disk for"
        answers = self.answers(pictures, dataset, options, lacking, len(file.extra))
        return replace(answers, inputs=(file.fact, *answers.inputs))

    def write(self, path: Path, answers: Iterable[tuple[str, Picture]], dataset: Dataset[Any], options: Any) -> None:
        """The pictures as `super_<name>` beside the file that names them."""
        known = {sample.id: str(sample.media[0]) for sample in dataset.samples}
        folder = Path(path).parent
        entries = []
        for sample, picture in answers:
            target = folder / f"super_{Path(sample).name}"
            if not isinstance(picture, Path) or picture.resolve() != target.resolve():
                write_file(target, picture_bytes(picture), flush=False)
            entries.append((known[sample], {"super_res_filename": str(target)}))
        write_entries(path, entries)


def _picture_named(image: str, entry: Any) -> Path:
    if not isinstance(entry, dict) or not isinstance(entry.get("super_res_filename"), str):
        raise PredictionError(f"image {image}: no 'super_res_filename' with the name of a picture.")
    return Path(entry["super_res_filename"])


def picture_bytes(picture: Picture) -> bytes:
    """The content of a picture file, given by its path or as it is."""
    from evenhand.instruments.pictures import read_bytes

    return read_bytes(picture) if isinstance(picture, Path) else picture


def possible_names(people: People) -> dict[str, tuple[str, ...]]:
    """File names under which the encoding of each picture may lie, the published one first."""
    by_image = {}
    for image, image_id, subject in zip(people.images, people.image_ids, people.subjects, strict=True):
        name = Path(image).name
        documented = (image_id, f"{image_id}_{subject}")
        by_image[image] = (name, *(f"{stem}.png" for stem in documented if image_id))
    return by_image


def _beside(picture: Path, folder: Path) -> Path | None:
    """The picture at its given path, else by its name beside the file that names it."""
    for place in (picture, folder / picture, folder / picture.name):
        if place.is_file():
            return place
    return None
