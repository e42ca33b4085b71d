"""Pictures far from the origin, and of tiny and huge worlds, are the same as that of the unit cube."""

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

import dsim as ds
from dsim.live.scene.layers import Arrows, GridLayer, Layer, Lines, Mesh, Points
from tests.browser.live.test_views import NAMELESS, pixels, wait_for
from tests.browser.views import WINDOW

TWO_FRAMES = "() => new Promise(next => requestAnimationFrame(() => requestAnimationFrame(next)))"
# Multiples of a power of two, so that the numbers of all worlds have the same digits.
NUMBERS = np.random.default_rng(0).integers(100, 900, (40, 3)) / 1024
CORNERS = np.arange(39).reshape(-1, 3)
# Where a world begins, and how wide it is.
WORLDS = [(2.0**30, 1.0), (0.0, 2.0**-20), (0.0, 2.0**-200), (0.0, 2.0**200)]


def layers(at: np.ndarray, kind: str) -> list[Layer]:
    """What is drawn in a world."""
    points = Points(name="points", at=at, size=6)
    match kind:
        case "lines":
            return [Lines(name="lines", at=at, size=3)]
        case "mesh":
            return [Mesh(name="mesh", at=at, indices=CORNERS)]
        case "arrows":
            return [points, Arrows(name="away", at=at, vectors=at - at.mean(axis=0), scale=0.2)]
        case "grid":
            return [GridLayer(name="grid", values=np.arange(6.0).reshape(2, 3)), points]
    return [points]


@pytest.fixture
def draw(browser: Browser, tmp_path):
    """Draws a world in a page, and gives its pixels."""
    page = browser.new_page(viewport=WINDOW)
    page.add_init_script(f"({NAMELESS})()")  # else a program draws points, in 64 bits

    def drawn(kind: str, dimensions: int, origin: float, extent: float) -> np.ndarray:
        at = origin + extent * NUMBERS[:, :dimensions]
        view = ds.view(*layers(at, kind), bounds=[(origin, origin + extent)] * dimensions)
        view.save(tmp_path / "page.html")
        page.goto((tmp_path / "page.html").as_uri())
        stage = page.locator(".dsim-view-stage")
        expect(stage).to_have_attribute("data-painter", "webgl")
        page.evaluate(TWO_FRAMES)  # the page draws in the first one, which is shown before the second one
        return pixels(stage)

    yield drawn
    page.close()


@pytest.mark.parametrize(
    ("kind", "dimensions"),
    [(kind, d) for kind in ("points", "lines", "mesh", "arrows") for d in (2, 3)] + [("grid", 2)],
)
def test_a_picture_is_the_same_wherever_its_world_is(draw, kind, dimensions):
    unit = draw(kind, dimensions, 0.0, 1.0)
    assert (unit.min(axis=2) < 150).sum() > 200, "something is drawn"
    for world in WORLDS[: 2 if kind == "arrows" else None]:  # arrows have 32 bits
        other = draw(kind, dimensions, *world)
        assert other.shape == unit.shape
        # Rounding may decide how much of a pixel at an edge is covered.
        assert (abs(other - unit).max(axis=2) > 30).mean() < 1e-3, world


def test_points_on_a_canvas_are_where_they_belong_far_from_the_origin(browser: Browser, tmp_path):
    page = browser.new_page(viewport=WINDOW)
    pictures = []
    for origin in (0.0, 2.0**30):
        at = origin + NUMBERS[:, :2]
        view = ds.view(at, size=6, bounds=[(origin, origin + 1.0)] * 2)
        view.save(tmp_path / "page.html")
        page.goto((tmp_path / "page.html").as_uri())
        stage = page.locator(".dsim-view-stage")
        expect(stage).to_have_attribute("data-painter", "canvas")
        pictures.append(wait_for(stage, lambda p: np.ptp(p) > 100, "points"))
    assert (abs(pictures[0] - pictures[1]).max(axis=2) > 30).mean() < 1e-3
    page.close()
