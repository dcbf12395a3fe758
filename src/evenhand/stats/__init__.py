"""Differences that can be relied on: intervals, contrasts between groups, comparisons of models.

`intervals`, `contrasts`, `ranks`, `summaries`, `paired` and `differentials` are arrays in, arrays out; inside their
arrays NaN means "not defined". `analysis.analyse` stands over them: from the cells of a tally it gives every metric and
group the interval that fits, tests the groups against each other, and says what may be said.
"""
