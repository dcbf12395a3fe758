"""The metrics by name: what each looks at, what it needs, which runs it belongs to, and what comes along with it.

Names are those of the publication, case and all; `lpips` is another name of `lps`. A name with `/strict` is the
corrected reading of the same thing. What is not in the publication has a name of its own (`kid`, `ms-ssim`), and so
has every metric of a substitute network or of features that a user brings (`fid:NAME`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from evenhand.benchmarks.synthesis.metrics import (
    LEFT_OUT,
    DecibelsOfFrames,
    FrameMean,
    PublishedDecibels,
    PublishedMean,
)
from evenhand.benchmarks.synthesis.protocol import Reading
from evenhand.core.errors import OptionError, UnknownNameError
from evenhand.core.measure import AnyMetric
from evenhand.core.metric import POSITIVE, UNBOUNDED, Direction, Scale
from evenhand.metrics.distances import Frechet, FrechetOfMoments, InceptionScore, KernelDistance, Neighbours
from evenhand.metrics.means import Rate

STRICT = "/strict"
SPLITS = 10  # of the corrected inception score
HIGHER, LOWER = Direction.HIGHER, Direction.LOWER


class Region(Enum):
    """What part of a picture a metric looks at."""

    WHOLE = "the whole picture"
    PERSON = "the person that was cut out"
    FACE = "the face that was cut out"
    BODY = "the body parameters"


@dataclass(frozen=True)
class Entry:
    """One metric of the catalogue."""

    name: str
    direction: Direction
    looks_at: Region
    definition: str
    paired: bool = False  # compares a frame with its own truth
    unpaired: bool = False  # compares two sets of frames
    feature: str = ""  # the feature vectors it reads
    published: bool = True
    caution: str = ""


_FEW_WORDS = "Says little about pictures of people: a classifier sees one class in all of them."
_PERSON_ALONE = "What lies outside the person's box is not seen."
_FACE_ALONE = "It follows the face: where in the picture that is, and all the rest of the picture, is not seen."
_ALIKE = "Precision and density do not see that everybody has become the same person; recall and coverage do."
_NOT_LITERATURE = "Not the network of the FID literature: compare it only with numbers of this protocol."

CATALOGUE: Mapping[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry("ssim", HIGHER, Region.WHOLE, "structural similarity, 7 × 7 windows", paired=True),
        Entry(
            "psnr",
            HIGHER,
            Region.WHOLE,
            "peak signal-to-noise ratio, in decibel",
            paired=True,
            caution="The published range halves when no value of the reference is below 128: a jump of 6 dB.",
        ),
        Entry("lps", LOWER, Region.WHOLE, "learned perceptual distance (LPIPS, AlexNet 0.1)", paired=True),
        Entry("is", HIGHER, Region.WHOLE, "inception score", unpaired=True, feature="inception", caution=_FEW_WORDS),
        Entry(
            "fid",
            LOWER,
            Region.WHOLE,
            "Fréchet distance of Inception features",
            unpaired=True,
            feature="inception",
            caution=_NOT_LITERATURE,
        ),
        Entry(
            "OS-freid",
            LOWER,
            Region.PERSON,
            "Fréchet distance of OSNet features",
            unpaired=True,
            feature="osnet",
            caution=_PERSON_ALONE,
        ),
        Entry(
            "OS-CS-reid",
            HIGHER,
            Region.PERSON,
            "cosine of OSNet features",
            paired=True,
            unpaired=True,
            feature="osnet",
            caution=_PERSON_ALONE,
        ),
        Entry(
            "PCB-freid",
            LOWER,
            Region.PERSON,
            "Fréchet distance of PCB features",
            unpaired=True,
            feature="pcb",
            caution=_PERSON_ALONE,
        ),
        Entry(
            "PCB-CS-reid",
            HIGHER,
            Region.PERSON,
            "cosine of PCB features",
            paired=True,
            unpaired=True,
            feature="pcb",
            caution=_PERSON_ALONE,
        ),
        Entry(
            "face-FD",
            LOWER,
            Region.FACE,
            "Fréchet distance of face embeddings",
            unpaired=True,
            feature="face",
            caution=_FACE_ALONE,
        ),
        Entry(
            "face-CS",
            HIGHER,
            Region.FACE,
            "cosine of face embeddings",
            paired=True,
            unpaired=True,
            feature="face",
            caution=_FACE_ALONE,
        ),
        Entry("SSPE", LOWER, Region.BODY, "scale, shape and pose error", paired=True, unpaired=True, feature="body"),
        Entry("ms-ssim", HIGHER, Region.WHOLE, "multi-scale structural similarity", paired=True, published=False),
        Entry("dists", LOWER, Region.WHOLE, "structure and texture distance (DISTS)", paired=True, published=False),
        Entry(
            "kid",
            LOWER,
            Region.WHOLE,
            "kernel distance of Inception features, unbiased at every size",
            unpaired=True,
            feature="inception",
            published=False,
        ),
        Entry(
            "neighbours",
            HIGHER,
            Region.WHOLE,
            "precision, recall, density and coverage of Inception features",
            unpaired=True,
            feature="inception",
            published=False,
            caution=_ALIKE,
        ),
    )
}

ALIASES: Mapping[str, str] = {"lpips": "lps"}
PAIRED_DEFAULT = ("ssim", "psnr", "lps")
UNPAIRED_DEFAULT = ("is", "fid", "PCB-freid", "PCB-CS-reid")
UNPAIRED_ORDER = ("is", "fid", "OS-freid", "OS-CS-reid", "PCB-freid", "PCB-CS-reid", "face-FD", "face-CS", "SSPE")
"""The fixed order of published results."""

FACE_FOUND, PERSON_FOUND = "face found in the reference", "person found"
"""The metrics that say on how many frames there was what the others are about."""

_WHOLE = "frames in which no person is found are looked at whole, as published, and their share is given"
_NO_FACE = "frames whose reference shows no face are left out, and their share is given"
_FACELESS = "frames without a face are looked at whole and count too, as published"
_OF_FEATURES = ("fid", "kid", "neighbours", "CS")  # what can be asked of features that a user brings: `fid:NAME`


def canonical(name: str) -> str:
    """The name in the catalogue; raises with the nearest ones.

    >>> canonical("lpips")
    'lps'
    """
    name = ALIASES.get(name.removesuffix(STRICT), name.removesuffix(STRICT))
    kind, joint, feature = name.partition(":")
    if joint and kind in _OF_FEATURES and feature:
        return name
    if name not in CATALOGUE:
        raise UnknownNameError("metric", name, [*CATALOGUE, *ALIASES])
    return name


def entry_of(name: str) -> Entry:
    """What is known of a metric."""
    name = canonical(name)
    kind, joint, feature = name.partition(":")
    if not joint:
        return CATALOGUE[name]
    if kind == "CS":
        definition, both = f"cosine of the features {feature!r}", True
        return Entry(
            name, HIGHER, Region.WHOLE, definition, paired=both, unpaired=both, feature=feature, published=False
        )
    base = CATALOGUE[kind]
    definition = base.definition.replace("Inception features", f"the features {feature!r}")
    return Entry(name, base.direction, base.looks_at, definition, unpaired=True, feature=feature, published=False)


def paired_names(asked: Iterable[str]) -> tuple[str, ...]:
    """The metrics of a paired run, checked: distances between sets have no place in it."""
    names = tuple(dict.fromkeys(canonical(name) for name in asked))
    for name in names:
        if not entry_of(name).paired:
            raise OptionError(
                f"{name!r} compares two sets of frames, not a frame with its truth; a mean of per-batch distances "
                "would mean nothing. Ask for it among the unpaired metrics."
            )
    return names


def unpaired_names(asked: Iterable[str]) -> tuple[str, ...]:
    """The metrics of an unpaired run, checked, in the published order and then as asked."""
    names = tuple(dict.fromkeys(canonical(name) for name in asked))
    for name in names:
        if not entry_of(name).unpaired:
            raise OptionError(
                f"{name!r} compares a frame with its own truth, and an unpaired run has none. "
                "Ask for it among the paired metrics."
            )
    ordered = [name for name in UNPAIRED_ORDER if name in names]
    return (*ordered, *(name for name in names if name not in ordered))


def widened(asked: Sequence[str]) -> tuple[str, ...]:
    """The names whose results the published unpaired run returns when these are asked for.

    >>> widened(["is"]), widened(["face-FD"])
    (('is', 'fid'), ('face-FD', 'face-CS'))
    """
    names = set(unpaired_names(asked))
    if "is" in names:
        names.add("fid")
    if names & {"OS-CS-reid", "PCB-CS-reid"}:  # one switch turns on the cosine of both networks
        names |= {f"{prefix}-CS-reid" for prefix in ("OS", "PCB") if any(n.startswith(f"{prefix}-") for n in names)}
    for prefix in ("OS", "PCB"):
        if any(name.startswith(f"{prefix}-") for name in names):
            names.add(f"{prefix}-freid")
    if any(name.startswith("face-") for name in names):
        names |= {"face-CS", "face-FD"}
    return unpaired_names(names)


def features_of(names: Iterable[str], reading: Reading) -> tuple[str, ...]:
    """The feature vectors that the metrics read, in a fixed order."""
    needed = dict.fromkeys(entry_of(name).feature for name in names if entry_of(name).feature)
    if any(canonical(name) == "is" for name in names):
        needed |= {"logits": None} if reading is Reading.STRICT else {"inception": None, "logits": None}
    return tuple(needed)


def paired_metrics(names: Sequence[str], reading: Reading) -> tuple[AnyMetric, ...]:
    """The metrics over paired rows: the published ones with the corrected beside them, or the corrected alone."""
    found: list[AnyMetric] = []
    for name in paired_names(names):
        entry = entry_of(name)
        if reading is Reading.COMPAT:
            found.append(_published_pair(entry))
            if entry.feature in ("osnet", "pcb"):
                continue  # the corrected ones look at other boxes: other rows
        found.append(_corrected_pair(entry))
    return (*found, *_shares_found(names))


def unpaired_metrics(names: Sequence[str], reading: Reading, *, moments: bool = False) -> tuple[AnyMetric, ...]:
    """The metrics over the rows of two sets. `moments`: Fréchet distances from sums, for sets beyond memory."""
    found: list[AnyMetric] = []
    suffix = STRICT if reading is Reading.STRICT else ""
    for name in unpaired_names(names):
        entry, kind = entry_of(name), name.partition(":")[0]
        if kind == "is":
            if reading is Reading.COMPAT:
                found.append(InceptionScore("is", "inception"))
            found.append(InceptionScore("is" + STRICT, "logits", split="split", splits=SPLITS))
        elif kind == "kid":
            found.append(KernelDistance(name, entry.feature))
        elif kind == "neighbours":
            found.append(Neighbours(name, entry.feature))
        elif entry.direction is LOWER and kind != "SSPE":
            shown = name if entry.feature not in ("osnet", "pcb") else name + suffix
            if moments and name != "face-FD":
                found.append(FrechetOfMoments(shown, entry.feature))
            else:
                among = "reference_has_face" if name == "face-FD" else None
                found.append(Frechet(shown, entry.feature, among=among))
        else:
            found.extend(_cosines(entry, reading))
    return (*found, *_shares_found(names))


def _shares_found(names: Sequence[str]) -> Iterator[AnyMetric]:
    """On how many frames there was what a metric is about."""
    features = {entry_of(name).feature for name in names}
    for needs, name, column, looked_for in (
        ({"face"}, FACE_FOUND, "reference_has_face", "face_looked_for"),
        ({"osnet", "pcb"}, PERSON_FOUND, "person_found", "person_looked_for"),
    ):
        if features & needs:
            nothing = "it was not looked for: the network is not available"
            yield Rate(name, column, direction=Direction.NEITHER, among=looked_for, nothing=nothing)


def _cosines(entry: Entry, reading: Reading) -> list[AnyMetric]:
    found: list[AnyMetric] = []
    column = column_of(entry.name)
    if reading is Reading.COMPAT:
        found.append(
            PublishedMean(
                entry.name,
                column,
                direction=entry.direction,
                policy=_policy(entry, all_frames=True),
                about=entry.definition,
                scale=_scale(entry),
            )
        )
    if reading is Reading.STRICT or entry.feature not in ("osnet", "pcb"):
        weight = "face_asked" if entry.feature == "face" else "asked"
        found.append(
            PublishedMean(
                entry.name + STRICT,
                column,
                weight,
                entry.direction,
                _policy(entry),
                about=entry.definition,
                per_frame=True,
                scale=_scale(entry),
            )
        )
    return found


def _published_pair(entry: Entry) -> AnyMetric:
    if entry.name == "face-CS":
        policy = "frames whose reference shows no face are left out; a batch without any face counts as 0"
        return PublishedMean(
            entry.name,
            "face_published",
            "face_weight",
            entry.direction,
            policy,
            about=entry.definition,
            scale=_scale(entry),
        )
    kind = PublishedDecibels if entry.name == "psnr" else PublishedMean
    return kind(
        entry.name,
        column_of(entry.name),
        direction=entry.direction,
        policy=_policy(entry),
        about=entry.definition,
        scale=_scale(entry),
    )


def _corrected_pair(entry: Entry) -> AnyMetric:
    if entry.name == "psnr":
        return DecibelsOfFrames("psnr" + STRICT)
    policy = _policy(entry)
    column, nothing = column_of(entry.name), "no frame could be measured"
    return FrameMean(
        entry.name + STRICT,
        column,
        entry.direction,
        nothing=nothing,
        about=entry.definition,
        policy=policy,
        scale=_scale(entry),
    )


def _scale(entry: Entry) -> Scale:
    """The range that the values of single frames can't leave."""
    if entry.name == "ssim" or "cosine" in entry.definition:
        return Scale(-1.0, 1.0)
    return POSITIVE if entry.direction is LOWER else UNBOUNDED


def _policy(entry: Entry, *, all_frames: bool = False) -> str:
    """What becomes of frames that do not show what a metric is about. `all_frames`: the published unpaired face-CS."""
    if entry.feature == "face":
        return _FACELESS if all_frames else _NO_FACE
    return _WHOLE if entry.feature in ("osnet", "pcb") else LEFT_OUT


def column_of(name: str) -> str:
    """The column of rows that a metric of frames reads.

    >>> column_of("OS-CS-reid"), column_of("ssim")
    ('cosine_osnet', 'ssim')
    """
    entry = entry_of(name)
    if entry.name == "SSPE":
        return "sspe"
    return f"cosine_{entry.feature}" if entry.feature else entry.name.replace("-", "_")


def cautions() -> tuple[str, ...]:
    """What each metric looks at, and what it does not see, for people to read."""
    by_part: dict[Region, list[str]] = {}
    by_caution: dict[str, list[str]] = {}
    for entry in CATALOGUE.values():
        by_part.setdefault(entry.looks_at, []).append(entry.name)
        if entry.caution:
            by_caution.setdefault(entry.caution, []).append(entry.name)
    said = [f"{', '.join(names)}: look at {part.value}." for part, names in by_part.items()]
    said.extend(f"{', '.join(names)}: {caution}" for caution, names in by_caution.items())
    return tuple(said)
