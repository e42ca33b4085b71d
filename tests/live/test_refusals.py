"""What `ds.view` and `ds.explore` refuse quotes the person's line, and says what to do."""

import asyncio

import numpy as np
import pytest

import dsim as ds
from dsim.live.shown import page_budget
from tests.refused import refused


@pytest.fixture
def x(wired):
    return ds.Vector.field(2, ds.f64, shape=4, name="x", needs_grad=True)


def solid():
    return np.zeros((2, 3, 4))


VIEWS = {
    "an option": (lambda x: ds.view(x, kind="dots"), "`kind` is one of points"),
    "a shape": (lambda x: ds.view(solid(), kind="grid"), "an array with two axes, not one of shape"),
    "no cells": (lambda x: ds.view(np.zeros((0, 3)), kind="grid"), "has no cells"),
    "text": (lambda x: ds.view(np.array(["a"])), "takes real numbers"),
    "corners": (lambda x: ds.view(x, kind="lines", indices=[0.5]), "are 2 whole numbers each"),
    "a corner": (lambda x: ds.view(x, kind="lines", indices=[[0, 4]]), "name the position 4: there are 4"),
    "a map": (lambda x: ds.view(solid()[0], colormap="viridi"), "there is no colour map 'viridi'"),
    "a colour": (lambda x: ds.view(x, color="redd"), "there is no colour 'redd'"),
    "a budget": (lambda x: ds.view(x, budget=-1), "`budget` is a number of bytes"),
    "a name": (lambda x: ds.view(x).save("a.xyz"), "a view is saved as"),
    "a number as a name": (lambda x: ds.view(x).save(3), "a view is saved as a file with a name, not 3"),
    "a budget of a page": (lambda x: ds.view(x).save("a.html", budget="a"), "`budget` is a number of bytes"),
    "no recording": (lambda x: ds.view(x).save("a.gif"), "there is no recording for a video"),
    "too much": (lambda x: ds.view(x, budget=1).record(), "the recording of 0 frames"),
    "a title": (lambda x: ds.view(x, title=3), "`title` is a text, not 3"),
    "a step": (lambda x: ds.view(x).record(step="first"), "`step` is a number, not 'first'"),
    "no step": (lambda x: ds.view(x).update(step=np.nan), "`step` is a number, not nan"),
    "no text": (lambda x: ds.view(x).record(text=0.5), "`text` is a text, not 0.5"),
    "nothing held": (lambda x: ds.view(x).hold(0.5), "`text` is a text, not 0.5"),
    "an event": (lambda x: ds.view(x).on("click", print), "a view hears of drag"),
    "no trajectory": (lambda x: ds.adjoint_view(x, title="x"), "`adjoint_view` takes a trajectory"),
}


@pytest.mark.parametrize("what", VIEWS)
def test_a_view_that_cannot_be(x, what):
    act, message = VIEWS[what]
    refused(lambda: act(x), message, __file__)


def test_a_closed_view_has_no_recording(x, tmp_path):
    picture = ds.view(x)
    picture.record(0)
    picture.close()
    refused(lambda: picture.save(tmp_path / "a.gif"), "this view was closed", __file__)
    refused(lambda: picture.save(tmp_path / "a.png"), "this view was closed", __file__)
    refused(lambda: picture.record(1), "this view was closed", __file__)
    picture.update()  # of a program that goes on
    assert len(picture.recording) == 0
    assert not list(tmp_path.iterdir())


@pytest.fixture
def spring():
    made = ds.field(ds.f64, shape=(), name="k", needs_grad=True)
    U = ds.field(ds.f64, shape=(), name="U", needs_grad=True)

    @ds.kernel
    def energy():
        U[None] += made[None] ** 2

    return made, U, energy


def lost(a): ...


EXPLORERS = {
    "no run": (lambda k, U, run: ds.explore(3), "`run` is a kernel or a function"),
    "no number": (lambda k, U, run: ds.explore(lost), "`a` of `lost` has no number to begin with"),
    "a text": (lambda k, U, run: ds.explore(lambda a="b": 0, controls={"a": (0, 1)}), "is no number"),
    "ends": (lambda k, U, run: ds.explore(run, controls={k: (1, 0)}), "a lower and a higher number"),
    "one end": (lambda k, U, run: ds.explore(run, controls={k: 3}), "are two numbers, not 3"),
    "a picture": (lambda k, U, run: ds.explore(run, loss=U, picture=3), "`picture=` is a view, not int"),
    "no reset": (
        lambda k, U, run: ds.explore(run, loss=U, reset=3),
        "a function without parameters, got int",
    ),
    "a step": (lambda k, U, run: ds.explore(run, controls={k: (0, 1, 0)}), "is a number above 0"),
    "controls": (lambda k, U, run: ds.explore(run, controls=3), "`controls` takes ends"),
    "wrt": (lambda k, U, run: ds.explore(run, wrt=3), "`wrt` takes fields, not int"),
    "loss in wrt": (lambda k, U, run: ds.explore(run, [k, U], U), "`U` is the loss.*in `wrt=`"),
    "loss as wrt": (lambda k, U, run: ds.explore(run, U, U), "`U` is the loss.*in `wrt=`"),
    "loss moved": (lambda k, U, run: ds.explore(run, loss=U, controls=[U]), "in `controls=`"),
    "unknown": (lambda k, U, run: ds.explore(run, loss=U).set(q=1), "there is no control 'q'"),
    "outside": (lambda k, U, run: ds.explore(run, controls={k: (0, 1)}).set(k=2), "and 2 is outside"),
    "a fraction": (lambda k, U, run: ds.explore(lambda n=2: 0).set(n=2.5), "takes integers, not 2.5"),
}


@pytest.mark.parametrize("what", EXPLORERS)
def test_an_explorer_that_cannot_be(spring, wired, what):
    act, message = EXPLORERS[what]
    refused(lambda: act(*spring), message, __file__)


def test_where_no_line_of_a_person_runs_none_is_quoted(monkeypatch):
    """A front end may ask for an output between two cells."""
    monkeypatch.setenv("DSIM_PAGES", "much")

    async def between_cells():
        failed = asyncio.get_running_loop().create_future()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, told: failed.set_result(told["exception"]))
        loop.call_soon(page_budget)
        return await failed

    assert "DSIM_PAGES is a number of bytes, not 'much'" in str(asyncio.run(between_cells()))
