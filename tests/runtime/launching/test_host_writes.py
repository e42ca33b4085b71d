"""Python writes to whole fields and components inside contexts are differentiated."""

import numpy as np
import pytest

import dsim as ti

pytestmark = pytest.mark.slow

START = np.array([3.0, 1.0, 2.0, 1.5])
FACTORS = np.arange(1.0, 5.0)


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


class Program:
    """Fields `x`, `y` of numbers and `v` of vectors, and a loss that reads all of them."""

    def __init__(self):
        self.x, self.y = (ti.field(ti.f64, shape=4, needs_grad=True, name=name) for name in "xy")
        self.v = ti.Vector.field(2, ti.f64, shape=4, needs_grad=True, needs_dual=True, name="v")
        self.m = ti.Matrix.field(2, 2, ti.f64, shape=4, needs_grad=True, name="m")
        self.loss = ti.field(ti.f64, shape=(), needs_grad=True, name="loss")
        self.x.from_numpy(START)
        self.y.from_numpy(START**2 - 1.0)
        self.v.from_numpy(np.stack([START + 4.0, START * 2.0], 1))
        self.m.from_numpy(np.sin(np.arange(16.0)).reshape(4, 2, 2))

        @ti.kernel
        def energy():
            for i in self.x:
                c = i + 1.0
                self.loss[None] += c * self.x[i] ** 2 + ti.sin(self.y[i]) * self.v[i][0]
                self.loss[None] += c * self.v[i][1] ** 3 + self.m[i][1, 0] ** 2 * self.m[i][0, 1]

        self.energy = energy


def first(p):
    return p.v.get_scalar_field(0)


def second(p):
    return p.v.get_scalar_field(1)


def corner(p):
    return p.m.get_scalar_field(1, 0)


def _filled(p):
    second(p).fill(2.0)


def _given(p):
    second(p).from_numpy(START)
    second(p).from_numpy(START + 1.0)  # the first value is overwritten


def _sorted_then_given(p):
    ti.algorithms.parallel_sort(p.x)
    p.energy()
    p.x.from_numpy(START)


WRITES = {
    "field to component": lambda p: second(p).copy_from(p.x),
    "component to field": lambda p: p.x.copy_from(second(p)),
    "component to component": lambda p: first(p).copy_from(second(p)),
    "component to itself": lambda p: first(p).copy_from(first(p)),
    "component of a matrix": lambda p: corner(p).copy_from(p.y),
    "component of another field": lambda p: corner(p).copy_from(first(p)),
    "field of vectors": lambda p: p.v.copy_from(p.v),
    "component filled": _filled,
    "component given": _given,
    "element of a component": lambda p: second(p).__setitem__(2, 5.0),
    "sorted": lambda p: ti.algorithms.parallel_sort(p.x),
    "sorted along": lambda p: ti.algorithms.parallel_sort(p.x, p.y),
    "sorted twice": lambda p: (ti.algorithms.parallel_sort(p.x, p.y), ti.algorithms.parallel_sort(p.y, p.x)),
    "sorted, then given": _sorted_then_given,
    "prefix sums": lambda p: ti.algorithms.PrefixSumExecutor(4).run(p.x),
    "prefix sums twice": lambda p: [ti.algorithms.PrefixSumExecutor(4).run(p.y) for _ in range(2)],
}


def _again(p, write):
    p.energy()
    write(p)
    p.energy()


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_against_differences(write):
    p = Program()
    found = ti.check_grad(lambda: _again(p, write), wrt=[p.x, p.y, p.v, p.m], loss=p.loss, order=2)
    assert found, found
    assert {c.mode for c in found} == {"reverse", "forward", "forward over reverse"}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_in_a_tape_as_in_kernels(write):
    p = Program()
    with ti.Tape(p.loss, grad_check=[p.x, p.y, p.v, p.m], on_overwrite="save") as tape:
        _again(p, write)
    once = [f.grad.to_numpy() for f in (p.x, p.y, p.v, p.m)]
    tape.backward(2.0)
    for f, gradient in zip((p.x, p.y, p.v, p.m), once, strict=True):
        np.testing.assert_allclose(f.grad.to_numpy(), 2.0 * gradient)


def test_gradients_of_copies_between_components():
    p = Program()
    with ti.Tape(p.loss):
        second(p).copy_from(p.x)
        p.energy()
    c = FACTORS
    np.testing.assert_allclose(p.x.grad.to_numpy(), 2 * c * START + 3 * c * START**2)
    np.testing.assert_allclose(p.v.grad.to_numpy()[:, 1], 0.0)
    np.testing.assert_allclose(p.v.grad.to_numpy()[:, 0], np.sin(START**2 - 1.0))


def test_a_sort_takes_gradients_back_to_where_the_numbers_were():
    p = Program()
    p.x.from_numpy(np.array([2.0, 1.0, 2.0, 1.0]))  # equal keys keep their order
    with ti.Tape(p.loss):
        ti.algorithms.parallel_sort(p.x)
        p.energy()
    assert p.x.to_numpy().tolist() == [1.0, 1.0, 2.0, 2.0]
    assert p.x.grad.to_numpy().tolist() == [2 * 3 * 2.0, 2 * 1 * 1.0, 2 * 4 * 2.0, 2 * 2 * 1.0]
    with ti.ad.FwdMode(loss=p.loss, param=p.x, seed=[0.0, 1.0, 0.0, 0.0]):
        ti.algorithms.parallel_sort(p.x)
        p.energy()
    assert p.x.dual.to_numpy().tolist() == [0.0, 1.0, 0.0, 0.0]


def test_values_go_along_with_integer_keys():
    keys, loss = ti.field(ti.i32, shape=4), ti.field(ti.f64, shape=(), needs_grad=True)
    values = ti.ndarray(ti.f64, shape=4, needs_grad=True)

    @ti.kernel
    def total(a: ti.types.ndarray()):
        for i in range(4):
            loss[None] += a[i] * (keys[i] + i)

    keys.from_numpy(np.array([30, 10, 20, 0]))
    with ti.Tape(loss):
        ti.algorithms.parallel_sort(keys, values)
        total(values)
    assert values.grad.to_numpy().tolist() == [33.0, 11.0, 22.0, 0.0]


def test_prefix_sums_go_back_as_sums_from_the_end():
    p = Program()
    with ti.Tape(p.loss):
        ti.algorithms.PrefixSumExecutor(4).run(p.x)
        p.energy()
    assert p.x.to_numpy().tolist() == np.cumsum(START).tolist()
    from_the_end = np.cumsum((2 * FACTORS * np.cumsum(START))[::-1])[::-1]
    np.testing.assert_allclose(p.x.grad.to_numpy(), from_the_end)


def test_one_number():
    x, loss = ti.field(ti.f64, shape=1, needs_grad=True), ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i]

    with ti.Tape(loss):
        ti.algorithms.PrefixSumExecutor(1).run(x)
        ti.algorithms.parallel_sort(x, x)
        total()
    assert x.grad.to_numpy().tolist() == [1.0]


def test_tapes_inside_tapes():
    p = Program()
    g = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def norm():
        for i in p.x:
            g[None] += p.x.grad[i] ** 2

    def run():
        with ti.Tape(p.loss):
            ti.algorithms.parallel_sort(p.x)
            ti.algorithms.PrefixSumExecutor(4).run(p.x)
            second(p).copy_from(p.x)
            p.energy()
        norm()

    @ti.kernel
    def start(h: float):
        p.x[2] += h

    def value(h):
        p.x.from_numpy(START)
        start(h)
        g[None] = 0.0
        run()
        return g[None]

    p.x.from_numpy(START)
    with ti.Tape(g):
        run()
    gradient = p.x.grad[2]
    assert abs((value(1e-5) - value(-1e-5)) / 2e-5 - gradient) < 1e-6 * abs(gradient)


def test_what_is_recorded_has_names():
    p = Program()
    with ti.Tape(p.loss) as tape:
        second(p).copy_from(p.x)
        ti.algorithms.parallel_sort(p.x)
        ti.algorithms.PrefixSumExecutor(4).run(p.x)
        p.energy()
    assert [c.kernel for c in tape.calls] == ["copy", "copy", "permute", "prefixsum", "energy"]


def test_tangents_of_components_are_seeds():
    p = Program()
    with ti.ad.FwdMode(loss=p.loss, param=p.x, seed=[0.0] * 4):
        second(p).dual.fill(1.0)
        p.energy()
    np.testing.assert_allclose(p.loss.dual[None], np.sum(3 * FACTORS * (2 * START) ** 2))


def test_a_view_is_a_way_into_python():
    p = Program()

    @ti.kernel
    def double():
        for i in p.x:
            p.y[i] = 2 * p.x[i]

    for look in (lambda f: f.array, np.asarray):
        with pytest.warns(ti.GradientWarning, match="`y` is read into Python inside the tape"):
            _taped(p.loss, double, lambda look=look: look(p.y), p.energy)


def _taped(loss, *calls):
    with ti.Tape(loss):
        for call in calls:
            call()


def test_wrong_copies():
    p = Program()
    short = ti.field(ti.f64, shape=3, name="short")
    with pytest.raises(TypeError, match=r"component 1 of `v` of shape \(4,\) cannot take .* shape \(3,\)"):
        second(p).copy_from(short)
    with pytest.raises(TypeError, match=r"`x` of shape \(4,\) cannot take the numbers of shape \(4, 2\)"):
        p.x.copy_from(p.v)
    with pytest.raises(TypeError, match=r"copy_from\(\) takes a field, not a NumPy array"):
        second(p).copy_from(START)
    with pytest.raises(TypeError, match="component 1 of `v` holds numbers"):
        second(p).fill(np.ones(2))
