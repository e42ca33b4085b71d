"""Very many points: some are drawn, the picture says so, and a click names the right one."""

import numpy as np
import pytest

import dsim as ds
from dsim.diagnostics import DsimError
from dsim.live.files.drawn import figure
from dsim.live.scene.encoding import unpacked
from dsim.live.scene.layers import Arrows
from dsim.live.scene.thinning import MOST, sample
from tests.live.conftest import wired
from tests.live.front_end import Page

__all__ = ["wired"]
N = 1000


@pytest.fixture
def points():
    at = np.random.default_rng(1).random((N, 2))
    at[0], at[-1] = 0.0, 1.0
    return at


def arrays(frame, layer=0):
    told = frame.header["layers"][layer]["arrays"]
    return {name: unpacked(each, frame.data) for name, each in told.items()}


def test_all_are_drawn_up_to_the_limit(points):
    frame = ds.view(points, most=N)._frame()
    assert arrays(frame)["positions"].shape == (N, 2)
    assert "note" not in frame.header
    assert "of" not in frame.header["layers"][0]
    assert sample(MOST, MOST) is None
    assert len(sample(10**6, MOST)) == MOST


def test_some_of_more_are_drawn_with_their_colours_and_arrows(points):
    view = ds.view(points, color=points[:, 0], arrows=points[:, ::-1], most=100)
    frames = [view._frame(), view._frame()]
    assert frames[0].data == frames[1].data, "always the same ones"
    chosen = sample(N, 100)
    assert len(set(np.diff(chosen))) > 5, "no regular pattern"
    for layer in (0, 1):
        assert arrays(frames[0], layer)["positions"] == pytest.approx(points[chosen], abs=1e-3)
        assert frames[0].header["layers"][layer]["of"] == N
    assert arrays(frames[0])["values"] == pytest.approx(points[chosen, 0], abs=0.01)
    vectors = arrays(frames[0], 1)["vectors"]
    assert vectors[:, 0] * points[chosen, 0] == pytest.approx(vectors[:, 1] * points[chosen, 1], abs=1e-6)
    note = "100 of 1,000 points of points, chosen at random · 100 of 1,000 arrows of arrows, chosen at random"
    assert frames[0].header["note"] == note
    assert note in figure(view.scene.json(), frames[0]).get_suptitle().replace("\n", " ")


def test_layers_have_a_limit_of_their_own(points):
    view = ds.view(points, Arrows(name="wind", at=points, vectors=points, most=10))
    assert [arrays(view._frame(), layer)["positions"].shape[0] for layer in (0, 1)] == [N, 10]


@pytest.mark.usefixtures("wired")
def test_a_click_names_the_number_in_the_field(points):
    view = ds.view(points, most=100)
    heard = []
    view.on("pick", heard.append)
    page = Page(view)
    page.shown()
    assert page.frames()[-1][0]["note"].startswith("100 of 1,000 points")
    page.says(type="pick", layer=0, index=7)
    assert heard[-1]["index"] == sample(N, 100)[7]
    page.says(type="pick", layer=5, index=7)
    assert heard[-1]["index"] == 7


def test_a_count_that_changes():
    some = [np.zeros((50, 2))]
    view = ds.view(lambda: some[0], bounds=[(0, 1), (0, 1)], most=100)
    assert "note" not in view._frame().header
    some[0] = np.zeros((200, 2))
    assert arrays(view._frame())["positions"].shape == (100, 2)
    some[0] = np.zeros((60, 2))
    assert "note" not in view._frame().header


REFUSED = {
    "`most` is a number of points, not 0": lambda at: ds.view(at, most=0),
    "`most` is a number of points, not 1.5": lambda at: ds.view(at, most=1.5),
    "`most` means nothing for a grid": lambda at: ds.view(at, kind="grid", most=10),
    "`most` means nothing for lines": lambda at: ds.view(at, kind="lines", most=10),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_what_cannot_be_thinned(wrong, points):
    with pytest.raises(DsimError) as refusal:
        REFUSED[wrong](points)
    assert wrong in str(refusal.value)
