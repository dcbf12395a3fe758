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
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

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
from evenhand.core.metric import POSITIVE, UNBOUNDED, UNIT_SCALE, Direction, Scale
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
HIGHER, LOWER = Direction.HIGHER, Direction.LOWER


class Region(Enum):
    """What part of a picture a metric looks at."""

    WHOLE = "the whole picture"
    PERSON = "the person that was cut out"
    FACE = "the face that was cut out"
    BODY = "the body parameters"
    POSE = "the person's key points"
    MOTION = "the change from frame to frame"


@dataclass(frozen=True)
class CatalogueEntry:
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
    scale: Scale = UNBOUNDED  # that the values of single frames can't leave


_FEW_WORDS = "Says little about pictures of people: a classifier sees one class in all of them."
_PERSON_ALONE = "What lies outside the person's box is not seen."
_FACE_ALONE = "It follows the face: where in the picture that is, and all the rest of the picture, is not seen."
_ALIKE = "Precision and density do not see that everybody has become the same person; recall and coverage do."
_NOT_LITERATURE = "Not the network of the FID literature: compare it only with numbers of this protocol."
_HALVES = "The published range halves when no value of the reference is below 128: a jump of 6 dB."
_COSINE = Scale(-1.0, 1.0)


def _paired(
    name: str, direction: Direction, region: Region, definition: str, scale: Scale, **more: Any
) -> CatalogueEntry:
    return CatalogueEntry(name, direction, region, definition, paired=True, scale=scale, **more)


def _sets(name: str, region: Region, definition: str, feature: str, **more: Any) -> CatalogueEntry:
    return CatalogueEntry(name, LOWER, region, definition, unpaired=True, feature=feature, scale=POSITIVE, **more)


_WHOLE, _PERSON, _FACE = Region.WHOLE, Region.PERSON, Region.FACE
CATALOGUE: Mapping[str, CatalogueEntry] = {
    entry.name: entry
    for entry in (
        _paired("ssim", HIGHER, _WHOLE, "structural similarity, 7 × 7 windows", _COSINE),
        _paired("psnr", HIGHER, _WHOLE, "peak signal-to-noise ratio, in decibel", UNBOUNDED, caution=_HALVES),
        _paired("lps", LOWER, _WHOLE, "learned perceptual distance (LPIPS, AlexNet 0.1)", POSITIVE),
        CatalogueEntry("is", HIGHER, _WHOLE, "inception score", unpaired=True, feature="inception", caution=_FEW_WORDS),
        _sets("fid", _WHOLE, "Fréchet distance of Inception features", "inception", caution=_NOT_LITERATURE),
        _sets("OS-freid", _PERSON, "Fréchet distance of OSNet features", "osnet", caution=_PERSON_ALONE),
        _paired(
            *("OS-CS-reid", HIGHER, _PERSON, "cosine of OSNet features", _COSINE),
            unpaired=True,
            feature="osnet",
            caution=_PERSON_ALONE,
        ),
        _sets("PCB-freid", _PERSON, "Fréchet distance of PCB features", "pcb", caution=_PERSON_ALONE),
        _paired(
            *("PCB-CS-reid", HIGHER, _PERSON, "cosine of PCB features", _COSINE),
            unpaired=True,
            feature="pcb",
            caution=_PERSON_ALONE,
        ),
        _sets("face-FD", _FACE, "Fréchet distance of face embeddings", "face", caution=_FACE_ALONE),
        _paired(
            *("face-CS", HIGHER, _FACE, "cosine of face embeddings", _COSINE),
            unpaired=True,
            feature="face",
            caution=_FACE_ALONE,
        ),
        _paired(
            *("SSPE", LOWER, Region.BODY, "scale, shape and pose error", POSITIVE),
            unpaired=True,
            feature="body",
        ),
        _paired("ms-ssim", HIGHER, _WHOLE, "multi-scale structural similarity", UNIT_SCALE, published=False),
        _paired("l1", LOWER, _WHOLE, "mean absolute error of values from 0 to 1", UNIT_SCALE, published=False),
        _paired("mse", LOWER, _WHOLE, "mean squared error of values from 0 to 1", UNIT_SCALE, published=False),
        _paired(
            "lpips-vgg", LOWER, _WHOLE, "learned perceptual distance (LPIPS, VGG-16 0.1)", POSITIVE, published=False
        ),
        _paired("dists", LOWER, _WHOLE, "structure and texture distance (DISTS)", POSITIVE, published=False),
        _paired(
            *("akd", LOWER, Region.POSE, "average distance of key points that both pictures show, in pixels", POSITIVE),
            feature="pose",
            published=False,
        ),
        _paired(
            *("mkr", LOWER, Region.POSE, "missing key points: share of the real ones that are not found", UNIT_SCALE),
            feature="pose",
            published=False,
        ),
        _paired(
            *("fd-ssim", HIGHER, Region.MOTION, "structural similarity of differences of following frames", _COSINE),
            published=False,
        ),
        _paired(
            *("flicker", LOWER, Region.MOTION, "mean absolute error of the change from frame to frame", POSITIVE),
            published=False,
        ),
        _sets("fvd", Region.MOTION, "Fréchet distance of I3D features of 16 frames", "i3d", published=False),
        _sets(
            "kid", _WHOLE, "kernel distance of Inception features, unbiased at every size", "inception", published=False
        ),
        _sets("cmmd", _WHOLE, "1,000 × the Gaussian kernel distance of unit CLIP features", "clip-l", published=False),
        CatalogueEntry(
            *("neighbours", HIGHER, _WHOLE, "precision, recall, density and coverage of Inception features"),
            unpaired=True,
            feature="inception",
            published=False,
            caution=_ALIKE,
        ),
    )
}

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

_LOOKED_WHOLE = "frames in which no person is found are looked at whole, as published, and their share is given"
_NO_FACE = "frames whose reference shows no face are left out, and their share is given"
_FACELESS = "frames without a face are looked at whole and count too, as published"
_NO_POSE = "pairs in which nobody is found in the real picture are left out"
_NOTHING_SEEN = {
    Region.FACE: "no pair shows a face in both pictures",
    Region.POSE: "no pair shows a key point in both pictures",
    Region.MOTION: "no frame follows another: it is about films, or sub-folders of frames",
}
_FIRST_FRAMES = "the first frame of a film has no predecessor and is left out"
_OF_FEATURES = ("fid", "kid", "cmmd", "neighbours", "CS")  # what can be asked of any features: `fid:NAME`
FACES = ("face", "sface", "dlib", "magface", "curricularface", "arcface")
"""The features that are about a face."""

CONVENTIONS: Mapping[str, Mapping[str, str]] = {
    "ssim": {
        "skimage": "scikit-image's structural_similarity: 7 × 7 uniform windows, sample covariance, values 0…255",
        "skimage_gaussian": "scikit-image with gaussian_weights, sigma 1.5, use_sample_covariance off",
        "torchmetrics": "torchmetrics' StructuralSimilarityIndexMeasure: Gaussian 11 × 11, edges reflected",
        "piq": "PIQ's ssim: Gaussian 11 × 11, after block means that bring the shorter side to about 256",
        "pyiqa": "pyiqa's ssim: Gaussian 11 × 11 on the rounded luma, negative structure counts as 0",
        "wang2004": "the original paper: Gaussian 11 × 11 on the rounded luma",
    },
    "ms-ssim": {
        "pytorch_msssim": "pytorch-msssim, the convention of `ms-ssim` alone",
        "piq": "PIQ's multi_scale_ssim",
        "wang2003": "the original paper, on the rounded luma",
    },
    "fid": {
        "pytorch-fid": "pytorch-fid: bilinear to 299 × 299 by pixel centres, without smoothing",
        "torch-fidelity": "torch-fidelity and TensorFlow: bilinear to 299 × 299 by pixel corners, without smoothing",
        "clean-fid": "clean-fid: bicubic to 299 × 299 with smoothing, in real numbers",
    },
}
"""The conventions that a name can be asked under (`ssim:piq`), with the code that each belongs to."""


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
        region = Region.FACE if which in FACES else Region.WHOLE
        definition = f"cosine of the features {which!r}"
        return _paired(name, HIGHER, region, definition, _COSINE, unpaired=True, feature=which, published=False)
    base = CATALOGUE[kind]
    if not base.feature:
        return replace(base, name=name, definition=CONVENTIONS[kind][which], published=False, caution="")
    definition = re.sub("(Inception|unit CLIP) features", f"the features {which!r}", base.definition)
    if which in CONVENTIONS["fid"]:
        definition = f"{definition} (prepared as {which} does)"
    return replace(base, name=name, definition=definition, feature=which, published=False, caution="")


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
    column, about, scale = column_of(entry.name), entry.definition, entry.scale
    if rules is Rules.COMPAT and entry.published:
        policy = _FACELESS if entry.feature == "face" else _policy(entry)
        name = entry.name + PUBLISHED * plain
        yield PublishedMean(name, column, direction=entry.direction, policy=policy, about=about, scale=scale)
    if plain or rules is Rules.STRICT or entry.feature not in ("osnet", "pcb"):
        weight = "face_asked" if entry.feature == "face" else "asked"
        name = entry.name + STRICT * (entry.published and not plain)
        yield PublishedMean(
            name, column, weight, entry.direction, _policy(entry), about=about, per_frame=True, scale=scale
        )


def _published_pair(entry: CatalogueEntry, name: str) -> AnyMetric:
    about, scale = entry.definition, entry.scale
    if entry.name == "face-CS":
        policy = "frames whose reference shows no face are left out; a batch without any face counts as 0"
        return PublishedMean(name, "face_published", "face_weight", entry.direction, policy, about=about, scale=scale)
    kind = PublishedDecibels if entry.name == "psnr" else PublishedMean
    column = column_of(entry.name)
    return kind(name, column, direction=entry.direction, policy=_policy(entry), about=about, scale=scale)


def _corrected_pair(entry: CatalogueEntry, name: str) -> AnyMetric:
    if entry.name == "psnr":
        return DecibelsOfFrames(name)
    column, nothing = column_of(entry.name), "no frame could be measured"
    if entry.looks_at in _NOTHING_SEEN:
        nothing = _NOTHING_SEEN[entry.looks_at]
    if entry.name.startswith("ms-ssim"):
        nothing += f"; it needs {176 if entry.name.endswith('wang2003') else 161} pixels a side"
    return FrameMean(
        name, column, entry.direction, nothing=nothing, scale=entry.scale, about=entry.definition, policy=_policy(entry)
    )


def _policy(entry: CatalogueEntry) -> str:
    """What becomes of frames that do not show what a metric is about."""
    if entry.feature in FACES:
        return _NO_FACE
    if entry.looks_at is Region.MOTION:
        return _FIRST_FRAMES
    return {"osnet": _LOOKED_WHOLE, "pcb": _LOOKED_WHOLE, "pose": _NO_POSE}.get(entry.feature, LEFT_OUT)


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
    sentences.extend(f"{', '.join(names)}: {caution}" for caution, names in by_caution.items())
    return tuple(sentences)
