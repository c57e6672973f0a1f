"""From an observation to the prompt ids of the policy that reads it.

A string is one user message. A `Prompt` is looked up in the workflow's prompts under the dialect of the reader. A
message may hold an earlier call: a reader with the same tokenizer gets the very ids that were sampled, never a
re-tokenised text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from motet.engines.base import Voice
from motet.errors import WorkflowError
from motet.rollout.settings import Overlong
from motet.types import Message, Observation, Prompt, Spoken

Prompts = Mapping[str, Mapping[str, Callable[[Mapping[str, Any]], str | Sequence[Message]]]]
Where = dict[str, object]


class Rendered(NamedTuple):
    """Prompt ids, and how many prompt tokens the over-long policy cut away."""

    prompt_ids: tuple[int, ...]
    dropped: int


def render(
    observation: Observation,
    prompts: Prompts,
    voice: Voice,
    *,
    where: Where | None = None,
    overlong: Overlong = "error",
) -> Rendered:
    """The prompt ids of `observation` for one reader.

    dialect `chat`: messages go through `voice.encode_chat`, the model's own template, which puts the ids of an
    earlier call of the same tokenizer in place of its text; a string is one user message. Any other dialect
    (`compact`): the ids of the contents one after the other, nothing added.
    A prompt above `voice.max_prompt_tokens`: `error` refuses it; `truncate_left` cuts ids from the left; `drop_oldest`
    leaves out the oldest messages that are not `system`, never the last one, and refuses what is then still too long.
    Raises `WorkflowError` with `where` for an unknown prompt or dialect, an empty or an over-long prompt.
    """
    where = where or {}
    content = worded(observation, prompts, voice.dialect, where)
    ids = _encode(content, voice)
    if not ids:
        raise WorkflowError("the prompt is empty", where=where, fix="show the role something")
    num, limit = len(ids), voice.max_prompt_tokens
    if num <= limit:
        return Rendered(ids, 0)
    if overlong == "truncate_left":
        return Rendered(ids[num - limit :], num - limit)
    if overlong == "drop_oldest" and not isinstance(content, str):
        messages = list(content)
        while len(ids) > limit:
            oldest = next((i for i, m in enumerate(messages[:-1]) if m.role != "system"), None)
            if oldest is None:
                break
            del messages[oldest]
            ids = _encode(messages, voice)
        if len(ids) <= limit:
            return Rendered(ids, num - len(ids))
    raise WorkflowError(
        f"the prompt has {len(ids)} tokens, {limit} fit",
        where=where,
        fix="shorten the observation, or set overlong to truncate_left or drop_oldest",
    )


def worded(observation: Observation, prompts: Prompts, dialect: str, where: Where) -> str | Sequence[Message]:
    """The observation in the reader's dialect; where only one dialect is written, in that one."""
    if not isinstance(observation, Prompt):
        _check_content(observation, where)
        return observation
    if observation.name not in prompts:
        close = get_close_matches(observation.name, list(prompts), n=1)
        fix = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(prompts) or 'none'}"
        raise WorkflowError(f"unknown prompt {observation.name!r}", where=where, fix=fix)
    dialects = prompts[observation.name]
    if dialect not in dialects and len(dialects) != 1:
        raise WorkflowError(
            f"the prompt {observation.name!r} has no dialect {dialect!r}",
            where=where,
            fix=f"write one for it; there are {', '.join(dialects) or 'none'}",
        )
    renderer = dialects[dialect] if dialect in dialects else next(iter(dialects.values()))
    content = renderer(observation.values)
    _check_content(content, where)
    return content


def _check_content(content: object, where: Where) -> None:
    if isinstance(content, str):
        return
    if isinstance(content, Sequence) and content and all(isinstance(m, Message) for m in content):
        return
    raise WorkflowError(
        f"an observation of type {type(content).__name__} cannot be shown",
        where=where,
        fix="give text, a list of Message (not empty) or a Prompt",
    )


def _encode(content: str | Sequence[Message], voice: Voice) -> tuple[int, ...]:
    if voice.dialect == "chat":
        return tuple(voice.encode_chat([Message("user", content)] if isinstance(content, str) else content))
    if isinstance(content, str):
        return tuple(voice.encode(content))
    return tuple(token for message in content for token in _part(message.content, voice))


def _part(content: str | Spoken, voice: Voice) -> tuple[int, ...]:
    if isinstance(content, str):
        return tuple(voice.encode(content))
    if content.tokenizer_id != voice.tokenizer_id:
        return tuple(voice.encode(content.text))
    return sampled_ids(content)


def sampled_ids(spoken: Spoken) -> tuple[int, ...]:
    """The ids of an earlier call without the end token, which belongs to the reader's template."""
    ids = tuple(spoken.token_ids)
    return ids[:-1] if getattr(spoken, "finish", None) == "eos" else ids
