"""The memory of a field: one buffer, and its companions.

A field's numbers lie in one NumPy buffer that never moves, so that launches are prepared once. What
belongs to it (gradient, tangent, the tangent of the gradient …) are its *companions*: fields of the same
shape, found by their derivative. Getting at the numbers is `fields.py`'s.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, Self

import numpy as np

from dsim.backends.locks import short_lock
from dsim.diagnostics import Diagnostic, GradientError, LaunchError
from dsim.ir.types import ScalarType
from dsim.runtime.fields import holders
from dsim.runtime.fields.memory_places import zeros
from dsim.runtime.fields.overtaken import say_cleared
from dsim.runtime.state import turns
from dsim.runtime.state.pressure import PRESSURE
from dsim.runtime.state.registry import Registry
from dsim.runtime.state.stack import explanation
from dsim.runtime.state.write_clock import CLOCK, Writers

BAR: tuple[str, ...] = ("bar",)
DOT: tuple[str, ...] = ("dot",)
_WORDS = {"bar": "grad", "dot": "dual"}
_numbers = itertools.count()


class Storage:
    """Typed memory with companions; see `Field`."""

    __dsim_field__ = True
    word = "field"  # what messages call it without a name of its own
    constant = False  # whether kernels take it for one: of a slot
    kernels: Any = None  # of a root: those that were made for it (specialisations.py)
    summed: int | None = 0  # when the last tape ended that added to it; None if it is settled (leftover.py)

    def __init__(self, dtype: ScalarType, entry_shape: tuple[int, ...], name: str) -> None:
        self.dtype = dtype
        self.entry_shape = entry_shape
        self.given_name = name
        self.number = next(_numbers)
        self._root: Self | None = None  # not itself: an unreferenced field is freed at once
        self.derivative: tuple[str, ...] = ()
        self.companions: dict[tuple[str, ...], Self] = {}  # of a root, shared by all of them
        self.buffer: np.ndarray | None = None
        self.wanted = True  # by a user; scratch companions of a tape are not
        self.dropped = False  # of a root: by `reset`
        self.touched = 0  # of a gradient or tangent: the turn in which it was written; 0: it is zero
        self.cleared = 0  # the turn in which a tape or forward mode has set it to zero
        self.changed = 0  # when Python last wrote to it, on the write clock
        self.writers = Writers()
        self._shape: tuple[int, ...] = ()
        self.first: tuple[int, ...] = ()  # of a root: its first indices, when they are not 0
        self.node: Any = None  # of a root: where it is placed (layout.py)
        self.parts: set[tuple[int, ...]] = set()  # of a root: which components were placed by themselves
        self.operations: dict[Any, Any] = {}  # what Python does to it, as forms (host_kernels.py)

    @property
    def root(self) -> Self:
        """The field that this is a gradient or tangent of, or itself."""
        return self if self._root is None else self._root

    # -- for the frontend: this is no component (components.py) of another field

    component: tuple[int, ...] = ()

    @property
    def whole(self) -> Self:
        """The field that this is a component of: itself."""
        return self

    @property
    def offset(self) -> tuple[int, ...]:
        """The first index along each axis; ``()`` when they are 0."""
        return self.root.first

    # -- names

    @property
    def name(self) -> str:
        """Its name in the user's program, if known: ``x``, ``x.grad``."""
        base = self.root.given_name or f"the {self.word}"
        return ".".join((base, *(_WORDS[d.rstrip("0123456789")] for d in self.derivative)))

    @property
    def quoted(self) -> str:
        """The name for the middle of a sentence: in backquotes when it is one."""
        return f"`{self.name}`" if self.root.given_name else self.name

    # -- placement and companions

    @property
    def placed(self) -> bool:
        """Whether it has memory that a user may use."""
        return self.buffer is not None and self.wanted

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each of its axes; ``()`` for a field without axes, and for one without memory yet."""
        return self._shape

    @shape.setter
    def shape(self, shape: tuple[int, ...]) -> None:
        if self.buffer is not None:
            message = f"the shape of {self.quoted} cannot be set: it is that of its memory, {self._shape}"
            raise LaunchError(Diagnostic("argument", message, help="make another field, and copy into it"))
        self._shape = shape

    @property
    def full_shape(self) -> tuple[int, ...]:
        """The shape of its memory: that of the field, then that of an entry."""
        return self.shape + self.entry_shape

    def allocate(self, shape: tuple[int, ...]) -> None:
        """Gives it memory, of zeros, if it has none."""
        if self.buffer is None:
            PRESSURE.add(math.prod(shape) * self.numbers * self.dtype.numpy.itemsize, holders.in_use)
            with _ALLOCATING:
                self._allocate(shape)

    def _allocate(self, shape: tuple[int, ...]) -> None:
        if self.buffer is not None:  # another thread came first
            return
        self.shape = shape
        buffer = _zeros(shape + self.entry_shape, self.dtype.numpy)
        if self.buffer is None:  # else a signal handler came in between
            self.buffer = buffer
        holders.note(self)
        if self.derivative:
            COMPANIONS.add(self)

    def give(self, shape: tuple[int, ...]) -> None:
        """Gives it memory, of zeros, until `drop_all` takes it back: a user placed it.

        Raises
        ------
        LaunchError
            When it was taken back already.
        """
        if self.dropped:
            raise self._unplaced()
        self.allocate(shape)
        GIVEN.add(self)

    def drop(self) -> None:
        """Takes its memory back for good, and that of its companions."""
        self.dropped = True
        for f in (self, *self.companions.values()):
            f.buffer, f.touched = None, 0
            COMPANIONS.discard(f)
            f.operations.clear()
            f.kernels = None

    def companion(self, derivative: tuple[str, ...]) -> Self:
        """The derivative `derivative` of the root as a field; without memory until it is allocated."""
        root = self.root
        if not derivative:
            return root
        found = root.companions.get(derivative)
        if found is None:
            found = type(root)(self.dtype, self.entry_shape, "")
            found._root, found.derivative, found.companions = root, derivative, root.companions
            found.shape, found.wanted = root.shape, False
            found = root.companions.setdefault(derivative, found)  # another thread may have come first
        return found

    def want(self, derivative: tuple[str, ...]) -> Self:
        """The companion, marked as requested by the user; it gets memory as soon as the root has it."""
        found = self.companion(derivative)
        found.wanted = True
        if self.root.buffer is not None:
            found.allocate(self.root.shape)
        return found

    def scratch(self, derivative: tuple[str, ...]) -> Self:
        """The companion with memory, also if the user did not request it."""
        found = self.companion(derivative)
        found.allocate(self.root.shape)
        return found

    @property
    def grad(self) -> Self:
        """The gradient of the loss with respect to this field: a field of the same shape."""
        if not self.dtype.is_float:
            raise self._no_companion("gradient")
        return self.companion(self.derivative + BAR)

    @property
    def dual(self) -> Self:
        """The tangent of this field in forward mode: a field of the same shape."""
        if not self.dtype.is_float:
            raise self._no_companion("tangent")
        return self.companion(self.derivative + DOT)

    def _no_companion(self, what: str) -> GradientError:
        message = f"{self.quoted} holds {self.dtype}: integers have no {what}"
        return GradientError(Diagnostic("missing-gradient", message, help="make it a float field"))

    @property
    def needs_grad(self) -> bool:
        """Whether it has a gradient."""
        # A tape asks each field of a launch: a call of a function for both would take 5 % of a short tape.
        found = self.companions.get(self.derivative + BAR)
        return found is not None and found.wanted

    @property
    def needs_dual(self) -> bool:
        """Whether it has a tangent."""
        found = self.companions.get(self.derivative + DOT)
        return found is not None and found.wanted

    @property
    def numbers(self) -> int:
        """How many numbers an entry has."""
        return math.prod(self.entry_shape)

    def written_by_python(self) -> None:
        """Notes that its numbers were changed directly."""
        self.touched = turns.current()
        self.changed = CLOCK.now

    def looked_at(self) -> None:
        """Called when the user reads it: warns why its numbers are zero, if that is known."""
        if self.derivative:
            explain = explanation(self.derivative[-1])
            if self.cleared and not self.touched and say_cleared(self):
                if explain is not None:
                    explain.told(self)
            elif explain is not None:
                explain(self)

    def require(self) -> np.ndarray:
        """Its memory.

        Raises
        ------
        LaunchError
            When it has none yet.
        """
        if self.buffer is None or not self.wanted:
            raise self._unplaced()
        return self.buffer

    def require_memory(self) -> np.ndarray:
        """Its memory, also if the user did not request it."""
        if self.buffer is None:
            raise self._unplaced()
        return self.buffer

    def _unplaced(self) -> LaunchError | GradientError:
        if self.root.dropped:
            message = f"{self.quoted} was dropped by `reset()`"
            return LaunchError(Diagnostic("unplaced", message, help="create it again after a `reset()`"))
        if not self.derivative or self.root.buffer is None:
            advice = "give `shape=` to `field(…)`, or call `root.place(…)` or `root.dense(…).place(…)` first"
            return LaunchError(Diagnostic("unplaced", f"{self.quoted} has not been placed yet", help=advice))
        whose = Storage.companion(self, self.derivative[:-1])
        word, option = (
            ("gradient", "needs_grad") if self.derivative[-1] == "bar" else ("tangent", "needs_dual")
        )
        advice = f"declare the field with `{option}=True`"
        if word == "tangent":
            advice += ", or differentiate with respect to it inside `ad.FwdMode`"
        message = f"{whose.quoted} has no {word}"
        return GradientError(Diagnostic("missing-gradient", message, help=advice))


def newest() -> int:
    """A number that fields made later exceed."""
    return next(_numbers)


def drop_all() -> None:
    """Takes back the memory of all that people placed."""
    for f in GIVEN:
        f.drop()
    GIVEN.clear()


_ALLOCATING = short_lock()
# Root fields with memory that users placed, as weak references, for `reset()`, which drops all of them.
GIVEN: Registry[Any] = Registry()
# Gradients and tangents with memory, as weak references: a tape sets to 0 all that its thread has written,
# also those of fields that it never sees. Dropping or collection of a field removes them.
COMPANIONS: Registry[Any] = Registry()


def _zeros(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    try:
        return zeros(shape, dtype)
    except (MemoryError, ValueError, OverflowError):
        size = math.prod(shape) * dtype.itemsize
        message = (
            f"a field of shape {shape} and type {dtype} needs {size / 2**30:.3g} GiB, which are not available"
        )
        raise LaunchError(Diagnostic("memory", message, help="make it smaller")) from None
