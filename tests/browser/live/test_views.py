"""Views of fields: what they draw, while a cell runs and afterwards."""

import io
import re

import numpy as np
import pytest
from nbformat import v4
from PIL import Image
from playwright.sync_api import expect

from tests.browser.server import START_SECONDS

SETUP = """\
import dsim as ds
import numpy as np
import time
N = 2000
x = ds.Vector.field(2, ds.f32, shape=N, name="x")
angles = np.linspace(0, 2 * np.pi, N, endpoint=False)
circle = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
x.from_numpy(circle)
view = ds.view(x, bounds=[(-1.2, 1.2)] * 2, color="#d02020",
    title="<img src=x onerror='document.title = 1'>")"""


def cells(*sources: str) -> list:
    return [v4.new_code_cell(source) for source in sources]


def stage(view, cell=-1):
    return view.page.locator(".jp-Notebook:visible .jp-Cell").nth(cell).locator(".dsim-view-stage")


def pixels(drawn) -> np.ndarray:
    """What a picture shows, without its edge."""
    drawn.scroll_into_view_if_needed()
    return np.asarray(Image.open(io.BytesIO(drawn.screenshot())).convert("RGB")).astype(int)[2:-2, 2:-2]


def red(picture: np.ndarray) -> np.ndarray:
    return (picture[..., 0] > 150) & (picture[..., 1] < 110) & (picture[..., 2] < 110)


def wait_for(drawn, wanted, what: str) -> np.ndarray:
    """The picture, as soon as it is what is wanted."""
    for _ in range(100):
        picture = pixels(drawn)
        if wanted(picture):
            return picture
        drawn.page.wait_for_timeout(100)
    pytest.fail(f"the picture never showed {what}")


def on_the_circle(picture: np.ndarray) -> bool:
    y, x = np.nonzero(red(picture))
    if not len(y):
        return False
    height, width = picture.shape[:2]
    radius = np.hypot(x - width / 2, y - height / 2) / (height / 2.4)
    return bool(np.all(abs(radius - 1) < 0.05)) and len(y) > 1000


# A device whose name a page cannot ask for is not known to be a program.
NAMELESS = """() => {
    const { getExtension } = WebGL2RenderingContext.prototype;
    window.named = () => { WebGL2RenderingContext.prototype.getExtension = getExtension; };
    WebGL2RenderingContext.prototype.getExtension = function (name) {
        return name === 'WEBGL_debug_renderer_info' ? null : getExtension.call(this, name);
    };
}"""


FLAT = """() => {
    const { getContext } = HTMLCanvasElement.prototype;
    window.restored = () => { HTMLCanvasElement.prototype.getContext = getContext; };
    HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
        return kind === 'webgl2' ? null : getContext.call(this, kind, ...rest);
    };
}"""


@pytest.fixture(params=["webgl", "canvas"])
def painter(request, lab):
    """The painter that the browser allows."""
    lab.page.evaluate(NAMELESS if request.param == "webgl" else FLAT)
    yield request.param
    lab.page.evaluate("window.named()" if request.param == "webgl" else "window.restored()")


def test_points_appear_whoever_paints_them_and_text_is_text(lab, painter):
    lab.open(*cells(SETUP, "view"), kernel=True)
    lab.run_all()
    drawn = stage(lab)
    wait_for(drawn, on_the_circle, "a circle")
    expect(drawn).to_have_attribute("data-painter", painter)
    here = lab.cell(1)
    expect(here.locator(".dsim-view-title")).to_have_text("<img src=x onerror='document.title = 1'>")
    expect(here.locator(".dsim-view img")).to_have_count(0)
    expect(here.get_by_role("img", name="2,000 points of x")).to_be_visible()
    lab.shoot(f"view-points-{painter}")


def test_in_place_of_a_device_that_is_a_program_the_page_draws_the_same_discs(lab):
    pictures = []
    for nameless in (False, True):
        if nameless:
            lab.page.evaluate(NAMELESS)
        lab.open(*cells(SETUP, "view"), kernel=True)
        lab.run_all()
        pictures.append(wait_for(stage(lab), on_the_circle, "a circle"))
        expect(stage(lab)).to_have_attribute("data-painter", "webgl" if nameless else "canvas")
    lab.page.evaluate("window.named()")
    page, device = pictures
    assert page.shape == device.shape
    assert (abs(page - device).max(axis=2) > 60).mean() < 0.01
    assert abs(red(page).sum() / red(device).sum() - 1) < 0.1


LOOP = """\
for step in range(400):
    x.from_numpy(circle * np.float32(0.4))
    view.update(step, text="shrunk")
    time.sleep(0.05)
print("the end")"""


def test_a_picture_moves_while_its_loop_runs(lab):
    lab.open(*cells(SETUP, "view", LOOP), kernel=True)
    lab.start_all()
    drawn = stage(lab, 1)
    text = lab.cell(1).locator(".dsim-view-text")
    expect(text).to_have_text(re.compile(r"step \d\d+ · shrunk"), timeout=START_SECONDS * 1000)
    wait_for(drawn, lambda p: red(p).any() and not on_the_circle(p), "a smaller circle")
    expect(lab.cell(2).locator(".jp-OutputArea-output")).to_have_count(0)
    lab.command("notebook:interrupt-kernel")


STATUSES = """() => {
    window.statuses = [];
    const { kernel } = window.jupyterapp.shell.currentWidget.context.sessionContext.session;
    kernel.statusChanged.connect((_, status) => window.statuses.push(status));
}"""


LATER = """first => [...document.querySelectorAll('.dsim-view-text')].some(
    text => Number(text.textContent.match(/step (\\d+) /)?.[1]) > first)"""


def test_a_picture_grows_when_its_points_leave_it(lab, tmp_path):
    """The view is made, and shown, while all points are in one place."""
    setup = SETUP.replace("x.from_numpy(circle)\n", "").replace(" bounds=[(-1.2, 1.2)] * 2,", "")
    seen = tmp_path / "seen"
    wait = f"from pathlib import Path\nwhile not Path({str(seen)!r}).exists():\n    time.sleep(0.05)\n"
    lab.open(*cells(setup, "view", wait + "x.from_numpy(circle)\nview.update()"), kernel=True)
    lab.start_all()
    drawn = stage(lab, 1)
    drawn.wait_for(timeout=START_SECONDS * 1000)
    wait_for(drawn, lambda picture: 0 < red(picture).sum() < 1000, "one place")
    seen.touch()
    wait_for(drawn, lambda picture: red(picture).sum() > 1000 and leaves_a_margin(picture), "all points")
    expect(lab.cell(1).locator(".dsim-view-text")).not_to_contain_text("outside")


def leaves_a_margin(picture: np.ndarray) -> bool:
    y, x = np.nonzero(red(picture))
    height, width = picture.shape[:2]
    return 2 < y.min() < y.max() < height - 3 and 2 < x.min() < x.max() < width - 3


def test_a_kernel_is_busy_while_its_loop_runs(lab):
    lab.open(*cells(SETUP, "view", LOOP), kernel=True)
    lab.start_all()
    text = lab.cell(1).locator(".dsim-view-text")
    expect(text).to_have_text(re.compile(r"step \d\d+ · shrunk"), timeout=START_SECONDS * 1000)
    lab.page.evaluate(STATUSES)
    at = int(re.search(r"\d+", text.inner_text())[0])
    lab.page.wait_for_function(LATER, arg=at + 20)
    assert lab.page.evaluate("() => window.statuses") == []
    lab.command("notebook:interrupt-kernel")


RECORD = """\
for step in range(60):
    x.from_numpy(circle * np.float32((step + 1) / 60))
    view.record()"""


def test_a_recording_is_played_and_sought_by_keyboard(lab):
    lab.open(*cells(SETUP, "view", RECORD), kernel=True)
    lab.run_all()
    here, drawn = lab.cell(1), stage(lab, 1)
    text, slider = here.locator(".dsim-view-text"), here.get_by_role("slider", name="recorded frame")
    wait_for(drawn, on_the_circle, "the last frame")
    expect(text).to_have_text("step 59")
    expect(slider).to_have_attribute("aria-valuetext", "60 of 60")
    drawn.focus()
    lab.page.keyboard.press("Home")
    expect(text).to_have_text("step 0")
    assert not on_the_circle(pixels(drawn))
    lab.page.keyboard.press("ArrowRight")
    expect(text).to_have_text("step 1")
    expect(slider).to_have_attribute("aria-valuetext", "2 of 60")
    lab.page.keyboard.press("End")
    wait_for(drawn, on_the_circle, "the last frame again")
    expect(drawn).to_be_focused()
    lab.shoot("view-player")
    here.get_by_role("button", name="repeat").click()
    here.get_by_label("speed").select_option("0.25")
    drawn.focus()
    lab.page.keyboard.press("Space")
    expect(here.get_by_role("button", name="pause")).to_be_visible()
    expect(text).to_have_text(re.compile("step [3-9]"))
    lab.page.keyboard.press("Space")
    expect(here.get_by_role("button", name="play")).to_be_visible()


GRID = """\
import dsim as ds
import numpy as np
values = np.add.outer(np.arange(96) / 95, np.zeros(64))
values[80:90, 40:60] = np.nan
heat = ds.field(ds.f32, shape=(96, 64), name="heat")
heat.from_numpy(values.astype(np.float32))
ds.view(heat, colormap="gray")"""


def test_a_grid_its_axes_and_its_legend(lab, painter):
    lab.open(*cells(GRID), kernel=True)
    lab.run_all()
    drawn = stage(lab)
    picture = wait_for(
        drawn, lambda p: p[-5, 5].max() < 30 and p[-5, -5].min() > 225, "black left, white right"
    )
    assert abs(picture.shape[1] / picture.shape[0] - 1.5) < 0.05
    middle = picture[:, : picture.shape[1] // 2].mean(axis=(0, 2))
    assert np.all(np.diff(middle) >= 0)
    at_right = picture[:, int(picture.shape[1] * 85 / 96)]
    assert abs(at_right[int(len(at_right) * 14 / 64)] - 128).max() < 3, "missing values are grey, upwards"
    assert at_right[int(len(at_right) * 50 / 64)].min() > 200
    expect(lab.cell(0).locator(".dsim-view-legend")).to_have_text("heat01(grey: not finite)")
    lab.shoot(f"view-grid-{painter}")


SOLID = """\
import dsim as ds
import numpy as np
from dsim.live.scene.layers import Mesh
n = 24
u, v = np.meshgrid(np.linspace(0, 2 * np.pi, n), np.linspace(0, np.pi, n), indexing="ij")
ball = np.stack([np.cos(u) * np.sin(v), np.cos(v), np.sin(u) * np.sin(v)], axis=-1).reshape(-1, 3)
i, j = (each.ravel() for each in np.meshgrid(np.arange(n - 1), np.arange(n - 1), indexing="ij"))
a = i * n + j
triangles = np.concatenate([np.stack([a, a + 1, a + n], 1), np.stack([a + 1, a + n + 1, a + n], 1)])
some = ball[::13] * 1.2
mesh = Mesh(name="ball", at=ball, indices=triangles, values=ball[:, 1], colormap="viridis")
ds.view(some, mesh, arrows=some * 0.3, color="#d02020", title="a ball")"""


def a_ball(picture: np.ndarray) -> bool:
    green = picture[..., 1] > picture[..., 0] + 60
    return bool(green.any() and red(picture).any())


def differs_from(first: np.ndarray):
    return lambda picture: a_ball(picture) and (abs(picture - first).max(axis=2) > 60).sum() > 200


def test_a_mesh_with_arrows_turns_by_keyboard_and_pointer(lab, painter):
    lab.open(*cells(SOLID), kernel=True)
    lab.run_all()
    drawn = stage(lab)
    first = wait_for(drawn, a_ball, "a ball")
    drawn.focus()
    lab.page.keyboard.press("ArrowLeft")
    turned = wait_for(drawn, differs_from(first), "another side")
    lab.shoot(f"view-solid-{painter}")
    box = drawn.bounding_box()
    lab.page.mouse.move(box["x"] + 20, box["y"] + 20)
    lab.page.mouse.down()
    lab.page.mouse.move(box["x"] + 120, box["y"] + 60)
    lab.page.mouse.up()
    wait_for(drawn, differs_from(turned), "a third side")


LOSE = (
    """e => e.querySelector('canvas').getContext('webgl2').getExtension('WEBGL_lose_context').loseContext()"""
)


def test_a_context_that_the_browser_takes_away_is_replaced(lab):
    lab.open(*cells(SOLID), kernel=True)
    lab.run_all()
    drawn = stage(lab)
    first = wait_for(drawn, a_ball, "a ball")
    drawn.evaluate(LOSE)
    expect(drawn).to_have_attribute("data-painter", "canvas")
    second = wait_for(drawn, a_ball, "a ball again")
    assert (abs(first - second).max(axis=2) > 60).mean() < 0.04, "both painters draw the same"


UNSEEN = """\
sent = []
send = view.widget.send
view.widget.send = lambda message, buffers=None: (sent.append(message["type"]), send(message, buffers))
x.from_numpy(circle * np.float32(0.4))
counts = []
for step in range(300):
    view.update(step)
    counts.append(sent.count("frame"))
    time.sleep(0.01)
print("sent in the last second:", counts[-1] - counts[-100])"""


def test_a_picture_out_of_sight_gets_no_frames_and_the_newest_when_it_is_back(lab):
    tall = v4.new_markdown_cell("<br>\n" * 150)
    lab.open(*cells(SETUP, "view"), tall, *cells(UNSEEN), kernel=True)
    lab.start_all()
    lab.cell(3).scroll_into_view_if_needed()
    expect(lab.cell(3)).to_contain_text("sent in the last second: 0", timeout=START_SECONDS * 1000)
    drawn = stage(lab, 1)
    wait_for(drawn, lambda p: red(p).any() and not on_the_circle(p), "the smaller circle")


def test_a_dark_page_has_a_dark_picture(lab):
    lab.theme("JupyterLab Dark")
    try:
        lab.open(*cells(SOLID, GRID.replace("gray", "magma")), kernel=True)
        lab.run_all()
        assert wait_for(stage(lab, 0), a_ball, "a ball")[3, 3].max() < 60
        lab.shoot("view-dark-solid")
        stage(lab, 1).scroll_into_view_if_needed()
        expect(lab.cell(1).locator(".dsim-view-legend")).to_contain_text("heat01")
        lab.shoot("view-dark-grid")
    finally:
        lab.theme("JupyterLab Light")


def test_in_notebook_7(notebook7):
    notebook7.open(*cells(SETUP, "view", LOOP))
    notebook7.start_all()
    text = notebook7.cell(1).locator(".dsim-view-text")
    expect(text).to_have_text(re.compile(r"step \d\d+ · shrunk"), timeout=START_SECONDS * 1000)
    notebook7.shoot("view-notebook7")


DRAG = """\
import dsim as ds
import numpy as np
from dsim.live.scene.layers import GridLayer, Points
cells = np.zeros((8, 8))
at = np.array([[2.5, 2.5]])
def drag(message):
    at[message["index"]] = message["position"]
    picture.update(text=f"drag {message['phase']}")
def paint(message):
    cells[tuple(message["cell"])] = 1.0
    picture.update(text=f"paint {message['cell']}")
def pick(message):
    picture.update(text=f"picked {message['index']}")
grid = GridLayer(name="cells", values=cells, colormap="gray", limits=(0, 1), paint=True)
picture = ds.view(grid, Points(name="handle", at=at, color="#d02020", size=16, drag=True))
for event in (drag, paint, pick):
    picture.on(event.__name__, event)
picture"""


def test_points_are_dragged_and_cells_painted(lab):
    lab.open(*cells(DRAG), kernel=True)
    lab.run_all()
    drawn = stage(lab)
    wait_for(drawn, lambda p: red(p).any() and p[5, 5].max() < 30, "a handle on black")
    text = lab.cell(0).locator(".dsim-view-text")
    box = drawn.bounding_box()

    def to(x, y):
        lab.page.mouse.move(box["x"] + box["width"] * x / 8, box["y"] + box["height"] * (1 - y / 8), steps=6)

    to(2.5, 2.5)
    lab.page.mouse.down()
    to(6.5, 5.5)
    lab.page.mouse.up()
    expect(text).to_have_text("drag end")
    y, x = np.nonzero(red(wait_for(drawn, lambda p: red(p).any(), "the handle")))
    size = pixels(drawn).shape[0] / 8
    assert abs(x.mean() / size - 6.5) < 0.2
    assert abs(8 - y.mean() / size - 5.5) < 0.2
    to(0.5, 0.5)
    lab.page.mouse.down()
    to(3.5, 0.5)
    lab.page.mouse.up()
    expect(text).to_have_text("paint [3, 0]")
    painted = wait_for(drawn, lambda p: p[-5, 5].min() > 225, "a painted cell")
    assert painted[5, 5].max() < 30
