"""An engine whose answers come from a function: for tests, for `check_workflow`, and for games with known values.

    reply(policy, prompt_text, candidate_index, uniform) -> text

`uniform` is the first uniform of the candidate's counter key, so a reply may be random and still be reproducible.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from motet.engines.base import Completion, Request
from motet.errors import EngineError
from motet.rollout.counters import uniforms
from motet.types import Message

END = 0
"""The end token of `CharacterVoice`."""

Reply = Callable[[str, str, int, float], str]


class CharacterVoice:
    """A reversible tokenizer of one id per character (its code point) and the end token 0.

    >>> voice = CharacterVoice()
    >>> voice.encode("ab"), voice.decode((97, 98, END))
    ((97, 98), 'ab')
    >>> voice.decode(voice.encode_chat([Message("user", "hi")]))
    '<user>hi</><assistant>'
    """

    def __init__(
        self, dialect: str = "compact", max_prompt_tokens: int = 100_000, tokenizer_id: str = "characters"
    ) -> None:
        self.dialect, self.max_prompt_tokens, self.tokenizer_id = dialect, max_prompt_tokens, tokenizer_id

    def encode(self, text: str) -> tuple[int, ...]:
        return tuple(map(ord, text))

    def encode_chat(self, messages: Sequence[Message]) -> tuple[int, ...]:
        ids: list[int] = []
        for message in messages:
            content = message.content
            if isinstance(content, str):
                body = self.encode(content)
            elif content.tokenizer_id == self.tokenizer_id:
                body = tuple(token for token in content.token_ids if token != END)
            else:
                body = self.encode(content.text)
            ids += [*self.encode(f"<{message.role}>"), *body, *self.encode("</>")]
        return (*ids, *self.encode("<assistant>"))

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(chr(token) for token in ids if token != END)


class ScriptedEngine:
    """Replies from a function; counts as every policy it is asked for. Records each request in `requests`.

    Answers end with the end token (`eos`), or are cut after the first stop string (`stop`, the string stays in the
    ids and leaves the text), or at `max_tokens` (`length`). Every log-prob is -1. `voices` gives single policies a
    voice of their own. `yields(request)` says how often the engine lets others run first, which shuffles arrival order.

    >>> from motet.types import Sampling
    >>> engine = ScriptedEngine(lambda policy, prompt, index, uniform: f"{policy}{index}")
    >>> request = Request("p", (97,), (1, 2), Sampling())
    >>> [answer.text for answer in asyncio.run(engine.sample(request))]
    ['p0', 'p1']
    """

    def __init__(
        self,
        reply: Reply,
        *,
        voice: CharacterVoice | None = None,
        voices: Mapping[str, CharacterVoice] | None = None,
        versions: Mapping[str, int] | None = None,
        yields: Callable[[Request], int] | None = None,
    ) -> None:
        self._reply, self._voice, self._voices = reply, voice or CharacterVoice(), dict(voices or {})
        self._versions, self._yields = dict(versions or {}), yields
        self.requests: list[Request] = []

    def voice(self, policy: str) -> CharacterVoice:
        return self._voices.get(policy, self._voice)

    def version(self, policy: str) -> int:
        return self._versions.get(policy, 0)

    async def sample(self, request: Request) -> list[Completion]:
        self.requests.append(request)
        for _ in range(self._yields(request) if self._yields else 0):
            await asyncio.sleep(0)
        prompt = self.voice(request.policy).decode(request.prompt_ids)
        draws = uniforms(request.keys, 1)[:, 0].tolist()
        return [self._complete(request, prompt, index, draw) for index, draw in enumerate(draws)]

    def _complete(self, request: Request, prompt: str, index: int, draw: float) -> Completion:
        text = self._reply(request.policy, prompt, index, 0.5 if request.sampling.greedy else draw)
        if not isinstance(text, str):
            raise EngineError(f"the reply is {text!r}, not text", where={"policy": request.policy, "candidate": index})
        voice, sampling = self.voice(request.policy), request.sampling
        ends = [(text.index(stop), stop) for stop in sampling.stop if stop in text]
        cut, stop = min(ends) if ends else (len(text), "")
        ids = voice.encode(text[: cut + len(stop)]) + (() if stop else (END,))
        if len(ids) > sampling.max_tokens:
            ids = ids[: sampling.max_tokens]
            return Completion(ids, voice.decode(ids)[:cut], (-1.0,) * len(ids), "length")
        return Completion(ids, text[:cut], (-1.0,) * len(ids), "stop" if stop else "eos")
