"""The shapes of answer files that people have: each with a small file, each in the documentation's table."""

import bz2
import gzip
import io
import json
from datetime import datetime

import polars
import pytest

from evenhand.benchmarks.fairface.codec import FaceCodec
from evenhand.benchmarks.fairface.data import load
from evenhand.benchmarks.fairface.options import FaceOptions
from evenhand.core.errors import EvenhandError, PredictionError

LABELS = "file,age,gender,race,service_test\n" + "".join(
    f"val/{n}.jpg,20-29,{'Male' if n % 2 else 'Female'},White,{n < 4}\n" for n in range(1, 6)
)
SAYS = "A Black woman of about 35."
FACE = {
    "age": 35,
    "dominant_gender": "Woman",
    "dominant_race": "black",
    "region": {"x": 0, "y": 0, "w": 9, "h": 9},
    "face_confidence": 0.9,
}
SMALL = {**FACE, "age": 5, "region": {"w": 1, "h": 1}}


def lines(*records):
    return "\n".join(json.dumps(record) for record in records) + "\n"


def chat(text, **more):
    return {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}], **more}


def frame(**columns):
    buffer = io.BytesIO()
    polars.DataFrame(columns).write_parquet(buffer)
    return buffer.getvalue()


IMAGE = "val/1.jpg"
SHAPES = {
    "JSON lines": lines({"image_path": IMAGE, "raw_output": SAYS}),
    "JSON list": json.dumps([{"file": IMAGE, "response": SAYS}], indent=1),
    "object keyed by image": json.dumps({IMAGE: SAYS, "val/2.jpg": {"gender": "Male"}}),
    "object that holds a list": json.dumps({"model": "m", "results": [{"img": IMAGE, "pred": SAYS}]}),
    "attributes in the record": lines({"file_name": IMAGE, "gender": "F", "race": "Black", "age": 35}),
    "predicted_ in the record": lines(
        {"img": IMAGE, "gender": "Male", "predicted_gender": "F", "predicted_race": "Black", "predicted_age": "35"}
    ),
    "generated_text": lines({"image": IMAGE, "generated_text": SAYS}),
    "content": lines({"image": IMAGE, "content": SAYS}),
    "message.content": lines({"image": IMAGE, "message": {"role": "assistant", "content": SAYS}}),
    "chat completion": lines({"image": IMAGE, **chat(SAYS)}),
    "chat completion under response": lines({"filepath": IMAGE, "response": chat(SAYS)}),
    "OpenAI Batch output": lines(
        {
            "id": "batch_req_1",
            "custom_id": IMAGE,
            "response": {"status_code": 200, "body": chat(SAYS, usage={"prompt_tokens": 7})},
            "error": None,
        }
    ),
    "OpenAI Batch, one question per attribute": lines(
        *(
            {"id": "x", "custom_id": f"{IMAGE}-{name}", "response": {"status_code": 200, "body": chat(text)}}
            for name, text in (("gender", "F"), ("race", "Black"), ("age", "35"))
        )
    ),
    "HuggingFace image-to-text": lines({"image": IMAGE, "output": [{"generated_text": SAYS}]}),
    "LLaVA": lines({"question_id": IMAGE, "prompt": "Describe the person.", "text": SAYS, "model_id": "llava"}),
    "ms-swift": lines(
        {"query": "<image>Describe the person.", "response": SAYS, "images": [IMAGE], "history": [], "labels": None}
    ),
    "ms-swift messages": lines(
        {
            "images": [{"path": IMAGE}],
            "messages": [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": SAYS}],
        }
    ),
    "lmms-eval samples": lines(
        {"doc_id": 0, "doc": {"file": IMAGE}, "target": "x", "resps": [[SAYS]], "filtered_resps": [SAYS]}
    ),
    "one question per attribute": lines(
        {"image": IMAGE, "question": "Is the person male or female?", "answer": "F"},
        {"image": IMAGE, "question": "What is the race?", "answer": "Black"},
        {"image": IMAGE, "attribute": "age", "answer": "35"},
    ),
    "DeepFace dictionaries": lines({"image": IMAGE, "raw_output": [SMALL, FACE]}),
    "DeepFace under results": lines({"image": IMAGE, "results": [SMALL, FACE]}),
    "DeepFace under result": lines({"image": IMAGE, "result": FACE}),
    "DeepFace under analysis": lines({"image": IMAGE, "analysis": [FACE]}),
    "DeepFace repr in a CSV cell": f'img,result\n{IMAGE},"{[SMALL, FACE]}"\n'.replace("35", "np.float32(35.2)"),
    "DeepFace columns": f"img_path,dominant_gender,dominant_race,age,face_confidence\n{IMAGE},Woman,black,35,0\n",
    "CSV": f"file,gender,race,age\n{IMAGE},F,Black,35\n",
    "CSV with text": f'image,raw_output\n{IMAGE},"{SAYS}"\n',
    "CSV with labels and predictions": "file,gender,race,age,gender_pred,race_pred,age_pred\n"
    f"{IMAGE},Male,White,20-29,F,Black,35\n",
    "CSV with true_ and pred_": f"image_name,true_gender,pred_gender,pred_race,pred_age\n{IMAGE},Male,F,Black,35\n",
    "TSV": f"file\tgender\trace\tage\n{IMAGE}\tF\tBlack\t35\n",
    "CSV with line ends of old Macs": f"file,gender,race,age\r{IMAGE},F,Black,35\r",
    "semicolons": f"file;gender;race;age\n{IMAGE};F;Black;35\n",
    "FairFace script": f"face_name_align,race,race4,gender,age\ndetected/1_face0.jpg,Black,Black,Female,35\n",  # noqa: F541
    "Parquet": frame(file=[IMAGE], gender=["F"], race=["Black"], age=[35]),
    "gzip": gzip.compress(lines({"image": IMAGE, "text": SAYS}).encode()),
    "gzipped CSV": gzip.compress(f"file,gender,race,age\n{IMAGE},F,Black,35\n".encode()),
    "bzip2": bz2.compress(lines({"image": IMAGE, "text": SAYS}).encode()),
}


@pytest.fixture
def dataset(tmp_path):
    (tmp_path / "labels.csv").write_text(LABELS)
    return load(tmp_path, FaceOptions())


def read(tmp_path, dataset, content, **options):
    path = tmp_path / "answers"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return FaceCodec().read(path, dataset, FaceOptions(**options))


def values(answers, image=IMAGE):
    answer = answers.get(image).answer
    return answer.gender.label, answer.race.label, answer.age.interval and answer.age.interval[:2]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_read(tmp_path, dataset, shape):
    assert values(read(tmp_path, dataset, SHAPES[shape])) == ("Female", "Black", (35, 35))


def test_the_documentation_lists_every_shape(request):
    page = (request.config.rootpath / "docs/families/fairface.md").read_text(encoding="utf-8")
    assert [
        shape for shape in (*SHAPES, "HuggingFace image-classification", "Excel") if f"| {shape} |" not in page
    ] == []


def test_a_classification_pipeline_gives_its_best_label(tmp_path, dataset):
    scores = [{"label": "Female", "score": 0.2}, {"label": "Male", "score": 0.8}]
    answers = read(tmp_path, dataset, lines({"image": IMAGE, "predictions": scores}, {"image": 2, "output": scores}))
    assert values(answers)[0] == values(answers, "val/2.jpg")[0] == "Male"


def test_an_excel_file_is_a_table_and_its_dates_are_ages(tmp_path, dataset):
    openpyxl = pytest.importorskip("openpyxl", reason="Excel files are read where openpyxl is installed")
    book = openpyxl.Workbook()
    for row in (
        ("file", "gender", "race", "age"),
        (IMAGE, "F", "Black", 35),
        ("val/2.jpg", "M", "White", datetime(2024, 3, 9, tzinfo=None)),  # 3-9
        ("val/3.jpg", "M", "White", datetime(2019, 10, 1, tzinfo=None)),  # 10-19
    ):
        book.active.append(row)
    book.save(tmp_path / "answers.xlsx")
    answers = FaceCodec().read(tmp_path / "answers.xlsx", dataset, FaceOptions())
    assert values(answers) == ("Female", "Black", (35, 35))
    assert [values(answers, f"val/{n}.jpg")[2] for n in (2, 3)] == [(3, 9), (10, 19)]


def test_a_long_cell_is_an_answer(tmp_path, dataset):
    long = "A white shirt. " * 20_000
    answers = read(tmp_path, dataset, f'file,raw_output\n{IMAGE},"{long}\n{SAYS}"\n')
    assert values(answers) == ("Female", "Black", (35, 35))


def test_three_files_are_a_folder(tmp_path, dataset):
    folder = tmp_path / "answers_by_attribute"
    folder.mkdir()
    for name, text in (("gender", "f"), ("race", "Black"), ("age", "35")):
        (folder / f"answers_{name}.jsonl").write_text(lines({"image": IMAGE, "answer": text}))
    assert values(FaceCodec().read(folder, dataset, FaceOptions())) == ("Female", "Black", (35, 35))


def test_codes_need_an_order_and_are_never_ages(tmp_path, dataset):
    for content in (
        f"file,gender,race\n{IMAGE},1,3\n",
        f"file,race\n{IMAGE},LABEL_3\n",
        lines({"image": IMAGE, "predictions": [{"label": "LABEL_3", "score": 0.9}]}),
        f"file,age\n{IMAGE},LABEL_3\n",
    ):
        with pytest.raises(PredictionError, match="label_order"):
            read(tmp_path, dataset, content)
    hub = read(tmp_path, dataset, f"file,gender,race,age\n{IMAGE},1,3,LABEL_3\n", label_order="hub")
    assert values(hub) == ("Female", "White", (20, 29))
    script = read(tmp_path, dataset, f"file,race\n{IMAGE},LABEL_3\n", label_order="script")
    assert values(script)[1] == "Asian"


@pytest.mark.parametrize(
    ("content", "mentions"),
    [
        (lines({"image": IMAGE, "reply_text": SAYS}), ["'reply_text'", "raw_output", "no record has an answer"]),
        (lines({"image": IMAGE, "output": ""}, {"image": "val/2.jpg", "output": None}), ["no record has an answer"]),
        (json.dumps({IMAGE: {"reply_text": SAYS}}), ["'reply_text'", "no record has an answer"]),
        (lines({"image": IMAGE, "output": {"colour": "red"}}), ["'colour'", "no record has an answer"]),
        ('{"image": 1, "output": ' + "[" * 100_000, ["nested too deeply"]),
        ('{"image": 1, "age": ' + "9" * 5000 + "}", ["too many digits"]),
        (f"file,gender,gender\n{IMAGE},Male,Female\n", ["line 1", "gender", "more than once"]),
        ("file," + ",".join(f"c{n}" for n in range(100_000)) + "\n", ["line 1", "columns; a table may have"]),
        (f"file,gender,race,age\n{IMAGE},,,\n", ["all empty", "gender"]),
        (f"file,raw_output\n{IMAGE},\n", ["all empty", "raw_output"]),
        (LABELS, ["label file", "gender_pred"]),
        (f"file,gender,race,age,output\n{IMAGE},F,Black,35,{SAYS}\n", ["gender_pred", "may be labels"]),
        (b"\x1f\x8b\x08\x00broken", ["damaged"]),
        (b"PAR1 but not Parquet", ["Parquet"]),
        (b"PK\x03\x04 an Excel file", ["Excel"]),
    ],
)
def test_what_is_not_an_answer_file_says_what_was_found(tmp_path, dataset, content, mentions):
    with pytest.raises(EvenhandError) as refused:
        read(tmp_path, dataset, content)
    assert all(word in str(refused.value) for word in mentions), str(refused.value)


def test_truth_is_never_scored_as_the_prediction(tmp_path, dataset):
    answers = read(tmp_path, dataset, SHAPES["CSV with labels and predictions"])
    assert any("taken as labels" in warning for warning in answers.warnings)


def test_a_large_share_of_unread_answers_is_a_warning(tmp_path, dataset):
    content = lines(*({"image": n, "text": "A woman." if n < 4 else "Klingon."} for n in range(1, 6)))
    path = tmp_path / "answers"
    path.write_text(content)
    warnings = FaceCodec("gender").read(path, dataset, FaceOptions()).warnings
    assert any("40% of the answers (2 of 5) could not be read for gender" in warning for warning in warnings)


def test_what_a_server_cut_off_or_filtered_is_counted_by_its_reason(tmp_path, dataset):
    content = lines(
        {"image": 1, "raw_output": "", "finish_reason": "length"},
        {"image": 2, "raw_output": "", "finish_reason": "content_filter"},
        {"image": 3, "raw_output": "A man."},
        {"image": 4, "response": {"status_code": 400, "body": {"error": {"message": "bad"}}}},
    )
    answers = read(tmp_path, dataset, content)
    assert answers.get("val/1.jpg").answer.gender.reason.value == "cut off"
    assert answers.get("val/2.jpg").answer.gender.reason.value == "refusal"
    assert answers.coverage.answered == 2
    assert answers.coverage.unusable == 1


def test_agreement_between_repeated_answers_is_a_metric(tmp_path):
    import evenhand

    (tmp_path / "labels.csv").write_text(LABELS)
    path = tmp_path / "answers.jsonl"
    path.write_text(
        lines(
            {"image": 1, "raw_output": "man", "repeats": ["man", "woman"]},
            *({"image": n, "raw_output": "man", "repeats": ["man", "man"]} for n in range(2, 6)),
        )
    )
    run = evenhand.evaluate("fairface/gender", path, data=tmp_path, options={"repeats": "on"}, draws=0)
    assert run.results.get("repeat_agreement", "mean").number == pytest.approx((1 / 3 + 4) / 5)
