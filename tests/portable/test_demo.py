"""The demonstration gives the same verdicts and values on other processors."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from compare_results import compare, differences
from variants import Variant, environment, variants

EVENHAND = Path(sys.executable).with_name("evenhand")


def test_a_verdict_a_text_or_a_value_that_differs_is_named():
    first = {"value": 0.5, "verdict": "worse", "rows": [1, 2.0, {"p": 0.1}]}
    assert list(differences(first, {"value": 0.5 + 1e-12, "verdict": "worse", "rows": [1, 2, {"p": 0.1}]})) == []
    other = {"value": 0.5 + 1e-6, "verdict": "even", "rows": [1, 2.0]}
    assert [line.partition(":")[0] for line in differences(first, other)] == ["/rows", "/value", "/verdict"]


@pytest.mark.slow
def test_the_demonstration_is_the_same_on_other_processors(tmp_path: Path):
    here = {variant.name: variant for variant in variants()}
    others = [here[name] for name in ("v2", "nehalem", "elsewhere") if name in here]
    # All that differs is changed at once: a demonstration takes minutes, and a difference names its value anyway.
    unlike = Variant(
        "unlike", {name: value for other in others for name, value in other.environment.items()}, others[-1].umask
    )

    def demonstrate(variant: Variant) -> Path:
        folder = tmp_path / variant.name
        command = [EVENHAND, "demo", "--runs", folder, "--json"]
        subprocess.run(command, env=environment(variant), umask=variant.umask, check=True, capture_output=True)
        return folder

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(demonstrate, (here["all"], unlike))
    assert compare(first, second) == []
