"""Who a row is about: age buckets, countries, group labels, order and display of attribute values.

The published rules, kept where published numbers depend on them:

- a row belongs to every value of a multi-valued attribute that is *contained as text* in its cell, so
  `5. Kenyan` is found inside `105. Kenyan`;
- nationality adds the regions whose member list has an entry contained in the cell;
- groups are ordered by leading number, except age, hour, country and hue, which sort as text.

Corrections stand beside them under their own names: `nationality_corrected` puts a nationality into
its region by name instead of by number, and `location_country_corrected` joins the country names that
title case splits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.cells import LiteralError, parse_literal, selections
from evenhand.core.records import MISSING, Attribute

AGE_BUCKETS = vocabulary.VALUES["age"]
CORRECTED_NATIONALITY = "nationality_corrected"
CORRECTED_COUNTRY = "location_country_corrected"

_NUMBERED = re.compile(r"^\s*(\d+)\.\s*")
_CANONICAL_COUNTRIES = {name.casefold(): name for name in vocabulary.COUNTRY_VARIANTS.values()}
# Nationalities by the name in the data, also those that no published region lists: the number is not trusted.
_REGION_NAMES: Mapping[str, frozenset[str]] = {
    region: frozenset([*map(vocabulary.plain_name, members), *vocabulary.UNLISTED_NATIONALITIES.get(region, ())])
    for region, members in vocabulary.NATIONALITY_REGIONS.items()
}


def age_bucket(age: float | None) -> str | None:
    """The age bucket of an age in years; None below 10 or when there is none.

    >>> age_bucket(29), age_bucket(60), age_bucket(None)
    ('[18, 30)', '[60, +]', None)
    """
    if age is None or not age >= 10:
        return None
    return AGE_BUCKETS[min(max(int(age) // 10 - 2, 0), 4)]


def clean_country(raw: str | None) -> str | None:
    """The country that a free text names; None for the two texts that name none.

    A known variant is replaced; else blanks are stripped and the text is title-cased and looked up
    again. Title case turns `United States of America` into another group than `usa` (Q13).

    >>> clean_country(" uk "), clean_country("United States of America")
    ('United Kingdom of Great Britain and Northern Ireland', 'United States Of America')
    """
    if raw is None:
        return None
    for text in (raw, raw.strip().title()):
        if text in vocabulary.DROPPED_COUNTRIES:
            return None
        if text in vocabulary.COUNTRY_VARIANTS:
            return vocabulary.COUNTRY_VARIANTS[text]
    return raw.strip().title()


def corrected_country(raw: str | None) -> str | None:
    """The country, with names that title case splits joined again.

    >>> corrected_country("United States of America"), corrected_country("usa")
    ('United States of America', 'United States of America')
    """
    cleaned = clean_country(raw)
    return None if cleaned is None else _CANONICAL_COUNTRIES.get(cleaned.casefold(), cleaned)


def found_values(attribute: str, cells: Iterable[str | None]) -> tuple[str, ...]:
    """The individual values that occur in a column, in the published order."""
    distinct = dict.fromkeys(cell for cell in cells if cell is not None)
    if attribute in vocabulary.MULTI_VALUED:
        distinct = dict.fromkeys(value for cell in distinct for value in selections(cell))
    return tuple(sorted(distinct, key=partial(sort_key, attribute)))


def labels(attribute: str, cell: str | None, values: Sequence[str]) -> tuple[str, ...]:
    """The groups of one attribute that a cell belongs to; `values` are those that the column holds.

    >>> labels("nationality", "['105. Kenyan']", ("5. Kenyan", "105. Kenyan"))
    ('227. African', '5. Kenyan', '105. Kenyan')
    """
    if cell is None:
        return ()
    if attribute not in vocabulary.MULTI_VALUED:
        return (cell,)
    own = tuple(value for value in values if value in cell)
    if attribute != "nationality":
        return own
    regions = tuple(
        region
        for region, members in vocabulary.NATIONALITY_REGIONS.items()
        if any(member in cell for member in members)
    )
    return (*regions, *own)


def corrected_nationality(cell: str | None) -> tuple[str, ...]:
    """The regions of a nationality cell by name, then its own values; exact, not by containment.

    >>> corrected_nationality("['214. Uzbek']")
    ('229. Asian', '214. Uzbek')
    """
    if cell is None:
        return ()
    own = selections(cell)
    names = {vocabulary.plain_name(value) for value in own}
    return (*(region for region, members in _REGION_NAMES.items() if members & names), *own)


def sort_key(attribute: str, value: str) -> tuple[int, str]:
    """What the values of an attribute are ordered by: text, or the leading number alone."""
    if attribute in vocabulary.SORTED_AS_TEXT or attribute == CORRECTED_COUNTRY:
        return 0, value
    number = _NUMBERED.match(value)
    return (int(number.group(1)), "") if number else (10**9, value)


def rows_without(attribute: Attribute) -> int:
    """How many rows belong to no level of an attribute."""
    return int(attribute.belongs(MISSING).sum())


def canonical(attributes: Iterable[str]) -> tuple[str, ...]:
    """The attributes in canonical order; corrected ones after the one they correct."""
    asked = set(attributes)
    order = [*vocabulary.ATTRIBUTES, CORRECTED_NATIONALITY, CORRECTED_COUNTRY]
    return tuple(name for name in order if name in asked)


def group_key(values: Sequence[str]) -> str:
    """A group or an attribute combination as the published files write it: the text of a Python list.

    >>> group_key(["Côte D'Ivoire", "0. Fog"])
    '["Côte D\\'Ivoire", \\'0. Fog\\']'
    """
    return str([str(value) for value in values])


def parse_key(key: str) -> list[str]:
    """The values in a published key, read as data."""
    values = parse_literal(key)
    if not isinstance(values, list):
        raise LiteralError(f"{key[:40]!r} is not a list")
    return [str(value) for value in values]


def display_value(attribute: str, value: str) -> str:
    """A value as the report prints it: without number, skin colours as Fitzpatrick types.

    >>> display_value("apparent_skin_color", "2. [164, 131, 103]"), display_value("ancestry", "11. Asia")
    ('IV', 'Asia')
    """
    if attribute in vocabulary.SKIN_COLOURS:
        return vocabulary.SKIN_TYPES.get(value, value)
    if attribute == "apparent_skin_color_hue_lum":
        return value.replace("_", " ")
    if attribute in vocabulary.SORTED_AS_TEXT or attribute == CORRECTED_COUNTRY:
        return value
    return _NUMBERED.sub("", value)


def display_name(attribute: str) -> str:
    """An attribute's name as the report prints it.

    >>> display_name("apparent_skin_color_hue_lum")
    'Apparent Skin Color Hue Lum'
    """
    return attribute.replace("_", " ").title()


def display_group(attributes: Sequence[str], values: Sequence[str]) -> list[str]:
    """The values of a group as the report prints them."""
    return [display_value(name, value) for name, value in zip(attributes, values, strict=True)]
