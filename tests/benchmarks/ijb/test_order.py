"""Nothing is assumed about the order of rows, and embeddings are looked at before they are used."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.benchmarks.ijb import benchmark
from evenhand.benchmarks.ijb.convert import to_lists
from evenhand.benchmarks.ijb.options import (
    FaceDetectionOptions,
    FaceQuestionOptions,
    SearchOptions,
    VerificationOptions,
)
from evenhand.cli.main import main
from evenhand.core.errors import DataError, OptionError
from evenhand.core.options import parse
from evenhand.run import evaluate
from evenhand.search.sanity import embedding_warnings

MINI = Path(__file__).parents[2] / "golden" / "cases" / "ijb" / "mini_ijbb"
TESTS = ("ijb/test1", "ijb/test4")


def command(task: str, predictions: Path, data: Path, *more: str, **options: Any) -> tuple[int, str, str]:
    """The exit code of `evenhand evaluate`, and what it printed."""
    chosen = [part for name, value in options.items() for part in ("--set", f"{name}={value}")]
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as runs, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        arguments = ["--data", str(data), "--draws", "0", "--runs", runs, "--json", *chosen, *more]
        code = main(["evaluate", task, str(predictions), *arguments])
    return code, out.getvalue(), " ".join((out.getvalue() + err.getvalue()).split())


def numbers(task: str, predictions: Path, data: Path, by: tuple[str, ...] = (), **options: Any) -> Any:
    """All numbers of a run by command, of everyone and of the groups that are asked for."""
    code, out, messages = command(task, predictions, data, *(["--by", ",".join(by)] if by else []), **options)
    assert code == 0, messages
    (run,) = json.loads(out)["runs"]
    return {
        (one["metric"], one["output"], str(one["group"])): one["value"]
        for one in run["results"]["estimates"]
        if isinstance(one["value"], float) and (by or not one["group"])
    }


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Official files, list files, and embeddings in the order of the list files, each in a folder of its own."""
    folder = tmp_path_factory.mktemp("release")
    shutil.copytree(MINI / "protocol", folder / "protocol")
    shutil.copytree(MINI / "meta", folder / "meta")
    rows = np.loadtxt(MINI / "meta" / "row_to_face_index.csv", delimiter=",", skiprows=1, usecols=1, dtype=np.int64)
    for name in ("embeddings", "embeddings_flip"):
        np.save(folder / f"{name}.npy", np.load(MINI / f"{name}.npy")[rows])
    (folder / "meta" / "row_to_face_index.csv").unlink()
    return folder


def permuted(release: Path, order: Callable[[np.ndarray], np.ndarray], folder: Path) -> Path:
    """The same release with the lines of the list files, and with them the embeddings, in another order."""
    shutil.copytree(release, folder)
    lines = {path: path.read_text().splitlines() for path in (folder / "meta").glob("*_face_*.txt")}
    lines |= {path: path.read_text().splitlines() for path in (folder / "meta").glob("*_5pts_*.txt")}
    (faces,) = (path for path in lines if "tid_mid" in path.name)
    template = np.array([int(line.split()[1]) for line in lines[faces]])
    place = order(template)
    for path, text in lines.items():
        path.write_text("".join(f"{text[row]}\n" for row in place))
    for name in ("embeddings", "embeddings_flip"):
        np.save(folder / f"{name}.npy", np.load(folder / f"{name}.npy")[place])
    return folder


def by_template(template: np.ndarray) -> np.ndarray:
    return np.argsort(template, kind="stable")


def at_random(template: np.ndarray) -> np.ndarray:
    return np.random.default_rng(3).permutation(len(template))


@pytest.mark.parametrize("order", [by_template, at_random])
@pytest.mark.parametrize("task", TESTS)
def test_sorted_and_permuted_lists_give_the_same_numbers(
    release: Path, tmp_path: Path, task: str, order: Callable[[np.ndarray], np.ndarray]
) -> None:
    expected = numbers(task, MINI, MINI)
    assert len(expected) > 10
    moved = permuted(release, order, tmp_path / "moved")
    assert numbers(task, moved, moved) == pytest.approx(expected, abs=1e-6)


def test_both_layouts_and_both_together_give_the_same_numbers_and_groups(release: Path, tmp_path: Path) -> None:
    moved = permuted(release, at_random, tmp_path / "moved")
    expected = numbers("ijb/test1", MINI, MINI, by=("gender",))
    assert any("both male" in group for _, _, group in expected)
    assert numbers("ijb/test1", moved, moved, by=("gender",), layout="lists") == pytest.approx(expected, abs=1e-6)
    (matches,) = (moved / "protocol").glob("*_11_S1_S2_matches.csv")
    matches.unlink()  # galleries and probes stay: they say who is who
    assert numbers("ijb/test1", moved, moved, by=("gender",)) == pytest.approx(expected, abs=1e-6)
    shutil.rmtree(moved / "protocol")
    alone = numbers("ijb/test1", moved, moved)
    assert alone == pytest.approx({key: value for key, value in expected.items() if key in alone}, abs=1e-6)


def test_landmarks_in_another_order_are_joined_by_name(release: Path, tmp_path: Path) -> None:
    folder = tmp_path / "lists"
    shutil.copytree(release, folder)
    (points,) = (folder / "meta").glob("*_5pts_*.txt")
    lines = points.read_text().splitlines()
    points.write_text("\n".join(lines[::-1]) + "\n")
    expected = numbers("ijb/test1", release, release, layout="lists")
    assert numbers("ijb/test1", folder, folder, layout="lists") == expected
    points.write_text("\n".join(lines[1:]) + "\n")
    code, _, messages = command("ijb/test1", folder, folder, layout="lists")
    assert code != 0
    assert "is not in" in messages


@pytest.mark.parametrize("task", TESTS)
def test_a_face_that_is_listed_twice_counts_the_same_in_comparisons_and_searches(folder: Path, task: str) -> None:
    """A second copy of a template's face with another embedding: each line has its own row, in both tests."""
    to_lists(folder, folder / "meta", faces=folder / "faces.csv")
    rows = np.loadtxt(folder / "meta" / "row_to_face_index.csv", delimiter=",", skiprows=1, usecols=1, dtype=np.int64)
    (folder / "meta" / "row_to_face_index.csv").unlink()
    path = folder / "meta" / "tiny_face_tid_mid.txt"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, lines[0]]) + "\n")
    (points,) = (folder / "meta").glob("*5pts*")
    points.write_text("\n".join([*points.read_text().splitlines(), points.read_text().splitlines()[0]]) + "\n")
    vectors = np.load(folder / "embeddings.npy")[rows]
    np.save(folder / "listed.npy", np.concatenate([vectors, -3 * vectors[:1]]))  # outweighs the first
    values = numbers(task, folder / "listed.npy", folder, flip="none", detector="off")
    name = ("separation", "AUC") if task == "ijb/test1" else ("CMC", "rank 1")
    assert next(value for key, value in values.items() if key[:2] == name) < 1.0


def test_shuffled_constant_and_halved_embeddings_are_reported_by_check_and_evaluate(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vectors = np.load(release / "embeddings.npy")
    shuffled = tmp_path / "shuffled.npy"
    np.save(shuffled, np.random.default_rng(0).permutation(vectors))
    arguments = [str(shuffled), "--data", str(release), "--set", "flip=none"]
    assert main(["check", "ijb/test1", *arguments]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "fit for evaluation, with 7 warnings warning The rows seem to be in another order than the faces" in printed
    assert main(["evaluate", "ijb/test1", *arguments, "--draws", "0", "--runs", str(tmp_path / "runs")]) == 0
    assert capsys.readouterr().err.count("another order than the faces") == 2  # before the work, and with its numbers
    run = evaluate(benchmark.find("ijb/test4"), shuffled, release, options={"flip": "none"}, draws=0)
    assert any("another order" in warning for warning in run.results.warnings)
    ordered = evaluate(benchmark.find("ijb/test4"), release, release, draws=0)
    assert not any("another order" in warning for warning in ordered.results.warnings)
    np.save(shuffled, np.ones_like(vectors))
    run = evaluate(benchmark.find("ijb/test1"), shuffled, release, options={"flip": "none"}, draws=0)
    assert any("constant" in warning for warning in run.results.warnings)
    np.save(shuffled, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    run = evaluate(benchmark.find("ijb/test1"), shuffled, release, options={"flip": "none"}, draws=0)
    assert any("normalised already" in warning for warning in run.results.warnings)


def test_scores_in_another_order_or_of_distances_are_reported(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(6)
    task: Any = benchmark.find("ijb/test1")
    same = task.load(release, task.options()).truth.same
    scores = same + rng.normal(size=len(same)) * 0.3
    kinds = {"right": scores, "shuffled": rng.permutation(scores), "distances": -scores}
    expected = {"right": "", "shuffled": "another order than the comparisons", "distances": "negate distances"}
    for name, values in kinds.items():
        np.save(tmp_path / f"{name}.npy", values)
        assert main(["check", "ijb/test1", str(tmp_path / f"{name}.npy"), "--data", str(release)]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert [words in printed for words in expected.values() if words] == [
            words == expected[name] for words in expected.values() if words
        ]
    assert "For scores in the order of" in command("ijb/test1", tmp_path / "shuffled.npy", release)[2]
    search: Any = benchmark.find("ijb/test4")
    for name, sign in (("right", 1), ("distances", -1)):
        folder = tmp_path / name
        folder.mkdir()
        for gallery in search.load(release, search.options()).truth.galleries:
            same = gallery.probes.subject[:, None] == gallery.subject[None, :]
            np.save(folder / f"scores_{gallery.name}.npy", sign * (same + rng.normal(size=same.shape) * 0.2))
        assert ("negate distances" in command("ijb/test4", folder, release)[2]) == (name == "distances")


@pytest.mark.parametrize(
    ("shift", "words"),
    [(1, "one row too late"), (-1, "one row too early"), (2, "2 rows too late"), (-3, "3 rows too early")],
)
@pytest.mark.parametrize("noise", [0.5, 1.5])  # a weak model rates two rows of one person more alike in 86 %
def test_rows_that_are_some_places_off_are_reported(shift: int, words: str, noise: float) -> None:
    rng = np.random.default_rng(7)
    person = np.repeat(np.arange(60), rng.integers(3, 9, 60))
    vectors = rng.normal(size=(60, 32))[person] + rng.normal(size=(len(person), 32)) * noise
    assert embedding_warnings(vectors, person) == ()
    (warning,) = embedding_warnings(np.roll(vectors, shift, axis=0), person)
    assert words in warning


def test_a_model_that_hardly_tells_people_apart_is_not_taken_for_rows_that_are_off() -> None:
    rng = np.random.default_rng(7)
    for people in (6, 20, 60):
        person = np.repeat(np.arange(people), 4)
        for _ in range(20):
            weak = rng.normal(size=(people, 32))[person] + rng.normal(size=(len(person), 32)) * 2.5
            assert not any("too" in warning for warning in embedding_warnings(weak, person))


def test_a_mirrored_pass_that_does_not_belong_to_the_first_is_reported(release: Path, tmp_path: Path) -> None:
    flipped = np.load(release / "embeddings_flip.npy")
    np.save(tmp_path / "mine.npy", np.load(release / "embeddings.npy"))
    np.save(tmp_path / "mine_flip.npy", np.random.default_rng(0).permutation(flipped))
    words = "The mirrored pass seems to be in another order"
    assert words in command("ijb/test1", tmp_path / "mine.npy", release)[2]
    assert words not in command("ijb/test1", release, release)[2]
    np.save(tmp_path / "mine_flip.npy", flipped[:-1])
    code, _, messages = command("ijb/test1", tmp_path / "mine.npy", release)
    assert code == 2
    assert "they must agree. Give one mirrored row for each row of the embeddings." in messages


@pytest.mark.parametrize("task", TESTS)
def test_embeddings_of_which_none_can_be_enrolled_are_an_error(release: Path, tmp_path: Path, task: str) -> None:
    np.save(tmp_path / "zeros.npy", np.zeros_like(np.load(release / "embeddings.npy")))
    code, _, messages = command(task, tmp_path / "zeros.npy", release, flip="none")
    assert code == 2
    assert "templates can be enrolled" in messages


def test_two_passes_side_by_side_are_taken_apart(release: Path, tmp_path: Path) -> None:
    both = np.concatenate([np.load(release / f"{name}.npy") for name in ("embeddings", "embeddings_flip")], axis=1)
    np.save(tmp_path / "wide.npy", both)
    assert numbers("ijb/test1", tmp_path / "wide.npy", release) == numbers("ijb/test1", release, release)
    kept = numbers("ijb/test1", tmp_path / "wide.npy", release, flip="none")
    concat = numbers("ijb/test1", release, release, flip="concat")
    assert kept == pytest.approx(concat, abs=1e-6)
    run = evaluate(benchmark.find("ijb/test1"), tmp_path / "wide.npy", release, options={"flip": "none"}, draws=0)
    assert any("halves=split" in warning for warning in run.results.warnings)
    asked = {"flip": "none", "halves": "keep"}
    run = evaluate(benchmark.find("ijb/test1"), tmp_path / "wide.npy", release, options=asked, draws=0)
    assert not any("halves" in warning for warning in run.results.warnings)


def test_the_mirrored_pass_is_read_where_it_lies_beside_a_single_file(release: Path, tmp_path: Path) -> None:
    for name, other in (("mine", "embeddings"), ("mine_flip", "embeddings_flip")):
        np.save(tmp_path / f"{name}.npy", np.load(release / f"{other}.npy"))
    assert numbers("ijb/test1", tmp_path / "mine.npy", release) == numbers("ijb/test1", release, release)


def test_files_may_be_named_in_capitals(release: Path, tmp_path: Path) -> None:
    folder = tmp_path / "IJBB"
    shutil.copytree(release, folder)
    for path in [*folder.glob("protocol/*.csv"), *folder.glob("meta/*.txt")]:
        path.rename(path.with_name(path.name.replace("ijbb_", "IJBB_")))
    for task in TESTS:
        assert numbers(task, folder, folder) == numbers(task, release, release)
    assert numbers("ijb/test1", folder, folder, layout="lists") == numbers("ijb/test1", release, release)


def test_arrays_of_the_public_scripts_are_read_as_they_are(release: Path, tmp_path: Path) -> None:
    """`ijbb.npy` holds scores alone; an archive of IJB_evals holds embs and embs_f, or rows of scores."""
    from evenhand.search.compare import pair_scores

    expected = numbers("ijb/test1", release, release)
    archive = tmp_path / "model_IJBB.npz"
    vectors, flipped = (np.load(release / f"{name}.npy") for name in ("embeddings", "embeddings_flip"))
    np.savez(archive, embs=vectors, embs_f=flipped, scores=np.zeros((1, 3)), names=np.array(["m"]))
    assert numbers("ijb/test1", archive, release) == expected
    task = benchmark.find("ijb/test1")
    dataset = task.load(release, VerificationOptions())
    pooled = task.codec.read(release, dataset, VerificationOptions()).content.templates
    scores = pair_scores(pooled, dataset.truth.first, dataset.truth.second)
    np.save(tmp_path / "ijbb.npy", scores)
    assert numbers("ijb/test1", tmp_path / "ijbb.npy", release) == expected
    np.savez(tmp_path / "scores.npz", scores=scores[None], names=np.array(["m"]))
    assert numbers("ijb/test1", tmp_path / "scores.npz", release) == expected


@pytest.mark.parametrize("task", TESTS)
def test_embeddings_that_match_no_template_are_an_error(folder: Path, task: str) -> None:
    text = (folder / "faces.csv").read_text().replace("img/", "elsewhere/")
    (folder / "faces.csv").write_text(text)
    code, _, messages = command(task, folder, folder, flip="none")
    assert code != 0
    assert re.search(r"names none of the .* 'elsewhere/0\.jpg'.* 'img/", messages), messages


def test_equal_copies_of_a_file_count_once_and_messages_name_files(folder: Path) -> None:
    (folder / "meta").mkdir()
    shutil.copy(folder / "protocol" / "tiny_1N_probe_mixed.csv", folder / "meta")
    assert numbers("ijb/test4", folder, folder, flip="none")
    with pytest.raises(DataError, match=r"no file like ijbb_face_detection\.csv. It has tiny_11_A_B_matches\.csv"):
        benchmark.find("ijb/test6").load(folder, FaceDetectionOptions())
    with pytest.raises(DataError, match=rf"Give the folder of one release: .*{folder.name}"):
        benchmark.find("ijb/test1").load(folder.parent, VerificationOptions())


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (VerificationOptions, {"far": "-1e-4"}),
        (VerificationOptions, {"far": "1e-4,0.0001"}),
        (SearchOptions, {"fpir": "5"}),
        (SearchOptions, {"ranks": "0"}),
        (SearchOptions, {"list_length": "0"}),
        (FaceDetectionOptions, {"iou": "2"}),
    ],
)
def test_options_out_of_range_are_refused(kind: Any, given: dict[str, str]) -> None:
    with pytest.raises(OptionError, match=next(iter(given))):
        parse(kind, given)


def test_an_option_out_of_range_is_a_usage_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["evaluate", "ijb/test1", str(folder), "--data", str(folder), "--set", "far=-1e-4", "--json"])
    assert code == 2
    assert json.loads(capsys.readouterr().out or "{}") is not None


def clusters(folder: Path, predictions: Path, **options: Any) -> Any:
    return evaluate(benchmark.find("ijb/test7"), predictions, folder, options=options, draws=0).results


def test_the_largest_answered_clustering_is_evaluated_unless_one_is_named(tmp_path: Path) -> None:
    names = {path.name: path for path in MINI.rglob("*cluster*.csv")}
    assert {"clusters_8.csv", "clusters_40.csv"} <= set(names), sorted(names)
    small = clusters(MINI, names["clusters_8.csv"])
    assert small.facts["sub_protocol"] == 8
    assert small.coverage.missing == 0
    assert clusters(MINI, names["clusters_40.csv"]).facts["sub_protocol"] == 40
    (tmp_path / "clusters_8.csv").write_bytes(names["clusters_8.csv"].read_bytes())
    assert clusters(MINI, tmp_path).facts["sub_protocol"] == 8
    assert clusters(MINI, names["clusters_8.csv"], subjects="40").coverage.missing > 0


def test_whose_face_is_whose_is_found_in_the_metadata_without_a_ground_truth(tmp_path: Path) -> None:
    shutil.copytree(MINI / "protocol", tmp_path / "protocol")
    (answers,) = MINI.rglob("clusters_40.csv")
    expected = clusters(MINI, answers).get("BCubed", "F").value
    next(tmp_path.rglob("*_clustering_ground_truth.csv")).unlink()
    assert clusters(tmp_path, answers).get("BCubed", "F").value == expected


CROP_MODEL = """
import numpy as np

class Model:
    name = "crops"

    def predict(self, samples):
        for sample in samples:
            assert sample.media[0].parent.name == "loose_crop", sample.media
            assert len(sample.given["landmarks"]) == 5
            row = int(sample.media[0].stem)
            yield sample.id, VECTORS[1 if sample.given["mirror"] else 0][row]

VECTORS = [np.load(path) for path in PATHS]
"""


def test_loose_crops_are_asked_of_a_model_and_serve_comparisons_and_searches(release: Path, tmp_path: Path) -> None:
    folder = tmp_path / "IJBB"
    shutil.copytree(release, folder)
    (folder / "loose_crop").mkdir()
    (faces,) = (folder / "meta").glob("*tid_mid.txt")
    names = [line.split()[0] for line in faces.read_text().splitlines()]
    vectors = {name: np.load(release / f"{name}.npy") for name in ("embeddings", "embeddings_flip")}
    numbered = []
    for kind, array in vectors.items():
        by_number = np.zeros((max(int(Path(name).stem) for name in names) + 1, array.shape[1]), dtype=np.float32)
        by_number[[int(Path(name).stem) for name in names]] = array
        np.save(tmp_path / f"{kind}.npy", by_number)
        numbered.append(str(tmp_path / f"{kind}.npy"))
    (tmp_path / "model.py").write_text(CROP_MODEL.replace("PATHS]", f"{numbered!r}]"))
    model = f"{tmp_path / 'model.py'}:Model"
    arguments = ["--model", model, "--data", str(folder), "--runs", str(tmp_path / "runs")]
    assert main(["predict", "ijb/faces", *arguments]) == 0
    (submission,) = (tmp_path / "runs").glob("ijb/faces/*/*/predictions/submission")
    for task in TESTS:
        assert numbers(task, submission, folder) == pytest.approx(numbers(task, release, release), abs=1e-6)


def test_two_faces_under_one_name_are_not_embedded_as_one(release: Path, tmp_path: Path) -> None:
    folder = tmp_path / "IJBB"
    shutil.copytree(release, folder)
    (folder / "loose_crop").mkdir()
    for path in (next((folder / "meta").glob(f"*{end}.txt")) for end in ("tid_mid", "5pts_score")):
        lines = path.read_text().splitlines()
        lines[1] = " ".join([lines[0].split()[0], *lines[1].split()[1:]])
        path.write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match="different landmarks"):
        benchmark.find("ijb/faces").load(folder, FaceQuestionOptions())


def test_loose_crops_are_not_taken_for_other_tests_and_missed_by_name(release: Path, tmp_path: Path) -> None:
    folder = tmp_path / "IJBB"
    shutil.copytree(release / "meta", folder / "meta")
    with pytest.raises(DataError, match=r"pictures are expected in .*loose_crop"):
        benchmark.find("ijb/faces").load(folder, FaceQuestionOptions())
    (folder / "loose_crop").mkdir()
    with pytest.raises(DataError, match=r"the tests 2: no file like ijbb_11_covariate_probe"):
        benchmark.find("ijb/faces").load(folder, FaceQuestionOptions(tests=(2,)))
    with pytest.raises(OptionError, match="no templates of its own"):
        benchmark.find("ijb/faces").load(folder, FaceQuestionOptions(tests=(7,)))
    with pytest.raises(OptionError, match="serve the tests 1 and 4"):
        benchmark.find("ijb/faces").load(folder, FaceQuestionOptions(tests=(2,), crops="loose"))


def test_a_run_of_both_layouts_is_explained_without_naming_its_files_again(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(release, tmp_path / "data")
    (tmp_path / "own").mkdir()
    for name in ("embeddings", "embeddings_flip"):
        (tmp_path / "data" / f"{name}.npy").rename(tmp_path / "own" / f"{name}.npy")
    more = ["--data", str(tmp_path / "data"), "--draws", "0", "--rows", "none", "--runs", str(tmp_path / "runs")]
    assert main(["evaluate", "ijb/test1", str(tmp_path / "own"), *more]) == 0
    (run,) = (tmp_path / "runs" / "ijb" / "test1").glob("*/*")
    capsys.readouterr()
    assert main(["explain", str(run), "--target", "0.9", "--quantity", "TAR@FAR=1e-2"]) == 0, capsys.readouterr().err


@pytest.fixture
def crops(release: Path, tmp_path: Path) -> Path:
    """A release with list files and a folder of loose crops, to be spoilt."""
    shutil.copytree(release, tmp_path / "IJBB")
    (tmp_path / "IJBB" / "loose_crop").mkdir()
    return tmp_path / "IJBB"


@pytest.mark.parametrize("score", ["nan", "inf"])
@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_detector_score_that_is_not_finite_is_named_by_line_where_faces_are_weighed(
    crops: Path, score: str, is_reversed: bool
) -> None:
    (path,) = (crops / "meta").glob("*_5pts_*.txt")
    lines = path.read_text().splitlines()
    name = lines[6].split()[0]
    lines = [" ".join([*line.split()[:-1], score]) if line.split()[0] == name else line for line in lines]
    lines = lines[::-1] if is_reversed else lines
    path.write_text("\n".join(lines) + "\n")
    number = next(place for place, line in enumerate(lines, start=1) if line.split()[0] == name)
    where = f"{path.name}, line {number}: the detector score of '{name}' is {score}"
    for task in TESTS:
        code, _, messages = command(task, crops, crops)
        assert code != 0
        assert where in messages
        assert "set detector=off" in messages
        assert numbers(task, crops, crops, detector="off") == numbers(task, MINI, MINI, detector="off")
    with pytest.raises(DataError, match=re.escape(where)):
        benchmark.find("ijb/faces").load(crops, FaceQuestionOptions())


def test_an_empty_line_of_a_list_file_is_called_so(crops: Path) -> None:
    (path,) = (crops / "meta").glob("*tid_mid.txt")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], "", *lines[3:]]) + "\n")
    with pytest.raises(DataError, match=r"line 4: the line is empty. Remove it"):
        benchmark.find("ijb/faces").load(crops, FaceQuestionOptions())


@pytest.fixture
def listed(folder: Path) -> Path:
    """The tiny set as the community's release has it: list files with numbered images, galleries and probes."""
    to_lists(folder, folder / "protocol", faces=folder / "faces.csv")
    (folder / "protocol").rename(folder / "meta")
    for path in [*(folder / "meta").glob("*_matches.csv"), folder / "meta" / "row_to_face_index.csv"]:
        path.unlink()
    return folder


@pytest.mark.parametrize("task", TESTS)
def test_faces_named_as_in_the_galleries_serve_beside_list_files_in_both_tests(listed: Path, task: str) -> None:
    values = numbers(task, listed, listed, flip="none")
    name = ("separation", "AUC") if task == "ijb/test1" else ("CMC", "rank 1")
    assert next(value for key, value in values.items() if key[:2] == name) == 1.0


@pytest.mark.parametrize("task", TESTS)
def test_an_image_of_the_lists_that_faces_csv_names_twice_is_refused_in_both_tests(listed: Path, task: str) -> None:
    order = [0, 3, 6, 9, 1, 2, 4, 5, 7, 8, 10, 11]  # galleries, then probes
    np.save(listed / "embeddings.npy", np.load(listed / "embeddings.npy")[order])
    names = [f"{row}.jpg" for row in range(1, 13)]
    (listed / "faces.csv").write_text("\n".join(["FILENAME,FACE_SCORE", *(f"{name},0.9" for name in names)]) + "\n")
    assert numbers(task, listed, listed, flip="none")
    names[4] = names[0]
    (listed / "faces.csv").write_text("\n".join(["FILENAME,FACE_SCORE", *(f"{name},0.9" for name in names)]) + "\n")
    code, _, messages = command(task, listed, listed, flip="none")
    assert code == 2
    assert re.search(r"faces\.csv, line 6: the (face|image) 1\.jpg is there twice", messages), messages


def test_subjects_of_faces_csv_are_not_compared_with_numbers_that_lists_were_given(listed: Path) -> None:
    for path in (listed / "meta").glob("*.csv"):
        path.unlink()
    order = [0, 3, 6, 9, 1, 2, 4, 5, 7, 8, 10, 11]
    np.save(listed / "embeddings.npy", np.load(listed / "embeddings.npy")[order])
    lines = [f"{row + 1}.jpg,{50 + face // 3},0.9" for row, face in enumerate(order)]
    (listed / "faces.csv").write_text("\n".join(["FILENAME,SUBJECT_ID,FACE_SCORE", *lines]) + "\n")
    assert numbers("ijb/test1", listed, listed, flip="none")["separation", "AUC", "[]"] == 1.0


def test_files_of_two_releases_are_refused(listed: Path) -> None:
    for path in list((listed / "meta").iterdir()):
        path.rename(path.with_name(path.name.replace("tiny_", "ijbb_" if path.suffix == ".txt" else "ijbc_")))
    for task in TESTS:
        code, _, messages = command(task, listed, listed, flip="none")
        assert code == 2
        assert re.search("files of several releases: .*ijb[bc]_.* Keep the files of one release", messages)


def test_folders_and_files_may_be_named_in_capitals_to_the_end(listed: Path) -> None:
    expected = numbers("ijb/test4", listed, listed, flip="none")
    for path in list((listed / "meta").iterdir()):
        path.rename(path.with_name(path.name.upper()))
    (listed / "meta").rename(listed / "META")
    assert numbers("ijb/test4", listed, listed, flip="none") == expected


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".parquet"])
@pytest.mark.parametrize("name", ["embeddings", "my_model_IJBB"])
def test_a_mirrored_pass_in_the_file_of_the_embeddings_is_used(
    release: Path, tmp_path: Path, suffix: str, name: str
) -> None:
    passes = {
        "embeddings": np.load(release / "embeddings.npy"),
        "embeddings_flip": np.load(release / "embeddings_flip.npy"),
    }
    path = tmp_path / f"{name}{suffix}"
    if suffix == ".npz":
        np.savez(path, **passes)
    elif suffix == ".safetensors":
        from safetensors.numpy import save_file

        save_file(passes, path)
    else:
        import polars as pl

        pl.DataFrame({part: array.tolist() for part, array in passes.items()}).write_parquet(path)
    expected = numbers("ijb/test1", release, release)
    for given in (tmp_path, path):
        assert numbers("ijb/test1", given, release) == expected


def test_detector_scores_below_zero_are_reported(folder: Path) -> None:
    words = "12 of 12 detector scores are below 0"
    for task in TESTS:
        assert words not in command(task, folder, folder, flip="none")[2]
    (folder / "faces.csv").write_text((folder / "faces.csv").read_text().replace(",0.9", ",-0.9"))
    for task in TESTS:
        assert words in command(task, folder, folder, flip="none")[2]
        assert words not in command(task, folder, folder, flip="none", detector="off")[2]


def test_faces_of_lists_without_embedding_are_named_by_their_template(listed: Path) -> None:
    """The lines of the list and of the galleries may differ in their order."""
    names = [f"{row}.jpg" for row in range(2, 13)]
    (listed / "faces.csv").write_text("\n".join(["FILENAME,FACE_SCORE", *(f"{name},0.9" for name in names)]) + "\n")
    path = listed / "meta" / "tiny_face_tid_mid.txt"
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([*others, first]) + "\n")
    task: Any = benchmark.find("ijb/test4")
    (listed / "faces.csv").write_text(
        "\n".join(["FILENAME,FACE_SCORE", *(f"{name},0.9" for name in names[:-1])]) + "\n"
    )
    results = evaluate(task, listed, listed, options={"flip": "none"}, draws=0).results
    assert results.coverage.examples == {"face without embedding": ("12",)}


def test_scores_that_are_infinite_or_all_the_same_are_told(release: Path, tmp_path: Path) -> None:
    task: Any = benchmark.find("ijb/test1")
    scores = np.linspace(0, 1, len(task.load(release, task.options()).truth))
    for value in (np.inf, np.nan):
        np.save(tmp_path / "mine.npy", np.where(np.arange(len(scores)) == 3, value, scores))
        code, _, messages = command("ijb/test1", tmp_path / "mine.npy", release)
        assert code == 2
        assert f"entry 3: {value} is no score (1 such entries)" in messages
    np.save(tmp_path / "mine.npy", np.ones_like(scores))
    assert "scores are the same number: they are constant." in command("ijb/test1", tmp_path / "mine.npy", release)[2]


def test_rows_are_not_taken_apart_where_the_mirrored_pass_has_a_file_of_its_own(release: Path) -> None:
    code, _, messages = command("ijb/test1", release, release, halves="split")
    assert code == 2
    assert "halves=split takes the mirrored pass out of the columns" in messages
