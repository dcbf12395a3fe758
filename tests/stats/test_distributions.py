"""The distributions of the standard library are those of SciPy, which only a Fréchet distance loads."""

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


def test_an_evaluation_of_groups_needs_no_scipy() -> None:
    script = """
import sys
sys.modules["scipy"] = None  # as if it were not installed
import evenhand
import numpy as np
rng = np.random.default_rng(1)
truth = rng.integers(0, 2, 300)
data = {"truth": truth, "prediction": rng.permutation(truth), "sex": truth % 2, "who": np.arange(300) // 3}
evenhand.evaluate_table(data, truth="truth", prediction="prediction", by=["sex"], unit="who", rows="none")
from evenhand.core.errors import MissingExtraError
from evenhand.metrics.distances import frechet_distance
try:
    frechet_distance(rng.random((40, 3)), rng.random((40, 3)))
except MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout == "The Fréchet distance needs SciPy: pip install 'evenhand[pixels]'\n"
