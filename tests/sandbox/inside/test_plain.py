"""Values come back as they went, and nothing that was never sent is read."""

import contextlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.sandbox.inside.plain import Opaque, PlainError, decode, encode, same

hashable = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=5,
)
values = st.recursive(
    hashable,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(hashable, inner, max_size=3) | st.sets(hashable, max_size=3)
    ),
    max_leaves=10,
)


@given(values)
def test_a_plain_value_comes_back_equal_and_of_the_same_type_through_json(value):
    back = decode(json.loads(json.dumps(encode(value))))
    assert back == value and type(back) is type(value) and repr(type(back)) == repr(type(value))


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x), max_leaves=8
    )
)
def test_any_json_is_read_or_refused_and_nothing_else(form):
    with contextlib.suppress(PlainError):
        decode(form)


@pytest.mark.parametrize(
    "form",
    [
        1.5,
        {},
        {"x": 1},
        {"i": "zz"},
        {"i": 3},
        {"t": 1},
        {"s": [[1]]},
        {"d": [[[1], 2]]},
        {"d": 3},
        {"b": "x"},
        {"c": []},
        {"t": [], "s": []},
        {"f": None},
        {"o": [1]},
    ],
)
def test_what_encode_never_writes_is_refused(form):
    with pytest.raises(PlainError):
        decode(form)


def test_subclasses_lose_what_they_added():
    class Liar(int):
        def __eq__(self, other):
            return True

        __hash__ = int.__hash__

    back = decode(encode(Liar(7)))
    assert type(back) is int and back != 3


def test_an_object_becomes_its_truth_and_its_looks_and_equals_nothing():
    class Empty:
        def __len__(self):
            return 0

        def __repr__(self):
            return "e" * 1000

    back = decode(encode(Empty()))
    assert isinstance(back, Opaque) and not back and repr(back) == "e" * 200 and back != decode(encode(Empty()))


def test_nan_and_infinities_cross():
    assert math.isnan(decode(encode(float("nan")))) and decode(encode(float("-inf"))) == -math.inf


@pytest.mark.parametrize(
    "got, wanted, tolerance, equal",
    [
        ([1, 2], (1, 2), 0, True),
        ({1: (2,)}, {1: [2]}, 0, True),
        ({1: 2}, {1: 2, 3: 4}, 0, False),
        ([1], 1, 0, False),
        ("1", 1, 0, False),
        (1.0, 1, 0, True),
        (100.0, 100.05, 1e-3, True),
        (0.001, 0.0015, 1e-3, True),
        (100.0, 100.2, 1e-3, False),
        (float("inf"), float("inf"), 1e-3, True),
        (float("inf"), 1.0, 1e-3, False),
        (float("nan"), float("nan"), 1e-3, False),
        ({1, 2}, {2, 1}, 0, True),
    ],
)
def test_sameness_by_stated_rules(got, wanted, tolerance, equal):
    assert same(got, wanted, tolerance) is equal
