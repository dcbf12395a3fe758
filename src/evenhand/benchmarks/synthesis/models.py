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

    def answer(self, item: Item, before: Before) -> SynthesisAnswer:
        """The pictures for one item. Subclasses of the three kinds need not care."""
        appearance = item.appearance.as_dictionary() if item.appearance is not None else {}
        prepared = self._call_personalization(item.source.as_dictionary(), appearance)
        own = self._call_synthesis(prepared, appearance, item.own.as_dictionary(), before)
        if item.cross is None:
            return SynthesisAnswer(own)
        before = before._replace(own=before.own + len(item.own.images))
        return SynthesisAnswer(own, self._call_synthesis(prepared, appearance, item.cross.as_dictionary(), before))

    def answer_sample(self, sample: Sample) -> tuple[str, ...]:
        """The pictures of one sample of a task."""
        given = sample.given
        appearance, number = dict(given.get("appearance", {})), int(given["frames_before"])
        prepared = self._call_personalization(dict(given["source"]), appearance)
        return self._call_synthesis(prepared, appearance, dict(given["reference"]), Before(number, number))

    def predict(self, samples: Iterable[Sample]) -> Iterator[tuple[str, tuple[str, ...] | Unanswered]]:
        """The pictures of every sample, by its id, made in a process of the model's own.

        A sample on which the model raises or takes its process down is unanswered, with the reason.
        """
        from evenhand.benchmarks.synthesis.imitation import answer_samples

        return answer_samples(self, samples)

    def _output_subfolder(self, name: str) -> str:
        path = Path(self.output_dir) / name
        make_folder(path)
        return str(path)

    def _call_personalization(self, source: Infos, appearance: Infos) -> Infos:
        """What the model made of a source; not needed by a class with an `answer` and `answer_sample` of its own."""
        raise NotImplementedError(f"{self.name} is none of the three kinds: define answer and answer_sample.")

    def _call_synthesis(self, prepared: Infos, appearance: Infos, reference: Infos, before: Before) -> tuple[str, ...]:
        """The paths that the model returned for the reference frames; not needed by such a class either."""
        raise NotImplementedError(f"{self.name} is none of the three kinds: define answer and answer_sample.")


class _ImitatingModel(SynthesisModel):
    """What shows one source in the frames of a reference."""

    num_preds_si = 0

    def personalization(self, src_infos: Infos) -> Infos:
        """Prepare for one source (tune, encode); what it returns is given to `imitate`."""
        return src_infos

    @abstractmethod
    def imitate(self, src_infos: Infos, ref_infos: Infos) -> Sequence[str]:
        """Paths of one synthesised picture for every entry of `ref_infos["images"]`, in that order."""

    def _call_personalization(self, source: Infos, appearance: Infos) -> Infos:
        return self.personalization(source)

    def _call_synthesis(self, prepared: Infos, appearance: Infos, reference: Infos, before: Before) -> tuple[str, ...]:
        self.num_preds_si = before.own
        return _paths(self.imitate(prepared, reference), "imitate")


class MotionImitationModel(_ImitatingModel):
    """A person performing the motion of a video, their own or another's."""

    def __init__(self, output_dir: str | Path) -> None:
        super().__init__(output_dir)
        self.si_out_dir, self.ci_out_dir = (
            self._output_subfolder("self_imitation"),
            self._output_subfolder("cross_imitation"),
        )
        self.num_preds_si = self.num_preds_ci = 0

    def _call_synthesis(self, prepared: Infos, appearance: Infos, reference: Infos, before: Before) -> tuple[str, ...]:
        self.num_preds_ci = before.cross
        return super()._call_synthesis(prepared, appearance, reference, before)


class NovelViewModel(_ImitatingModel):
    """A person seen from other sides."""

    def __init__(self, output_dir: str | Path) -> None:
        super().__init__(output_dir)
        self.si_out_dir = self.output_dir

    @property
    def num_preds(self) -> int:
        """Another name of `num_preds_si`."""
        return self.num_preds_si

    @num_preds.setter
    def num_preds(self, count: int) -> None:
        self.num_preds_si = count


class AppearanceTransferModel(SynthesisModel):
    """A person wearing the appearance of another video, in the motion of a third."""

    def __init__(self, output_dir: str | Path) -> None:
        super().__init__(output_dir)
        self.si_out_dir = self._output_subfolder("self_imitation")
        self.num_preds_si = 0

    def personalization(self, src_infos: Infos, app_infos: Infos) -> Infos:
        """Prepare for one source and one appearance; what it returns is the first argument of `swap`."""
        return src_infos

    @abstractmethod
    def swap(self, src_infos: Infos, app_infos: Infos, motion_infos: Infos) -> Sequence[str]:
        """Paths of one synthesised picture for every entry of `motion_infos["images"]`, in that order."""

    def _call_personalization(self, source: Infos, appearance: Infos) -> Infos:
        return self.personalization(source, appearance)

    def _call_synthesis(self, prepared: Infos, appearance: Infos, reference: Infos, before: Before) -> tuple[str, ...]:
        self.num_preds_si = before.own
        return _paths(self.swap(prepared, appearance, reference), "swap")


def _paths(returned: Any, method: str) -> tuple[str, ...]:
    """What a model returned, as texts; refuses what can't be a list of paths."""
    if isinstance(returned, str | Path) or not isinstance(returned, Iterable):
        raise ModelError(
            f"{method} returned {type(returned).__name__}; expected a list of paths, one per reference frame."
        )
    return tuple(str(path) for path in returned)
