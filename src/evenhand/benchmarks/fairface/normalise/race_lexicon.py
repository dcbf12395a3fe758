"""The phrases that name a race or ethnicity, and the words that decide what a colour word is said of.

The lexicon is the protocol's (rule R1). Each phrase is listed in the singular;
`Indians`, `East Asians` and the like are read as their singular.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from evenhand.benchmarks.fairface.normalise.wording import listed

ASIAN: Final = "Asian"  # unspecified: neither East, Southeast nor South
MIXED: Final = "mixed"
OUTSIDE: Final = "outside"
NEUTRAL: Final = "neutral"

PHRASES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Indian": "indian, east indian, asian indian, south asian, southern asian, indian subcontinent, "
        "subcontinental, indian american, pakistani, bangladeshi, sri lankan, nepali, nepalese, tamil, punjabi, "
        "bengali, gujarati, desi, indo aryan, dravidian",
        ASIAN: "asian, asiatic, oriental, asian american, central asian, north asian",
        "East Asian": "east asian, eastern asian, northeast asian, chinese, japanese, korean, taiwanese, mongolian, "
        "tibetan, far eastern, han",
        "Southeast Asian": "southeast asian, south east asian, southeastern asian, south eastern asian, filipino, "
        "filipina, vietnamese, thai, indonesian, malay, malaysian, singaporean, cambodian, khmer, laotian, burmese, "
        "javanese",
        "Black": "black, african, african american, afro american, afro caribbean, sub saharan, sub saharan african, "
        "black african, black american, nigerian, ethiopian, kenyan, ghanaian, somali, senegalese, sudanese, "
        "jamaican, haitian",
        "White": "white, caucasian, european, white european, european american, white american, white caucasian, "
        "anglo, anglo saxon, slavic, nordic, scandinavian, eastern european, western european, northern european, "
        "southern european, russian, ukrainian, polish, german, irish, british, french, italian",
        "Latino_Hispanic": "latino, latina, latinos, latinas, latinx, latine, hispanic, latino hispanic, "
        "hispanic latino, latin, latin american, south american, central american, mexican, brazilian, colombian, "
        "puerto rican, peruvian, cuban, dominican, guatemalan, salvadoran, venezuelan, chilean, chicano, chicana, "
        "mestizo",
        "Middle Eastern": "middle eastern, middle east, middle easterner, mideastern, arab, arabic, arabian, persian, "
        "iranian, iraqi, turkish, kurdish, lebanese, syrian, egyptian, moroccan, algerian, tunisian, libyan, saudi, "
        "yemeni, jordanian, palestinian, afghan, north african, maghrebi, berber, west asian, western asian, "
        "southwest asian, mena",
        MIXED: "mixed, mixed race, mixed heritage, mixed ethnicity, multiracial, multi racial, biracial, bi racial, "
        "multiethnic, multi ethnic, eurasian, half",
        OUTSIDE: "native american, native american indian, american indian, amerindian, alaska native, "
        "pacific islander, polynesian, samoan, hawaiian, native hawaiian, maori, aboriginal, indigenous, "
        "first nations, inuit, melanesian, romani, roma",
        NEUTRAL: "south african, west indian, mediterranean, spanish, american, caribbean, jewish, asia minor, "
        "black and white",
    }
)

_PLURAL_ENDINGS: Final = listed(
    "asian african american european caucasian hispanic indian arab black white easterner islander "
    "filipino filipina chicano chicana mexican brazilian"
)

COLOURS: Final = frozenset({"black", "blacks", "white", "whites"})

DESCRIPTORS: Final = frozenset(
    listed(
        "young old older elderly adult middle aged teenage little short tall slim curly straight wavy long "
        "thick dark light bright"
    )
)
OBJECT_NOUNS: Final = frozenset(
    listed(
        "hair eye eyes beard moustache shirt jacket dress clothing clothes background glasses hat top suit "
        "tie coat eyebrow eyebrows photo image picture photograph wall scarf hijab headscarf turban teeth cap "
        "hoodie sweater frame frames lipstick blouse collar curtain wallpaper stripes striped skin skinned "
        "lashes headband vest"
    )
)
WEARING: Final = frozenset(["wearing", "wears", "wore", "dressed"])
PERSON_NOUNS: Final = frozenset(
    listed(
        "man woman person male female individual people race ethnicity descent ancestry origin heritage boy "
        "girl child kid baby infant toddler adult teen teenager guy lady gentleman subject human american "
        "african caribbean european ethnic group population one men women boys girls appearance complexion"
    )
)
FUNCTION_WORDS: Final = frozenset(
    listed(
        "with and or who in based given because due from as whose aged at by of for possibly probably likely "
        "maybe perhaps though but"
    )
)


class Phrase(NamedTuple):
    """A phrase of the lexicon as words, and what it stands for."""

    words: tuple[str, ...]
    label: str


def _listed() -> Iterator[Phrase]:
    for label, phrases in PHRASES.items():
        for text in phrases.split(", "):
            words = tuple(text.split())
            yield Phrase(words, label)
            if words[-1] in _PLURAL_ENDINGS and words != ("black", "and", "white"):
                yield Phrase((*words[:-1], words[-1] + "s"), label)


def _by_first_word() -> Mapping[str, tuple[Phrase, ...]]:
    grouped: dict[str, list[Phrase]] = {}
    for phrase in _listed():
        grouped.setdefault(phrase.words[0], []).append(phrase)
    return MappingProxyType(
        {word: tuple(sorted(phrases, key=lambda phrase: -len(phrase.words))) for word, phrases in grouped.items()}
    )


LEXICON: Final = _by_first_word()  # first word → its phrases, longest first
FIRST_WORDS: Final = frozenset(LEXICON)
ALONE: Final = {  # words that are phrases themselves
    phrase.words[0]: phrase.label for phrase in reversed(list(_listed())) if len(phrase.words) == 1
}
BEGINNINGS: Final = frozenset(words[:2] for words, _ in _listed() if len(words) > 1)  # of all the other phrases
