"""A kernel as machine code, of which there are at most two variants: see `machine.py`.

Who is about to launch several kernels compiles them together: LLVM translates one on another thread while
this one emits the next.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np

from dsim.analysis.bounds import Bounds
from dsim.analysis.effects import Effects
from dsim.backends.cpu import builtin_calls, images, team
from dsim.backends.cpu.code import MachineCode
from dsim.backends.cpu.runtime import runtime
from dsim.backends.cpu.target import CpuTarget
from dsim.backends.cpu.variant import Variant
from dsim.backends.llvm.kernel import FusedCopies, Strides, TripReach, Wishes
from dsim.backends.llvm.parallel import emit
from dsim.backends.llvm.parallel.emit import Emitted
from dsim.backends.locks import COMPILING, room_to_compile
from dsim.backends.uninterrupted import uninterrupted
from dsim.ir.nodes import KernelIR, MemoryKey, Probe
from dsim.ir.walk import statements, written
from dsim.weak_mappings import WeakValues

_TARGET = CpuTarget()
# Machine code by a hash of its module's text, as weak references: a cell that runs again makes new kernels of
# the same text. Code goes with the last kernel that can launch it, the last 256 modules stay for such cells.
_CODE: WeakValues[bytes, MachineCode] = WeakValues()
_RECENT: deque[MachineCode] = deque(maxlen=256)
_LEVEL = images.SPEED  # of kernels that users run
Begin = Callable[[str, int], Future[bytes]]  # lets another thread make the object file of a module


@dataclass(eq=False)
class CompiledKernel:
    """A kernel as machine code.

    Attributes
    ----------
    kernel : KernelIR
        What was compiled.
    bounds : Bounds or None
        The results of bounds analysis; None when no access is checked.
    strides : mapping
        Element strides of memories that are not in C order.
    threads : int
        The most threads that its loops are split among; 1: none.
    copies : FusedCopies or None
        Copies of a memory that it makes for a `LaunchTable`, which says where to.
    """

    kernel: KernelIR
    bounds: Bounds | None
    strides: Strides
    threads: int
    deterministic: bool
    facts: Effects | None
    copies: FusedCopies | None = None
    written: frozenset[MemoryKey] = field(init=False)
    dtypes: dict[MemoryKey, np.dtype] = field(init=False)
    _variants: dict[bool, Variant] = field(init=False, default_factory=dict)
    _copied: dict[MemoryKey, TripReach | None] = field(init=False, default_factory=dict)
    _begun: tuple[Emitted, Future[bytes] | None] | None = field(init=False, default=None)
    _level: int = field(init=False)

    def __post_init__(self) -> None:
        found = map(written, statements(self.kernel.body))
        self.written = frozenset(m.key for m in found if m is not None)
        self.dtypes = {m.key: m.type.numpy for m in self.kernel.memories}
        watched = any(isinstance(s, Probe) for s in statements(self.kernel.body))
        self._level = images.QUICK if watched else _LEVEL  # a watched kernel is used a few times only

    def variant(self, *, checked: bool) -> Variant:
        """One of the two variants, compiled when first asked for."""
        found = self._variants.get(checked)
        if found is None:
            with COMPILING, room_to_compile(), uninterrupted():
                found = self._variants.get(checked)
                if found is None:
                    found = self._variants[checked] = self._compile(checked)
        return found

    def begin(self, begin: Begin) -> None:
        """Begins to compile the variant for launches within bounds, which `variant` then waits for."""
        with COMPILING, room_to_compile(), uninterrupted():
            if False not in self._variants and self._begun is None:
                emitted = emit.emit(self.kernel, _TARGET, self._wishes(False), self.facts)
                known = _hash(emitted) in _CODE
                self._begun = emitted, None if known else begin(emitted.text, self._level)

    def forget_begun(self) -> None:
        """Forgets what `begin` began, where `variant` did not come to use it."""
        self._begun = None

    def _wishes(self, checked: bool) -> Wishes:
        safe = ("proved",) if checked else ("proved", "launch")
        sites = self.bounds.sites if self.bounds is not None else None

        def unchecked(site: int) -> bool:
            return sites is None or sites.get(site, "checked") in safe

        return Wishes(
            unchecked,
            checks=sites is not None,
            strides=self.strides,
            threads=self.threads,
            deterministic=self.deterministic,
            copies=self.copies,
        )

    def copied(self, key: MemoryKey) -> TripReach | None:
        """What a loop of it touches of the memory `key`, if copies can be fused into the loop."""
        with COMPILING, uninterrupted():
            if key not in self._copied:
                self._copied[key] = emit.copied(self.kernel, _TARGET, self._wishes(False), self.facts, key)
            return self._copied[key]

    def _compile(self, checked: bool) -> Variant:
        builtin_calls.begin()
        wishes = self._wishes(checked)
        begun, self._begun = (None, self._begun) if checked else (self._begun, None)
        emitted, image = begun or (emit.emit(self.kernel, _TARGET, wishes, self.facts), None)
        if emitted.parallel:
            team.begin()

        def search(statement: int) -> tuple[Emitted, MachineCode]:
            with COMPILING, room_to_compile(), uninterrupted():
                found = emit.emit_search(self.kernel, _TARGET, wishes, self.facts, statement)
                return found, _code(found, _LEVEL)

        code = _code(emitted, self._level, image)
        if emitted.parallel:
            runtime().start_threads()
        return Variant(self.kernel, emitted._replace(text="", shared={}), code, search)

    @property
    def llvm(self) -> str:
        """The optimised LLVM IR of the variant for launches within bounds."""
        return self.variant(checked=False).code.llvm

    @property
    def asm(self) -> str:
        """Its assembly."""
        return self.variant(checked=False).code.asm


def _code(emitted: Emitted, level: int, image: Future[bytes] | None = None) -> MachineCode:
    """The machine code of a module, shared with equal ones."""
    key = _hash(emitted)
    found = _CODE.get(key)
    if found is None:
        found = _CODE[key] = MachineCode(emitted.text, emitted.shared, level, image)
        _RECENT.append(found)
    return found


def _hash(emitted: Emitted) -> bytes:
    return hashlib.blake2b(emitted.text.encode()).digest()
