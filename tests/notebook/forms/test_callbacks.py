"""Callbacks of widgets in other threads wait for a report that is computed, and it for them."""

import threading

from dsim.notebook.forms.callbacks import Callbacks


def in_thread(act):
    thread = threading.Thread(target=act)
    thread.start()
    return thread


def test_a_callback_of_another_thread_waits_for_what_is_computed():
    callbacks, order = Callbacks(), []

    def callback():
        callbacks.begins()
        order.append("callback")
        callbacks.ended()

    with callbacks.apart() as free:
        assert free
        thread = in_thread(callback)
        thread.join(0.05)
        order.append("computed")
    thread.join()
    assert order == ["computed", "callback"]


def test_nothing_is_computed_while_a_callback_runs():
    callbacks, begun, go_on = Callbacks(), threading.Event(), threading.Event()

    def callback():
        callbacks.begins()
        begun.set()
        go_on.wait()
        callbacks.ended()

    thread = in_thread(callback)
    begun.wait()
    with callbacks.apart() as free:
        assert not free
    go_on.set()
    thread.join()
    with callbacks.apart() as free:
        assert free


def test_cells_of_the_same_thread_do_not_wait_for_themselves():
    callbacks = Callbacks()
    callbacks.begins()
    with callbacks.apart() as free:
        assert free
        callbacks.begins()
        callbacks.ended()
    callbacks.ended()


def test_a_callback_whose_thread_died_is_forgotten():
    callbacks = Callbacks()
    in_thread(callbacks.begins).join()
    with callbacks.apart() as free:
        assert free
