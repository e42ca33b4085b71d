"""`ds.explore`: a run that fails is said to have failed, and nothing of the run before is shown beside it."""

import numpy as np
import pytest

import dsim as ti
from dsim import explore
from dsim.live.exploring.explored_run import ExploredRun
from tests.live.exploring.springs import springs


@pytest.fixture(autouse=True)
def _fresh():
    ti.init(default_fp=ti.f64)


def test_an_error_after_a_move_in_the_page_is_shown():
    def run(wrong=0):
        return 1 // (1 - wrong)

    seen = explore(run, controls={"wrong": (0, 1)})
    slider = next(iter((seen.widget and seen._panel.sliders).values()))
    slider.value = 1
    assert "ZeroDivisionError" in seen._panel._told.value
    slider.value = 0
    assert seen.found.problem == ""
    seen.close()


def test_an_error_is_shown_and_the_next_move_goes_on():
    s = springs()

    def run(fails=0):
        s.energy()
        if fails:
            s.x[17] = 1.0

    seen = explore(run, loss=s.U, controls={"fails": (0, 1)})
    loss = seen.found.loss
    with pytest.raises(IndexError):
        run(1)
    seen.set(fails=1)
    assert "17" in seen.found.problem
    assert (seen.found.loss, seen.found.gradients) == (None, {})
    seen.set(fails=0)
    assert (seen.found.problem, seen.found.loss) == ("", loss)


def shown(seen):
    """The text below the sliders, and that beside each."""
    assert seen.widget
    return seen._panel._told.value, [bar.value for bar in seen._panel.bars.values()]


def failing(s, error):
    """A run that fails where its number is not 0."""

    def run(now=0):
        s.energy()
        if now:
            raise error

    return run


@pytest.mark.parametrize("error", [ValueError("half <way>"), KeyboardInterrupt()])
def test_an_error_of_python_leaves_no_loss_and_no_derivative_beside_the_new_control(error):
    s = springs()
    seen = explore(failing(s, error), wrt=s.x, loss=s.U, controls={"now": (0, 1), s.k: (0, 10)})
    told, bars = shown(seen)
    assert "U = " in told
    assert "∂" in bars[1]
    arrows = seen.view.scene.layers[1]
    assert np.any(arrows.vectors())
    with pytest.raises(type(error)):
        seen.set(now=1, k=3.0)
    told, bars = shown(seen)
    assert ("ValueError: half &lt;way&gt;" in told) or ("stopped" in told)
    assert "U = " not in told
    assert bars == ["", ""]
    assert (seen.found.loss, seen.found.gradients) == (None, {})
    assert not np.any(arrows.vectors())
    assert "U = " not in repr(seen)
    assert [slider.value for slider in seen._panel.sliders.values()] == [1, 3.0]
    seen.set(now=0)
    told, bars = shown(seen)
    assert "U = " in told
    assert "∂" in bars[1]
    assert np.any(arrows.vectors())
    seen.close()


@pytest.mark.parametrize("where", ["reset", "run"])
def test_what_fails_half_way_leaves_the_numbers_with_which_runs_begin(where):
    """They are the person's, not those that the failure left."""
    s = springs()
    fails = []

    def reset():
        s.x.fill(9.0)
        if fails and where == "reset":
            raise ValueError("half way")

    def run():
        s.energy()
        s.x.fill(7.0)
        if fails and where == "run":
            raise ValueError("half way")

    seen = explore(run, wrt=s.x, loss=s.U, reset=reset)
    loss = seen.found.loss
    fails.append(None)
    with pytest.raises(ValueError, match="half way"):
        seen.update()
    fails.clear()
    seen.update()
    assert seen.found.loss == loss


def test_a_warning_after_a_move_in_the_page_is_shown(recwarn):
    s = springs()

    def run(read=0):
        s.energy()
        if read:
            s.k[None] = 2 * s.k[None]

    seen = explore(run, loss=s.U, controls={s.k: (0, 10), "read": (0, 1)})
    assert seen.widget
    seen._panel.sliders["read"].value = 1
    assert "warning: " in seen._panel._told.value
    assert "`k`" in seen._panel._told.value
    assert "warning" not in repr(seen)  # nor below the picture
    assert not recwarn.list
    seen._panel.sliders["read"].value = 0
    assert "warning" not in seen._panel._told.value
    with pytest.warns(ti.GradientWarning, match="`k`"):
        seen.set(read=1)
    assert "warning" not in seen._panel._told.value
    seen.close()


def test_a_warning_of_a_run_without_a_loss_stands_alone():
    assert ExploredRun(warnings=("a", "b")).told_with_warnings() == "warning: a; warning: b"


def test_a_long_run_says_that_it_runs(monkeypatch):
    told = []

    def run(a=1):
        told.append("running …" in seen._panel._told.value if a > 1 else None)

    seen = explore(run, controls={"a": (0, 3)})
    assert seen.widget
    for seconds in (0.0, 9.0):
        seen._takes = seconds
        seen._panel.sliders["a"].value += 1
    assert told == [None, False, True]
    assert "running" not in seen._panel._told.value
    seen.close()


@pytest.mark.parametrize("mode", ["tape", "forward"])
def test_no_run_inside_a_block_that_records(mode):
    """Such a run would put back what the block has computed."""
    s = springs()
    seen = explore(lambda rate=1.0: s.energy(), loss=s.U)
    seed = np.ones(s.x.to_numpy().shape)
    with ti.Tape(s.U) if mode == "tape" else ti.ad.FwdMode(s.U, s.x, seed=seed):
        s.energy()
        for act in (lambda: seen.set(rate=2.0), seen.update, lambda: explore(s.energy, loss=s.U)):
            with pytest.raises(ti.ArgumentError, match="an explorer cannot run inside a tape"):
                act()
    assert (s.x.grad if mode == "tape" else s.U.dual).to_numpy().any()
    seen.close()
