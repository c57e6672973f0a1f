import asyncio
import contextlib
import json
import socket
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.engines.base import Request
from motet.engines.openai import Endpoint, OpenAIEngine, backoff, body_of
from motet.engines.remote_voice import END, RemoteVoice
from motet.errors import ConfigError, EngineError
from motet.types import Candidate, Message, Sampling

sys.path.insert(0, str(Path(__file__).parents[1]))
from remote_server import answer, serving, slowly

KEY = "sk-" + "q7" * 20
GREETING = (Message("system", "Be brief."), Message("user", "Hello"))


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def engine(server, *, environ=None, **settings):
    given = {"max_retries": 2, "timeout_s": 5.0, **settings}
    return OpenAIEngine({"judge": Endpoint(server.base_url, "big", **given)}, environ=environ or {}, first_wait_s=0.001)


def sample(found, *, keys=(7,), sampling=None, messages=GREETING):
    ids = found.voice("judge").encode_chat(messages)
    return asyncio.run(found.sample(Request("judge", ids, tuple(keys), sampling or Sampling())))


def failure(script, **settings):
    with serving(script) as server, pytest.raises(EngineError) as caught:
        sample(engine(server, **settings))
    return caught.value, server


def test_a_conversation_is_asked_in_the_form_of_the_protocol_and_its_answer_comes_back():
    with serving([answer("Fine.")]) as server:
        (found,) = sample(engine(server), sampling=Sampling(0.5, max_tokens=9, stop=("END",), top_p=0.9))
    ((path, headers, body),) = server.asked
    assert path == "/v1/chat/completions" and "Authorization" not in headers
    assert body == {
        "model": "big",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
        "max_tokens": 9,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["END"],
        "seed": 7,
    }
    assert (found.text, found.finish, found.token_ids[-1]) == ("Fine.", "eos", END)
    assert found.logprobs == (0.0,) * len(found.token_ids)


def test_candidates_by_calls_ask_once_each_with_the_seed_of_their_own_key():
    with serving(lambda body, headers: answer(f"seed {body['seed']}")) as server:
        three = sample(engine(server), keys=(1, 2**40 + 5, 3))
        (alone,) = sample(engine(server), keys=(2**40 + 5,))
    assert [one.text for one in three] == ["seed 1", f"seed {(2**40 + 5 ^ 2**9) & 0x7FFFFFFF}", "seed 3"]
    assert alone == three[1] and all("n" not in body for body in server.bodies)


def test_candidates_by_n_ask_once_for_all():
    with serving(lambda body, headers: answer(*[f"{i}" for i in range(body["n"])])) as server:
        found = sample(engine(server, candidates_by="n"), keys=(1, 2, 3))
    assert [one.text for one in found] == ["0", "1", "2"] and len(server.asked) == 1


def test_a_server_that_takes_no_n_is_told_apart_with_the_way_out():
    with serving([answer("only one")]) as server, pytest.raises(EngineError, match="1 of 3 answers.*candidates_by to"):
        sample(engine(server, candidates_by="n"), keys=(1, 2, 3))


def test_greedy_is_temperature_0_without_a_nucleus():
    body = body_of(Endpoint("http://h", "m"), [], Sampling(0.7, top_p=0.5, top_k=4, greedy=True), 1, 1)
    assert body["temperature"] == 0.0 and "top_p" not in body and "top_k" not in body


def test_fields_of_the_recipe_are_added_and_null_takes_one_out():
    extra = {"max_tokens": None, "max_completion_tokens": 77, "seed": None}
    body = body_of(Endpoint("http://h", "m", request=extra), [], Sampling(), 1, 1)
    assert body == {"model": "m", "messages": [], "temperature": 1.0, "max_completion_tokens": 77}


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
def test_a_status_that_may_pass_is_tried_again(status):
    with serving([(status, {"error": {"message": "busy"}}), answer("now")]) as server:
        found = engine(server)
        assert sample(found)[0].text == "now"
    assert found.counters["judge"] == {"requests": 2, "retries": 1, "prompt_tokens": 5, "completion_tokens": 2}


@pytest.mark.parametrize(
    "broken",
    [
        (200, b"<html>bad gateway"),
        (200, b"[1]"),
        (200, {"object": "error"}),
        (200, {"choices": ["x"]}),
        (200, {"choices": [{"message": {"content": 3}, "finish_reason": "stop"}]}),
        (200, {"choices": [{"message": {"content": None}, "finish_reason": "stop"}]}),
        (200, b"[" * 100_000),
        (200, b"\xff\xfe"),
        ("hang up", b""),
    ],
)
def test_an_answer_that_is_none_is_tried_again_and_never_becomes_text(broken):
    with serving([broken, answer("now")]) as server:
        assert sample(engine(server))[0].text == "now"
    error, server = failure([broken])
    assert "(3 tries)" in str(error) and len(server.asked) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_status_that_will_not_pass_is_not_tried_again(status):
    error, server = failure([(status, {"error": {"message": "no such thing"}})])
    assert len(server.asked) == 1
    assert f"it answered {status}: no such thing" in str(error)


@pytest.mark.parametrize(
    ("status", "way_out"),
    [
        (401, "name the environment variable that holds the key in policies.judge.api_key_env"),
        (404, "check policies.judge.base_url and policies.judge.model"),
        (429, "lower policies.judge.max_parallel"),
        (500, "look at the server's log"),
        (307, "set policies.judge.base_url to the address it redirects to"),
    ],
)
def test_an_error_names_policy_host_status_and_the_way_out(status, way_out):
    error, server = failure([(status, {}, {"Location": "http://127.0.0.1:9/v1"} if status == 307 else {})])
    host = server.base_url.removeprefix("http://").removesuffix("/v1")
    assert error.where == {"policy": "judge", "host": host, "status": status}
    assert error.fix.startswith(way_out)


def test_nobody_there_is_an_error_with_the_host_and_without_a_status():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    found = OpenAIEngine({"judge": Endpoint(f"http://127.0.0.1:{port}/v1", "m", max_retries=1)}, first_wait_s=0.001)
    with pytest.raises(
        EngineError, match=rf"no connection.*\(2 tries\) \[policy=judge host=127.0.0.1:{port} status=none"
    ):
        sample(found)


def test_a_slow_server_is_given_up_after_its_time_and_asked_again():
    error, _ = failure(slowly(0.6, answer("late")), timeout_s=0.1, max_retries=1)
    assert "no answer within 0.1 s (2 tries)" in str(error) and error.fix.endswith("for a slow one")


def test_the_server_decides_how_long_to_wait():
    with serving([(429, {}, {"Retry-After": "0.2"}), answer("now")]) as server:
        start = time.monotonic()
        sample(engine(server))
        assert time.monotonic() - start >= 0.2


def test_waits_double_and_end():
    assert [backoff(0.5, tries, 0) for tries in (1, 2, 3, 12)] == [0.25, 0.5, 1.0, 30.0]


def test_no_more_requests_are_in_flight_than_the_bound():
    with serving(slowly(0.02, answer("x"))) as server:
        found = engine(server, max_parallel=2)
        assert len(sample(found, keys=range(1, 8))) == 7
    assert server.most <= 2 and len(server.asked) == 7


def test_one_engine_serves_several_event_loops_one_after_another():
    with serving(slowly(0.01, answer("x"))) as server:
        found = engine(server, max_parallel=1)
        for _ in range(2):
            assert len(sample(found, keys=(1, 2, 3))) == 3


@pytest.mark.parametrize(
    ("choice", "finish", "text"),
    [
        (answer("abc", finish="length"), "length", "abc"),
        (answer(None, finish="length"), "length", ""),
        (answer("", finish="stop"), "eos", ""),
        (answer("yes END no"), "stop", "yes "),
        (
            answer([{"type": "text", "text": "in "}, {"type": "image"}, {"type": "text", "text": "parts"}]),
            "eos",
            "in parts",
        ),
        (answer("half \ud83d"), "eos", "half \ud83d"),
    ],
)
def test_every_form_of_an_answer_is_read(choice, finish, text):
    with serving([choice]) as server:
        (found,) = sample(engine(server), sampling=Sampling(stop=("END",)))
    assert (found.finish, found.text) == (finish, text) and found.token_ids
    assert RemoteVoice().decode(found.token_ids) == text


def test_an_answer_that_the_server_held_back_is_an_error_and_no_text():
    error, server = failure([answer("I ca", finish="content_filter")])
    assert "ended an answer by 'content_filter'" in str(error) and len(server.asked) == 1


def test_the_key_comes_from_the_environment_and_goes_into_the_header_alone():
    with serving([answer("ok")]) as server:
        found = engine(server, environ={"JUDGE": f" {KEY}\n"}, api_key_env="JUDGE")
        sample(found)
    ((_, headers, body),) = server.asked
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert KEY not in json.dumps(body) and KEY not in str(found.resolved()) + repr(found) + repr(found.endpoints)


@pytest.mark.parametrize("value", [None, "", "  ", "two words", "cr\r\nX-Evil: 1", "schlüssel"])
def test_a_key_that_is_missing_or_none_is_refused_by_its_name_alone(value):
    environ = {} if value is None else {"JUDGE": value}
    with pytest.raises(ConfigError, match=r"variable JUDGE .*policies.judge.api_key_env") as caught:
        OpenAIEngine({"judge": Endpoint("http://h/v1", "m", "JUDGE")}, environ=environ)
    assert not (value or "").strip() or value.strip() not in str(caught.value)


def test_a_key_that_the_server_repeats_reaches_neither_error_nor_text():
    def script(body, headers):
        return 401, {"error": {"message": f"wrong key: {headers['Authorization']}"}}

    error, _ = failure(script, environ={"JUDGE": KEY}, api_key_env="JUDGE")
    assert KEY not in str(error) and "<redacted>" in str(error)
    assert error.fix == "put a valid key into the environment variable JUDGE"
    with serving(lambda body, headers: answer(headers["Authorization"])) as server:
        (found,) = sample(engine(server, environ={"JUDGE": KEY}, api_key_env="JUDGE"))
    assert found.text == "Bearer <redacted>" and KEY not in RemoteVoice().decode(found.token_ids)


def test_a_policy_without_an_endpoint_is_refused_by_name():
    with pytest.raises(EngineError, match=r"no endpoint serves.*policy=coder.*served: judge"):
        OpenAIEngine({"judge": Endpoint("http://h/v1", "m")}).voice("coder")


def test_a_generator_of_its_own_is_said():
    found = OpenAIEngine({"judge": Endpoint("http://h:1/v1", "m")})
    assert found.has_own_generator
    assert found.resolved() == {
        "judge": {
            "host": "h:1", "model": "m", "has_own_generator": True,
            "requests": 0, "retries": 0, "prompt_tokens": 0, "completion_tokens": 0,
        }
    }  # fmt: skip


def test_ids_of_text_are_pieces_of_at_most_four_bytes():
    assert RemoteVoice().encode("abcde") == (0x0161626364, 0x0165)
    assert RemoteVoice().encode("aéé") == (0x0161C3A9, 0x01C3A9)
    assert RemoteVoice().encode_chat([Message("user", "hi")]) == (2, 0x016869)


TEXTS = st.text(st.characters(codec=None), max_size=40)


@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), TEXTS), max_size=5))
def test_every_conversation_comes_back_from_its_ids(turns):
    voice = RemoteVoice()
    messages = voice.messages(voice.encode_chat([Message(role, text) for role, text in turns]))
    assert [(one["role"], one["content"]) for one in messages] == turns


@given(TEXTS, st.integers(0, 12))
def test_any_tail_of_the_ids_is_text(text, cut):
    voice = RemoteVoice()
    assert text.endswith(voice.decode(voice.encode(text)[cut:]))


def test_an_earlier_call_is_shown_by_its_text_whoever_said_it():
    class Earlier:
        text, token_ids, tokenizer_id = "my answer", (1, 2, 3), "another"

    voice = RemoteVoice()
    ids = voice.encode_chat([Message("user", Earlier())])
    assert voice.messages(ids) == [{"role": "user", "content": "my answer"}]


def test_a_cut_answer_has_ids_that_a_record_takes():
    with serving([answer("abc", finish="length")]) as server:
        (found,) = sample(engine(server))
    assert Candidate(found.text, found.token_ids, found.logprobs, found.finish).text == "abc"


def endless(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b"x" * 65536)


def dripping(head):
    """Bytes that keep every single wait of the reader short and never come to an end."""

    def serve(connection):
        connection.sendall(head)
        while True:
            connection.sendall(b"a")
            time.sleep(0.05)

    return serve


@pytest.mark.parametrize("serve", [
    lambda connection: time.sleep(2),
    dripping(b"HTTP/1.1 200 OK\r\nX-Slow: "),
    dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"),
    endless,
    lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % i for i in range(200))),
    lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"choices\""),
    lambda connection: connection.sendall(b"\x16\x03\x01 this is another protocol\r\n\r\n"),
    lambda connection: connection.close(),
], ids=["silent", "slow head", "slow body", "endless body", "many headers", "cut", "no http", "hung up"])  # fmt: skip
def test_a_socket_that_misbehaves_holds_nobody_up_and_is_an_error_without_the_key(serve, monkeypatch):
    monkeypatch.setattr("motet.engines.transport.MAX_BYTES", 1 << 20)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=talk, args=(connection,), daemon=True).start()

    def talk(connection):
        with contextlib.suppress(OSError), connection:
            connection.recv(65536)
            serve(connection)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        one = Endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", "m", "JUDGE", timeout_s=0.3, max_retries=1)
        found = OpenAIEngine({"judge": one}, environ={"JUDGE": KEY}, first_wait_s=0.001)
        started = time.monotonic()
        with pytest.raises(EngineError, match="gives no answer.*2 tries") as caught:
            sample(found)
    assert time.monotonic() - started < 8.0 and KEY not in str(caught.value)
