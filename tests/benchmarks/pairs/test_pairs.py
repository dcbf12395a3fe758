"""Verification sets end to end, by command and by function."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from evenhand.benchmarks.pairs import benchmark, record, tasks
from evenhand.benchmarks.pairs.data import RACES, _samples, folds_of, load_set, read_bin
from evenhand.benchmarks.pairs.options import PairSetOptions
from evenhand.benchmarks.pairs.record import record_pairs
from evenhand.benchmarks.pairs.tasks import folds_section
from evenhand.cli.main import main
from evenhand.core.errors import DataError, OptionError, PredictionError
from evenhand.core.records import Group
from evenhand.core.task import Tools
from evenhand.run import evaluate

MODEL = """
import cv2

class Model:
    name = "pixels"

    def predict(self, samples):
        for sample in samples:
            picture = cv2.imread(str(sample.media[0]))
            if picture is None:
                continue
            picture = picture[:, ::-1] if sample.given["mirror"] else picture
            yield sample.id, picture[::30, ::30].astype("float32").reshape(-1) - 128
"""


def picture(person: int, rng: np.random.Generator) -> bytes:
    base = np.random.default_rng(person).integers(0, 256, (4, 4, 3))
    noisy = np.clip(base + rng.normal(size=(4, 4, 3)) * 2, 0, 255).astype(np.uint8)
    return bytes(cv2.imencode(".png", cv2.resize(noisy, (112, 112), interpolation=cv2.INTER_NEAREST))[1])


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A .bin of forty pairs whose pictures tell people apart."""
    rng = np.random.default_rng(0)
    same = [bool(pair % 2) for pair in range(40)]
    people = [(pair, pair if is_same else pair + 100) for pair, is_same in enumerate(same)]
    pictures = [picture(person, rng) for both in people for person in both]
    (tmp_path / "lfw.bin").write_bytes(pickle.dumps((pictures, same)))
    return tmp_path


def run(task: str, predictions: Path, data: Path, by: tuple[str, ...] = (), draws: int = 0, **options: Any) -> Any:
    return evaluate(benchmark.find(task), predictions, data, options=options, by=by, draws=draws).results


def test_folds_are_contiguous_and_the_first_ones_take_what_is_left_over() -> None:
    assert np.bincount(folds_of(23, 10)).tolist() == [3, 3, 3, 2, 2, 2, 2, 2, 2, 2]


def test_a_bin_is_asked_of_a_model_and_evaluated_by_command(made: Path, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    runs = ["--runs", str(tmp_path / "runs")]
    model = f"{tmp_path / 'model.py'}:Model"
    assert main(["predict", "pairs/lfw", "--model", model, "--data", str(made), *runs]) == 0
    (submission,) = (tmp_path / "runs").glob("pairs/lfw/*/*/predictions/submission")
    assert np.load(submission / "embeddings.npy").shape == np.load(submission / "embeddings_flip.npy").shape == (80, 48)
    code = main(["evaluate", "pairs/lfw", str(submission), "--data", str(made), "--draws", "0", *runs])
    assert code == 0
    assert run("pairs/lfw", submission, made).get("ten-fold", "accuracy").value == 1.0


@pytest.mark.parametrize("old", [False, True])
def test_pictures_may_be_bytes_texts_of_python_2_or_arrays(made: Path, tmp_path: Path, old: bool) -> None:
    pictures, same, _ = read_bin(made / "lfw.bin")
    kept = [np.frombuffer(one, np.uint8) for one in pictures] if old else [one.decode("latin-1") for one in pictures]
    columns = [np.frombuffer(one, np.uint8)[:, None] for one in pictures]  # as OpenCV encodes
    for written, labels in ((kept, [np.bool_(value) for value in same]), (columns, same[:, None].astype(np.int64))):
        (tmp_path / "other.bin").write_bytes(pickle.dumps([written, labels], protocol=2))
        again = read_bin(tmp_path / "other.bin")
        assert again[0] == pictures
        assert again[1].tolist() == same.tolist()


class Hostile:
    def __reduce__(self) -> Any:
        return os.system, ("touch hostile",)


def test_a_hostile_bin_is_refused_and_nothing_of_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lfw.bin").write_bytes(pickle.dumps(([b"x"] * 40, [True] * 19 + [Hostile()])))
    np.save(tmp_path / "embeddings.npy", np.ones((40, 4), dtype=np.float32))
    assert main(["evaluate", "pairs/lfw", "embeddings.npy", "--data", ".", "--set", "flip=none"]) != 0
    assert "system" in capsys.readouterr().err
    assert not (tmp_path / "hostile").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (([b"x"] * 41, [True] * 20), "odd number"),
        (([b"x"] * 40, [True] * 19), "half as many"),
        (([b"x"] * 8, [True] * 4), "at least ten"),
        (([1.5] * 40, [True] * 20), "picture 0 is float"),
        ((["漢"] * 40, [True] * 20), "picture 0 is str"),
        (([np.zeros((4, 4, 3), np.uint8)] * 40, [True] * 20), "an array of uint8 with shape"),
        (([b"x"] * 40, [True] * 19 + [2]), "label 19 is 2"),
        ({"pictures": []}, "no list of pictures"),
    ],
)
def test_a_bin_that_is_no_set_is_refused_with_the_reason(tmp_path: Path, content: Any, message: str) -> None:
    (tmp_path / "lfw.bin").write_bytes(pickle.dumps(content))
    with pytest.raises(DataError, match=message):
        benchmark.find("pairs/lfw").load(tmp_path, benchmark.find("pairs/lfw").options())


def test_undecodable_pictures_are_named_and_their_pairs_are_wrong(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pictures, same, _ = read_bin(made / "lfw.bin")
    pictures[3] = b"no picture"
    (made / "lfw.bin").write_bytes(pickle.dumps((pictures, same.tolist())))
    assert main(["check", "pairs/lfw", "--data", str(made)]) == 0
    assert "1 picture can't be decoded: 3" in " ".join(capsys.readouterr().out.split())
    submission = tmp_path / "submission"
    submission.mkdir()
    shown = [cv2.imdecode(np.frombuffer(one, np.uint8), 1) for one in pictures]
    vectors = np.array([np.zeros(48) if one is None else one[::30, ::30].reshape(-1) for one in shown], np.float32)
    kept = [row for row in range(80) if row != 3]
    np.save(submission / "embeddings.npy", vectors[kept] - 128)
    (submission / "pictures.csv").write_text("ROW,PICTURE\n" + "".join(f"{at},{row}\n" for at, row in enumerate(kept)))
    results = run("pairs/lfw", submission, made, flip="none")
    assert results.get("ten-fold", "accuracy").value == 1 - 1 / 40
    assert results.coverage.missing == 1
    excluded = run("pairs/lfw", submission, made, flip="none", missing="exclude")
    assert excluded.get("ten-fold", "accuracy").value == 1.0


def test_lfw_names_people_and_pictures(tmp_path: Path) -> None:
    lines = ["2\t5"]
    for fold in range(2):
        lines += [f"Same_{fold}{pair}\t1\t{pair + 2}" for pair in range(5)]
        lines += [f"One_{pair}\t1\tOther_{fold}\t12" for pair in range(5)]
    (tmp_path / "pairs.txt").write_text("\n".join(lines) + "\n")
    truth = benchmark.find("pairs/lfw").load(tmp_path, benchmark.find("pairs/lfw").options()).truth
    assert truth.same.tolist() == ([True] * 5 + [False] * 5) * 2
    assert truth.pictures[truth.second[5]] == "Other_0/Other_0_0012.jpg"
    assert (truth.people[0] == truth.people[1]).tolist() == truth.same.tolist()
    (tmp_path / "pairs.txt").write_text("2 5\nA 1 A 2\n")
    with pytest.raises(DataError, match="line 2"):
        benchmark.find("pairs/lfw").load(tmp_path, benchmark.find("pairs/lfw").options())


def test_rfw_is_judged_at_thresholds_of_each_race_and_at_one_for_all(tmp_path: Path) -> None:
    """Distances of one race are all larger: its own thresholds hide it, the shared one does not."""
    distance = []
    for race in RACES:
        folder = tmp_path / "data" / race
        folder.mkdir(parents=True)
        lines = ["10 2"]
        for fold in range(10):
            lines += [f"a{fold} 1 2", f"b{fold} 1 2", f"a{fold} 1 b{fold} 1", f"c{fold} 1 d{fold} 1"]
            shift = 1.0 if race == "Indian" else 0.0
            distance += [0.5 + shift, 0.6 + shift, 1.2 + shift, 1.3 + shift]
        (folder / f"{race}_pairs.txt").write_text("\n".join(lines) + "\n")
    np.save(tmp_path / "scores.npy", np.array(distance))
    results = run("pairs/rfw", tmp_path / "scores.npy", tmp_path / "data", by=("race",), scores="distance", draws=20)
    indian = Group.of(race="Indian")
    assert results.get("ten-fold", "accuracy", indian).value == 1.0
    assert results.get("ten-fold", "accuracy at one threshold", indian).value == 0.5
    assert results.get("ten-fold", "accuracy at one threshold", Group.of(race="Asian")).value == 1.0
    assert results.get("ten-fold", "accuracy at one threshold").low is not None
    section = folds_section(results)
    assert section is not None
    beside = next(
        block for block in section.blocks if getattr(block, "columns", ())[1:2] == ("own thresholds, as published",)
    )
    assert [(row[0], row[1].value, row[2].value) for row in beside.rows][3] == ("race Indian", 1.0, 0.5)


def test_bfw_has_groups_people_and_scores_of_models_as_columns(tmp_path: Path) -> None:
    lines = ["fold,p1,p2,label,id1,id2,att1,att2,vgg16"]
    for pair in range(40):
        same, group = pair % 2, ("asian_females", "white_males")[pair % 4 > 1]
        other = group if pair % 8 < 6 or same else "asian_females"
        who = (f"n{pair}", f"n{pair if same else pair + 100}")
        pictures = f"{group}/{pair}.jpg,{other}/{pair}b.jpg"
        score = 0.7 if same else 0.1
        lines.append(f"{pair % 5 + 1},{pictures},{same},{who[0]},{who[1]},{group},{other},{score}")
    (tmp_path / "bfw-v0.1.5-datatable.csv").write_text("\n".join(lines) + "\n")
    table = tmp_path / "bfw-v0.1.5-datatable.csv"
    results = run("pairs/bfw", table, tmp_path, by=("race", "gender"), column="vgg16", draws=20)
    assert results.get("ten-fold", "accuracy").value == 1.0
    assert results.get("pairs", "impostor", Group.of(race="cross-group")).value == 5
    assert results.get("verification", "FNMR@overall FAR=0.1", Group.of(gender="female")).value == 0.0
    for output in ("accuracy", "accuracy at one threshold"):  # pairs across groups are all of two people
        assert isinstance(results.get("ten-fold", output, Group.of(race="asian")).value, float)
        assert "one kind only" in str(results.get("ten-fold", output, Group.of(race="cross-group")).value)
    assert not any("cross-group" in entry["group"] for entry in results.facts["folds"])
    with pytest.raises(PredictionError, match="column=NAME"):
        run("pairs/bfw", table, tmp_path)


def test_arrays_of_another_length_and_unfinished_numbers_are_refused(made: Path) -> None:
    np.save(made / "short.npy", np.ones((79, 4), dtype=np.float32))
    with pytest.raises(PredictionError, match="two rows per pair"):
        run("pairs/lfw", made / "short.npy", made, flip="none")
    wrong = np.ones((80, 4), dtype=np.float32)
    wrong[7, 1] = np.nan
    np.save(made / "wrong.npy", wrong)
    with pytest.raises(PredictionError, match="row 7"):
        run("pairs/lfw", made / "wrong.npy", made, flip="none")
    with pytest.raises(PredictionError, match="flip=none"):
        run("pairs/lfw", made / "wrong.npy", made)
    with pytest.raises(OptionError, match="far"):
        run("pairs/lfw", made / "wrong.npy", made, far="2")


def test_one_kind_of_pair_has_an_accuracy_but_no_rate(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("p1,p2,label\n" + "".join(f"{row},{row}b,1\n" for row in range(20)))
    np.save(tmp_path / "scores.npy", np.full(20, 0.9))
    results = run("pairs/custom", tmp_path / "scores.npy", tmp_path / "pairs.csv")
    assert results.get("ten-fold", "accuracy").value == 1.0
    assert not isinstance(results.get("verification", "TAR@FAR=0.001").value, float)
    assert any("All pairs show one person" in warning for warning in results.warnings)


def test_lists_that_are_cut_off_or_have_other_folds_are_told(tmp_path: Path) -> None:
    lines = ["2\t5"]
    for fold in range(2):
        lines += [f"Same_{fold}{pair}\t1\t{pair + 2}" for pair in range(5)]
        lines += [f"One_{pair}\t1\tOther_{fold}\t12" for pair in range(5)]
    task = benchmark.find("pairs/lfw")

    def warnings(*text: str, **options: Any) -> str:
        (tmp_path / "pairs.txt").write_text("\n".join(text) + "\n")
        return " ".join(task.load(tmp_path, PairSetOptions(**options)).warnings)

    assert warnings(*lines, folds=2, far=(0.1,)) == ""
    assert "line 1 says 2 folds, but 10 are used, as papers do; --set folds=2 follows the file" in warnings(*lines)
    assert "but 5 are used (folds=5); --set folds=2 follows the file" in warnings(*lines, folds=5)
    expected = "2 folds of 2 × 5 pairs, 10 of one person and 10 of two, but 10 and 9 follow. Is the file complete?"
    assert expected in warnings(*lines[:-1], folds=2)
    assert "line 1 says 2 × 7 pairs, 7 of one person and 7 of two, but 10 and 10 follow" in warnings("7", *lines[1:])
    ordered = sorted(lines[1:], key=lambda line: line.startswith("One"))
    assert "2 of 2 folds have pairs of one kind only" in warnings(lines[0], *ordered, folds=2)
    itself = "1 of 20 pairs show one picture twice, which is always right: the first is pair 0"
    assert itself in warnings(lines[0], "Same_00\t2\t2", *lines[2:], folds=2)
    with pytest.raises(DataError, match=r"line 2: .*Names that have blanks need tabs"):
        warnings("2 5", "Mary Ann 1 2")


def test_rfw_is_read_as_it_is_unpacked(tmp_path: Path) -> None:
    """Lists in test/txts/RACE, pictures in test/data/RACE; names of lists in any case."""
    for race in RACES:
        folder = tmp_path / "test" / "txts" / race
        folder.mkdir(parents=True)
        lines = [line for fold in range(10) for line in (f"a{fold} 1 2", f"a{fold} 1 b{fold} 1")]
        (folder / f"{race.lower()}_pairs.txt").write_text("\n".join(lines) + "\n")
        (tmp_path / "test" / "data" / race / "a0").mkdir(parents=True)
        (tmp_path / "test" / "data" / race / "a0" / "a0_0001.jpg").write_bytes(b"x")
    for data in (tmp_path, tmp_path / "test", tmp_path / "test" / "txts"):
        dataset = benchmark.find("pairs/rfw").load(data, PairSetOptions())
        assert dataset.samples[0].media[0] == tmp_path / "test" / "data" / RACES[0] / "a0" / "a0_0001.jpg"


def test_a_model_whose_embeddings_differ_in_length_is_told_the_picture(made: Path, tmp_path: Path) -> None:
    dataset = benchmark.find("pairs/lfw").load(made, PairSetOptions(flip="none"))
    codec = benchmark.find("pairs/lfw").codec
    answers = [(name, np.ones(8 if name != "3" else 4)) for name in dataset.truth.pictures]
    with pytest.raises(PredictionError, match="embedding of picture 3 has 4 numbers, others have 8"):
        codec.write(tmp_path / "out", answers, dataset, PairSetOptions(flip="none"))


def test_the_interpolated_rate_is_the_published_one_where_that_is_defined() -> None:
    """False accept rates that all differ: SciPy's answer, computed by hand for two folds."""
    from evenhand.benchmarks.pairs.metrics import FINE_THRESHOLDS, FoldedTar
    from evenhand.core.records import Records

    rng = np.random.default_rng(1)
    distance = np.concatenate([rng.uniform(0, 2, 40), rng.uniform(1, 4, 40)])
    same, fold = np.arange(80) < 40, np.arange(80) % 2
    metric = FoldedTar("folds_interpolated", far=0.1)
    state = metric.measure(Records({"distance": distance, "same": same, "fold": fold}, {}))
    expected = []
    for left_out in (0, 1):
        others = distance[(fold != left_out) & ~same]
        far = np.array([(others < threshold).mean() for threshold in FINE_THRESHOLDS])
        last = [place for place in range(len(far)) if place + 1 == len(far) or far[place + 1] != far[place]]
        threshold = np.interp(0.1, far[last], FINE_THRESHOLDS[last])
        expected.append((distance[(fold == left_out) & same] < threshold).mean())
    assert metric.result(state, state)["TAR"][0] == pytest.approx(np.mean(expected), abs=1e-12)


def test_the_samples_of_a_set_travel_to_another_process(tmp_path: Path) -> None:
    samples = _samples(["a.jpg", "b.jpg"], PairSetOptions(), tmp_path.joinpath)
    assert list(pickle.loads(pickle.dumps(samples))) == list(samples)  # noqa: S301 - our own


def test_a_picture_that_a_bin_uses_many_times_is_kept_and_written_once(tmp_path: Path) -> None:
    """A pickle of a megabyte can mention one text a hundred thousand times; each mention as bytes would fill memory."""
    text = "x" * 1000  # as Python 2 wrote bytes
    (tmp_path / "lfw.bin").write_bytes(pickle.dumps(([text] * 40, [True, False] * 10), protocol=2))
    pictures, _, _ = read_bin(tmp_path / "lfw.bin")
    assert len({id(one) for one in pictures}) == 1
    dataset = load_set("pairs/lfw", tmp_path, PairSetOptions(), tmp_path / "cache")
    assert len({sample.media[0] for sample in dataset.samples}) == 1


def test_values_that_are_no_bytes_are_refused_rather_than_cut_to_eight_bits(tmp_path: Path) -> None:
    (tmp_path / "lfw.bin").write_bytes(pickle.dumps(([np.array([300, 1])] * 40, [True] * 20)))
    with pytest.raises(DataError, match="values from 1 to 300"):
        read_bin(tmp_path / "lfw.bin")


def test_pictures_of_a_list_that_are_damaged_or_not_there_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line for one in range(5) for line in (f"a{one} 1 2", f"a{one} 1 b{one} 1")]
    (tmp_path / "pairs.txt").write_text("\n".join(lines) + "\n")

    def told() -> str:
        assert main(["check", "pairs/lfw", "--data", str(tmp_path)]) == 0
        return " ".join(capsys.readouterr().out.split())

    assert "The pictures are not there" in told()
    for name in (name for one in range(5) for name in (f"a{one}_0001", f"a{one}_0002", f"b{one}_0001")):
        folder = tmp_path / name.partition("_")[0]
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.jpg").write_bytes(picture(1, np.random.default_rng(0)))
    (tmp_path / "a3" / "a3_0002.jpg").unlink()
    (tmp_path / "b4" / "b4_0001.jpg").write_bytes(b"no picture")
    words = told()
    assert "1 of 15 pictures are not there: a3/a3_0002.jpg. Their pairs count as wrong (missing=wrong)" in words
    assert "1 picture can't be decoded: b4/b4_0001.jpg" in words


def test_a_pair_of_two_people_that_names_one_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "pairs.txt").write_text("10\t1\nAnn\t1\tAnn\t2\n")
    with pytest.raises(DataError, match=r"line 2: .* both are 'Ann'\. A pair of one person is 'name n m'"):
        benchmark.find("pairs/lfw").load(tmp_path, PairSetOptions())


def table_of(path: Path, header: str, *changed: str) -> Path:
    """A table of twenty pairs; the first lines may be others."""
    names = header.split(",")
    lines = []
    for pair in range(20):
        same = pair % 2 == 0
        cells = {
            "p1": f"{pair}a.jpg",
            "p2": f"{pair}b.jpg",
            "label": str(int(same)),
            "id1": f"n{pair}",
            "id2": f"n{pair if same else pair + 100}",
            "fold": str(pair // 2 + 1),
            "att1": "asian_males",
            "att2": "asian_males",
        }
        lines.append(",".join(cells[name] for name in names))
    path.write_text("\n".join([header, *changed, *lines[len(changed) :]]) + "\n")
    return path


@pytest.mark.parametrize(
    ("header", "first", "message"),
    [
        ("p1,p2,label", "a,,1", "line 2, column p2: empty"),
        ("p1,p2,label,id1,id2", "a,b,1,,", "line 2, column id1: empty. Fill it everywhere"),
        ("p1,p2,label,fold", "a,b,1,", "line 2, column fold: empty"),
        ("p1,p2,label", "a,b,maybe", "'maybe', but 1 .true, same, genuine. or 0"),
        ("p1,p2,label,id1,id2", "a,b,0,x,x", "the label is 0 .two people., but id1 is 'x' and id2 'x'"),
    ],
)
def test_a_line_of_a_table_that_lacks_something_is_refused(
    tmp_path: Path, header: str, first: str, message: str
) -> None:
    path = table_of(tmp_path / "pairs.csv", header, first)
    with pytest.raises(DataError, match=message):
        benchmark.find("pairs/custom").load(path, PairSetOptions())


def test_labels_in_words_and_other_separators_are_read(tmp_path: Path) -> None:
    load = benchmark.find("pairs/custom").load
    path = table_of(tmp_path / "pairs.csv", "p1,p2,label")
    wanted = load(path, PairSetOptions()).truth.same.tolist()
    text = path.read_text().replace(",1\n", ",same\n").replace(",0\n", ",Different\n").replace(",", ";")
    path.write_text(text)
    assert load(path, PairSetOptions()).truth.same.tolist() == wanted


def test_folds_of_a_table_are_counted_as_numbers_and_named_where_folds_asks_for_others(tmp_path: Path) -> None:
    load = benchmark.find("pairs/custom").load
    path = table_of(tmp_path / "pairs.csv", "p1,p2,label,fold")
    dataset = load(path, PairSetOptions())
    assert dataset.truth.fold.tolist() == [pair // 2 for pair in range(20)]  # 10 comes after 9, not after 1
    assert not any("column fold" in warning for warning in dataset.warnings)
    warnings = load(path, PairSetOptions(folds=5)).warnings
    assert any("its column fold has 10 folds, which are used; folds=5 is for tables" in each for each in warnings)


def test_folds_of_a_table_that_are_not_ten_need_no_warning_unless_others_were_asked_for(tmp_path: Path) -> None:
    """BFW has five."""
    lines = [f"{pair}a,{pair}b,{pair % 2},{pair // 2 % 5 + 1}\n" for pair in range(20)]
    (tmp_path / "bfw-v1.csv").write_text("p1,p2,label,fold\n" + "".join(lines))
    load = benchmark.find("pairs/bfw").load
    for options in (PairSetOptions(), PairSetOptions(folds=5)):
        dataset = load(tmp_path, options)
        assert not any("column fold" in warning for warning in dataset.warnings)
        assert dataset.facts["folds"] == 5
        assert dataset.truth.fold.tolist() == [pair // 2 % 5 for pair in range(20)]
    assert any("folds=4 is for tables" in warning for warning in load(tmp_path, PairSetOptions(folds=4)).warnings)


def test_a_table_without_lines_has_too_few_pairs(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("p1,p2,label,fold,id1,id2,att1,att2\n")
    with pytest.raises(DataError, match="has 0 pairs"):
        benchmark.find("pairs/custom").load(tmp_path / "pairs.csv", PairSetOptions())


def test_a_pair_with_one_unknown_group_is_not_across_groups(tmp_path: Path) -> None:
    path = table_of(tmp_path / "bfw.csv", "p1,p2,label,att1,att2", "0a.jpg,0b.jpg,1,,asian_males")
    attribute = benchmark.find("pairs/bfw").load(path, PairSetOptions()).truth.attributes["race"]
    assert not attribute.belongs("cross-group").any()
    assert attribute.belongs("(missing)").tolist() == [True] + [False] * 19


def test_pairs_listed_twice_and_pictures_of_two_people_are_told(tmp_path: Path) -> None:
    first = ("a,b,1,x,x", "b,a,1,x,x", "a,c,0,z,y")
    path = table_of(tmp_path / "pairs.csv", "p1,p2,label,id1,id2", *first)
    warnings = " ".join(benchmark.find("pairs/custom").load(path, PairSetOptions()).warnings)
    assert "1 of 20 pairs were listed before and count again: the first is pair 1 (b, a)" in warnings
    assert "1 of 37 pictures are of one person in a pair and of another in the next, such as a." in warnings


def test_rates_below_one_pair_are_told(tmp_path: Path) -> None:
    path = table_of(tmp_path / "pairs.csv", "p1,p2,label")
    warnings = benchmark.find("pairs/custom").load(path, PairSetOptions(far=(0.001, 0.1))).warnings
    assert any(
        "10 pairs show two people: at FAR 0.001 none of them may be accepted, so TAR there is measured" in each
        for each in warnings
    )


def test_both_curves_of_a_report_have_the_same_axes(tmp_path: Path) -> None:
    path = table_of(tmp_path / "pairs.csv", "p1,p2,label")
    np.save(tmp_path / "scores.npy", np.linspace(0.1, 0.9, 20))
    results = run("pairs/custom", tmp_path / "scores.npy", path)
    axes = [
        (curve.x_name, curve.y_name)
        for curve in (results.get("ten-fold", "ROC over folds").value, results.get("separation", "ROC").value)
    ]
    assert axes[0] == axes[1]


def test_every_set_has_a_title_for_its_tables() -> None:
    assert all(benchmark.names.tasks.get(task.name) for task in benchmark.tasks)


def test_rows_name_their_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = table_of(tmp_path / "pairs.csv", "p1,p2,label")
    np.save(tmp_path / "scores.npy", np.linspace(0.9, 0.1, 20))
    runs = ["--runs", str(tmp_path / "runs"), "--draws", "0"]
    assert main(["evaluate", "pairs/custom", str(tmp_path / "scores.npy"), "--data", str(path), *runs]) == 0
    (folder,) = (tmp_path / "runs").glob("pairs/custom/*/*")
    capsys.readouterr()
    assert main(["rows", str(folder), "--worst", "1", "--format", "csv"]) == 0
    header, row = capsys.readouterr().out.splitlines()[:2]
    cells = dict(zip(header.split(","), row.split(","), strict=True))
    assert (cells["picture"], cells["picture_b"]) == ("18a.jpg", "18b.jpg")


def test_rows_of_very_many_pairs_have_no_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are larger than all else in a row; those of millions of pairs would fill memory."""
    path = table_of(tmp_path / "pairs.csv", "p1,p2,label")
    np.save(tmp_path / "scores.npy", np.linspace(0.9, 0.1, 20))
    task, options = benchmark.find("pairs/custom"), PairSetOptions()
    dataset = task.load(path, options)
    predictions = task.codec.read(tmp_path / "scores.npy", dataset, options)

    def columns() -> set[str]:
        (rows,) = record_pairs(dataset, predictions, options, Tools())
        return set(rows.columns)

    with_names = columns()
    monkeypatch.setattr(record, "_MOST_WITH_NAMES", 19)
    assert with_names - columns() == {"picture", "picture_b"}


def test_of_many_pictures_in_files_a_sample_is_decoded_and_check_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{pair}a.png,{pair}b.png,{pair % 2}\n" for pair in range(10)]
    (tmp_path / "pairs.csv").write_text("p1,p2,label\n" + "".join(lines))
    encoded = picture(1, np.random.default_rng(0))
    for pair in range(10):
        for side in "ab":
            (tmp_path / f"{pair}{side}.png").write_bytes(encoded)
    monkeypatch.setattr(tasks, "_MOST_DECODED", 5)

    def told() -> str:
        assert main(["check", "pairs/custom", "--data", str(tmp_path / "pairs.csv")]) == 0
        return " ".join(capsys.readouterr().out.split())

    assert "No picture of 5 that were decoded, evenly spread over 20, is damaged" in told()
    (tmp_path / "0a.png").write_bytes(b"no picture")
    assert "1 picture of 5 that were decoded, evenly spread over 20, can't be decoded: 0a.png" in told()
    monkeypatch.setattr(tasks, "_MOST_DECODED", 20)
    assert "1 picture can't be decoded: 0a.png" in told()


def test_the_demo_lists_no_pair_twice(tmp_path: Path) -> None:
    from evenhand.benchmarks.pairs.demo import write_demo

    (demo,) = write_demo(tmp_path)
    warnings = benchmark.find("pairs/rfw").load(demo.data, PairSetOptions()).warnings
    assert not any("listed before" in warning or "twice" in warning for warning in warnings)
