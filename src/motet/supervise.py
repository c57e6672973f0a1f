"""`motet sft`: a supervised warm start of one role, from a file of answers or from the winning answers of a run.

One JSON object per line: `prompt` (a text that is encoded as it stands, or a list of chat messages), `answer`, and,
where the file holds several roles, `role`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from motet.engines.voice import HfVoice
from motet.errors import ConfigError, EngineError, TaskError
from motet.losses.settings import UpdateSettings
from motet.policies.models import Base, load
from motet.policies.sft import Example, fit
from motet.policies.update import Learner, PolicyModel
from motet.rollout.records import read_episodes
from motet.runs import find
from motet.types import Episode, Message


def supervise(
    source: str,
    *,
    role: str,
    out: Path,
    model: str = "tiny-m",
    epochs: int = 1,
    lr: float = 1e-3,
    seed: int = 0,
    runs: Path = Path("runs"),
) -> Iterator[dict[str, float]]:
    """Fit `model` to the answers of `role` and write it to `out`, a folder that `model=` or a policy's `base` can name.

    `source` is a JSONL file, or a run. Yields the metrics of every step. Raises `ConfigError` where `out` holds
    something or no answer is found, `TaskError` with its line for a malformed row, `EngineError` where a run's tokens
    are not those of the model.
    """
    if out.exists() and any(out.iterdir()):
        raise ConfigError("the folder for the new model is not empty", where={"out": out}, fix="name another")
    base = load(model, seed=seed)
    if source.endswith((".jsonl", ".json")):
        examples = read_answers(Path(source), role, base)
    else:
        examples = winners(read_episodes(find(runs, source).episodes), role, base.voice())
    if not examples:
        raise ConfigError(f"no answer of role '{role}' to learn from", where={"source": source}, fix="check the role")
    learner = Learner([PolicyModel("sft", base.model)], UpdateSettings(learning_rate=lr))
    yield from fit(learner.policy("sft"), examples, epochs=epochs, seed=seed)
    base.model.save_pretrained(out)
    base.tokenizer.save_pretrained(out)


def read_answers(path: Path, role: str, base: Base) -> list[Example]:
    """The rows of a JSONL file that are `role`'s, or nobody's in particular."""
    if not path.is_file():
        raise TaskError("there is no such file", where={"path": path}, fix="give a JSONL file, or the name of a run")
    examples = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        where: dict[str, object] = {"path": path, "line": number}
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise TaskError(f"this is no JSON: {error.msg}", where=where) from error
        if not isinstance(row, Mapping) or not isinstance(row.get("answer"), str) or "prompt" not in row:
            raise TaskError(
                "a row needs a prompt and an answer", where=where, fix='write {"prompt": ..., "answer": ...}'
            )
        if row.get("role", role) == role:
            examples.append(_example(row["prompt"], row["answer"], base, where))
    return examples


def _example(prompt: Any, answer: str, base: Base, where: dict[str, object]) -> Example:
    voice = base.voice()
    if isinstance(prompt, str):
        ids = voice.encode(prompt)
    elif isinstance(prompt, list) and all(
        isinstance(one, Mapping) and {"role", "content"} <= set(one) for one in prompt
    ):
        ids = voice.encode_chat([Message(one["role"], one["content"]) for one in prompt])
    else:
        raise TaskError("a prompt is a text or a list of messages", where=where, fix="give each a role and a content")
    return Example(ids, (*voice.encode(answer), base.tokenizer.eos_token_id))


def winners(episodes: Sequence[Episode], role: str, voice: HfVoice) -> list[Example]:
    """What `role` said in the episodes that ended in success, as the exact tokens that were sampled, cut answers aside.

    Raises `EngineError` where they were sampled with another tokenizer than `voice` has.
    """
    examples = []
    for episode in episodes:
        if episode.outcome is None or not episode.outcome.success:
            continue
        for call in episode.calls:
            chosen = call.candidates[call.chosen]
            if call.key.role != role or chosen.finish == "length":
                continue
            if call.tokenizer_id != voice.tokenizer_id:
                raise EngineError(
                    "the run was sampled with another tokenizer",
                    where={"role": role, "run": call.tokenizer_id, "model": voice.tokenizer_id},
                    fix="start from the model that the run used",
                )
            examples.append(Example(call.prompt_ids, chosen.token_ids))
    return examples
