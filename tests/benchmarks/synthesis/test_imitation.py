"""A model in a process of its own: crashes cost one video, and what was finished is not asked again."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from degrading import DegradingModel

from evenhand.benchmarks.synthesis.imitation import JOURNAL, run_model
from evenhand.benchmarks.synthesis.items import Item
from evenhand.benchmarks.synthesis.models import Before, MotionImitationModel, SynthesisAnswer, SynthesisModel
from evenhand.benchmarks.synthesis.pairs import pair_lists
from evenhand.benchmarks.synthesis.protocol import FLAVOURS, Protocol, Rules
from evenhand.core.engine import Failed
from evenhand.core.errors import ModelError, PredictionError
from evenhand.core.task import Sample


def protocol_of(videos: Path) -> Protocol:
    return Protocol(videos / "protocol.json", videos, FLAVOURS["iPER"])


def outcomes(model: MotionImitationModel, videos: Path, **how: Any) -> dict[str, Any]:
    return {one.item.name: one for one in run_model(model, protocol_of(videos), **how)}


def test_a_model_that_raises_on_one_video_finishes_the_others(videos: Path, tmp_path: Path) -> None:
    model = DegradingModel(tmp_path, "blur", crash_on=["001/1/1"])
    found = outcomes(model, videos)
    lost = found.pop("001/1/1").answer
    assert isinstance(lost, Failed)
    assert "the network lost its way" in lost.cause
    assert "Traceback" in lost.detail
    assert all(len(one.answer.own) == 3 and len(one.answer.cross) == 3 for one in found.values())


def test_a_model_that_takes_its_process_down_costs_one_video(videos: Path, tmp_path: Path) -> None:
    found = outcomes(DegradingModel(tmp_path, "blur", die_on=["001/1/1"]), videos)
    assert "its worker process was lost (exit code 86)" in found.pop("001/1/1").answer.cause
    assert not any(isinstance(one.answer, Failed) for one in found.values())


@pytest.mark.torch
def test_a_model_that_holds_tensors_is_started_again_after_a_crash(videos: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    model = DegradingModel(tmp_path, "blur", die_on=["001/1/1"])
    model.network = torch.nn.Linear(300, 300)  # type: ignore[attr-defined]
    found = outcomes(model, videos, start="spawn")
    assert isinstance(found.pop("001/1/1").answer, Failed)
    assert not any(isinstance(one.answer, Failed) for one in found.values())


def test_a_model_that_ends_its_process_while_it_is_built_is_an_error_of_the_model(videos: Path, tmp_path: Path) -> None:
    class Fatal(DegradingModel):
        def build_model(self) -> None:
            os._exit(4)

    with pytest.raises(ModelError, match=r"the model's process ended before it was built \(exit code 4\)"):
        outcomes(Fatal(tmp_path, "blur"), videos, start="fork")


def test_a_model_outlives_the_thread_that_asked_first(videos: Path, tmp_path: Path) -> None:
    running = run_model(DegradingModel(tmp_path, "blur"), protocol_of(videos), start="fork")
    answers: list[Any] = []
    for _ in range(2):
        thread = threading.Thread(target=lambda: answers.append(next(running).answer))
        thread.start()
        thread.join()
    running.close()
    assert not any(isinstance(answer, Failed) for answer in answers)


def test_file_names_do_not_meet_after_a_crash(videos: Path, tmp_path: Path) -> None:
    found = outcomes(DegradingModel(tmp_path, "blur", die_on=["000/1/1"]), videos)
    made = [path for one in found.values() if not isinstance(one.answer, Failed) for path in one.answer.own]
    assert len(set(made)) == 9
    assert Path(made[0]).name == "pred_00000003.png"


def test_what_was_finished_is_not_asked_again(videos: Path, tmp_path: Path) -> None:
    outcomes(DegradingModel(tmp_path, "blur", crash_on=["002/1/1"]), videos, start="here")
    journal = tmp_path / JOURNAL
    journal.write_text(journal.read_text()[:-30])  # the last line was cut off by a crash
    found = outcomes(DegradingModel(tmp_path, "blur"), videos, resume=True, start="here")
    assert [one.resumed for one in found.values()] == [True, True, False, False]
    before = journal.stat().st_ino, journal.read_bytes()
    again = outcomes(DegradingModel(tmp_path, "blur"), videos, resume=True, start="here")
    assert all(one.resumed for one in again.values())
    assert (journal.stat().st_ino, journal.read_bytes()) == before  # a whole journal is not written again


def test_pictures_that_are_gone_or_made_for_other_frames_are_asked_again(videos: Path, tmp_path: Path) -> None:
    first = outcomes(DegradingModel(tmp_path, "blur"), videos, start="here")
    Path(first["000/1/1"].answer.own[0]).unlink()
    lines = (tmp_path / JOURNAL).read_text().splitlines()
    changed = json.loads(lines[1]) | {"asked": "other frames"}
    (tmp_path / JOURNAL).write_text("\n".join([lines[0], json.dumps(changed), *lines[2:]]) + "\n")
    found = outcomes(DegradingModel(tmp_path, "blur"), videos, resume=True, start="here")
    assert [one.resumed for one in found.values()] == [False, False, True, True]


def test_without_resume_everything_is_asked(videos: Path, tmp_path: Path) -> None:
    outcomes(DegradingModel(tmp_path, "blur"), videos, start="here")
    assert not any(one.resumed for one in outcomes(DegradingModel(tmp_path, "blur"), videos, start="here").values())


class Careless(DegradingModel):
    """Does what people's models do wrong."""

    wrong = "overwrites"

    def imitate(self, src_infos: dict[str, Any], ref_infos: dict[str, Any]) -> Any:
        if self.wrong == "overwrites":
            self.num_preds_si = self.num_preds_ci = 0
        made = super().imitate(src_infos, ref_infos)
        if self.wrong == "forgets":
            return made[:-1]
        if self.wrong == "invents":
            return [*made[:-1], "nowhere.png"]
        return "a text" if self.wrong == "babbles" else made

    def build_model(self) -> None:
        if self.wrong == "can not be built":
            raise ValueError("no weights")
        super().build_model()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [("overwrites", "are now overwritten"), ("invents", "there is no such file"), ("babbles", "returned str")],
)
def test_answers_that_can_not_be_right_are_told_by_item(videos: Path, tmp_path: Path, wrong: str, message: str) -> None:
    model = Careless(tmp_path, "blur")
    model.wrong = wrong
    found = outcomes(model, videos, start="here")
    assert message in found["001/1/1"].answer.cause


def test_too_few_pictures_are_cut_with_a_warning_or_refused(videos: Path, tmp_path: Path) -> None:
    model = Careless(tmp_path, "blur")
    model.wrong = "forgets"
    said: list[str] = []
    lists = pair_lists(run_model(model, protocol_of(videos), start="here"), rules=Rules.COMPAT, warn=said.append)
    assert len(lists.own) == 8
    assert "000/1/1: 2 pictures for 3 frames; only the first 2" in said[0]
    with pytest.raises(PredictionError, match="one picture per reference frame"):
        pair_lists(run_model(model, protocol_of(videos), start="here"), rules=Rules.STRICT, warn=said.append)


@pytest.mark.parametrize("real", [1, 5])
def test_a_flag_window_of_another_length_is_cut_with_a_warning_or_refused(
    videos: Path, tmp_path: Path, real: int
) -> None:
    first, *_ = run_model(DegradingModel(tmp_path, "blur"), protocol_of(videos), start="here")
    changed = first._replace(item=replace(first.item, flag=(first.item.flag * 2)[:real]))
    said: list[str] = []
    assert len(pair_lists([changed], rules=Rules.COMPAT, warn=said.append).cross) == min(real, 3)
    assert f"3 pictures are measured against {real} real frames" in said[0]
    with pytest.raises(PredictionError, match=f"3 frames were asked for, but there are {real} real frames"):
        pair_lists([changed], rules=Rules.STRICT, warn=said.append)


class OwnFlow(SynthesisModel):
    """A model of none of the three kinds, which answers by itself."""

    def build_model(self) -> None:
        """Nothing to build."""

    def terminate(self) -> None:
        """Nothing to release."""

    def answer(self, item: Item, before: Before) -> SynthesisAnswer:
        cross = item.cross.images if item.cross is not None else ()
        return SynthesisAnswer(self.write(item.own.images, before.own), self.write(cross, before.cross, "cross"))

    def write(self, images: tuple[Path, ...], before: int, side: str = "own") -> tuple[str, ...]:
        paths = [Path(self.output_dir) / f"{side}_{before + number}.png" for number in range(len(images))]
        for path, image in zip(paths, images, strict=True):
            path.write_bytes(image.read_bytes())
        return tuple(map(str, paths))


def test_a_model_may_answer_items_in_a_way_of_its_own(videos: Path, tmp_path: Path) -> None:
    model = OwnFlow(tmp_path)
    lists = pair_lists(run_model(model, protocol_of(videos), start="here"), rules=Rules.STRICT, warn=print)
    assert (len(lists.own), len(lists.cross), lists.unfinished) == (12, 12, ())
    with pytest.raises(NotImplementedError, match="define answer and answer_sample"):
        model.answer_sample(Sample("a", (), {"frames_before": 0, "source": {}, "reference": {}}))


@pytest.mark.parametrize("start", ["here", "fork"])
def test_a_model_that_can_not_be_built_stops_the_run(videos: Path, tmp_path: Path, start: Any) -> None:
    model = Careless(tmp_path, "blur")
    model.wrong = "can not be built"
    with pytest.raises((ModelError, ValueError), match="no weights"):
        outcomes(model, videos, start=start)


def test_a_video_that_takes_too_long_is_given_up(videos: Path, tmp_path: Path) -> None:
    class Slow(DegradingModel):
        def personalization(self, src_infos: dict[str, Any]) -> dict[str, Any]:
            if src_infos["name"] == "001/1/1":
                import time

                time.sleep(60)
            return src_infos

    found = outcomes(Slow(tmp_path, "blur"), videos, start="fork", time_limit=2.0)
    assert "took longer than 2 s and was stopped" in found["001/1/1"].answer.cause
    assert not isinstance(found["002/1/1"].answer, Failed)


def test_the_model_is_terminated_also_after_an_error(videos: Path, tmp_path: Path) -> None:
    model = DegradingModel(tmp_path, "blur", crash_on=["003/1/1"])
    outcomes(model, videos, start="here")
    assert not model.ready
