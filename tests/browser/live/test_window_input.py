"""Keys and the pointer in a window of the dialect's `GUI`, while the program runs."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.live.test_views import cells, wait_for
from tests.browser.live.test_windows import BLUE, GREEN, RED, colour, near, window
from tests.browser.server import START_SECONDS

PROGRAM = """\
import dsim as ti
gui = ti.GUI("input", res=(200, 100), frames=float("inf"))
size = gui.slider("size", 5, 30)
size.value = 20
seen = []
while gui.running:
    for e in gui.get_events():
        if e.type != ti.GUI.MOTION or e.key == ti.GUI.WHEEL:
            seen.append((e.type, e.key))
    shade = 0xFF0000
    if gui.is_pressed(ti.GUI.SPACE, ti.GUI.LEFT):
        shade = 0x00FF00
    if gui.is_pressed(ti.GUI.RMB):
        shade = 0x0000FF
    gui.circle(gui.get_cursor_pos(), radius=size.value, color=shade)
    gui.show()
print("frames:", gui.frame > 50, "events:", seen)"""


def at(drawn, x: float, y: float) -> dict[str, float]:
    """A place of the unit square in a picture."""
    box = drawn.bounding_box()
    return {"x": box["width"] * x, "y": box["height"] * (1 - y)}


def place(drawn, x: float, y: float) -> tuple[float, float]:
    """The same in the page."""
    box = drawn.bounding_box()
    return box["x"] + box["width"] * x, box["y"] + box["height"] * (1 - y)


def shows(drawn, x: float, y: float, wanted: tuple[int, ...], what: str) -> None:
    wait_for(drawn, lambda p: near(colour(p, x, y), wanted), what)


@pytest.fixture
def begun(lab):
    """A program that listens, in JupyterLab, and its picture."""
    lab.open(*cells(PROGRAM), kernel=True)
    lab.start_all()
    drawn = window(lab)
    expect(lab.cell(0).locator(".dsim-view-close")).to_be_visible(timeout=START_SECONDS * 1000)
    return lab, drawn


def test_a_program_follows_the_pointer_and_the_keys_while_it_runs(begun):
    lab, drawn = begun
    here, mouse, keys = lab.cell(0), lab.page.mouse, lab.page.keyboard
    drawn.scroll_into_view_if_needed()
    mouse.move(*place(drawn, 0.25, 0.75))
    shows(drawn, 0.25, 0.75, RED, "a disc at the pointer")
    mouse.move(*place(drawn, 0.75, 0.25))
    shows(drawn, 0.75, 0.25, RED, "a disc that follows")
    drawn.click(position=at(drawn, 0.5, 0.5))
    expect(here.locator(".dsim-view-input")).to_contain_text("the program has the keyboard")
    expect(drawn).to_have_attribute("role", "application")
    keys.down("Space")
    shows(drawn, 0.5, 0.5, GREEN, "green while the key is down")
    lab.shoot("window-input")
    keys.up("Space")
    shows(drawn, 0.5, 0.5, RED, "red again")
    mouse.down(button="right")
    shows(drawn, 0.5, 0.5, BLUE, "blue while the button is down")
    mouse.up(button="right")
    shows(drawn, 0.5, 0.5, RED, "red again")
    mouse.wheel(0, -120)
    # Who leaves the picture with a key held lets go of it, and keys elsewhere are not the program's.
    keys.down("ArrowLeft")
    shows(drawn, 0.5, 0.5, GREEN, "green by another key")
    here.locator(".dsim-view-close").focus()
    shows(drawn, 0.5, 0.5, RED, "the key let go")
    keys.press("q")
    expect(here.locator(".dsim-view-input")).to_contain_text("click the picture")
    here.locator(".dsim-view-close").click()
    printed = here.locator(".jp-OutputArea-output", has_text="frames: True")
    expect(printed).to_be_visible(timeout=START_SECONDS * 1000)
    seen = re.findall(r"\('(\w+)', '([\w ]+)'\)", printed.inner_text())
    assert seen == [
        ("Press", "LMB"), ("Release", "LMB"), ("Press", " "), ("Release", " "), ("Press", "RMB"),
        ("Release", "RMB"), ("Motion", "Wheel"), ("Press", "Left"), ("Release", "Left"),
    ]  # fmt: skip
    # The player has the keys again.
    expect(here.locator(".dsim-view-input")).to_be_hidden()
    expect(drawn).to_have_attribute("role", "img")
    drawn.press("Home")
    expect(here.locator(".dsim-view-text")).to_have_text("step 0")


def test_a_slider_of_a_window_moves_while_the_program_runs(begun):
    lab, drawn = begun
    lab.page.mouse.move(*place(drawn, 0.5, 0.5))
    shows(drawn, 0.57, 0.5, RED, "a large disc")
    lab.cell(0).locator(".noUi-handle").first.focus()
    for _ in range(15):
        lab.page.keyboard.press("ArrowLeft")
    shows(drawn, 0.57, 0.5, (0, 0, 0), "a small disc")
    shows(drawn, 0.51, 0.5, RED, "a small disc")
    lab.cell(0).locator(".dsim-view-close").click()
    expect(lab.cell(0).locator(".jp-InputPrompt")).to_have_text("[1]:", timeout=START_SECONDS * 1000)
