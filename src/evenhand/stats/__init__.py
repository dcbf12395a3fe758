"""Honest differences: intervals, contrasts between groups, comparisons of models.

`intervals`, `contrasts`, `ranks`, `summaries`, `paired` and `differentials` are arrays in, arrays out; inside their
arrays NaN means "not defined". `analyse` stands over them: from the cells of a tally it gives every metric and
group the interval that fits, tests the groups against each other, and says what may be said.
"""

from evenhand.stats.analysis import Analysis, analyse, cells_asked
from evenhand.stats.comparison import Comparison, GapContrast, ModelContrast, compare
from evenhand.stats.multiplicity import Correction
from evenhand.stats.settings import Settings
from evenhand.stats.verification import VerificationSheet, verification_sheet

__all__ = [
    "Analysis",
    "Comparison",
    "Correction",
    "GapContrast",
    "ModelContrast",
    "Settings",
    "VerificationSheet",
    "analyse",
    "cells_asked",
    "compare",
    "verification_sheet",
]
