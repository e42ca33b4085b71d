"""Widgets whose outputs are gone, and views that are opened and closed, leave nothing behind."""

import gc
import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from ipywidgets.widgets.widget import _instances

import dsim as ds
from dsim.live.lifetime import outputs
from dsim.optimization import widget as optimization_widget
from dsim.optimization.methods import method_named
from dsim.optimization.optimize import _with_panel
from dsim.optimization.plan import OptimizationPlan
from tests.live.front_end import Page, Wire, shown_by

pytestmark = pytest.mark.slow

CYCLES = 1000
KEPT = 8


@pytest.fixture(autouse=True)
def _alone(wired):
    """Widgets of other tests do not count as those that lost their outputs."""
    for widget in [*outputs._without_output]:
        outputs.closed(widget)


@pytest.fixture
def x():
    return ds.Vector.field(2, ds.f32, shape=4, name="x")


def left() -> SimpleNamespace:
    """What lives in the process."""
    gc.collect()
    found = gc.get_objects()
    comms = sum(type(each) is Wire and not each._closed for each in found)
    return SimpleNamespace(
        widgets=len(_instances), threads={*threading.enumerate()}, comms=comms, objects=len(found)
    )


def grows(once, cycles=CYCLES) -> SimpleNamespace:
    """By how much each number has grown after these cycles; the first ones fill caches.

    Threads of other tests may end meanwhile: only those that began count.
    """
    found = []
    for count in (2 * KEPT, cycles):
        for _ in range(count):
            once()
        gc.collect()
        once()  # registries forget references to what went when something new comes
        found.append(left())
    before, now = found
    now.threads, before.threads = len(now.threads - before.threads), 0
    return SimpleNamespace(**{name: n - getattr(before, name) for name, n in vars(now).items()})


def none_of(grown: SimpleNamespace) -> bool:
    return (grown.widgets, grown.threads, grown.comms) == (0, 0, 0) and grown.objects < CYCLES // 5


def test_views_that_are_closed_leave_nothing(x):
    def once():
        made = ds.view(x, bounds=[(0, 1), (0, 1)])
        page = Page(made)
        page.shown()
        made.record()
        page.hidden()
        made.close()
        made.close()
        made.update()

    assert none_of(grows(once))


@pytest.mark.parametrize("kept_in_a_list", [False, True], ids=["dropped", "still in a variable"])
def test_views_whose_outputs_are_replaced_leave_nothing(x, kept_in_a_list):
    """A cell is executed again and again, with a view as its last line, which `Out` may keep."""
    out = [None]

    def once():
        made = ds.view(x, bounds=[(0, 1), (0, 1)])
        widget = made.widget
        if kept_in_a_list:
            out.append(made)
        shown_by(widget, 1)
        Page(made).shown()
        made.record()
        shown_by(widget, 0)

    grown = grows(once)
    assert (grown.widgets, grown.threads, grown.comms) == (0, 0, 0)
    assert kept_in_a_list or none_of(grown)


def test_explorers_whose_outputs_are_replaced_leave_nothing():
    x = ds.Vector.field(2, ds.f64, shape=3, needs_grad=True, name="x")
    U = ds.field(ds.f64, shape=(), needs_grad=True, name="U")

    @ds.kernel
    def energy():
        for i in x:
            U[None] += x[i].norm_sqr()

    def once():
        seen = ds.explore(energy, wrt=x, loss=U)
        shown_by(seen.widget, 1)
        shown_by(seen.view.widget, 1)
        shown_by(seen.view.widget, 0)
        shown_by(seen.widget, 0)

    assert none_of(grows(once))

    def closed():
        seen = ds.explore(energy, wrt=x, loss=U)
        assert seen.widget is not None
        seen.close()

    assert none_of(grows(closed, CYCLES // 10))


def test_displays_of_optimisations_whose_outputs_are_replaced_leave_nothing():
    x, y = ds.field(ds.f64, shape=2, name="x"), ds.field(ds.f64, shape=(), name="y")

    @ds.kernel
    def run():
        for i in x:
            y[None] += x[i] ** 2

    f = ds.objective(run, wrt=x, loss=y)

    def once():
        made = _with_panel(OptimizationPlan(f, method_named("Adam", {}, False), 1))
        shown_by(made._progress.widget, 1)
        shown_by(made._progress.widget, 0)

    assert none_of(grows(once, CYCLES // 5))


# -- what outputs own, and for how long


def test_a_view_that_nobody_holds_lives_as_long_as_its_output(x):
    widget = ds.view(x, bounds=[(0, 1), (0, 1)]).widget
    shown_by(widget, 1)
    gc.collect()
    page = Page(SimpleNamespace(widget=widget))
    page.shown()
    assert len(page.frames()) == 1


def test_an_output_that_appears_again_finds_its_view(x):
    """A cell that is moved, or whose deletion is undone."""
    view = ds.view(x)
    page = Page(view)
    for _ in range(3):
        shown_by(page.widget, 1)
        shown_by(page.widget, 0)
    others = [ds.view(x) for _ in range(KEPT - 1)]
    for other in others:
        shown_by(other.widget, 1)
        shown_by(other.widget, 0)
    shown_by(page.widget, 1)
    for _ in range(2 * KEPT):
        other = ds.view(x)
        shown_by(other.widget, 1)
        shown_by(other.widget, 0)
    page.shown()
    assert view.widget is page.widget
    assert len(page.frames()) == 1


def test_of_two_outputs_the_second_keeps_the_view(x):
    view = ds.view(x)
    widget = view.widget
    for count in (1, 2, 1):
        shown_by(widget, count)
    assert widget not in outputs._without_output
    assert view.shown
    shown_by(widget, 0)
    assert widget in outputs._without_output
    view.close()
    assert widget not in outputs._without_output


def lose_others(x):
    """So many others lose their outputs that all before are closed."""
    for _ in range(KEPT):
        other = ds.view(x).widget
        shown_by(other, 1)
        shown_by(other, 0)


def test_a_view_is_displayed_again_after_its_widget_was_given_up(x):
    view = ds.view(x)
    first = view.widget
    view.record()
    shown_by(first, 1)
    Page(view).shown()
    shown_by(first, 0)
    lose_others(x)
    assert first.comm is None
    view.update()
    page = Page(view)
    assert page.widget is not first
    page.shown()
    assert page.sent[0][0] == {"type": "recorded", "count": 1}
    assert len(page.frames()) == 1


def test_an_explorer_keeps_the_widget_of_its_picture(x):
    seen = ds.explore(lambda strength=1.0: None, picture=ds.view(x))
    panel, picture = seen.widget, seen.view.widget
    shown_by(panel, 1)
    shown_by(picture, 1)
    shown_by(picture, 0)
    lose_others(x)
    assert picture.comm is not None
    shown_by(panel, 0)
    lose_others(x)
    assert (panel.comm, picture.comm) == (None, None)
    assert seen.widget is not panel
    assert seen.view.widget in seen.widget.children
    seen.set(strength=0.5)
    seen.close()


def test_a_picture_that_stands_alone_too_survives_its_explorer(x):
    view = ds.view(x)
    seen = ds.explore(lambda strength=1.0: None, picture=view)
    panel, picture = seen.widget, view.widget
    shown_by(panel, 1)
    shown_by(picture, 2)
    shown_by(picture, 1)
    shown_by(panel, 0)
    lose_others(x)
    assert panel.comm is None
    assert view.widget is picture
    assert picture.comm is not None


def test_a_display_lives_until_its_optimisation_has_ended(x, monkeypatch):
    monkeypatch.setattr(
        optimization_widget, "_GONE", 1000.0
    )  # an output that is removed stops the work after that
    n, y = ds.field(ds.f64, shape=1, name="n"), ds.field(ds.f64, shape=(), name="y")

    @ds.kernel
    def run():
        y[None] = (n[0] - 1) ** 2

    going, there = threading.Event(), threading.Event()

    def hold(found):
        there.set()
        assert going.wait(60)

    f = ds.objective(run, wrt=n, loss=y)
    made = _with_panel(OptimizationPlan(f, method_named("Adam", {}, False), 2, callback=hold))
    widget = made._progress.widget
    shown_by(widget, 1)
    made.start()
    assert there.wait(60)
    shown_by(widget, 0)
    lose_others(x)
    assert widget.comm is not None
    going.set()
    made.wait()
    made._thread.join()
    assert widget.comm is None
    assert made.status == "finished"


def test_a_view_without_an_output_is_freed(x):
    made = ds.view(np.zeros((3, 2)))
    there = weakref.ref(made)
    shown_by(made.widget, 1)
    shown_by(made.widget, 0)
    del made
    lose_others(x)
    gc.collect()
    assert there() is None
