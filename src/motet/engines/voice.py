"""How text becomes ids and back, for one Hugging Face tokenizer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import jinja2
import torch

from motet.errors import EngineError
from motet.types import Message, Spoken

Dialect = Literal["chat", "compact"]
_CACHE_SIZE = 50_000


class HfVoice:
    """The tokenizer, chat template and dialect of one policy.

    `encode` adds no special token. `encode_chat` goes through the model's own template and opens the answer; a message
    that holds an earlier call (`Spoken`) of the same tokenizer gets that call's ids, less its end token, and its text
    is never encoded anew. `decode` leaves special tokens out. `eos_ids` are all ids that end an answer.
    `max_prompt_tokens` is the longest prompt that this voice's owner lets through.
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        dialect: Dialect,
        max_prompt_tokens: int,
        eos_ids: Iterable[int] | None = None,
        template_values: Mapping[str, Any] | None = None,
    ) -> None:
        self.tokenizer, self.dialect, self.max_prompt_tokens = tokenizer, dialect, max_prompt_tokens
        own = [tokenizer.eos_token_id] if tokenizer.eos_token_id is not None else []
        self.eos_ids: frozenset[int] = frozenset(own if eos_ids is None else eos_ids)
        self.template_values = dict(template_values or {})
        self.tokenizer_id = tokenizer_id(tokenizer)
        self._texts: dict[tuple[int, ...], str] = {}
        self._ids: dict[str, tuple[int, ...]] = {}
        self._stops: dict[tuple[str, ...], torch.Tensor] = {}

    def encode(self, text: str) -> tuple[int, ...]:
        """Ids of plain text, without special tokens around it."""
        found = self._ids.get(text)
        if found is None:
            found = tuple(self.tokenizer.encode(text, add_special_tokens=False))
            _remember(self._ids, text, found)
        return found

    def encode_chat(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Ids of a conversation in the model's template, open for the answer.

        Raises `EngineError` where the tokenizer has no chat template or the template refuses the conversation.
        """
        if not getattr(self.tokenizer, "chat_template", None):
            raise EngineError(
                "this tokenizer has no chat template",
                fix="give the workflow's prompts a `compact` dialect, or use a model with a chat template",
            )
        mark = self._free_mark(messages)
        turns: list[dict[str, str]] = []
        spliced: list[Spoken] = []
        for message in messages:
            content = message.content
            if isinstance(content, str):
                text = content
            elif content.tokenizer_id == self.tokenizer_id:
                text = f"{mark}{len(spliced)}{mark}"
                spliced.append(content)
            else:
                text = content.text
            turns.append({"role": message.role, "content": text})
        return self._splice(self._template(turns), mark, spliced)

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ids, special tokens left out."""
        key = tuple(ids)
        found = self._texts.get(key)
        if found is None:
            found = str(self.tokenizer.decode(list(key), skip_special_tokens=True))
            _remember(self._texts, key, found)
        return found

    def completes_stop(self, stop: tuple[str, ...], vocab_size: int) -> torch.Tensor:
        """Bool [V]: the ids after which the decoded text may newly hold one of `stop`; only there is it worth looking.

        An id qualifies if its own text holds the last character of a stop string or an unfinished character.
        """
        if stop not in self._stops:
            last = {text[-1] for text in stop}
            if any(char.isspace() for char in last):
                self._stops[stop] = torch.ones(vocab_size, dtype=torch.bool)
            else:
                pieces = (str(self.tokenizer.decode([i])) for i in range(vocab_size))
                hits = [any(c in piece for c in last) or "\ufffd" in piece for piece in pieces]
                self._stops[stop] = torch.tensor(hits, dtype=torch.bool)
        return self._stops[stop]

    def _template(self, turns: list[dict[str, str]]) -> str:
        try:
            return str(
                self.tokenizer.apply_chat_template(
                    turns, tokenize=False, add_generation_prompt=True, **self.template_values
                )
            )
        except jinja2.TemplateError as error:
            raise EngineError(
                f"the chat template refuses this conversation: {error}",
                where={"roles": ",".join(turn["role"] for turn in turns)},
                fix="change the order or the roles of the messages",
            ) from error

    def _splice(self, text: str, mark: str, spliced: Sequence[Spoken]) -> tuple[int, ...]:
        ids: list[int] = []
        for position, piece in enumerate(text.split(mark)):
            if position % 2 == 0:
                ids.extend(self.encode(piece) if piece else ())
            else:
                spoken = list(spliced[int(piece)].token_ids)
                ids.extend(spoken[:-1] if spoken and spoken[-1] in self.eos_ids else spoken)
        return tuple(ids)

    @staticmethod
    def _free_mark(messages: Sequence[Message]) -> str:
        mark = "\ue000"
        while any(mark in m.content for m in messages if isinstance(m.content, str)):
            mark += "\ue001"
        return mark


def find_stop(text: str, stop: Sequence[str]) -> int | None:
    """Where the earliest stop string begins in `text`, or None.

    >>> find_stop("go up. Then", (".", "Then")), find_stop("go", (".",))
    (5, None)
    """
    places = [place for place in (text.find(s) for s in stop) if place >= 0]
    return min(places) if places else None


def tokenizer_id(tokenizer: Any) -> str:
    """A name for what a tokenizer does: 16 hex digits over its vocabulary, rules and chat template."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = backend.to_str() if backend is not None else ""
    content = [sorted(tokenizer.get_vocab().items()), rules, str(getattr(tokenizer, "chat_template", None))]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _remember(cache: dict[Any, Any], key: Any, value: Any) -> None:
    if len(cache) >= _CACHE_SIZE:
        cache.clear()
    cache[key] = value
