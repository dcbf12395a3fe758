"""The distributions of the standard library are those of SciPy, and no interval by them loads SciPy."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import special

from evenhand.stats import distributions


def test_normal_quantiles_are_those_of_scipy() -> None:
    for mass in (1e-12, 0.025, 0.5, 0.8, 0.975, 1 - 1e-9):
        assert distributions.normal_point(mass) == pytest.approx(special.ndtri(mass), rel=1e-13, abs=1e-15)


def test_logits_are_those_of_scipy() -> None:
    share = np.concatenate([np.geomspace(1e-300, 0.5, 500), 1 - np.geomspace(1e-15, 0.5, 500)])
    odds = np.linspace(-750, 750, 3001)
    np.testing.assert_allclose(distributions.logit(share), special.logit(share), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(distributions.logistic(odds), special.expit(odds), rtol=1e-13, atol=1e-300)


def test_intervals_of_independent_proportions_need_no_scipy() -> None:
    script = (
        "import sys; import numpy as np; from evenhand import stats; import evenhand.stats.analysis\n"
        "from evenhand.stats import intervals\n"
        "intervals.wilson([3], [20])\n"
        "assert not [name for name in sys.modules if name.startswith('scipy')]"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
