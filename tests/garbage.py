"""Reference cycles: garbage of a program that only Python's cyclic collector can free."""

import gc
import sys
from collections import Counter
from contextlib import contextmanager


@contextmanager
def collector_off():
    """Inside, what goes goes because nothing refers to it any more."""
    gc.collect()  # what others left is not counted
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def called_where_it_goes(held):
    """The functions of Python's that are called while the objects in a list go, which nobody else holds."""
    called = []
    with collector_off():
        sys.setprofile(lambda frame, event, _: event == "call" and called.append(frame.f_code.co_name))
        try:
            held.clear()
        finally:
            sys.setprofile(None)
    return called


def left(program):
    """The types of dsim's objects that `program` left in reference cycles, with their numbers.

    It is run often, and looked at the last time: what the first run makes for later ones does not count,
    nor what shadow arrays keep of earlier programs for some more contexts.
    """
    for _ in range(5):
        program()
    with collector_off():
        program()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            gc.collect()
            types = (type(o) for o in gc.garbage)
            return Counter(t.__qualname__ for t in types if t.__module__.startswith("dsim"))
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
