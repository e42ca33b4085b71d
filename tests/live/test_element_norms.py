"""The norms of all elements of a trajectory in a page without a kernel."""

import base64
import html
import json
import zlib

import numpy as np
import pytest

import dsim as ds
from dsim.live.adjoint.element_norms import element_norms
from dsim.live.scene.encoding import unpacked
from tests.live.conftest import wired

__all__ = ["wired"]
pytestmark = pytest.mark.usefixtures("wired")
STEPS = 30


def decoded(told):
    """Norms of shape (steps, count), by the page's arithmetic."""
    low, high = (
        np.frombuffer(zlib.decompress(base64.b64decode(told["data"])), np.uint8).reshape(2, -1).astype(int)
    )
    codes = (low + 256 * high).reshape(told["steps"], told["count"])
    changes = (codes >> 1) ^ -(codes & 1)
    changes[0] = codes[0]
    levels = np.cumsum(changes, axis=0) % 65536
    with np.errstate(over="ignore"):
        norms = 2.0 ** (told["low"] + (levels - 1) / 65533 * (told["high"] - told["low"]))
    return np.where(levels == 0, 0.0, np.where(levels == 65535, np.nan, norms))


def trajectory(shape=(5, 3), factor=1.3):
    x = ds.Vector.field(2, ds.f64, shape=shape, needs_grad=True, name="x")
    L = ds.field(ds.f64, shape=(), needs_grad=True, name="L")

    @ds.kernel
    def grow():
        for index in ds.grouped(x):
            x[index] *= factor

    @ds.kernel
    def total():
        for index in ds.grouped(x):
            L[None] += x[index].norm_sqr()

    numbers = np.random.default_rng(0).random((*shape, 2))
    numbers.reshape(-1, 2)[0] = 0.0  # whose norm is 0 at each step
    x.from_numpy(numbers)
    with ds.Tape(L) as tape:
        found = tape.trajectory(x)
        for _ in range(STEPS):
            grow()
        total()
    return found


@pytest.mark.parametrize("factor", [1.3, 1e-9, 1e4])
def test_norms_are_those_of_the_trajectory(factor):
    found = trajectory(factor=factor)
    told = element_norms(found)
    norms = decoded(told)
    assert norms.shape == (len(found.steps), 15)
    for element in range(15):
        index = tuple(int(i) for i in np.unravel_index(element, (5, 3)))
        wanted = found.norms_of(index)
        assert norms[:, element] == pytest.approx(wanted, rel=2e-2 if factor == 1e-9 else 1e-2)
        assert ((norms[:, element] == 0) == (wanted == 0)).all()


def test_zeros_and_what_is_not_finite(monkeypatch):
    found = trajectory((4,))
    changed = found.adjoints.copy()
    changed[3, 1] = np.nan, 1.0
    changed[4, 2] = np.inf, 1.0
    changed[5] = 0.0
    changed[6, 3] = 1e300, 1e300  # whose square is not finite
    monkeypatch.setattr(type(found), "adjoints", property(lambda _: changed))
    norms = decoded(element_norms(found))
    assert np.isnan(norms[3, 1])
    assert np.isnan(norms[4, 2])
    assert (norms[5] == 0).all()
    assert norms[6, 3] == pytest.approx(2**0.5 * 1e300, rel=0.05)
    assert np.isfinite(np.delete(norms[3], 1)).all()


def recording(text):
    return json.loads(text.partition('id="dsim-recording">')[2].partition("</script>")[0])


def test_a_page_has_frames_without_a_mark_and_follows_what_was_followed(tmp_path):
    found = trajectory((5,))
    view = ds.adjoint_view(found)
    view.follow(3)
    view.save(tmp_path / "x.html")
    told = recording((tmp_path / "x.html").read_text(encoding="utf-8"))
    elements = told["scene"]["elements"]
    assert (elements["name"], elements["gradient"], elements["shape"]) == ("x", "∂L/∂x", [5])
    assert elements["followed"] == 3
    assert all("x[3]" not in frame["header"]["text"] for frame in told["frames"])
    assert "x[3]" in view.recording.at(0).header["text"], "the view itself has it still"
    marks = [layer["name"] for layer in told["scene"]["layers"]].index("followed")
    frame = view.recording.at(2)
    assert np.isfinite(unpacked(frame.header["layers"][marks]["arrays"]["positions"], frame.data)).all()


def test_norms_that_are_too_large_stay_out_and_the_page_says_so(tmp_path):
    view = ds.adjoint_view(trajectory((400,), factor=1.01))
    with pytest.warns(UserWarning, match="thinned"):
        view.save(tmp_path / "x.html", budget=15_000)
    told = recording((tmp_path / "x.html").read_text(encoding="utf-8"))["scene"]
    assert "elements" not in told
    assert "elements cannot be followed here: there are " in told["chart"]["told"]


@pytest.mark.slow
def test_an_output_of_a_page_has_them_too(monkeypatch):
    monkeypatch.setenv("DSIM_PAGES", "200000")
    view = ds.adjoint_view(trajectory((5,)))
    text = view.bundle(view.png())[0]["text/html"]
    document = html.unescape(text.partition('srcdoc="')[2].partition('"')[0])
    assert recording(document)["scene"]["elements"]["count"] == 5
