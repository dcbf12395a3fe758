"""How names differ from known ones."""

from __future__ import annotations

import pytest

from evenhand.files.names import difference


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("out/a.jpg", "a.jpg", "their folder"),
        ("A.jpg", "a.jpg", "upper and lower case"),
        ("a.png", "a.jpg", "their extension"),
        ("f1", "f0001", "the zeros before their numbers"),
        ("out\\F1.png", "f0001.jpg", "their folder, extension, case or zeros"),
    ],
)
def test_a_difference_is_named_with_an_example(name: str, known: str, said: str) -> None:
    assert difference([name], [known]) == f"They differ in {said}: write {known}, not {name}."


def test_nothing_is_said_where_known_names_would_become_the_same() -> None:
    assert difference(["A.jpg"], ["a.jpg", "a.JPG"]) == ""


def test_nothing_is_said_where_most_names_have_no_partner() -> None:
    assert difference(["A", "x", "y"], ["a", "b", "c"]) == ""
    assert difference([], ["a"]) == ""
