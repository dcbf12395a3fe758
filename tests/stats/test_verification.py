"""Verification by group, from rows that are comparisons."""

import numpy as np
import pytest

from evenhand.core.errors import UnknownNameError
from evenhand.core.metric import Undefined
from evenhand.core.records import Attribute, Records
from evenhand.stats.settings import Settings
from evenhand.stats.verification import verification_sheet

QUICK = Settings(draws=200, min_rows=5, min_units=5)


def comparisons(people: int = 24, each: int = 3) -> Records:
    rng = np.random.default_rng(2)
    a, b = (np.repeat(side, each) for side in np.triu_indices(people))
    group = np.arange(people) % 2
    score = np.where(a == b, rng.normal(2, 0.5, len(a)), rng.normal(0, 0.5, len(a)) + 0.4 * (group[a] & group[b]))
    pair = group[a] + group[b]
    return Records(
        {"unit": a, "unit_b": b, "score": score, "same": a == b},
        {
            "tone_a": Attribute.coded(group[a], ("light", "dark")),
            "tone_b": Attribute.coded(group[b], ("light", "dark")),
            "tones": Attribute.coded(pair, ("both light", "mixed", "both dark")),
        },
    )


def test_one_threshold_serves_all_groups_and_the_planted_group_has_more_false_matches() -> None:
    rows = comparisons()
    sheet = verification_sheet(rows, "tone_a", "tone_b", target=0.02, settings=QUICK)
    impostor = rows["unit"] != rows["unit_b"]
    assert (rows["score"][impostor] >= sheet.threshold).mean() == pytest.approx(sheet.realised_fmr)
    assert sheet.realised_fmr <= 0.02
    light, dark = sheet.groups
    assert isinstance(light.fmr, float)
    assert isinstance(dark.fmr, float)
    assert dark.fmr > light.fmr
    assert dark.fmr_low is not None
    assert dark.fmr_low < dark.fmr < (dark.fmr_high or 0)
    assert sheet.matrix[0, 1] == sheet.matrix[1, 0]
    assert sheet.matrix[1, 1] == pytest.approx(dark.fmr)


def test_an_attribute_of_pairs_gives_rates_by_level_and_no_matrix() -> None:
    rows = comparisons()
    sheet = verification_sheet(rows, "tones", target=0.02, settings=QUICK)
    by_people = verification_sheet(rows, "tone_a", "tone_b", target=0.02, settings=QUICK)
    assert [group.group for group in sheet.groups] == ["both light", "mixed", "both dark"]
    assert sheet.groups[2].false_matches == by_people.groups[1].false_matches
    assert np.isnan(sheet.matrix).all()


def test_nobody_seen_failing_is_said_with_an_upper_limit() -> None:
    sheet = verification_sheet(comparisons(), "tone_a", "tone_b", target=0.0, settings=QUICK)
    light = sheet.groups[0]
    assert light.false_matches == 0
    assert light.fmr_high is not None
    assert light.fmr_high > 0.1
    assert any("no false match" in note for note in light.notes)
    assert isinstance(sheet.numbers.inequity_rate, Undefined)


def test_failures_to_enrol_are_counted_by_group_and_match_nobody() -> None:
    rows = comparisons()
    failed = (rows["unit"] == 4) | (rows["unit_b"] == 4)
    rows = Records({**rows.columns, "score": np.where(failed, np.nan, rows["score"])}, rows.attributes)
    sheet = verification_sheet(rows, "tone_a", "tone_b", target=0.02, settings=QUICK)
    assert [group.failures_to_enrol for group in sheet.groups] == [1, 0]
    assert sheet.groups[0].false_non_matches >= 3


def test_a_threshold_can_be_set_on_a_reference_group() -> None:
    plain = verification_sheet(comparisons(), "tone_a", "tone_b", target=0.02, settings=QUICK)
    dark = verification_sheet(comparisons(), "tone_a", "tone_b", target=0.02, settings=QUICK, reference="dark")
    assert dark.threshold > plain.threshold


def test_rows_that_are_no_comparisons_are_refused_by_the_missing_column() -> None:
    rows = Records({"unit": np.arange(3)}, {})
    with pytest.raises(UnknownNameError, match="unit_b"):
        verification_sheet(rows, "tone_a")
    with pytest.raises(UnknownNameError, match="colour"):
        verification_sheet(comparisons(), "colour", "tone_b")


def test_documented_names_are_imported_from_the_package() -> None:
    import evenhand.stats

    assert evenhand.stats.verification_sheet is verification_sheet
    assert {"Comparison", "Correction", "Settings", "analyse", "compare"} <= set(dir(evenhand.stats))
