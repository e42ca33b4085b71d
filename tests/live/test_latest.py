"""One call for all that was asked for in a burst."""

import asyncio
import signal
import threading
import time

from dsim.live.latest import Latest
from tests.stopping import press


def run(*steps):
    """Calls `steps` in a loop of events; gives how many calls each led to."""
    counts = []

    async def person():
        calls = []
        latest = Latest(lambda: calls.append(1), lambda: None)
        for step in steps:
            step(latest)
            await asyncio.sleep(0.1)
            counts.append(len(calls))

    asyncio.run(person())
    return counts


def burst(latest):
    for _ in range(5):
        latest.ask()


def from_a_thread(latest):
    thread = threading.Thread(target=burst, args=(latest,))
    thread.start()
    thread.join()


def taken_back(latest):
    latest.ask()
    latest.cancel()


def taken_back_and_asked_again(latest):
    taken_back(latest)
    latest.ask()


def test_a_burst_is_one_call():
    assert run(burst, burst, from_a_thread) == [1, 2, 3]


def test_what_was_taken_back_is_not_called():
    assert run(taken_back, burst, taken_back_and_asked_again) == [0, 1, 2]


def test_what_asks_while_it_is_called_gets_another_call():
    calls = []

    async def person():
        def act():
            calls.append(latest.asked)
            if len(calls) < 3:
                latest.ask()

        latest = Latest(act, lambda: None)
        latest.ask()
        assert latest.asked
        await asyncio.sleep(0.3)

    asyncio.run(person())
    assert calls == [False, False, False]


def test_without_a_loop_it_is_called_at_once():
    calls = []
    latest = Latest(lambda: calls.append(1), lambda: None)
    latest.ask()
    assert calls == [1]
    asyncio.run(asyncio.sleep(0))
    latest.ask()
    assert calls == [1, 1]


def test_an_interrupt_is_told_and_goes_no_further():
    told = []

    async def person():
        def act():
            raise KeyboardInterrupt

        Latest(act, lambda: told.append("stopped")).ask()
        await asyncio.sleep(0.1)

    asyncio.run(person())
    assert told == ["stopped"]


def test_an_interrupt_is_heard_where_the_session_ignores_it_between_messages():
    told = []

    def act():
        press()
        time.sleep(5)
        told.append("went on")

    async def person():
        Latest(act, lambda: told.append("stopped")).ask()
        await asyncio.sleep(0.1)
        told.append(signal.getsignal(signal.SIGINT))

    loop = asyncio.new_event_loop()  # `asyncio.run` has a handler of its own
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        loop.run_until_complete(person())
    finally:
        signal.signal(signal.SIGINT, before)
        loop.close()
    assert told == ["stopped", signal.SIG_IGN]
