"""The metrics by name: what each looks at, what it needs, which runs it belongs to, and what comes along with it.

Names are those of the publication, case and all; `lpips` is another name of `lps`. What is not in the publication has a
name of its own (`ms-ssim`, `dists`, `akd`). A colon picks one of several conventions (`ssim:torchmetrics`) or the
features that a metric is taken of (`fid:clean-fid`, `CS:sface`, `fid:NAME` for features that a user brings).

In tasks that follow the published protocol a name alone is the published number, and `/strict` behind it the corrected
one. In tasks on plain folders a name alone is the mean over pictures; `/published` behind it is the published mean of
batch means, for metrics that were published that way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import msgspec
from msgspec.structs import replace

from evenhand.benchmarks.synthesis.metrics import (
    LEFT_OUT,
    DecibelsOfFrames,
    FrameMean,
    PublishedDecibels,
    PublishedMean,
)
from evenhand.benchmarks.synthesis.protocol import Rules
from evenhand.core.errors import OptionError, UnknownNameError
from evenhand.core.measure import AnyMetric
from evenhand.core.metric import UNBOUNDED, Direction, Scale
from evenhand.core.names import DisplayNames
from evenhand.core.task import About
from evenhand.files.packaged import packaged_table
from evenhand.metrics.distances import (
    Frechet,
    FrechetOfMoments,
    GaussianDistance,
    InceptionScore,
    KernelDistance,
    Neighbours,
)
from evenhand.metrics.means import Rate

STRICT, PUBLISHED = "/strict", "/published"
SPLITS = 10  # of the corrected inception score


class Region(Enum):
    """What part of a picture a metric looks at."""

    WHOLE = "the whole picture"
    PERSON = "the person that was cut out"
    FACE = "the face that was cut out"
    BODY = "the body parameters"
    POSE = "the person's key points"
    MOTION = "the change from frame to frame"


class CatalogueEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One metric of the catalogue."""

    name: str
    direction: Direction
    looks_at: Region
    definition: str
    shown: str = ""  # what reports call it; its name where this is empty
    paired: bool = False  # compares a frame with its own truth
    unpaired: bool = False  # compares two sets of frames
    feature: str = ""  # the feature vectors it reads
    published: bool = True
    differs: str = ""  # what sets the published number apart from the corrected one
    caution: str = ""  # a key of the cautions
    scale: Scale = UNBOUNDED  # that the values of single frames can't leave
    worst: float | None = None  # what a frame that is not there counts as, if anything


class FeatureNeeds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What has to be here for a network to read a feature or compare two pictures."""

    weights: tuple[str, ...]
    package: str = "torch"
    extra: str = "torch"  # of evenhand, that has the package
    shown: str = ""  # what reports call the cosine of the feature
    of_face: bool = False


class AboutTasks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `describe` says of all tasks."""

    folder: str  # of data
    protocol: str  # of data with a protocol file
    licence: str
    conventions: tuple[str, ...]


class _MetricTables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    cautions: dict[str, str]
    metrics: tuple[CatalogueEntry, ...]
    conventions: dict[str, dict[str, str]]
    features: dict[str, FeatureNeeds]
    about: AboutTasks


_TABLES: _MetricTables = packaged_table(__package__, "metrics.toml", _MetricTables)
CATALOGUE: Mapping[str, CatalogueEntry] = {entry.name: entry for entry in _TABLES.metrics}
FEATURES: Mapping[str, FeatureNeeds] = _TABLES.features
ABOUT = _TABLES.about
CONVENTIONS: Mapping[str, Mapping[str, str]] = _TABLES.conventions
"""The conventions that a name can be asked under (`ssim:piq`), with the code that each belongs to."""

ALIASES: Mapping[str, str] = {"lpips": "lps", "lpips-alex": "lps", "mae": "l1"}
PAIRED_DEFAULT = ("ssim", "psnr", "lps")
UNPAIRED_DEFAULT = ("is", "fid", "PCB-freid", "PCB-CS-reid")
UNPAIRED_ORDER = ("is", "fid", "OS-freid", "OS-CS-reid", "PCB-freid", "PCB-CS-reid", "face-FD", "face-CS", "SSPE")
"""The fixed order of published results."""

SETS_DEFAULT = ("fid:pytorch-fid", "kid:pytorch-fid")
TABLE = (
    *("ssim", "ms-ssim", "psnr", "l1", "mse", "lps", "lpips-vgg", "dists"),
    *("fid:pytorch-fid", "kid:pytorch-fid", "neighbours:pytorch-fid"),
    *("face-CS", "CS:sface", "CS:arcface", "akd", "mkr"),
    *("CS:clip", "cmmd", "CS:dino", "fd-ssim", "flicker", "fvd"),
)
"""What a table of today's papers has: the default of `evenhand evaluate synthesis`."""

FACE_FOUND, PERSON_FOUND = "face found in the reference", "person found"
"""The metrics that say on how many frames there was what the others are about."""

_POLICY = {
    Region.PERSON: "frames in which no person is found are looked at whole, as published, and their share is given",
    Region.FACE: "frames whose reference shows no face are left out, and their share is given",
    Region.POSE: "pairs in which nobody is found in the real picture are left out",
    Region.MOTION: "the first frame of a film has no predecessor and is left out",
}
"""What becomes of frames that do not show what a metric is about."""
_LOOKS_AT = {"osnet": Region.PERSON, "pcb": Region.PERSON, "pose": Region.POSE}  # features, also when asked by name

_NOTHING_SEEN = {
    Region.FACE: "no pair shows a face in both pictures",
    Region.POSE: "no pair shows a key point in both pictures",
    Region.MOTION: "no frame follows another: it is about films, or sub-folders of frames",
}
_OF_FEATURES = ("fid", "kid", "cmmd", "neighbours", "CS")  # what can be asked of any features: `fid:NAME`


def canonical(name: str) -> str:
    """The name in the catalogue; raises with the nearest ones.

    >>> canonical("lpips")
    'lps'
    """
    name = name.removesuffix(STRICT).removesuffix(PUBLISHED)
    name = ALIASES.get(name, name)
    kind, joint, feature = name.partition(":")
    if joint and feature and (kind in _OF_FEATURES or feature in CONVENTIONS.get(kind, ())):
        return name
    if name not in CATALOGUE:
        raise UnknownNameError("metric", name, [*CATALOGUE, *ALIASES])
    return name


def entry_of(name: str) -> CatalogueEntry:
    """What is known of a metric."""
    name = canonical(name)
    kind, joint, which = name.partition(":")
    if not joint:
        return CATALOGUE[name]
    if kind == "CS":
        return CatalogueEntry(
            name,
            Direction.HIGHER,
            Region.FACE if which in FEATURES and FEATURES[which].of_face else Region.WHOLE,
            f"cosine of the features {which!r}",
            paired=True,
            unpaired=True,
            feature=which,
            published=False,
            scale=Scale(-1.0, 1.0),
        )
    base = CATALOGUE[kind]
    if not base.feature:
        return replace(base, name=name, definition=CONVENTIONS[kind][which], published=False, caution="")
    definition = re.sub("(Inception|unit CLIP) features", f"the features {which!r}", base.definition)
    if which in CONVENTIONS["fid"]:
        definition = f"{definition} (prepared as {which} does)"
    return replace(base, name=name, definition=definition, feature=which, published=False, caution="")


def paired_names(asked: Iterable[str]) -> tuple[str, ...]:
    """The metrics of a paired run, checked: distances between sets have no place in it."""
    names = tuple(dict.fromkeys(map(canonical, asked)))
    if wrong := [name for name in names if not entry_of(name).paired]:
        raise OptionError(
            f"{wrong[0]!r} compares two sets of frames, not a frame with its truth; a mean of per-batch distances "
            "would mean nothing. Ask for it among the unpaired metrics."
        )
    return names


def unpaired_names(asked: Iterable[str]) -> tuple[str, ...]:
    """The metrics of an unpaired run, checked, in the published order and then as asked."""
    names = dict.fromkeys(map(canonical, asked))
    if wrong := [name for name in names if not entry_of(name).unpaired]:
        raise OptionError(
            f"{wrong[0]!r} compares a frame with its own truth, and an unpaired run has none. "
            "Ask for it among the paired metrics."
        )
    return tuple(dict.fromkeys((*(name for name in UNPAIRED_ORDER if name in names), *names)))


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


def features_of(names: Iterable[str], rules: Rules) -> tuple[str, ...]:
    """The feature vectors that the metrics read, in a fixed order."""
    needed = dict.fromkeys(entry_of(name).feature for name in names if entry_of(name).feature)
    if any(canonical(name) == "is" for name in names):
        needed |= {"logits": None} if rules is Rules.STRICT else {"inception": None, "logits": None}
    return tuple(needed)


def paired_metrics(names: Sequence[str], rules: Rules, *, plain: bool = False) -> tuple[AnyMetric, ...]:
    """The metrics over paired rows, published and corrected.

    `plain`: pictures of no protocol. The mean over pictures then has the name alone, and the published mean of batch
    means stands beside it where there is one. Otherwise a name alone is the published number, for what was published.
    """
    metrics: list[AnyMetric] = []
    for name in paired_names(names):
        entry = entry_of(name)
        other_boxes = entry.feature in ("osnet", "pcb")  # the corrected ones look at other boxes: other rows
        if plain or not entry.published:
            metrics.append(_corrected_pair(entry, entry.name))
            if entry.published and not (other_boxes and rules is Rules.STRICT):
                metrics.append(_published_pair(entry, entry.name + PUBLISHED))
            continue
        if rules is Rules.COMPAT:
            metrics.append(_published_pair(entry, entry.name))
        if rules is Rules.STRICT or not other_boxes:
            metrics.append(_corrected_pair(entry, entry.name + STRICT))
    return (*metrics, *_shares_found(names))


def table_metrics(names: Sequence[str]) -> tuple[AnyMetric, ...]:
    """The metrics of a table over pairs of pictures: means over pictures, and distances between both sets of them."""
    metrics: list[AnyMetric] = []
    for name in dict.fromkeys(map(canonical, names)):
        entry = entry_of(name)
        if entry.paired:
            metrics.append(_corrected_pair(entry, name))
        elif name == "is":
            metrics.append(InceptionScore("is", "logits", side="", split="split", splits=SPLITS))
        else:
            metrics.append(_set_metric(entry, name, side=""))
    return (*metrics, *_shares_found(names))


def unpaired_metrics(
    names: Sequence[str], rules: Rules, *, moments: bool = False, plain: bool = False
) -> tuple[AnyMetric, ...]:
    """The metrics over the rows of two sets. `moments`: Fréchet distances from sums, for sets beyond memory.

    `plain`: pictures of no protocol, where a name alone is the corrected number.
    """
    metrics: list[AnyMetric] = []
    suffix = STRICT if rules is Rules.STRICT and not plain else ""
    for name in unpaired_names(names):
        entry = entry_of(name)
        if name == "is":
            if rules is Rules.COMPAT:
                metrics.append(InceptionScore("is" + PUBLISHED * plain, "inception"))
            metrics.append(InceptionScore("is" + STRICT * (not plain), "logits", split="split", splits=SPLITS))
        elif entry.paired:
            metrics.extend(_cosines(entry, rules, plain=plain))
        else:
            shown = name + suffix if entry.feature in ("osnet", "pcb") else name
            metrics.append(_set_metric(entry, shown, moments=moments))
    return (*metrics, *_shares_found(names))


def _set_metric(entry: CatalogueEntry, shown: str, *, side: str = "synthesised", moments: bool = False) -> AnyMetric:
    """A distance between two sets of features; an empty `side` means rows that are pairs."""
    kind = entry.name.partition(":")[0]
    if kind == "kid":
        return KernelDistance(shown, entry.feature, side=side)
    if kind == "cmmd":
        return GaussianDistance(shown, entry.feature, side=side)
    if kind == "neighbours":
        return Neighbours(shown, entry.feature, side=side)
    if moments and entry.name != "face-FD":
        return FrechetOfMoments(shown, entry.feature, side=side)
    among = {"face-FD": "reference_has_face", "fvd": "clip"}.get(entry.name)
    return Frechet(shown, entry.feature, side=side, among=among)


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


def _cosines(entry: CatalogueEntry, rules: Rules, *, plain: bool) -> Iterator[AnyMetric]:
    if rules is Rules.COMPAT and entry.published:
        faceless = {"policy": "frames without a face are looked at whole and count too, as published"}
        how = faceless if entry.feature == "face" else {}
        yield _mean(PublishedMean, entry, entry.name + PUBLISHED * plain, **how)
    if plain or rules is Rules.STRICT or entry.feature not in ("osnet", "pcb"):
        weight = "face_asked" if entry.feature == "face" else "asked"
        name = entry.name + STRICT * (entry.published and not plain)
        yield _mean(PublishedMean, entry, name, weight=weight, per_frame=True)


def _published_pair(entry: CatalogueEntry, name: str) -> AnyMetric:
    if entry.name == "face-CS":
        policy = "frames whose reference shows no face are left out; a batch without any face counts as 0"
        return _mean(PublishedMean, entry, name, column="face_published", weight="face_weight", policy=policy)
    return _mean(PublishedDecibels if entry.name == "psnr" else PublishedMean, entry, name)


def _mean(kind: type[FrameMean], entry: CatalogueEntry, name: str, **more: Any) -> AnyMetric:
    """A mean of frames with what the catalogue says of it."""
    known = {
        "column": column_of(entry.name),
        "policy": _POLICY.get(_LOOKS_AT.get(entry.feature, entry.looks_at), LEFT_OUT),
    }
    return kind(name, direction=entry.direction, about=entry.definition, scale=entry.scale, **(known | more))


def _corrected_pair(entry: CatalogueEntry, name: str) -> AnyMetric:
    if entry.name == "psnr":
        return DecibelsOfFrames(name)
    nothing = _NOTHING_SEEN.get(entry.looks_at, FrameMean.nothing)
    if entry.name.startswith("ms-ssim"):
        nothing += f"; it needs {176 if entry.name.endswith('wang2003') else 161} pixels a side"
    return _mean(FrameMean, entry, name, nothing=nothing)


def column_of(name: str) -> str:
    """The column of rows that a metric of frames reads.

    >>> column_of("OS-CS-reid"), column_of("ssim"), column_of("ssim:piq")
    ('cosine_osnet', 'ssim', 'ssim_piq')
    """
    entry = entry_of(name)
    if entry.feature and entry.feature not in ("body", "pose"):
        return f"cosine_{entry.feature}"
    return entry.name.lower().replace("-", "_").replace(":", "_")


def cautions() -> tuple[str, ...]:
    """What each metric looks at, and what it does not see, for people to read."""
    by_part: dict[Region, list[str]] = {}
    by_caution: dict[str, list[str]] = {}
    for entry in CATALOGUE.values():
        by_part.setdefault(entry.looks_at, []).append(entry.name)
        if entry.caution:
            by_caution.setdefault(entry.caution, []).append(entry.name)
    sentences = [f"{', '.join(names)}: look at {part.value}." for part, names in by_part.items()]
    sentences.extend(f"{', '.join(names)}: {_TABLES.cautions[key]}" for key, names in by_caution.items())
    return tuple(sentences)


def about_task(data: str, predictions: str, rows: str) -> About:
    """What `describe` says of a task: its own data, predictions and rows, and what all have in common."""
    table = "\n".join(
        f"{entry.name}: {entry.definition}; {entry.direction.value} is better; looks at {entry.looks_at.value}; "
        f"{'paired' if entry.paired else ''}{' and ' if entry.paired and entry.unpaired else ''}"
        f"{'unpaired' if entry.unpaired else ''}"
        for entry in CATALOGUE.values()
    )
    names = "; ".join(f"{kind}:{name}" for kind, known in CONVENTIONS.items() for name in known)
    conventions = tuple(sentence.format(names=names) for sentence in ABOUT.conventions)
    return About(data, predictions, rows, "video", conventions, ABOUT.licence, cautions(), table)


def _display_names() -> DisplayNames:
    long = {entry.name: entry.shown for entry in CATALOGUE.values() if entry.shown} | {"CS": "CS"}
    neighbours = ("precision", "recall", "density", "coverage")
    patterns = [(f"CS:{key}: mean", needs.shown) for key, needs in FEATURES.items() if needs.shown]
    for key, name in long.items():
        patterns += [
            (f"{key}(:pytorch-fid)?: (mean|distance|score)", name),
            (rf"{key}:([^:/]+): (mean|distance)", rf"{name} (\1)"),
            (rf"{key}(?::([^:/]+))?/strict: (mean|distance|score)", f"{name}, strict"),
            (rf"{key}(?::([^:/]+))?/published: (mean|distance|score)", f"{name}, published"),
        ]
    for output in neighbours:
        patterns += [
            (f"neighbours(:pytorch-fid)?: {output}", output.capitalize()),
            (rf"neighbours:([^:/]+): {output}", rf"{output.capitalize()} (\1)"),
        ]
    patterns += [
        ("psnr(/strict)?: of_mean_error", "PSNR of the mean error"),
        ("psnr(/strict)?: identical", "Identical frames"),
    ]
    # Density is not a share, and papers write the four alike.
    return DisplayNames(family="Synthesis", values=tuple(patterns), numbers=("neighbours.*",), items="frames")


NAMES = _display_names()
"""How reports write the keys of synthesis."""
