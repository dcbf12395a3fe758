"""Runs are paired only where they agree on the data, whatever the family."""

from pathlib import Path

import pytest

import evenhand as eh


def test_two_versions_of_a_label_file_are_not_compared(tmp_path: Path) -> None:
    demo = eh.demo("fairface", tmp_path)[0]
    settings = {"draws": 0, "permutations": 0}
    before = eh.evaluate(demo.task, demo.predictions, data=demo.data, model="before", **settings)
    again = eh.evaluate(demo.task, demo.predictions, data=demo.data, model="again", **settings)
    assert eh.compare(before, again, draws=0)[0].contrasts
    labels = next(demo.data.rglob("*.csv"))
    lines = labels.read_text(encoding="utf-8").splitlines()
    lines[1] = lines[1].replace("Female", "Male") if "Female" in lines[1] else lines[1].replace("Male", "Female")
    labels.write_text("\n".join(lines) + "\n", encoding="utf-8")
    after = eh.evaluate(demo.task, demo.predictions, data=demo.data, model="after", **settings)
    with pytest.raises(eh.EvenhandError, match=r"'truth' differs in 1 of 1,400 rows \(val/1.jpg: (Fem|M)ale and"):
        eh.compare(before, after)
