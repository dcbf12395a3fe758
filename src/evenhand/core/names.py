"""How a family's keys are written for people: attributes, levels, values. The keys stay in the data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evenhand.core.printing import printable

_SHARES = re.compile(
    r"(balanced_)?accuracy(_\w+)?|macro_f1(_\w+)?|f1|precision|recall|(\w+_)?rate"
    r"|(TAR|TMR|TPIR|FPIR|FNIR|FMR|FNMR|VAL|DR|TPR|FPR|EER|FAR)\b.*|rank \d+"
)


@dataclass(frozen=True)
class DisplayNames:
    """Names for reports. What is not named here is written by rule: `30-39` as 30–39, `a_b` as a b."""

    attributes: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # attribute → level → name
    swatches: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # attribute → level → colour
    # Patterns of `metric: output`, the first that matches as a whole, and what is written instead.
    values: Sequence[tuple[str, str]] = ()
    shares: Sequence[str] = ()  # patterns of `metric: output` that are written in per cent
    numbers: Sequence[str] = ()  # patterns that are not, though their names look like shares
    family: str = ""  # the name of the family in titles
    tasks: Mapping[str, str] = field(default_factory=dict)  # task → title
    items: str = "samples"  # what is answered: faces, images, searches
    marks: Mapping[str, str] = field(default_factory=dict)  # metric → what stands behind the names of its values
    card_types: Mapping[str, str] = field(default_factory=dict)  # task → its type in model cards, where it has one
    sentence: str = ""  # such as "{group} faces are classified correctly {value} of the time", for the first value

    def attribute(self, key: str) -> str:
        """An attribute as people write it.

        >>> DisplayNames().attribute("skin_tone")
        'skin tone'
        """
        return self.attributes.get(key) or printable(key.replace("_", " "), keep="")

    def level(self, attribute: str, key: str) -> str:
        """A level as people write it.

        >>> [DisplayNames().level("", key) for key in ("30-39", "[18, 30)", "[60, +]", "2. Wavy", "dark_red", "70+")]
        ['30–39', '18–29', '60 and over', 'Wavy', 'dark red', '70+']
        """
        named = self.levels.get(attribute, {}).get(key)
        return printable(level_name(key), keep="") if named is None else named

    def value(self, metric: str, output: str) -> str:
        """One output of one metric as people write it.

        >>> DisplayNames(values=[("TAR@.*: rate", "TAR")]).value("TAR@0.01", "rate")
        'TAR'
        >>> DisplayNames().value("gender", "macro_f1"), DisplayNames().value("PCK", "mean")
        ('gender: macro F1', 'PCK')
        """
        return self._value(metric, output) + self.marks.get(metric, "")

    def _value(self, metric: str, output: str) -> str:
        full = f"{metric}: {output}"
        for pattern, name in self.values:
            match = re.fullmatch(pattern, full)
            if match:
                return match.expand(name)
        words = re.sub(r"\bf1\b", "F1", output.replace("_", " "))
        if metric == output:
            return words
        return (
            metric if output in ("mean", "rate", "distance", "sum", "value") else f"{metric.replace('_', ' ')}: {words}"
        )

    def is_share(self, metric: str, output: str) -> bool:
        """Whether a value is written in per cent, where it lies between 0 and 1.

        >>> DisplayNames().is_share("gender", "accuracy"), DisplayNames().is_share("ssim", "mean")
        (True, False)
        """
        full = f"{metric}: {output}"
        if any(re.fullmatch(pattern, full) for pattern in self.numbers):
            return False
        return any(re.fullmatch(pattern, full) for pattern in self.shares) or _SHARES.fullmatch(output) is not None


def level_name(key: str) -> str:
    """A level without what only a file needs: list numbers, interval brackets, underscores."""
    text = re.sub(r"^\d+\. ?(?=\S)", "", key)
    interval = re.fullmatch(r"\[(\d+), ?(\d+|\+)[)\]]", text)
    if interval:
        low, high = interval[1], interval[2]
        return f"{low} and over" if high == "+" else f"{low}–{int(high) - (text[-1] == ')')}"
    text = re.sub(r"(?<=\d)-(?=\d)", "–", text) if re.fullmatch(r"\d+-\d+( \w+)?", text) else text
    return text.replace("_", " ")
