"""Reference cycles: garbage of a program that only Python's cyclic collector can free."""

import gc
from collections import Counter
from contextlib import contextmanager


@contextmanager
def collector_off():
    """Inside, what goes goes because nothing refers to it any more."""
    gc.disable()
    gc.freeze()  # what is there already takes long to look at
    try:
        yield
    finally:
        gc.unfreeze()
        gc.enable()


def left(program):
    """The types of dsim's objects that `program` left in reference cycles, with their numbers.

    It is run twice, and looked at the second time: what the first run makes for later ones does not count.
    """
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
