"""Answer files of every family, matched to images; nothing is lost on the way."""

import json

import pytest

from evenhand.benchmarks.fairface.codec import FaceCodec
from evenhand.benchmarks.fairface.data import REPAIRED, load
from evenhand.benchmarks.fairface.deepface import choose_face, is_deepface
from evenhand.benchmarks.fairface.options import FaceOptions
from evenhand.core.errors import PredictionError
from evenhand.models.replies import ChatReply

CODEC = FaceCodec()
LABELS = "file,age,gender,race,service_test\n" + "".join(
    f"val/{n}.jpg,20-29,{'Male' if n % 2 else 'Female'},White,{n < 4}\n" for n in range(1, 6)
)


@pytest.fixture
def dataset(tmp_path):
    (tmp_path / "labels.csv").write_text(LABELS)
    return load(tmp_path, FaceOptions())


def read(tmp_path, dataset, text, name="answers.jsonl", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return CODEC.read(path, dataset, FaceOptions(**options))


def lines(*records):
    return "\n".join(json.dumps(record) for record in records) + "\n"


def said(answers, image="val/1.jpg"):
    answer = answers.get(image).answer
    age = answer.age.interval
    return answer.gender.label, answer.race.label, None if age is None else age[:2]


@pytest.mark.parametrize("key", ["image_path", "image", "file", "img_path", "path", "filename", "image_id", "id"])
@pytest.mark.parametrize("text", ["raw_output", "output", "response", "answer", "text", "prediction", "completion"])
def test_every_name_of_key_and_text_is_known(tmp_path, dataset, key, text):
    answers = read(tmp_path, dataset, lines({key: "val/1.jpg", text: "A white man of 30 years."}))
    assert said(answers) == ("Male", "White", (30, 30))


def test_a_record_may_carry_the_attributes_itself(tmp_path, dataset):
    answers = read(tmp_path, dataset, lines({"id": 1, "gender": "F", "race": "Thai", "age": [20, 30]}))
    assert said(answers) == ("Female", "Asian", (20, 30))


def test_an_object_instead_of_text_is_read_as_one(tmp_path, dataset):
    answers = read(tmp_path, dataset, lines({"id": 1, "output": {"gender": "F"}}))
    assert said(answers) == ("Female", "unknown", None)


@pytest.mark.parametrize(
    "record",
    [
        {"id": 1, "status": "error", "raw_output": "A man"},
        {"id": 1, "status": "timeout"},
        {"id": 1, "error": "504 Server Error"},
        {"id": 1, "raw_output": None, "exception": "boom"},
        {"id": 1, "raw_output": "Traceback (most recent call last):\n x"},
        {"id": 1, "raw_output": "ValueError: Face could not be detected"},
    ],
)
def test_an_error_record_is_no_answer(tmp_path, dataset, record):
    answers = read(tmp_path, dataset, lines(record, {"id": 2, "text": "A woman"}))
    assert said(answers) == ("unknown", "unknown", None)
    assert answers.facts["error_records"] == 1
    assert answers.facts["missing_predictions"] == 4
    assert (answers.coverage.answered, answers.coverage.unusable, answers.coverage.missing) == (1, 1, 3)


def test_an_error_gives_way_to_an_answer_of_another_try(tmp_path, dataset):
    answers = read(tmp_path, dataset, lines({"id": 1, "status": "error"}, {"id": 1, "text": "A man"}))
    assert said(answers)[0] == "Male"
    assert answers.facts["error_records"] == 0


def test_a_list_in_one_file_is_read_too(tmp_path, dataset):
    text = json.dumps([{"id": 1, "text": "man"}, {"id": 2, "text": "woman"}])
    assert len(read(tmp_path, dataset, text).ids) == 2
    assert len(read(tmp_path, dataset, json.dumps(json.loads(text), indent=1)).ids) == 2


def test_byte_order_mark_and_windows_lines_are_fine(tmp_path, dataset):
    text = "\ufeff" + lines({"id": 1, "text": "man"}, {"id": 2, "text": "woman"}).replace("\n", "\r\n") + "\r\n"
    assert len(read(tmp_path, dataset, text).ids) == 2


FACE = {
    "age": 31,
    "dominant_gender": "Woman",
    "dominant_race": "latino hispanic",
    "region": {"w": 10, "h": 10},
    "face_confidence": 0.9,
}


@pytest.mark.parametrize("payload", [FACE, [FACE], json.dumps(FACE), json.dumps([FACE]), str([FACE])])
def test_deepface_in_every_wrapping(tmp_path, dataset, payload):
    answers = read(tmp_path, dataset, lines({"id": 1, "raw_output": payload}))
    assert said(answers) == ("Female", "Latino_Hispanic", (31, 31))
    assert answers.facts["families"] == {"deepface": 1}


def test_a_text_of_deepface_that_comes_again_is_counted_as_deepface_again(tmp_path, dataset):
    answers = read(tmp_path, dataset, lines(*({"id": f"{n}.jpg", "raw_output": json.dumps(FACE)} for n in (1, 2, 3))))
    assert answers.facts["families"] == {"deepface": 3}


def test_the_largest_face_counts_then_confidence_then_order():
    def face(age, side, confidence=0.5):
        return {"age": age, "region": {"w": side, "h": side}, "face_confidence": confidence}

    assert choose_face([face(1, 5), face(2, 9), face(3, 7)]).fields.age == 2
    assert choose_face([face(1, 5, 0.1), face(2, 5, 0.9)]).fields.age == 2
    assert choose_face([face(1, 5), face(2, 5)]).fields.age == 1
    assert choose_face([]).fields is None
    assert choose_face("no json").fields is None
    assert choose_face([{"age": 4, "region": None}, 7]).fields.age == 4
    assert not is_deepface([])


def test_pictures_without_a_found_face_count_and_are_counted(tmp_path, dataset):
    answers = read(
        tmp_path,
        dataset,
        lines({"id": 1, "raw_output": [{**FACE, "face_confidence": 0}]}, {"id": 2, "raw_output": [FACE, FACE]}),
    )
    assert said(answers)[0] == "Female"
    assert answers.facts["zero_face_confidence"] == 1
    assert answers.facts["multi_face_images"] == 1


def test_gender_tables_of_deepface_are_read_where_no_dominant_is_given(tmp_path, dataset):
    payload = {"age": "47", "gender": {"Woman": "3", "Man": "97"}, "race": {"asian": 1, "black": "98"}, "region": {}}
    assert said(read(tmp_path, dataset, lines({"id": 1, "raw_output": payload}))) == ("Male", "Black", (47, 47))


SCRIPT = "face_name_align,race,race4,gender,age,race_scores_fair\n"


def test_the_script_s_lowest_face_counts(tmp_path, dataset):
    text = SCRIPT + "d/1_face1.jpg,White,White,Male,3-9,[1 2]\nd/1_face0.jpg,Latino_Hispanic,White,Female,20-29,[1 2]\n"
    answers = read(tmp_path, dataset, text, "out.csv")
    assert said(answers) == ("Female", "Latino_Hispanic", (20, 29))
    assert answers.facts["multi_face_images"] == 1
    assert answers.facts["families"] == {"fairface_csv": 2}
    four = read(tmp_path, dataset, text, "out.csv", race_column="race4")
    assert said(four)[1] == "White"
    assert any("never be right" in text for text in four.warnings)


def test_a_plain_csv_reads_each_cell_as_a_field(tmp_path, dataset):
    answers = read(
        tmp_path, dataset, 'sex,filename,Age Range,Ethnicity\nf,1.jpg,"20 to 30",black\n,2.jpg,03-Sep,\n', "a.csv"
    )
    assert said(answers) == ("Female", "Black", (20, 30))
    assert said(answers, "val/2.jpg") == ("unknown", "unknown", (3, 9))
    assert REPAIRED in answers.warnings


@pytest.mark.parametrize("dash", ["-", "\u2013", "\u2011"])
def test_an_age_that_became_a_date_is_repaired_with_any_dash_as_in_label_files(tmp_path, dataset, dash):
    answers = read(tmp_path, dataset, f"id,age\n1,Oct{dash}19\n", "a.csv")
    assert said(answers)[2] == (10, 19)
    assert REPAIRED in answers.warnings


def test_a_csv_may_have_whole_answers(tmp_path, dataset):
    assert said(read(tmp_path, dataset, 'id,response\n1,"A white man, 30 years old"\n', "a.csv"))[:2] == (
        "Male",
        "White",
    )


def test_the_faces_of_the_script_are_told_apart_also_where_a_cell_has_an_answer_of_deepface(tmp_path, dataset):
    table = "face_name_align;raw_output\n" + "".join(f"faces/{n}_face0.jpg;{json.dumps(FACE)}\n" for n in (1, 2))
    answers = read(tmp_path, dataset, table, "a.csv")
    assert said(answers, "val/1.jpg") == said(answers, "val/2.jpg") == ("Female", "Latino_Hispanic", (31, 31))


@pytest.mark.parametrize("repeats", [3, {"a": 1}, "again", True])
def test_repeats_that_are_no_list_are_no_answers(tmp_path, dataset, repeats):
    answers = read(tmp_path, dataset, lines({"id": 1, "raw_output": "A man.", "repeats": repeats}))
    assert said(answers)[0] == "Male"
    assert answers.get("val/1.jpg").repeats == ()


def test_confidences_are_found_in_a_table_as_in_json(tmp_path, dataset):
    answer = json.dumps({"gender": "male", "confidence": {"gender": 0.75}})
    table = f"id\tresponse\n1\t{answer}\n"
    for text, name in ((lines({"id": 1, "response": answer}), "a.jsonl"), (table, "a.tsv")):
        answers = read(tmp_path, dataset, text, name, confidence="on")
        assert answers.get("val/1.jpg").confidences.gender == 0.75
    table = f"id\tattribute\tresponse\n1\tgender\t{answer}\n"
    asked = lines({"id": 1, "attribute": "gender", "response": answer})
    for text, name in ((asked, "a.jsonl"), (table, "a.tsv")):
        answers = read(tmp_path, dataset, text, name, confidence="on")
        assert answers.get("val/1.jpg").confidences.gender == 0.75


@pytest.mark.parametrize(
    ("text", "name", "mentions"),
    [
        ("", "a.jsonl", ["empty"]),
        ('{"text": "man"}\n', "a.jsonl", ["line 1", "image key"]),
        ('{"id": 1, "text": "man"}\n{"id": 2, "te', "a.jsonl", ["line 2", "JSON"]),
        ("[1, 2]\n", "a.jsonl", ["record 1", "object"]),
        ("gender,race\nm,w\n", "a.csv", ["line 1", "image"]),
        ("file,color\n1,red\n", "a.csv", ["line 1", "gender"]),
        ("file,gender\n1,m,x\n", "a.csv", ["line 2", "3 fields"]),
        ("file,gender\n,m\n", "a.csv", ["line 2", "empty"]),
        ('{"id": "val/77.jpg", "text": "man"}\n', "a.jsonl", ["no answer is about a labelled image", "val/77.jpg"]),
        ('{"id": "train/1.jpg", "text": "man"}\n', "a.jsonl", ["train/1.jpg"]),
        (b'{"id": 1, "text": "m\xffan"}\n', "a.jsonl", ["line 1", "UTF-8"]),
        (b"\x00\x01\x02\x03", "a.csv", ["binary"]),
    ],
)
def test_what_can_not_be_read_is_refused_with_its_place(tmp_path, dataset, text, name, mentions):
    with pytest.raises(PredictionError) as refused:
        read(tmp_path, dataset, text, name)
    assert all(word in str(refused.value) for word in mentions), str(refused.value)


def test_strangers_are_counted_or_refused(tmp_path, dataset):
    text = lines({"id": 1, "text": "man"}, {"id": "val/77.jpg", "text": "man"}, {"id": "train/2.jpg", "text": "man"})
    answers = read(tmp_path, dataset, text)
    assert answers.facts["extra_predictions_ignored"] == 2
    assert answers.coverage.extra == 2
    with pytest.raises(PredictionError, match=r"val/77\.jpg"):
        read(tmp_path, dataset, text, extra="error")


def test_identical_answers_collapse_and_conflicting_ones_are_named(tmp_path, dataset):
    same = lines({"id": 1, "text": "man"}, {"id": 1, "text": "Male."})
    assert read(tmp_path, dataset, same).facts["identical_duplicates_collapsed"] == 1
    text = lines({"id": 1, "text": "a white man"}, {"id": "1.jpg", "text": "a white woman"})
    with pytest.raises(PredictionError, match=r"val/1\.jpg"):
        read(tmp_path, dataset, text)
    assert said(read(tmp_path, dataset, text, duplicates="first"))[:2] == ("Male", "White")
    assert said(read(tmp_path, dataset, text, duplicates="last"))[:2] == ("Female", "White")
    unknown = read(tmp_path, dataset, text, duplicates="unknown")
    assert said(unknown)[:2] == ("unknown", "White")
    assert unknown.facts["conflicting_duplicates"] == 1


def test_conflicts_of_race_and_age_are_told_apart(tmp_path, dataset):
    text = lines({"id": 1, "text": "Thai, 20 years old"}, {"id": 1, "text": "Korean, 30 years old"})
    answer = read(tmp_path, dataset, text, duplicates="unknown").get("val/1.jpg").answer
    assert (answer.race.label, answer.race.fine, answer.age.interval) == ("Asian", "unknown", None)


def test_answers_outside_the_subset_are_no_strangers(tmp_path, dataset):
    options = FaceOptions(subset="service_test")
    subset = load(tmp_path, options)
    path = tmp_path / "a.jsonl"
    path.write_text(lines(*({"id": n, "text": "man"} for n in range(1, 6))))
    answers = CODEC.read(path, subset, options)
    assert answers.facts["extra_predictions_ignored"] == 0
    assert len(answers.ids) == 3
    assert answers.coverage.asked == 3


def test_the_file_is_hashed(tmp_path, dataset):
    fact = read(tmp_path, dataset, lines({"id": 1, "text": "man"})).inputs[0]
    assert len(fact.hash) == 64
    assert fact.size == (tmp_path / "answers.jsonl").stat().st_size


def test_what_predict_writes_is_what_read_reads(tmp_path, dataset):
    path = tmp_path / "answers.jsonl"
    given = [
        ("val/1.jpg", "A white man ☺"),
        ("val/2.jpg", [FACE]),
        ("val/3.jpg", ChatReply('{"gender": "F"}', model="m", latency_seconds=0.5)),
        ("val/4.jpg", {"gender": "Male"}),
    ]
    plain = [(image, CODEC.from_plain(CODEC.to_plain(answer))) for image, answer in given]
    CODEC.write(path, plain, dataset, FaceOptions())
    answers = CODEC.read(path, dataset, FaceOptions())
    assert [answers.get(image).answer.gender.label for image, _ in given] == ["Male", "Female", "Female", "Male"]
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[2])["latency_seconds"] == 0.5
    assert answers.facts["requests"] == {"latency_seconds_median": 0.5}


@pytest.mark.parametrize(
    "raw", ["男性、三十歳", "🙂🙂🙂", "<b>Male</b><br>30", "\\u0000\x00", "\ud800 man", "a" * 100_000]
)
def test_strange_answers_are_kept_and_read(tmp_path, dataset, raw):
    answers = read(tmp_path, dataset, json.dumps({"id": 1, "text": raw}) + "\n")
    assert answers.get("val/1.jpg").raw == raw


def test_the_family_can_be_named(tmp_path, dataset):
    text = lines(
        {
            "id": 1,
            "raw_output": [
                {"gender": "Man", "region": {"w": 1, "h": 1}},
                {"gender": "Woman", "region": {"w": 2, "h": 2}},
            ],
        }
    )
    assert said(read(tmp_path, dataset, text, family="deepface"))[0] == "Female"
    assert said(read(tmp_path, dataset, text, family="vlm"))[0] == "Male"


def asked_of(attribute, answer, image="val/1.jpg"):
    return {"image": image, "attribute": attribute, "answer": answer}


def test_an_attribute_asked_twice_with_one_answer_is_no_conflict(tmp_path, dataset):
    text = lines(asked_of("gender", "Male"), asked_of("race", "White"), asked_of("gender", "male"))
    answers = read(tmp_path, dataset, text)
    assert said(answers) == ("Male", "White", None)
    assert answers.facts["identical_duplicates_collapsed"] == 1


@pytest.mark.parametrize(("choice", "gender"), [("first", "Male"), ("last", "Female"), ("unknown", "unknown")])
@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 0, 1)])
def test_a_conflict_about_one_attribute_leaves_the_others_as_they_are(tmp_path, dataset, choice, gender, order):
    given = asked_of("gender", "Male"), asked_of("gender", "Female"), asked_of("race", "White")
    text = lines(*(given[place] for place in order))
    assert said(read(tmp_path, dataset, text, duplicates=choice)) == (gender, "White", None)
    with pytest.raises(PredictionError, match=r"1 images have conflicting answers: val/1\.jpg"):
        read(tmp_path, dataset, text)


@pytest.mark.parametrize("key", ["{}", "{}.jpg", "val/{}.jpg"])
def test_keys_that_count_from_0_are_places_and_are_refused(tmp_path, dataset, key):
    text = lines(*({"id": key.format(n), "gender": "Male"} for n in range(5)))
    with pytest.raises(PredictionError, match="the images are named by numbers from 0"):
        read(tmp_path, dataset, text)


def test_keys_that_are_numbers_of_images_are_images(tmp_path, dataset):
    answers = read(tmp_path, dataset, lines(*({"id": n, "gender": "Male"} for n in range(1, 6))))
    assert answers.coverage.answered == 5


@pytest.mark.parametrize("name", ["answers.csv", "answers.jsonl"])
def test_a_file_about_another_attribute_is_refused(tmp_path, dataset, name):
    path = tmp_path / name
    path.write_text("file,gender\nval/1.jpg,Male\n" if name.endswith("csv") else lines({"id": 1, "gender": "Male"}))
    with pytest.raises(PredictionError, match=r"no answer says anything of race; they are about gender"):
        FaceCodec("race").read(path, dataset, FaceOptions())


def test_codes_that_were_stored_with_a_fraction_are_codes(tmp_path, dataset):
    text = "file,gender\nval/1.jpg,1.0\n"
    with pytest.raises(PredictionError, match="is a code for a gender"):
        read(tmp_path, dataset, text, name="answers.csv")
    assert said(read(tmp_path, dataset, text, name="answers.csv", label_order="script"))[0] == "Female"


def evaluated_for_race(tmp_path, dataset, text, name="answers.jsonl"):
    path = tmp_path / name
    path.write_text(text)
    return FaceCodec("race").read(path, dataset, FaceOptions())


@pytest.mark.parametrize("declined", [None, ""])
@pytest.mark.parametrize("wrapped", [dict, lambda fields: {"raw_output": fields}, lambda f: {"text": json.dumps(f)}])
def test_a_model_that_always_declines_is_scored(tmp_path, dataset, declined, wrapped):
    record = {"image": "val/1.jpg", **wrapped({"gender": "Male", "race": declined, "age": 30})}
    answers = evaluated_for_race(tmp_path, dataset, lines(record))
    assert said(answers)[:2] == ("Male", "unknown")
    assert answers.coverage.answered == 1


def test_a_column_of_empty_cells_is_scored_and_a_question_that_was_asked_too(tmp_path, dataset):
    text = "file,gender,race\nval/1.jpg,Male,\n"
    assert said(evaluated_for_race(tmp_path, dataset, text, "answers.csv"))[:2] == ("Male", "unknown")
    text = lines(asked_of("gender", "Male"), asked_of("race", "I cannot tell."))
    assert said(evaluated_for_race(tmp_path, dataset, text))[0] == "Male"


@pytest.mark.parametrize("answer", ['{"gender": "Male"}', {"gender": "Male", "age": 30}])
def test_answers_that_never_had_the_attribute_are_refused(tmp_path, dataset, answer):
    with pytest.raises(PredictionError, match="no answer says anything of race"):
        evaluated_for_race(tmp_path, dataset, lines({"id": 1, "raw_output": answer}))
    with pytest.raises(PredictionError, match="no answer says anything of race"):
        evaluated_for_race(tmp_path, dataset, lines(asked_of("gender", "Male")))


def test_answers_to_more_images_than_are_labelled_are_ignored_also_that_of_image_0(tmp_path, dataset):
    answers = read(tmp_path, dataset, lines(*({"id": f"own/{n}.jpg", "gender": "Male"} for n in range(10))))
    assert answers.coverage.extra == 10 - answers.coverage.answered > 1
