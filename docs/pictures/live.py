"""Records `explore.gif` and `view.png` in JupyterLab: what a person does in its pictures.

Run it from the repository's root, in the environment of `make setup`: ``python -m docs.pictures.live``.
"""

from __future__ import annotations

import io
import math
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from nbformat import v4
from numpy.typing import ArrayLike
from PIL import Image
from playwright.sync_api import Locator, Page, expect, sync_playwright

from tests.browser import chromium
from tests.browser.server import START_SECONDS, TOKEN, serve
from tests.browser.views import Lab

FOLDER = Path(__file__).parent
WINDOW = {"width": 760, "height": 960}
PLACES = [[0.2, 0.25], [0.75, 0.2], [0.5, 0.55], [0.25, 0.8], [0.85, 0.7]]
SETUP = f"""\
import dsim as ds
ds.init(default_fp=ds.f64)

x = ds.Vector.field(2, ds.f64, shape={len(PLACES)}, needs_grad=True, name="x")
strength = ds.field(ds.f64, shape=(), needs_grad=True, name="strength")
U = ds.field(ds.f64, shape=(), needs_grad=True, name="U")
x.from_numpy({PLACES})
strength[None] = 1.0"""
EXPLORE = """\
@ds.kernel
def energy():
    for i, j in ds.ndrange(x.shape[0], x.shape[0]):
        U[None] -= strength[None] / (x[i] - x[j]).norm(0.02)

ds.explore(energy, wrt=x, loss=U, controls={strength: (0, 2)})"""
VIEW = """\
n = 6000
p = ds.Vector.field(2, ds.f32, shape=n, name="p")
speed = ds.field(ds.f32, shape=n, name="speed")
centres = ds.Vector.field(2, ds.f32, shape=3)
centres.from_numpy([[0.4, 0.4], [0.6, 0.4], [0.5, 0.6]])

@ds.kernel
def scatter():
    for i in p:
        p[i] = [ds.random(), ds.random()]

@ds.kernel
def swirl(dt: float):
    for i in p:
        v = ds.Vector([0.0, 0.0])
        for k in range(3):
            r = p[i] - centres[k]
            v += 0.05 * ds.Vector([-r.y, r.x]) / (r.norm_sqr() + 0.003)
        p[i] += dt * v
        speed[i] = v.norm()

scatter()
view = ds.view(p, color=speed, limits=(0, 0.8), size=3, bounds=[(0, 1), (0, 1)], title="three vortices")
for step in range(120):
    swirl(0.02)
    view.record()
view"""
RATE, COLOURS, WIDTH = 15, 96, 640  # of the recording


def place_in(stage: Locator, at: ArrayLike) -> tuple[float, float]:
    """The pixels of a point of the picture, which has a margin of a twentieth around all points."""
    low, high = np.min(PLACES, axis=0), np.max(PLACES, axis=0)
    margin = 0.05 * (high - low).max()
    across, upwards = (np.array(at) - low + margin) / (high - low + 2 * margin)
    box = stage.bounding_box()
    assert box is not None
    return box["x"] + across * box["width"], box["y"] + (1 - upwards) * box["height"]


class Recording:
    """Screenshots of a part of a page."""

    def __init__(self, page: Page, part: Locator) -> None:
        self.page, self.part = page, part
        self.frames: list[Image.Image] = []

    def take(self) -> None:
        """One frame, when the page has drawn what was done."""
        self.page.wait_for_timeout(150)
        picture = Image.open(io.BytesIO(self.part.screenshot())).convert("RGB")
        self.frames.append(
            picture.resize((WIDTH, picture.height * WIDTH // picture.width), Image.Resampling.LANCZOS)
        )

    def save(self, path: Path) -> None:
        """All frames as a GIF with one palette."""
        palette = self.frames[len(self.frames) // 2].quantize(COLOURS)
        first, *rest = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in self.frames)
        first.save(path, save_all=True, append_images=rest, duration=1000 / RATE, loop=0, optimize=True)


def record_explorer(lab: Lab) -> None:
    """A body is dragged around its neighbour, and a slider moved."""
    page, output = lab.page, lab.cell(1).locator(".jp-OutputArea").first
    stage = output.locator(".dsim-view-stage")
    expect(stage).to_be_visible()
    output.scroll_into_view_if_needed()
    recording = Recording(page, output)
    begin, middle = np.array(PLACES[1]), np.array(PLACES[2])
    page.mouse.move(*place_in(stage, PLACES[1]))
    page.mouse.down()
    for k in range(45):
        near = math.sin(math.pi * k / 44) ** 2
        turn = 2 * math.pi * k / 44 - 1
        orbit = 0.14 * np.array([math.cos(turn), math.sin(turn)])
        at = middle + (1 - near) * (begin - middle) + near * orbit
        page.mouse.move(*place_in(stage, at))
        recording.take()
    page.mouse.up()
    slider = output.get_by_role("slider").first
    slider.focus()
    for _ in range(15):
        for _ in range(3):
            slider.press("ArrowRight")
        recording.take()
    recording.save(FOLDER / "explore.gif")


def record_player(lab: Lab) -> None:
    """A recording, in the middle."""
    cell = lab.cell(2)
    cell.locator(".dsim-view-stage").scroll_into_view_if_needed()
    cell.get_by_role("slider", name="recorded frame").fill("70")
    expect(cell.locator(".dsim-view-text")).to_have_text("step 70")
    lab.page.wait_for_timeout(300)
    cell.locator(".jp-OutputArea").first.screenshot(path=FOLDER / "view.png")


def main() -> None:
    """All pictures."""
    with (
        TemporaryDirectory() as notebooks,
        TemporaryDirectory() as home,
        sync_playwright() as playwright,
        serve(Path(notebooks), Path(home)) as address,
    ):
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=chromium.FLAGS)
        page = browser.new_page(viewport=WINDOW)
        page.goto(f"{address}/lab?token={TOKEN}&reset")
        page.wait_for_function("window.jupyterapp?.restored", timeout=START_SECONDS * 1000)
        page.evaluate("window.jupyterapp.restored.then(() => null)")
        lab = Lab(page, Path(notebooks), FOLDER)
        lab.command("application:toggle-left-area")
        lab.open(*(v4.new_code_cell(source) for source in (SETUP, EXPLORE, VIEW)), kernel=True)
        lab.run_all()
        record_explorer(lab)
        record_player(lab)
        browser.close()


if __name__ == "__main__":
    main()
