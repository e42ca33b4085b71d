"""Reference cycles: garbage of a program that only Python's cyclic collector can free."""

import gc
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
