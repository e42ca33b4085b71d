"""An explorer in a page without a kernel: its picture, its controls as a table, and the curve of losses."""

import base64
import html
import json
import re
import zlib

import numpy as np
import pytest

import dsim as ds
from dsim.live.exploring.controls import ExploreControl
from dsim.live.exploring.explored_run import ExploredRun
from dsim.live.exploring.marks import loss_curve, still_explorer
from dsim.tooling.notebooks import PLAYER
from tests.gui.test_notebook_window import cell
from tests.live.conftest import wired

__all__ = ["cell", "wired"]


def springs():
    x = ds.Vector.field(2, ds.f64, shape=3, needs_grad=True, name="x")
    k = ds.field(ds.f64, shape=(), needs_grad=True, name="<b>k</b>")
    U = ds.field(ds.f64, shape=(), needs_grad=True, name="U")

    @ds.kernel
    def energy():
        for i in x:
            U[None] += 0.5 * k[None] * x[i].norm_sqr()

    x.from_numpy([[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0]])
    k[None] = 1.0
    return ds.explore(energy, wrt=x, loss=U, controls={k: (0, 10, 1)})


@pytest.mark.slow
def test_an_output_is_renewed_by_each_cell_that_runs_it(cell, monkeypatch):
    monkeypatch.setenv("DSIM_PAGES", "200000")
    seen = springs()
    seen._ipython_display_()
    assert list(cell.outputs[0][0][0]) == ["text/plain"]
    cell.end()
    data, metadata = cell.outputs[0][1]
    assert metadata == PLAYER
    assert set(data) == {"text/plain", "text/html", "image/png"}
    assert data["text/html"].count("<iframe") == 1
    assert "<svg" not in data["text/html"], "one run has no curve"
    cell.end()
    assert len(cell.outputs[0]) == 2, "nothing has changed since"
    seen.set(**{"<b>k</b>": 4.0})
    cell.end()
    page = cell.outputs[0][2][0]["text/html"]
    assert '<th scope="row">&lt;b&gt;k&lt;/b&gt;</th><td>4</td><td>0</td><td>10</td>' in page
    assert "∂ 2</td>" in page
    assert "<p>U = 8</p>" in page
    assert "loss over the last 2 runs: from 2 to 8" in page
    assert "<b>" not in page


def test_where_a_kernel_runs_it_is_a_widget(cell):
    with pytest.raises(NotImplementedError):
        springs()._ipython_display_()


def test_a_run_that_has_failed_says_so_and_has_no_numbers():
    control = ExploreControl("a", 1.5, 0.0, 3.0, 0.5)
    page = still_explorer("", [control], ExploredRun(problem="x < 0 & y"), [3.0, 2.0])
    assert "<p>x &lt; 0 &amp; y</p>" in page
    assert re.search(r"<td>1\.5</td><td>0</td><td>3</td><td></td>", page)
    assert "from 3 to 2" in page
    assert still_explorer("", [], ExploredRun(), []) == '<div class="dsim-explorer"></div>'


def heights(curve):
    (places,) = re.findall(r'points="([^"]*)"', curve)
    return [float(place.split(",")[1]) for place in places.split()]


def test_the_curve_of_losses_that_differ_by_rounding_is_flat():
    assert heights(loss_curve([0.0358526, 0.0358526 * (1 + 1e-14)])) == [46.0, 46.0]
    assert heights(loss_curve([2.0, 2.0, 2.0])) == [46.0, 46.0, 46.0]
    assert heights(loss_curve([-3.0, -3.0 - 1e-4, -3.0 + 1e-4])) == [24.0, 46.0, 2.0]
    assert heights(loss_curve([0.0, 1e-12])) == [46.0, 2.0], "small beside what? it is all there is"


def test_the_curve_says_what_it_is():
    curve = loss_curve([4.0, 2.0, 1.0])
    label = "loss over the last 3 runs: from 4 to 1"
    assert f'role="img" aria-label="{label}"' in curve
    assert curve.endswith(f">{label}</div>"), "for those who see it, too"


def test_the_picture_is_that_of_the_last_run_whatever_is_written_later(cell, monkeypatch):
    monkeypatch.setenv("DSIM_PAGES", "200000")
    x = ds.Vector.field(2, ds.f64, shape=2, name="x")

    @ds.kernel
    def move(to: float):
        for i in x:
            x[i] = ds.Vector([to, to])

    def run(to=1.0):
        move(to)

    seen = ds.explore(run, picture=ds.view(x, bounds=[(0, 4), (0, 4)]))
    seen._ipython_display_()
    seen.set(to=2.0)
    x.fill(4.0)
    cell.end()
    page = html.unescape(cell.outputs[0][-1][0]["text/html"].partition('srcdoc="')[2].partition('"')[0])
    recording = json.loads(page.partition('id="dsim-recording">')[2].partition("</script>")[0])
    (frame,) = recording["frames"]
    codes = np.frombuffer(zlib.decompress(base64.b64decode(frame["data"])), np.uint8)
    middle = round((2.0 + 4.0) / 12.0 * 65534)  # of limits that are three times as wide
    assert set(codes[:4] + 256 * codes[4:8].astype(int)) == {middle}
