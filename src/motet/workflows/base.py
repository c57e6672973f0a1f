"""A workflow says who speaks when: plain async Python over named roles."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from inspect import get_annotations
from typing import Any, ClassVar

from motet.errors import MotetError, WorkflowError
from motet.tasks.finding import find, refuse_unknown, refuse_wrong_type
from motet.types import Message, Outcome
from motet.workflows.fitting import who_plays

Renderer = Callable[[Mapping[str, Any]], str | list[Message]]
"""Turns the values of a `Prompt` into text or messages, in one dialect."""

_ROLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

BUILTIN = {
    "planner_executor": "motet.workflows.planner_executor:PlannerExecutor",
    "single": "motet.workflows.single:Single",
    "tool_planner": "motet.workflows.tool_planner:ToolPlanner",
    "coder_tester": "motet.workflows.coder_tester:CoderTester",
    "evaluator_optimizer": "motet.workflows.evaluator_optimizer:EvaluatorOptimizer",
    "voting": "motet.workflows.voting:Voting",
    "voting_majority": "motet.workflows.voting:VotingMajority",
    "orchestrator_workers": "motet.workflows.orchestrator_workers:OrchestratorWorkers",
    "debate": "motet.workflows.debate:Debate",
    "reasoner_tool": "motet.workflows.reasoner_tool:ReasonerTool",
}


class Workflow:
    """Subclass it, name the `roles` (name -> number of slots), and write `run`.

    Settings are the annotated class attributes, with their defaults; the constructor takes them by name and refuses
    any other, and a value of another kind than its default. `prompts` maps a prompt name to a renderer per dialect
    ("chat", "compact"); one dialect is enough. `needs` names the protocols or classes of task that `run` relies on;
    `runs_programs` tells that it starts programs that models write, whatever the task (a sandbox is then proved first).

    >>> class Echo(Workflow):
    ...     roles = {"speaker": 1}
    ...     times: int = 2
    >>> Echo(times=3).times, Echo().settings
    (3, {'times': 2})
    >>> Echo(tims=3)
    Traceback (most recent call last):
    motet.errors.ConfigError: unknown setting 'tims' [workflow=Echo]. To fix it: did you mean 'times'?
    """

    roles: ClassVar[Mapping[str, int]] = {}
    prompts: ClassVar[Mapping[str, Mapping[str, Renderer]]] = {}
    needs: ClassVar[tuple[type, ...]] = ()
    runs_programs: ClassVar[bool] = False

    def __init__(self, **settings: Any) -> None:
        defaults, where = self.defaults(), {"workflow": type(self).__name__}
        refuse_unknown(settings, defaults, where)
        for name, value in settings.items():
            refuse_wrong_type(name, value, defaults[name], where)
            setattr(self, name, value)

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Every setting and its default, those of base classes first."""
        found: dict[str, Any] = {}
        for owner in reversed(cls.__mro__):
            for name, kind in get_annotations(owner).items():
                if (
                    not name.startswith("_")
                    and "ClassVar" not in str(kind)
                    and name not in ("roles", "prompts", "needs", "runs_programs")
                ):
                    if not hasattr(cls, name):
                        raise WorkflowError(
                            f"setting {name!r} has no default", where={"workflow": cls.__name__}, fix="give it one"
                        )
                    found[name] = getattr(cls, name)
        return found

    @property
    def settings(self) -> dict[str, Any]:
        """The settings in force."""
        return {name: getattr(self, name) for name in self.defaults()}

    async def run(self, task: Any, cast: Any) -> Outcome:
        """Play one episode. `cast.<role>.act(observation, score=fn)` asks a role; the return value is the team's
        result.
        """
        raise NotImplementedError

    def fits(self, task: Any) -> str | None:
        """None, or why this workflow cannot play `task` and what it can play.

        >>> class Asks(Workflow):
        ...     needs = (str,)
        >>> Asks().fits("text"), Asks().fits(3)
        (None, 'Asks plays tasks that are str; int is not')
        """
        for need in self.needs:
            if not isinstance(task, need):
                kind = type(task).__name__
                return f"{type(self).__name__} plays tasks that are {need.__name__}; {kind} is not{who_plays(task)}"
        return None

    def max_calls(self, task: Any) -> int | None:
        """The most calls that an episode on `task` can have, or None where nobody knows: tells what look-ahead costs
        before the start.
        """
        return None


def make_workflow(name: str, **settings: Any) -> Workflow:
    """The workflow `name` with its settings. What its constructor raises is a `WorkflowError` that names it.

    >>> make_workflow("motet.types:Reward")
    Traceback (most recent call last):
    motet.errors.WorkflowError: this is no workflow [workflow=motet.types:Reward]. To fix it: subclass motet.Workflow
    """
    where: dict[str, object] = {"workflow": name}
    found = find_workflow(name)
    if not (isinstance(found, type) and issubclass(found, Workflow)):
        raise WorkflowError("this is no workflow", where=where, fix="subclass motet.Workflow")
    try:
        return found(**settings)
    except MotetError:
        raise
    except (Exception, SystemExit) as error:
        raise WorkflowError(f"making the workflow raised {type(error).__name__}: {error}", where=where) from error


def check_roles(workflow: Any) -> None:
    """Refuse what is no workflow, and roles that are no map of names to numbers of slots.

    >>> class Team(Workflow):
    ...     roles = ("planner", "executor")
    >>> check_roles(Team())
    Traceback (most recent call last):
    motet.errors.WorkflowError: `roles` is a tuple [workflow=Team]. To fix it: map each name to its number of slots, \
such as {"planner": 1}
    """
    where: dict[str, object] = {"workflow": type(workflow).__name__}
    if not isinstance(workflow, Workflow):
        raise WorkflowError("this is no workflow", where=where, fix="subclass motet.Workflow")
    roles = workflow.roles
    fix = 'map each name to its number of slots, such as {"planner": 1}'
    if not isinstance(roles, Mapping):
        raise WorkflowError(f"`roles` is a {type(roles).__name__}", where=where, fix=fix)
    if not roles:
        raise WorkflowError("a workflow without a role", where=where, fix=fix)
    for name, slots in roles.items():
        if not isinstance(name, str) or not _ROLE.fullmatch(name):
            raise WorkflowError(
                f"{name!r} is no role name", where=where, fix="use letters, digits and _, no digit first"
            )
        if type(slots) is not int or slots < 1:
            raise WorkflowError(f"role {name!r} has {slots!r} slots", where=where, fix="declare 1 or more")


def find_workflow(name: str) -> type[Workflow]:
    """The workflow class of a built-in name, an entry point of group `motet.workflows`, or `package.module:Class`.

    >>> find_workflow("planner_executor").__name__
    'PlannerExecutor'
    """
    return find("workflow", name, BUILTIN, "motet.workflows")
