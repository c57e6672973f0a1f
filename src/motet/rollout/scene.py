"""What the episodes of one batch share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from motet.engines.base import Engine, Voice
from motet.errors import EngineError
from motet.policies.cast import Cast, PolicySpec
from motet.rollout.rendering import Prompts
from motet.rollout.scoring import ScorePool
from motet.rollout.settings import RolloutSettings
from motet.types import Phase


@dataclass(slots=True)
class Scene:
    """Cast, engines and settings of a batch, and the names that its counters are keyed by."""

    cast: Cast
    engines: Mapping[str, Engine]
    settings: RolloutSettings
    prompts: Prompts
    pool: ScorePool
    phase: Phase
    ticket: int
    seed: int
    split: str
    voices: dict[str, tuple[Engine, Voice]] = field(default_factory=dict)
    is_warned: bool = False

    def speaker(self, policy: PolicySpec) -> tuple[Engine, Voice]:
        """The engine and voice of a policy."""
        known = self.voices.get(policy.name)
        if known is None:
            engine = self.engines.get(policy.engine)
            if engine is None:
                raise EngineError(
                    f"no engine {policy.engine!r}",
                    where={"policy": policy.name},
                    fix=f"start one of that name; running: {', '.join(self.engines) or 'none'}",
                )
            known = self.voices[policy.name] = (engine, engine.voice(policy.name))
        return known
