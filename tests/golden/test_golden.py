"""Every golden case under EVENHAND_GOLDEN, by default our copies."""

from __future__ import annotations

import json
from typing import Any

import harness
import pytest

from evenhand.compat.fhibe.errors import ArgumentKeyError, ArgumentValueError


def _every() -> list[Any]:
    folder = harness.root()
    if not folder.is_dir():
        return []
    found = []
    for family in harness.families(folder):
        if harness.family_module(family) is None:
            continue
        found.extend(pytest.param(family, case, id=f"{family}/{case.name}") for case in harness.collect(folder, family))
    return found


@pytest.mark.parametrize(("family", "case"), _every())
def test_a_golden_case_gives_the_published_numbers(family: str, case: harness.Case, golden: Any) -> None:
    checks = harness.Checks()
    try:
        case.check(checks)
    finally:
        golden(family, checks.made, len(checks.failures))
    shown = "\n".join(checks.failures[:40])
    more = f"\n… and {len(checks.failures) - 40} more" if len(checks.failures) > 40 else ""
    assert not checks.failures, f"{len(checks.failures)} of {checks.made} comparisons differ:\n{shown}{more}"
    assert checks.made, "the case compared nothing"


def test_there_is_something_to_check(record_property: Any) -> None:
    folder = harness.root()
    assert folder.is_dir(), f"{folder} is not a folder: EVENHAND_GOLDEN names the folder of golden cases"
    there = harness.families(folder)
    unknown = [family for family in there if harness.family_module(family) is None]
    for family in unknown:
        record_property("golden_note", f"{family}: not registered or without torch, its cases were not run")
    lacking = [name for name in harness.required() if name in unknown or name not in there]
    assert not lacking, f"EVENHAND_GOLDEN_REQUIRE names {lacking}, which are not registered or have no cases"
    assert len(there) > len(unknown), f"no family below {folder} is known"


def test_our_copies_are_unchanged() -> None:
    if harness.root() == harness.DEFAULT_ROOT:
        assert harness.changed_copies() == []


def test_a_file_that_no_case_claims_fails_by_name(tmp_path: Any) -> None:
    (tmp_path / "family").mkdir()
    (tmp_path / "family" / "stray.csv").write_text("x")
    cases = list(harness._unclaimed(tmp_path / "family", []))
    checks = harness.Checks()
    cases[0].check(checks)
    assert any("stray.csv" in failure for failure in checks.failures)
    assert any("no case that we know" in failure for failure in checks.failures)


def test_words_of_documentation_are_not_compared_however_deep_they_stand(tmp_path: Any) -> None:
    told = '{"a": {"value": 1, "note": "x", "published_DO_NOT_USE": 2}, "b": {"quirk": true}, "comment": "", "c": [3]}'
    (tmp_path / "expected.json").write_text(told)
    assert harness.read_expected(tmp_path / "expected.json") == {"a": {"value": 1}, "c": [3]}


@pytest.mark.parametrize(
    ("case", "changed", "phrase"),
    [
        ("person_localization_default", {"dataset": "fhibe_face_crop_align"}, "not found in list of available tasks"),
        ("keypoints_custom", {"custom_keypoints": ["Left eye", "Nose"]}, "not in the correct order"),
    ],
)
def test_a_case_of_fhibe_asks_for_nothing_that_the_drop_in_refuses(
    case: str, changed: dict[str, Any], phrase: str
) -> None:
    family, folder = harness.family_module("fhibe"), harness.DEFAULT_ROOT / "fhibe" / case
    assert family is not None
    config = {**json.loads((folder / "config.json").read_text(encoding="utf-8")), **changed}
    with pytest.raises((ArgumentValueError, ArgumentKeyError), match=phrase):
        family._Run(folder, config)


def test_a_difference_is_named() -> None:
    checks = harness.Checks()
    checks.close("curve", {"x": [1.0, 2.0]}, {"x": [1.0, 2.5]})
    checks.close("null is undefined", None, float("nan"))
    checks.equal("infinity", float("inf"), "inf")
    assert checks.failures == ["curve: .x[1] got 2.0, expected 2.5"]
    assert checks.made == 3
