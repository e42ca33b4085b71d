"""A sum on the path to the loss that is not cleared between two tapes gives a warning; a state does not."""

import numpy as np
import pytest

import dsim as ti
from tests.runtime.taping import single, taped


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


class Centre:
    """The squared distance of a centre of mass, which is added up in a field, from 3."""

    def __init__(self, shape=(), needs_grad=True):
        self.x = ti.field(ti.f64, shape=4, needs_grad=True, name="x")
        self.centre = ti.field(ti.f64, shape=shape, needs_grad=needs_grad, name="centre")
        self.loss = single("loss")
        self.x.fill(1.0)
        x, centre, loss = self.x, self.centre, self.loss
        at = 0 if shape else None

        @ti.kernel
        def add_up():
            for i in x:
                centre[at] += x[i] / 4

        @ti.kernel
        def far():
            loss[None] += (centre[at] - 3.0) ** 2

        @ti.kernel
        def clear():
            centre[at] = 0.0

        self.add_up, self.far, self.clear = add_up, far, clear

    def taped(self, *calls, **options):
        taped(self.loss, *(calls or (self.add_up, self.far)), **options)


def told(run):
    """The one warning of `run`, a `GradientWarning`."""
    with pytest.warns(ti.GradientWarning) as said:
        run()
    (one,) = said
    return str(one.message)


def test_a_sum_that_nobody_resets():
    c = Centre()
    c.taped()
    message = told(c.taped)
    assert message.startswith(
        "warning[leftover]: this tape adds to the value that an earlier one left in `centre`, "
        "and its loss depends on the sum\n  --> "
    )
    assert "│                 centre[at] += x[i] / 4\n" in message
    assert "added to here" in message
    assert message.endswith(
        "help: set it to 0 first: `centre[None] = 0`, or in a kernel; a tape resets only its loss"
    )
    assert (c.loss[None], c.centre[None]) == (1.0, 2.0)  # as the program says
    assert c.x.grad.to_numpy().tolist() == [-0.5] * 4


def test_it_is_said_once():
    c = Centre()
    c.taped()
    told(c.taped)
    c.taped()


def test_as_an_error_it_leaves_the_gradients():
    c = Centre()
    c.taped()
    with pytest.raises(ti.GradientWarning, match="leftover"):
        c.taped()
    assert c.x.grad.to_numpy().tolist() == [-0.5] * 4


def test_a_field_of_shape_1_without_a_gradient():
    c = Centre(shape=(1,), needs_grad=False)
    c.taped()
    assert "help: set it to 0 first: `centre.fill(0)`, or" in told(c.taped)


def test_a_vector():
    x, loss = ti.field(ti.f64, shape=4, needs_grad=True), single("loss")
    total = ti.Vector.field(2, ti.f64, shape=(), name="total")

    @ti.kernel
    def add_up():
        for i in x:
            total[None] -= ti.Vector([x[i], 1.0])

    @ti.kernel
    def square():
        loss[None] += total[None].norm_sqr()

    taped(loss, add_up, square)
    assert "help: set it to 0 first: `total.fill(0)`, or" in told(lambda: taped(loss, add_up, square))


@pytest.mark.parametrize(
    "reset",
    [
        lambda c: c.centre.fill(0.0),
        lambda c: c.centre.from_numpy(np.zeros(())),
        lambda c: c.centre.copy_from(single("zero")),
        lambda c: c.centre.__setitem__(None, 0.0),
        lambda c: c.centre.__setitem__(None, 5.0),
        lambda c: c.clear(),
    ],
    ids=["fill", "from_numpy", "copy_from", "element", "not 0", "kernel"],
)
@pytest.mark.parametrize("inside", [False, True], ids=["before", "inside"])
def test_a_reset(reset, inside):
    c = Centre()
    for _ in range(4):
        if inside:
            c.taped(lambda: reset(c), c.add_up, c.far)
        else:
            reset(c)
            c.taped()


def test_a_reset_at_the_end_of_the_block():
    c = Centre()
    for _ in range(3):
        c.taped(c.add_up, c.far, c.clear)


def test_the_loss_itself_is_reset_by_the_tape():
    c = Centre()
    c.centre[None] = 1.0
    for _ in range(3):
        c.taped(c.far, c.far)
        assert c.loss[None] == 8.0


def test_several_additions_in_one_tape():
    c = Centre()
    c.taped(c.add_up, c.add_up, c.far)
    assert c.loss[None] == 1.0


def test_a_sum_that_the_loss_does_not_depend_on():
    c = Centre()
    total = single("total")

    @ti.kernel
    def count():
        for i in c.x:
            total[None] += c.x[i]

    for _ in range(3):
        c.centre[None] = 0.0
        c.taped(c.add_up, count, c.far)
    assert total[None] == 12.0


def test_a_sum_through_an_array_argument():
    x, loss = ti.field(ti.f64, shape=4, needs_grad=True), single("loss")
    total = ti.ndarray(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def add_up(s: ti.types.ndarray()):
        for i in x:
            s[None] += x[i]

    @ti.kernel
    def square(s: ti.types.ndarray()):
        loss[None] += s[None] ** 2

    def run():
        taped(loss, lambda: add_up(total), lambda: square(total))

    run()
    assert "left in `s`" in told(run)


def test_a_state_that_goes_on():
    """A body that many points push; the next tape begins where the last one ended."""
    f = ti.field(ti.f64, shape=4, needs_grad=True)
    v, x, loss = single("v"), single("x"), single("loss")
    f.fill(1.0)

    @ti.kernel
    def push():
        for i in f:
            v[None] += 0.1 * f[i]

    @ti.kernel
    def move():
        x[None] += 0.1 * v[None]

    @ti.kernel
    def miss():
        loss[None] += (x[None] - 1.0) ** 2

    for _ in range(3):
        taped(loss, push, move, miss)
    assert v[None] == pytest.approx(1.2)


def test_work_that_is_summed_while_a_state_goes_on():
    q = ti.field(ti.f64, shape=4, needs_grad=True)
    work, loss = single("work"), single("loss")
    q.fill(1.0)

    @ti.kernel
    def step():
        for i in q:
            q[i] = q[i] - 0.1 * ti.sin(q[i])

    @ti.kernel
    def add_up():
        for i in q:
            work[None] += q[i]

    @ti.kernel
    def end():
        loss[None] += work[None] ** 2

    for _ in range(3):
        taped(loss, step, step, add_up, end)


def test_a_state_that_is_set_each_time():
    q = ti.field(ti.f64, shape=4, needs_grad=True)
    total, loss = single("total"), single("loss")

    @ti.kernel
    def step():
        for i in q:
            q[i] = q[i] - 0.1 * ti.sin(q[i])

    @ti.kernel
    def add_up():
        for i in q:
            total[None] += q[i]

    @ti.kernel
    def end():
        loss[None] += total[None] ** 2

    def run():
        q.fill(1.0)
        taped(loss, step, step, add_up, end)

    run()
    assert "`total`" in told(run)


def test_a_state_with_an_axis_for_the_step():
    z = ti.field(ti.f64, shape=(4, 3), needs_grad=True)
    total, loss = single("total"), single("loss")

    @ti.kernel
    def step(t: int):
        for i in range(3):
            z[t + 1, i] = ti.sin(z[t, i])

    @ti.kernel
    def add_up():
        for i in range(3):
            total[None] += z[3, i]

    @ti.kernel
    def end():
        loss[None] += total[None] ** 2

    def run():
        taped(loss, *(lambda t=t: step(t) for t in range(3)), add_up, end)

    run()
    assert "`total`" in told(run)


def test_steps_in_one_loop_are_no_sum():
    x, v, loss = single("x"), single("v"), single("loss")
    v[None] = 1.0

    @ti.kernel
    def drift():
        for _ in range(5):
            x[None] += 0.1 * v[None]

    @ti.kernel
    def miss():
        loss[None] += (x[None] - 1.0) ** 2

    for _ in range(3):
        taped(loss, drift, miss)


def test_check_grad_leaves_no_sum():
    c = Centre()

    def run():
        c.add_up()
        c.far()

    assert ti.check_grad(run, wrt=c.x, loss=c.loss)
    c.taped()
    assert c.loss[None] == 4.0


def test_a_tape_that_checks_itself():
    c = Centre()
    c.taped(grad_check=[c.x])
    c.centre[None] = 0.0
    c.taped(grad_check=[c.x])


def test_a_tape_that_failed_adds_too():
    c = Centre()
    c.taped()
    with pytest.raises(ZeroDivisionError):
        c.taped(c.add_up, lambda: 1 // 0)
    assert "`centre`" in told(c.taped)


def test_inside_of_another_block_nothing_is_said():
    c = Centre()
    c.x.fill(1.0)
    with ti.ad.FwdMode(param=c.x, seed=np.ones(4)):
        c.taped()
        c.taped()
    assert c.loss[None] == 1.0


def test_an_addition_in_a_func():
    """The line is that of the addition, in a func."""
    c = Centre()
    centre, x = c.centre, c.x

    @ti.func
    def put(v):
        centre[None] += v

    @ti.kernel
    def add_up():
        for i in x:
            put(x[i] / 4)

    c.taped(add_up, c.far)
    assert "│         centre[None] += v\n" in told(lambda: c.taped(add_up, c.far))


def test_loops_of_more_trips_than_python_counts():
    total = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def k():
        for i in range(ti.u64(0), ti.u64(2**64 - 1)):
            total[None] += ti.cast(i, ti.f64)

    assert list(k.primal.program.global_sums) == [("total", ())]
