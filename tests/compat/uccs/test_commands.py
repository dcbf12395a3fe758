"""The challenge's commands: configuration, options, evaluation, scoring."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from evenhand.compat.uccs import command
from evenhand.compat.uccs.command import understand
from evenhand.compat.uccs.config import UsageError, default_text, help_texts, leaves, load_files, nested, resolve
from evenhand.core.errors import OptionError
from evenhand.core.task import Demo


def resolved(*arguments: str) -> dict:
    return nested(understand("evaluation", arguments).config.values)


def test_every_default_has_a_line_of_help() -> None:
    texts = help_texts()
    assert [name for name, _ in leaves(load_files([])) if not texts[name]] == []
    assert texts["eval.recognition.rank"] == "the true name must be among the so many most similar"


def test_config_prints_the_defaults_with_comments(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["config"]) == 0
    assert capsys.readouterr().out == default_text()
    assert "# overlap from which on" in default_text()


def test_placeholders_are_filled_after_options_and_in_options() -> None:
    tree = resolved("--which_set", "test", "--eval.detection.froc", "{result_directory}/x-{which_set}-{unknown}.png")
    assert tree["image_directory"] == "data/test_images"
    assert tree["eval"]["detection"]["froc"] == "results/x-test-{unknown}.png"


def test_placeholders_may_name_dotted_keys(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("a: {b: x}\nc: '{a.b}/y'\nd: ['{c}', '{c}z']\n")
    tree = load_files([tmp_path / "c.yaml"])
    assert nested(resolve(tree, {}).values) == {"a": {"b": "x"}, "c": "x/y", "d": ["x/y", "x/yz"]}


def test_a_given_file_replaces_the_defaults_and_further_ones_top_level_keys(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("gpu: -1\neval: {iou: 0.4, linear: True}\n")
    (tmp_path / "two.yaml").write_text("eval: {iou: 0.3}\n")
    assert load_files([tmp_path / "one.yaml", tmp_path / "two.yaml"]) == {"gpu": -1, "eval": {"iou": 0.3}}


def test_what_a_file_lacks_is_no_option_but_falls_back_when_needed(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("data_directory: here\n")
    with pytest.raises(UsageError, match="unrecognized arguments"):
        understand("scoring", [str(tmp_path / "c.yaml"), "--eval.iou", "0.3"])
    run = understand("scoring", [str(tmp_path / "c.yaml")])
    assert run.config["scoring.results"] == "results/UCCS-scoring-baseline-validation.txt"
    assert run.config.fallbacks == ["scoring.results"]


def test_booleans_are_booleans() -> None:
    assert resolved("--eval.linear", "False")["eval"]["linear"] is False
    assert resolved("--eval.linear", "yes")["eval"]["linear"] is True
    with pytest.raises(UsageError, match="neither true nor false"):
        resolved("--eval.linear", "perhaps")


def test_lists_take_several_values_and_prefixes_are_enough() -> None:
    tree = resolved("--eval.detection.fi", "x", "y", "--eval.detection.la", "p", "q")
    assert tree["eval"]["detection"]["labels"] == ["p", "q"]


@pytest.mark.parametrize(
    "line", [["--eval.iou", "half"], ["--tasks", "all"], ["--nothing", "1"], ["--eval.detection", "x"], ["--gpu"]]
)
def test_a_command_line_that_can_not_be_understood_ends_with_two(
    line: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["evaluation", *line]) == 2
    assert "evaluation: error" in capsys.readouterr().err


def test_an_unknown_command_names_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["evaluate"]) == 2
    assert "baseline_detection, baseline_recognition, scoring, evaluation, config" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["baseline_detection", "baseline_recognition", "scoring", "evaluation"])
def test_help_explains_every_option(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([name, "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    for key, _ in leaves(load_files([])):
        assert f"--{key}" in said


def test_help_without_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--help"]) == 0
    assert "config" in capsys.readouterr().out
    assert command.main([]) == 2


def test_labels_must_be_as_many_as_files() -> None:
    with pytest.raises(OptionError, match=r"The number of labels \(1\) and results \(2\) differ"):
        resolved("--eval.recognition.files", "a", "b")
    with pytest.raises(OptionError, match="the same label"):
        resolved("--eval.detection.files", "a", "b", "--eval.detection.labels", "x", "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpu: 0\neval:\n  iou: high\n", "c.yaml, line 3: eval.iou is 'high'; a number is expected"),
        ("data_directory: 5\n", "c.yaml, line 1: data_directory is 5; text is expected"),
        ("eval: 5\n", "c.yaml, line 1: eval is 5; a section"),
        ("gpu: yes\n", "gpu is True; a whole number"),
        ("eval: {detection: {files: [1]}}\n", "eval.detection.files is 1; text, or a list of them"),
        ("eval: {linear: 0}\n", "eval.linear is 0; true or false"),
    ],
)
def test_a_value_of_the_wrong_type_is_a_usage_error_with_key_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    (tmp_path / "c.yaml").write_text(text)
    assert command.main(["evaluation", str(tmp_path / "c.yaml")]) == 2
    assert message in capsys.readouterr().err


def test_sections_may_come_from_other_files_and_names_may_have_dots(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        "detection: {yaml: sub.yaml, parallel: 2}\nscoring: {yaml: one.yaml}\neval.iou: 0.4\n"
    )
    (tmp_path / "sub.yaml").write_text("other: {x: 1}\ndetection: {parallel: 1, max_detections: 7}\n")
    (tmp_path / "one.yaml").write_text("anything: {probe: here}\n")
    assert load_files([tmp_path / "c.yaml"]) == {
        "detection": {"parallel": 2, "max_detections": 7},
        "scoring": {"probe": "here"},
        "eval": {"iou": 0.4},
    }
    (tmp_path / "sub.yaml").write_text("other: {x: 1}\nmore: {parallel: 1}\n")
    with pytest.raises(UsageError, match="no section 'detection'"):
        load_files([tmp_path / "c.yaml"])
    (tmp_path / "sub.yaml").write_text("detection: {yaml: sub.yaml}\n")
    with pytest.raises(UsageError, match="include each other"):
        load_files([tmp_path / "c.yaml"])


def test_the_published_names_are_there_as_aliases(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["aliases"]) == 0
    assert "alias baseline_detection='evenhand uccs baseline_detection'\n" in capsys.readouterr().out


def test_compressed_detection_files_are_read(demo: Path, tmp_path: Path) -> None:
    import gzip

    (tmp_path / "d.txt.gz").write_bytes(gzip.compress((demo / "detections.txt").read_bytes()))
    files = ["--eval.detection.files", str(demo / "detections.txt"), str(tmp_path / "d.txt.gz")]
    more = ["-t", "detection", *files, "--eval.detection.labels", "a", "b", "--draws", "0", "--no-figure"]
    assert evaluate(demo, tmp_path, *more) == 0
    systems = json.loads((tmp_path / "UCCS-FROC-validation.json").read_text())["systems"]
    assert systems["a"] == systems["b"]


def test_a_file_that_is_no_yaml_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.yaml").write_text("a: [1,\n")
    assert command.main(["scoring", str(tmp_path / "c.yaml")]) == 2
    assert "c.yaml, line" in capsys.readouterr().err
    (tmp_path / "c.yaml").write_text("just text\n")
    assert command.main(["scoring", str(tmp_path / "c.yaml")]) == 2
    assert command.main(["scoring", str(tmp_path / "absent.yaml")]) == 2


@pytest.fixture(scope="module")
def demo(demos_of: Callable[[str], Sequence[Demo]]) -> Path:
    return demos_of("uccs")[0].data


def evaluate(demo: Path, results: Path, *more: str) -> int:
    return command.main(["evaluation", "--data_directory", str(demo), "--result_directory", str(results), *more])


def test_evaluation_writes_figures_curves_counts_and_points(demo: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "not" / "there"
    files = ["--eval.detection.files", str(demo / "detections.txt"), str(demo / "scores.txt")]
    files += ["--eval.recognition.files", str(demo / "scores.txt"), "--eval.recognition.labels", "mine"]
    code = evaluate(demo, out, *files, "--eval.detection.labels", "one", "two", "--draws", "30", "--by", "LIGHTING")
    said = capsys.readouterr().out
    assert code == 0
    assert "one: " in said
    assert "one − two: " in said
    assert (out / "UCCS-FROC-validation.pdf").read_bytes().startswith(b"%PDF")
    froc = json.loads((out / "UCCS-FROC-validation.json").read_text())
    assert set(froc["systems"]) == {"one", "two"}
    assert froc["intervals"]["one"]["sum"]["low"] <= froc["systems"]["one"]["sum"]
    sums = {name: system["sum"] for name, system in froc["systems"].items()}
    pair = next(pair for pair in froc["paired"] if pair["output"] == "sum")
    assert (pair["first"], pair["second"]) == ("one", "two")
    assert abs(pair["value"] - (sums["one"] - sums["two"])) < 1e-9
    assert {entry["group"] for entry in froc["groups"]["one"]} >= {"everyone", "lighting=shade"}
    oroc = json.loads((out / "UCCS-OROC-validation.json").read_text())["systems"]["mine"]
    assert oroc["counts"]["subjects"] == 40
    table = (out / "UCCS-OROC-validation.csv").read_text().splitlines()
    assert table[0] == "system,convention,rank,threshold,rate,false_per_image,faces"
    assert {line.split(",")[1] for line in table[1:]} == {"oroc", "oroc_documented"}


def test_several_ranks_in_one_pass(demo: Path, tmp_path: Path) -> None:
    more = ["-t", "recognition", "--eval.recognition.files", str(demo / "scores.txt"), "--ranks", "1", "5"]
    assert evaluate(demo, tmp_path, *more, "--draws", "0", "--eval.recognition.oroc", str(tmp_path / "o.svg")) == 0
    assert set(json.loads((tmp_path / "o.json").read_text())["systems"]["MagFace"]["ranks"]) == {"1", "5"}
    assert {path.name for path in tmp_path.glob("*.svg")} == {"o-rank1.svg", "o-rank5.svg"}


def test_no_labels_are_the_names_of_the_files(demo: Path, tmp_path: Path) -> None:
    text = default_text().replace("labels: [mtcnn]", "labels: null")
    (tmp_path / "c.yaml").write_text(text)
    line = [str(tmp_path / "c.yaml"), "-t", "detection", "--data_directory", str(demo), "--draws", "0", "--no-figure"]
    line += ["--eval.detection.files", str(demo / "detections.txt"), "--result_directory", str(tmp_path)]
    assert command.main(["evaluation", *line]) == 0
    assert list(json.loads((tmp_path / "UCCS-FROC-validation.json").read_text())["systems"]) == ["detections"]
    assert not (tmp_path / "UCCS-FROC-validation.pdf").exists()


def test_a_null_exclusion_list_excludes_nothing(demo: Path, tmp_path: Path) -> None:
    counted = {}
    for value in ("null", "{data_directory}/exclude_gallery_{which_set}.txt"):
        more = [
            "-t",
            "detection",
            "--eval.detection.files",
            str(demo / "detections.txt"),
            "--draws",
            "0",
            "--no-figure",
        ]
        assert evaluate(demo, tmp_path, *more, "--eval.exclude_gallery", value) == 0
        plain = json.loads((tmp_path / "UCCS-FROC-validation.json").read_text())
        counted[value] = plain["systems"]["mtcnn"]["counts"]["exclusion_list_length"]
    assert sorted(counted.values()) == [0, 5]


def test_the_pickled_list_of_the_first_release_is_found(demo: Path, tmp_path: Path) -> None:
    (tmp_path / "list.pickle").write_bytes(pickle.dumps([1, 2, 3]))
    more = ["-t", "detection", "--eval.detection.files", str(demo / "detections.txt"), "--draws", "0", "--no-figure"]
    assert evaluate(demo, tmp_path, *more, "--eval.exclude_gallery", str(tmp_path / "list.txt")) == 0
    plain = json.loads((tmp_path / "UCCS-FROC-validation.json").read_text())
    assert plain["systems"]["mtcnn"]["counts"]["exclusion_list_length"] == 3


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--eval.detection.files", "absent.txt"], "absent.txt does not exist"),
        (["--eval.iou", "0"], "eval.iou is 0"),
        (["--eval.iou", "1.5"], "eval.iou is 1.5"),
        (["--eval.recognition.rank", "0"], "whole number from 1 on"),
        (["--eval.exclude_gallery", "absent.txt"], "absent.txt does not exist"),
        (["--which_set", "test"], "test.csv does not exist"),
        (["--draws", "-5"], "--draws is -5"),
        (["--targets", "0"], "--targets is 0."),
        (["--targets", "0.1", "0.1"], "would count twice in the sum"),
        (["--eval.detection.froc", "x.gif"], "x.gif is none of them"),
    ],
)
def test_what_the_user_got_wrong_is_said_without_a_traceback(
    demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    assert evaluate(demo, tmp_path, "--eval.exclude_gallery", "null", *more) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_column_to_split_by_is_named(demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["-t", "detection", "--eval.detection.files", str(demo / "detections.txt")]
    assert evaluate(demo, tmp_path, *files, "--by", "colour") == 2
    assert "There is no attribute 'colour'" in capsys.readouterr().err


def test_a_curve_without_points_is_left_out_and_said(
    demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "none.txt").write_text("FILE,DETECTION_SCORE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT\n")
    more = ["-t", "detection", "--eval.detection.files", str(demo / "detections.txt"), str(tmp_path / "none.txt")]
    more += ["--eval.detection.labels", "some", "none", "--eval.detection.froc", str(tmp_path / "froc.svg")]
    assert evaluate(demo, tmp_path / "out", *more, "--draws", "0") == 0
    said = capsys.readouterr().out
    assert "note: the curve of none has no points and is not drawn." in said
    assert said.count("has no points") == 1
    drawn = (tmp_path / "froc.svg").read_text()
    assert ">some</text>" in drawn
    assert ">none</text>" not in drawn


def test_an_empty_curve_is_said_and_not_drawn(demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "none.txt").write_text("FILE,DETECTION_SCORE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT\n")
    more = ["-t", "detection", "--eval.detection.files", str(tmp_path / "none.txt"), "--draws", "10"]
    assert evaluate(demo, tmp_path / "out", *more) == 0
    assert "no curve has points" in capsys.readouterr().out
    assert not (tmp_path / "out" / "UCCS-FROC-validation.pdf").exists()
    assert (tmp_path / "out" / "UCCS-FROC-validation.json").exists()


@pytest.mark.parametrize(
    "text",
    [
        "a: &a {k: 1}\n" + "\n".join(f"b{n}: &b{n} {{x: *{'a' if n == 0 else f'b{n - 1}'}, y: *a}}" for n in range(40)),
        "x: " + "[" * 20_000,
        "x: " + "9" * 5000,
        "x: 2020-99-99",
        "a" + ".a" * 5000 + ": 1",
    ],
    ids=["aliases", "depth", "digits", "date", "sections"],
)
def test_a_configuration_that_would_expand_without_end_is_refused(tmp_path: Path, text: str) -> None:
    from evenhand.compat.uccs.config import UsageError, load_files

    (tmp_path / "bomb.yaml").write_text(text)
    with pytest.raises(UsageError, match=r"bomb\.yaml"):
        load_files([tmp_path / "bomb.yaml"])
