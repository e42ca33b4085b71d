"""Errors survive `copy` and `pickle`, as when another process raises them."""

import copy
import pickle

import pytest

import dsim as ti


def pickled(value):
    return pickle.loads(pickle.dumps(value))


@ti.kernel
def wrong() -> int:
    return "text"  # type: ignore[return-value]


def launched():
    wrong()


def outside():
    ti.field(ti.f32, shape=3)[7]


def without_gradient():
    with ti.ad.Tape(ti.field(ti.f32, shape=())):
        pass


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
@pytest.mark.parametrize("fails", [launched, outside, without_gradient])
def test_a_round_trip(copied, fails):
    with pytest.raises(ti.DsimError) as raised:
        fails()
    error = raised.value
    error.add_note("in step 3")
    made = copied(error)
    assert type(made) is type(error)
    assert str(made) == str(error)
    assert made.diagnostics == error.diagnostics
    assert made.diagnostics[0].span is not None
    assert made.__notes__ == ["in step 3"]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_warnings(copied):
    x = ti.field(ti.i8, shape=1)
    with pytest.warns(ti.DsimWarning) as told:
        x[0] = 300
    made = copied(told[0].message)
    assert str(made) == str(told[0].message)
    assert made.diagnostic == told[0].message.diagnostic
