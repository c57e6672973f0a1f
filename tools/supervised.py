"""What supervised learning makes of a Plan-Path recipe's bases in the time that its runs trained; what the teachers do.

    python tools/supervised.py plan_path_complementary      # every seed of the study; a number behind it: so many

For each run of docs/studies/NAME/results.json: both bases of the recipe go on learning from perfect demonstrators of
their own role, with what that role sees in the recipe, each for half of the seconds that the quickest run trained (one
torch thread). Then the team meets the test grids. `demonstrators` is the team of those teachers on the same grids:
what imitation could reach at best.

Writes docs/studies/NAME/supervised.json; `tools/study.py` puts it into the table.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from study_lines import Line, held_out_tasks, line_of, team_lines, write_lines

from motet.build import prepare
from motet.config import load
from motet.policies import tiny
from motet.policies.models import load as load_model
from motet.policies.tiny_net import initial_weights
from motet.policies.warm_start import PERFECT_ONLY, Stage, save, warm_start
from motet.tasks.plan_path import PlanPathTask
from motet.tasks.plan_path_demonstrators import PERFECT, STRAIGHT, UNREACHABLE, distances_to, last_free, walks
from motet.tasks.plan_path_moves import Moves

SIZE, LR, TIMED_STEPS = "tiny-m", 2e-3, 8


def learn(base: str, role: str, hidden: bool, seconds: float, seed: int, out: Path) -> int:
    """Save `base` after `seconds` of perfect lessons of `role` to `out`; returns the steps.

    `hidden`: the planner's map is out of date, the executor sees no goal.
    """
    found = load_model(base).model.state_dict()
    weights = {name: found[name].detach().clone().float() for name in initial_weights(tiny.size_of(SIZE), 0)}
    frac = float(hidden)
    stage = lambda steps: Stage(
        "supervised", steps, LR, PERFECT_ONLY, executor_frac=float(role == "executor"), stale_frac=frac, blind_frac=frac
    )
    size, begun = tiny.size_of(SIZE), time.monotonic()
    warm_start({name: weight.clone() for name, weight in weights.items()}, size, [stage(TIMED_STEPS)], seed)
    pace = (time.monotonic() - begun) / TIMED_STEPS
    steps = max(1, round(seconds / pace))
    warm_start(weights, size, [stage(steps)], seed, max_seconds=seconds)
    save(SIZE, weights, out, {"schema": 1, "name": f"supervised-{role}", "seed": seed, "steps": steps})
    return steps


def demonstrate(task: PlanPathTask, hidden: bool, rng: np.random.Generator) -> bool:
    """One episode by the teachers: a shortest path on the map the planner sees, one to what the executor is told."""
    free = np.ones((1, task.size**2), bool)
    free[0, list(task.walls)] = False
    known = np.ones_like(free)
    known[0, list(task.map_walls if hidden else task.walls)] = False
    goal, state = np.array([task.goal]), task.start()
    for _ in range(task.max_turns):
        here, distance = np.array([state.cell]), distances_to(known, goal)
        kind = PERFECT if distance[0, state.cell] < UNREACHABLE else STRAIGHT
        plan, _ = walks(rng, np.array([kind]), here, goal, distance)
        target = last_free(~free, plan, here) if hidden else goal
        moves, _ = walks(rng, np.array([PERFECT]), here, target, distances_to(free, target))
        state = state.after(Moves(tuple(int(cell) for cell in moves[0] if cell >= 0)))
        if state.is_over:
            break
    return state.at_goal


def lines_for(recipe: str, seed: int, seconds: float) -> tuple[list[Line], dict[str, int]]:
    plain = prepare(load(recipe, [f"seed={seed}"]))
    hidden = bool(plain.settings.tasks[0].settings.get("hidden_walls"))
    bases = {role: plain.settings.policies[role].base or plain.settings.model for role in ("planner", "executor")}
    with tempfile.TemporaryDirectory() as scratch:
        made = {role: Path(scratch) / role for role in bases}
        steps = {role: learn(bases[role], role, hidden, seconds / 2, seed, made[role]) for role in bases}
        lines = team_lines(recipe, seed, [f"policies.{role}.base={folder}" for role, folder in made.items()])
    tasks = held_out_tasks(plain)
    solved = sum(demonstrate(task, hidden, np.random.default_rng(seed)) for task in tasks)
    return [*lines, line_of("demonstrators", solved, len(tasks))], steps


def main(recipe: str, num_seeds: str = "99") -> None:
    torch.set_num_threads(1)
    write_lines(recipe, int(num_seeds), lambda seed, seconds: lines_for(recipe, seed, seconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
