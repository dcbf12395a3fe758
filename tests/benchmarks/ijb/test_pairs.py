"""Tests 1 and 2 end to end on a tiny set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from blake3 import blake3

from evenhand.benchmarks.ijb import benchmark, record
from evenhand.benchmarks.ijb.convert import to_lists, to_official
from evenhand.benchmarks.ijb.covariates import GENDER, pair_attribute
from evenhand.benchmarks.ijb.data import PairTruth
from evenhand.benchmarks.ijb.options import VerificationOptions
from evenhand.core.errors import DataError, InputError, OptionError, PredictionError
from evenhand.core.metric import Undefined
from evenhand.core.records import Group
from evenhand.core.task import Tools
from evenhand.metrics.operating_points import SortedScores, rates_by_convention
from evenhand.metrics.verification import tar_name
from evenhand.run import evaluate
from evenhand.search.enrol import Templates


def run(task: str, predictions: Path, data: Path, by: tuple[str, ...] = (), **options: Any) -> Any:
    given = {"flip": "none", **options}
    return evaluate(benchmark.find(task), predictions, data, options=given, by=by, draws=0, permutations=0, depth=1)


def test_embeddings_that_tell_people_apart_verify_them_all(folder: Path) -> None:
    results = run("ijb/verification", folder, folder, by=("gender",), far="0.01").results
    assert results.get("verification", tar_name(0.01)).value == 1.0
    assert results.get("separation", "AUC").value == 1.0
    assert results.get("comparisons", "genuine").value == 8
    assert results.get("comparisons", "impostor", Group.of(gender="both female")).value == 4
    assert "flip=none" in results.facts["pooling"]


def test_rates_in_names_may_be_written_in_any_way(folder: Path) -> None:
    results = run("ijb/test1", folder, folder, far="1e-4,0.01").results
    for name in ("TAR@FAR=1e-4", "TAR@FAR=1E-04", "TAR@FAR=0.00010"):
        assert results.get("verification", name) == results.get(name) == results.get("verification", tar_name(1e-4))


def test_every_file_is_hashed_as_it_is_on_disk(folder: Path) -> None:
    listed = {entry.name: entry for entry in run("ijb/test1", folder, folder, far="0.1").manifest.inputs}
    for name in ("embeddings.npy", "faces.csv", "protocol/tiny_11_A_B_matches.csv"):
        content = (folder / name).read_bytes()
        assert (listed[name].size, listed[name].hash) == (len(content), blake3(content).hexdigest())


@pytest.mark.parametrize(
    ("name", "flip", "found"),
    [
        ("embeddings.npy", "none", "The embedding in row 5"),
        ("embeddings_flip.npy", "sum", "The embedding of the mirrored"),
    ],
)
@pytest.mark.parametrize("task", ["ijb/test1", "ijb/test4"])
def test_an_embedding_that_is_not_finite_is_named_with_its_file(
    folder: Path, task: str, name: str, flip: str, found: str
) -> None:
    vectors = np.load(folder / "embeddings.npy")
    np.save(folder / "embeddings_flip.npy", vectors)
    vectors[5, 2] = np.nan
    np.save(folder / name, vectors)
    options = {"far": "0.1"} if task == "ijb/test1" else {}
    with pytest.raises(PredictionError, match=rf"embeddings\.npy: {found}.* not a finite number"):
        run(task, folder, folder, flip=flip, **options)


def test_embeddings_that_are_named_but_not_there_are_refused(folder: Path) -> None:
    toml = folder / "mine.toml"
    toml.write_text('embeddings = "lost.npy"\nfaces = "faces.csv"\n')
    with pytest.raises(PredictionError, match=r"lost\.npy does not exist"):
        run("ijb/test1", toml, folder, far="0.1")


def test_match_lists_with_quotes_or_blanks_are_read_as_those_without(folder: Path) -> None:
    plain = run("ijb/test1", folder, folder, far="0.1").results
    path = folder / "protocol" / "tiny_11_A_B_matches.csv"
    lines = path.read_text().split()
    path.write_text("".join('"{}","{}"\n'.format(*line.split(",")) for line in lines))
    assert run("ijb/test1", folder, folder, far="0.1").results.estimates == plain.estimates
    path.write_text("".join(f" {line.replace(',', ' , ')}\r\n" for line in lines))
    assert run("ijb/test1", folder, folder, far="0.1").results.estimates == plain.estimates


def test_all_conventions_are_in_the_facts(folder: Path) -> None:
    facts = run("ijb/test1", folder, folder, far="0.1").results.facts["conventions"]
    assert {entry["convention"] for entry in facts} == {
        "exact", "at_impostor", "nearest", "nearest_full_curve", "linear",
    }  # fmt: skip


def test_a_template_without_embedding_is_a_failure_that_is_counted(folder: Path) -> None:
    faces = (folder / "faces.csv").read_text().splitlines()
    (folder / "faces.csv").write_text("\n".join(line for line in faces if "img/1.jpg" not in line) + "\n")
    results = run("ijb/test1", folder, folder, far="0.01").results
    assert results.get("comparisons", "failures to enrol").value == 4
    assert results.get("verification", tar_name(0.01)).value == 7 / 8
    assert results.coverage.missing == 1
    assert any("failed to enrol" in warning for warning in results.warnings)
    excluded = run("ijb/test1", folder, folder, far="0.01", fte="exclude").results
    assert excluded.get("verification", tar_name(0.01)).value == 1.0
    assert excluded.get("comparisons", "genuine").value == 7


def test_scores_in_the_order_of_the_match_list_serve_as_well(folder: Path, official: Any) -> None:
    lines = (folder / "protocol" / "tiny_11_A_B_matches.csv").read_text().split()
    scores = [("TEMPLATE_ID_1", "TEMPLATE_ID_2", "SCORE"), *((*line.split(","), 0.5) for line in lines)]
    path = official.write(folder / "mine.csv", scores)
    assert run("ijb/test1", path, folder, far="0.5").results.get("separation", "AUC").value == 0.5
    official.write(path, [scores[0], scores[2], scores[1], *scores[3:]])
    with pytest.raises(PredictionError, match=r"line 2: the comparison"):
        run("ijb/test1", path, folder)
    official.write(path, scores[:-1])
    with pytest.raises(PredictionError, match="31 scores"):
        run("ijb/test1", path, folder)


def test_an_array_in_list_order_works_alone_when_detector_scores_are_not_needed(folder: Path) -> None:
    vectors = np.load(folder / "embeddings.npy")
    order = [0, 3, 6, 9, 1, 2, 4, 5, 7, 8, 10, 11]  # both galleries, then the probes
    np.save(folder / "listed.npy", vectors[order])
    results = run("ijb/test1", folder / "listed.npy", folder, far="0.01", detector="off").results
    assert results.get("separation", "AUC").value == 1.0
    with pytest.raises(PredictionError, match="detector=off"):
        run("ijb/test1", folder / "listed.npy", folder)
    np.save(folder / "listed.npy", vectors[:5])
    with pytest.raises(PredictionError, match="5 rows"):
        run("ijb/test1", folder / "listed.npy", folder, detector="off")


@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".safetensors"])
def test_embeddings_come_in_the_usual_formats(folder: Path, suffix: str) -> None:
    vectors = np.load(folder / "embeddings.npy")
    (folder / "embeddings.npy").unlink()
    path = folder / f"embeddings{suffix}"
    if suffix == ".npz":
        np.savez(path, embeddings=vectors)
    elif suffix == ".parquet":
        import polars as pl

        pl.DataFrame({"embedding": vectors.tolist()}).write_parquet(path)
    else:
        from safetensors.numpy import save_file

        save_file({"embeddings": vectors}, path)
    assert run("ijb/test1", folder, folder, far="0.01").results.get("separation", "AUC").value == 1.0


def test_a_toml_says_which_file_is_what(folder: Path) -> None:
    (folder / "mine.toml").write_text('embeddings = "embeddings.npy"\nfaces = "faces.csv"\n')
    assert run("ijb/test1", folder / "mine.toml", folder, far="0.1").results.get("separation", "AUC").value == 1.0
    (folder / "mine.toml").write_text('embedings = "embeddings.npy"\n')
    with pytest.raises(PredictionError, match="unknown entry 'embedings'"):
        run("ijb/test1", folder / "mine.toml", folder)


def test_list_files_give_the_same_numbers_and_come_back_as_official_ones(folder: Path, tmp_path: Path) -> None:
    lists = tmp_path / "lists"
    to_lists(folder, lists, faces=folder / "faces.csv")
    (tmp_path / "listed.toml").write_text(
        f'embeddings = "{folder}/embeddings.npy"\nrows = "{lists}/row_to_face_index.csv"\n'
    )
    expected = run("ijb/test1", folder, folder, far="0.1,0.3").results
    found = run("ijb/test1", tmp_path / "listed.toml", lists, far="0.1,0.3").results
    for output in (tar_name(0.1), tar_name(0.3)):
        assert found.get("verification", output).value == expected.get("verification", output).value
    official = tmp_path / "official"
    to_official(lists, official)
    again = benchmark.find("ijb/test1").load(official, type(benchmark.find("ijb/test1").options())())
    assert again.facts["genuine"] == 8


def test_conflicting_labels_of_list_files_are_refused(folder: Path, tmp_path: Path) -> None:
    lists = tmp_path / "lists"
    to_lists(folder, lists)
    path = lists / "tiny_template_pair_label.txt"
    first, *rest = [line for line in path.read_text().splitlines() if line.endswith(" 1")]
    path.write_text("\n".join([first, *rest, first[:-1] + "0"]) + "\n")
    with pytest.raises(DataError, match="labelled"):
        run("ijb/test1", folder / "embeddings.npy", lists)


def test_splits_are_averaged_when_the_data_are_ijb_a(folder: Path, tmp_path: Path, official: Any) -> None:
    data = tmp_path / "IJB-A"
    probes = (folder / "protocol" / "tiny_1N_probe_mixed.csv").read_text()
    for split in (1, 2):
        place = data / "IJB-A_11_sets" / f"split{split}"
        place.mkdir(parents=True)
        (place / f"verify_metadata_{split}.csv").write_text(probes)
        pairs = [(2, 3), (5, 6), (2, 5)] if split == 1 else [(8, 9), (2, 8)]
        official.write(place / f"verify_comparisons_{split}.csv", pairs)
    with pytest.raises(OptionError, match=r"splits=1,2"):
        run("ijb/test1", folder, data)
    results = run("ijb/test1", folder, data, far="0.1", splits="1,2").results
    assert results.get("verification", tar_name(0.1)).value == 1.0
    assert results.get("verification", f"{tar_name(0.1)}:split 2").value == 1.0
    over = {entry["quantity"]: entry for entry in results.facts["over_splits"]}
    assert over[f"verification: {tar_name(0.1)}"]["standard_deviation"] == 0.0
    assert over["separation: AUC"]["values"] == {"split 1": 1.0, "split 2": 1.0}


def test_a_match_that_names_no_template_is_refused(folder: Path) -> None:
    with (folder / "protocol" / "tiny_11_A_B_matches.csv").open("a") as file:
        file.write("1,777\n")
    with pytest.raises(DataError, match="line 33: template 777"):
        run("ijb/test1", folder, folder)


def test_a_template_of_two_people_is_refused(folder: Path, official: Any) -> None:
    path = folder / "protocol" / "tiny_1N_gallery_A.csv"
    official.write(
        path, [official.header, (1, 50, "img/0.jpg", 900, *official.place), (1, 51, "img/3.jpg", 903, *official.place)]
    )
    with pytest.raises(DataError, match="shows subject 50 and subject 51"):
        run("ijb/test1", folder, folder)


@pytest.mark.parametrize(
    ("line", "mentions"),
    [
        ("99,img/0.jpg,50,900,0.9", "rows 0 to 11"),
        ("0,img/0.jpg,50,900,0.9", "twice"),
        ("1,img/0.jpg,50,900,", "detector score is missing"),
    ],
)
def test_an_index_of_faces_that_does_not_fit_is_refused(folder: Path, line: str, mentions: str) -> None:
    header, *rest = (folder / "faces.csv").read_text().splitlines()
    kept = rest if not line.startswith("1,") else [row for row in rest if not row.startswith("1,")]
    (folder / "faces.csv").write_text("\n".join([header, *kept, line]) + "\n")
    with pytest.raises(PredictionError, match=mentions):
        run("ijb/test1", folder, folder)


def test_pickled_arrays_are_never_loaded(folder: Path) -> None:
    np.save(folder / "embeddings.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="can be read"):
        run("ijb/test1", folder, folder)


def test_an_unknown_convention_is_refused_by_name(folder: Path) -> None:
    with pytest.raises(OptionError, match="nearest_full_curve"):
        run("ijb/test1", folder, folder, conventions="closest")


def covariate_data(folder: Path, official: Any) -> None:
    rows = [
        (1, 50, "img/0.jpg", 900, *official.place, 0, 0, -10.0),
        (2, 50, "img/1.jpg", 901, *official.place, 0, 2, 20.0),
        (3, 51, "img/3.jpg", 903, *official.place, 1, 2, "NaN"),
    ]
    header = (*official.header, "GENDER", "AGE", "YAW")
    official.write(folder / "protocol" / "tiny_11_covariate_probe_reference_metadata.csv", [header, *rows])
    official.write(folder / "protocol" / "tiny_11_covariate_matches.csv", [(1, 2), (1, 3), (2, 3)])


def test_covariates_group_comparisons_by_both_values(folder: Path, official: Any) -> None:
    covariate_data(folder, official)
    by = ("gender", "gender_match", "age", "yaw_difference")
    results = run("ijb/covariates", folder, folder, by=by, far="0.5").results
    assert results.get("comparisons", "genuine", Group.of(gender="both female")).value == 1
    assert results.get("comparisons", "impostor", Group.of(gender="female | male")).value == 2
    assert results.get("comparisons", "impostor", Group.of(gender_match="different")).value == 2
    assert results.get("comparisons", "genuine", Group.of(yaw_difference="30–45°")).value == 1
    missing = results.facts["comparisons_without_annotation"]
    assert missing["age"] == 2  # age 0 is «unknown»
    assert missing["yaw_difference"] == 2


def test_an_unknown_age_may_be_a_level_of_its_own(folder: Path, official: Any) -> None:
    covariate_data(folder, official)
    results = run("ijb/test2", folder, folder, by=("age",), far="0.5", unknown_age="level").results
    assert results.get("comparisons", "genuine", Group.of(age="unknown | 20–34")).value == 1


def test_cells_of_occlusion_group_comparisons_unless_switched_off(folder: Path, official: Any) -> None:
    rows = [
        (1, 50, "img/0.jpg", 900, *official.place, 0, 1),
        (2, 50, "img/1.jpg", 901, *official.place, 1, 1),
        (3, 51, "img/3.jpg", 903, *official.place, 1, "NaN"),
    ]
    header = (*official.header, "OCC1", "OCC18")
    official.write(folder / "protocol" / "tiny_11_covariate_probe_reference_metadata.csv", [header, *rows])
    official.write(folder / "protocol" / "tiny_11_covariate_matches.csv", [(1, 2), (1, 3), (2, 3)])
    results = run("ijb/test2", folder, folder, by=("occlusion_1", "occlusion_18"), far="0.5").results
    assert results.get("comparisons", "genuine", Group.of(occlusion_1="free | occluded")).value == 1
    assert results.get("comparisons", "impostor", Group.of(occlusion_1="both occluded")).value == 1
    assert results.get("comparisons", "genuine", Group.of(occlusion_18="both occluded")).value == 1
    assert results.facts["comparisons_without_annotation"]["occlusion_18"] == 2
    with pytest.raises(DataError, match="has no covariates"):
        run("ijb/test2", folder, folder, by=("occlusion_1",), far="0.5", occlusions="off")


def test_pairs_of_values_are_made_when_groups_are_asked_for() -> None:
    ends = np.array([0, 1])
    attribute = pair_attribute(np.array([0, 1]), ends, ends[::-1], GENDER)
    assert len(attribute) == 2
    assert attribute.take(slice(0, 2)) is attribute
    assert "codes" not in vars(attribute)
    assert attribute.take(slice(1, 2)).codes.tolist() == [2]


def test_a_pair_of_values_is_missing_when_either_side_is() -> None:
    each = np.arange(3)
    attribute = pair_attribute(np.array([-1, 0, 1]), np.repeat(each, 3), np.tile(each, 3), GENDER)
    levels = [[level for level in attribute.levels if attribute.belongs(level)[row]] for row in range(9)]
    expected = [[], [], [], [], ["both female"], ["female | male"], [], ["female | male"], ["both male"]]
    assert levels == expected


def test_labels_of_scores_are_zero_or_one(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("LABEL,SCORE\n1,0.9\n2,0.1\n")
    with pytest.raises(DataError, match=r"line 3, column LABEL: 2 found, but 0 or 1 expected"):
        run("ijb/test1", tmp_path / "scores.csv", tmp_path)


@pytest.mark.parametrize(("label", "reason"), [("1", "no impostor comparisons"), ("0", "no genuine comparisons")])
def test_rates_of_one_class_alone_are_undefined_with_a_reason(tmp_path: Path, label: str, reason: str) -> None:
    (tmp_path / "scores.csv").write_text(f"LABEL,SCORE\n{label},0.9\n{label},0.1\n")
    results = run("ijb/test1", tmp_path / "scores.csv", tmp_path, far="0.1").results
    for metric, output in (("verification", tar_name(0.1)), ("separation", "AUC"), ("separation", "EER")):
        value = results.get(metric, output).value
        assert isinstance(value, Undefined)
        assert reason in value.reason


@pytest.mark.parametrize("policy", ["penalise", "exclude"])
def test_of_many_comparisons_those_that_decide_a_rate_are_in_double_precision(
    monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    """Rates under every convention are those of all comparisons in double precision, also of rounded scores."""
    rng = np.random.default_rng(3)
    owner = rng.integers(0, 100, 800)
    vectors = (rng.normal(size=(100, 64))[owner] + 1.3 * rng.normal(size=(800, 64))).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[:5] = 0
    templates = Templates(vectors, vectors.any(axis=1), 0)
    first, second = np.divmod(rng.permutation(800 * 800)[:200_000].astype(np.int32), np.int32(800))
    truth = PairTruth(None, first, second, owner[first] == owner[second], Path("pairs"), np.zeros(len(first)))
    options = VerificationOptions(fte=policy)  # type: ignore[arg-type]

    def rates() -> list[Any]:
        found = []
        for scores in record._compared(templates, truth, options, Tools()):
            assert scores is not None
            counted = scores > -np.inf if policy == "exclude" else np.ones(len(scores), dtype=np.bool_)
            sides = (SortedScores.of(scores[counted & side]) for side in (truth.same, ~truth.same))
            found.append(rates_by_convention(*sides, options.far))
        return found

    expected = rates()
    monkeypatch.setattr(record, "_FEWEST_IN_SINGLE", 0)
    monkeypatch.setattr(record, "_WORTH_REFINING", 1.0)
    for one, other in zip(rates(), expected, strict=True):
        for convention, points in other.items():
            assert [point[::2] for point in one[convention]] == [point[::2] for point in points], convention
