"""Methods of structs and dataclasses that modify the arguments of their ``template()`` parameters."""

from dataclasses import dataclass

import pytest

import dsim as ds
from tests.frontend.dialect import f, refused, run, structs, ti


@ti.dataclass
class Tank:
    level: ti.f64
    total: ti.f64

    @ti.func
    def pour(self, other: ti.template(), part):
        given = part * self.level
        self.level -= given
        other.level += given
        other.total += other.level
        return given

    @ti.func
    def count(self, n: ti.template(), sums: ti.template()):
        n += 1
        sums += self.level

    @ti.func
    def both_ways(self, other: ti.template()):
        self.pour(other, 0.5)
        other.pour(self, 0.25)

    @ti.func
    def gain(self, other: ti.template()):
        self.level += other.level
        self.level += other.level


Pair = ti.types.struct(first=Tank, second=Tank)


def tanks(*levels: float):
    made = structs(Tank, len(levels))
    made.members["level"].values[:] = levels
    return made


def levels_of(field) -> list[float]:
    return field.members["level"].values.tolist()


def test_elements_of_fields() -> None:
    x, given = tanks(8.0, 1.0, 0.0), f(2)

    def k():
        for i in range(2):
            given[i] = x[i].pour(x[i + 1], 0.5)

    run(k)
    assert levels_of(x) == [4.0, 2.5, 2.5]
    assert given.values.tolist() == [4.0, 2.5]
    assert x.members["total"].values.tolist() == [0.0, 5.0, 2.5]


def test_locals_in_loops_and_by_keyword() -> None:
    s = f(3)

    def k():
        a, b, r = Tank(8.0), Tank(1.0), 0.0
        for _ in range(2):
            r = a.pour(b, 0.5)
            b.pour(part=0.25, other=a)
        s[0], s[1], s[2] = a.level, b.level, r

    run(k)
    a, b, r = 8.0, 1.0, 0.0
    for _ in range(2):
        r = a / 2
        a, b = a - r, b + r
        a, b = a + b / 4, b - b / 4
    assert s.values.tolist() == [a, b, r]


def test_a_local_and_an_element() -> None:
    x, s = tanks(8.0, 1.0), f(1)

    def k():
        a = Tank(4.0)
        a.pour(x[0], 0.5)
        x[1].pour(a, 1.0)
        s[0] = a.level

    run(k)
    assert levels_of(x) == [10.0, 0.0]
    assert s.values[0] == 3.0


def test_numbers_and_parts_of_locals() -> None:
    x, s = tanks(8.0, 1.0), f(4)

    def k():
        n, v, i = 0, ti.Vector([0.0, 1.0]), 1
        for t in x:
            x[t].count(n, v[i])
        x[0].count(n, s[3])
        s[0], s[1], s[2] = n, v[0], v[1]

    run(k)
    assert s.values.tolist() == [3, 0.0, 10.0, 8.0]


def test_methods_that_pass_it_on_and_members() -> None:
    x, s = tanks(8.0, 1.0), f(2)

    def k():
        x[0].both_ways(x[1])
        p = Pair(Tank(8.0), Tank(1.0))
        p.first.both_ways(p.second)
        p.first.gain(p.second)
        s[0], s[1] = p.first.level, p.second.level

    run(k)
    assert levels_of(x) == [5.25, 3.75]
    assert s.values.tolist() == [5.25 + 2 * 3.75, 3.75]


def test_an_element_that_is_the_struct_itself() -> None:
    x = tanks(1.0)

    def k():
        x[0].gain(x[0])

    run(k)
    assert levels_of(x) == [4.0]


def test_a_method_of_a_dataclass() -> None:
    x, s = ds.field(ds.f64, shape=1), ds.field(ds.f64, shape=1)

    @dataclass(frozen=True)
    class Source:
        rate: float

        @ds.func
        def give(self, other: ds.template(), times):
            other += times * self.rate

    @ds.kernel
    def k(source: Source):
        source.give(x[0], 2.0)
        y = 1.0
        source.give(times=3.0, other=y)
        s[0] = y

    k(Source(0.5))
    assert (x[0], s[0]) == (1.0, 2.5)


def test_what_overlaps() -> None:
    x = tanks(1.0)

    def changed():
        a = Tank(1.0)
        a.pour(a, 0.5)

    def read():
        a = Tank(1.0)
        a.gain(a)

    def part():
        a, n = Tank(1.0), 0
        a.count(n, a.total)

    def whole():
        p = Pair(Tank(8.0), Tank(1.0))
        p.first.pour(p.first, 0.5)

    def temporary():
        x[0].pour(Tank(1.0), 0.5)

    help = "help: copy it to a second local, and pass that"
    assert refused(changed) == f"argument: `pour` changes `a`, which is passed to it twice\n{help}"
    assert refused(read) == f"argument: `gain` changes `a`, which is passed to it twice\n{help}"
    assert refused(part) == f"argument: `count` changes `a`, which is passed to it twice\n{help}"
    assert refused(whole) == f"argument: `pour` changes `p`, which is passed to it twice\n{help}"
    assert "`pour` assigns to its template parameter `other`" in refused(temporary)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2])
def test_gradients(order) -> None:
    @ds.dataclass
    class Cell:
        q: ds.f64
        w: ds.f64

        @ds.func
        def mix(self, other: ds.template(), part):
            given = part * self.q * other.w
            self.q -= given
            other.q += given * other.q
            other.w *= ds.cos(self.q)

    cells, loss = Cell.field(shape=4, needs_grad=True), ds.field(ds.f64, shape=(), needs_grad=True)

    @ds.kernel
    def k():
        for i in range(3):
            cells[i].mix(cells[i + 1], 0.5)
        a, b = cells[0], cells[1]
        for _ in range(3):
            a.mix(b, 0.25)
            b.mix(cells[3], a.q)
        for i in cells:
            loss[None] += cells[i].q ** 2 + cells[i].w * a.q * b.w

    for i in range(4):
        cells[i] = Cell(0.5 + 0.25 * i, 1.0 - 0.125 * i)
    with pytest.warns(ds.DsimWarning, match="serial"):
        k()
    for member in (cells.q, cells.w):
        loss[None] = 0.0
        assert ds.check_grad(k, member, loss, order=order)


def test_both_modes_agree() -> None:
    @ds.dataclass
    class Cell:
        q: ds.f64

        @ds.func
        def give(self, other: ds.template()):
            other.q = self.q * other.q
            self.q = ds.sin(other.q)

    cells, loss = Cell.field(shape=2, needs_grad=True), ds.field(ds.f64, shape=(), needs_grad=True)

    @ds.kernel
    def k():
        cells[0].give(cells[1])
        loss[None] = cells[0].q * cells[1].q

    def start() -> None:
        cells[0], cells[1] = Cell(0.5), Cell(0.75)

    start()
    with ds.ad.Tape(loss):
        k()
    tangents = []
    for seed in ([1.0, 0.0], [0.0, 1.0]):
        start()
        with ds.ad.FwdMode(loss=loss, param=cells.q, seed=seed):
            k()
        tangents.append(loss.dual[None])
    assert cells.q.grad.to_numpy().tolist() == pytest.approx(tangents, rel=1e-14)
    assert tangents[0] != 0.0
