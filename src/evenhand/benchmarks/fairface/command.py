"""`evenhand fairface …`: what the reader makes of a sentence, and how even it is.

```text
evenhand fairface read "A Black woman in her 30s."      what one answer gives, and by which rules
evenhand fairface read --file answers.jsonl             the same for every answer of a file
evenhand fairface evenness                              how often each group is read, over all sentence patterns
```
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from evenhand.benchmarks.fairface.normalise import NORMALISER_VERSION, FaceAnswer, Normaliser
from evenhand.benchmarks.fairface.options import FaceOptions
from evenhand.core.command_line import CommandParser
from evenhand.core.errors import EvenhandError, OptionError
from evenhand.core.printing import printable_lines


def read(text: str, *, normaliser: Normaliser | None = None) -> dict[str, dict[str, Any]]:
    """What an answer gives per attribute: the value, the rules that fired, and the words they fired on.

    >>> read("A Black woman in her 30s.")["race"]
    {'value': 'Black', 'rules': ['R1'], 'words': ['black'], 'fine': 'Black'}
    >>> read("not male")["gender"]
    {'value': 'unknown', 'rules': ['N5'], 'words': [], 'reason': 'negated'}
    """
    return described((normaliser or Normaliser()).answer(text))


def described(answer: FaceAnswer) -> dict[str, dict[str, Any]]:
    """An answer as plain values."""
    described: dict[str, dict[str, Any]] = {}
    for attribute, reading in answer._asdict().items():
        described[attribute] = {
            "value": age_text(answer) if attribute == "age" else reading.label,
            "rules": list(reading.rules),
            "words": list(reading.words),
            **({"reason": reading.reason.value} if reading.reason is not None else {}),
        }
    if answer.race.reason is None:
        described["race"]["fine"] = answer.race.fine
    return described


def age_text(answer: FaceAnswer) -> str:
    """An age as people write it.

    >>> age_text(Normaliser().answer("over 60"))
    '61 or older'
    """
    interval = answer.age.interval
    if interval is None:
        return "unknown"
    if interval.high is None:
        return f"{interval.low} or older"
    return str(interval.low) if interval.low == interval.high else f"{interval.low}-{interval.high}"


class FaceCommand:
    """The command `fairface` with its parts."""

    name = "fairface"
    summary = "Show how answers are read, and how evenly."

    def main(self, argv: Sequence[str]) -> int:
        """Run a command line; 0 when it was done, 2 when the input can't be used."""
        given = _parser().parse_args(list(argv))
        try:
            for line in given.run(given):
                sys.stdout.write(f"{printable_lines(line)}\n")
        except EvenhandError as error:
            sys.stderr.write(f"{error}\n")
            return 2
        return 0


command = FaceCommand()


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(prog="evenhand fairface", description=FaceCommand.summary)
    parts = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    reading = parts.add_parser("read", help="what an answer gives, with the rules that fired and their words")
    reading.add_argument("text", nargs="*", help="the answer; without it and --file, standard input")
    reading.add_argument("--file", type=Path, help="an answer file of any shape, or text with one answer per line")
    reading.add_argument("--profile", choices=("full", "strict"), default="full", help="which rules read")
    reading.add_argument("--multi", choices=("unknown", "first"), default="unknown", help="what several races are")
    reading.add_argument("--age-words", choices=("on", "off"), default="on", help="whether words are ages")
    reading.add_argument("--json", action="store_true", help="print one JSON object per answer")
    reading.set_defaults(run=_read)
    even = parts.add_parser("evenness", help="how often each group is read, over all sentence patterns")
    even.set_defaults(run=_evenness)
    return parser


def _read(given: argparse.Namespace) -> Iterator[str]:
    if given.text and given.file:
        raise OptionError("Give an answer or --file, not both.")
    normaliser = FaceOptions(profile=given.profile, multi=given.multi, age_words=given.age_words).normaliser
    if not given.json:
        yield f"normaliser version {NORMALISER_VERSION}"
    for text, answer in _answers(given, normaliser):
        values = described(answer)
        if given.json:
            yield json.dumps({"text": text, **values}, ensure_ascii=False)
        else:
            yield from _lines(text, values)


def _answers(given: argparse.Namespace, normaliser: Normaliser) -> Iterable[tuple[str, FaceAnswer]]:
    if given.file is None:
        text = " ".join(given.text) if given.text else sys.stdin.read()
        return [(text, normaliser.answer(text))]
    from evenhand.benchmarks.fairface.answer_files import texts_of

    return texts_of(given.file, normaliser)


def _lines(text: str, values: dict[str, dict[str, Any]]) -> Iterator[str]:
    yield repr(text if len(text) <= 200 else f"{text[:200]}…")
    for attribute, reading in values.items():
        why = f" ({reading['reason']})" if "reason" in reading else ""
        words = ", ".join(repr(word) for word in reading["words"])
        on = f" on {words}" if words else ""
        yield f"  {attribute:<7}{reading['value']}{why}  by {' '.join(reading['rules']) or 'no rule'}{on}"


def _evenness(given: argparse.Namespace) -> Iterator[str]:
    from evenhand.benchmarks.fairface.normalise.evenness import attribute_evenness

    normaliser = Normaliser()
    for attribute in ("race", "gender", "age"):
        even = attribute_evenness(attribute, normaliser)
        for name, share in even.coverage.items():
            yield f"{attribute:<7}{name:<16}{even.sentences[name]:>8,} sentences  {100 * share:6.1f} % read"
        yield f"{attribute:<7}largest difference {100 * even.largest_difference:.1f} points"
        for pattern, missed in even.uneven:
            yield f"{attribute:<7}not read in {pattern!r}: {', '.join(missed[:8])}"
