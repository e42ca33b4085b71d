"""Windows of the dialect's `GUI`: a view that follows the program, and its player."""

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.live.test_views import cells, painter, pixels, stage, wait_for
from tests.browser.server import START_SECONDS

__all__ = ["painter"]

PROGRAM = """\
import dsim as ti
import numpy as np
gui = ti.GUI("<b>window</b>", res=(80, 60), background_color=0x112F41, frames=8)
while gui.running:
    gui.triangle([0.6, 0.5], [0.95, 0.5], [0.95, 0.95], color=0x00FF00)
    gui.line([0.05, 0.1], [0.95, 0.1], radius=2, color=0x0000FF)
    gui.circles([[0.1 + 0.1 * gui.frame, 0.75], [0.9, 0.3]], radius=[5, 3], color=[0xFF0000, 0xFFFF00])
    gui.circle([0.25, 0.4], radius=14, color=0xFF00FF)
    gui.show()"""
IMAGES = """\
gui = ti.GUI("noise", res=(4, 3), frames=2)
for k in range(2):
    image = np.zeros((4, 3, 3))
    image[k, 0] = 1.0, 0.5, 0.0
    gui.set_image(image)
    gui.show()"""
RED, YELLOW, GREEN, BLUE = (255, 0, 0), (255, 255, 0), (0, 255, 0), (0, 0, 255)
PINK, BACK, ORANGE = (255, 0, 255), (0x11, 0x2F, 0x41), (255, 128, 0)


def colour(picture: np.ndarray, x: float, y: float) -> tuple[int, ...]:
    """The colour at a place of the unit square."""
    height, width = picture.shape[:2]
    return tuple(picture[int((1 - y) * height), int(x * width)].tolist())


def near(found: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    return max(abs(a - b) for a, b in zip(found, wanted, strict=True)) < 40


def window(lab, cell=0):
    drawn = stage(lab, cell)
    expect(drawn).to_be_visible(timeout=START_SECONDS * 1000)
    return drawn


def test_all_shapes_are_where_they_belong(lab, painter):
    lab.open(*cells(PROGRAM), kernel=True)
    lab.run_all()
    drawn = window(lab)
    wanted = {
        (0.8, 0.75): RED, (0.9, 0.3): YELLOW, (0.9, 0.6): GREEN, (0.5, 0.1): BLUE, (0.25, 0.4): PINK,
        (0.25, 0.2): PINK, (0.25, 0.12): BLUE, (0.65, 0.9): BACK, (0.5, 0.3): BACK, (0.99, 0.1): BACK,
    }  # fmt: skip
    picture = wait_for(drawn, lambda p: near(colour(p, 0.8, 0.75), RED), "the last frame")
    assert {at: colour(picture, *at) for at, c in wanted.items() if not near(colour(picture, *at), c)} == {}
    expect(drawn).to_have_attribute("data-painter", painter)


def test_a_window_is_played_when_its_program_has_ended(lab):
    lab.open(*cells(PROGRAM, IMAGES), kernel=True)
    lab.run_all()
    drawn = window(lab)
    output = lab.cell(0)
    expect(output.locator(".dsim-view-text")).to_have_text("step 7")
    expect(output.locator(".dsim-view-at")).to_have_text("8 / 8")
    output.get_by_role("slider", name="recorded frame").fill("2")
    expect(output.locator(".dsim-view-text")).to_have_text("step 2")
    assert near(colour(pixels(drawn), 0.3, 0.75), RED)
    assert near(colour(pixels(drawn), 0.8, 0.75), GREEN)
    expect(output.locator(".dsim-view-title")).to_have_text("<b>window</b>")
    expect(output.locator("img")).to_have_count(0)
    images = window(lab, 1)
    picture = wait_for(images, lambda p: near(colour(p, 0.3, 0.1), ORANGE), "the second image")
    assert near(colour(picture, 0.1, 0.1), (0, 0, 0))
    assert near(colour(picture, 0.3, 0.5), (0, 0, 0))


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_how_a_window_looks(lab, theme):
    lab.theme(theme)
    try:
        lab.open(*cells(PROGRAM), kernel=True)
        lab.run_all()
        wait_for(window(lab), lambda p: near(colour(p, 0.8, 0.75), RED), "the last frame")
        lab.shoot(f"window-{theme.split()[1].lower()}")
    finally:
        lab.theme("JupyterLab Light")
