"""A task and a workflow of one's own: one role knows a hidden number and hints, the other guesses."""

from dataclasses import dataclass
from functools import partial

from motet import Outcome, Reward, Workflow
from motet.tasks.listed import TaskList


@dataclass(frozen=True)
class Hidden:
    id: str
    number: int

    def judge_hint(self, guess, text):
        return Reward(team=text == ("more" if self.number > guess else "less"), local=text in ("more", "less"))

    def judge_guess(self, text):
        guess = int(text) if text in map(str, range(100)) else -1
        return Reward(team=(guess >= 0) * (1 - abs(self.number - guess) / 100), local=guess >= 0, notes=guess)


def hidden_numbers():
    tasks = [Hidden(f"n{number}", number) for number in range(100)]
    return TaskList("hidden_numbers", train=tasks[1::2], test=tasks[::2])


class HintAndGuess(Workflow):
    roles = {"hinter": 1, "guesser": 1}

    async def run(self, task, cast):
        guess, told = 50, ""
        for _ in range(7):
            hint = await cast.hinter.act(f"hidden {task.number} guess {guess}", score=partial(task.judge_hint, guess))
            told += f"{guess} {hint.text} "
            guess = (await cast.guesser.act(told, score=task.judge_guess)).notes
            if guess == task.number:
                break
        return Outcome(success=guess == task.number, team=task.judge_guess(str(guess)).team)
