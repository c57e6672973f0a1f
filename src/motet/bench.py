"""How fast this machine does a whole iteration, what share of its matrix-product limit that is, and how other trainers
do on the same work in the same run.

`measure` runs the work of `bench_work` and returns what `motet bench --json` prints; docs/benchmarks.md says what each
key means.
"""

from __future__ import annotations

import asyncio
import os
import platform
import random
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from motet.bench_peers import PEERS, Peer, PeerError, start
from motet.bench_work import Work, limit_seconds, model_config, products, roof, save, tokenizer, totals
from motet.engines.base import Completion, Request
from motet.engines.local import LocalEngine, LocalSettings
from motet.engines.voice import HfVoice
from motet.policies.models import random_model
from motet.policies.update import Learner, PolicyModel, UpdateSettings
from motet.rollout.counters import candidate_keys
from motet.types import Row, Sampling

__all__ = ["Iteration", "Work", "measure", "products"]

POLICY = "p"


class Iteration:
    """The measured work on real parts: the local engine, then the learner, on one model."""

    def __init__(self, work: Work, seed: int = 0) -> None:
        self.work, self.seed, self.ticket = work, seed, 0
        model = random_model(model_config(work), seed=seed)
        voice = HfVoice(tokenizer(work.vocab), dialect="compact", max_prompt_tokens=work.prompt_tokens, eos_ids=())
        self.learner = Learner([PolicyModel(POLICY, model)], UpdateSettings(learning_rate=1e-5))
        self.engine = LocalEngine({POLICY: model}, {POLICY: voice}, LocalSettings(max_rows=work.num_rows))

    def run(self) -> tuple[float, float]:
        """One iteration; seconds of the rollout and of the update."""
        requests = self._requests()
        start = time.perf_counter()
        groups = asyncio.run(self._sample(requests))
        middle = time.perf_counter()
        self.learner.update(POLICY, self._rows(requests, groups))
        end = time.perf_counter()
        self.engine.publish(POLICY, self.learner.version(POLICY))
        self.ticket += 1
        return middle - start, end - middle

    async def _sample(self, requests: list[Request]) -> list[list[Completion]]:
        return await asyncio.gather(*(self.engine.sample(request) for request in requests))

    def _requests(self) -> list[Request]:
        draw = random.Random(f"{self.seed}/{self.ticket}")
        work, sampling = self.work, Sampling(max_tokens=self.work.new_tokens)
        prompts = [
            tuple(draw.randrange(work.vocab) for _ in range(work.prompt_tokens)) for _ in range(work.num_prompts)
        ]
        keys = [candidate_keys(draw.getrandbits(64), work.num_candidates) for _ in prompts]
        return [Request(POLICY, prompt, key, sampling) for prompt, key in zip(prompts, keys, strict=True)]

    def _rows(self, requests: list[Request], groups: list[list[Completion]]) -> list[Row]:
        version = self.learner.version(POLICY)
        return [
            Row(
                policy=POLICY,
                policy_version=version,
                role="role",
                slot=0,
                turn=0,
                prompt_ids=request.prompt_ids,
                completion_ids=answer.token_ids,
                sampling_logprobs=answer.logprobs,
                temperature=1.0,
                advantage=1.0 if place % 2 else -1.0,
                reward=float(place % 2),
                group=(index,),
                node=(index,),
            )
            for index, (request, answers) in enumerate(zip(requests, groups, strict=True))
            for place, answer in enumerate(answers)
        ]


def measure(
    seconds: float = 30.0,
    *,
    min_runs: int = 5,
    work: Work | None = None,
    threads: int | None = None,
    peers: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Medians and ranges over at least `min_runs` rounds, for about `seconds`; one round before is not counted.

    A round is the limit, motet's iteration and one iteration of every peer in the folder `peers`, one after the other,
    so that a machine that slows down slows all of them. `motet.completions_per_s` counts rollout and update.
    `limit.share` = limit seconds / iteration seconds of a round; `limit.completions_per_s` is what the products alone
    would allow. `trl.ratio` is motet's rate over TRL's in the same round. A peer that is not there, fails or does other
    work has `trl.missing` with the reason and no number. `threads` None keeps torch's own number; more threads than
    free cores make every figure worse. `progress` is told each round in a line.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    work = work or Work()
    load = [os.getloadavg()[0]]
    iteration = Iteration(work)
    with ExitStack() as stack:
        stack.callback(iteration.engine.close)
        running, missing = _start_peers(peers, work, stack) if peers is not None else ({}, {})
        iteration.run()
        for name, peer in list(running.items()):
            _peer_run(name, peer, running, missing)
        progress(f"prompt {work.prompt_tokens}: one round done, not counted")
        rounds: list[dict[str, float]] = []
        begin = time.perf_counter()
        while len(rounds) < min_runs or time.perf_counter() - begin < seconds:
            rounds.append(_round(iteration, running, missing))
            progress(f"prompt {work.prompt_tokens}: round {len(rounds)}: {_said(rounds[-1])}")
        about = {name: {"versions": peer.versions, "settings": peer.settings} for name, peer in running.items()}
    load.append(os.getloadavg()[0])
    return (
        _summary(rounds, without=missing)
        | _described(about)
        | {f"{name}.missing": reason for name, reason in missing.items()}
        | _bounds(work)
        | {"runs": len(rounds), "work": asdict(work), "threads": torch.get_num_threads(), "load": load}
        | {
            "cores": os.cpu_count(),
            "hardware": f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}",
            "torch": torch.__version__,
        }
    )


def _start_peers(folder: Path, work: Work, stack: ExitStack) -> tuple[dict[str, Peer], dict[str, str]]:
    model = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    save(model, work)
    running: dict[str, Peer] = {}
    missing: dict[str, str] = {}
    for name in PEERS:
        try:
            running[name] = stack.enter_context(start(name, folder, model, work, torch.get_num_threads()))
        except PeerError as error:
            missing[name] = str(error)
    return running, missing


def _peer_run(name: str, peer: Peer, running: dict[str, Peer], missing: dict[str, str]) -> tuple[float, float] | None:
    """Seconds and processor seconds of one iteration; a peer that fails leaves the run for good."""
    try:
        return peer.run()
    except PeerError as error:
        missing[name] = str(error)
        del running[name]
        return None


def _round(iteration: Iteration, running: dict[str, Peer], missing: dict[str, str]) -> dict[str, float]:
    work, threads = iteration.work, torch.get_num_threads()
    top_flops, top_bytes = roof()
    limit, cpu = limit_seconds(work), time.process_time()
    rollout, update = iteration.run()
    cpu, took = time.process_time() - cpu, rollout + update
    found = {
        "motet.completions_per_s": work.num_rows / took,
        "motet.processor_s": cpu,
        "motet.processor_frac": cpu / took / threads,
        "motet.rollout_frac": rollout / took,
        "limit.share": limit / took,
        "limit.completions_per_s": work.num_rows / limit,
        "roof.gflop_per_s": top_flops / 1e9,
        "roof.gbyte_per_s": top_bytes / 1e9,
    }
    for name, peer in list(running.items()):
        if (run := _peer_run(name, peer, running, missing)) is not None:
            found[f"{name}.completions_per_s"] = work.num_rows / run[0]
            found[f"{name}.processor_s"] = run[1]
            found[f"{name}.processor_frac"] = run[1] / run[0] / threads
            found[f"{name}.ratio"] = run[0] / took
    return found


def _summary(rounds: list[dict[str, float]], without: Mapping[str, str]) -> dict[str, float]:
    """Median, lowest and highest of every figure, but of no peer that failed in any round.

    >>> _summary([{"a.x": 1.0, "b.x": 4.0}, {"a.x": 3.0}], without={"b": "it died"})
    {'a.x': 2.0, 'a.x.low': 1.0, 'a.x.high': 3.0}
    """
    values: dict[str, list[float]] = defaultdict(list)
    for found in rounds:
        for key, value in found.items():
            if key.split(".")[0] not in without:
                values[key].append(value)
    return {
        name: figure
        for key, seen in values.items()
        for name, figure in ((key, statistics.median(seen)), (f"{key}.low", min(seen)), (f"{key}.high", max(seen)))
    }


def _bounds(work: Work) -> dict[str, float]:
    flops, moved = totals(work)
    return {"work.gflop": flops / 1e9, "work.gbyte": moved / 1e9}


def _described(about: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {f"{name}.{key}": value for name, parts in about.items() for key, value in parts.items()}


def _said(found: Mapping[str, float]) -> str:
    """
    >>> _said({"motet.completions_per_s": 312.4, "limit.share": 0.2, "trl.completions_per_s": 70.0})
    'motet 312/s, trl 70/s'
    """
    tail = ".completions_per_s"
    names = [key.removesuffix(tail) for key in found if key.endswith(tail) and not key.startswith("limit")]
    return ", ".join(f"{name} {found[name + tail]:.3g}/s" for name in names)
