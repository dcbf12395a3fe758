"""Protocol files: which frames are sources, which are imitated, and what they are measured against.

A protocol is `{"val": {video: entry, …}}`; items are in file order. All ranges include both ends and count positions
in the sorted listing of the video's folder (every entry that is not hidden, whatever its extension), not the numbers
in file names. A `Protocol` is a sequence of items; an item reads its video's folder when it is asked for.

Where the published code and good sense differ there are two sets of rules:

| | `compat` | `strict` |
|---|---|---|
| a source named `000505.jpg` | entry 505 of the listing; a warning when that is another file | the file of that name |
| YoutubeDancer18's sources | sorted; an absent name hides those after it | in the given order; all must be there |
| a range past the end of a video | cut off, with a warning | refused |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evenhand.benchmarks.synthesis.features import natural_order
from evenhand.benchmarks.synthesis.items import Item, VideoFrames, read_parameters
from evenhand.benchmarks.synthesis.protocol_file import ProtocolEntry, ProtocolQuestion, read_protocol
from evenhand.core.errors import DataError, OptionError, UnknownNameError
from evenhand.core.records import Array


class Rules(StrEnum):
    """Whose rules count."""

    COMPAT = "compat"  # the same numbers as the published package
    STRICT = "strict"  # the corrected rules


@dataclass(frozen=True)
class Flavour:
    """Where a data set keeps its frames and parameters, and how its source names are looked up."""

    name: str
    images: str  # folder of a video's frames, below the data folder
    parameters: str  # folder of its parameter files
    underscores: bool = False  # `formated_name` has underscores in the place of slashes
    shape_once: bool = False  # one body shape for the whole video
    swept: bool = False  # sources are found by one forward sweep over the sorted listing
    three_items: bool = False  # three items per video, one for each source of `s_n["3"]`


FLAVOURS: Mapping[str, Flavour] = {
    flavour.name: flavour
    for flavour in (
        Flavour("iPER", "images_HD/{video}", "smpls/{video}", underscores=True),
        Flavour("iPER_ICCV", "images_HD/{video}", "smpls/{video}", underscores=True, three_items=True),
        Flavour("MotionSynthetic", "processed/{video}/images", "processed/{video}", shape_once=True),
        Flavour("FashionVideo", "processed/val/{video}/images", "processed/val/{video}"),
        Flavour("YoutubeDancer18", "processed/{video}/images", "processed/{video}", swept=True),
    )
}
"""The data sets whose folders are known. A data set of your own is laid out like one of them."""


def flavour_named(name: str) -> Flavour:
    """The data set of that name."""
    if name not in FLAVOURS:
        raise UnknownNameError("data set", name, FLAVOURS, "Lay your own data out like one of them.")
    return FLAVOURS[name]


class VideoFolder(NamedTuple):
    """The sorted entries of a video's folder."""

    folder: Path
    names: tuple[str, ...]


class _ItemSource(NamedTuple):
    """What an item is made from: its name, its video, the other video of a pair, and the one source to use."""

    name: str
    video: str
    other: str = ""
    only_source: str = ""


class Protocol:
    """The items of a protocol file, each read from its folders when it is asked for."""

    def __init__(
        self,
        path: Path,
        root: Path,
        flavour: Flavour,
        *,
        question: ProtocolQuestion = ProtocolQuestion.IMITATION,
        sources: int = 1,
        rules: Rules = Rules.COMPAT,
        parameters: bool = True,
        motion: Literal["appearance", "source"] = "appearance",
    ) -> None:
        """`motion`: whose flag window an appearance transfer moves through, and is measured against."""
        self.path, self.root, self.flavour, self.question = path, Path(root), flavour, question
        self.sources = 1 if flavour.three_items or question is ProtocolQuestion.NOVEL_VIEW else sources
        self.rules, self._with_parameters = rules, parameters or flavour.three_items
        self.entries, pairs, self.fact = read_protocol(path, question)
        self._chosen = tuple(_choose(self.entries, pairs, flavour, question, path))
        self._motion = motion
        self._listings: dict[str, VideoFolder] = {}
        self._parameters: tuple[str, dict[str, Array | None]] | None = None

    def __len__(self) -> int:
        return len(self._chosen)

    def __getitem__(self, position: int) -> Item:
        return self._item(self._chosen[position])

    def __iter__(self) -> Iterator[Item]:
        return map(self._item, self._chosen)

    @property
    def published_total(self) -> int:
        """What the published package calls its total of frames: three for every video, whatever is in them.

        Nothing here is computed from it; it is for scripts that compare with the published package.
        """
        return 3 * len(self.entries)

    def warnings(self) -> Iterator[str]:
        """What the `compat` rules do that a reader of the file would not expect; looks into every folder."""
        if self.question is ProtocolQuestion.NOVEL_VIEW:  # frames are listed by name
            return
        for video, entry in self.entries.items():
            listing = self.listing(video)
            count = len(listing.names)
            for what, window, length in self._windows(video, entry, count):
                if window[1] >= length:
                    yield (
                        f"{video}: the {what} window {window[0]}–{window[1]} reaches past the end of a video of "
                        f"{length} frames; it is cut to {max(0, length - window[0])} frames."
                    )
            if self.flavour.swept:
                continue
            for name in entry.s_n.get(self._source_key(), ()):
                index = _index_of(name, video, self.path)
                if index < count and listing.names[index] != name:
                    yield (
                        f"{video}: the source {name} is looked up as entry {index} of the folder, "
                        f"which is {listing.names[index]}."
                    )

    def order_warnings(self) -> Iterator[str]:
        """A sentence when sorted listings, which windows count in, are in another order than the numbers in names.

        Looks at the folders that were listed so far: those that items need, once all items were read.
        """
        unlike = {}
        listings = dict(self._listings)
        for video, (_, names) in listings.items():
            in_order = sorted(names, key=natural_order)
            if in_order != list(names):
                unlike[video] = next(n for n, name in enumerate(names) if in_order[n] != name)
        if unlike:
            video, number = next(iter(unlike.items()))
            listing = listings[video]
            yield (
                f"{len(unlike)} of {len(listings)} videos have names whose numbers are not padded with zeros. "
                f"Windows count positions in the sorted listing, in which number {number} of {listing.folder} is "
                f"{listing.names[number]}: frames are taken in another order than they were filmed. Rename them "
                "(0002.png, 0010.png)."
            )

    def listing(self, video: str) -> VideoFolder:
        """The sorted entries of a video's folder, hidden ones left out."""
        if video not in self._listings:
            folder = self.root / self.flavour.images.format(video=video)
            if not folder.is_dir():
                raise DataError(
                    f"{folder} does not exist, but {self.path} names the video {video!r}. Frames of a "
                    f"{self.flavour.name} video are in DATA/{self.flavour.images.format(video='VIDEO')}."
                )
            names = tuple(sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith(".")))
            if not names:
                raise DataError(f"{folder} is empty, but {self.path} names frames of the video {video!r}.")
            self._listings[video] = VideoFolder(folder, names)
        return self._listings[video]

    def _item(self, chosen: _ItemSource) -> Item:
        entry = self.entries[chosen.video]
        if self.question is ProtocolQuestion.NOVEL_VIEW:
            return self._novel_view(chosen, entry)
        names = [chosen.only_source] if chosen.only_source else self._source_names(chosen.video, entry)
        source = self._source(chosen.video, names)
        if self.question is ProtocolQuestion.APPEARANCE:
            other = self.entries[chosen.other]
            appearance = self._source(chosen.other, self._source_names(chosen.other, other))
            mover, window = (chosen.other, other.flag) if self._motion == "appearance" else (chosen.video, entry.flag)
            motion = self._reference(mover, window, self_imitation=True, what="flag")
            return Item(chosen.name, chosen.video, source, motion, appearance=appearance)
        own, cross = entry.self_imitation, entry.cross_imitation
        assert own is not None and cross is not None  # checked when the file was read  # noqa: PT018
        return Item(
            chosen.name,
            chosen.video,
            source,
            self._reference(chosen.video, own.range, self_imitation=True, what="self_imitation"),
            self._reference(cross.target, cross.range, self_imitation=False, what="cross_imitation"),
            self._cut(self.listing(chosen.video), entry.flag, f"{chosen.video}: the flag"),
        )

    def _source_key(self) -> str:
        return "3" if self.flavour.three_items else str(self.sources)

    def _source_names(self, video: str, entry: ProtocolEntry) -> Sequence[str]:
        key = self._source_key()
        if key not in entry.s_n:
            raise OptionError(
                f"{video}: {self.path} lists no sources for {key}; it has them for {', '.join(entry.s_n)}. "
                "Ask for one of these numbers of sources."
            )
        return entry.s_n[key]

    def _source(self, video: str, names: Sequence[str]) -> VideoFrames:
        listing = self.listing(video)
        if self.rules is Rules.STRICT:
            positions = [_position_of(name, listing, video) for name in names]
        elif self.flavour.swept:
            positions = _swept(names, listing)
            if not positions:
                raise DataError(f"{video}: none of the sources {', '.join(names)} is in {listing.folder}.")
        else:
            positions = [_index_of(name, video, self.path) for name in names]
            for name, position in zip(names, positions, strict=True):
                if position >= len(listing.names):
                    raise DataError(
                        f"{video}: the source {name} is looked up as entry {position}, but {listing.folder} has "
                        f"{len(listing.names)}. Complete the folder, or use the strict rules, which look up by name."
                    )
        images = [listing.folder / listing.names[position] for position in positions]
        return self._frames(video, images, positions, s_n=self.sources, vid_path=str(listing.folder))

    def _reference(self, video: str, window: tuple[int, int], *, self_imitation: bool, what: str) -> VideoFrames:
        images = self._cut(self.listing(video), window, f"{video}: the {what}")
        span = slice(window[0], window[1] + 1)
        return self._frames(video, images, span, self_imitation=self_imitation)

    def _novel_view(self, chosen: _ItemSource, entry: ProtocolEntry) -> Item:
        video, listing = chosen.video, self.listing(chosen.video)
        images = [listing.folder / name for name in entry.mask]
        if self.rules is Rules.STRICT or not all(_has_index(name) for name in entry.mask):
            positions = [_position_of(name, listing, video) for name in entry.mask]
        else:
            positions = [_index_of(name, video, self.path) for name in entry.mask]
        for name in entry.mask:
            if name not in listing.names:
                raise DataError(f"{listing.folder / name} does not exist, but {self.path} lists it as a view.")
        masks = [str(listing.folder.parent / "pred_masks" / f"mask_{name}") for name in entry.mask]
        own = self._frames(video, images, positions, self_imitation=True, masks=masks)
        source = self._frames(video, images[:1], positions[:1], s_n=1, vid_path=str(listing.folder))
        return Item(chosen.name, video, source, own)

    def _frames(self, video: str, images: Sequence[Path], rows: Sequence[int] | slice, **infos: Any) -> VideoFrames:
        """Frames of a video with the rows of its parameters that belong to them."""
        name = video.replace("/", "_") if self.flavour.underscores else video
        known = {key: _rows(array, rows, video) for key, array in self._known(video).items()}
        if self.question is ProtocolQuestion.NOVEL_VIEW:  # the camera and the first joint
            known["views"] = None if known["smpls"] is None else known["smpls"][:, :6]
        return VideoFrames(tuple(images), {"name": video, "formated_name": name, **known, **infos})

    def _cut(self, listing: VideoFolder, window: tuple[int, int], what: str) -> tuple[Path, ...]:
        first, last = window
        if self.rules is Rules.STRICT and last >= len(listing.names):
            raise DataError(
                f"{what} window {first}–{last} reaches past the end of {listing.folder}, which has "
                f"{len(listing.names)} entries. Complete the folder or correct the protocol."
            )
        return tuple(listing.folder / name for name in listing.names[first : last + 1])

    def _windows(self, video: str, entry: ProtocolEntry, count: int) -> Iterator[tuple[str, tuple[int, int], int]]:
        if self.question is ProtocolQuestion.NOVEL_VIEW:
            return
        yield "flag", entry.flag, count
        if self.question is ProtocolQuestion.IMITATION:
            own, cross = entry.self_imitation, entry.cross_imitation
            assert own is not None and cross is not None  # checked when the file was read  # noqa: PT018
            yield "self_imitation", own.range, count
            yield "cross_imitation", cross.range, len(self.listing(cross.target).names)

    def _known(self, video: str) -> dict[str, Array | None]:
        if not self._with_parameters:
            return {"smpls": None, "kps": None}
        if self._parameters is None or self._parameters[0] != video:
            folder = self.root / self.flavour.parameters.format(video=video)
            self._parameters = video, read_parameters(folder, shape_once=self.flavour.shape_once)
        return self._parameters[1]


def _choose(
    entries: Mapping[str, ProtocolEntry],
    pairs: Sequence[tuple[str, str]],
    flavour: Flavour,
    question: ProtocolQuestion,
    path: Path,
) -> Iterator[_ItemSource]:
    if question is ProtocolQuestion.APPEARANCE:
        for first, second in pairs:
            yield _ItemSource(f"{first}→{second}", first, second)
        return
    if question is ProtocolQuestion.NOVEL_VIEW:
        for video, entry in entries.items():
            if entry.novel_view and entry.mask:
                yield _ItemSource(video, video)
        return
    for video, entry in entries.items():
        if not flavour.three_items:
            yield _ItemSource(video, video)
            continue
        if len(entry.s_n.get("3", ())) < 3:
            raise DataError(f"{path}: {video!r} does not list three sources under s_n → 3, as iPER_ICCV needs.")
        for number, name in enumerate(entry.s_n["3"][:3]):
            yield _ItemSource(f"{video}#{number}", video, only_source=name)


def _has_index(name: str) -> bool:
    return name.split(".")[0].split("_")[-1].isdecimal()


def _index_of(name: str, video: str, path: Path) -> int:
    """The number in a file name: before the first dot, after the last underscore.

    >>> _index_of("frame_00000012.png", "video", Path("protocol.json"))
    12
    """
    if not _has_index(name):
        raise DataError(
            f"{path}: the source {name!r} of {video!r} has no number before its first dot and after its last "
            "underscore. Use the strict rules, which look sources up by name."
        )
    return int(name.split(".")[0].split("_")[-1])


def _position_of(name: str, listing: VideoFolder, video: str) -> int:
    if name not in listing.names:
        raise DataError(f"{video}: there is no {name} in {listing.folder}, but the protocol names it.")
    return listing.names.index(name)


def _swept(names: Sequence[str], listing: VideoFolder) -> list[int]:
    """Positions of the names in sorted order, until one is absent.

    >>> _swept(["d.png", "a.png", "c.png"], VideoFolder(Path(), ("a.png", "b.png", "d.png")))
    [0]
    """
    wanted = iter(sorted(names))
    looking_for = next(wanted, None)
    positions = []
    for position, name in enumerate(listing.names):
        if name == looking_for:
            positions.append(position)
            looking_for = next(wanted, None)
    return positions


def _rows(array: Array | None, positions: Sequence[int] | slice, video: str) -> Array | None:
    if array is None or isinstance(positions, slice):
        return None if array is None else array[positions]
    if positions and max(positions) >= len(array):
        raise DataError(
            f"{video}: body parameters of {len(array)} frames, but frame {max(positions)} is a source. "
            "Write parameters for every frame."
        )
    return array[list(positions)]
