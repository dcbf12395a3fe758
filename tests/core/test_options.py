"""Switches by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from evenhand.core.errors import OptionError, UnknownNameError
from evenhand.core.options import Options, as_plain, facts, option, parse
from evenhand.stats.settings import Settings, margin_of


@dataclass(frozen=True)
class Switches(Options):
    taxonomy: Literal["coarse", "fine"] = option("coarse", "how many classes")
    strict: bool = option(False, "no mercy")
    ranks: tuple[int, ...] = option((1, 5), "ranks to report")
    rate: float | None = option(None, "a rate")
    where: Path = option(Path("x"), "a file")


def test_texts_become_the_declared_types() -> None:
    given = {"taxonomy": "fine", "strict": "yes", "ranks": "1, 10", "rate": "0.5", "where": "a/b"}
    assert parse(Switches, given) == Switches("fine", True, (1, 10), 0.5, Path("a/b"))
    assert parse(Switches, {"rate": "none"}).rate is None
    assert parse(Switches, {"strict": False, "ranks": [3]}) == Switches(ranks=(3,))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"taxonomy": "middle"}, "it takes coarse | fine"),
        ({"strict": "perhaps"}, "it takes true | false"),
        ({"ranks": "1,x"}, "whole numbers, separated by commas"),
        ({"rate": "nan"}, "it takes a number | none"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(given: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message.replace("|", r"\|")):
        parse(Switches, given)


def test_an_unknown_option_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'taxonomy'"):
        parse(Switches, {"taxnomy": "fine"})


def test_facts_and_plain_values_can_be_printed() -> None:
    assert facts(Switches)[0] == ("taxonomy", "coarse", "how many classes", "coarse | fine")
    assert as_plain(Switches()) == {"taxonomy": "coarse", "strict": False, "ranks": [1, 5], "rate": None, "where": "x"}


def test_an_earlier_name_of_an_option_is_still_accepted() -> None:
    @dataclass(frozen=True)
    class Renamed(Options):
        rules: str = option("compat", "whose rules count", former="reading")

    assert parse(Renamed, {"reading": "strict"}) == Renamed("strict")


@pytest.mark.parametrize("name", ["draws", "permutations", "margin", "confidence", "min_rows", "margins"])
def test_a_number_of_400_digits_is_refused_in_words(name: str):
    huge = int("1" * 400)
    with pytest.raises(OptionError, match=name):
        Settings.make({name: {"a": huge} if name == "margins" else huge})


@pytest.mark.parametrize(
    ("given", "margins"),
    [
        ("psnr=1.0, ssim=0.1", {"psnr": 1.0, "ssim": 0.1}),
        ("verification.TAR@FAR=1e-4=0.02", {"verification.TAR@FAR=1e-4": 0.02}),
        ("search.TPIR@FPIR=0.01, rank 1=0.02;CMC=0.1", {"search.TPIR@FPIR=0.01, rank 1": 0.02, "CMC": 0.1}),
    ],
)
def test_a_margin_is_set_for_any_value_by_its_name(given: str, margins: dict[str, float]):
    assert Settings.make({"margins": given}).margins == margins


@pytest.mark.parametrize("given", ["0.05", "=0.05", "psnr=1,0.05", {"": 0.05}])
def test_a_margin_without_a_name_is_refused(given: object):
    with pytest.raises(OptionError, match="name=a number"):
        Settings.make({"margins": given})


@pytest.mark.parametrize(
    ("given", "output"),
    [("TAR@FAR=1e-4", "TAR@FAR=0.0001"), ("TPR@score=1e+06", "TPR@score=1e+06"), ("a=007", "a=007")],
)
def test_a_margin_reaches_its_value_however_numbers_are_written(given: str, output: str):
    assert margin_of(Settings(margins={f"rates.{given}": 0.3}), "rates", output, np.array([0.5])) == 0.3
