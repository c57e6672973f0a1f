"""From settings to what a run needs before any model is loaded: checks that are cheap to fail. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from motet.config import Loaded, Settings, resolve, trainable_policies
from motet.config.settings import PhaseSampling, RoleSettings
from motet.credit.settings import CreditSettings
from motet.doctor import threads_to_use
from motet.errors import ConfigError, MotetError, SandboxError
from motet.policies.cast import Cast, PolicySpec
from motet.rollout.settings import RolloutSettings
from motet.sandbox import Limits, configure
from motet.tasks.base import Programmable, TaskSet, check_sets, check_shape, make_task_set, numbered, size_of, task_of
from motet.types import Sampling
from motet.workflows.base import Workflow, check_roles, make_workflow

if TYPE_CHECKING:
    from motet.losses.settings import UpdateSettings


@dataclass(frozen=True)
class Prepared:
    """A run that passed every check that needs no model. `settings` are resolved."""

    settings: Settings
    workflow: Workflow
    task_sets: Sequence[tuple[TaskSet, float]]
    cast: Cast
    rollout: RolloutSettings
    credit: CreditSettings


def prepare(loaded: Loaded, *, workflow: Workflow | None = None, task_sets: Sequence[TaskSet | None] = ()) -> Prepared:
    """Check settings against the workflow and the tasks they name, and resolve what is left to the machine.

    `workflow` and `task_sets` stand in for those that the settings name (the Python API passes objects). Raises
    `ConfigError` with the line at fault; loads no model and imports no torch.
    """
    made = _make_workflow(loaded) if workflow is None else workflow
    check_roles(made)
    settings = resolve_machine(resolve(loaded, made.roles))
    sets: list[tuple[TaskSet, float]] = []
    for index, task in enumerate(settings.tasks):
        given = task_sets[index] if task_sets else None
        sets.append((_make_task_set(loaded, index) if given is None else given, task.weight))
    _check_fit(loaded, made, sets, settings)
    _prepare_sandbox(loaded, made, sets, settings)
    return Prepared(
        settings, made, sets, make_cast(settings, made), rollout_settings(settings), credit_settings(settings)
    )


def _make_workflow(loaded: Loaded) -> Workflow:
    given = loaded.settings.workflow
    try:
        return make_workflow(given.name, **given.settings)
    except MotetError as error:
        raise _placed(loaded, error, ("workflow",)) from error


def _make_task_set(loaded: Loaded, index: int) -> TaskSet:
    given = loaded.settings.tasks[index]
    try:
        return make_task_set(given.name, **given.settings)
    except MotetError as error:
        raise _placed(loaded, error, ("tasks", index)) from error


def _placed(loaded: Loaded, error: MotetError, path: tuple[str | int, ...]) -> ConfigError:
    """The error of a workflow or task set, with the line of the recipe that asked for it."""
    for key in loaded.marked.marks:
        if key[: len(path)] == path and f"'{key[-1]}'" in error.what:
            path = key
    return ConfigError(error.what, where={"line": loaded.marked.place(path), **error.where}, fix=error.fix)


def _check_fit(loaded: Loaded, workflow: Workflow, sets: Sequence[tuple[TaskSet, float]], settings: Settings) -> None:
    """Refuse a task set the workflow cannot play, or that lacks a split the run will read."""
    for index, (task_set, _) in enumerate(sets):
        check_shape(task_set, {"line": loaded.marked.place(("tasks", index))})
    try:
        check_sets(sets)
    except MotetError as error:
        raise _placed(loaded, error, ("tasks",)) from error
    needed = {"train"} if settings.train.iterations else set()
    needed |= {"validation"} if settings.train.eval_every else set()
    needed |= {settings.evaluate.split} if settings.evaluate.at_end else set()
    for index, (task_set, _) in enumerate(sets):
        where: dict[str, object] = {"line": loaded.marked.place(("tasks", index)), "task_set": task_set.name}
        missing = sorted(needed - set(task_set.splits))
        if missing:
            raise ConfigError(
                f"the task set has no split '{missing[0]}'", where=where, fix=f"it has {', '.join(task_set.splits)}"
            )
        for split in sorted(needed):
            size_of(task_set, split)
        reason = workflow.fits(task_of(task_set, task_set.splits[0], 0))
        if reason is not None:
            raise ConfigError(reason, where=where, fix="choose another workflow or another task set")


def _prepare_sandbox(
    loaded: Loaded, workflow: Workflow, sets: Sequence[tuple[TaskSet, float]], settings: Settings
) -> None:
    """Where programs will run, choose the sandbox of this process and prove it: no wall, no run."""
    solved_by_programs = any(isinstance(task_of(made, made.splits[0], 0), Programmable) for made, _ in sets)
    if not (workflow.runs_programs or solved_by_programs):
        return
    given = settings.sandbox
    limits = Limits(wall_s=given.wall_s, cpu_s=given.cpu_s, memory_mb=given.memory_mb)
    try:
        configure(given.backend, limits=limits, parallel=given.parallel)
    except SandboxError as error:
        where: dict[str, object] = {"line": loaded.marked.place(("sandbox", "backend"))}
        fix = "allow user namespaces or install bubblewrap; or say sandbox.backend=none, and programs have your rights"
        raise ConfigError(f"this recipe runs programs, and {error.what}", where=where, fix=fix) from error


def resolve_machine(settings: Settings) -> Settings:
    """Replace `auto` by what this machine gives: threads that are free, fp32, the processor unless a card is asked for.

    Results depend on these; they are resolved once per run, written to config.yaml, and reused on resume.
    """
    return settings.model_copy(
        update={
            "threads": settings.threads or threads_to_use(),
            "dtype": "float32" if settings.dtype == "auto" else settings.dtype,
            "device": "cpu" if settings.device == "auto" else settings.device,
        }
    )


def make_cast(settings: Settings, workflow: Workflow) -> Cast:
    """The cast that resolved settings describe."""
    assert isinstance(settings.cast, dict)
    specs = [policy_spec(settings, name) for name in settings.policies]
    return Cast.explicit(
        workflow.roles,
        specs,
        settings.cast,
        train={role: _sampling(own, own.train) for role, own in settings.roles.items()},
        eval={role: _sampling(own, own.eval or own.train) for role, own in settings.roles.items()},
    )


def policy_spec(settings: Settings, name: str) -> PolicySpec:
    policy = settings.policies[name]
    return PolicySpec(
        name,
        kind=policy.kind,
        base=(policy.model or "") if policy.kind == "remote" else policy.base or settings.model,
        rank=policy.rank if policy.kind == "lora" else None,
        engine="openai" if policy.kind == "remote" else "local",
        trainable=name in trainable_policies(settings),
    )


def _sampling(role: RoleSettings, phase: PhaseSampling) -> Sampling:
    return Sampling(
        temperature=phase.temperature,
        max_tokens=role.max_tokens,
        stop=tuple(role.stop),
        top_p=phase.top_p,
        top_k=phase.top_k,
        greedy=phase.greedy,
    )


def held_out(task_sets: Sequence[tuple[TaskSet, float]], split: str, num: int) -> list[tuple[str, Any, int]]:
    """The first tasks of a split, each once: `num` of them, shared out over the task sets by weight.

    A task set that is smaller than its share gives what it has. The same call gives the same tasks, whatever the seed.

    >>> from motet.tasks.plan_path import PlanPath
    >>> [copy for _, _, copy in held_out([(PlanPath(), 1.0)], "validation", 2)]
    [0, 0]
    """
    total = sum(weight for _, weight in task_sets)
    tasks: list[tuple[str, Any]] = []
    passed = 0.0
    for task_set, weight in task_sets:
        share = round((passed + weight) / total * num) - round(passed / total * num)
        passed += weight
        size = size_of(task_set, split)
        num_held = share if size is None else min(share, size)
        tasks += [(task_set.name, task_of(task_set, split, index)) for index in range(num_held)]
    return numbered(tasks)


def nth_held_out(task_sets: Sequence[tuple[TaskSet, float]], split: str, number: int) -> tuple[str, Any, int]:
    """Task `number` of a split; of several task sets, they take turns. Raises `ConfigError` where it has fewer.

    >>> from motet.tasks.listed import TaskList
    >>> from collections import namedtuple
    >>> Task = namedtuple("Task", "id")
    >>> sets = [(TaskList(name, test=[Task(f"{name}{i}") for i in range(2)]), 1.0) for name in "ab"]
    >>> [nth_held_out(sets, "test", number)[1].id for number in range(4)]
    ['a0', 'b0', 'a1', 'b1']
    """
    index, which = divmod(number, len(task_sets))
    task_set = task_sets[which][0]
    if split not in task_set.splits:
        raise ConfigError(
            f"no split '{split}'", where={"task_set": task_set.name}, fix=f"it has {', '.join(task_set.splits)}"
        )
    size = size_of(task_set, split)
    if size is not None and index >= size:
        raise ConfigError(
            f"there is no task {number}",
            where={"task_set": task_set.name, "split": split},
            fix=f"take a number below {size * len(task_sets)}",
        )
    return task_set.name, task_of(task_set, split, index), 0


def rollout_settings(settings: Settings) -> RolloutSettings:
    given = settings.sampling
    return RolloutSettings(
        rule=given.rule,
        width=given.width,
        choose=given.choose,
        choose_temperature=given.choose_temperature,
        alpha=settings.credit.alpha,
        mix=settings.credit.mix,
        role_alpha=credit_settings(settings).role_alpha,
        max_parallel=given.max_parallel,
        score_timeout_s=given.score_timeout_s,
        max_failed_frac=given.max_failed_frac,
        overlong=given.overlong,
    )


def credit_settings(settings: Settings) -> CreditSettings:
    given = settings.credit
    return CreditSettings(
        grouping=given.grouping if isinstance(given.grouping, str) else tuple(given.grouping),
        estimator=given.estimator,
        std=given.std,
        epsilon=given.epsilon,
        equal_groups=given.equal_groups,
        singleton=given.singleton,
        rewards=given.rewards,
        mix=given.mix,
        alpha=given.alpha,
        role_alpha={name: role.alpha for name, role in settings.roles.items() if role.alpha is not None},
    )


def update_settings(settings: Settings) -> UpdateSettings:
    from motet.losses.settings import LossSettings, UpdateSettings

    given = settings.update
    longest = max(role.max_tokens for role in settings.roles.values())
    loss = LossSettings(
        clip_low=given.clip_low,
        clip_high=given.clip_high,
        ratio=given.ratio,
        dual_clip=given.dual_clip,
        aggregation=given.aggregation,
        constant_tokens=(given.constant_tokens or longest) if given.aggregation == "constant" else None,
        entropy=given.entropy,
        kl={"*": given.kl, **{name: role.kl for name, role in settings.roles.items() if role.kl is not None}},
        kl_estimator=given.kl_estimator,
        kl_form=given.kl_form,
    )
    return UpdateSettings(
        learning_rate=given.lr,
        betas=given.betas,
        eps=given.eps,
        weight_decay=given.weight_decay,
        schedule=given.schedule,
        warmup_iterations=given.warmup,
        total_iterations=settings.train.iterations or None,
        min_learning_rate_frac=given.min_lr_frac,
        updates_per_iteration=given.updates_per_iteration,
        rows_per_update=given.rows_per_update,
        epochs=given.epochs,
        max_grad_norm=given.max_grad_norm,
        ratio_tolerance=given.ratio_tolerance,
        on_nonfinite=given.on_nonfinite,
        mask_truncated=given.mask_truncated,
        micro_batch_tokens=given.micro_batch_tokens,
        loss=loss,
    )


__all__ = [
    "Prepared",
    "credit_settings",
    "held_out",
    "make_cast",
    "policy_spec",
    "prepare",
    "resolve_machine",
    "rollout_settings",
    "update_settings",
]
