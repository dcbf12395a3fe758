"""What people hand in for verification sets: nothing is assumed about the order of lines, and mistakes are told."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.benchmarks.pairs import benchmark, codec
from evenhand.cli.main import main
from evenhand.core.errors import OptionError, PredictionError
from evenhand.run import evaluate

PAIRS = 60
EXCLUDE = {"missing": "exclude"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A .bin of sixty pairs, and embeddings of its pictures with their mirrored pass."""
    rng = np.random.default_rng(4)
    same = [bool(pair % 2) for pair in range(PAIRS)]
    centres = [(one, one if is_same else rng.normal(size=16)) for is_same in same for one in [rng.normal(size=16)]]
    faces = np.array([centre for both in centres for centre in both]) + rng.normal(size=(2 * PAIRS, 16)) * 0.6
    (tmp_path / "lfw.bin").write_bytes(pickle.dumps(([b"x"] * (2 * PAIRS), same)))
    for name in ("embeddings", "embeddings_flip"):
        np.save(tmp_path / f"{name}.npy", (faces + rng.normal(size=faces.shape) * 0.1).astype(np.float32))
    return tmp_path


def results_of(predictions: Path, data: Path, **options: Any) -> Any:
    return evaluate(benchmark.find("pairs/lfw"), predictions, data, options=options, draws=0).results


def accuracy(predictions: Path, data: Path, **options: Any) -> Any:
    return results_of(predictions, data, **options).get("ten-fold", "accuracy").value


def test_lines_of_pictures_may_stand_in_any_order(folder: Path) -> None:
    wanted = accuracy(folder, folder)
    lines = [f"{row},{row}\n" for row in np.random.default_rng(0).permutation(2 * PAIRS)]
    (folder / "pictures.csv").write_text("ROW,PICTURE\n" + "".join(lines))
    assert accuracy(folder, folder) == wanted


@pytest.mark.parametrize("header", ["row,picture", "Row,name", "name,Row"])
def test_columns_of_pictures_may_be_written_otherwise(folder: Path, header: str) -> None:
    wanted = accuracy(folder, folder)
    order = np.random.default_rng(1).permutation(2 * PAIRS)
    for name in ("embeddings", "embeddings_flip"):
        np.save(folder / f"{name}.npy", np.load(folder / f"{name}.npy")[order])
    both = [(row, picture) if header.startswith(("r", "R")) else (picture, row) for row, picture in enumerate(order)]
    lines = [f"{first},{second}\n" for first, second in reversed(both)]
    (folder / "pictures.csv").write_text(header + "\n" + "".join(lines))
    assert accuracy(folder, folder) == wanted


def test_a_line_is_counted_with_the_blank_ones_before_it(folder: Path) -> None:
    (folder / "mine.csv").write_text("score\n0.5\n\n" + "0.5\n" * 5 + "7\n" + "0.5\n" * (PAIRS - 7))
    with pytest.raises(PredictionError, match=r"mine\.csv, line 9: 7 lies outside"):
        results_of(folder / "mine.csv", folder)


def test_an_archive_without_its_mirrored_pass_is_told_which_entry_it_lacks(folder: Path) -> None:
    np.savez(folder / "mine.npz", embeddings=np.load(folder / "embeddings.npy"))
    with pytest.raises(PredictionError, match="Add an entry embeddings_flip"):
        results_of(folder / "mine.npz", folder)


def test_embeddings_without_rows_beside_names_are_refused_by_their_shape(folder: Path) -> None:
    np.save(folder / "embeddings.npy", np.float32(1))
    (folder / "pictures.csv").write_text("ROW,PICTURE\n0,0\n")
    with pytest.raises(PredictionError, match=r"shape \(\); numbers, \(pictures, dimensions\)"):
        results_of(folder, folder, flip="none")


@pytest.mark.parametrize(
    ("line", "message"),
    [("0,1", "picture '1' is named twice"), ("1,0", "every number from 0 to 119 once"), ("0,0\n120,120", "121 names")],
)
def test_pictures_that_are_named_twice_or_rows_that_are_not_there_are_refused(
    folder: Path, line: str, message: str
) -> None:
    lines = [line, *(f"{row},{row}" for row in range(1, 2 * PAIRS))]
    (folder / "pictures.csv").write_text("\n".join(["ROW,PICTURE", *lines]) + "\n")
    with pytest.raises(PredictionError, match=message):
        accuracy(folder, folder)


def test_two_passes_side_by_side_are_taken_apart_and_told(folder: Path) -> None:
    passes = [np.load(folder / f"{name}.npy") for name in ("embeddings", "embeddings_flip")]
    np.save(folder / "wide.npy", np.concatenate(passes, axis=1))
    results = results_of(folder / "wide.npy", folder)
    assert results.get("ten-fold", "accuracy").value == accuracy(folder, folder)
    assert any("32 columns of wide.npy were taken as 16 of a pass" in warning for warning in results.warnings)
    first = results_of(folder / "wide.npy", folder, flip="none")
    assert any("flip=sum takes them apart and adds them" in warning for warning in first.warnings)
    with pytest.raises(PredictionError, match=r"Add wide_flip\.npy"):
        accuracy(folder / "wide.npy", folder, halves="keep")


def test_archives_of_public_scripts_and_whole_numbers_are_read(folder: Path) -> None:
    vectors, flipped = (np.load(folder / f"{name}.npy") for name in ("embeddings", "embeddings_flip"))
    np.savez(folder / "archive.npz", embs=vectors, embs_f=flipped)
    assert accuracy(folder / "archive.npz", folder) == accuracy(folder, folder)
    np.save(folder / "whole.npy", np.rint(vectors * 1000).astype(np.int32))
    np.save(folder / "same.npy", np.rint(vectors * 1000).astype(np.float32))
    assert accuracy(folder / "whole.npy", folder, flip="none") == accuracy(folder / "same.npy", folder, flip="none")


def test_rows_in_another_order_are_told_with_the_file_that_would_name_them(folder: Path) -> None:
    order = np.random.default_rng(1).permutation(2 * PAIRS)
    np.save(folder / "shuffled.npy", np.load(folder / "embeddings.npy")[order])
    warnings = results_of(folder / "shuffled.npy", folder, flip="none").warnings
    assert any("another order" in warning and "pictures.csv" in warning for warning in warnings)


def test_scores_that_say_the_opposite_are_told(folder: Path) -> None:
    unit = np.load(folder / "embeddings.npy")
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    cosine = np.sum(unit[::2] * unit[1::2], axis=1)
    np.save(folder / "scores.npy", cosine)
    np.save(folder / "opposite.npy", -cosine)
    np.save(folder / "shuffled.npy", np.random.default_rng(2).permutation(cosine))
    np.save(folder / "positive.npy", 1 + cosine)
    told = [" ".join(results_of(folder / f"{name}.npy", folder).warnings) for name in ("scores", "opposite")]
    assert ["set scores=distance" in warnings for warnings in told] == [False, True]
    assert "set scores=cosine" in " ".join(results_of(folder / "positive.npy", folder, scores="distance").warnings)
    assert "another order than the comparisons" in " ".join(results_of(folder / "shuffled.npy", folder).warnings)


def test_a_wrong_score_is_named_by_its_line_in_a_table_and_by_its_entry_in_an_array(folder: Path) -> None:
    scores = np.zeros(PAIRS)
    scores[5] = 3.0
    np.save(folder / "scores.npy", scores)
    (folder / "scores.csv").write_text("\n".join(["score", *map(str, scores)]) + "\n")
    with pytest.raises(PredictionError, match=r"scores\.npy, entry 5: 3 lies outside"):
        accuracy(folder / "scores.npy", folder)
    with pytest.raises(PredictionError, match=r"scores\.csv, line 7: 3 lies outside"):
        accuracy(folder / "scores.csv", folder)
    np.savez(folder / "table.npz", scores=np.zeros((PAIRS // 2, 2)))
    with pytest.raises(PredictionError, match="one number per pair"):
        accuracy(folder / "table.npz", folder)


@pytest.mark.parametrize(
    ("option", "words"), [("folds=61", "has 60 pairs"), ("folds=1", "2 or more"), ("far=0.1,0.10", "twice")]
)
def test_options_out_of_range_are_usage_errors(
    folder: Path, capsys: pytest.CaptureFixture[str], option: str, words: str
) -> None:
    assert main(["evaluate", "pairs/lfw", str(folder), "--data", str(folder), "--set", option]) == 2
    assert words in capsys.readouterr().err
    with pytest.raises(OptionError):
        accuracy(folder, folder, **dict([option.split("=")]))


def test_papers_have_a_table_with_two_decimals_and_the_deviation_over_folds(folder: Path) -> None:
    runs = folder / "runs"
    for name in ("one", "other"):
        arguments = [f"{name}={folder}", "--data", str(folder), "--runs", str(runs), "--draws", "0"]
        assert main(["evaluate", "pairs/lfw", *arguments, "--set", "flip=" + ("sum" if name == "one" else "none")]) == 0
    folders = sorted(map(str, runs.glob("pairs/lfw/*/*")))
    assert main(["report", *folders, "--format", "latex", "--output", str(folder / "table.tex")]) == 0
    latex = (folder / "table.tex").read_text()
    table = latex[latex.index("over folds on LFW") :]
    assert r"Model & All pairs & Std \\" in table
    folds = results_of(folder, folder).facts["folds"][0]["accuracy"]
    assert f"{100 * np.mean(folds):.2f}" in table
    assert f"{100 * np.std(folds):.2f}" in table


def test_pairs_without_a_score_are_counted_in_a_warning_that_says_how_they_are_judged(folder: Path) -> None:
    scores = np.random.default_rng(3).uniform(-1, 1, PAIRS)
    lines = ["score", *map(str, scores)]
    lines[4] = ""
    (folder / "scores.csv").write_text("\n".join(["pair,score", *(f"{n},{v}" for n, v in enumerate(lines[1:]))]) + "\n")
    told = [
        " ".join(results_of(folder / "scores.csv", folder, column="score", **more).warnings) for more in ({}, EXCLUDE)
    ]
    assert "1 of 60 pairs have no score and are judged wrong; missing=exclude leaves them out." in told[0]
    assert "1 of 60 pairs have no score and are left out of all rates." in told[1]
    with pytest.raises(PredictionError, match=r"has no column 'cosine': it has pair, score"):
        results_of(folder / "scores.csv", folder, column="cosine")


def test_a_mirrored_pass_in_another_order_is_told(folder: Path) -> None:
    assert not any("mirrored" in warning for warning in results_of(folder, folder, flip="sum").warnings)
    flipped = np.load(folder / "embeddings_flip.npy")
    np.save(folder / "embeddings_flip.npy", np.random.default_rng(5).permutation(flipped))
    warnings = results_of(folder, folder, flip="sum").warnings
    assert any("The mirrored pass seems to be in another order" in warning for warning in warnings)


@pytest.fixture
def named(folder: Path) -> tuple[Path, list[list[str]]]:
    """A table of the same pairs, and its lines with names and scores."""
    vectors = np.load(folder / "embeddings.npy")
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = np.sum(vectors[::2] * vectors[1::2], axis=1).astype(np.float64)
    lines = [[f"{pair}a.jpg", f"{pair}b.jpg", str(pair % 2), f"{scores[pair]:.9f}"] for pair in range(PAIRS)]
    (folder / "set.csv").write_text("p1,p2,label\n" + "".join(",".join(line[:3]) + "\n" for line in lines))
    np.save(folder / "ordered.npy", np.array([float(line[3]) for line in lines]))
    return folder / "set.csv", lines


def custom(predictions: Path, data: Path, **options: Any) -> Any:
    options = {"flip": "none", **options}
    return evaluate(benchmark.find("pairs/custom"), predictions, data, options=options, draws=0).results


def test_scores_are_found_by_their_pictures_in_whatever_order_lines_and_sides_stand(
    folder: Path, named: tuple[Path, list[list[str]]]
) -> None:
    data, lines = named
    wanted = custom(folder / "ordered.npy", data).get("verification", "TAR@FAR=0.1").value
    order = np.random.default_rng(6).permutation(PAIRS)
    mixed = [[*(lines[pair][:2] if pair % 2 else lines[pair][1::-1]), lines[pair][3]] for pair in order]
    (folder / "mine.csv").write_text("p1,p2,score\n" + "".join(",".join(line) + "\n" for line in mixed))
    results = custom(folder / "mine.csv", data)
    assert results.get("verification", "TAR@FAR=0.1").value == wanted
    assert not any("order" in warning for warning in results.warnings)
    (folder / "mine.csv").write_text("pair,score\n" + "".join(f"{pair},{lines[pair][3]}\n" for pair in order))
    assert custom(folder / "mine.csv", data).get("verification", "TAR@FAR=0.1").value == wanted


def test_scores_of_other_pairs_are_not_taken_for_those_of_the_set(
    folder: Path, named: tuple[Path, list[list[str]]]
) -> None:
    data, lines = named

    def write(*some: list[str], header: str = "p1,p2,label,score") -> Path:
        (folder / "mine.csv").write_text("\n".join([header, *(",".join(line) for line in some)]) + "\n")
        return folder / "mine.csv"

    results = custom(write(*lines[1:], ["x.jpg", "y.jpg", "1", "0.5"]), data)
    assert results.coverage.missing == 1
    assert any("1 of 60 lines are of pairs that the set does not have" in warning for warning in results.warnings)
    with pytest.raises(PredictionError, match=r"no line names a pair of the set: the first is 'x\.jpg'"):
        custom(write(["x.jpg", "y.jpg", "1", "0.5"]), data)
    with pytest.raises(PredictionError, match=r"lines 2 and 62: one pair, .*, has two scores"):
        custom(write(*lines, [*lines[0][:3], "0.77"]), data)
    with pytest.raises(PredictionError, match=r"line 2, column label: 1, but pair 0 .* shows two people"):
        custom(write(*([line[2], line[3]] for line in (lines[1], lines[0], *lines[2:])), header="label,score"), data)
    with pytest.raises(PredictionError, match="column pair: '60' is no pair of the set"):
        custom(write(["60", "0.5"], header="pair,score"), data)
    with pytest.raises(PredictionError, match="Columns p1 and p2 would say which"):
        custom(write(["0.5"], header="score"), data)


def test_names_beside_a_file_of_embeddings_are_read_with_it(folder: Path) -> None:
    wanted = accuracy(folder, folder, flip="none")
    order = np.random.default_rng(7).permutation(2 * PAIRS)
    mixed = np.load(folder / "embeddings.npy")[order]
    below = folder / "mixed"
    below.mkdir()
    np.save(below / "mine.npy", mixed)
    np.savez(below / "mine.npz", embeddings=mixed)
    np.savez(folder / "named.npz", embeddings=mixed, pictures=order.astype(str))
    (below / "pictures.csv").write_text("ROW,PICTURE\n" + "".join(f"{row},{who}\n" for row, who in enumerate(order)))
    for path in (below / "mine.npy", below / "mine.npz", folder / "named.npz"):
        assert accuracy(path, folder, flip="none") == wanted


def test_embeddings_of_pictures_that_the_set_does_not_have_are_counted(folder: Path) -> None:
    names = [str(row) for row in range(2 * PAIRS)]
    (folder / "pictures.csv").write_text("PICTURE\n" + "\n".join(["other", *names[1:]]) + "\n")
    warnings = results_of(folder, folder).warnings
    assert any("1 of 120 embeddings are of pictures that the set does not have, such as 'other'" in w for w in warnings)


def test_columns_of_pictures_that_say_nothing_of_rows_are_refused(folder: Path) -> None:
    lines = [f"{row},{row}\n" for row in reversed(range(2 * PAIRS))]
    (folder / "pictures.csv").write_text("index,file\n" + "".join(lines))
    with pytest.raises(PredictionError, match="its columns are index, file; ROW and PICTURE"):
        accuracy(folder, folder)


def test_pictures_named_pair_by_pair_may_occur_in_several_pairs(folder: Path) -> None:
    lines = [f"{pair % 7}.jpg,{pair}b.jpg,{pair % 2}\n" for pair in range(PAIRS)]
    (folder / "set.csv").write_text("p1,p2,label\n" + "".join(lines))
    wanted = custom(folder / "embeddings.npy", folder / "set.csv").get("ten-fold", "accuracy").value
    names = [name for line in lines for name in line.split(",")[:2]]
    (folder / "pictures.csv").write_text("PICTURE\n" + "\n".join(names) + "\n")
    assert custom(folder / "embeddings.npy", folder / "set.csv").get("ten-fold", "accuracy").value == wanted


def test_what_lies_beside_the_embeddings_and_is_not_evaluated_is_told(folder: Path) -> None:
    np.save(folder / "scores.npy", np.zeros(PAIRS))
    warnings = results_of(folder, folder).warnings
    assert any("embeddings.npy is evaluated, scores.npy beside it is not" in warning for warning in warnings)


def test_a_column_of_scores_is_scores_and_a_table_without_a_header_is_told(folder: Path) -> None:
    scores = np.random.default_rng(8).uniform(-1, 1, PAIRS)
    np.save(folder / "flat.npy", scores)
    np.save(folder / "column.npy", scores[:, np.newaxis])
    assert accuracy(folder / "column.npy", folder) == accuracy(folder / "flat.npy", folder)
    (folder / "scores.csv").write_text("\n".join(map(str, scores)) + "\n")
    with pytest.raises(PredictionError, match=r"line 1: .* is a score, but the name of the column was expected"):
        accuracy(folder / "scores.csv", folder)


@pytest.mark.parametrize("power", [100, -100, -165, -300])
def test_a_scale_of_all_embeddings_changes_no_distance(folder: Path, power: int) -> None:
    """Squares of values below 1e-154 are zero in double precision: such rows would be taken for zero vectors."""
    vectors = np.load(folder / "embeddings.npy").astype(np.float64)
    wanted = accuracy(folder, folder, flip="none")
    np.save(folder / "scaled.npy", vectors * 10.0**power)
    assert accuracy(folder / "scaled.npy", folder, flip="none") == wanted


def test_lengths_beyond_the_largest_square_are_finite() -> None:
    unit = codec._unit(np.array([[3e200, 4e200], [0.0, 0.0], [3.0, 4.0]]), None, Path("a.npy"))
    assert unit[0] == pytest.approx([0.6, 0.8], abs=1e-15)
    assert unit[1:].tolist() == [[0.0, 0.0], [0.6, 0.8]]


def test_pictures_that_no_pair_uses_are_no_reason_for_a_warning(folder: Path) -> None:
    wanted = accuracy(folder, folder)
    for name in ("embeddings", "embeddings_flip"):
        vectors = np.load(folder / f"{name}.npy")
        np.save(folder / f"{name}.npy", np.concatenate([vectors, vectors[:9]]))
    names = [*map(str, range(2 * PAIRS)), *(f"surplus {number}" for number in range(9))]
    (folder / "pictures.csv").write_text("PICTURE\n" + "\n".join(names) + "\n")
    results = results_of(folder, folder)
    assert results.get("ten-fold", "accuracy").value == wanted
    assert not any("does not have" in warning for warning in results.warnings)
    assert results.facts["unused_embeddings"] == 9


def test_lines_of_other_pairs_are_no_reason_for_a_warning_where_every_pair_has_its_own(
    folder: Path, named: tuple[Path, list[list[str]]]
) -> None:
    data, lines = named
    surplus = [["x.jpg", "y.jpg", "1", "0.5"], *lines[::-1], [lines[0][0], lines[1][0], "0", "0.1"]]
    (folder / "mine.csv").write_text("p1,p2,label,score\n" + "".join(",".join(line) + "\n" for line in surplus))
    results = custom(folder / "mine.csv", data)
    assert results.coverage.missing == 0
    assert not any("does not have" in warning for warning in results.warnings)
    wanted = custom(folder / "ordered.npy", data).get("ten-fold", "accuracy").value
    assert results.get("ten-fold", "accuracy").value == wanted


@pytest.mark.parametrize("kind", ["npy", "npz"])
def test_names_of_other_embeddings_in_the_folder_do_not_concern_a_file_with_two_rows_per_pair(
    folder: Path, kind: str
) -> None:
    """What predict wrote lies beside an array in the order of the pairs, of a set whose pictures are used again."""
    wanted = accuracy(folder, folder, flip="none")
    vectors = np.load(folder / "embeddings.npy")
    np.save(folder / "mine.npy", vectors)
    np.savez(folder / "mine.npz", embeddings=vectors)
    (folder / "pictures.csv").write_text("ROW,PICTURE\n" + "".join(f"{row},{row}\n" for row in range(90)))
    results = results_of(folder / f"mine.{kind}", folder, flip="none")
    assert results.get("ten-fold", "accuracy").value == wanted
    note = f"has 90 names and is not used: the 120 rows of mine.{kind} are read as two per pair"
    assert sum(note in warning for warning in results.warnings) == 1
    for strict in (folder, folder / "embeddings.npy"):
        with pytest.raises(PredictionError, match="90 names, but 120 rows"):
            results_of(strict, folder, flip="none")
    np.save(folder / "mine.npy", vectors[:-1])
    with pytest.raises(PredictionError, match="90 names, but 119 rows"):
        results_of(folder / "mine.npy", folder, flip="none")


def test_a_column_of_pictures_may_have_others_beside_it(folder: Path) -> None:
    wanted = accuracy(folder, folder)
    lines = [f"{row},person {row // 2}\n" for row in range(2 * PAIRS)]
    (folder / "pictures.csv").write_text("PICTURE,PERSON\n" + "".join(lines))
    results = results_of(folder, folder)
    assert results.get("ten-fold", "accuracy").value == wanted
    assert not any("pictures.csv" in warning for warning in results.warnings)


def numbered(folder: Path, lines: list[list[str]], names: list[str]) -> Path:
    """Scores with a column called pair."""
    cells = [f"{name},{line[3]}\n" for name, line in zip(names, lines, strict=False)]
    (folder / "mine.csv").write_text("pair,score\n" + "".join(cells))
    return folder / "mine.csv"


def test_pairs_may_be_numbered_from_one_or_named(folder: Path, named: tuple[Path, list[list[str]]]) -> None:
    data, lines = named
    wanted = custom(folder / "ordered.npy", data).get("verification", "TAR@FAR=0.1").value

    def read(names: list[str], some: list[list[str]]) -> Any:
        return custom(numbered(folder, some, names), data)

    from_one = read([str(pair + 1) for pair in reversed(range(PAIRS))], lines[::-1])
    assert from_one.get("verification", "TAR@FAR=0.1").value == wanted
    assert any("pairs are taken as numbered from 1" in warning for warning in from_one.warnings)
    for names in ([f"{line[0]}-{line[1]}" for line in lines], [str(pair) for pair in range(PAIRS)]):
        results = read(names, lines)
        assert results.get("verification", "TAR@FAR=0.1").value == wanted
        assert not any("numbered" in warning for warning in results.warnings)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([str(pair) for pair in range(2, PAIRS + 2)], "line 60, column pair: '60' is no pair of the set"),
        (["1", *map(str, range(1, PAIRS))], "line 3, column pair: '1' is named twice, first in line 2"),
        (["0", *(f"name {pair}" for pair in range(1, PAIRS))], "line 3, column pair: 'name 1' is no pair of the set"),
        (["name", "other name"], "has 2 scores, but the set has 60 pairs"),
    ],
)
def test_numbers_of_pairs_that_do_not_fit_are_refused(
    folder: Path, named: tuple[Path, list[list[str]]], names: list[str], message: str
) -> None:
    data, lines = named
    with pytest.raises(PredictionError, match=message):
        custom(numbered(folder, lines, names), data)


@pytest.mark.parametrize("header", ["p1,p2,score", "pair,score", "score", "label,score"])
def test_a_table_of_scores_without_lines_is_told(
    folder: Path, named: tuple[Path, list[list[str]]], header: str
) -> None:
    (folder / "mine.csv").write_text(header + "\n")
    with pytest.raises(PredictionError, match=r"mine\.csv has a header but no rows"):
        custom(folder / "mine.csv", named[0])
