"""Which frames go to a page, and when."""

import pytest

from dsim.live.flow import Flow
from dsim.live.scene.scene import ViewFrame


class Seconds:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Seconds()


@pytest.fixture
def sent():
    return []


@pytest.fixture
def flow(clock, sent):
    made = Flow(lambda frame: sent.append(frame.header["number"]), clock)
    made.seen(True)
    return made


def frame(number):
    return ViewFrame({"number": number}, b"")


def test_two_frames_are_under_way_and_the_newest_waits(flow, sent):
    for number in range(1, 6):
        flow.offer(frame(number))
    assert sent == [1, 2]
    assert not flow.ready
    flow.drawn(1)
    assert sent == [1, 2, 5]
    flow.drawn(2)
    assert sent == [1, 2, 5]
    assert flow.ready


def test_an_answer_is_for_all_frames_before_it(flow, sent):
    for number in (1, 2, 3):
        flow.offer(frame(number))
    flow.drawn(2)
    flow.offer(frame(4))
    assert sent == [1, 2, 3, 4]


def test_answers_twice_or_out_of_order_do_no_harm(flow, sent):
    flow.offer(frame(1))
    flow.offer(frame(2))
    flow.drawn(2)
    flow.drawn(1)
    flow.drawn(1)
    for number in (3, 4, 5):
        flow.offer(frame(number))
    assert sent == [1, 2, 3, 4]


def test_a_hidden_view_gets_nothing_and_the_newest_when_it_is_back(flow, sent):
    flow.seen(False)
    for number in (1, 2, 3):
        flow.offer(frame(number))
    assert sent == []
    assert not flow.ready
    flow.seen(True)
    assert sent == [3]


def test_nothing_is_sent_before_a_page_shows_the_view(clock, sent):
    flow = Flow(lambda frame: sent.append(frame.header["number"]), clock)
    flow.offer(frame(1))
    assert (sent, flow.visible) == ([], False)


def test_a_page_that_appears_again_owes_no_answers(flow, sent):
    flow.offer(frame(1))
    flow.offer(frame(2))
    flow.seen(True)
    flow.offer(frame(3))
    assert sent == [1, 2, 3]


def test_a_frame_without_an_answer_for_a_second_counts_as_drawn(flow, sent, clock):
    flow.offer(frame(1))
    flow.offer(frame(2))
    flow.offer(frame(3))
    clock.now = 0.9
    flow.offer(frame(4))
    assert sent == [1, 2]
    clock.now = 1.0
    flow.offer(frame(5))
    assert sent == [1, 2, 5]


def test_what_is_sent_while_it_is_sent_waits_for_its_turn(clock):
    """A front end may answer at once, from the inside of a send."""
    sent = []

    def send(frame):
        sent.append(frame.header["number"])
        flow.drawn(frame.header["number"])

    flow = Flow(send, clock)
    flow.seen(True)
    for number in (1, 2, 3):
        flow.offer(frame(number))
    assert sent == [1, 2, 3]


def test_a_word_that_has_waited_does_not_count_after_newer_ones(flow, sent):
    assert flow.seen(True, "p", 1)
    assert flow.seen(False, "p", 2)
    assert not flow.seen(True, "p", 1)
    flow.seen(False)
    assert not flow.visible
    assert flow.seen(True, "other", 1)
    assert flow.visible


def test_a_repeated_word_sends_nothing_again(flow, sent):
    flow.seen(True, "p", 1)
    for number in range(1, 6):
        flow.offer(frame(number))
    assert not flow.seen(True, "p", 1)
    assert sent == [1, 2]


def test_two_frames_are_spread_over_a_round_trip(flow, sent, clock):
    flow.offer(frame(1))
    clock.now = 0.1
    flow.drawn(1)  # a mean of 0.03 seconds so far
    flow.offer(frame(2))
    clock.now = 0.11
    assert not flow.ready
    flow.offer(frame(3))
    assert sent == [1, 2]
    clock.now = 0.12
    assert flow.ready
    flow.offer(frame(4))
    assert sent == [1, 2, 4]
    flow.offer(frame(5))
    flow.drawn(4)  # nothing is under way: the newest waits no longer
    assert sent == [1, 2, 4, 5]
