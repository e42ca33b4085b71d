"""Pages of `dsim run`: views and windows play from the file, without a kernel and without a network."""

import io
import os
import re
import subprocess
import sys

import nbformat
import numpy as np
import pytest
from nbformat import v4
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import SCREENSHOTS, Watch
from tests.browser.server import CHECKOUT

VIEW = """\
import numpy as np
import dsim as ds
at = np.zeros((1, 2))
looks = {"color": lambda: [1.0], "colormap": "spring_r", "limits": (0, 1), "size": 40}
dot = ds.view(lambda: at, **looks, bounds=[(0, 2), (0, 1)], title="<b>dot</b>")
dot"""
RECORD = """\
for k in range(5):
    at[0] = 0.2 + 0.4 * k, 0.5
    dot.record()"""
WINDOW = """\
gui = ds.GUI("window", res=(40, 20), background_color=0x112F41, frames=5)
while gui.running:
    gui.circle([0.1 + 0.2 * gui.frame, 0.5], color=0xFF00FF, radius=1.5)
    gui.text("score", [0.1, 0.9], font_size=4) if gui.frame == 4 else None
    gui.show()"""

EXPLORER = """\
x = ds.Vector.field(2, ds.f64, shape=3, needs_grad=True, name="x")
k, U = (ds.field(ds.f64, shape=(), needs_grad=True, name=name) for name in "kU")
@ds.kernel
def energy():
    for i in x:
        U[None] += 0.5 * k[None] * x[i].norm_sqr()
x.from_numpy(np.array([[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0]]))
k[None] = 1.0
seen = ds.explore(energy, wrt=x, loss=U, controls={k: (0, 10, 1)})
seen"""
SET = "seen.set(k=3)"
OPTIMIZE = """\
found = ds.optimize(energy, wrt=x, loss=U, steps=9)
found.wait()"""
TITLE = "the adjoints of nine numbers, each of which is smaller after each of the calls, " * 3
TRAJECTORY = f"""\
x = ds.field(ds.f64, shape=9, needs_grad=True)
y = ds.field(ds.f64, shape=(), needs_grad=True)
x.fill(1.0)
@ds.kernel
def smaller():
    for i in x: x[i] *= 0.9
@ds.kernel
def total():
    for i in x: y[None] += x[i]
with ds.Tape(y) as tape:
    found = tape.trajectory(x)
    for _ in range(5): smaller()
    total()
ds.adjoint_view(found, title={TITLE!r})"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    sources = VIEW, RECORD, WINDOW, TRAJECTORY, EXPLORER, SET, OPTIMIZE
    cells = [v4.new_code_cell(source) for source in sources]
    nbformat.write(v4.new_notebook(cells=cells), folder / "played.ipynb")
    command = [sys.executable, "-m", "dsim", "run", "played.ipynb", "--output", "."]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return folder / "played.html"


@pytest.fixture
def page(browser: Browser, file):
    """The page, opened without a network by a person whose system is dark."""
    context = browser.new_context(viewport={"width": 900, "height": 1000}, offline=True, color_scheme="dark")
    opened = context.new_page()
    opened.watch = Watch(opened)
    opened.goto(file.as_uri())
    yield opened
    assert [
        url for url in opened.watch.asked if not url.startswith(("file:", "blob:", "data:", "about:"))
    ] == []
    assert [text for text in opened.watch.said if "GL Driver Message" not in text] == []
    context.close()


def dot(frame, page: Page) -> float | None:
    """Where the dot is, as a fraction of the width of the picture."""
    stage = frame.locator(".dsim-view-stage")
    with Image.open(io.BytesIO(stage.screenshot())) as picture:
        pixels = np.asarray(picture.convert("RGB")).astype(int)
    columns = np.nonzero((pixels[..., 0] > 200) & (pixels[..., 1] < 60) & (pixels[..., 2] > 200))[1]
    return float(columns.mean()) / pixels.shape[1] if columns.size else None


@pytest.mark.parametrize("index", [0, 1], ids=["view", "window"])
def test_it_plays_and_seeks(page, index):
    frame = page.frame_locator("iframe").nth(index)
    text, slider = frame.locator(".dsim-view-text"), frame.get_by_role("slider", name="recorded frame")
    page.locator("iframe").nth(index).scroll_into_view_if_needed()
    expect(text).to_have_text("step 4")
    assert dot(frame, page) == pytest.approx(0.9, abs=0.02)
    for k in (0, 3, 1):
        slider.fill(str(k))
        expect(text).to_have_text(f"step {k}")
        assert dot(frame, page) == pytest.approx(0.1 + 0.2 * k, abs=0.02)
    frame.locator(".dsim-view-stage").press("End")
    expect(text).to_have_text("step 4")


def test_all_of_a_player_is_in_sight_and_light_as_the_page_is(page):
    for index in (0, 1):
        place = page.locator("iframe").nth(index)
        place.scroll_into_view_if_needed()
        frame = page.frame_locator("iframe").nth(index)
        expect(frame.locator(".dsim-view-text")).to_have_text("step 4")
        box, bar = place.bounding_box(), frame.locator(".dsim-view-player").bounding_box()
        assert bar["y"] + bar["height"] <= box["y"] + box["height"]
        ink = frame.locator(".dsim-view-text").evaluate("e => getComputedStyle(e).color")
        assert max(int(part) for part in ink.removeprefix("rgb(").removesuffix(")").split(",")) < 60
    expect(page.frame_locator("iframe").first.locator(".dsim-view-title")).to_have_text("<b>dot</b>")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "run-page.png", full_page=True)


@pytest.mark.parametrize("width", [1000, 500, 420])
def test_nothing_of_a_player_is_cut_off(page, width):
    """Neither a long title nor the chart of a trajectory: the frame is as high as what it has."""
    page.set_viewport_size({"width": width, "height": 1000})
    for index in (0, 1, 2):
        page.locator("iframe").nth(index).scroll_into_view_if_needed()
        frame = page.frame_locator("iframe").nth(index)
        expect(frame.locator(".dsim-view-text")).not_to_be_empty()
        high, seen = frame.locator("html").evaluate("e => [e.scrollHeight, e.clientHeight]")
        assert high <= seen
    title = frame.locator(".dsim-view-title")
    assert title.get_attribute("title") == TITLE
    assert title.evaluate("e => getComputedStyle(e).textOverflow") == "ellipsis"
    assert title.bounding_box()["height"] < 30
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"run-page-{width}.png", full_page=True)


def test_an_explorer_has_its_last_run_its_controls_and_its_losses(page):
    explorer = page.locator(".dsim-explorer")
    row = explorer.get_by_role("row", name="k").last
    expect(row).to_have_text(re.compile(r"^k\s*3\s*0\s*10\s*∂ 2$"))
    expect(explorer.get_by_role("img", name="loss over the last 2 runs: from 2 to 6")).to_be_visible()
    stage = explorer.frame_locator("iframe").locator(".dsim-view-stage")
    explorer.scroll_into_view_if_needed()
    expect(stage).to_be_visible()
    expect(explorer.frame_locator("iframe").locator(".dsim-view-text")).to_contain_text("U = 6")
    page.screenshot(path=SCREENSHOTS / "page-explorer.png")


def test_an_optimisation_has_its_curves_and_the_best_parameters(page):
    optimized = page.locator(".dsim-optimize")
    optimized.scroll_into_view_if_needed()
    expect(optimized).to_contain_text("finished")
    expect(optimized.get_by_role("row", name="x").last).to_contain_text("(3, 2)")
    expect(optimized.get_by_role("img").first).to_be_visible()
    page.screenshot(path=SCREENSHOTS / "page-optimize.png")
