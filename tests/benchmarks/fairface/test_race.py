"""Race rules: each phrase of the protocol's lexicon, each branch."""

import pytest

from evenhand.benchmarks.fairface.normalise import Mode, Normaliser, Reason
from evenhand.benchmarks.fairface.normalise.lexicon import demonyms
from evenhand.benchmarks.fairface.taxonomy import COARSE_OF

READ = Normaliser()

LEXICON = {
    (
        "Indian",
        "Indian",
    ): (
        "indian, east indian, asian indian, south asian, southern asian, indian subcontinent, "
        "subcontinental, indian american, pakistani, bangladeshi, sri lankan, nepali, nepalese, tamil, "
        "punjabi, bengali, gujarati, desi, indo aryan, dravidian"
    ),
    ("Asian", "unknown"): "asian, asians, asiatic, oriental, asian american, central asian, north asian",
    (
        "Asian",
        "East Asian",
    ): (
        "east asian, eastern asian, northeast asian, chinese, japanese, korean, taiwanese, mongolian, "
        "tibetan, far eastern, han"
    ),
    (
        "Asian",
        "Southeast Asian",
    ): (
        "southeast asian, south east asian, southeastern asian, south eastern asian, filipino, "
        "filipina, vietnamese, thai, indonesian, malay, malaysian, singaporean, cambodian, khmer, "
        "laotian, burmese, javanese"
    ),
    (
        "Black",
        "Black",
    ): (
        "black, blacks, african, africans, african american, afro american, afro caribbean, sub "
        "saharan, sub saharan african, black african, black american, nigerian, ethiopian, kenyan, "
        "ghanaian, somali, senegalese, sudanese, jamaican, haitian"
    ),
    (
        "White",
        "White",
    ): (
        "white, whites, caucasian, caucasians, european, europeans, white european, european american, "
        "white american, white caucasian, anglo, anglo saxon, slavic, nordic, scandinavian, eastern "
        "european, western european, northern european, southern european, russian, ukrainian, polish, "
        "german, irish, british, french, italian"
    ),
    (
        "Latino_Hispanic",
        "Latino_Hispanic",
    ): (
        "latino, latina, latinos, latinas, latinx, latine, hispanic, hispanics, latino hispanic, "
        "hispanic latino, latin, latin american, south american, central american, mexican, brazilian, "
        "colombian, puerto rican, peruvian, cuban, dominican, guatemalan, salvadoran, venezuelan, "
        "chilean, chicano, chicana, mestizo"
    ),
    (
        "Middle_Eastern",
        "Middle Eastern",
    ): (
        "middle eastern, middle east, middle easterner, mideastern, arab, arabs, arabic, arabian, "
        "persian, iranian, iraqi, turkish, kurdish, lebanese, syrian, egyptian, moroccan, algerian, "
        "tunisian, libyan, saudi, yemeni, jordanian, palestinian, afghan, north african, maghrebi, "
        "berber, west asian, western asian, southwest asian, mena"
    ),
    (
        "unknown",
        "unknown",
    ): (
        "mixed, mixed race, mixed heritage, mixed ethnicity, multiracial, multi racial, biracial, bi "
        "racial, multiethnic, multi ethnic, eurasian, half, native american, native american indian, "
        "american indian, amerindian, alaska native, pacific islander, polynesian, samoan, hawaiian, "
        "native hawaiian, maori, aboriginal, indigenous, first nations, inuit, melanesian, romani, "
        "roma, south african, west indian, mediterranean, spanish, american, caribbean, jewish, asia "
        "minor, black and white"
    ),
}
ROWS = [(phrase, *labels) for labels, phrases in LEXICON.items() for phrase in phrases.split(", ")]


def label(raw: str, mode: str = "field") -> str:
    return READ.race(raw, Mode(mode)).label


@pytest.mark.parametrize(("phrase", "coarse", "fine"), ROWS)
def test_every_phrase_of_the_lexicon_gives_its_labels(phrase, coarse, fine):
    for written in (phrase, phrase.upper(), phrase.replace(" ", "-"), phrase.replace(" ", "_"), f"{phrase}."):
        reading = READ.race(written)
        assert (reading.label, reading.fine) == (coarse, fine)


@pytest.mark.parametrize(
    ("phrase", "coarse", "fine"), [row for row in ROWS if row[0] not in ("black", "blacks", "white", "whites")]
)
def test_every_phrase_but_colours_is_evidence_in_prose_too(phrase, coarse, fine):
    assert label(f"The person looks {phrase} to me.", "prose") == coarse


OBJECTS = (
    "hair eye eyes beard moustache shirt jacket dress clothing clothes background glasses hat top "
    "suit tie coat eyebrow eyebrows photo image picture photograph wall scarf hijab headscarf "
    "turban teeth cap hoodie sweater frame frames lipstick blouse collar curtain wallpaper stripes "
    "skin lashes headband vest"
)


@pytest.mark.parametrize("noun", OBJECTS.split())
def test_the_colour_of_a_thing_is_no_race(noun):
    for mode in ("field", "prose"):
        assert label(f"black {noun}", mode) == "unknown"
        assert label(f"white long curly {noun}", mode) == "unknown"
    assert label(f"The {noun} is black.", "prose") == "unknown"


PERSONS = (
    "man woman person male female individual people race ethnicity descent ancestry origin heritage "
    "boy girl child kid baby infant toddler adult teen teenager guy lady gentleman subject human "
    "ethnic group population one men women boys girls appearance"
)


@pytest.mark.parametrize("noun", PERSONS.split())
def test_the_colour_of_a_person_is_evidence(noun):
    assert label(f"I see a white {noun} here", "prose") == "White"
    assert label(f"I see a black young tall {noun} here", "prose") == "Black"


FUNCTION = (
    "with and or who in based given because due from as whose aged at by of for possibly probably "
    "likely maybe perhaps though but"
)


@pytest.mark.parametrize("word", FUNCTION.split())
def test_a_predicated_colour_is_evidence(word):
    assert label(f"The man appears white {word} so on", "prose") == "White"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("A person in white.", "unknown"),
        ("She is wearing black and smiles", "unknown"),
        ("dressed all white, smiling", "unknown"),
        ("The man is black.", "Black"),
        ("The wall behind the man is white.", "unknown"),
        ("The man by the wall is white.", "White"),
        ("Someone black, probably African.", "Black"),
        ("The face looks black to me", "Black"),
        ("white/Caucasian", "White"),
        ("He is white Hispanic", "unknown"),
        ("A white South African man", "White"),
        ("A black and white portrait of an Arab", "Middle_Eastern"),
        ("A black-and-white filter, Japanese", "Asian"),
        ("olive complexion, brown, dark-skinned", "unknown"),
        ("Whites only", "unknown"),
    ],
)
def test_colours_in_prose(raw, expected):
    assert label(raw, "prose") == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("Asian (Chinese)", "Asian"),
        ("Asian, Korean", "Asian"),
        ("Asian / Indian", "unknown"),
        ("Indian or Asian", "unknown"),
        ("Indian/Asian", "unknown"),
        ("Asian, Indian", "Indian"),
        ("Asian or Chinese", "Asian"),
        ("Asian and Indian", "Indian"),
        ("not Asian or Indian", "unknown"),
        ("South Asians", "Indian"),
        ("mixed Black and Asian", "unknown"),
        ("not mixed, Black", "Black"),
        ("American", "unknown"),
        ("Italian American", "White"),
        ("African or Caribbean", "Black"),
        ("Native American or White", "unknown"),
        ("Ma\u0304ori", "unknown"),
        ("Latina/Latino", "Latino_Hispanic"),
    ],
)
def test_several_terms(raw, expected):
    assert label(raw) == expected


@pytest.mark.parametrize(
    ("raw", "coarse", "fine"),
    [
        ("Asian", "Asian", "unknown"),
        ("East Asian or Southeast Asian", "Asian", "unknown"),
        ("Asian, Thai", "Asian", "Southeast Asian"),
        ("Chinese or Japanese", "Asian", "East Asian"),
        ("Middle Eastern", "Middle_Eastern", "Middle Eastern"),
        ("White or Black", "unknown", "unknown"),
    ],
)
def test_the_fine_label_needs_exactly_one_of_the_seven(raw, coarse, fine):
    reading = READ.race(raw)
    assert (reading.label, reading.fine) == (coarse, fine)


def test_the_option_first_takes_the_first_asserted_class():
    first = Normaliser(first_of_several=True)
    assert first.race("White or Hispanic").label == "White"
    assert first.race("not White but Hispanic or Thai")[:2] == ("Latino_Hispanic", "Latino_Hispanic")
    assert first.race("Thai, Korean or White")[:2] == ("Asian", "unknown")
    assert first.race("mixed White or Hispanic").label == "unknown"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("", Reason.EMPTY),
        ("American Indian", Reason.OUTSIDE),
        ("Mediterranean", Reason.OUTSIDE),
        ("White or Black", Reason.SEVERAL),
        ("not White", Reason.NEGATED),
        ("cannot be determined", Reason.REFUSAL),
        ("Klingon", Reason.NOT_UNDERSTOOD),
    ],
)
def test_an_unknown_says_why(raw, reason):
    assert READ.race(raw).reason is reason


ISO_3166 = """
AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ
CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO
FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE
JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO
MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW
PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM
TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW
"""
WITHOUT_PEOPLE = {"AQ", "BV", "GS", "HM", "IO", "TF", "UM"}


def test_every_country_has_an_adjective_that_is_read_as_the_list_says():
    rows = list(demonyms())
    assert {country for country, _, _ in rows} == (set(ISO_3166.split()) - WITHOUT_PEOPLE) | {"XK"}
    for _, adjective, label in rows:
        expected = {"neutral": "unknown", "outside": "unknown", "Asian": "Asian"}.get(label) or COARSE_OF[label]
        assert READ.race(adjective).label == expected, adjective


@pytest.mark.parametrize(
    ("raw", "label"),
    [
        ("Kazakh", "Asian"),
        ("Uzbekistani", "Asian"),
        ("Maldivian", "Indian"),
        ("Georgian", "Middle_Eastern"),
        ("Sahrawi", "Middle_Eastern"),
        ("South Sudanese", "Black"),
        ("Barbadian", "Black"),
        ("Trinidadian", "unknown"),
        ("Vincentian", "unknown"),
        ("Costa Rican", "Latino_Hispanic"),
        ("Guyanese", "unknown"),
        ("Tongan", "unknown"),
        ("a Black Virgin Islander", "Black"),
    ],
)
def test_regions_decide_alike_where_the_protocol_names_no_country(raw, label):
    assert READ.race(raw).label == label
