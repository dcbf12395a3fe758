"""Which networks are available here, found before anything is measured and without building them.

A network needs packages and weights files; what is missing is one sentence with the line that gets it. What is missing
is part of a run's inputs, so that the same command computes it once the package or file has arrived.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec as find_package

from evenhand.benchmarks.synthesis.catalogue import (
    CONVENTIONS,
    FEATURES,
    NAMES,
    TABLE,
    canonical,
    entry_of,
    features_of,
)
from evenhand.benchmarks.synthesis.features import FeatureTable
from evenhand.benchmarks.synthesis.options import SynthesisOptions
from evenhand.benchmarks.synthesis.protocol import Rules
from evenhand.core.errors import DataError
from evenhand.core.task import InputFact
from evenhand.files.inputs import hash_text


def missing_for(feature: str, options: SynthesisOptions) -> str:
    """What a feature or comparison lacks here, with what to do about it; empty when nothing."""
    if feature in options.onnx or feature not in FEATURES:
        return ""
    package = _missing_package(feature)
    if package:
        return package
    from evenhand.instruments.weights import absent_weights, advice_for

    absent = absent_weights(FEATURES[feature].weights, options.weights)
    if not absent:
        return ""
    hint = ""
    if feature == "inception" and not missing_for("pytorch-fid", options):
        hint = " With the network of the FID literature, which is here: fid:pytorch-fid, kid:pytorch-fid."
    return f"the weights {', '.join(absent)} are not here. {advice_for(absent)}{hint}"


def _missing_package(feature: str) -> str:
    needs = FEATURES[feature]
    return f"it needs {needs.package}: pip install 'evenhand[{needs.extra}]'" if not find_package(needs.package) else ""


def unavailable(
    names: Sequence[str], options: SynthesisOptions, features: FeatureTable | None = None
) -> dict[str, str]:
    """The features and comparisons of these metrics that can't be had, and why; those in a table can."""
    reasons: dict[str, str] = {}
    for name in map(canonical, names):
        for feature in needed(name, options.rules):
            if features is None or feature not in features:
                reason = missing_for(feature, options)
                if reason:
                    reasons[feature] = reason
    return reasons


def announced(names: Sequence[str], reasons: Mapping[str, str], options: SynthesisOptions) -> tuple[str, ...]:
    """One sentence per missing network, with the metrics that need it. Raises when nothing is left to measure."""
    lost = _lost(names, reasons, options)
    sentences = tuple(f"{', '.join(metrics)} not available: {reason}" for reason, metrics in lost.items())
    if sum(map(len, lost.values())) == len(set(map(canonical, names))):
        raise DataError(f"Nothing that is asked for can be measured here. {' '.join(sentences)}")
    return sentences


def obtainable(names: Sequence[str], options: SynthesisOptions) -> tuple[tuple[str, ...], str]:
    """The metrics that can be computed here, and one line about the others; an empty one when there are none."""
    reasons = unavailable(names, options)
    possible: list[str] = []
    left_out: dict[str, list[str]] = {}
    for name in names:
        lacking = [feature for feature in needed(name, options.rules) if feature in reasons]
        if not lacking:
            possible.append(name)
            continue
        cause = _missing_package(lacking[0]) or "the weights are not here; `evenhand doctor` says how to get them"
        output = "precision" if name.startswith("neighbours") else "mean"
        left_out.setdefault(cause, []).append(NAMES.value(name, output))
    return tuple(possible), " ".join(f"{', '.join(metrics)} left out: {cause}." for cause, metrics in left_out.items())


def _lost(names: Sequence[str], reasons: Mapping[str, str], options: SynthesisOptions) -> dict[str, list[str]]:
    """The metrics that need something that is missing, by the reason."""
    lost: dict[str, list[str]] = {}
    for name in dict.fromkeys(map(canonical, names)):
        reason = next((reasons[one] for one in needed(name, options.rules) if one in reasons), "")
        if reason:
            lost.setdefault(reason, []).append(name)
    return lost


def facts_of(reasons: Mapping[str, str]) -> tuple[InputFact, ...]:
    """What is missing, as inputs of the run: when it arrives, the run is another one."""
    return tuple(InputFact(f"not available: {name}", 0, hash_text(reason)) for name, reason in sorted(reasons.items()))


def limits() -> Iterator[tuple[str, str]]:
    """The metrics that can't be computed on this machine, and why: for `evenhand doctor`."""
    options = SynthesisOptions()
    others = ("fid", "is", "OS-CS-reid", "PCB-CS-reid", "CS:dlib")
    every = (*TABLE, *(f"fid:{name}" for name in CONVENTIONS["fid"]), *others)
    lost = _lost(every, unavailable(every, options), options)
    yield from ((", ".join(names), reason) for reason, names in lost.items())


def needed(name: str, rules: Rules) -> tuple[str, ...]:
    """The features of a metric, or itself when a network compares two pictures."""
    return features_of([name], rules) if entry_of(name).feature else (name,)


def needs_pictures(names: Sequence[str], rules: Rules, made: FeatureTable, real: FeatureTable) -> bool:
    """Whether pictures are looked at for any of these metrics, beside the features that both sides have."""
    return any(
        one not in made or (entry_of(name).feature != "" and one not in real)
        for name in map(canonical, names)
        for one in needed(name, rules)
    )
