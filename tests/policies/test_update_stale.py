"""Rows are learned from by the version that sampled them, once."""

import pytest
from update_fixtures import make_model, some_rows

from motet.errors import UpdateError
from motet.policies.update import Learner, PolicyModel, UpdateSettings


def test_rows_of_the_version_before_an_update_are_refused_after_it():
    model = make_model()
    learner = Learner([PolicyModel("p", model)], UpdateSettings(ratio_tolerance=None))
    rows = some_rows(model)
    learner.update("p", rows)
    with pytest.raises(UpdateError, match="sampled by version 0, the policy is at 1"):
        learner.update("p", rows)
    assert learner.version("p") == 1
