"""Parts of a field's elements, by swizzles, slices and rows, with a runtime index."""

import numpy as np
import pytest

import dsim as ti


@pytest.fixture
def v():
    ti.init(default_fp=ti.f64)
    made = ti.Vector.field(3, float, shape=2, needs_grad=True)
    made.from_numpy(np.arange(6.0).reshape(2, 3))
    return made


@pytest.fixture
def m(v):
    made = ti.Matrix.field(3, 3, float, shape=2)
    made.from_numpy(np.arange(18.0).reshape(2, 3, 3))
    return made


def test_entries_in_another_order(v):
    @ti.kernel
    def letters(i: int) -> float:
        return v[0].zyx[i]

    @ti.kernel
    def repeated(i: int) -> float:
        return v[1].xyx[i]

    @ti.kernel
    def backwards(x: ti.types.ndarray(), i: int) -> float:
        return x[1][::-1][i]

    assert [letters(i) for i in range(3)] == [2.0, 1.0, 0.0]
    assert [repeated(i) for i in range(3)] == [3.0, 4.0, 3.0]
    assert [backwards(v, i) for i in range(3)] == [5.0, 4.0, 3.0]


def test_rows_in_another_order(m):
    @ti.kernel
    def rows(i: int, j: int) -> float:
        return m[0][::-1, :][i, j]

    @ti.kernel
    def columns(i: int, j: int) -> float:
        return m[1][:, i][j]

    x = m.to_numpy()
    for i, j in np.ndindex(3, 3):
        assert rows(i, j) == x[0, 2 - i, j]
        assert columns(i, j) == x[1, j, i]


def test_entries_of_a_large_vector_and_of_a_struct(v):
    kind = ti.types.struct(p=ti.types.vector(20, float))
    s = kind.field(shape=1)
    s.p.from_numpy(np.arange(20.0).reshape(1, 20))

    @ti.kernel
    def of_field(i: int) -> float:
        return s[0].p[::-1][i]

    @ti.kernel
    def of_local(i: int) -> float:
        p = s[0].p
        p[i] = 50.0
        return p[::-1][i]

    assert [of_field(i) for i in (0, 7, 19)] == [19.0, 12.0, 0.0]
    assert [of_local(i) for i in (0, 7, 19)] == [19.0, 12.0, 0.0]


@pytest.mark.parametrize("mode", ["tape", "forward"])
def test_derivatives_go_to_the_entry_that_was_read(v, mode):
    loss = ti.field(float, shape=(), needs_grad=True, needs_dual=True)

    @ti.kernel
    def run(i: int):
        loss[None] += v[0].zyx[i] ** 2

    if mode == "tape":
        with ti.ad.Tape(loss):
            run(0)
        assert v.grad.to_numpy().tolist() == [[0.0, 0.0, 4.0], [0.0, 0.0, 0.0]]
        return
    with ti.ad.FwdMode(loss, v, seed=np.array([[10.0, 100.0, 1.0], [0.0, 0.0, 0.0]])):
        run(0)
    assert loss.dual[None] == 4.0


def test_an_index_outside_of_a_part_is_an_error(v, m):
    @ti.kernel
    def row(i: int) -> float:
        return m[0][0][i]

    @ti.kernel
    def both(i: int) -> float:
        return m[0][i - i][i]

    @ti.kernel
    def letters(i: int) -> float:
        return v[0].xy[i]

    @ti.kernel
    def slices(i: int) -> float:
        return m[0][:, 1][i]

    for run, last in ((row, 2), (both, 2), (letters, 1), (slices, 2)):
        run(last)
        for wrong in (last + 1, -1):
            message = f"index {wrong} is out of bounds for a vector of {last + 1}"
            with pytest.raises(ti.BoundsError, match=message):
                run(wrong)
