"""How many subjects a group needs, and what a group of a given size can show.

Before collecting data: which difference would be found with 80 % power? Several images of
one subject are worth less than as many subjects: with m images each and correlation ρ, the
design effect is 1 + (m − 1)ρ.
"""

from typing import NamedTuple

import numpy as np

from evenhand.stats.checks import StatisticsError
from evenhand.stats.contrasts import detectable_difference
from evenhand.stats.distributions import normal_point, normal_quantile


class SubjectPlan(NamedTuple):
    """A size of group and the difference that it can show."""

    subjects: int  # of the group
    rows: int
    effective_rows: float
    design_effect: float
    detectable: float  # difference found with the asked power
    other_subjects: int | None  # of the group it is compared with; None for a large remainder


def design_effect(images: float, correlation: float) -> float:
    """By how much the variance grows when each subject gives several correlated images.

    >>> design_effect(5, 0.4)
    2.6
    """
    if images < 1:
        raise StatisticsError(f"{images} images per subject: expected 1 or more.")
    if not 0 <= correlation <= 1:
        raise StatisticsError(f"correlation {correlation} between images of a subject: expected 0 to 1.")
    return 1 + (images - 1) * correlation


def subjects_needed(
    margin: float,
    rate: float,
    *,
    images: float = 1,
    correlation: float = 0.0,
    power: float = 0.8,
    alpha: float = 0.05,
    balance: float | None = 1.0,
) -> SubjectPlan:
    """How many subjects a group needs so that a difference of `margin` is found with the given power.

    `rate` is the expected common rate. `balance` is how many subjects the other group has for each
    one of this; None compares with a remainder so large that its own error does not matter.

    >>> subjects_needed(0.05, 0.8).subjects
    1005
    >>> subjects_needed(0.05, 0.8, images=5, correlation=0.4).subjects
    523
    """
    _check(rate, power, alpha)
    if not margin > 0:
        raise StatisticsError(f"margin {margin}: expected a positive difference, such as 0.05.")
    if balance is not None and not balance > 0:
        raise StatisticsError(
            f"balance {balance}: expected a positive number of subjects in the other group for each here."
        )
    effect = design_effect(images, correlation)
    reach = normal_quantile(1 - alpha) + normal_point(power)
    sides = 1.0 if balance is None else 1 + 1 / balance
    effective = (reach / margin) ** 2 * rate * (1 - rate) * sides
    subjects = int(np.ceil(effective * effect / images - 1e-9))
    return what_shows(subjects, rate, images=images, correlation=correlation, power=power, alpha=alpha, balance=balance)


def what_shows(
    subjects: int,
    rate: float,
    *,
    images: float = 1,
    correlation: float = 0.0,
    power: float = 0.8,
    alpha: float = 0.05,
    balance: float | None = 1.0,
) -> SubjectPlan:
    """The difference that a group of so many subjects shows with the given power.

    >>> round(what_shows(100, 0.7, balance=None).detectable, 2)
    0.13
    """
    _check(rate, power, alpha)
    if subjects < 1:
        raise StatisticsError(f"{subjects} subjects: expected 1 or more.")
    effect = design_effect(images, correlation)
    effective = subjects * images / effect
    others = None if balance is None else int(np.ceil(subjects * balance - 1e-9))
    other_effective = np.inf if others is None else others * images / effect
    detectable = float(detectable_difference(rate, effective, other_effective, power=power, alpha=alpha))
    return SubjectPlan(subjects, int(np.ceil(subjects * images)), effective, effect, detectable, others)


def _check(rate: float, power: float, alpha: float) -> None:
    for name, value in (("rate", rate), ("power", power), ("alpha", alpha)):
        if not 0 < value < 1:
            raise StatisticsError(f"{name} {value}: expected a number between 0 and 1, exclusive.")
