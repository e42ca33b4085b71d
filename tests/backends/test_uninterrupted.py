"""Ctrl-C while LLVM compiles comes when it is done."""

import signal
import sys
import threading

import pytest
from llvmlite.binding import ffi, get_host_cpu_name

import dsim as ds
from dsim.backends.cpu import images
from dsim.backends.uninterrupted import uninterrupted
from tests.runtime.compiling import compile_anew
from tests.stopping import press


def test_a_kernel_that_is_interrupted_while_it_compiles(monkeypatch):
    compile_anew(monkeypatch)
    y, ends = ds.field(ds.f64, shape=3), []
    optimised = images.optimised

    def pressed(text, level):
        press()
        made = optimised(text, level)
        ends.append(True)
        return made

    @ds.kernel
    def fill():
        for i in y:
            y[i] = 2.0 * i + 0.8125

    monkeypatch.setattr(images, "loaded", lambda *_: None)
    with monkeypatch.context() as patch:
        patch.setattr(images, "optimised", pressed)
        with pytest.raises(KeyboardInterrupt):
            fill()
    assert ends
    fill()
    assert y.to_numpy().tolist() == [0.8125, 2.8125, 4.8125]


def test_the_handler_is_that_from_before_and_gets_the_signal():
    got = []
    before = signal.signal(signal.SIGINT, lambda number, _: got.append(number))
    try:
        mine = signal.getsignal(signal.SIGINT)
        with uninterrupted():
            press()
            signal.raise_signal(signal.SIGINT)
            assert got == []
        assert got == [signal.SIGINT]
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_what_is_no_function_stays(handler):
    before = signal.signal(signal.SIGINT, handler)
    try:
        with uninterrupted():
            assert signal.getsignal(signal.SIGINT) == handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_set_no_handler():
    found = []

    def work():
        with uninterrupted():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGINT)]


@pytest.mark.parametrize("number", [1, 12])
def test_an_interrupt_inside_of_llvmlite_leaves_no_lock_held(monkeypatch, number):
    """Other threads could not compile any more."""
    compile_anew(monkeypatch)
    monkeypatch.setattr(images, "loaded", lambda *_: None)
    y, left = ds.field(ds.f64, shape=3), []

    def watch(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_name == "__exit__" and code.co_filename == ffi.__file__:
            left.append(True)
            if len(left) == number:
                sys.setprofile(None)
                press()

    @ds.kernel
    def fill():
        for i in y:
            y[i] = 3.0 * i + 0.8125

    sys.setprofile(watch)
    try:
        with pytest.raises(KeyboardInterrupt):
            fill()
    finally:
        sys.setprofile(None)
    assert len(left) == number
    names = []
    thread = threading.Thread(target=lambda: names.append(get_host_cpu_name()), daemon=True)
    thread.start()
    thread.join(60)
    assert names
    fill()
    assert y.to_numpy().tolist() == [0.8125, 3.8125, 6.8125]
