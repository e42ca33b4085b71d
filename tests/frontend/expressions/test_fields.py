"""Fields in kernels: memories, indices, stores, accumulations, atomic functions, companions."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dsim.ir.nodes import Accumulate, Load, Store
from dsim.ir.walk import statements
from tests.frontend.dialect import f, lowered, refused, run, text, ti


def test_memories_are_called_what_the_person_calls_them() -> None:
    x, U = f(3, entry=(2,)), f()

    def k():
        U[None] = x[0].x

    result = lowered(k)
    assert [(m.name, m.shape, m.entry_axes) for m in result.kernel.memories] == [
        ("x", (3, 2), 1),
        ("U", (), 0),
    ]
    assert result.fields == {"x": x, "U": U}
    assert [(c.name, c.value) for c in result.objects] == [("x", x), ("U", U)]


def test_one_field_under_two_names_is_one_memory() -> None:
    x = f(3)
    alias = x

    def k():
        x[0] = alias[1]

    assert len(lowered(k).kernel.memories) == 1


def test_two_fields_of_one_name_are_told_apart() -> None:
    a, b = SimpleNamespace(x=f(3)), SimpleNamespace(x=f(3))

    def k():
        a.x[0] = b.x[1]

    assert sorted(m.name for m in lowered(k).kernel.memories) == ["x", "x_1"]


def test_companions() -> None:
    x = f(3, entry=(2,))

    def k():
        for i in x:
            x.grad[i] += x[i] * 2
            x.dual[i] = x.grad[i]
            x.grad.dual[i][0] = 1.0

    keys = [m.key for m in lowered(k).kernel.memories]
    assert keys == [("x", ("bar",)), ("x", ()), ("x", ("dot",)), ("x", ("bar", "dot"))]
    assert list(lowered(k).fields) == ["x"]


def test_a_field_without_a_gradient() -> None:
    x = f(3, needs_grad=False)

    def k():
        x.grad[0] = 1.0

    assert refused(k) == (
        "missing-gradient: the field `x` has no `grad`\nhelp: make the field with `needs_grad=True`"
    )


def test_indices() -> None:
    x, n = f(3, 4), f(2, dtype=ti.i32, values=[1, 2])

    def k():
        base = ti.Vector([1, 1])
        x[base + [0, 1]] = 1.0
        x[n[0], n[1]] += 10.0
        for i in ti.static(range(2)):
            x[n[i] - 1, i] += 5.0
        I = (2, 3)
        x[I] = 7.0

    run(k)
    assert x.values.tolist() == [[5, 0, 0, 0], [0, 5, 11, 0], [0, 0, 0, 7]]


def test_accumulations_are_one_step() -> None:
    x, n, v = f(3), f(3, dtype=ti.i32), f(2, entry=(2,))

    def k():
        x[0] += 2.0
        x[0] -= 0.5
        n[0] |= 6
        n[0] &= 3
        n[0] ^= 5
        v[0] += [1.0, 2.0]
        v[0][1] -= 3.0
        v[1] += 1.0

    kernel = lowered(k).kernel
    kinds = [type(s) for s in statements(kernel.body)]
    assert Load not in kinds
    assert Store not in kinds
    assert [s.op for s in statements(kernel.body) if isinstance(s, Accumulate)] == [
        "add", "add", "bor", "band", "bxor", *["add"] * 5,
    ]  # fmt: skip
    run(k)
    assert x.values[0] == 1.5
    assert n.values[0] == (6 & 3) ^ 5
    assert v.values.tolist() == [[1, -1], [1, 1]]


def test_other_operators_load_and_store() -> None:
    x = f(3, values=[6.0, 5.0, 4.0])

    def k():
        x[0] *= 2.0
        x[1] /= 2
        x[2] **= 2
        x[2] //= 3

    kinds = [type(s) for s in statements(lowered(k).kernel.body)]
    assert kinds.count(Load) == kinds.count(Store) == 4
    run(k)
    assert x.values.tolist() == [12.0, 2.5, 5.0]


def test_atomic_functions() -> None:
    x, n, s = f(6, values=[1.0, 2, 3, 4, 5, 6]), f(3, dtype=ti.i32, values=[7, 1, 2]), f(8)

    def k():
        s[0] = ti.atomic_add(x[0], 10.0)
        s[1] = ti.atomic_sub(x[1], 1.0)
        s[2] = ti.atomic_max(x[2], 9.0)
        s[3] = ti.atomic_min(x[3], 1.0)
        s[4] = ti.atomic_mul(x[4], 3.0)
        ti.atomic_add(x[5], 1.0)
        s[5] = ti.atomic_and(n[0], 3)
        ti.atomic_or(n[1], 4)
        ti.atomic_xor(n[2], 3)
        c = 3.0
        s[6] = ti.atomic_add(c, 2.0)
        ti.atomic_max(c, 100.0)
        s[7] = c

    run(k)
    assert x.values.tolist() == [11, 1, 9, 1, 15, 7]
    assert n.values.tolist() == [3, 5, 1]
    assert s.values.tolist() == [1, 2, 3, 4, 5, 7, 3, 100]
    used = [s.old is not None for s in statements(lowered(k).kernel.body) if isinstance(s, Accumulate)]
    assert used == [True] * 5 + [False, True, False, False]


def test_atomics_on_whole_vectors_and_their_entries() -> None:
    v, s = f(2, entry=(2,)), f(2)

    def k():
        old = ti.atomic_add(v[0], [1.0, 2.0])
        s[0] = old.sum()
        s[1] = ti.atomic_add(v[0].x, 5.0)

    run(k)
    assert v.values[0].tolist() == [6, 2]
    assert s.values.tolist() == [0, 1]


def test_attributes_of_fields() -> None:
    x, n = f(4, 6, entry=(2, 3)), f(5, dtype=ti.i32)

    def k():
        n[0] = x.shape[1]
        n[1] = x.n * 10 + x.m
        n[2] = len(x.shape)
        a, b = x.shape
        n[3] = a * b
        n[4] = ti.cast(2.5, n.dtype)

    run(k)
    assert n.values.tolist() == [6, 23, 2, 24, 2]


def test_filling_a_field() -> None:
    x, v = f(2, 3), f(3, entry=(2,))

    def k(a: float):
        x.fill(a)
        v.fill(ti.Vector([1.0, 2.0]))

    run(k, 4.0)
    assert x.values.tolist() == [[4, 4, 4], [4, 4, 4]]
    assert v.values.tolist() == [[1, 2]] * 3


def test_fields_of_an_owner() -> None:
    class Solver:
        def __init__(self) -> None:
            self.x = f(3)
            self.dt = 0.5
            self.grids = [f(2), f(2)]

        def step(self, a: ti.f64):
            for i in self.x:
                self.x[i] += self.dt * a
            for i in ti.static(range(2)):
                self.grids[i][0] = i + 1.0

    solver = Solver()
    run(solver.step, 2.0)
    assert solver.x.values.tolist() == [1, 1, 1]
    assert [g.values[0] for g in solver.grids] == [1, 2]
    assert [(c.name, c.value) for c in lowered(solver.step).captures if c.name == "self.dt"] == [
        ("self.dt", 0.5)
    ]


def test_template_parameters_are_bound_by_name() -> None:
    x, y = f(3, values=[1.0, 2.0, 3.0]), f(3)

    def copy(src: ti.template(), dst: ti.template()):
        for i in src:
            dst[i] = src[i]

    assert [m.name for m in lowered(copy, bound={"src": x, "dst": y}).kernel.memories] == ["src", "dst"]
    run(copy, bound={"src": x, "dst": y})
    assert y.values.tolist() == [1, 2, 3]
    assert "argument: the argument for `src` is not known" in refused(copy)


def test_errors_of_fields() -> None:
    x, y, s, n, loose = f(3), f(3, 3), f(), f(2, dtype=ti.i32), f(3, placed=False)

    def float_index(a: float):
        x[a] = 1.0

    def too_few():
        y[0] = 1.0

    def too_many():
        x[0, 1] = 1.0

    def index_of_0d():
        s[1] = 1.0

    def none_of_1d():
        x[None] = 1.0

    def sliced():
        x[0:2] = 1.0

    def whole():
        x = 1.0
        y += 1.0

    def attribute():
        x.shap[0] = 1

    def unplaced():
        loose[0] = 1.0

    def vector_index():
        y[ti.Vector([0, 1, 2])] = 1.0

    assert refused(float_index).startswith(
        "index: a float cannot be an index\nhelp: cast it to an integer first"
    )
    assert refused(too_few) == "index: the field `y` has 2 axes, got 1 index\nhelp: give 2 of them"
    assert "index: the field `x` has 1 axis, got 2 indices" in refused(too_many)
    assert refused(index_of_0d) == "index: the field `s` has 0 axes, got 1 index\nhelp: write `s[None]`"
    assert "index: the field `x` has 1 axis, got 0 indices" in refused(none_of_1d)
    assert "the field `x` cannot be sliced" in refused(sliced)
    assert "`y` has no value yet" in refused(whole)
    assert "has no `shap` in a kernel\nhelp: did you mean `shape`?" in refused(attribute)
    assert "unplaced: the field `loose` is not placed" in refused(unplaced)
    assert "the field `y` has 2 axes, got 3 indices" in refused(vector_index)
    assert n.shape == (2,)


@pytest.mark.parametrize("index", [0, None])
def test_the_only_element(index: int | None) -> None:
    s = f()

    def k():
        s[None] = 1.0
        s[0] += 2.0

    run(k)
    assert s[index if index is None else ()] == 3.0
    assert "s[]" in text(k)
