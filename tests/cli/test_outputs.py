"""Outputs are whole, in the user's words when that fails, and never over what they are made from."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from saying import Command

import evenhand as eh


@pytest.fixture
def command(evenhand: Command) -> Command:
    return evenhand


@pytest.fixture(scope="module")
def stored(demos_of: Callable[[str], Sequence[eh.Demo]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outputs")
    made = demos_of("fairface")[0]
    run = eh.evaluate(made.task, made.predictions, data=made.data, runs=folder / "runs", draws=0, permutations=0)
    assert run.folder is not None
    return run.folder


def commands(run: Path, output: Path) -> dict[str, list[object]]:
    return {
        "report": ["report", run, "-o", output],
        "report csv": ["report", run, "--format", "csv", "-o", output],
        "rows": ["rows", run, "--format", "csv", "-o", output],
        "diff": ["diff", run, run, "--page", output],
    }


VERBS = tuple(commands(Path(), Path()))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("part", ["results.json", "run.json", "records/recorded.json"])
def test_no_verb_writes_over_a_part_of_the_run(stored: Path, command: Command, verb: str, part: str):
    before = (stored / part).read_bytes()
    said = command(*commands(stored, stored / part)[verb])
    assert said.code == 2
    assert "would overwrite it" in said.err
    assert (stored / part).read_bytes() == before


@pytest.mark.parametrize("verb", VERBS)
def test_a_target_that_cannot_be_written_is_told_in_words(stored: Path, command: Command, verb: str, tmp_path: Path):
    (tmp_path / "file").write_text("x")
    for target in (tmp_path, tmp_path / "file" / "below", Path("/proc/nowhere/out")):
        said = command(*commands(stored, target)[verb])
        assert said.code == 3, said.err
        assert "can't be written" in said.err
        assert "internal error" not in said.err


WRITING = (
    *("report", "report csv", "rows", "diff", "compare", "gate", "evaluate", "predict"),
    *("ijb to_lists", "ijb to_official", "ijb cluster", "weights"),
)


@pytest.fixture(scope="module")
def files(demos_of: Callable[[str], Sequence[eh.Demo]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that the commands below read: data and answers of two families, two runs, requirements, settings, a model."""
    folder = tmp_path_factory.mktemp("inputs")
    answers = eh.demo("fairface", folder / "faces")[0]
    shutil.copytree(demos_of("ijb")[0].data, folder / "ijb")
    for model in ("a", "b"):
        eh.evaluate(
            answers.task, answers.predictions, data=answers.data, runs=folder / model, draws=0, permutations=0, depth=1
        )
    (folder / "gate.toml").write_text('[[require]]\nmetric = "gender"\noutput = "accuracy"\nat_least = 0.1\n')
    (folder / "settings.toml").write_text("draws = 0\npermutations = 0\n")
    (folder / "model.py").write_text("class Model:\n    def predict(self, samples):\n        yield from ()\n")
    return folder


def lines(folder: Path) -> dict[str, list[object]]:
    """Every command that writes where it is told, without its output; IJB's are those of its own tool."""
    run, other = (next(path.parent for path in (folder / name).rglob("run.json")) for name in "ab")
    faces, ijb = folder / "faces", folder / "ijb"
    task = ["fairface/gender", faces / "answers.jsonl", "--data", faces, "--settings", folder / "settings.toml"]
    return {
        "report": ["report", run, other, "-o"],
        "report csv": ["report", run, "--format", "csv", "-o"],
        "rows": ["rows", run, "--format", "csv", "-o"],
        "diff": ["diff", run, other, "--page"],
        "compare": ["compare", run, other, "--page"],
        "gate": ["gate", run, "--require", folder / "gate.toml", "--junit"],
        "evaluate": ["evaluate", *task, "--runs"],
        "predict": ["predict", "fairface/gender", "--model", f"{folder / 'model.py'}:Model", "--data", faces, "--runs"],
        "ijb to_lists": ["ijb", "to_lists", ijb],
        "ijb to_official": ["ijb", "to_official", ijb],
        "ijb cluster": ["ijb", "cluster", ijb, "--data", ijb, "--output"],
        "weights": ["weights", "get", "yunet", "--to"],
    }


def read_by(line: list[object], folder: Path, *, every_folder: bool) -> list[Path]:
    """What a command reads: of all that its arguments name, one file of each ending, or one such in each folder."""
    named = [Path(str(part).removesuffix(":Model")) for part in line if str(part).startswith(str(folder))]
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    read = [path for path in files if not named or any(path == given or given in path.parents for given in named)]
    return list({(path.parent if every_folder else None, path.suffix): path for path in read}.values())


@pytest.mark.parametrize("every_folder", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", WRITING)
def test_no_pair_of_an_input_and_an_output_changes_the_input(
    files: Path, command: Command, name: str, every_folder: bool, tmp_path: Path
):
    line = lines(files)[name]
    inputs = read_by(line, files, every_folder=every_folder)
    before = {path: path.read_bytes() for path in inputs}
    assert before
    for path in inputs:
        link = tmp_path / f"link{path.suffix}"
        link.unlink(missing_ok=True)
        link.symlink_to(path)
        for output in (path, link):
            done = command(*line, output)
            assert done.code in (2, 3), (output, done.out, done.err)
            changed = [str(one) for one in before if one.read_bytes() != before[one]]
            assert not changed, f"{line} {output}"


def test_results_that_were_edited_are_shown_as_edited(stored: Path, command: Command, tmp_path: Path):
    path = stored / "results.json"
    before = path.read_bytes()
    try:
        path.write_bytes(before.replace(b'"value":0.8', b'"value":0.9', 1))
        assert any("was changed after" in warning for warning in eh.load(stored).results.warnings)
        command("report", stored, "-o", tmp_path / "report.html")
        assert "was changed after the run was written" in (tmp_path / "report.html").read_text(encoding="utf-8")
    finally:
        path.write_bytes(before)
    assert not any("was changed after" in warning for warning in eh.load(stored).results.warnings)
