"""The differences between the machines that the LLVM emitter supports.

Everything in which machine code for one machine differs from that for another goes through these methods and
attributes, or through the form of a kernel's tasks: `parallel` for the threads of a processor, `grid` for
those of a device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from dsim.backends.llvm.float_mode import FloatMode
from dsim.backends.llvm.text import Function, Module
from dsim.ir.types import ScalarType


class Heap(NamedTuple):
    """Where private buffers and undo logs of one function get memory.

    Attributes
    ----------
    source : str
        The first argument of these functions: what they take memory from.
    functions : mapping
        ``dsim_alloc(source, spare, size, zeroed)``: an address, or null when memory is lacking;
        ``dsim_free(source, address, size)``, in the reverse order; ``dsim_zero(source, address, size)``, if
        `apart` is not 1; ``dsim_grow(source, log)``: more room for an undo log, and whether there was memory
        for that; ``dsim_discard(source, log)``.
    take, give_back : str
        For the function that compacts an undo log: how it gets ``%size`` bytes at ``%values``, and how it
        gives them back.
    on_stack, stack : int
        Bytes of the largest buffer on the stack, and of all of one function.
    handed : str
        The first parameter, and argument, of functions of an undo log; empty, or with a comma behind it.
    entries : str
        For functions of an undo log: how they read ``%entries``, where these are, at ``%log``.
    entry, value : str
        For the same: how they find ``%{at}``, the address of entry number ``%{number}``, and ``%{value}``,
        that of the value in the entry at ``%{at}``.
    kept : str
        For the function that compacts: how it finds ``%{at}``, the address of value number ``%{number}`` of
        type ``{type}`` at ``%values``.
    known : callable
        Writes an address that these functions gave, with what the target knows about it.
    apart : callable
        Writes how many words lie from one word of such memory to the next.
    least : int
        The least bytes of an element.
    spare : int
        Bytes on the stack for a buffer whose size is known at run time, if it fits there.
    """

    source: str
    functions: Mapping[str, str]
    take: str
    on_stack: int
    stack: int
    give_back: str = ""
    handed: str = ""
    entries: str = "%entries = load ptr, ptr %log, align 8"
    entry: str = "%{at} = getelementptr inbounds [2 x i64], ptr %entries, i64 %{number}"
    value: str = "%{value} = getelementptr inbounds i64, ptr %{at}, i64 1"
    kept: str = "%{at} = getelementptr inbounds {type}, ptr %values, i64 %{number}"
    known: Callable[[Function, str], str] = lambda _, address: address
    apart: Callable[[Function], int | str] = lambda _: 1
    least: int = 1
    spare: int = 0


class Target(Protocol):
    """One machine.

    Attributes
    ----------
    heap : Heap
        Where private buffers and undo logs get memory.
    polls : bool
        Whether loops look whether the launch is to be stopped.
    """

    heap: Heap
    polls: bool

    def libm(self, f: Function, name: str, t: ScalarType, args: tuple[str, ...]) -> str:
        """The value of C's function `name` of floats of 32 or 64 bits."""
        ...

    def fmod(self, module: Module, t: ScalarType) -> str:
        """The name of C's `fmod` where the instruction `frem` is not that; else nothing."""
        ...

    def lanes(self, t: ScalarType) -> tuple[int, ...]:
        """How many numbers of the float type `t` its vectors may hold; none where there are no vectors."""
        ...

    def print(self, f: Function, which: int, values: list[str]) -> None:
        """Prints by statement number `which` of the messages; values as 64 bits."""
        ...


class HostTarget(Target, Protocol):
    """A processor, whose threads a launch shares with everything else.

    Attributes
    ----------
    float_mode : FloatMode, optional
        The register with its mode of floating point, where threads have one.
    """

    float_mode: FloatMode | None

    def finish(self, module: Module) -> None:
        """Adds what the module needs once all functions are written."""
        ...
