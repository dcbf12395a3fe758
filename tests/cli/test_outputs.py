"""Outputs are whole, in the user's words when that fails, and never over what they are made from."""

from pathlib import Path

import pytest
from saying import Command

import evenhand as eh


@pytest.fixture
def command(evenhand: Command) -> Command:
    return evenhand


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outputs")
    made = next(iter(eh.demo("fairface", folder / "data")))
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
