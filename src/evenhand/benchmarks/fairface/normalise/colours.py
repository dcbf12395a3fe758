"""Whether `black` or `white` describes a person (rule R2).

What follows the colour decides first: a person noun or a thing. Where the colour is
predicated or listed, the head of the clause's subject decides: "the man in the image
is white", but "his hair is black". The words are looked at once, from left to right.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum
from typing import Final

from evenhand.benchmarks.fairface.normalise.age import FIRST_WORDS, VAGUE
from evenhand.benchmarks.fairface.normalise.age_numbers import NUMBER_WORDS
from evenhand.benchmarks.fairface.normalise.lexicon import table, vocabulary, words
from evenhand.benchmarks.fairface.normalise.negation import CLAUSE_ENDS, CONTRASTS, SENTENCE_ENDS
from evenhand.benchmarks.fairface.normalise.race_lexicon import COLOURS
from evenhand.benchmarks.fairface.normalise.text import TextCache

_TABLE: Final = table("race.toml")
_GRAMMAR: Final = {name: words(text) for name, text in _TABLE["grammar"].items()}
_OTHER_COLOURS: Final = words(_TABLE["colours"]["other"])
_COLOURS: Final = COLOURS | _OTHER_COLOURS
_DESCRIPTORS: Final = words(_TABLE["colours"]["descriptors"])
_COMPOUNDS: Final = words(_TABLE["colours"]["compounds"])
_PRONOUNS: Final = words(_TABLE["people"]["pronouns"])
_PICTURES: Final = words(_TABLE["things"]["pictures"])
_THINGS: Final = words(_TABLE["things"]["words"])
_PEOPLE: Final = words(_TABLE["people"]["words"]) | words(_TABLE["people"]["answers"])
_ONLY_THINGS: Final = _THINGS - _PICTURES - {"background", "it", "its"}
_ALL_PEOPLE: Final = _PEOPLE | vocabulary("people.txt")
_ALL_THINGS: Final = _THINGS | vocabulary("things.txt")
_FUNCTION: Final = _GRAMMAR["function"]
_VERBS: Final = _GRAMMAR["verbs"]
_PREPOSITIONS: Final = _GRAMMAR["prepositions"]
_DETERMINERS: Final = _GRAMMAR["determiners"]
_COPULAS: Final = _GRAMMAR["copulas"]
_WORN: Final = _GRAMMAR["worn"]
_WORN_ADVERBS: Final = _GRAMMAR["worn_adverbs"]
_AGE_TERMS: Final = FIRST_WORDS | VAGUE | NUMBER_WORDS | {"early", "mid", "late", "teens"}
_CLAUSE_SIGNS: Final = frozenset(",()[]{}\"'|/")
_ADVERBS: Final = _GRAMMAR["adverbs"]
_POSSESSING: Final = _GRAMMAR["possessing"]
_OF_A_PLACE: Final = _GRAMMAR["of_a_place"]
_OF_DESCENT: Final = _GRAMMAR["of_descent"]
_BEFORE_NOUNS: Final = _DETERMINERS | _OF_DESCENT
_COLOUR_JOINTS: Final = _GRAMMAR["colour_joints"]
_NOT_ADJECTIVES: Final = _GRAMMAR["not_adjectives"]
_MOST_DESCRIPTORS: Final = 4
_FARTHEST_NOUN: Final = 9
_STRUCTURAL: Final = SENTENCE_ENDS | CONTRASTS | _CLAUSE_SIGNS | _VERBS | _PREPOSITIONS | _GRAMMAR["structural"] | {":"}


class NounKind(Enum):
    """What a noun names."""

    PERSON = "person"
    THING = "thing"
    PICTURE = "picture"  # a thing that shows a person


_PERSON: Final = NounKind.PERSON
_THING: Final = NounKind.THING
_PICTURE: Final = NounKind.PICTURE
_NO_PERSON: Final = (_THING, _PICTURE)


class ColourReader:
    """The words of one text, without its hyphens; asked about its colours from left to right.

    `hyphenated` are the positions of words that a hyphen ties to the word before.
    """

    def __init__(self, tokens: Sequence[str], hyphenated: Collection[int] = ()) -> None:
        self.tokens = tokens
        self.hyphenated = hyphenated
        self._at = 0
        self._last_noun: NounKind | None = None  # of any sentence
        self._begin_sentence()

    def is_said_of_a_person(self, at: int, *, before_a_term: bool) -> bool:
        """Whether the colour at a position is; `before_a_term` says that another race follows directly."""
        tokens = self.tokens
        following = tokens[at + 1] if at + 1 < len(tokens) else "."
        if following in _ONLY_THINGS:
            return False
        previous = tokens[at - 1] if at else "."
        if following in _COMPOUNDS or (at + 1 in self.hyphenated and following.endswith("ed")):
            return False
        noun = None if following in CLAUSE_ENDS else self._noun_after(at)
        if noun is not None:
            kind, position = noun
            if tokens[position] == "background":
                return self._is_descent(at)
            if kind is not _PERSON:
                return False
            return not self._is_part_of_a_thing(position)
        if self._is_worn(at) or (following == "of" and tokens[at].endswith("s")):
            return False
        copular = self._is_copular(at)
        if not copular:
            if self._is_joined_to_a_colour(at) or self._thing_after_adjectives(at, previous):
                return False
            if not (before_a_term or _may_follow(following)):
                return False
        return self._subject_allows(at, previous)

    def _noun_after(self, at: int) -> tuple[NounKind, int] | None:
        """The noun that a colour stands before, over at most a few descriptors and other colours."""
        tokens, position = self.tokens, at + 1
        for _ in range(_MOST_DESCRIPTORS + 1):
            if position >= len(tokens):
                return None
            token = tokens[position]
            kind = _KINDS[token]
            if kind is not None and token not in _DESCRIPTORS:
                return (_PERSON, position + 1) if self._qualifies_a_person(position) else (kind, position)
            if token in ("and", "or", "/") and position + 1 < len(tokens) and tokens[position + 1] in _OTHER_COLOURS:
                position += 2
                continue
            if token in _OTHER_COLOURS or _is_descriptor(token):
                position += 1
                continue
            if token.isalpha() and token not in _FUNCTION and self._qualifies_a_person(position):
                return _PERSON, position + 1
            last = position - 1  # "a young adult": a descriptor may itself be the noun
            return (_PERSON, last) if last > at and _KINDS[tokens[last]] is _PERSON else None
        return None

    def _qualifies_a_person(self, position: int) -> bool:
        """Whether a noun or an unknown word stands directly before a person noun: "police officer"."""
        following = self.tokens[position + 1] if position + 1 < len(self.tokens) else ""
        return self.tokens[position] not in _THINGS and _KINDS[following] is _PERSON

    def _is_part_of_a_thing(self, position: int) -> bool:
        """Whether a person noun only qualifies a thing: "white men's shirt", "white face paint"."""
        if self.tokens[position] in _OF_DESCENT:
            return False
        following = self.tokens[position + 1] if position + 1 < len(self.tokens) else ""
        return following not in _PICTURES and _KINDS[following] is _THING and following not in _FUNCTION

    def _is_descent(self, at: int) -> bool:
        """Whether a background is a person's: "of Black background", not "on a white background", nor a picture's."""
        last = at - 1
        while last >= 0 and self.tokens[last] in ("a", "an", "likely", "probably"):
            last -= 1
        if last < 0 or self.tokens[last] not in ("of", "from", "has", "have"):
            return False
        if self.tokens[last] in ("of", "from"):
            return last == 0 or _KINDS[self.tokens[last - 1]] not in _NO_PERSON
        self._advance(at)
        return self._subject not in _NO_PERSON and (last == 0 or self.tokens[last - 1] != "it")

    def _is_worn(self, at: int) -> bool:
        before = at - 1
        while before >= 0 and self.tokens[before] in _WORN_ADVERBS:
            before -= 1
        return before >= 0 and self.tokens[before] in _WORN

    def _is_copular(self, at: int) -> bool:
        """Whether the colour is a predicate: "is", "appears to be", "is most likely" stand before it."""
        for token in reversed(self.tokens[max(at - 6, 0) : at]):
            if token in _COPULAS:
                return True
            if not (token.endswith("ly") or token in _ADVERBS):
                return False
        return False

    def _is_joined_to_a_colour(self, at: int) -> bool:
        """Whether a colour that never names a race is joined to this one: "black and gray", "brown or black"."""
        tokens = self.tokens
        if at + 1 < len(tokens) and tokens[at + 1] in _COLOUR_JOINTS:
            ahead = [token for token in tokens[at + 2 : at + 4] if token not in ("dark", "light", "bright")]
            if ahead and ahead[0] in _OTHER_COLOURS:
                return True
        return at >= 2 and tokens[at - 1] in _COLOUR_JOINTS and tokens[at - 2] in _OTHER_COLOURS

    def _thing_after_adjectives(self, at: int, previous: str) -> bool:
        """Whether a colour begins a list of adjectives before a thing: "has black, curly hair"."""
        if previous not in _POSSESSING and previous not in ("a", "an", "the"):
            return False
        for token in self.tokens[at + 1 : at + _FARTHEST_NOUN]:
            kind = _KINDS[token]
            if kind is not None and token not in _DESCRIPTORS:
                return kind is not _PERSON
            if token in SENTENCE_ENDS or token in _VERBS or (token in _PREPOSITIONS and not _is_descriptor(token)):
                break
        return previous in _POSSESSING

    def _subject_allows(self, at: int, previous: str) -> bool:
        """Whether the head of the clause's subject is no thing."""
        self._advance(at)
        if self._label:
            return False
        if self._verb:
            return self._subject not in _NO_PERSON
        if self._pending is not None:
            return self._pending is _PERSON
        if self._inside:
            return previous not in _OF_A_PLACE
        return not (self._verb_before and self._subject in _NO_PERSON)

    def _begin_sentence(self) -> None:
        self._subject: NounKind | None = None
        self._pending: NounKind | None = None  # the latest noun of the clause that may be a subject
        self._listed: NounKind | None = None  # the nearest noun of any kind
        self._verb = self._verb_before = self._inside = self._swallowed = self._label = False

    def _advance(self, to: int) -> None:
        """Read the words up to a position; every word is read once."""
        tokens = self.tokens
        for position in range(self._at, to):
            token = tokens[position]
            if token in _STRUCTURAL:
                self._take(position, token)
            elif (
                _KINDS[token] is not None
                or token in _DETERMINERS
                or token in _PRONOUNS
                or (position and tokens[position - 1] in _BEFORE_NOUNS)
            ):  # other words are no nouns
                self._take_noun(position, token)
        self._at = max(self._at, to)

    def _take(self, position: int, token: str) -> None:
        if token in SENTENCE_ENDS or token in CONTRASTS:
            subject, verb = self._subject, self._verb or self._verb_before
            self._begin_sentence()
            if token in CONTRASTS:
                self._subject, self._verb_before = subject, verb
        elif token in (":", "="):
            thing = self._listed is _THING and not self._verb
            self._begin_sentence()
            self._label = thing
        elif token in _CLAUSE_SIGNS:
            self._begin_clause()
        elif token in ("and", "while", "whereas"):
            if self._verb or (self._verb_before and self._next_is_verb(position)):
                self._begin_clause()
        elif token == "who":
            self._subject, self._pending, self._inside = _PERSON, None, False
        elif token in ("which", "that"):
            if self._next_is_verb(position):
                self._subject, self._pending, self._inside = self._listed, None, False
            else:
                self._take_noun(position, token)
        elif token == "whose":
            self._begin_clause()
        elif token in _VERBS:
            if self._pending is not None:
                self._subject = self._pending
            self._pending, self._verb, self._inside = None, True, False
        elif token == "like" and self._verb:
            self._begin_sentence()  # "it looks like the person is …"
        else:  # a preposition
            self._inside, self._swallowed = True, False

    def _begin_clause(self) -> None:
        if self._pending is not None and self._subject is None:
            self._subject = self._pending
        self._verb_before = self._verb_before or self._verb
        self._pending, self._verb, self._inside = None, False, False

    def _next_is_verb(self, position: int) -> bool:
        return position + 1 < len(self.tokens) and self.tokens[position + 1] in _VERBS

    def _take_noun(self, position: int, token: str) -> None:
        before = self.tokens[position - 1] if position else ""
        if token in _DETERMINERS:
            if self._inside and self._swallowed and before not in ("and", "or"):
                self._inside = False
            if token not in _PRONOUNS:
                return
        if token == "it" and self._last_noun is not _THING:
            return  # "it is a man": nothing was named that it could stand for
        kind = _PERSON if token in _PRONOUNS or before in _OF_DESCENT else _KINDS[token]
        if kind is None:
            if before not in _DETERMINERS or _is_descriptor(token) or token in _COLOURS or token.endswith("ly"):
                return
            kind = _THING  # "the sedan": a noun that is in no list
        self._listed = self._last_noun = kind
        if self._inside:
            self._swallowed = True
        else:
            self._pending = kind
        if kind is _PERSON and self._subject is _PICTURE:
            self._subject = _PERSON


def is_before_a_thing(tokens: Sequence[str], at: int) -> bool:
    """Whether a thing follows the colour at a position directly: most colours, and no sentence need be read for them.

    >>> is_before_a_thing(["black", "hair"], 0)
    True
    """
    return at + 1 < len(tokens) and tokens[at + 1] in _ONLY_THINGS


def _kind_of(token: str) -> NounKind | None:
    """What a noun names, in the singular or the plural; None for other words.

    >>> _kind_of("baker"), _kind_of("scarves"), _kind_of("slowly")
    (<NounKind.PERSON: 'person'>, <NounKind.THING: 'thing'>, None)
    """
    if token in _PICTURES:
        return _PICTURE
    if token in _PEOPLE:
        return _PERSON
    if token in _THINGS:
        return _THING
    if token in _FUNCTION or token in _VERBS or token in _COLOURS:
        return None
    for singular in _singulars(token):
        if singular in _ALL_THINGS:
            return _THING
        if singular in _ALL_PEOPLE:
            return _PERSON
    return None


_KINDS: Final = TextCache(_kind_of)


def _singulars(token: str) -> tuple[str, ...]:
    if token.endswith("ves"):
        return token, token[:-1], token[:-3] + "f"
    if token.endswith("ies"):
        return token, token[:-3] + "y"
    if token.endswith("es"):
        return token, token[:-1], token[:-2]
    return (token, token[:-1]) if token.endswith("s") and len(token) > 3 else (token,)


def _is_descriptor(token: str) -> bool:
    if token in _DESCRIPTORS:
        return True
    return token.endswith(("ing", "ed")) and len(token) > 4 and token not in _NOT_ADJECTIVES


def _may_follow(token: str) -> bool:
    """Whether a word may follow a colour that is predicated or listed (R2, b)."""
    if token in _FUNCTION or token in _AGE_TERMS or token in CONTRASTS or token in ("m", "f"):
        return True
    return not token[0].isalpha()
