"""A picture shows the numbers of one moment: those of an update, whoever answers, and when."""

import asyncio
import sys
import threading
import time

import numpy as np
import pytest

import dsim as ds
from dsim.live import moments as pacing
from dsim.live.flow import Flow
from dsim.live.moments import Moments
from dsim.live.scene.encoding import unpacked
from dsim.live.scene.scene import ViewFrame
from dsim.live.slept import slept
from tests.live.front_end import Page


class Source:
    """Positions whose two halves a step writes one after the other; who read them."""

    def __init__(self):
        self.at = np.zeros((200, 2))
        self.threads = []

    def __call__(self):
        self.threads.append(threading.get_ident())
        return self.at

    def step(self, number, between=lambda: None):
        self.at[:100] = number
        between()
        self.at[100:] = number


def halves(sent):
    header, data = sent
    at = unpacked(header["layers"][0]["arrays"]["positions"], data)
    return at[0, 0], at[-1, 0]


def elsewhere(act):
    """Calls `act` in another thread, and waits for its end."""
    other = threading.Thread(target=act)
    other.start()
    other.join()


def answers(page):
    for header, _ in page.frames()[-2:]:
        page.says(type="drawn", number=header["number"])


def viewed(source):
    return ds.view(source, bounds=[(0, 1000), (0, 1)])


def test_answers_from_another_thread_never_read_the_fields(wired):
    async def session():
        source = Source()
        view = viewed(source)
        page = Page(view)
        elsewhere(page.shown)
        for step in range(1, 50):  # a cell
            source.step(step, lambda: elsewhere(lambda: answers(page)))
            view.update(step)
        for _ in range(5):  # the cell has ended
            await asyncio.sleep(0)
            elsewhere(lambda: answers(page))
        assert set(source.threads) == {threading.get_ident()}
        for sent in page.frames():
            first, second = halves(sent)
            assert first == second
            assert first == pytest.approx(sent[0]["step"] or 0, abs=0.1)
        assert page.frames()[-1][0]["step"] == 49
        view.close()

    asyncio.run(session())


def test_a_page_that_appears_in_the_middle_of_a_cell_sees_the_last_update(wired):
    async def session():
        source = Source()
        view = viewed(source)
        page = Page(view)
        source.step(1)
        view.bundle(view.png())  # displayed
        source.step(2, lambda: elsewhere(page.shown))
        assert halves(page.frames()[-1]) == pytest.approx((1, 1), abs=0.1)
        elsewhere(lambda: answers(page))
        await asyncio.sleep(0)
        assert halves(page.frames()[-1]) == pytest.approx((2, 2), abs=0.1)
        view.record()
        source.step(3)
        elsewhere(page.hidden)
        elsewhere(page.shown)
        await asyncio.sleep(0)
        assert halves(page.frames()[-1]) == pytest.approx((2, 2), abs=0.1)
        assert set(source.threads) == {threading.get_ident()}
        view.close()

    asyncio.run(session())


def test_the_last_update_of_another_thread_is_seen(wired):
    """As an optimisation makes it: later its fields hold what it tries."""
    source = Source()
    view = viewed(source)
    page = Page(view)
    page.shown()

    def work():
        for step in range(1, 30):
            source.step(step)
            view.update(step)
        source.step(700)

    elsewhere(work)
    for _ in range(5):
        answers(page)
    page.hidden()
    page.shown()
    last = page.frames()[-1]
    assert last[0]["step"] == 29
    assert halves(last) == pytest.approx((29, 29), abs=0.1)
    view.close()


# -- what it costs


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


class Made:
    """Makes frames, each in one second or what it `takes`."""

    def __init__(self, clock):
        self.count, self.clock, self.fails, self.takes = 0, clock, None, 1.0

    def __call__(self):
        self.count += 1
        self.clock.now += self.takes
        if self.fails is not None:
            raise self.fails
        return ViewFrame({"number": self.count}, b"")


class Elsewhere:
    """What frames cost outside of the process: so many seconds."""

    seconds = 0.0

    def frame(self):
        """A frame is made."""


@pytest.fixture
def moments():
    sent, clock = [], Clock()
    flow = Flow(lambda frame: sent.append(frame.header["number"]), lambda: 0.0)
    slept = Clock()
    made = Moments(Made(clock), flow, clock, slept, Elsewhere())
    made.asleep = slept
    made.sent, made.clock, made.flow, made.made = sent, clock, flow, made._make
    return made


def test_nothing_is_made_where_nobody_looks(moments):
    for _ in range(10):
        moments.update()
    assert moments.made.count == 0
    moments.flow.seen(True)
    moments.flow.seen(False)
    moments.update()
    assert moments.made.count == 0


@pytest.mark.slow
@pytest.mark.parametrize("answered", [True, False])
def test_frames_take_a_fixed_share_of_the_time_of_a_simulation(moments, answered):
    moments.flow.seen(True)
    began = moments.clock.now
    while moments.clock.now < began + 1000:
        moments.clock.now += 0.01
        moments.update()
        if answered:
            moments.flow.drawn(moments.made.count)
    assert moments.made.count == pytest.approx(1000 / 24, rel=0.05)
    assert moments.sent == (list(range(1, moments.made.count + 1)) if answered else [1, 2])
    if not answered:
        moments.flow.drawn(2)
        assert moments.sent == [1, 2, moments.made.count]  # the newest alone


@pytest.mark.slow
def test_what_frames_cost_elsewhere_on_the_machine_has_a_share_too(moments):
    moments._outside.seconds = 10.0
    moments.flow.seen(True)
    began = moments.clock.now
    while moments.clock.now < began + 1000:
        moments.clock.now += 0.01
        moments.update()
    assert moments.made.count == pytest.approx(1000 / (24 + 20 * 10), rel=0.2)


def test_frames_of_a_simulation_that_sleeps_are_limited_by_the_page_alone(moments):
    moments.flow.seen(True)
    for _ in range(6):  # seconds that each step takes, and sleeps
        moments.clock.now += 4.0
        moments.asleep.now += 4.0
        moments.update()
    assert moments.sent == [1, 2]
    assert moments.made.count == 2  # none is made for a page that is not ready
    for step in range(10):
        moments.flow.drawn(step + 2)
        moments.clock.now += 4.0
        moments.asleep.now += 4.0
        moments.update()
    assert moments.sent == [*range(1, 13)]


def test_a_thread_sleeps_or_computes():
    began = slept()
    time.sleep(0.05)
    after = slept()
    until = time.thread_time() + 0.05
    while time.thread_time() < until:
        pass
    if sys.platform == "linux":
        assert after - began >= 0.045
        assert slept() - after < 0.025
    else:
        assert slept() == 0.0


def test_a_few_updates_are_seen_at_once(moments):
    moments.made.takes = 0.001
    moments.flow.seen(True)
    for step in range(1, 4):
        moments.clock.now += 0.01
        moments.update()
        moments.flow.drawn(step)
    assert moments.sent == [1, 2, 3]


def test_the_last_update_of_a_fast_loop_is_seen(wired):
    async def session():
        source = Source()
        view = viewed(source)
        page = Page(view)
        page.shown()
        for step in range(1, 200):
            source.step(step)
            view.update(step)
            elsewhere(lambda: answers(page))
        assert len(page.frames()) < 199
        await asyncio.sleep(0)  # the cell has ended
        assert page.frames()[-1][0]["step"] == 199
        assert halves(page.frames()[-1]) == pytest.approx((199, 199), abs=0.1)
        view.close()

    asyncio.run(session())


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("no")])
def test_an_update_that_was_interrupted_is_made_up_for(moments, error):
    moments.flow.seen(True)
    moments.update()
    moments.made.fails = error
    moments.clock.now += 24.1
    with pytest.raises(type(error)):
        moments.update()
    moments.made.fails = None
    moments.drawn(1, "")
    assert moments.sent == [1, 3]


# -- two pages


def test_a_page_that_hides_takes_nothing_from_another(wired, monkeypatch):
    """A notebook that is open in two tabs of a browser."""
    for share in ("_SHARE", "_SHARE_OUTSIDE"):  # no update waits, however long the frame before it took
        monkeypatch.setattr(pacing, share, 0)
    view = viewed(Source())
    page = Page(view)
    for name in ("one", "two"):
        page.says(type="visible", visible=True, page=name)
    page.says(type="visible", visible=False, page="one")
    sent = len(page.frames())
    page.says(type="drawn", number=page.frames()[-1][0]["number"], page="two")
    view.update(7)
    assert len(page.frames()) == sent + 1
    view.record()
    page.says(type="want", frame=0, page="two")
    assert page.frames()[-1][0]["page"] == "two"
    page.says(type="visible", visible=False, page="two")
    sent = len(page.frames())
    view.update(8)
    assert len(page.frames()) == sent
    view.close()


def test_a_page_that_vanished_without_a_word_is_forgotten():
    sent = []
    flow = Flow(lambda frame: sent.append(frame.header["number"]), lambda: 0.0)
    for name in ("gone", "here"):
        flow.seen(True, name)
    for number in range(1, 500):
        flow.offer(ViewFrame({"number": number}, b""))
        flow.drawn(number, "here")
    assert len(sent) == 499
    flow.seen(False, "here")
    assert not flow.visible


def test_an_interrupt_while_a_frame_is_sent_loses_none():
    sent, errors = [], [KeyboardInterrupt()]

    def send(frame):
        if errors:
            raise errors.pop()
        sent.append(frame.header["number"])

    flow = Flow(send, lambda: 0.0)
    flow.seen(True)
    with pytest.raises(KeyboardInterrupt):
        flow.offer(ViewFrame({"number": 1}, b""))
    flow.drawn(0)
    assert sent == [1]
