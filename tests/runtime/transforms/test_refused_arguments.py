"""Arguments of transforms that cannot be: the error quotes the person's line, and says what to do."""

import copy
import pickle

import numpy as np
import pytest

import dsim as ti
from tests.refused import refused


class Program:
    """The sum of the squares of `x`, in `y`."""

    def __init__(self):
        ti.init(default_fp=ti.f64)
        x, y = ti.field(ti.f64, shape=3, name="x"), ti.field(ti.f64, shape=(), name="y")

        @ti.kernel
        def run():
            for i in x:
                y[None] += x[i] ** 2

        self.x, self.y, self.run = x, y, run


BIG, LONG = np.ones(3, ">f8"), np.ones(3, np.longdouble)
READ_ONLY = np.ones(3)
READ_ONLY.flags.writeable = False
TYPES = "takes floats of up to 64 bits in the machine's byte order, got an array of"
ONE = "the gradient is that of one number, and"
CALLS = {
    "another byte order": (lambda p: ti.grad(p.run, wrt=BIG, out=p.y), f"`wrt=` {TYPES} >f8"),
    "in a list": (lambda p: ti.vjp(p.run, wrt=[p.x, BIG], out=p.y), f"`wrt=` {TYPES} >f8"),
    "of a result": (lambda p: ti.jacobian(p.run, wrt=p.x, out=BIG), f"`out=` {TYPES} >f8"),
    "of an objective": (lambda p: ti.objective(p.run, wrt=BIG, loss=p.y), f"`wrt=` {TYPES} >f8"),
    "of an optimisation": (lambda p: ti.optimize(p.run, wrt=BIG, loss=p.y), f"`wrt=` {TYPES} >f8"),
    "long numbers": (lambda p: ti.jacobian(p.run, wrt=p.x, out=LONG), f"`out=` {TYPES} {LONG.dtype}"),
    "a list of results": (lambda p: ti.grad(p.run, wrt=p.x, out=[p.y]), f"{ONE} `out=` is a list"),
    "a list of losses": (lambda p: ti.objective(p.run, wrt=p.x, loss=[p.y]), f"{ONE} `loss=` is a list"),
    "no pair": (
        lambda p: ti.implicit(residual=p.run, unknown=p.x, wrt=p.y),
        "`residual=` is a function and the fields that it writes, got Kernel",
    ),
    "three of a pair": (
        lambda p: ti.implicit(residual=(p.run, p.x, p.y), unknown=p.x, wrt=p.y),
        "`residual=` is a function and the fields that it writes, got 3 of them",
    ),
    "an array of integers": (
        lambda p: ti.grad(p.run, wrt=np.arange(3), out=p.y),
        "`wrt=` needs floats, the array holds int64.*convert it, as with `.astype\\(float\\)`",
    ),
    "a read-only array": (
        lambda p: ti.grad(p.run, wrt=READ_ONLY, out=p.y)(np.ones(3)),
        r"an array of shape \(3,\) in `wrt=` is read-only, and is to hold values",
    ),
    "one value too many": (
        lambda p: ti.grad(p.run, wrt=p.x, out=p.y)([1, 1, 1], 3),
        "`wrt=` names one field or array, and the call has 2 values",
    ),
    "the memory of a field": (
        lambda p: ti.grad(p.run, wrt=p.x.array[:2], out=p.y),
        "`wrt=` is given an array that is the memory of `x`.*help: pass the field itself",
    ),
    "a word as a pattern": (
        lambda p: ti.jacobian(p.run, wrt=p.x, out=p.y, sparse="no"),
        "`sparse=`: the pattern must be a sparse array",
    ),
    "a word as a vector": (
        lambda p: ti.objective(p.run, wrt=p.x, loss=p.y)("abc"),
        "the vector has 3 numbers, got str without numbers",
    ),
    "a word as a mask": (
        lambda p: ti.objective(p.run, wrt=p.x, loss=p.y, free="x"),
        "`free=` says by booleans which numbers are optimised, got str",
    ),
    "floats as a mask": (
        lambda p: ti.objective(p.run, wrt=p.x, loss=p.y, free=[0.5, 0, 1]),
        "`free=` says by booleans which numbers are optimised, got list",
    ),
    "a direction": (
        lambda p: ti.objective(p.run, wrt=p.x, loss=p.y).hessp(np.ones(3), np.ones(2)),
        r"the direction must be of shape \(3,\), got \(2,\)",
    ),
    "a number as a direction": (
        lambda p: ti.objective(p.run, wrt=p.x, loss=p.y).hessp(np.ones(3), 1.0),
        r"the direction must be of shape \(3,\), got \(\)",
    ),
}


@pytest.mark.parametrize("what", CALLS)
def test_refused(what):
    act, message = CALLS[what]
    refused(lambda: act(Program()), message, __file__)


def test_a_direction_as_a_column():
    """As of SciPy's operators."""
    p = Program()
    found = ti.objective(p.run, wrt=p.x, loss=p.y).hessp(np.ones(3), np.ones((3, 1)))
    assert found.tolist() == [[2.0]] * 3


def test_results_are_asked_for_by_what_they_belong_to():
    x, k, other = (ti.field(ti.f64, shape=2, needs_grad=True, name=name) for name in ("x", "k", "other"))
    out = ti.field(ti.f64, shape=(), name="out")

    @ti.kernel
    def product():
        out[None] = x[0] * k[1]

    found = ti.grad(product, wrt=[x, k], out=out)()
    for wrong, word in [(1, "1"), ("x", "'x'"), (other, "`other`"), (np.zeros(3), "an array of shape")]:
        with pytest.raises(KeyError, match=f"no result for {word}.*: the results are for `x`, `k`"):
            found[wrong]
    copied, kept = copy.deepcopy(found), found[x].copy()
    found[x][:] = 7.0
    assert [*copied] == [x, k]
    assert (copied[x] == kept).all()
    restored = pickle.loads(pickle.dumps(found))
    assert repr(restored) == repr(found)
    assert (next(iter(restored.values())) == 7.0).all()
    assert found.get(other) is None
    assert other not in found
