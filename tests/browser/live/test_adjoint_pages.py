"""Pages of trajectories: a click follows an element without a kernel, and the chart knows the frames."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

import dsim as ds
from tests.browser.conftest import SCREENSHOTS
from tests.browser.live.test_played_pages import played

__all__ = ["played"]
STEPS = 40


@pytest.fixture(scope="module")
def trajectories():
    """Three points that fall, and a grid."""
    x = ds.Vector.field(2, ds.f64, shape=3, needs_grad=True, name="x")
    u = ds.field(ds.f64, shape=(6, 4), needs_grad=True, name="u")
    L = ds.field(ds.f64, shape=(), needs_grad=True, name="L")

    @ds.kernel
    def step(t: int):
        for i in x:
            x[i] *= 1.0 + 0.02 * i
        for i, j in u:
            u[i, j] *= 0.9

    @ds.kernel
    def total():
        for i in x:
            L[None] += x[i].norm_sqr()
        for i, j in u:
            L[None] += u[i, j] ** 2

    x.from_numpy(np.array([[1.0, 1.0], [2.0, 1.0], [1.0, 2.0]]))
    u.fill(1.0)
    u[2, 1] = 5.0
    with ds.Tape(L) as tape:
        found = tape.trajectory(x), tape.trajectory(u)
        for t in tape.steps(range(STEPS)):
            step(t)
        total()
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory, trajectories):
    folder = tmp_path_factory.mktemp("adjoint")
    bounds = [(0, 4), (0, 3)]
    points, grid = trajectories
    ds.adjoint_view(points, bounds=bounds).save(folder / "points.html")
    ds.adjoint_view(grid).save(folder / "grid.html")
    with pytest.warns(UserWarning, match="thinned"):
        ds.adjoint_view(points, bounds=bounds).save(folder / "thin.html", budget=9000)
    return folder


def click(page, x: float, y: float, across: float, up: float) -> None:
    """At a place, of the picture's size in its own units, once it is drawn: its text is there sooner."""
    page.evaluate("() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    stage = page.locator(".dsim-view-stage")
    box = stage.bounding_box()
    stage.click(position={"x": box["width"] * x / across, "y": box["height"] * (1 - y / up)})


def test_a_click_follows_a_point_and_lets_it_go(played, trajectories):
    page = played("points.html")
    text, names = page.locator(".dsim-view-text"), page.locator(".dsim-view-chart-name")
    slider = page.get_by_role("slider", name="recorded frame")
    slider.fill("0")
    expect(text).to_have_text(re.compile("^step 0 · "))
    expect(names).to_have_count(1)
    click(page, 2, 1, 4, 3)
    expect(names.nth(1)).to_have_text("- - x[1]")
    for step in (0, 17):
        slider.fill(str(step))
        norm = trajectories[0].norms_of(1)[step]
        expect(text).to_have_text(re.compile(rf"^step {step} · .* · x\[1\]: ‖∂L/∂x‖ ≈ {norm:.3g}$"))
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "adjoint-page.png")
    slider.fill("0")
    click(page, 2, 1, 4, 3)
    expect(names).to_have_count(1)
    expect(text).to_have_text(re.compile(r"^step 0 · [^·]*$"))


def test_a_click_follows_a_cell(played, trajectories):
    page = played("grid.html")
    text = page.locator(".dsim-view-text")
    click(page, 2.5, 1.5, 6 * 2.06, 4)
    norm = trajectories[1].norms_of((2, 1))[0]
    wanted = re.compile(rf" · u\[2, 1\]: ‖∂L/∂u‖ ≈ {norm:.3g}$")
    expect(text).to_have_text(wanted)
    page.screenshot(path=SCREENSHOTS / "adjoint-page-grid.png")


def test_a_chart_over_some_of_the_steps_marks_the_step_that_is_shown(played):
    page = played("thin.html")
    slider, marker = (
        page.get_by_role("slider", name="recorded frame"),
        page.locator(".dsim-view-chart-marker"),
    )
    slider.fill("1")
    text = page.locator(".dsim-view-text")
    expect(text).to_have_text(re.compile(r"^step [2-9] · "))
    step = int(re.findall(r"\d+", text.text_content())[0])
    at = 62 + (640 - 62 - 8) * step / (STEPS + 1)
    assert float(marker.get_attribute("x1")) == pytest.approx(at, abs=1)
    chart = page.locator(".dsim-view-chart-lines")
    box = chart.bounding_box()
    chart.click(position={"x": box["width"] * 626 / 640, "y": box["height"] / 2})
    expect(text).to_have_text(re.compile(r"^step (39|4\d) · "))
