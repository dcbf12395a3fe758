"""The interface of a model that imitates motion, transfers appearance or shows another view.

A subclass brings `build_model`, its way of synthesising, and `terminate`. It writes pictures wherever it likes
(`si_out_dir` and `ci_out_dir` are made for it) and returns their paths, one per reference frame and in that order;
names do not matter. Whoever runs the model keeps `num_preds_si` and `num_preds_ci`: before every call they are set to
the number of frames that were asked for before it, so that file names made from them never meet, even after a crash.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evenhand.benchmarks.synthesis.items import Item
from evenhand.core.errors import ModelError
from evenhand.core.task import Sample, Unanswered
from evenhand.files.writing import make_folder

Infos = dict[str, Any]  # the published dictionaries: images, smpls, kps, …


class SynthesisAnswer(NamedTuple):
    """The pictures that a model made for an item: paths in the order of the reference frames."""

    own: tuple[str, ...]
    cross: tuple[str, ...] = ()


class Before(NamedTuple):
    """How many frames were asked for before an item, on either side."""

    own: int = 0
    cross: int = 0


class SynthesisModel(ABC):
    """What the three kinds of model have in common."""

    output_dir: str

    def __init__(self, output_dir: str | Path) -> None:
        self.output_dir = str(output_dir)
        make_folder(Path(output_dir))

    @property
    def name(self) -> str:
        """What results call the model."""
        return type(self).__name__

    @abstractmethod
    def build_model(self) -> None:
        """Make the network and claim devices; called once, in the process that the model runs in."""

    @abstractmethod
    def terminate(self) -> None:
        """Release what `build_model` claimed; always called, also after an error."""

    @abstractmethod
    def answer(self, item: Item, before: Before) -> SynthesisAnswer:
        """The pictures for one item. Subclasses of the three kinds need not care."""

    def predict(self, samples: Iterable[Sample]) -> Iterator[tuple[str, tuple[str, ...] | Unanswered]]:
        """The pictures of every sample, by its id, made in a process of the model's own.

        A sample on which the model raises or takes its process down is unanswered, with the reason.
        """
        from evenhand.benchmarks.synthesis.imitation import answer_samples

        return answer_samples(self, samples)

    @abstractmethod
    def answer_sample(self, sample: Sample) -> tuple[str, ...]:
        """The pictures of one sample of a task."""


class MotionImitationModel(SynthesisModel):
    """A person performing the motion of a video, their own or another's."""

    def __init__(self, output_dir: str | Path) -> None:
        super().__init__(output_dir)
        self.si_out_dir = _subfolder(output_dir, "self_imitation")
        self.ci_out_dir = _subfolder(output_dir, "cross_imitation")
        self.num_preds_si = 0
        self.num_preds_ci = 0

    def personalization(self, src_infos: Infos) -> Infos:
        """Prepare for one source (tune, encode); what it returns is given to `imitate`."""
        return src_infos

    @abstractmethod
    def imitate(self, src_infos: Infos, ref_infos: Infos) -> Sequence[str]:
        """Paths of one synthesised picture for every entry of `ref_infos["images"]`, in that order."""

    def answer(self, item: Item, before: Before) -> SynthesisAnswer:
        prepared = self.personalization(item.source.as_dictionary())
        self.num_preds_si, self.num_preds_ci = before
        own = _paths(self.imitate(prepared, item.own.as_dictionary()), "imitate")
        if item.cross is None:
            return SynthesisAnswer(own)
        self.num_preds_si, self.num_preds_ci = before.own + len(item.own.images), before.cross
        return SynthesisAnswer(own, _paths(self.imitate(prepared, item.cross.as_dictionary()), "imitate"))

    def answer_sample(self, sample: Sample) -> tuple[str, ...]:
        prepared = self.personalization(dict(sample.given["source"]))
        self.num_preds_si = self.num_preds_ci = int(sample.given["frames_before"])
        return _paths(self.imitate(prepared, dict(sample.given["reference"])), "imitate")


class NovelViewModel(SynthesisModel):
    """A person seen from other sides."""

    def __init__(self, output_dir: str | Path) -> None:
        super().__init__(output_dir)
        self.si_out_dir = self.output_dir
        self.num_preds_si = 0

    @property
    def num_preds(self) -> int:
        """Another name of `num_preds_si`."""
        return self.num_preds_si

    @num_preds.setter
    def num_preds(self, count: int) -> None:
        self.num_preds_si = count

    def personalization(self, src_infos: Infos) -> Infos:
        """Prepare for one source; what it returns is given to `imitate`."""
        return src_infos

    @abstractmethod
    def imitate(self, src_infos: Infos, ref_infos: Infos) -> Sequence[str]:
        """Paths of one synthesised picture for every entry of `ref_infos["images"]`, in that order."""

    def answer(self, item: Item, before: Before) -> SynthesisAnswer:
        prepared = self.personalization(item.source.as_dictionary())
        self.num_preds_si = before.own
        return SynthesisAnswer(_paths(self.imitate(prepared, item.own.as_dictionary()), "imitate"))

    def answer_sample(self, sample: Sample) -> tuple[str, ...]:
        prepared = self.personalization(dict(sample.given["source"]))
        self.num_preds_si = int(sample.given["frames_before"])
        return _paths(self.imitate(prepared, dict(sample.given["reference"])), "imitate")


class AppearanceTransferModel(SynthesisModel):
    """A person wearing the appearance of another video, in the motion of a third."""

    def __init__(self, output_dir: str | Path) -> None:
        super().__init__(output_dir)
        self.si_out_dir = _subfolder(output_dir, "self_imitation")
        self.num_preds_si = 0

    def personalization(self, src_infos: Infos, app_infos: Infos) -> Infos:
        """Prepare for one source and one appearance; what it returns is the first argument of `swap`."""
        return src_infos

    @abstractmethod
    def swap(self, src_infos: Infos, app_infos: Infos, motion_infos: Infos) -> Sequence[str]:
        """Paths of one synthesised picture for every entry of `motion_infos["images"]`, in that order."""

    def answer(self, item: Item, before: Before) -> SynthesisAnswer:
        assert item.appearance is not None  # items of an appearance transfer have one
        source, appearance = item.source.as_dictionary(), item.appearance.as_dictionary()
        prepared = self.personalization(source, appearance)
        self.num_preds_si = before.own
        return SynthesisAnswer(_paths(self.swap(prepared, appearance, item.own.as_dictionary()), "swap"))

    def answer_sample(self, sample: Sample) -> tuple[str, ...]:
        appearance = dict(sample.given["appearance"])
        prepared = self.personalization(dict(sample.given["source"]), appearance)
        self.num_preds_si = int(sample.given["frames_before"])
        return _paths(self.swap(prepared, appearance, dict(sample.given["reference"])), "swap")


def _subfolder(folder: str | Path, name: str) -> str:
    path = Path(folder) / name
    make_folder(path)
    return str(path)


def _paths(returned: Any, method: str) -> tuple[str, ...]:
    """What a model returned, as texts; refuses what can't be a list of paths."""
    if isinstance(returned, str | Path) or not isinstance(returned, Iterable):
        raise ModelError(
            f"{method} returned {type(returned).__name__}; expected a list of paths, one per reference frame."
        )
    return tuple(str(path) for path in returned)
