"""The widget of a tape in a real notebook: a slider through the calls, and the choice of charts."""

from nbformat import v4
from playwright.sync_api import expect

PROGRAM = """\
import dsim as ds
from dsim.notebook.tape.widget import view

ds.init(default_fp=ds.f64)
x = ds.field(ds.f64, shape=8, needs_grad=True, name="<img src=x onerror='document.title = 1'>")
v = ds.field(ds.f64, shape=8, needs_grad=True)
loss = ds.field(ds.f64, shape=(), needs_grad=True)


@ds.kernel
def pull(dt: float):
    for i in x:
        v[i] -= dt * ds.sin(x[i])


@ds.kernel
def move(dt: float):
    for i in x:
        x[i] += dt * v[i]


@ds.kernel
def total():
    for i in x:
        loss[None] += x[i] ** 2


x.fill(1.0)
with ds.Tape(loss, profile=True) as tape:
    for _ in range(5000):
        pull(0.001)
        move(0.001)
    total()
view(tape)"""


def test_a_person_goes_through_the_calls(lab):
    lab.open(v4.new_code_cell(PROGRAM), kernel=True)
    lab.run_all()
    here = lab.cell(0)
    expect(here.locator(".dsim-tape").first).to_contain_text("tape of loss: 10,001 calls")
    expect(here.locator("svg text", has_text="5,000 ×")).to_have_count(1)
    expect(here.locator("svg title", has_text="norm of the gradient")).to_have_count(1)
    details = here.locator(".dsim-tape").last
    expect(details).to_contain_text("0: pull(dt=0.001)")
    slider = here.locator(".noUi-handle").first
    slider.focus()
    lab.page.keyboard.press("ArrowRight")
    expect(details).to_contain_text("1: move(dt=0.001)")
    expect(details).to_contain_text("x[i] += dt * v[i]")
    here.get_by_role("button", name="saved bytes").click()
    expect(here.locator("svg title", has_text="bytes saved")).to_have_count(1)
    here.get_by_role("button", name="time backward").click()
    expect(here.locator("svg title", has_text="time of each call, backward")).to_have_count(1)
    lab.shoot("tape-widget")
    assert lab.page.title() != "1"
    assert here.locator("img[onerror]").count() == 0
