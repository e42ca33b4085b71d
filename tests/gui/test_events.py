"""Input events of a window: what filters find, and what a page of a notebook sends."""

import threading

import pytest

from dsim.gui import GUI, screen
from dsim.gui.events import EventQueue, events_of
from tests.gui.test_notebook_window import cell, window
from tests.live.conftest import wired
from tests.live.front_end import Page, shown_by

__all__ = ["cell", "wired"]


def event(kind, key, pos=(0.0, 0.0)):
    return GUI.Event(kind, key, pos=pos)


def told(kind, key, **more):
    """An event as a page tells it."""
    return {"type": kind, "key": key, "pos": [0.5, 0.25], "modifier": [], **more}


class Visitor(Page):
    """A page whose messages come beside the running cell, as by a subshell."""

    def __init__(self, gui):
        super().__init__(gui._screen._view)
        shown_by(self.widget, 1)
        self.beside(type="visible", visible=True)

    def beside(self, **content):
        thread = threading.Thread(target=self.says, kwargs=content)
        thread.start()
        thread.join()

    def does(self, *events):
        self.beside(type="input", events=list(events))

    def listens(self):
        """Whether the newest message about it says that the program wants input."""
        said = [c.get("header", c)["listening"] for c, _ in self.sent if "listening" in c.get("header", c)]
        return said[-1] if said else False


def test_filters_find_what_others_passed_over_until_the_frame_ends():
    queue = EventQueue()
    for each in (event("Press", "a"), event("Release", "a"), event("Press", "b")):
        queue.add(each)
    assert queue.fetch("b") == event("Press", "b")
    assert not queue.pending
    assert queue.fetch(["Release", "a"]) == event("Release", "a")
    queue.end_frame()
    assert queue.fetch() is None


def test_keys_are_held_down_whichever_filter_saw_them():
    queue = EventQueue()
    queue.add(event("Press", "a"))
    queue.add(event("Press", "Shift"))
    assert not queue.is_pressed("a")
    assert queue.fetch("Escape") is None
    assert queue.is_pressed("x", "a")
    assert queue.is_pressed("Shift")
    queue.add(event("Release", "a"))
    assert queue.fetch("Escape") is None
    assert not queue.is_pressed("a")


def test_motions_that_nobody_read_are_one_and_very_many_events_lose_the_oldest():
    queue = EventQueue()
    for k in range(5):
        queue.add(event("Motion", "Motion", (k / 10, 0.0)))
    assert queue.cursor == (0.4, 0.0)
    assert queue.fetch() == event("Motion", "Motion", (0.4, 0.0))
    assert queue.fetch() is None
    for k in range(3000):
        queue.add(event("Press", str(k)))
    found = queue.fetch()
    assert found is not None
    assert found.key == str(3000 - 1024)


MALFORMED = [
    None, "no list", [None, 3], [told("Press", "")], [told("Press", "a" * 99)], [told("Press", 3)],
    [told("Jump", "a")], [told("Press", "a", pos=[0.5])], [told("Press", "a", pos=[0.5, float("nan")])],
    [told("Press", "a", pos="xy")], [told("Motion", "Wheel", delta=[1, None])],
]  # fmt: skip


@pytest.mark.parametrize("given", MALFORMED, ids=str)
def test_what_a_page_says_is_checked(given):
    assert list(events_of({"events": given})) == []


def test_an_event_of_a_page():
    message = {"events": [told("Motion", "Wheel", delta=[0, -120], modifier=["Control", "Hyper"])]}
    assert list(events_of(message)) == [
        GUI.Event(GUI.MOTION, GUI.WHEEL, ("Control",), (0.5, 0.25), (0.0, -120.0))
    ]


def test_a_page_is_asked_for_input_only_where_the_program_reads_it(cell):
    gui = window(frames=99)
    gui.show()
    page = Visitor(gui)
    page.does(told("Press", "a"))
    assert not gui._input.pending
    assert not page.listens()
    assert not gui.get_event()
    page.beside(type="drawn", number=page.frames()[-1][0]["number"])
    gui.show()
    assert page.listens()
    page.does(told("Press", "a"), told("Motion", "Motion", pos=[0.75, 0.5]))
    assert gui.get_event(gui.PRESS)
    assert (gui.event.key, gui.event.pos) == ("a", (0.5, 0.25))
    assert gui.is_pressed("a")
    assert gui.get_cursor_pos() == (0.75, 0.5)
    assert [each.type for each in gui.get_events()] == [gui.MOTION]
    cell.end()
    assert not page.listens(), "the player has the keys between cells"


def test_a_window_is_closed_in_the_page(cell):
    gui = window(frames=float("inf"))
    gui.show()
    page = Visitor(gui)
    for _ in range(60):
        gui.show()
    assert gui.running
    page.does(told("Press", GUI.EXIT))
    assert not gui.running
    assert gui.get_event((GUI.PRESS, GUI.EXIT))


def test_a_window_without_end_ends_where_no_page_can_close_it(cell, monkeypatch):
    monkeypatch.setenv("DSIM_GUI_FRAMES", "5")
    monkeypatch.setattr(screen, "_PATIENCE", 0.0)
    for gui in (window(frames=float("inf")), GUI(res=8, frames=float("inf"), show_gui=False)):
        gui.fps_limit = None
        while gui.running:
            gui.show()
        assert gui.frame == 5
        assert gui.get_event(gui.ESCAPE)


def test_a_page_has_some_time_to_appear(cell, monkeypatch):
    monkeypatch.setenv("DSIM_GUI_FRAMES", "2")
    gui = window(frames=float("inf"))
    for _ in range(9):
        gui.show()
    assert gui.running
    assert gui._screen.patience > 1.0


def test_who_waits_for_a_key_waits_where_a_page_can_send_one(cell):
    gui = window(frames=99)
    assert gui.get_key_event().key == GUI.ESCAPE, "nobody is there"
    gui.show()
    page = Visitor(gui)
    later = threading.Timer(0.1, page.says, kwargs={"type": "input", "events": [told("Press", "q")]})
    later.start()
    assert gui.get_key_event().key == "q"
    later.join()


def test_escape_comes_again_in_a_loop_that_missed_it():
    gui = GUI(res=8, frames=1)
    gui.show()
    assert not gui.get_event("q")
    gui.show()
    assert gui.get_event(gui.ESCAPE)
