"""The parts of a run that hold weights: models, the engine that samples from them, the learner that changes them.

One full policy is one model. All adapters on one base share that base; a frozen policy is a base without any adapter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from transformers.utils.logging import disable_progress_bar

from motet.build import Prepared, update_settings
from motet.config import Settings
from motet.engines.local import LocalEngine, LocalSettings, Served
from motet.engines.openai import Endpoint, OpenAIEngine
from motet.engines.remote_voice import MAX_PROMPT_TOKENS
from motet.engines.voice import HfVoice
from motet.errors import ConfigError
from motet.policies import lora
from motet.policies.cast import PolicySpec
from motet.policies.models import Base, load
from motet.policies.update import Learner, PolicyModel
from motet.rollout import counters

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float64": torch.float64}


@dataclass(frozen=True, eq=False)
class Parts:
    """Everything the loop works on: engine and learner hold the same weights. `remote`: where a role is served
    elsewhere."""

    prepared: Prepared
    engine: LocalEngine
    learner: Learner
    wardrobe: Wardrobe
    remote: OpenAIEngine | None = None

    @property
    def engines(self) -> dict[str, Any]:
        """Engines by the name that policies give them."""
        return by_name(self.engine, self.remote)

    def publish(self) -> None:
        """Tell the engine which version of each policy it now serves; the weights themselves are shared."""
        for policy in self.learner.policies:
            self.engine.publish(policy, self.learner.version(policy))

    def close(self) -> None:
        self.engine.close()


class Wardrobe:
    """Models by policy: `dress` loads what a policy needs and says what serves it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.endpoints: dict[str, Endpoint] = {}
        self._shared: dict[str, Base] = {}
        self.served: dict[str, Served] = {}
        self.voices: dict[str, HfVoice] = {}

    def dress(self, spec: PolicySpec, name: str | None = None) -> Served | None:
        """Put fresh weights for `spec` under `name`: its base, with a new adapter if it has one. None: a remote policy
        has no weights here, and its endpoint is noted."""
        name = name or spec.name
        if spec.kind == "remote":
            self.endpoints[name] = endpoint(self._settings, spec.name)
            return None
        if spec.kind == "full":
            base = self._load(spec.base)
            served: Served = base.model
        else:
            if spec.base not in self._shared:
                self._shared[spec.base] = self._load(spec.base)
            base, adapter = self._shared[spec.base], None
            if spec.kind == "lora":
                adapter = name
                self._adapt(base, spec, adapter)
            served = (base.model, adapter)
        self.served[name], self.voices[name] = served, self._voice(base, spec.name)
        return served

    def _load(self, base: str) -> Base:
        settings = self._settings
        if settings.device.startswith("cuda") and not torch.cuda.is_available():
            raise ConfigError("no graphics card is within reach", where={"key": "device"}, fix="set device=cpu")
        disable_progress_bar()
        found = load(base, dtype=DTYPES[settings.dtype], seed=settings.seed)
        found.model.to(settings.device)
        return found

    def _adapt(self, base: Base, spec: PolicySpec, adapter: str) -> None:
        given = self._settings.policies[spec.name]
        try:
            lora.add_adapter(
                base.model,
                adapter,
                given.rank,
                alpha=given.alpha,
                seed=self._settings.seed,
                targets=tuple(given.targets) or "all-linear",
            )
        except ValueError as error:
            raise ConfigError(
                f"no adapter can be put on: {error}",
                where={"key": f"policies.{spec.name}.targets", "base": base.name},
                fix="name linear layers of the model, or leave targets empty",
            ) from error

    def _voice(self, base: Base, policy: str) -> HfVoice:
        """A voice whose prompts leave room for the longest answer of any role this policy plays."""
        settings = self._settings
        assert isinstance(settings.cast, dict)
        roles = {seat.split("[")[0] for seat, served in settings.cast.items() if served == policy}
        longest = max(roles, key=lambda role: settings.roles[role].max_tokens)
        room = base.max_positions - settings.roles[longest].max_tokens
        if room < 1:
            raise ConfigError(
                f"the answers of role '{longest}' may take {settings.roles[longest].max_tokens} tokens, "
                f"and the model holds {base.max_positions} with the prompt",
                where={"key": f"roles.{longest}.max_tokens", "base": base.name},
                fix=f"leave room for a prompt below {base.max_positions}",
            )
        return base.voice(min(settings.sampling.max_prompt_tokens or room, room))


def endpoint(settings: Settings, policy: str) -> Endpoint:
    """Where the remote policy of resolved settings is served."""
    given = settings.policies[policy]
    assert given.base_url is not None and given.model is not None
    return Endpoint(
        given.base_url,
        given.model,
        given.api_key_env,
        timeout_s=given.timeout_s,
        max_retries=given.max_retries,
        max_parallel=given.max_parallel,
        candidates_by=given.candidates_by,
        request=given.request,
        max_prompt_tokens=settings.sampling.max_prompt_tokens or MAX_PROMPT_TOKENS,
    )


def make_remote(endpoints: Mapping[str, Endpoint]) -> OpenAIEngine | None:
    """One engine for all policies that are served elsewhere, None where there are none. Raises `ConfigError` for a key
    that is not in the environment."""
    return OpenAIEngine(endpoints) if endpoints else None


def by_name(local: LocalEngine, remote: OpenAIEngine | None) -> dict[str, Any]:
    """Engines by the name that policies give them."""
    return {"local": local} | ({"openai": remote} if remote is not None else {})


def make_engine(served: Mapping[str, Served], voices: Mapping[str, HfVoice], threads: int) -> LocalEngine:
    """One engine for all of these policies."""
    settings = LocalSettings(threads=threads)
    return LocalEngine(served, voices, settings, uniforms=counters.uniforms, activate=lora.activate)


def policy_model(name: str, served: Served) -> PolicyModel:
    """What the learner takes for what the engine serves."""
    model, adapter = served if isinstance(served, tuple) else (served, None)
    return PolicyModel(name, model, adapter)


def assemble(prepared: Prepared) -> Parts:
    """Load every model once, and put engine and learner on the same weights. A missing key is found before that."""
    wardrobe = Wardrobe(prepared.settings)
    specs = prepared.cast.policies.values()
    remote = make_remote({one.name: endpoint(prepared.settings, one.name) for one in specs if one.kind == "remote"})
    for spec in specs:
        wardrobe.dress(spec)
    learning = [
        policy_model(name, wardrobe.served[name]) for name, spec in prepared.cast.policies.items() if spec.trainable
    ]
    learner = Learner(learning, update_settings(prepared.settings))
    engine = make_engine(wardrobe.served, wardrobe.voices, prepared.settings.threads)
    return Parts(prepared, engine, learner, wardrobe, remote)


@contextmanager
def reproducible(settings: Settings) -> Iterator[None]:
    """torch as the settings have it: threads, seed, deterministic kernels. What was before comes back afterwards."""
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(settings.threads)
    torch.use_deterministic_algorithms(True)
    try:
        with torch.random.fork_rng():
            torch.manual_seed(settings.seed)
            yield
    finally:
        torch.use_deterministic_algorithms(strict)
        torch.set_num_threads(threads)
