"""A table of the training set must not solve what is held out."""

from __future__ import annotations

import pytest

from motet.errors import TaskError
from motet.tasks.lookup import lookup_share, refuse_lookup

TRAIN = [("a", 1), ("a", 2), ("a", 2), ("b", 3), ("c", 3), ("d", 3)]


def test_a_known_question_gets_its_most_frequent_answer_and_a_new_one_the_most_frequent_of_all():
    assert lookup_share(TRAIN, [("a", 2)]) == 1.0
    assert lookup_share(TRAIN, [("a", 1)]) == 0.0
    assert lookup_share(TRAIN, [("new", 3), ("new", 2), ("a", 2), ("b", 1)]) == 0.5


def test_ties_go_to_the_answer_that_came_first():
    assert lookup_share([("x", 1), ("y", 2)], [("z", 1), ("z", 2)]) == 0.5
    assert lookup_share([("x", 2), ("y", 1)], [("z", 2)]) == 1.0


@pytest.mark.parametrize(("train", "held_out"), [([], TRAIN), (TRAIN, [])])
def test_nothing_to_look_up_is_an_error_and_no_share(train, held_out):
    with pytest.raises(TaskError, match="nothing to look up"):
        lookup_share(train, held_out)


def test_above_the_bound_it_is_refused_and_at_the_bound_it_is_not():
    held_out = [("new", 3)] + [("new", 9)] * 19
    assert refuse_lookup("t", TRAIN, held_out, fix="x") == 0.05
    with pytest.raises(TaskError, match=r"solves 5\.3% of the held-out tasks, 5% may \[task_set=t\]. To fix it: widen"):
        refuse_lookup("t", TRAIN, held_out[:-1], fix="widen")
