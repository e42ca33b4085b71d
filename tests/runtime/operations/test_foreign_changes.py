"""Operations that read containers and objects: what others change there is refused, what they keep is not."""

from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import dsim as ds
from tests.operations.programs import Summed


@pytest.fixture(autouse=True)
def _fresh():
    ds.init(default_fp=ds.f64)


def scaling(read):
    """The operation that multiplies by what `read` gives."""

    @ds.ad.operation
    def scaled(x):
        return read() * x

    scaled.jvp(lambda x, /, *, tangents: read() * tangents[0])
    scaled.vjp(lambda x, /, *, adjoint: read() * adjoint)
    return scaled


def gradient(p, run):
    """That of the sum after `run`."""
    return p.gradient(lambda: [run(), p.total()])


@pytest.fixture
def p():
    return Summed([1.0, 2.0])


class Holder:
    factor = 2.0

    def __init__(self, factors):
        self._factors = factors

    def first(self):
        return self._factors[0]


def in_list():
    held = [2.0, 3.0]
    return lambda: held[0], lambda: held.__setitem__(0, 5.0)


def in_dictionary():
    held = {"factor": 2.0}
    return lambda: held["factor"], lambda: held.update(factor=5.0)


def in_object():
    held = SimpleNamespace(factor=2.0)
    return lambda: held.factor, lambda: setattr(held, "factor", 5.0)


def in_array_of_an_object():
    held = SimpleNamespace(factors=np.array([2.0]))
    return lambda: held.factors[0], lambda: held.factors.__setitem__(0, 5.0)


def behind_a_method():
    factors = [2.0]
    held = Holder(factors)
    return held.first, lambda: factors.__setitem__(0, 5.0)


def behind_functions():
    held = {"read": [lambda: held["factor"]], "factor": 2.0}

    def read():
        return held["read"][0]()

    return read, lambda: held.update(factor=5.0)


def in_class():
    kind = type("Kind", (), {"factor": 2.0})
    return lambda: kind.factor, lambda: setattr(kind, "factor", 5.0)


def in_module():
    held = ModuleType("settings_of_this_test")
    held.factor = 2.0
    return lambda: held.factor, lambda: setattr(held, "factor", 5.0)


@pytest.mark.parametrize(
    "held",
    [
        in_list,
        in_dictionary,
        in_object,
        in_array_of_an_object,
        behind_a_method,
        behind_functions,
        in_class,
        in_module,
    ],
)
def test_a_change_by_others_is_refused(held, p):
    read, change = held()
    scaled = scaling(read)
    assert gradient(p, lambda: scaled(p.x, out=p.x)) == [2.0, 2.0]
    with pytest.raises(ds.GradientError, match="which `scaled` or its rule reads, has changed after"):
        gradient(p, lambda: [scaled(p.x, out=p.x), change()])
    assert gradient(p, lambda: scaled(p.x, out=p.x)) == [5.0, 5.0]


def test_a_change_between_two_calls(p):
    """The first one is not differentiated with the numbers of the second."""
    held = {"factor": 2.0}
    scaled = scaling(lambda: held["factor"])

    def run():
        scaled(p.x, out=p.x)
        held["factor"] = 3.0
        scaled(p.x, out=p.x)

    with pytest.raises(ds.GradientError, match="`held`, which `scaled` or its rule reads"):
        gradient(p, run)
    held["factor"] = 2.0
    p.x.from_numpy(np.array([1.0, 2.0]))
    with ds.ad.FwdMode(p.loss, p.x, seed=[1.0, 0.0]):  # each rule runs with its call
        run()
        p.total()
    assert p.loss.dual[None] == 6.0


def test_a_call_that_is_not_recorded_hides_no_change(p):
    held = [2.0]
    scaled = scaling(lambda: held[0])

    def run():
        scaled(p.x, out=p.x)
        held[0] = 3.0
        assert scaled(np.ones(2)).tolist() == [3.0, 3.0]  # without a field, and not recorded

    with pytest.raises(ds.GradientError, match="`held`, which `scaled` or its rule reads"):
        gradient(p, run)


def test_what_the_function_and_its_rules_keep_is_their_own(p):
    kept, log = {}, []

    @ds.ad.operation
    def squared(x):
        log.append(x.sum())
        kept["x"] = x.copy()
        return x**2

    @squared.vjp
    def _(x, /, *, adjoint):
        log.append(len(kept))
        kept[len(log)] = adjoint.copy()
        return 2 * x * adjoint

    def run():
        squared(p.x, out=p.x)
        squared(np.ones(2))
        squared(p.x, out=p.x)

    assert gradient(p, run) == [4.0, 32.0]
    with ds.ad.Tape(p.loss) as tape:
        squared(p.x, out=p.x)
        p.total()
    first = p.x.grad.to_numpy()
    tape.backward()
    np.testing.assert_array_equal(p.x.grad.to_numpy(), first)


@pytest.mark.parametrize("inside", [False, True])
def test_generators_of_random_numbers_may_be_shared(inside, p):
    generator = np.random.default_rng(0)
    held = SimpleNamespace(generator=generator)

    @ds.ad.operation
    def shifted(x):
        return 2 * x + (held.generator if inside else generator).normal()

    shifted.vjp(lambda x, /, *, adjoint: 2 * adjoint)

    def run():
        shifted(p.x, out=p.x)
        generator.normal()

    assert gradient(p, run) == [2.0, 2.0]


def test_a_rule_that_is_registered_after_the_call(p):
    """It reads more, and nothing has changed."""
    held, more = [2.0], [0.0]

    @ds.ad.operation
    def scaled(x):
        return held[0] * x

    scaled.vjp(lambda x, /, *, adjoint: held[0] * adjoint)
    p.x.from_numpy(np.array([1.0, 2.0]))
    with ds.ad.Tape(p.loss) as tape:
        scaled(p.x, out=p.x)
        p.total()
    scaled.jvp(lambda x, /, *, tangents: held[0] * tangents[0] + more[0])
    tape.backward()
    assert p.x.grad.to_numpy().tolist() == [2.0, 2.0]


def test_what_a_function_leaves_that_fails_is_its_own(p):
    kept = {}

    @ds.ad.operation
    def squared(x):
        kept[len(kept)] = x.copy()
        if x[0] > 1.5:
            raise ValueError("too large")
        return x**2

    squared.vjp(lambda x, /, *, adjoint: 2 * x * adjoint)

    def run():
        squared(p.x, out=p.x)
        with pytest.raises(ValueError, match="too large"):
            squared(np.full(2, 2.0))

    assert gradient(p, run) == [2.0, 4.0]
