"""Samples whole batches of rows to their end: draw, stop, compact, step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from motet.engines.base import Completion, Request
from motet.engines.buckets import RowBuckets, smallest, split_rows
from motet.engines.decode import Forward, PromptKv, Rows
from motet.engines.draw import RowSampling, draw
from motet.engines.voice import HfVoice, find_stop
from motet.errors import EngineError
from motet.types import Finish

Uniforms = Callable[[Sequence[int], int], np.ndarray]
"""`motet.rollout.counters.uniforms`: keys, num_tokens -> float64 [K, num_tokens] in (0, 1)."""

COMPACT_BELOW = 0.75
_FINISH: tuple[Finish, ...] = ("length", "eos", "stop")


@dataclass(frozen=True, slots=True)
class Speaker:
    """What is needed to sample for one policy."""

    policy: str
    forward: Forward
    voice: HfVoice
    buckets: RowBuckets


def sample_alike(
    speaker: Speaker, requests: Sequence[Request], width: int, uniforms: Uniforms, counters: Counter[str]
) -> list[list[Completion]]:
    """Completions of requests that share policy, prompt width and cap; each prompt is computed once.

    Prompts and rows are computed in measured batches; no number depends on how they are split.
    """
    max_rows = speaker.buckets.decode_counts()[-1]
    results: list[list[Completion]] = []
    start = 0
    while start < len(requests):
        end, rows = start, 0
        while end < len(requests) and (end == start or rows + requests[end].num_candidates <= max_rows):
            rows += requests[end].num_candidates
            end += 1
        results.extend(_sample_piece(speaker, requests[start:end], width, uniforms, counters))
        start = end
    return results


def _sample_piece(
    speaker: Speaker, requests: Sequence[Request], width: int, uniforms: Uniforms, counters: Counter[str]
) -> list[list[Completion]]:
    logits, kv, lengths = _prefill(speaker, requests, width, counters)
    owner = [index for index, request in enumerate(requests) for _ in request.keys]
    keys = [key for request in requests for key in request.keys]
    completions: list[Completion] = []
    start = 0
    for size in split_rows(len(owner), speaker.buckets.decode_counts()):
        part = slice(start, start + size)
        batch = _Batch(speaker, requests, owner[part], keys[part], uniforms)
        completions.extend(batch.run(logits, kv, lengths, counters))
        start += size
    ends = np.cumsum([request.num_candidates for request in requests])
    return [completions[end - r.num_candidates : end] for end, r in zip(ends, requests, strict=True)]


def _prefill(
    speaker: Speaker, requests: Sequence[Request], width: int, counters: Counter[str]
) -> tuple[torch.Tensor, PromptKv, torch.Tensor]:
    counts = speaker.buckets.prefill_counts(width)
    logits, parts, start = [], [], 0
    for size in split_rows(len(requests), counts):
        prompts = [requests[start + i].prompt_ids for i in range(size)]
        count = smallest(counts, size)
        ids = torch.zeros((count, width), dtype=torch.long)
        for row, prompt in enumerate(prompts):
            ids[row, width - len(prompt) :] = torch.tensor(prompt)
        lengths = torch.tensor([len(p) for p in prompts] + [width] * (count - size))
        out, kv = speaker.forward.prefill(ids, lengths)
        logits.append(out[:size])
        parts.append(PromptKv([k[:size] for k in kv.keys], [v[:size] for v in kv.values]))
        start += size
        counters["prompt_computations"] += size
        counters["forward_tokens"] += count * width
        counters["useful_tokens"] += sum(len(p) for p in prompts)
    keys = (
        [torch.cat(layer) for layer in zip(*(p.keys for p in parts), strict=True)] if len(parts) > 1 else parts[0].keys
    )
    values = [torch.cat(v) for v in zip(*(p.values for p in parts), strict=True)] if len(parts) > 1 else parts[0].values
    return torch.cat(logits), PromptKv(keys, values), torch.tensor([len(r.prompt_ids) for r in requests])


class _Batch:
    """Rows that decode together. A slot of the running batch holds a row, or -1 once that row is done."""

    def __init__(
        self,
        speaker: Speaker,
        requests: Sequence[Request],
        owner: Sequence[int],
        keys: Sequence[int],
        uniforms: Uniforms,
    ) -> None:
        self.speaker, self.owner, self.num_rows = speaker, list(owner), len(owner)
        settings = [requests[index].sampling for index in owner]
        self.max_tokens = settings[0].max_tokens
        self.sampling = RowSampling.of(settings)
        self.stops = [s.stop for s in settings]
        self.uniforms = torch.from_numpy(np.ascontiguousarray(uniforms(keys, self.max_tokens), dtype=np.float64))
        self.ids = torch.zeros((self.num_rows, self.max_tokens), dtype=torch.long)
        self.logprobs = torch.zeros((self.num_rows, self.max_tokens), dtype=torch.float64)
        self.lengths = torch.full((self.num_rows,), self.max_tokens)
        self.finish = torch.zeros(self.num_rows, dtype=torch.long)
        self.is_eos = torch.zeros(speaker.forward.vocab_size, dtype=torch.bool)
        self.is_eos[[i for i in speaker.voice.eos_ids if i < speaker.forward.vocab_size]] = True

    def run(
        self, logits: torch.Tensor, kv: PromptKv, lengths: torch.Tensor, counters: Counter[str]
    ) -> list[Completion]:
        owner = torch.tensor(self.owner)
        slots = torch.arange(self.num_rows)
        rows: Rows | None = None
        logits = logits.index_select(0, owner.to(logits.device))
        for token in range(self.max_tokens):
            alive = slots >= 0
            live = slots[alive]
            ids = self._draw(logits[: len(slots)][alive.to(logits.device)], live, token)
            done = self._stopped(ids, live, token)
            counters["sampled_tokens"] += len(live)
            if token + 1 == self.max_tokens or bool(done.all()):
                break
            slots[alive.nonzero()[:, 0][done]] = -1
            rows, slots = self._company(rows, slots, kv, lengths, owner)
            last = self.ids[slots.clamp(min=0), token]
            last = torch.cat([last, last[:1].expand(rows.num_rows - len(slots))])  # dummies are copies of row 0
            logits = self.speaker.forward.step(last.to(self.speaker.forward.device), rows)
            counters["forward_tokens"] += rows.num_rows
            counters["useful_tokens"] += int((slots >= 0).sum())
        return self._completions()

    def _draw(self, logits: torch.Tensor, live: torch.Tensor, token: int) -> torch.Tensor:
        ids, logprobs = draw(logits.cpu(), self.uniforms[live, token], self.sampling.select(live))
        if not bool(torch.isfinite(logprobs).all()):
            raise EngineError(
                "the model's logits are not finite",
                where={"policy": self.speaker.policy, "token": token},
                fix="load an earlier checkpoint and lower the learning rate; no token can be drawn from such weights",
            )
        self.ids[live, token] = ids
        self.logprobs[live, token] = logprobs
        return ids

    def _stopped(self, ids: torch.Tensor, live: torch.Tensor, token: int) -> torch.Tensor:
        done = self.is_eos[ids]
        self.finish[live[done]] = 1
        for stop in {self.stops[row] for row in live.tolist()} - {()} if any(self.stops) else ():
            suspects = self.speaker.voice.completes_stop(stop, self.speaker.forward.vocab_size)[ids] & ~done
            for place in suspects.nonzero()[:, 0].tolist():
                row = int(live[place])
                if self.stops[row] == stop and find_stop(self._text(row, token + 1), stop) is not None:
                    done[place], self.finish[row] = True, 2
        self.lengths[live[done]] = token + 1
        return done

    def _company(
        self, rows: Rows | None, slots: torch.Tensor, kv: PromptKv, lengths: torch.Tensor, owner: torch.Tensor
    ) -> tuple[Rows, torch.Tensor]:
        """The rows of the next step: done rows leave once a clearly smaller count holds the others."""
        counts = self.speaker.buckets.decode_counts()
        alive = (slots >= 0).nonzero()[:, 0]
        count = smallest(counts, len(alive))
        if rows is not None and count > COMPACT_BELOW * rows.num_rows:
            return rows, slots
        index = torch.cat([alive, alive[:1].expand(count - len(alive))])
        device = self.speaker.forward.device
        if rows is None:
            prompt_index = owner[slots[index]].to(device)
            made = self.speaker.forward.expand(kv, prompt_index, lengths, self.max_tokens, len(alive))
            return made, slots[alive]
        return rows.select(index.to(device)), slots[alive]

    def _text(self, row: int, length: int) -> str:
        return str(self.speaker.voice.tokenizer.decode(self.ids[row, :length].tolist(), skip_special_tokens=True))

    def _completions(self) -> list[Completion]:
        completions = []
        all_ids, all_logprobs = self.ids.tolist(), self.logprobs.tolist()
        for row, (length, finish) in enumerate(zip(self.lengths.tolist(), self.finish.tolist(), strict=True)):
            ids = tuple(all_ids[row][:length])
            text = self.speaker.voice.decode(ids[:-1] if finish == 1 else ids)
            if finish == 2:
                text = text[: find_stop(text, self.stops[row])]
            completions.append(Completion(ids, text, tuple(all_logprobs[row][:length]), _FINISH[finish]))
        return completions
