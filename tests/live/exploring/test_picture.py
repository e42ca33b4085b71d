"""The picture that `ds.explore` makes: all of it is within its frame."""

import numpy as np
import pytest

import dsim as ds
from dsim.live.scene.encoding import Packer, codes_of

POSITIONS = {
    "square": [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]],
    "line": [[0.0, 5.0], [2.0, 5.0], [7.0, 5.0]],
    "one": [[3.0, 4.0]],
    "none finite": [[np.nan, 1.0], [0.0, 2.0], [np.inf, 3.0]],
    "box": [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]],
}


def pushed(at, push=1.0):
    """An explorer of bodies that are pushed apart, along x by so much."""
    ds.init(default_fp=ds.f64)
    at = np.array(at)
    x = ds.Vector.field(at.shape[1], ds.f64, shape=len(at), needs_grad=True, name="x")
    U = ds.field(ds.f64, shape=(), needs_grad=True, name="U")
    middle = ds.Vector(np.nanmean(np.where(np.isfinite(at), at, np.nan), axis=0) - 1e-3)

    @ds.kernel
    def move():
        for i in x:
            x[i][0] += push

    @ds.kernel
    def apart():
        for i in x:
            U[None] -= (x[i] - middle).norm_sqr()

    def run():
        apart()
        if push:
            move()

    x.from_numpy(at)
    return ds.explore(run, wrt=x, loss=U)


def tips(view):
    """The ends of its arrows, as a page draws them."""
    arrows = next(layer for layer in view.scene.layers if layer.kind == "arrows")
    packer = Packer()
    told = arrows.arrays(packer, view.scene.bounds)["vectors"]
    vectors = codes_of(told, packer.buffer())
    assert np.nanmax(np.linalg.norm(vectors, axis=1)) > 0
    return arrows.at() + vectors


@pytest.mark.parametrize("push", [0.0, 30.0])
@pytest.mark.parametrize("name", POSITIONS)
def test_arrows_end_within_the_frame(name, push):
    view = pushed(POSITIONS[name], push).view
    low, high = np.array(view.scene.bounds).T
    ends = tips(view)
    ends = ends[np.isfinite(ends).all(axis=1)]
    assert len(ends)
    assert (low < ends).all()
    assert (ends < high).all()


def test_a_picture_without_arrows_has_no_room_for_them():
    ds.init(default_fp=ds.f64)
    x = ds.Vector.field(2, ds.f64, shape=2, name="x")
    x.from_numpy(np.array([[0.0, 0.0], [1.0, 1.0]]))
    seen = ds.explore(lambda: None, wrt=x)
    assert seen.view.scene.bounds == [[-0.05, 1.05], [-0.05, 1.05]]
