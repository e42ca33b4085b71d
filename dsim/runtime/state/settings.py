"""The settings in force: those of `init`, or the defaults. Listeners are notified of a change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from dsim.backends.locks import COMPILING
from dsim.frontend.values.types import DefaultUnsigned, unsigned
from dsim.ir.types import ScalarType, f32, i32
from dsim.runtime.state.registry import Registry

LOOP_MEMORY = 1 << 28  # bytes


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of kernels and fields created from now on.

    Attributes
    ----------
    default_fp, default_ip : ScalarType
        What Python's `float` and `int` mean as types, and what literals are.
    debug : bool
        Without effect so far: indices and assertions are always checked.
    check_bounds : bool
        Indices outside a field are errors (otherwise they are not checked).
    random_seed : int
        Chooses the sequence of random numbers.
    threads : int
        The most threads that a launch may use; 0 for as many as the machine has.
    deterministic : bool
        Sums of floats do not depend on which thread comes first, nor on how many there are.
    strict : bool
        Warnings about kernels are errors.
    fast_math : bool
        Whether floating point may be reordered and contracted.
    loop_memory : int
        Bytes that loops in a kernel may save at a time for its gradient, before they are cut into segments.
    backend : str
        ``"cpu"``: machine code; ``"reference"``: readable Python, the oracle of the tests.
    """

    default_fp: ScalarType = f32
    default_ip: ScalarType = i32
    debug: bool = False
    check_bounds: bool = True
    random_seed: int = 0
    threads: int = 0
    deterministic: bool = False
    strict: bool = False
    fast_math: bool = True
    loop_memory: int = LOOP_MEMORY
    backend: str = "cpu"


# What `init` chose, for all threads as in Taichi, and the kernels to tell of a change, as weak references.
# Only `change` writes it; a compilation reads it once, and passes it on as an argument.
class _State:
    current = Settings()
    listeners: ClassVar[Registry[Any]] = Registry()


def current() -> Settings:
    """The settings in force."""
    return _State.current


def change(settings: Settings) -> None:
    """Puts `settings` in force; whoever compiled under others forgets what it compiled.

    A thread that compiles meanwhile finishes what it does, under the settings with which it began.
    """
    with COMPILING:
        _State.current = settings
        for listener in _State.listeners:
            listener.settings_changed()


def listen(listener: object) -> None:
    """Has ``listener.settings_changed()`` called when settings change, as long as `listener` lives."""
    _State.listeners.add(listener)


def default_type(dtype: object) -> ScalarType | None:
    """The scalar type that `dtype` means: itself, or the default one of Python's float, int or bool."""
    if isinstance(dtype, ScalarType):
        return dtype
    chosen: dict[object, Callable[[], ScalarType]] = {
        float: lambda: current().default_fp,
        int: lambda: current().default_ip,
        DefaultUnsigned: lambda: unsigned(current().default_ip),
    }
    found = chosen.get(dtype) if isinstance(dtype, type) else None
    return found() if found else None
