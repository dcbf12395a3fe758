"""A chat endpoint that is asked as it should be, whatever it does."""

import threading
import time

import pytest

from evenhand.core.errors import ModelError
from evenhand.core.task import Sample, Unanswered
from evenhand.models.openai import RateLimiter, provider
from evenhand.models.replies import ChatReply
from evenhand.models.settings import chat_settings
from evenhand.models.transport import retry_after

QUICK = {"backoff": 0.01, "longest_wait": 0.3, "timeout": 5.0}


def well(handler, picture, times):
    return False


def ask(server, samples, **settings):
    model = provider("m", base_url=server.url, **{**QUICK, **settings})
    return model, dict(model.predict(iter(samples)))


def test_every_sample_is_answered_once(serve, samples):
    def think(handler, picture, times):
        time.sleep(0.02)
        return False

    server = serve(think)
    _, answers = ask(server, samples(40))
    assert len(answers) == 40
    assert all(isinstance(answer, ChatReply) for answer in answers.values())
    assert len(server.log.requests) == len(set(server.log.requests)) == 40
    assert 1 < server.log.most_in_flight <= 8
    reply = answers["1"]
    assert (reply.prompt_tokens, reply.completion_tokens, reply.finish_reason) == (100, 20, "stop")
    assert reply.latency_seconds > 0
    assert reply.form == "json_schema"


def test_the_request_has_prompt_picture_schema_and_temperature_zero(serve, samples):
    server = serve(well)
    ask(server, samples(1))
    body = server.log.bodies[0]
    text, image = body["messages"][0]["content"]
    assert text == {"type": "text", "text": "Who is it?"}
    assert image["image_url"]["url"].startswith("data:image/png;base64,")
    assert body["temperature"] == 0
    assert body["response_format"]["json_schema"]["strict"] is True
    assert body["model"] == "m"


def test_the_key_comes_from_the_environment_and_is_shown_nowhere(serve, samples, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-very-secret")

    def refuse(handler, picture, times):
        handler.send(401, {"error": {"message": "bad key sk-very-secret"}})
        return True

    good, bad = serve(well), serve(refuse)
    model, _ = ask(good, samples(1), key_variable="MY_KEY")
    assert good.log.keys == {"Bearer sk-very-secret"}
    assert "secret" not in repr(model.facts)
    with pytest.raises(ModelError) as refused:
        ask(bad, samples(1), key_variable="MY_KEY")
    assert "secret" not in str(refused.value)
    assert "MY_KEY" in str(refused.value)
    assert len(bad.log.requests) == 1


def test_without_a_key_none_is_sent(serve, samples, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server = serve(well)
    ask(server, samples(1))
    assert server.log.keys == {""}


def once(action):
    """Misbehave at the first request for each picture."""

    def behave(handler, picture, times):
        if times == 1:
            action(handler)
            return True
        return False

    return behave


@pytest.mark.parametrize(
    "action",
    [
        pytest.param(lambda h: h.send(429, {"error": "slow down"}), id="429"),
        pytest.param(lambda h: h.send(429, {}, Retry_After="0.05"), id="429 with Retry-After"),
        pytest.param(lambda h: h.send(429, {}, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"), id="429 with a date"),
        pytest.param(lambda h: h.send(500, b"oops", "text/plain"), id="500"),
        pytest.param(lambda h: h.send(503, b""), id="503"),
        pytest.param(lambda h: h.cut(), id="cut connection"),
        pytest.param(lambda h: h.connection.shutdown(2), id="closed connection"),
        pytest.param(lambda h: h.send(200, b'{"choices": [{"mess'), id="truncated JSON"),
        pytest.param(lambda h: h.send(200, b"<html>hello</html>", "text/html"), id="wrong content type"),
        pytest.param(lambda h: h.send(200, [1, 2]), id="a list"),
        pytest.param(lambda h: h.send(200, {"error": {"message": "overloaded"}}), id="an error in a good answer"),
        pytest.param(lambda h: h.send(200, {"choices": []}), id="no choices"),
    ],
)
def test_what_passes_is_tried_again(serve, samples, action):
    server = serve(once(action))
    _, answers = ask(server, samples(6))
    assert all(isinstance(answer, ChatReply) for answer in answers.values())
    assert all(answer.attempts == 2 for answer in answers.values())
    assert set(server.log.answered.values()) == {1}


def test_a_server_that_drips_is_left_after_the_timeout(serve, samples):
    dripped = []

    def drip(handler):
        handler.drip(60)  # raises as soon as nobody listens
        dripped.append(handler)

    _, answers = ask(serve(once(drip)), samples(3), timeout=1.0)
    assert not dripped
    assert all(isinstance(answer, ChatReply) for answer in answers.values())


def test_a_server_that_never_answers_is_left_after_the_timeout(serve, samples):
    release = threading.Event()
    server = serve(once(lambda handler: release.wait(60)))
    _, answers = ask(server, samples(2), timeout=1.0)
    release.set()
    assert all(isinstance(answer, ChatReply) for answer in answers.values())


def test_everybody_waits_when_the_server_asks_for_it(serve, samples):
    times = []

    def behave(handler, picture, count):
        times.append(time.monotonic())
        if len(times) == 1:
            handler.send(429, {}, Retry_After="0.25")
            return True
        return False

    ask(serve(behave), samples(4), concurrency=1)
    assert times[1] - times[0] > 0.2


def test_a_refused_question_is_unanswered_and_the_others_are_not(serve, samples, fingerprint):
    given = samples(5)
    bad = fingerprint(given[2].media[0])

    def behave(handler, picture, times):
        if picture == bad:
            handler.send(400, {"error": {"message": "content policy"}})
            return True
        return False

    _, answers = ask(serve(behave), given)
    assert answers["3"] == Unanswered("HTTP 400: content policy")
    assert sum(isinstance(answer, ChatReply) for answer in answers.values()) == 4


def test_a_picture_that_can_not_be_read_is_unanswered_and_never_sent(serve, samples, tmp_path):
    server = serve(well)
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"\xff\xd8\xff\xe0 no picture")
    given = [Sample("a", (broken,)), Sample("b", (tmp_path / "nowhere.jpg",)), Sample("c"), *samples(1)]
    _, answers = ask(server, given)
    assert "broken.jpg can't be read" in answers["a"].reason
    assert "does not exist" in answers["b"].reason
    assert "there is no picture" in answers["c"].reason
    assert len(server.log.requests) == 1


@pytest.mark.parametrize("status", [401, 403, 404, 307])
def test_a_wrong_key_model_or_address_stops_at_once(serve, samples, status):
    def refuse(handler, picture, times):
        handler.send(status, {"error": {"message": "no"}}, Location="http://127.0.0.1:1/")
        return True

    server = serve(refuse)
    with pytest.raises(ModelError, match=f"HTTP {status}"):
        ask(server, samples(50))
    assert len(server.log.requests) <= 16


@pytest.mark.parametrize("code", [401, 402, "403", 404])
@pytest.mark.parametrize("where", ["body", "choice"])
def test_an_error_inside_an_answer_that_can_not_get_better_is_not_tried_again(serve, samples, code, where):
    error = {"error": {"code": code, "message": "it won't work"}}

    def refuse(handler, picture, times):
        body = error if where == "body" else {"choices": [{**error, "message": {"content": "Fem"}}]}
        handler.send(200, body)
        return True

    server = serve(refuse)
    with pytest.raises(ModelError, match=r"it won't work.*--resume"):
        ask(server, samples(3), concurrency=1)
    assert len(server.log.requests) == 1


def test_an_error_inside_an_answer_about_one_question_is_not_tried_again(serve, samples, fingerprint):
    given = samples(3)
    bad = fingerprint(given[1].media[0])

    def behave(handler, picture, times):
        if picture == bad:
            handler.send(200, {"error": {"code": 400, "message": "image too small"}})
        return picture == bad

    server = serve(behave)
    _, answers = ask(server, given, concurrency=1)
    assert "image too small" in answers[given[1].id].reason
    assert server.log.requests.count(bad) == 1


def test_a_server_that_is_down_stops_the_work_and_leaves_the_questions_open(serve, samples):
    given = samples(60)
    done = []

    def behave(handler, picture, times):
        if len(done) >= 20:
            handler.send(500, b"down")
            return True
        done.append(picture)
        return False

    server = serve(behave)
    model = provider("m", base_url=server.url, **QUICK, attempts=2, concurrency=1)
    answers = []
    with pytest.raises(ModelError, match="in a row failed"):
        answers.extend(model.predict(iter(given)))
    assert len(answers) == 20
    assert all(isinstance(answer, ChatReply) for _, answer in answers)  # none was marked unanswered


def test_a_failure_between_answers_is_told_as_unanswered(serve, samples, fingerprint):
    given = samples(12)
    bad = fingerprint(given[4].media[0])

    def behave(handler, picture, times):
        if picture == bad:
            handler.send(500, b"")
            return True
        return False

    _, answers = ask(serve(behave), given, attempts=2, concurrency=2)
    assert answers["5"] == Unanswered("HTTP 500 (tried 2 times)")
    assert len(answers) == 12


def test_an_address_where_nobody_listens_stops_the_work(samples):
    model = provider("m", base_url="http://127.0.0.1:9/v1", **QUICK, attempts=1)
    with pytest.raises(ModelError, match="Is the server at"):
        list(model.predict(iter(samples(20))))


def refuse_field(test, words):
    def behave(handler, picture, times):
        with handler.server.log.lock:
            index = len(handler.server.log.requests) - 1 - handler.server.log.requests[::-1].index(picture)
            body = handler.server.log.bodies[index]
        if test(body):
            handler.send(400, {"error": {"message": words}})
            return True
        return False

    return behave


def test_a_server_without_schemas_is_asked_in_a_simpler_form(serve, samples):
    server = serve(refuse_field(lambda body: "response_format" in body, "response_format is not supported"))
    _, answers = ask(server, samples(12), concurrency=3)
    assert all(isinstance(answer, ChatReply) for answer in answers.values())
    assert all(answer.form == "" for answer in answers.values())
    assert len(server.log.requests) < 12 + 3 * 3


def test_a_form_that_was_asked_for_by_name_is_not_given_up(serve, samples):
    server = serve(refuse_field(lambda body: "response_format" in body, "response_format is not supported"))
    _, answers = ask(server, samples(1), structured="json_object")
    assert isinstance(answers["1"], Unanswered)


def test_fields_that_newer_servers_rename_are_renamed(serve, samples):
    server = serve(
        refuse_field(lambda body: "max_tokens" in body, "Use 'max_completion_tokens' instead of 'max_tokens'")
    )
    _, answers = ask(server, samples(2), concurrency=1)
    assert all(isinstance(answer, ChatReply) for answer in answers.values())
    assert server.log.bodies[-1]["max_completion_tokens"] == 300


def test_a_server_that_insists_on_its_temperature_is_obeyed_and_it_is_told(serve, samples):
    server = serve(refuse_field(lambda body: "temperature" in body, "temperature 0 is not supported"))
    _, answers = ask(server, samples(1))
    assert answers["1"].form == "json_schema without temperature"


def test_the_budget_of_requests_is_kept(serve, samples):
    server = serve(well)
    with pytest.raises(ModelError, match="budget"):
        ask(server, samples(30), budget_requests=10)
    assert len(server.log.requests) == 10


def test_the_budget_of_cost_stops_the_work_and_counts(serve, samples):
    server = serve(well)
    model = provider("m", base_url=server.url, **QUICK, budget_cost=0.001, price_in=1.0, price_out=5.0, concurrency=1)
    answers = []
    with pytest.raises(ModelError, match="budget"):
        answers.extend(model.predict(iter(samples(30))))
    assert len(answers) == 5  # each costs 0.0002
    assert answers[0][1].cost == pytest.approx(0.0002)


def test_a_budget_that_is_enough_is_no_trouble(serve, samples):
    _, answers = ask(serve(well), samples(10), budget_requests=10)
    assert len(answers) == 10


def test_the_rate_limit_is_kept(serve, samples):
    times = []

    def behave(handler, picture, count):
        times.append(time.monotonic())
        return False

    ask(serve(behave), samples(6), per_minute=1200)
    assert max(times) - min(times) > 0.2


def test_stopping_in_the_middle_cuts_what_is_in_flight(serve, samples):
    release = threading.Event()
    seen, waited = [], []

    def behave(handler, picture, times):
        seen.append(picture)
        if len(seen) > 3:
            waited.append(release.wait(60))
        return False

    model = provider("m", base_url=serve(behave).url, **QUICK, concurrency=4)
    answers = model.predict(iter(samples(20)))
    next(answers)
    answers.close()
    assert not waited  # nothing in flight was waited for
    release.set()
    for thread in threading.enumerate():
        if thread.name.startswith("chat "):
            thread.join(10)


def test_an_answer_without_text_is_an_empty_answer(serve, samples):
    def behave(handler, picture, times):
        handler.send(200, {"choices": [{"message": {"content": None, "refusal": "I can't help"}}]})
        return True

    _, answers = ask(serve(behave), samples(1))
    assert answers["1"].text == "I can't help"


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"base_url": "ftp://x"}, "address"),
        ({"base_url": "nonsense"}, "address"),
        ({"base_url": "https://user:pass@host/v1"}, "password"),
        ({"base_url": "https://host/v1?key=abc"}, "query"),
        ({"api_key": "sk-1"}, "environment"),
        ({"concurrency": "0"}, "concurrency"),
        ({"timeout": "0"}, "timeout"),
        ({"budget_tokens": "-1"}, "budget_tokens"),
        ({"budget_cost": "5"}, "prices"),
    ],
)
def test_settings_that_can_not_work_are_refused(settings, word):
    with pytest.raises(ModelError, match=word) as refused:
        chat_settings(settings)
    assert "abc" not in str(refused.value)
    assert "sk-1" not in str(refused.value)


def test_a_model_needs_a_name():
    with pytest.raises(ModelError, match="name of a model"):
        provider("")


@pytest.mark.parametrize(
    ("value", "expected"), [("3", 3.0), ("-1", 0.0), ("nan", None), ("inf", None), ("", None), ("x y", None)]
)
def test_retry_after_is_read_or_left(value, expected):
    assert retry_after(value) == expected


def test_turns_are_handed_out_evenly():
    clock = iter([0.0, 0.0, 0.0])
    pace = RateLimiter(per_minute=60, clock=lambda: next(clock))
    waited = []
    pace.wait = waited.append
    for _ in range(3):
        pace.take_turn()
    assert waited == [0.0, 1.0, 2.0]
