"""`explain` computes every combination, and `--target` finds the one that was planted."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand import api
from evenhand.benchmarks.ijb.variants import pooling_source
from evenhand.cli.main import main
from evenhand.metrics.operating_points import Convention
from evenhand.search.enrol import Membership, Pooling, enrol, enrol_every

FAR = 1e-3
MINI = Path(__file__).parents[2] / "golden" / "cases" / "ijb" / "mini_ijbb"


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small IJB-C in list files: 60 people, templates of stills and videos, noisy faces with weak detections."""
    folder = tmp_path_factory.mktemp("IJBC")
    (folder / "meta").mkdir()
    rng = np.random.default_rng(5)
    people, dimensions = 60, 32
    centre = rng.normal(size=(people, dimensions))
    vectors, flipped, faces, points, owner = [], [], [], [], []
    for template in range(people * 12):
        owner.append(template % people)
        for medium in range(rng.integers(1, 4)):
            for _ in range(rng.integers(1, 7)):
                quality = rng.uniform(0.2, 1.0)
                face = centre[owner[-1]] * quality * rng.uniform(0.5, 2) + rng.normal(size=dimensions) * 1.5
                vectors.append(face + rng.normal(size=dimensions) * 0.8)
                flipped.append(face + rng.normal(size=dimensions) * 0.8)
                name = f"{len(vectors)}.jpg"
                faces.append(f"{name} {template} {template * 10 + medium}")
                points.append(f"{name} {' '.join(['1.5'] * 10)} {rng.uniform(0.3, 1.0):.4f}")
    pairs = [(a, b) for a in range(people * 3) for b in range(people * 3, people * 12)]
    lines = [f"{a} {b} {int(owner[a] == owner[b])}" for a, b in pairs if owner[a] == owner[b] or rng.random() < 0.3]
    for name, text in (("face_tid_mid", faces), ("name_5pts_score", points), ("template_pair_label", lines)):
        (folder / "meta" / f"ijbc_{name}.txt").write_text("\n".join(text) + "\n")
    np.save(folder / "embeddings.npy", np.array(vectors, dtype=np.float32))
    np.save(folder / "embeddings_flip.npy", np.array(flipped, dtype=np.float32))
    return folder


def as_a_script_does(
    folder: Path, *, norm: bool, detector: bool, unit_media: bool = False, flat: bool = False, flip: str = "sum"
) -> float:
    """TAR at the point of scikit-learn's ROC nearest to FAR, in double precision, as public scripts compute it."""
    faces = [line.split() for line in (folder / "meta" / "ijbc_face_tid_mid.txt").read_text().splitlines()]
    weight = [
        float(line.split()[-1]) for line in (folder / "meta" / "ijbc_name_5pts_score.txt").read_text().splitlines()
    ]
    vectors, mirrored = (np.load(folder / f"{name}.npy").astype(float) for name in ("embeddings", "embeddings_flip"))
    if flip != "none":
        vectors = vectors + mirrored if flip == "sum" else np.concatenate([vectors, mirrored], axis=1)
    if norm:
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    if detector:
        vectors *= np.array(weight)[:, None]
    template = np.array([int(face[1]) for face in faces])
    medium = np.array([int(face[2]) for face in faces])
    pooled = np.zeros((template.max() + 1, vectors.shape[1]))
    for one in np.unique(medium):
        mean = vectors[medium == one].sum(axis=0) if flat else vectors[medium == one].mean(axis=0)
        pooled[template[medium == one][0]] += mean / np.linalg.norm(mean) if unit_media else mean
    pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
    pairs = np.loadtxt(folder / "meta" / "ijbc_template_pair_label.txt", dtype=int)
    score = np.sum(pooled[pairs[:, 0]] * pooled[pairs[:, 1]], axis=1)
    order = np.argsort(-score, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(score[order])), len(score) - 1)
    true = np.cumsum(pairs[order, 2])[ends]
    false = 1 + ends - true
    kept = np.concatenate([[True], (np.diff(false, 2) != 0) | (np.diff(true, 2) != 0), [True]])  # as roc_curve thins
    true, false = np.append(0, true[kept])[::-1], np.append(0, false[kept])[::-1]
    return float(true[np.argmin(np.abs(false / false[0] - FAR))] / true[0])


def run_of(folder: Path, tmp_path: Path, task: str = "ijb/test1", *more: str, answers: Path | None = None) -> str:
    runs = tmp_path / "runs"
    arguments = ["--data", str(folder), "--draws", "0", "--runs", str(runs), *more]
    assert main(["evaluate", task, str(answers or folder), *arguments]) == 0
    return str(next(runs.glob(f"{task}/*/*")))


@pytest.mark.parametrize(
    ("switches", "words"),
    [
        ({"norm": False, "detector": True}, "flip=sum, norm=keep, detector=on, media=mean"),
        ({"norm": True, "detector": False, "unit_media": True}, "flip=sum, norm=unit, detector=off, media=mean_unit"),
        ({"norm": True, "detector": True}, "flip=sum, norm=unit, detector=on, media=mean"),
        (
            {"norm": True, "detector": False, "flat": True, "flip": "none"},
            "flip=none, norm=unit, detector=off, media=flat",
        ),
        ({"norm": False, "detector": True, "flip": "concat"}, "flip=concat, norm=keep, detector=on, media=mean"),
    ],
)
def test_a_target_finds_the_planted_combination_among_all(
    synthetic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], switches: dict[str, Any], words: str
) -> None:
    planted = as_a_script_does(synthetic, **switches)
    run = run_of(synthetic, tmp_path, "ijb/test1", "--set", f"far={FAR},0.01,0.1")
    capsys.readouterr()
    assert main(["explain", run, "--target", f"{100 * planted:.6f}", "--quantity", "TAR@FAR=1e-3", "--json"]) == 0
    table = json.loads(capsys.readouterr().out)["blocks"][1]
    nearest = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    exact = [row for row in nearest if row["off by"] == "0.000000"]
    assert any(row["combination"] == words and "nearest" in row["convention"] for row in exact), nearest[:5]
    assert len({row["combination"] for row in exact}) <= 3


def test_all_poolings_together_are_the_poolings_one_by_one() -> None:
    rng = np.random.default_rng(2)
    vectors, flipped = rng.normal(size=(2, 80, 16)).astype(np.float32)
    scores, face = rng.random(80), np.arange(80)
    face[7] = -1
    members = Membership(rng.integers(0, 9, 80), face, rng.integers(0, 3, 80), 10)
    seen = set()
    for pooling, made in enrol_every(vectors, members, flipped=flipped, detector_scores=scores):
        one = enrol(vectors, members, pooling, flipped=flipped, detector_scores=scores)
        np.testing.assert_allclose(made.vectors, one.vectors, atol=2e-6)
        assert made.enrolled.tolist() == one.enrolled.tolist()
        assert made.skipped == one.skipped
        seen.add(pooling)
    assert len(seen) == 36


@pytest.mark.parametrize("task", ["ijb/test4", "ijb/test6", "ijb/test7", "ijb/test8"])
def test_searches_detections_and_clusterings_are_explained_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], task: str
) -> None:
    mini = Path(__file__).parents[2] / "golden" / "cases" / "ijb" / "mini_ijbb"
    answers = {"ijb/test6": "detections", "ijb/test7": "clusters_40", "ijb/test8": "detection_clusters"}
    run = run_of(mini, tmp_path, task, answers=mini / f"{answers[task]}.csv" if task in answers else mini)
    capsys.readouterr()
    assert main(["explain", run, "--target", "0.900000", "--most", "1000000", "--json"]) == 0
    table: Any = json.loads(capsys.readouterr().out)["blocks"][1]
    combinations = {(row[3], row[4]) for row in table["rows"]}
    assert len(combinations) > {"ijb/test4": 287, "ijb/test6": 11, "ijb/test7": 1, "ijb/test8": 8}[task]
    assert all(row[5] for row in table["rows"])
    assert all(re.fullmatch(r"-?\d\.\d{6}", row[1]) for row in table["rows"])
    if task != "ijb/test4":
        assert any("default" in row[5] for row in table["rows"])
    distances = [abs(float(row[2])) for row in table["rows"]]
    assert distances == sorted(distances)
    assert main(["explain", run]) == 0
    assert "under every combination" in " ".join(capsys.readouterr().out.split())


def test_the_own_overlap_of_a_run_is_among_the_combinations_and_results_have_the_names_of_evaluate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mini = Path(__file__).parents[2] / "golden" / "cases" / "ijb" / "mini_ijbb"
    more = ["--data", str(mini), "--draws", "0", "--set", "iou=0.4", "--runs", str(tmp_path)]
    assert main(["evaluate", "ijb/test8", str(mini / "detection_clusters.csv"), *more]) == 0
    (run,) = (tmp_path / "ijb" / "test8").glob("*/*")
    capsys.readouterr()
    assert main(["explain", str(run), "--quantity", "BCubed without FTE: F", "--json"]) == 0
    (table,) = [block for block in json.loads(capsys.readouterr().out)["blocks"] if "columns" in block]
    assert table["columns"] == ["combination", "BCubed without FTE", "public code"]
    assert [row[0] for row in table["rows"]] == ["iou=0.5", "iou=0.3", "iou=0.2", "iou=0.4"]


def test_a_run_whose_files_are_gone_says_so(
    synthetic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(synthetic, tmp_path)
    manifest = Path(run) / "run.json"
    manifest.write_text(manifest.read_text().replace("embeddings.npy", "elsewhere.npy"))
    assert main(["explain", run, "--target", "0.9"]) != 0
    assert "--predictions" in capsys.readouterr().err
    assert main(["explain", run, "--target", "0.9", "--predictions", str(synthetic)]) == 0


def test_files_that_were_changed_since_are_not_taken_for_those_of_the_run(
    synthetic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = tmp_path / "answers"
    answers.mkdir()
    for name in ("embeddings", "embeddings_flip"):
        shutil.copy(synthetic / f"{name}.npy", answers)
    run = run_of(synthetic, tmp_path, answers=answers)
    np.save(answers / "embeddings.npy", np.load(answers / "embeddings.npy")[:, ::-1].copy())  # of the same size
    capsys.readouterr()
    assert main(["explain", run, "--target", "0.9"]) == 2
    assert "embeddings.npy was changed since this run was made of it" in capsys.readouterr().err
    assert main(["explain", run]) == 0
    assert "was changed since this run was made of it" in " ".join(capsys.readouterr().out.split())
    assert main(["explain", run, "--target", "0.9", "--predictions", str(synthetic)]) == 0


def test_every_combination_is_on_the_screen(
    synthetic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = tmp_path / "answers"
    answers.mkdir()
    for name in ("embeddings", "embeddings_flip"):
        vectors = np.load(synthetic / f"{name}.npy")
        vectors[:40] = 0  # failures to enrol, so that there are three policies for each pooling
        np.save(answers / f"{name}.npy", vectors)
    run = run_of(synthetic, tmp_path, "ijb/test1", "--set", f"far={FAR}", answers=answers)
    capsys.readouterr()
    assert main(["explain", run]) == 0
    printed = capsys.readouterr().out
    assert "more rows" not in printed
    assert printed.count("flip=concat") == 3 * 12


@pytest.mark.parametrize(
    ("pooling", "script", "code"),
    [
        (("none", "unit", "off", "mean_unit"), "ijb_11.py", "VGGFace2"),  # its script has neither flip nor detector
        (("none", "unit", "on", "mean_unit"), "ijb_11.py", "no public code"),
        (("none", "keep", "off", "mean_unit"), "ijb_11.py", "MagFace"),
        (("sum", "keep", "off", "mean_unit"), "ijb_11.py", "no public code"),  # MagFace has no mirrored pass
        (("sum", "keep", "on", "mean"), "ijb_1n.py", "N1D1F1"),
        (("sum", "keep", "on", "mean"), "ijb_evals.py", "N0D1F1"),
        (("concat", "keep", "on", "mean"), "ijb_evals.py", "no public code"),
    ],
)
def test_a_pooling_names_the_script_that_pools_so(pooling: tuple[Any, Any, Any, Any], script: str, code: str) -> None:
    assert code in pooling_source(Pooling(*pooling), script)


def test_a_search_by_the_open_set_script_is_pooled_by_that_script_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(MINI, tmp_path, "ijb/test4", "--set", "fpir=0.1")
    _, rows = nearest_to(run, capsys, "0.9", "--quantity", "TPIR@FPIR=0.1, rank 1", "--most", "100000")
    own = [row for row in rows if row["combination"] == "flip=sum, norm=keep, detector=on, media=mean"]
    scripts = {row["convention"]: re.findall(r"pooling: insightface (\w+\.py)", row["public code"]) for row in own}
    assert scripts["list_style_reference"] == ["ijb_evals.py"]
    assert scripts["exact, mean"] == ["ijb_1n.py"]


def test_scores_as_given_have_no_code_of_a_pooling(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count = len((MINI / "protocol" / "ijbb_11_S1_S2_matches.csv").read_text().splitlines())
    np.save(tmp_path / "scores.npy", np.random.default_rng(1).random(count))
    run = run_of(MINI, tmp_path, answers=tmp_path / "scores.npy")
    capsys.readouterr()
    assert main(["explain", run, "--json"]) == 0
    table = [block for block in json.loads(capsys.readouterr().out)["blocks"] if "columns" in block][-1]
    assert table["columns"] == ["combination", *(convention.value for convention in Convention)]


def test_all_or_nothing_is_a_share_and_not_every_value_rounds_to_it(
    synthetic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(synthetic, tmp_path, "ijb/test1", "--set", f"far={FAR}")
    for target, nearest in (("1", 0.995), ("0", 0.005)):
        lead, rows = nearest_to(run, capsys, target, "--most", "1000")
        gives = sum(float(row["value"]) >= nearest if target == "1" else float(row["value"]) <= nearest for row in rows)
        assert lead.startswith(f"{gives} of ")


def nearest_to(
    run: str, capsys: pytest.CaptureFixture[str], target: str, *more: str
) -> tuple[str, list[dict[str, Any]]]:
    """The lead of the section, and its rows, for a published number."""
    capsys.readouterr()
    assert main(["explain", run, "--target", target, *more, "--json"]) == 0
    lead, table = json.loads(capsys.readouterr().out)["blocks"][:2]
    return lead["text"], [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def test_a_number_with_two_decimals_finds_the_public_script_first(
    synthetic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planted = as_a_script_does(synthetic, norm=False, detector=True)
    run = run_of(synthetic, tmp_path, "ijb/test1", "--set", f"far={FAR}")
    for printed in (f"{100 * planted:.2f}", f"{100 * planted:.2f} %", f"{planted:.4f}"):
        _, rows = nearest_to(run, capsys, printed, "--quantity", "tar@far=1e-3")
        assert rows[0]["combination"] == "flip=sum, norm=keep, detector=on, media=mean"
        assert rows[0]["convention"] == "nearest"
        assert "ijb_11.py with N1D1F1" in rows[0]["public code"]


def test_digits_that_were_not_printed_do_not_rank_but_those_that_were_do(
    synthetic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(synthetic, tmp_path, "ijb/test1", "--set", f"far={FAR}")
    counts = []
    for printed in ("90", "90.0", "90.00"):
        lead, rows = nearest_to(run, capsys, printed, "--most", "1000")
        counts.append(int(lead.split()[0].replace(",", "")))
        half = 0.005 * 10.0 ** -len(printed.partition(".")[2])
        gives = [abs(float(row["off by"])) <= half + 1e-6 for row in rows]
        assert gives == sorted(gives, reverse=True)
    assert counts[0] >= counts[1] >= counts[2]


def test_a_target_that_is_no_share_is_a_usage_error(
    synthetic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(synthetic, tmp_path)
    for target in ("nan", "-5", "9628", "inf", "much", "101%", "1e-9999999"):
        assert main(["explain", run, f"--target={target}"]) == 2
        assert "per cent such as 96.28" in capsys.readouterr().err


def test_moved_files_and_a_quantity_serve_without_a_target_too(
    synthetic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(synthetic, tmp_path)
    manifest = Path(run) / "run.json"
    manifest.write_text(manifest.read_text().replace("embeddings.npy", "elsewhere.npy"))
    capsys.readouterr()
    assert main(["explain", run]) == 0
    assert "can't be computed" in capsys.readouterr().out
    assert main(["explain", run, "--predictions", str(synthetic), "--quantity", "TAR@FAR=1e-2"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "TAR@FAR=0.01 under every combination (180)" in told
    assert main(["explain", run, "--target", "0.9", "--most", "0"]) == 2


def test_values_have_six_decimals_and_realised_rates_tell_neighbours_apart(
    synthetic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(synthetic, tmp_path, "ijb/test1", "--set", "far=0.001,0.01")
    capsys.readouterr()
    assert main(["explain", run, "--json"]) == 0
    table = json.loads(capsys.readouterr().out)["blocks"][0]
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    assert all(re.fullmatch(r"\d\.\d{6}", row["value"]) for row in rows)
    exact, *others = (row for row in rows if row["quantity"] == "TAR@FAR=0.001")
    assert any(row["realised"] != exact["realised"] for row in others if row["false"] != exact["false"])


@pytest.fixture
def searched(tmp_path: Path) -> Path:
    """The small IJB-B of the golden cases, in which a gallery template and some probes have vectors of zeros."""
    mini = Path(__file__).parents[2] / "golden" / "cases" / "ijb" / "mini_ijbb"
    folder = tmp_path / "zeros"
    folder.mkdir()
    for name in ("embeddings.npy", "embeddings_flip.npy"):
        vectors = np.load(mini / name)
        vectors[: len(vectors) // 8] = 0
        np.save(folder / name, vectors)
    (folder / "faces.csv").write_text((mini / "faces.csv").read_text())
    return folder


def test_searches_know_zero_vectors_and_merged_galleries_under_the_usual_names(
    searched: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mini = Path(__file__).parents[2] / "golden" / "cases" / "ijb" / "mini_ijbb"
    run = run_of(mini, tmp_path, "ijb/test4", answers=searched)
    _, rows = nearest_to(run, capsys, "0.9", "--quantity", "Rank-1", "--most", "100000")
    assert {row["quantity"] for row in rows} == {"rank 1"}
    policies = {row["convention"].rpartition("FTE: ")[2] for row in rows}
    assert policies == {"penalise", "exclude", "zero vector"}
    assert any(row["convention"].startswith("merged_gallery_legacy") for row in rows)
    assert any("ijb_1n.py" in row["public code"] for row in rows)
    _, older = nearest_to(run, capsys, "0.9", "--quantity", "top1", "--most", "100000")  # as the run's own table has it
    assert older == rows
    _, rates = nearest_to(run, capsys, "0.9", "--quantity", "TPIR@FPIR=1e-2", "--most", "100000")
    assert {row["quantity"].partition(", ")[2] for row in rates} == {"rank 1", "top 20", "any rank"}


def write_ijba(folder: Path) -> Path:
    """Two splits of IJB-A with different comparisons, and embeddings of their faces."""
    rng = np.random.default_rng(8)
    header = "TEMPLATE_ID,SUBJECT_ID,FILE,MEDIA_ID,SIGHTING_ID,FRAME,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT"
    rows = [f"{one},{one % 20},img/{one}.jpg,{one},{one},,1,1,9,9" for one in range(80)]
    for split, share in ((1, 0.3), (2, 0.9)):
        pairs = folder / "IJB-A_11_sets" / f"split{split}"
        search = folder / "IJB-A_1N_sets" / f"split{split}"
        for place in (pairs, search):
            place.mkdir(parents=True)
        listed = [f"{a},{b}" for a in range(20) for b in range(20, 80) if a == b % 20 or rng.random() < share]
        (pairs / f"verify_comparisons_{split}.csv").write_text("\n".join(listed) + "\n")
        for name, some in (
            (pairs / f"verify_metadata_{split}.csv", rows),
            (search / f"search_gallery_{split}.csv", rows[: 20 - 4 * split]),
            (search / f"search_probe_{split}.csv", rows[20:]),
        ):
            name.write_text("\n".join([header, *some]) + "\n")
    centre = rng.normal(size=(20, 12))
    vectors = np.array([centre[one % 20] for one in range(80)]) + rng.normal(size=(80, 12)) * 1.2
    for name in ("embeddings", "embeddings_flip"):
        np.save(folder / f"{name}.npy", (vectors + rng.normal(size=vectors.shape) * 0.5).astype(np.float32))
    listed = [f"{one},img/{one}.jpg,{one % 20},{one},{0.5 + one / 200}" for one in range(80)]
    (folder / "faces.csv").write_text("\n".join(["FACE_INDEX,FILENAME,SUBJECT_ID,SIGHTING_ID,FACE_SCORE", *listed]))
    return folder


def test_conventions_of_ijba_are_means_over_splits_like_the_result_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_ijba(tmp_path / "IJBA")
    run = run_of(folder, tmp_path, "ijb/test1", "--set", "splits=1,2", "--set", "far=0.01,0.1")
    results = api.load(Path(run)).results
    for far in (0.01, 0.1):
        value = results.get("verification", f"TAR@FAR={far}").value
        stored = [
            entry["value"]
            for entry in results.facts["conventions"]
            if (entry["quantity"], entry["convention"]) == (f"TAR@FAR={far}", "exact")
        ]
        assert stored == [pytest.approx(value, abs=1e-12)]
        _, rows = nearest_to(run, capsys, f"{value:.6f}", "--quantity", f"TAR@FAR={far}", "--most", "1000")
        own = [
            row
            for row in rows
            if (row["combination"], row["convention"]) == ("flip=sum, norm=keep, detector=on, media=mean", "exact")
        ]
        assert [row["value"] for row in own] == [f"{value:.6f}"]


@pytest.mark.parametrize("fte", ["penalise", "exclude"])
@pytest.mark.parametrize("splits", ["1", "1,2"])
def test_the_variant_that_a_run_is_made_by_has_its_numbers(tmp_path: Path, splits: str, fte: str) -> None:
    folder = write_ijba(tmp_path / "IJBA")
    for name in ("embeddings", "embeddings_flip"):
        vectors = np.load(folder / f"{name}.npy")
        vectors[25:40:3] = 0  # these fail to enrol
        np.save(folder / f"{name}.npy", vectors)
    options = (f"splits={splits}", "far=0.01,0.1", "variants=true", f"fte={fte}")
    run = run_of(folder, tmp_path, "ijb/test1", *(word for option in options for word in ("--set", option)))
    facts = api.load(Path(run)).results.facts
    own = [entry["value"] for entry in facts["conventions"] if entry["convention"] == "nearest"]
    variants = {entry["letters"]: entry["tar"] for entry in facts["variants"]}
    assert len(variants) == 8
    assert variants["N1D1F1"] == pytest.approx(own, abs=1e-12)


def test_searches_of_ijba_are_explained_under_every_pooling(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_ijba(tmp_path / "IJBA")
    run = run_of(folder, tmp_path, "ijb/test4")
    value = api.load(Path(run)).results.get("CMC", "rank 1").value
    _, rows = nearest_to(run, capsys, f"{value:.6f}", "--quantity", "rank 1", "--most", "1000")
    assert len({row["combination"] for row in rows}) == 36
    own = {row["value"] for row in rows if row["combination"] == "flip=sum, norm=keep, detector=on, media=mean"}
    assert f"{value:.6f}" in own


def quantities_of(run: str, capsys: pytest.CaptureFixture[str], name: str) -> set[tuple[str, str]]:
    """The quantities and conventions that a name stands for."""
    _, rows = nearest_to(run, capsys, "0.5", "--quantity", name, "--most", "1000000")
    return {(row["quantity"], row["convention"].partition(", FTE")[0]) for row in rows}


def test_comparisons_are_explained_by_every_name_that_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ("--set", "far=0.01,0.1", "--set", "conventions=exact,nearest")
    run = run_of(MINI, tmp_path, "ijb/test1", *more)
    plain = quantities_of(run, capsys, "TAR@FAR=1e-2")
    assert {quantity for quantity, _ in plain} == {"TAR@FAR=0.01"}
    for name in (
        *("TAR at FAR 0.01", "tar at far 1e-2", "verification.TAR@FAR=1e-2", "verification: TAR@FAR=0.01"),
        *("TPR@FPR=1e-2", "TAR (%) @ FAR=10^-2", "TAR@FAR=1%", "TMR at FMR 0.01"),
    ):
        assert quantities_of(run, capsys, name) == plain
    for name in ("TAR@FAR=0.01 (nearest)", "verification.TAR@FAR=1e-2 (nearest)"):
        assert quantities_of(run, capsys, name) == {("TAR@FAR=0.01", "nearest")}
    assert main(["explain", run, "--quantity", "TAR at FAR 0.5"]) == 2
    assert "There is no quantity 'TAR at FAR 0.5'. Known: TAR@FAR=0.01; TAR@FAR=0.1." in capsys.readouterr().err


def test_searches_are_explained_by_every_name_that_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(MINI, tmp_path, "ijb/test4", "--set", "legacy=true")
    for plain, names in {
        "TPIR@FPIR=0.01, rank 1": (
            "TPIR at FPIR 0.01, rank 1",
            "search.TPIR@FPIR=1e-2, rank 1",
            "legacy: insightface open-set script.TPIR@0.01",
        ),
        "TPIR@FPIR=0.01, top 20": ("TPIR at FPIR 0.01, among the first 20",),
        "TPIR@FPIR=0.01": ("TPIR at FPIR 0.01",),
        "rank 1": ("Rank-1 identification rate", "CMC.rank 1", "CMC: rank 1", "legacy: merged gallery.top1"),
    }.items():
        expected = quantities_of(run, capsys, plain)
        for name in names:
            assert quantities_of(run, capsys, name) == expected, name


def test_clusterings_are_explained_by_every_name_that_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(MINI, tmp_path, "ijb/test7", answers=MINI / "clusters_40.csv")
    assert quantities_of(run, capsys, "F") == {("F", "BCubed"), ("F", "BCubed without FTE")}
    for name in ("BCubed without FTE: F", "BCubed without FTE.F", "BCubed without FTE F measure"):
        assert quantities_of(run, capsys, name) == {("F", "BCubed without FTE")}


@pytest.mark.parametrize(
    ("task", "option"),
    [("test1", "far"), ("covariates", "far"), ("test4", "fpir"), ("test4", "ranks"), ("test6", "fppi")],
)
def test_an_option_without_any_rate_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], task: str, option: str
) -> None:
    arguments = [str(MINI), "--data", str(MINI), "--set", f"{option}=", "--runs", str(tmp_path)]
    assert main(["evaluate", f"ijb/{task}", *arguments]) == 2
    printed = " ".join(capsys.readouterr().err.split())
    assert f"Option '{option}' is empty: it takes one or several numbers, such as" in printed


def test_a_switch_that_can_not_be_tried_is_named_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = tmp_path / "answers"
    answers.mkdir()
    shutil.copy(MINI / "embeddings.npy", answers)
    lines = (MINI / "faces.csv").read_text().splitlines()
    place = lines[0].split(",").index("FACE_SCORE")
    kept = [",".join(cell for at, cell in enumerate(line.split(",")) if at != place) for line in lines]
    (answers / "faces.csv").write_text("\n".join(kept) + "\n")
    data = tmp_path / "data"
    shutil.copytree(MINI / "protocol", data / "protocol")
    run = run_of(data, tmp_path, "ijb/test1", "--set", "flip=none", "--set", "detector=off", answers=answers)
    for more in ([], ["--target", "0.5"]):
        capsys.readouterr()
        assert main(["explain", run, *more]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert "flip=sum and flip=concat are left out: there are no embeddings of mirrored faces" in printed
        assert "detector=on is left out: there are no detector scores" in printed
    run = run_of(MINI, tmp_path / "whole")
    capsys.readouterr()
    assert main(["explain", run, "--target", "0.5"]) == 0
    assert "left out" not in capsys.readouterr().out


def test_searches_of_stills_or_videos_point_to_the_search_that_ijba_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_ijba(tmp_path / "IJBA")
    for task in ("test3", "test5"):
        assert main(["evaluate", f"ijb/{task}", str(folder), "--data", str(folder), "--runs", str(tmp_path)]) == 2
        assert "has one search, of mixed media: evaluate it with ijb/test4" in " ".join(capsys.readouterr().err.split())


def test_the_note_on_failures_of_a_clustering_speaks_of_faces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (MINI / "clusters_40.csv").read_text().splitlines()
    (tmp_path / "clusters.csv").write_text("\n".join(lines[:-5]) + "\n")
    run = run_of(MINI, tmp_path, "ijb/test7", answers=tmp_path / "clusters.csv")
    for more in ([], ["--target", "0.5"]):
        capsys.readouterr()
        assert main(["explain", run, *more]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert "FTE penalise: a listed face without a line counts as a failure to enrol" in printed
        assert "comparisons" not in printed
