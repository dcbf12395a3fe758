"""What servers really do: cut answers off, filter, refuse fields and run out of credit; and what must not leak."""

import json
import os

import pytest

import evenhand
from evenhand.benchmarks.fairface.tasks import benchmark
from evenhand.core.errors import ModelError
from evenhand.core.task import Sample, Unanswered
from evenhand.models.openai import provider
from evenhand.models.replies import ChatReply
from evenhand.models.settings import chat_settings

QUICK = {"backoff": 0.01, "longest_wait": 0.3, "timeout": 5.0}
KEY = "sk-very-secret-key"


def ask(server, samples, **settings):
    model = provider("m", base_url=server.url, **{**QUICK, **settings})
    return model, dict(model.predict(iter(samples)))


def body_of(handler, picture):
    log = handler.server.log
    with log.lock:
        return log.bodies[len(log.requests) - 1 - log.requests[::-1].index(picture)]


def completes(text, reason):
    def behave(handler, picture, times):
        handler.send(200, {"choices": [{"message": {"content": text}, "finish_reason": reason}]})
        return True

    return behave


def refuses(status, message, when=lambda body: True):
    def behave(handler, picture, times):
        if when(body_of(handler, picture)):
            handler.send(status, message if isinstance(message, dict | bytes) else {"error": {"message": message}})
            return True
        return False

    return behave


def test_ten_answers_cut_off_in_a_row_stop_with_the_advice_to_raise_max_tokens(serve, samples):
    server = serve(completes("", "length"))
    with pytest.raises(ModelError, match=r"cut off.*max_tokens=300.*max_tokens=4000"):
        ask(server, samples(40), concurrency=2)
    assert len(server.log.requests) < 15


def test_an_answer_cut_off_after_its_beginning_is_an_answer(serve, samples):
    _, answers = ask(serve(completes("A woman", "length")), samples(12))
    assert all(answer.text == "A woman" for answer in answers.values())


@pytest.mark.parametrize(
    "behave",
    [
        completes("", "content_filter"),
        refuses(400, {"error": {"code": "content_filter", "message": "triggering Azure's content management policy"}}),
        refuses(400, {"error": {"innererror": {"code": "ResponsibleAIPolicyViolation"}, "message": "no"}}),
    ],
)
def test_a_filter_is_a_refusal_and_no_failure(serve, samples, behave):
    _, answers = ask(serve(behave), samples(12))
    assert all(isinstance(answer, ChatReply) and answer.text == "" for answer in answers.values())
    assert {answer.finish_reason for answer in answers.values()} == {"content_filter"}


@pytest.mark.parametrize(
    ("status", "message", "says"),
    [
        (402, "Payment required", "no credit"),
        (429, "You exceeded your current quota (insufficient_quota)", "no credit"),
        (400, "The model `m` does not exist: model_not_found", "Is there a model 'm'"),
        (400, "m does not support image input", "can't look at pictures"),
        (500, "image input is not supported - hint: provide the mmproj", "can't look at pictures"),
    ],
)
def test_what_can_not_work_stops_in_its_own_words(serve, samples, status, message, says):
    server = serve(refuses(status, message))
    with pytest.raises(ModelError, match=says):
        ask(server, samples(20), concurrency=1)
    assert len(server.log.requests) == 1


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (500, "Internal error: response_format json_schema is unsupported"),
        (500, b""),
        (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "response_format"], "msg": "Extra inputs"}]}),
        (400, "Extra inputs are not permitted"),
    ],
)
def test_the_form_is_given_up_whatever_the_server_calls_it(serve, samples, status, message):
    server = serve(refuses(status, message, lambda body: "response_format" in body))
    _, answers = ask(server, samples(3), concurrency=1)
    assert all(isinstance(answer, ChatReply) for answer in answers.values())


def test_fields_that_are_not_permitted_are_left_out_one_by_one(serve, samples):
    server = serve(refuses(422, "Extra inputs are not permitted", lambda body: "seed" in body or "top_p" in body))
    _, answers = ask(server, samples(2), concurrency=1, seed=7, top_p=0.5, structured="off")
    assert answers["1"].form == "without seed, top_p"


def test_a_request_carries_what_was_asked_for(serve, samples):
    server = serve(lambda handler, picture, times: False)
    original = server.RequestHandlerClass.do_POST
    heads = []

    def post(handler):
        heads.append((handler.path, dict(handler.headers)))
        original(handler)

    server.RequestHandlerClass.do_POST = post
    settings = {
        "seed": 7,
        "top_p": 0.9,
        "detail": "low",
        "body": '{"min_p": 0.1}',
        "headers": "X-Team: faces; X-Token: $TEAM_TOKEN",
        "api_version": "2024-10-21",
    }
    os.environ["TEAM_TOKEN"], os.environ["OPENAI_API_KEY"] = "hush-hush", KEY
    try:
        model, _ = ask(server, samples(1), **settings)
    finally:
        server.RequestHandlerClass.do_POST = original
        del os.environ["TEAM_TOKEN"], os.environ["OPENAI_API_KEY"]
    body = server.log.bodies[0]
    assert (body["seed"], body["top_p"], body["min_p"]) == (7, 0.9, 0.1)
    assert body["messages"][-1]["content"][1]["image_url"]["detail"] == "low"
    path, headers = heads[0]
    assert path.endswith("/chat/completions?api-version=2024-10-21")
    assert (headers["X-Team"], headers["X-Token"], headers["api-key"]) == ("faces", "hush-hush", KEY)
    assert "Authorization" not in headers
    assert "hush" not in repr(model.facts)


def test_a_system_prompt_comes_first(samples):
    from evenhand.models.chat import RequestFormat

    body = RequestFormat(chat_settings({"system": "You are terse."})).payload("m", "Who?", "data:", None)
    assert body["messages"][0] == {"role": "system", "content": "You are terse."}
    assert body["messages"][1]["content"][0]["text"] == "Who?"


def test_a_question_can_be_repeated(serve, samples):
    server = serve(lambda handler, picture, times: False)
    _, answers = ask(server, samples(2), repeats=3, seed=5)
    assert all(len(answer.repeats) == 2 for answer in answers.values())
    assert sorted(body["seed"] for body in server.log.bodies) == [5, 5, 6, 6, 7, 7]


def test_a_large_picture_is_made_smaller(tmp_path):
    import base64
    import io

    from PIL import Image

    from evenhand.models.chat import picture_url

    Image.new("RGB", (900, 300)).save(tmp_path / "a.png")
    url = picture_url(tmp_path / "a.png", chat_settings({"resize": "100"}))
    assert Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).size == (100, 33)


def test_no_secret_is_shown_or_stored(serve, samples, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    long = "x" * 290 + KEY  # cut in the middle of the key, were it cut first
    for behave in (
        refuses(400, {"error": {"message": long}}),
        refuses(400, (long * 20).encode()),
        completes(f"your key is {KEY}", f"stop {KEY}"),
    ):
        model, answers = ask(serve(behave), samples(2))
        assert "sk-ver" not in repr(answers) + repr(model.facts)


@pytest.mark.parametrize(
    "settings",
    [
        {"base_url": "http://127.0.0.1:1/v1#sk-secret"},
        {"base_url": "http://user:hushhush@127.0.0.1:1/v1"},
        {"base_url": "http://[bad"},
        {"proxy": "nonsense://user:hushhush@host"},
        {"headers": "no colon"},
        {"body": "not json"},
        {"body": '{"messages": []}'},
    ],
)
def test_settings_that_would_give_something_away_are_refused_without_showing_it(settings):
    with pytest.raises(ModelError) as refused:
        chat_settings(settings)
    assert "hushhush" not in str(refused.value)
    assert "sk-secret" not in str(refused.value)


def test_a_key_with_a_line_break_is_refused_without_showing_it(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-first\nsk-second")
    with pytest.raises(ModelError, match="line break") as refused:
        chat_settings({})
    assert "sk-" not in str(refused.value)


def test_a_proxy_password_is_not_shown(serve, samples):
    settings = {"proxy": "http://user:hushhush@127.0.0.1:9", "attempts": 1}
    _, answers = ask(serve(completes("", "stop")), samples(2), **settings)
    assert all(isinstance(answer, Unanswered) for answer in answers.values())
    assert "hushhush" not in repr(answers)


def test_no_picture_outside_the_data_folder_is_sent(serve, pictures, tmp_path):
    outside = pictures(1)[0]
    data = tmp_path / "data"
    (data / "val").mkdir(parents=True)
    (data / "val" / "link.png").symlink_to(outside)
    names = ["val/link.png", os.path.relpath(outside, data), str(outside)]
    rows = "".join(f"{name},20-29,Male,White,True\n" for name in names)
    (data / "fairface_label_val.csv").write_text("file,age,gender,race,service_test\n" + rows)
    server = serve(lambda handler, picture, times: False)
    outcome = evenhand.predict(
        "fairface", "openai:m", data=data, runs=tmp_path / "runs", settings={"base_url": server.url, **QUICK}
    )
    assert outcome.answered == 0
    assert server.log.requests == []
    assert all("outside the data folder" in reason for reason in outcome.unanswered.values())
    allowed = evenhand.predict(
        "fairface",
        "openai:m",
        data=data,
        runs=tmp_path / "runs2",
        settings={"base_url": server.url, **QUICK, "follow_links": "yes"},
    )
    assert allowed.answered == 3


def test_other_settings_are_other_predictions(serve, pictures, tmp_path):
    data = tmp_path / "data"
    (data / "val").mkdir(parents=True)
    for number, picture in enumerate(pictures(2), start=1):
        (data / "val" / f"{number}.png").write_bytes(picture.read_bytes())
    rows = "".join(f"val/{number}.png,20-29,Male,White,True\n" for number in (1, 2))
    (data / "fairface_label_val.csv").write_text("file,age,gender,race,service_test\n" + rows)
    server = serve(lambda handler, picture, times: False)

    def predict(prompt="", **settings):
        return evenhand.predict(
            "fairface",
            "openai:m",
            data=data,
            runs=tmp_path / "runs",
            options={"prompt": prompt} if prompt else {},
            settings={"base_url": server.url, **QUICK, **settings},
            resume=True,
        )

    first = predict()
    assert first.asked_now == 2
    assert predict().asked_now == 0
    assert predict(temperature=1.0).asked_now == 2
    assert predict(max_tokens=50).asked_now == 2
    assert predict(prompt="Who is this person?").asked_now == 2
    assert first.usage == {"prompt_tokens": 200, "completion_tokens": 40}
    task = benchmark.find("fairface/gender")
    answers = task.codec.read(first.file, task.load(data, task.options()), task.options())
    told = answers.facts["provenance"]
    assert (told["written_by"], told["prompt"], told["decoding"]["temperature"]) == ("evenhand predict", "all-v1", 0)


def test_an_answer_of_ten_megabytes_is_read_in_time(tmp_path):
    from evenhand.benchmarks.fairface.codec import FaceCodec
    from evenhand.benchmarks.fairface.data import load
    from evenhand.benchmarks.fairface.options import FaceOptions

    (tmp_path / "labels.csv").write_text("file,age,gender,race\nval/1.jpg,20-29,Male,White\n")
    (tmp_path / "a.jsonl").write_text(json.dumps({"image": "val/1.jpg", "text": "a man " + "and " * 2_500_000}) + "\n")
    answers = FaceCodec().read(tmp_path / "a.jsonl", load(tmp_path, FaceOptions()), FaceOptions())
    assert answers.get("val/1.jpg").answer.gender.label == "Male"


def test_a_sample_without_a_picture_is_unanswered(serve):
    _, answers = ask(serve(completes("", "stop")), [Sample("1", (), {})])
    assert isinstance(answers["1"], Unanswered)


def test_refused_and_empty_replies_are_no_answers(serve, pictures, tmp_path):
    (tmp_path / "val").mkdir()
    for number, picture in enumerate(pictures(3), start=1):
        (tmp_path / "val" / f"{number}.png").write_bytes(picture.read_bytes())
    rows = "".join(f"val/{number}.png,20-29,Male,White,True\n" for number in (1, 2, 3))
    (tmp_path / "fairface_label_val.csv").write_text("file,age,gender,race,service_test\n" + rows)
    for name, server, expected in (
        ("filtered", serve(completes("", "content_filter")), {"refused": 3}),
        ("silent", serve(completes("", "stop")), {"empty": 3}),
    ):
        settings = {"base_url": server.url, **QUICK, "repeats": 2}
        outcome = evenhand.predict("fairface", "openai:m", data=tmp_path, runs=tmp_path / name, settings=settings)
        assert (outcome.answered, outcome.without_text, outcome.unanswered) == (0, expected, {})


def test_tokens_of_repeated_questions_are_added_up(serve, samples):
    _, answers = ask(serve(lambda handler, picture, times: False), samples(1), repeats=3)
    assert [(reply.prompt_tokens, len(reply.repeats)) for reply in answers.values()] == [(300, 2)]


@pytest.mark.parametrize("address", ["me:hushhush@host/v1", "http:/me:hushhush@host/v1"])
def test_an_address_that_is_none_is_refused_without_its_password(address):
    with pytest.raises(ModelError) as refused:
        chat_settings({"base_url": address})
    assert "hushhush" not in str(refused.value)
