"""Sliders of `ds.explore`: what a page reports of them, and what they tell it."""

import pytest

from dsim.live.exploring.explore import explore
from tests.live.exploring.springs import springs
from tests.live.front_end import shown_by


@pytest.mark.parametrize("step", [(), (0.1,)])
def test_a_slider_that_a_page_moves_to_the_nearest_place_moves_nothing(step):
    s = springs()
    seen = explore(s.energy, loss=s.U, controls={s.k: (0.5, 2.03, *step)})
    assert seen.widget
    (slider,) = seen._panel.sliders.values()
    seen.set(k=1.04)
    assert slider.value == 1.04
    places = (1.04 - 0.5) / slider.step
    assert (abs(places - round(places)) < 1e-9) == (not step)  # a step that nobody gave fits
    runs, nearest = seen.runs, 0.5 + round(places) * slider.step
    slider.value = nearest  # what a page reports of a slider that it has just drawn
    assert (seen.runs, s.k[None]) == (runs, 1.04)
    slider.value = nearest + slider.step
    assert (seen.runs, s.k[None]) == (runs + 1, nearest + slider.step)
    slider.value = nearest
    assert (seen.runs, s.k[None]) == (runs + 2, nearest)
    seen.close()


def test_a_value_between_two_places_is_run_once():
    s = springs()
    seen = explore(s.energy, loss=s.U, controls={s.k: (0.5, 2.03, 0.1)})
    assert seen.widget
    (slider,) = seen._panel.sliders.values()
    for value in (1.04, 1.27):
        seen.set(k=value)
        slider.value = 0.5 + round((value - 0.5) / 0.1) * 0.1  # a page, after the fact
        seen.update()
    assert (seen.runs, s.k[None], slider.value) == (5, 1.27, 1.27)
    seen.close()


def test_a_page_gets_value_and_step_at_once_and_reports_neither(monkeypatch):
    s = springs()
    seen = explore(s.energy, loss=s.U, controls={s.k: (0.5, 2.5)})
    assert seen.widget
    (slider,) = seen._panel.sliders.values()
    assert not slider.continuous_update  # a page reports what it draws
    shown_by(slider, 1)
    assert slider.continuous_update
    sent = []
    monkeypatch.setattr(slider, "_send", lambda message, buffers=None: sent.append(message["state"]))
    seen.set(k=1.2345)
    told = {"continuous_update": False, "step": slider.step, "value": 1.2345}
    assert sent == [told, {"continuous_update": True}]
    seen.close()


def test_a_slider_whose_value_a_page_rounds_moves_nothing():
    s = springs()
    s.k[None] = 1.0
    seen = explore(s.energy, loss=s.U, controls={s.k: (0.0, 1.5)})
    assert seen.widget
    (slider,) = seen._panel.sliders.values()
    places = round(1.0 / slider.step)
    assert places * slider.step == pytest.approx(1.0, abs=1e-15)
    for off in (1.0 + 2**-52, 1.0 - 2**-53):
        slider.value = off
        assert (seen.runs, s.k[None]) == (1, 1.0)
    slider.value = more = (places + 1) * slider.step
    assert (seen.runs, s.k[None]) == (2, more)
    seen.close()


@pytest.mark.parametrize(("ends", "shown"), [((0, 100), ".2f"), ((0, 3), ".3f"), ((0, 2e-9), ".4e")])
def test_a_slider_tells_its_places_apart(ends, shown):
    s = springs()
    s.k[None] = ends[1]
    seen = explore(s.energy, loss=s.U, controls={s.k: ends})
    assert seen.widget
    assert next(iter(seen._panel.sliders.values())).readout_format == shown
    seen.close()
