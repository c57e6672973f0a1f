"""Tree sampling: K candidates of one observation, one goes on."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from motet.credit.assign import rows
from motet.credit.settings import CreditSettings
from motet.engines.scripted import ScriptedEngine
from motet.errors import WorkflowError
from motet.policies.cast import Cast, PolicySpec
from motet.types import CallKey, Outcome, Reward, Sampling


class Pair:
    """Planner and executor each say a digit, planner the larger the better, executor the nearer to 5 the better."""

    roles = {"planner": 1, "executor": 1}

    def __init__(self, turns=2, stop_at=None):
        self.turns, self.stop_at = turns, stop_at

    async def run(self, task, cast):
        said = []
        for _ in range(self.turns):
            plan = await cast.planner.act(f"P{said}", score=lambda text: Reward(team=int(text) / 10, notes=int(text)))
            said = [*said, plan.notes]
            if plan.notes == self.stop_at:
                return Outcome(True, 1.0)
            move = await cast.executor.act(f"E{said}", score=lambda text: Reward(local=1 - abs(int(text) - 5) / 10))
            said = [*said, int(move.text)]
        return Outcome(success=said[-1] == 5, team=said[0] / 10, metrics={"last": said[-1]})


def prompt(call):
    return "".join(map(chr, call.prompt_ids))


def distinct(policy, prompt, index, uniform):
    """Candidate i says digit i."""
    return str(index)


def test_keys_ids_and_versions_are_recorded_exactly(play):
    engine = ScriptedEngine(distinct, versions={"planner": 7})
    (episode,) = play(Pair(turns=1), engine, width=3)
    planner, executor = episode.calls
    assert planner.key == CallKey("planner", 0, 0, 0)
    assert planner.prompt_ids == (80, 91, 93)
    assert [c.token_ids for c in planner.candidates] == [(48, 0), (49, 0), (50, 0)]
    assert [c.sampling_logprobs for c in planner.candidates] == [(-1.0, -1.0)] * 3
    assert [c.reward.team for c in planner.candidates] == [0.0, 0.1, 0.2]
    assert (planner.chosen, planner.policy, planner.policy_version, planner.tokenizer_id) == (
        2,
        "planner",
        7,
        "characters",
    )
    assert executor.prompt_ids == tuple(map(ord, "E[2]"))
    assert (episode.tree, episode.branch, episode.phase, episode.task_set) == ((3, "t-0", 0), 0, "train", "toy")


def test_case_01_every_group_has_k_candidates_of_one_call_and_one_prompt(play, toys, digit):
    episodes = play(Pair(turns=1), digit, tasks=toys(32), width=8)
    nodes = {(e.tree, call.key): call for e in episodes for call in e.calls}
    assert len(nodes) == 64
    assert all(len(call.candidates) == 8 for call in nodes.values())
    groups = defaultdict(list)
    for row in rows(episodes, CreditSettings()).rows:
        groups[row.group].append(row)
    assert len(groups) == 64
    for group in groups.values():
        assert len(group) == 8
        assert len({(row.node, row.role, row.turn, row.prompt_ids) for row in group}) == 1


def test_case_02_every_role_has_k_distinct_rewards(play):
    (episode,) = play(Pair(turns=1), distinct, width=5)
    for call in episode.calls:
        worth = [c.reward.team if call.key.role == "planner" else c.reward.local for c in call.candidates]
        assert len(set(worth)) == 5
    credited = rows([episode], CreditSettings()).rows
    for role in Pair.roles:
        assert len({row.advantage for row in credited if row.role == role} - {0.0}) >= 4


def test_case_03_the_second_role_reads_what_the_first_chose_in_the_same_turn(play, digit):
    for episode in play(Pair(), digit, tasks=None, width=4):
        first, second, third, _ = episode.calls
        assert prompt(second) == f"E[{first.text}]"
        assert prompt(third) == f"P[{first.text}, {second.text}]".replace("'", "")


def test_case_04_the_chosen_branch_is_the_one_that_goes_on(play, toys, digit):
    for episode in play(Pair(), digit, tasks=toys(8)):
        said = [int(call.text) for call in episode.calls]
        for call in episode.calls[::2]:
            assert int(call.text) == max(int(c.text) for c in call.candidates)
        assert episode.outcome.team == said[0] / 10
        assert episode.outcome.metrics["last"] == said[-1]


def test_case_05_an_episode_solved_by_the_first_role_keeps_its_k_candidates(play):
    (episode,) = play(Pair(turns=3, stop_at=3), distinct)
    assert Counter(call.key.role for call in episode.calls) == {"planner": 1}
    assert len(episode.calls[0].candidates) == 4


class FourRoles:
    roles = {"plan": 1, "planner": 1, "voter": 2, "judge": 1}

    async def run(self, task, cast):
        def score(text):
            return Reward(local=0.5)

        for _ in range(2):
            await cast["plan"].act("a", score=score)
            await cast.planner.act("b", score=score)
            await cast.gather(*(voter.act("c", score=score) for voter in cast.voter))
            await cast["plan"].act("d", score=score, turn=0)
        await cast.judge.act("e", score=score)
        return Outcome(True, 1.0)


def test_case_06_counts_per_role_are_exact_and_each_goes_to_its_own_policy(play, digit):
    roles = FourRoles.roles
    cast = Cast.explicit(
        roles,
        [PolicySpec("a"), PolicySpec("b"), PolicySpec("c")],
        {"plan": "a", "planner": "b", "voter[0]": "b", "voter[1]": "c", "judge": "a"},
    )
    (episode,) = play(FourRoles(), digit, cast=cast)
    rows = Counter((call.policy, call.key.role, call.key.slot) for call in episode.calls for _ in call.candidates)
    assert rows == {
        ("a", "plan", 0): 16,
        ("b", "planner", 0): 8,
        ("b", "voter", 0): 8,
        ("c", "voter", 1): 8,
        ("a", "judge", 0): 4,
    }
    plans = [call.key for call in episode.calls if call.key.role == "plan"]
    assert plans == [
        CallKey("plan", 0, 0, 0),
        CallKey("plan", 0, 0, 1),
        CallKey("plan", 0, 2, 0),
        CallKey("plan", 0, 0, 2),
    ]


class Skipping:
    roles = {"planner": 1, "executor": 1}

    async def run(self, task, cast):
        for turn in range(3):
            if turn != 1:
                await cast.planner.act("p", score=lambda text: Reward(local=1.0), turn=turn)
            await cast.executor.act("e", score=lambda text: Reward(local=1.0), turn=turn)
        return Outcome(True, 1.0)


def test_case_26_a_role_skips_a_turn_and_settings_per_role_and_phase_are_honoured(play):
    cast = Cast.per_role(
        Skipping.roles,
        PolicySpec("base"),
        train={"planner": Sampling(1.5, 8, (";",)), "executor": Sampling(0.5, 2)},
        eval={"planner": Sampling(0.25, 8), "executor": Sampling(greedy=True)},
    )
    engine = ScriptedEngine(lambda *args: "go;on")
    (episode,) = play(Skipping(), engine, cast=cast, width=2)
    assert [(c.key.role, c.key.turn) for c in episode.calls] == [
        ("planner", 0), ("executor", 0), ("executor", 1), ("planner", 2), ("executor", 2),
    ]  # fmt: skip
    planner, executor = episode.calls[:2]
    assert [(c.text, c.finish) for c in planner.candidates] == [("go", "stop")] * 2
    assert [(c.text, c.finish, len(c.token_ids)) for c in executor.candidates] == [("go", "length", 2)] * 2
    assert (planner.temperature, executor.temperature) == (1.5, 0.5)
    play(Skipping(), engine, cast=cast, phase="eval")
    seen = {(r.policy, r.sampling.temperature, r.sampling.greedy, len(r.keys)) for r in engine.requests}
    assert seen == {
        ("planner", 1.5, False, 2),
        ("executor", 0.5, False, 2),
        ("planner", 0.25, False, 1),
        ("executor", 1.0, True, 1),
    }


class Unscored:
    roles = {"planner": 1}

    async def run(self, task, cast):
        await cast.planner.act("p")
        return Outcome(True, 1.0)


def test_a_call_without_worth_is_refused_with_the_three_ways_out(play, digit):
    with pytest.raises(WorkflowError, match=r"neither scored nor settled .*planner.*settle.*lookahead.*independent"):
        play(Unscored(), digit)


def test_notes_alone_are_no_worth(play, digit):
    class Notes(Unscored):
        async def run(self, task, cast):
            call = await cast.planner.act("p", score=lambda text: Reward(notes=text * 2))
            assert call.notes == call.text * 2
            return Outcome(True, 1.0)

    with pytest.raises(WorkflowError, match="neither scored nor settled"):
        play(Notes(), digit)


def test_a_frozen_role_needs_no_worth_and_draws_one_candidate(play, digit):
    cast = Cast.shared(Unscored.roles, PolicySpec("base", kind="frozen"))
    (episode,) = play(Unscored(), digit, cast=cast)
    assert [(len(call.candidates), call.trainable) for call in episode.calls] == [(1, False)]


def test_unknown_role_slot_and_role_of_several_slots_are_named(play, digit):
    class Wrong:
        roles = {"voter": 2}

        def __init__(self, use):
            self.use = use

        async def run(self, task, cast):
            await self.use(cast)
            return Outcome(True, 1.0)

    for use, message in [
        (lambda cast: cast.voters[0].act("x"), "no role 'voters'.*did you mean 'voter'"),
        (lambda cast: cast.voter[2].act("x"), "no slot 2"),
        (lambda cast: cast.voter.act("x"), r"2 slots.*cast.voter\[i\]"),
    ]:
        with pytest.raises(WorkflowError, match=message):
            play(Wrong(use), digit)
