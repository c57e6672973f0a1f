"""An engine for roles that do not learn here: judges and evaluators behind any OpenAI-compatible chat endpoint.

prompt ids -> messages -> POST {base_url}/chat/completions -> text -> Completion

The server draws with a generator of its own. A seed made from the caller's key goes along, and a server may honour it
or not: `has_own_generator` says so, and so do the run's log, config.yaml and result.json. There are no log-probs; they
are recorded as 0, and no row is ever made of them, because a remote policy is never trainable.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from motet.config.redact import HIDDEN, redact
from motet.engines.base import Completion, Request
from motet.engines.remote_voice import END, MAX_PROMPT_TOKENS, RemoteVoice
from motet.engines.transport import Reply, Unreachable, in_thread, post
from motet.errors import ConfigError, EngineError
from motet.types import Finish, Sampling

RETRIED = frozenset({408, 409, 425, 429})
"""Statuses below 500 after which the same request may succeed; all from 500 on are tried again as well."""
FIRST_WAIT_S, MAX_WAIT_S = 0.5, 60.0
_FINISH: dict[object, Finish] = {"stop": "eos", "eos": "eos", "length": "length", "max_tokens": "length", None: "eos"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where one policy is served, and how it is asked. Holds the *name* of the key's environment variable.

    candidates_by: `calls` asks once per candidate, each with a seed of its own, so that candidate i does not depend on
    how many there are; `n` asks once for all of them. request: fields that are added to every request, None takes one
    out. max_parallel: requests in flight. A request is tried 1 + max_retries times, each bounded by timeout_s.

    >>> Endpoint("https://host.example:8000/v1", "some-model").host
    'host.example:8000'
    """

    base_url: str
    model: str
    api_key_env: str | None = None
    timeout_s: float = 60.0
    max_retries: int = 5
    max_parallel: int = 16
    candidates_by: Literal["calls", "n"] = "calls"
    request: Mapping[str, Any] = field(default_factory=dict)
    max_prompt_tokens: int = MAX_PROMPT_TOKENS

    @property
    def url(self) -> str:
        return self.base_url.rstrip("/") + "/chat/completions"

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).netloc.rpartition("@")[2]


class _Malformed(Exception):
    """The body is not what a chat endpoint answers."""


class OpenAIEngine:
    """Samples for each policy in `endpoints`. Keys are read from the environment once, here, and leave this object in
    the Authorization header alone: an answer or an error that holds one has it blotted out.

    `counters[policy]`: requests, retries, and prompt_tokens and completion_tokens as the server counts them.
    Raises `ConfigError` for a key that is not there, `EngineError` for an endpoint that gives no answer.
    """

    has_own_generator = True

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        *,
        environ: Mapping[str, str] = os.environ,
        first_wait_s: float = FIRST_WAIT_S,
    ) -> None:
        self.endpoints = dict(endpoints)
        self._keys = {policy: _key(policy, one, environ) for policy, one in endpoints.items()}
        self._voices = {policy: RemoteVoice(one.max_prompt_tokens) for policy, one in endpoints.items()}
        self._gates: WeakKeyDictionary[Any, dict[str, asyncio.Semaphore]] = WeakKeyDictionary()
        self._first_wait_s = first_wait_s
        self.counters: dict[str, Counter[str]] = {policy: Counter() for policy in endpoints}

    def voice(self, policy: str) -> RemoteVoice:
        self._endpoint(policy)
        return self._voices[policy]

    def version(self, policy: str) -> int:
        """0: what stands behind an endpoint may change, and nothing here is told."""
        self._endpoint(policy)
        return 0

    async def sample(self, request: Request) -> list[Completion]:
        """K answers to one prompt. The first failure cancels what is still asked for the others."""
        endpoint = self._endpoint(request.policy)
        if endpoint.candidates_by == "n":
            asked = [(request.keys[0], request.num_candidates)]
        else:
            asked = [(key, 1) for key in request.keys]
        waiting = [asyncio.ensure_future(self._ask(request, key, num)) for key, num in asked]
        try:
            found = await asyncio.gather(*waiting)
        finally:
            for one in waiting:
                one.cancel()
        return [completion for some in found for completion in some]

    def resolved(self) -> dict[str, Any]:
        """What config.yaml and result.json tell of these policies; no key, and of an address the host alone."""
        return {
            policy: {
                "host": one.host,
                "model": one.model,
                "has_own_generator": self.has_own_generator,
                **{name: self.counters[policy][name] for name in ("requests", "retries")},
                **{name: self.counters[policy][name] for name in ("prompt_tokens", "completion_tokens")},
            }
            for policy, one in self.endpoints.items()
        }

    async def _ask(self, request: Request, key: int, num: int) -> list[Completion]:
        """One request, tried again while that may help."""
        policy, endpoint = request.policy, self._endpoint(request.policy)
        body = body_of(endpoint, self._voices[policy].messages(request.prompt_ids), request.sampling, key, num)
        for tries in range(1, endpoint.max_retries + 2):
            status, wait_s = None, None
            try:
                reply = await self._post(policy, endpoint, body)
                status, wait_s = reply.status, reply.retry_after_s
                if status == 200:
                    return self._completions(policy, reply, num, request.sampling)
                trouble = f"it answered {status}{self._said(policy, reply)}"
                may_help = status in RETRIED or status >= 500
            except (Unreachable, _Malformed) as error:
                trouble, may_help = self._clean(policy, str(error)), True
            if not may_help or tries > endpoint.max_retries:
                raise self._failure(policy, trouble, status, tries)
            self.counters[policy]["retries"] += 1
            await asyncio.sleep(min(MAX_WAIT_S, max(wait_s or 0.0, backoff(self._first_wait_s, tries, key))))
        raise AssertionError("the last try returns or raises")

    async def _post(self, policy: str, endpoint: Endpoint, body: Mapping[str, Any]) -> Reply:
        key = self._keys[policy]
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        gates = self._gates.setdefault(asyncio.get_running_loop(), {})
        async with gates.setdefault(policy, asyncio.Semaphore(endpoint.max_parallel)):
            self.counters[policy]["requests"] += 1
            return await in_thread(
                partial(post, endpoint.url, body, headers, endpoint.timeout_s), endpoint.timeout_s + 1.0
            )

    def _completions(self, policy: str, reply: Reply, num: int, sampling: Sampling) -> list[Completion]:
        data = _json(reply.body)
        choices = data.get("choices")
        if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
            raise _Malformed("its answer has no list of choices")
        if len(choices) < num:
            raise EngineError(
                f"the endpoint gave {len(choices)} of {num} answers",
                where=self._where(policy, reply.status),
                fix=f"set policies.{policy}.candidates_by to calls",
            )
        usage = data.get("usage")
        for name in ("prompt_tokens", "completion_tokens"):
            count = usage.get(name) if isinstance(usage, dict) else None
            self.counters[policy][name] += count if type(count) is int and count > 0 else 0
        return [self._completion(policy, choice, reply.status, sampling) for choice in choices[:num]]

    def _completion(self, policy: str, choice: Mapping[str, Any], status: int, sampling: Sampling) -> Completion:
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason not in _FINISH:
            raise EngineError(
                f"the endpoint ended an answer by {self._clean(policy, reason)!r}",
                where=self._where(policy, status),
                fix="word the prompt otherwise, or let some episodes fail with sampling.max_failed_frac",
            )
        finish: Finish = _FINISH[reason if isinstance(reason, str) else None]
        text = self._clean(policy, _text(choice, finish), only_key=True)
        places = [place for place in (text.find(stop) for stop in sampling.stop) if place >= 0]
        if places:
            text, finish = text[: min(places)], "stop"
        ids = self._voices[policy].encode(text) + (() if finish == "length" and text else (END,))
        return Completion(ids, text, (0.0,) * len(ids), finish)

    def _endpoint(self, policy: str) -> Endpoint:
        found = self.endpoints.get(policy)
        if found is None:
            known = ", ".join(self.endpoints) or "none"
            raise EngineError("no endpoint serves this policy", where={"policy": policy}, fix=f"served: {known}")
        return found

    def _where(self, policy: str, status: int | None) -> dict[str, object]:
        return {"policy": policy, "host": self.endpoints[policy].host, "status": "none" if status is None else status}

    def _failure(self, policy: str, trouble: str, status: int | None, tries: int) -> EngineError:
        times = "" if tries == 1 else f" ({tries} tries)"
        return EngineError(
            f"the endpoint gives no answer: {trouble}{times}",
            where=self._where(policy, status),
            fix=way_out(policy, self.endpoints[policy], status),
        )

    def _said(self, policy: str, reply: Reply) -> str:
        """The server's own words about an error, short and clean."""
        try:
            data = _json(reply.body)
        except _Malformed:
            return ""
        error = data.get("error", data)
        if isinstance(error, dict):
            error = error.get("message") or error.get("detail") or ""
        text = str(error)
        return f": {self._clean(policy, text)[:300]}" if text else ""

    def _clean(self, policy: str, text: str, *, only_key: bool = False) -> str:
        key = self._keys[policy]
        text = text.replace(key, HIDDEN) if key else text
        return text if only_key else str(redact(text))


def body_of(
    endpoint: Endpoint, messages: Sequence[Mapping[str, str]], sampling: Sampling, key: int, num: int
) -> dict[str, Any]:
    """What is sent. Greedy is temperature 0; the seed is the caller's key, folded to 31 bits.

    >>> body = body_of(Endpoint("http://h/v1", "m", request={"seed": None}), [], Sampling(max_tokens=5), 7, 1)
    >>> body == {"model": "m", "messages": [], "max_tokens": 5, "temperature": 1.0}
    True
    """
    body: dict[str, Any] = {
        "model": endpoint.model,
        "messages": list(messages),
        "max_tokens": sampling.max_tokens,
        "temperature": 0.0 if sampling.greedy else sampling.temperature,
        "seed": (key ^ (key >> 31)) & 0x7FFFFFFF,
    }
    if num > 1:
        body["n"] = num
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if sampling.top_p < 1.0 and not sampling.greedy:
        body["top_p"] = sampling.top_p
    if sampling.top_k and not sampling.greedy:
        body["top_k"] = sampling.top_k
    return {name: value for name, value in {**body, **endpoint.request}.items() if value is not None}


def backoff(first_s: float, tries: int, key: int) -> float:
    """Seconds before the next try: doubled each time, spread over [1/2, 1] of that by the key, at most `MAX_WAIT_S`.

    >>> [backoff(1.0, tries, key=0) for tries in (1, 2, 3, 20)], backoff(1.0, 1, key=1023)
    ([0.5, 1.0, 2.0, 30.0], 0.99951171875)
    """
    return min(MAX_WAIT_S, first_s * 2.0 ** (tries - 1)) * (0.5 + (key & 1023) / 2048)


def way_out(policy: str, endpoint: Endpoint, status: int | None) -> str:
    """What to do about a status that does not go away."""
    key = f"policies.{policy}"
    if status in (401, 403) and endpoint.api_key_env:
        return f"put a valid key into the environment variable {endpoint.api_key_env}"
    if status in (401, 403):
        return f"name the environment variable that holds the key in {key}.api_key_env"
    if status == 429:
        return f"lower {key}.max_parallel or raise {key}.max_retries, or wait for the quota to come back"
    if status is None or status == 200:
        return f"check that a chat endpoint listens at {key}.base_url; raise {key}.timeout_s for a slow one"
    if status >= 500:
        return f"look at the server's log, or raise {key}.max_retries"
    if status >= 400:
        return f"check {key}.base_url and {key}.model; `request: {{seed: null}}` takes out a field it does not know"
    return f"set {key}.base_url to the address it redirects to: redirects are not followed, they would carry the key"


def _key(policy: str, endpoint: Endpoint, environ: Mapping[str, str]) -> str:
    name = endpoint.api_key_env
    if name is None:
        return ""
    key = environ.get(name, "").strip()
    where: dict[str, object] = {"policy": policy, "key": f"policies.{policy}.api_key_env"}
    if not key:
        raise ConfigError(f"the environment variable {name} is not set", where=where, fix=f"export {name}=... first")
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigError(f"the environment variable {name} holds no key", where=where, fix="give it the key alone")
    return key


def _json(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _Malformed("its answer is no JSON") from error
    if not isinstance(data, dict):
        raise _Malformed("its answer is no JSON object")
    return data


def _text(choice: Mapping[str, Any], finish: Finish) -> str:
    """The text of a choice: a string, or a list of parts; nothing at all only where the cap cut the thinking off."""
    message = choice.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    if content is None and finish == "length":
        return ""
    if not isinstance(content, str):
        raise _Malformed("its answer holds no text")
    return content
