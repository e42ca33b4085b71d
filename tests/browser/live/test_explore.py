"""`ds.explore` in the page: a slider and a drag move the loss, its derivative and the picture."""

import re

from playwright.sync_api import expect

from tests.browser.live.test_live import cells
from tests.browser.live.test_views import stage, wait_for
from tests.browser.server import START_SECONDS

SPRINGS = """\
import dsim as ds
x = ds.Vector.field(2, ds.f64, shape=3, needs_grad=True, name="x")
k = ds.field(ds.f64, shape=(), needs_grad=True, name="<b>k</b>")
U = ds.field(ds.f64, shape=(), needs_grad=True, name="U")

@ds.kernel
def energy():
    for i in x:
        U[None] += 0.5 * k[None] * x[i].norm_sqr()

x.from_numpy([[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0]])
k[None] = 1.0
seen = ds.explore(energy, wrt=x, loss=U, controls={k: (0, 10, 1)})
seen"""


def opened(view, source=SPRINGS):
    view.open(*cells(source), kernel=True)
    view.run_all()
    here = view.cell(0)
    expect(here.locator(".dsim-explorer canvas").first).to_be_visible(timeout=START_SECONDS * 1000)
    return here


def said(here):
    return here.locator(".dsim-explorer [role=status]").filter(has_text=re.compile("U = "))


def test_a_slider_moves_the_loss_and_its_derivative(lab):
    here = opened(lab)
    expect(said(here).first).to_contain_text("U = 2")
    expect(here.locator(".widget-label", has_text="<b>k</b>")).to_be_visible()
    expect(here.locator("b", has_text="k")).to_have_count(0)
    here.locator(".noUi-handle").first.focus()
    for _ in range(4):
        lab.page.keyboard.press("ArrowRight")
    expect(said(here).last).to_contain_text("U = 10")
    expect(here.get_by_text("∂ 2")).to_be_visible()
    expect(here.get_by_role("img", name=re.compile("loss over the last"))).to_be_visible()
    lab.shoot("explore")


def test_long_names_leave_room_for_the_sliders(lab):
    names = ["k", "stiffness", "spring_stiffness", "initial_velocity_of_ball", "x" * 65]
    parameters = ", ".join(f"{name}=1.0" for name in names)
    run = f"def run({parameters}):\n    energy()\n\nds.explore(run, wrt=x, loss=U)"
    here = opened(lab, SPRINGS.replace("\nseen = ", "\n").rpartition("ds.explore(")[0] + run)
    for row, name in enumerate(names):
        slider = here.locator(".dsim-explorer .widget-slider").nth(row)
        label = slider.locator(".widget-label")
        expect(label).to_have_text(name)
        expect(label).to_have_attribute("title", name)
        track = slider.locator(".noUi-target").bounding_box()
        assert track["width"] >= 80
        assert label.bounding_box()["x"] + label.bounding_box()["width"] <= track["x"]
        assert label.evaluate("e => getComputedStyle(e).overflowX") == "hidden"
    label.scroll_into_view_if_needed()
    lab.shoot("explore-names")


def test_a_dragged_point_moves_the_loss(lab):
    here = opened(lab)
    wait_for(stage(lab, 0), lambda p: (p != p[0, 0]).any(), "its points")
    box = here.locator(".dsim-explorer canvas").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    lab.page.mouse.move(x, y)
    lab.page.mouse.down()
    lab.page.mouse.move(x + 40, y, steps=4)
    lab.page.mouse.up()
    expect(said(here).last).to_have_text(re.compile(r"U = 2\.0\d+"))
    lab.shoot("explore-dragged")


def test_a_slider_between_two_places_leaves_its_control_alone(lab):
    source = SPRINGS.replace("(0, 10, 1)", "(0.5, 2)")
    lab.open(*cells(source, "print(f'k is {k[None]}')"), kernel=True)
    lab.run_all()
    expect(said(lab.cell(0)).first).to_contain_text("U = 2")
    expect(lab.cell(0).locator(".widget-readout")).to_have_text("1.0000")
    lab.cell(1).click()
    lab.page.keyboard.press("Control+Enter")
    expect(lab.cell(1).locator(".jp-InputPrompt")).to_have_text("[3]:")
    expect(lab.cell(1).locator(".jp-OutputArea-output")).to_have_text("k is 1.0")
    expect(said(lab.cell(0)).first).to_contain_text("U = 2")


def executed(view, index, said):
    """Executes a cell that says `said` at its end."""
    view.cell(index).click()
    view.page.keyboard.press("Control+Enter")
    expect(view.cell(index).locator(".jp-OutputArea-output").last).to_contain_text(said)


def test_values_that_a_cell_sets_stay(lab):
    source = SPRINGS.replace("(0, 10, 1)", "(0.123, 2.77)").replace("<b>k</b>", "k")
    scan = "for value in (0.31, 0.72, 1.234, 2.5):\n    seen.set(k=value)\nprint('done', k[None])"
    told = "print(f'k is {k[None]} after {seen.runs} runs')"
    lab.open(*cells(source, scan, told), kernel=True)
    lab.run_all()
    readout = lab.cell(0).locator(".widget-readout")
    expect(readout).to_have_text("2.500")
    for runs in (5, 9):
        lab.page.wait_for_timeout(500)  # what the page answers comes after that
        executed(lab, 2, f"k is 2.5 after {runs} runs")
        executed(lab, 1, "done 2.5")
    expect(said(lab.cell(0)).first).to_contain_text("U = 5")


ENDLESS = """\
@ds.kernel
def climb():
    while k[None] > 1.5:
        k[None] += 0.0
    U[None] += k[None]

seen = ds.explore(climb, loss=U, controls={k: (0, 10, 1)})
seen"""


def test_the_stop_button_ends_a_run_that_a_slider_began(lab):
    lab.open(*cells(SPRINGS.rpartition("\n")[0], ENDLESS), kernel=True)
    lab.run_all()
    here = lab.cell(1)
    status = here.locator(".dsim-explorer").get_by_role("status").last
    expect(status).to_have_text("U = 1")
    here.locator(".noUi-handle").focus()
    lab.page.keyboard.press("ArrowRight")
    lab.page.wait_for_timeout(1000)  # it is in the loop by then
    lab.command("notebook:interrupt-kernel")
    expect(status).to_have_text("stopped: move a slider to continue")
    lab.page.keyboard.press("ArrowLeft")
    expect(status).to_have_text("U = 1")
