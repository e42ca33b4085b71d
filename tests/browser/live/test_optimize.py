"""An optimisation in a real notebook: the buttons work while it runs, and errors are shown below the cell."""

import re

from nbformat import v4
from playwright.sync_api import expect

SESSION = "window.jupyterapp.shell.currentWidget.context.sessionContext"

PROGRAM = """\
import dsim as ds

ds.init(default_fp=ds.f64)
x = ds.field(ds.f64, shape=2)
y = ds.field(ds.f64, shape=())
n = ds.field(ds.i32, shape=())
stuck = []


@ds.kernel
def wait():
    while n[None] >= 0:
        n[None] = 1 - n[None]


@ds.kernel
def rosenbrock():
    y[None] = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


def run():
    if found.done == 3 and not stuck:
        stuck.append(True)
        wait()
    rosenbrock()


found = ds.optimize(run, wrt=x, loss=y, method="Adam", steps=40, start=False)
found.start()
found"""

LOSSES = 'print(*(f"{row:.6g}" for row in found.history["loss"][3:5]), len(found.history))'

LONG = """\
runs.append(ds.optimize(rosenbrock, wrt=x, loss=y, method="Adam", rate=1e-5, steps=10**8))"""

STATUSES = """\
if len(runs) == 2:
    runs[1].wait(20)
    with ds.Tape(y):
        rosenbrock()
print(*(f"{each.status}: {each.message}" for each in runs), sep=", ")"""

FAILING = """\
def broken():
    rosenbrock()
    if third.done == 2:
        raise ValueError("<img src=x onerror='document.title = 1'>")


third = ds.optimize(broken, wrt=x, loss=y, method="Adam", start=False)
third.start()"""


def test_a_person_stops_and_resumes(lab):
    lab.open(v4.new_code_cell(PROGRAM), v4.new_code_cell(LOSSES), kernel=True)
    lab.run_all()
    here = lab.cell(0)
    status, numbers = here.get_by_role("status"), here.locator(".dsim-optimize")
    expect(numbers).to_contain_text("3 of 40 steps")
    expect(status).to_have_text("running")
    stop, resume = here.get_by_role("button", name="Stop"), here.get_by_role("button", name="Resume")
    expect(resume).to_be_disabled()
    stop.focus()
    lab.page.keyboard.press("Enter")
    expect(status).to_have_text("stopped")
    expect(numbers).to_contain_text("3 of 40 steps")
    expect(stop).to_be_disabled()
    loss = re.search(r"loss (\S+),", numbers.inner_text())[1]
    lab.shoot("optimize-stopped")
    resume.focus()
    lab.page.keyboard.press("Enter")
    expect(status).to_have_text("finished: all 40 steps are done")
    expect(here.locator("svg title", has_text="loss and gradient norm of each step")).to_have_count(1)
    expect(here.locator(".jp-OutputArea-output")).to_have_count(1)
    lab.cell(1).locator(".cm-content").click()
    lab.page.keyboard.press("Shift+Enter")
    expect(lab.cell(1).locator(".jp-OutputArea-output")).to_have_text(re.compile(rf"{loss} \S+ 41"))
    lab.shoot("optimize-finished")


def test_an_error_is_shown_below_the_cell(lab):
    lab.open(v4.new_code_cell(PROGRAM.partition("found = ")[0]), v4.new_code_cell(FAILING), kernel=True)
    lab.run_all()
    alert = lab.cell(1).get_by_role("alert")
    expect(alert).to_contain_text("ValueError: <img src=x")
    expect(alert).to_contain_text("raised in   cell In[2]:4: raise ValueError(")
    expect(lab.cell(1).get_by_role("status")).to_contain_text("failed: ValueError")
    assert lab.page.title() != "1"
    assert lab.cell(1).locator("img").count() == 0


def test_no_work_goes_on_where_its_cell_is_run_again_or_deleted(lab):
    setup = PROGRAM.partition("found = ")[0].replace("stuck = []", "runs = []")
    setup = setup.replace("shape=2", "shape=2, needs_grad=True").replace(
        "shape=()", "shape=(), needs_grad=True", 1
    )
    lab.open(*map(v4.new_code_cell, (setup, LONG, STATUSES)), kernel=True)
    lab.run_all()
    here = lab.cell(1)
    expect(here.get_by_role("status")).to_have_text("running")
    here.locator(".cm-content").click()
    lab.page.keyboard.press("Control+Enter")
    expect(here.locator("pre")).to_contain_text("stopped another optimisation of these fields: Adam")
    expect(here.get_by_role("status")).to_have_text("running")
    lab.shoot("optimize-again")
    lab.page.keyboard.press("Escape")
    lab.command("notebook:delete-cell")
    lab.cell(1).locator(".cm-content").click()
    lab.page.keyboard.press("Shift+Enter")
    said = "stopped: another optimisation of its fields has begun, stopped: its output has been removed"
    expect(lab.cell(1).locator(".jp-OutputArea-output")).to_have_text(said)


EXPLORED = """\
import dsim as ds

ds.init(default_fp=ds.f64)
x, y, z = (ds.field(ds.f64, shape=()) for _ in range(3))


@ds.kernel
def square():
    y[None] = (x[None] - 1) ** 2


def scaled(a=1.0):
    z[None] = a


ds.explore(scaled, controls={"a": (0, 3)})"""


def test_after_a_restart_panels_say_what_to_do(lab):
    optimised = 'ds.optimize(square, wrt=x, loss=y, method="Adam", rate=1e-6, steps=10**8)'
    lab.open(v4.new_code_cell(EXPLORED), v4.new_code_cell(optimised), kernel=True)
    lab.run_all()
    expect(lab.cell(1).get_by_role("status")).to_have_text("running")
    expect(lab.cell(0).get_by_role("slider")).to_be_visible()
    said = lab.page.get_by_text("Its kernel was restarted or shut down: this shows what it knew last.")
    expect(said.first).to_be_hidden()
    lab.page.evaluate(f"() => {SESSION}.restartKernel().then(() => null)")
    for cell in (0, 1):
        shown = lab.cell(cell).get_by_role("status").filter(has_text="Its kernel was restarted")
        expect(shown).to_be_visible()
    stop = lab.cell(1).get_by_role("button", name="Stop")
    assert stop.evaluate("each => getComputedStyle(each).pointerEvents") == "none"
    lab.shoot("panels-restarted")
