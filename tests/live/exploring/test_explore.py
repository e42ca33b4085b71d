"""`ds.explore`: what follows a control, a drag, an error."""

import asyncio

import numpy as np
import pytest

import dsim as ti
from dsim import explore, view
from dsim.live.scene.layers import Points
from tests.live.exploring.springs import springs


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_a_control_moves_loss_and_gradients():
    s = springs()
    seen = explore(s.energy, wrt=s.x, loss=s.U, controls={s.k: (0, 10)})
    square = float((s.x.to_numpy() ** 2).sum())
    for value in (2.0, 3.5):
        seen.set(k=value)
        assert seen.found.loss == pytest.approx(0.5 * value * square)
        assert seen.found.gradients == {"k": pytest.approx(0.5 * square)}
        assert np.allclose(s.x.grad.to_numpy(), value * s.x.to_numpy())
    assert seen.runs == 3
    assert repr(seen) == "explorer of energy: k = 3.5; U = 245"


def test_it_begins_quietly_after_a_tape_that_did_not_reach_its_field():
    s, other = springs(), springs()
    with ti.ad.Tape(other.U):
        other.energy()
    seen = explore(s.energy, wrt=s.x, loss=s.U, controls={s.k: (0, 10)})
    assert seen.found.gradients == {"k": pytest.approx(0.5 * float((s.x.to_numpy() ** 2).sum()))}


def test_points_of_a_given_picture_can_be_dragged_where_they_are_what_runs_begin_with():
    s = springs()
    elsewhere = Points(name="elsewhere", at=np.ones((3, 2)))
    seen = explore(s.energy, wrt=s.x, loss=s.U, picture=view(s.x, elsewhere))
    assert [layer.drag for layer in seen.view.scene.layers] == [True, False]
    seen.view._heard({"type": "drag", "layer": 0, "index": 1, "position": [10.0, 0.0], "phase": "move"})
    np.testing.assert_array_equal(s.x.to_numpy()[1], [10.0, 0.0])
    assert seen.found.loss == pytest.approx(float((s.x.to_numpy() ** 2).sum()))


def test_an_explorer_whose_picture_another_one_takes_says_so():
    s = springs()
    picture = view(s.x)
    first = explore(s.energy, wrt=s.x, loss=s.U, picture=picture)
    second = explore(s.energy, wrt=s.x, loss=s.U, picture=picture)
    assert "out of date: another explorer has its picture; execute this cell again" in repr(first)
    with pytest.raises(ti.DsimError, match="out of date: another explorer has its picture"):
        first.set()
    first.close()
    assert "out of date" not in repr(second)
    picture._heard({"type": "drag", "layer": 0, "index": 1, "position": [10.0, 0.0], "phase": "move"})
    assert second.found.loss == pytest.approx(float((s.x.to_numpy() ** 2).sum()))
    assert first.runs == 1


def test_a_drag_writes_the_position_with_which_runs_begin():
    s = springs()

    def run():
        s.energy()
        s.x.fill(7.0)

    seen = explore(run, wrt=s.x, loss=s.U)
    assert seen.view.scene.layers[0].drag
    seen.view._heard({"type": "drag", "layer": 0, "index": 1, "position": [10.0, 0.0], "phase": "move"})
    assert seen.found.loss == pytest.approx(0.0 + 1.0 + 100.0 + 16.0 + 25.0 + 36.0 + 49.0)
    assert np.allclose(s.x.grad.to_numpy()[1], [20.0, 0.0])


def test_bodies_that_a_run_moves_are_drawn_where_they_begin_and_where_they_end():
    s = springs()

    @ti.kernel
    def move():
        for i in s.x:
            s.x[i] += ti.Vector([100.0, 0.0])

    def run():
        move()
        s.energy()

    begin = s.x.to_numpy()
    seen = explore(run, wrt=s.x, loss=s.U)
    first, arrows, last = seen.view.scene.layers
    assert [layer.name for layer in (first, last)] == ["x at the beginning", "x at the end"]
    np.testing.assert_array_equal(first.at(), begin)
    np.testing.assert_array_equal(arrows.at(), begin)
    np.testing.assert_allclose(arrows.vectors(), -2.0 * (begin + np.array([100.0, 0.0])))
    assert last.at is s.x
    (left, right), _ = seen.view.scene.bounds
    assert left < 0.0
    assert right > 106.0
    seen.view._heard({"type": "drag", "layer": 0, "index": 1, "position": [3.0, 3.0], "phase": "move"})
    assert s.x[1].to_list() == [103.0, 3.0]
    np.testing.assert_array_equal(first.at()[1], [3.0, 3.0])


def test_cells_read_the_gradients_of_a_move_without_a_warning(recwarn):
    s = springs()

    async def notebook():
        seen = explore(s.energy, wrt=s.x, loss=s.U, controls=[s.k])
        seen.controls[0].put(3.0)
        seen._latest.ask()
        while seen.runs == 1:
            await asyncio.sleep(0.01)
        return s.x.grad.to_numpy()

    np.testing.assert_allclose(asyncio.run(notebook()), 3.0 * s.x.to_numpy())
    with ti.Tape(s.U):
        s.energy()
    np.testing.assert_allclose(s.x.grad.to_numpy(), 3.0 * s.x.to_numpy())
    assert not recwarn.list


def test_a_cell_is_painted():
    g = ti.field(ti.f64, shape=(3, 4), needs_grad=True, name="g")
    L = ti.field(ti.f64, shape=(), needs_grad=True, name="L")

    @ti.kernel
    def total():
        for i, j in g:
            L[None] += g[i, j]

    seen = explore(total, wrt=g, loss=L)
    seen.view._heard({"type": "paint", "layer": 0, "cell": [2, 3], "phase": "move"})
    assert (g[2, 3], seen.found.loss) == (1.0, 1.0)
    g[0, 0] = 4.0
    seen.update()
    seen.view._heard({"type": "paint", "layer": 0, "cell": [1, 1], "phase": "move"})
    seen.view._heard({"type": "paint", "layer": 0, "cell": [2, 3], "phase": "move", "erase": True})
    assert (g[1, 1], g[2, 3]) == (4.0, 0.0)
    seen.view.scene.layers[0].limits = (-1.0, 3.0)
    seen.view._heard({"type": "paint", "layer": 0, "cell": [1, 1], "phase": "move"})
    assert seen.found.loss == 7.0


def growing(s):
    """A run that overwrites what it reads."""
    v = ti.field(ti.f64, shape=(), needs_grad=True, name="v")

    @ti.kernel
    def grow():
        v[None] = v[None] * s.k[None] + 1.0

    @ti.kernel
    def end():
        s.U[None] += v[None]

    def run():
        grow()
        grow()
        end()

    return v, run


@pytest.mark.parametrize("reset", [False, True])
def test_the_same_control_gives_the_same_loss_always(reset):
    s = springs()
    v, run = growing(s)
    v[None] = 0.0
    seen = explore(run, loss=s.U, controls=[s.k], reset=(lambda: v.fill(0.0)) if reset else None)
    for _ in range(3):
        seen.set(k=3.0)
        assert (seen.found.loss, seen.found.gradients) == (4.0, {"k": 1.0})
        assert v[None] == 4.0  # as the run left it
        seen.set(k=2.0)
        assert seen.found.loss == 3.0


def test_without_a_loss_too_a_run_begins_as_the_first_one_did():
    x = ti.field(ti.f64, shape=3, name="x")
    numbers = np.zeros(3)

    @ti.kernel
    def step(a: ti.types.ndarray(), by: float):
        for i in x:
            x[i] += by
            a[i] += by

    def run(by=1.0):
        x[0] = x[0] + 1.0
        step(numbers, by)

    seen = explore(run)
    for by in (1.0, 2.0, 1.0):  # the first run was another one
        seen.set(by=by)
        assert x.to_numpy().tolist() == [by + 1, by, by]
        assert numbers.tolist() == [by, by, by]


def test_random_numbers_are_the_same_in_each_run():
    x = ti.field(ti.f64, shape=3, name="x")

    @ti.kernel
    def draw(scale: float):
        for i in x:
            x[i] = scale * ti.random()

    seen = explore(lambda scale=1.0: draw(scale))
    first = x.to_numpy()
    seen.set(scale=2.0)
    seen.set(scale=1.0)
    assert np.array_equal(x.to_numpy(), first)


def test_what_a_cell_writes_is_what_the_next_run_begins_with():
    s = springs()
    v, run = growing(s)
    seen = explore(run, wrt=s.x, loss=s.U, controls=[s.k])
    v[None] = 10.0
    seen.set(k=1.0)
    assert seen.found.loss == 12.0
    seen.set(k=1.0)
    assert seen.found.loss == 12.0
    s.x.fill(3.0)
    seen.set(k=1.0)
    assert np.all(s.x.to_numpy() == 3.0)


def test_a_run_that_failed_half_way_is_put_back():
    s = springs()
    _, run = growing(s)

    def fails(now=0):
        run()
        if now:
            raise ValueError("half way")

    seen = explore(fails, loss=s.U)
    loss = seen.found.loss
    with pytest.raises(ValueError, match="half way"):
        seen.set(now=1)
    seen.set(now=0)
    assert seen.found.loss == loss


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda s: explore(3), "`run` is a kernel or a function"),
        (lambda s: explore(lambda a: None), "`a` of `<lambda>` has no number"),
        (lambda s: explore(lambda a="b": None, controls={"a": (0, 1)}), "`a` of `<lambda>` is no number"),
        (
            lambda s: explore(s.energy, controls={"stiffness": (0, 1)}),
            "`energy` has no such parameter",
        ),
        (lambda s: explore(lambda: 0, controls={"stiffness": (0, 1)}), "no such parameter"),
        (lambda s: explore(s.energy, controls=[s.x]), "a control is one number"),
        (lambda s: explore(s.energy, controls={s.k: (1, 0)}), "a lower and a higher number"),
        (lambda s: explore(s.energy, controls={s.k: 3}), "are two numbers, not 3"),
        (lambda s: explore(s.energy, loss=s.U).set(q=1), "there is no control 'q'"),
        (lambda s: explore(s.energy, loss=s.U, wrt=ti.field(ti.f64, shape=2)), "fields with a gradient"),
        (lambda s: explore(s.energy, loss=s.U, wrt=3), "`wrt` takes fields, not int"),
        (lambda s: explore(s.energy, controls={s.k: (0, 10, 0)}), "step of 'k' is a number above 0"),
        (lambda s: explore(s.energy, controls={s.k: (3, 10)}), "from 3 to 10, and 2 is outside"),
        (lambda s: explore(lambda k=1.0: None, controls=[s.k]), "2 controls are called 'k'"),
    ],
)
def test_what_it_refuses(make, message):
    with pytest.raises(ti.DsimError, match=message):
        make(springs())


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (10.5, "from 0 to 10, and 10.5 is outside"),
        (float("nan"), "takes a number, not nan"),
        (float("inf"), "from 0 to 10, and inf is outside"),
        ("3", "takes a number, not '3'"),
        (True, "takes a number, not True"),
    ],
)
def test_a_value_that_the_slider_cannot_show_changes_nothing(value, message):
    s = springs()
    seen = explore(lambda times=2: s.energy(), loss=s.U, controls={s.k: (0, 10)})
    with pytest.raises(ti.DsimError, match=message):
        seen.set(times=3, k=value)
    with pytest.raises(ti.DsimError, match=r"takes integers, not 3\.7"):
        seen.set(times=3.7)
    assert (seen.runs, s.k[None], [c.value for c in seen.controls]) == (1, 2.0, [2, 2.0])
    seen.set(times=np.int64(4), k=np.float32(0.5))
    assert (seen.controls[0].value, s.k[None]) == (4, 0.5)


def test_fields_without_names_are_called_as_their_variables():
    soft = ti.field(ti.f64, shape=(), needs_grad=True)
    stiff = ti.field(ti.f64, shape=(), needs_grad=True)
    E = ti.field(ti.f64, shape=(), needs_grad=True)

    @ti.kernel
    def run():
        E[None] = 2.0 * soft[None] + 3.0 * stiff[None]

    seen = explore(run, loss=E, controls={soft: (0, 1), stiff: (0, 1)})
    assert seen.found.gradients == {"soft": 2.0, "stiff": 3.0}
    seen.set(stiff=1.0)
    assert (soft[None], stiff[None]) == (0.0, 1.0)


def test_sliders_and_bars():
    s = springs()
    seen = explore(s.energy, loss=s.U, controls={s.k: (0, 10, 0.5)})
    assert seen.widget is seen.widget
    (slider,) = seen._panel.sliders.values()
    assert (slider.min, slider.max, slider.step, slider.value) == (0, 10, 0.5, 2.0)
    slider.value = 4.0
    assert seen.found.loss == pytest.approx(2.0 * float((s.x.to_numpy() ** 2).sum()))
    assert "∂ 70" in next(iter(seen._panel.bars.values())).value
    seen.close()


def test_the_run_may_use_a_variable_that_has_no_value_yet():
    s = springs()
    told = []

    def run(a=1.0):
        if a > 1.5:
            told.append(later)
        s.energy()

    seen = explore(run, loss=s.U, controls={s.k: (0, 10)})
    later = 3
    seen.set(a=2.0)
    assert told == [3]


async def later():
    """Launches nothing when it is called."""


def in_steps():
    """Neither does this."""
    yield


def test_what_runs_later_is_no_run():
    s = springs()
    assert "`later` returned a coroutine" in explore(later, loss=s.U).found.problem
    assert "`in_steps` returned a generator" in explore(s.energy, loss=s.U, reset=in_steps).found.problem
