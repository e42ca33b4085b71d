"""A kernel with its analysis results, the kernels derived from it, and its machine code.

A user's kernel, its tangent, its adjoint and the tangent of that are all programs: each can be compiled
and derived again. A program names memories and refers to no fields; `forms.py` binds it to fields. Programs
made from one another are kept, so each is made and compiled once, on whatever fields it is launched.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from dsim.analysis.access_rules import Overwrite, overwritten
from dsim.analysis.activity import of_kernel, spread
from dsim.analysis.effects import Effects, effects, is_write
from dsim.analysis.global_sums import global_sums
from dsim.analysis.regions import Regions, regions, written
from dsim.autodiff import Adjoint, Made, by_symmetry, forward, reverse, rules_read, writes_again
from dsim.autodiff.batched_tangents import TangentNames, forward_batch
from dsim.ir import sites
from dsim.ir.nodes import Accumulate, Block, KernelIR, Let, Load, Memory, MemoryKey, Probe, Store
from dsim.ir.walk import accesses, statements
from dsim.passes.kernel_fission import split
from dsim.passes.parallelization import in_series
from dsim.passes.private_copies import on_private_copies
from dsim.runtime.driver import pipeline
from dsim.runtime.state.once import kept, once
from dsim.runtime.state.settings import Settings

Keys = frozenset[MemoryKey]


class Program:
    """A kernel that can be compiled and derived.

    Parameters
    ----------
    kernel : KernelIR
        Without `Derive` nodes, sites numbered; or a function that makes it when it is first needed.
    settings : Settings
        What it is compiled by, whatever is in force by then.
    serial : bool
        Whether no loop may be parallel, in programs made from it neither.

    Attributes
    ----------
    adjoint_of : AdjointProgram or None
        How it was made, if it is an adjoint.
    is_part : bool
        Whether it is one of several that another one was cut into.
    """

    def __init__(
        self, kernel: KernelIR | Callable[[], KernelIR], settings: Settings, serial: bool = False
    ) -> None:
        self._given = kernel
        self.settings = settings
        self.serial = serial
        self.adjoint_of: AdjointProgram | None = None
        self.is_part = False
        self._kept: dict[Any, Any] = {}

    @once
    def kernel(self) -> KernelIR:
        """The kernel."""
        return self._given if isinstance(self._given, KernelIR) else self._given()

    @once
    def machine(self) -> pipeline.Machine:
        """The kernel, compiled."""
        return pipeline.machine(self.kernel, self.settings)

    # -- facts

    @once
    def floats(self) -> tuple[Memory, ...]:
        """The memories that can carry derivatives."""
        return tuple(m for m in self.kernel.memories if m.type.is_float)

    @once
    def written(self) -> tuple[MemoryKey, ...]:
        """The memories that it stores or accumulates to."""
        body = statements(self.kernel.body)
        found = (s.memory for s in body if isinstance(s, Store | Accumulate) and not s.memory.private)
        return tuple(dict.fromkeys(m.key for m in found))

    @once
    def touching(self) -> dict[MemoryKey, set[type]]:
        """The memories that it touches, each with the kinds of statement that do."""
        found: dict[MemoryKey, set[type]] = {}
        for s in accesses(self.kernel.body):
            if not s.memory.private:
                found.setdefault(s.memory.key, set()).add(type(s))
        return found

    @once
    def global_sums(self) -> dict[MemoryKey, Accumulate]:
        """The memories that its iterations add up in (`analysis.global_sums`)."""
        return global_sums(self.kernel)

    @once
    def gradients(self) -> tuple[MemoryKey, ...]:
        """The gradients and tangents that it reads."""
        read = (s.memory for s in accesses(self.kernel.body) if isinstance(s, Load) and not s.memory.private)
        return tuple(dict.fromkeys(m.key for m in read if m.derivative))

    def sites(self, kind: type[Load | Store]) -> frozenset[int]:
        """The sites of its loads, or of its stores."""
        return frozenset(s.site for s in statements(self.kernel.body) if isinstance(s, kind))

    def regions(self, chosen: frozenset[int] | None) -> Regions:
        """What the accesses at these sites reach; with None, everything that it stores or accumulates to."""
        return self._keep(
            ("regions", chosen),
            lambda: written(self.kernel) if chosen is None else regions(self.kernel, chosen),
        )

    def spread(self, keys: Keys) -> Keys:
        """`keys` and those into which it writes values that vary with them."""
        return self._keep(("spread", keys), lambda: spread(self.kernel, keys))

    def recording(self, keys: Keys) -> ProgramRecording:
        """What a tape needs to know to record it, where the memories `keys` carry adjoints."""
        return self._keep(("recording", keys), lambda: ProgramRecording(self, keys))

    def label_apart(self, active: Iterable[MemoryKey], base: str) -> str:
        """A name for companions of `active`, `base` if possible, that none of its memories has already."""
        used = {m.key for m in self.kernel.memories}
        label, number = base, 1
        while any((name, (*path, label)) in used for name, path in active):
            number += 1
            label = f"{base}{number}"
        return label

    # -- programs made from it

    def tangent(self, active: Keys, label: str) -> Program:
        """Runs it and carries the tangents of the `active` memories along."""
        return self._keep(
            ("tangent", active, label), lambda: self._derived(forward(self.kernel, active, label))
        )

    def tangents(self, active: Keys, count: int) -> tuple[Program, TangentNames]:
        """Runs it and carries tangents along `count` directions; and the memories that hold them."""

        def make() -> tuple[Program, TangentNames]:
            kernel, names = forward_batch(self.kernel, active, count)
            return self._derived(kernel), names

        return self._keep(("tangents", active, count), make)

    def adjoint(self, active: Keys, label: str, entry: Keys = frozenset()) -> AdjointProgram:
        """Its reverse sweep with respect to the `active` memories.

        It finds the memories `entry` as they were before the launch.
        """
        return self._keep(("adjoint", active, label, entry), lambda: self._reverse(active, label, entry))

    def parts(self, cuts: frozenset[int]) -> ProgramParts:
        """Programs that do in turn what it does: it is cut before those top-level statements."""
        return self._keep(("parts", cuts), lambda: self._parts(cuts))

    def stopped(self) -> Program:
        """It, with everything that it reads cut off from derivatives."""
        return self._keep("stopped", lambda: self._derived(pipeline.stopped(self.kernel)))

    def on_private_copies(self, keys: Keys) -> Program:
        """It, working on copies of these memories."""
        return self._keep(("copies", keys), lambda: self._derived(on_private_copies(self.kernel, keys)))

    def in_series(self) -> Program:
        """It, with its iterations one after the other."""
        if self.serial:
            return self
        return self._keep("in series", lambda: Program(in_series(self.kernel), self.settings, serial=True))

    def guarded(self) -> Program:
        """It, with its indices compared with the memories' shapes: no run of the primal vouches for them."""
        if self.settings.check_bounds:
            return self
        checked = replace(self.settings, check_bounds=True)
        made = self._keep("guarded", lambda: Program(self.kernel, checked, self.serial))
        made.adjoint_of = self.adjoint_of
        return made

    def _derived(self, kernel: KernelIR, settings: Settings | None = None) -> Program:
        """The program of a kernel that a transform made of this one's; passes run when it is first needed."""

        def make() -> KernelIR:
            derived = pipeline.derived(sites.number(kernel))
            return in_series(derived) if self.serial else derived

        return Program(make, settings or self.settings, self.serial)

    def _parts(self, cuts: frozenset[int]) -> ProgramParts:
        made = split(self.kernel, cuts)
        if len(made.kernels) == 1:
            return ProgramParts((self,), ())
        programs = tuple(self._derived(k) for k in made.kernels)
        for part in programs:
            part.is_part = True
        return ProgramParts(programs, made.between)

    def _reverse(self, active: Keys, label: str, entry: Keys) -> AdjointProgram:
        of = self.adjoint_of
        if of is None or not writes_again(self.kernel):
            made = reverse(self.kernel, active, label, entry)
        else:
            how = Made(of.launched.kernel, of.active, of.label, of.entry, of.needed)
            made = by_symmetry(self.kernel, how, active, label)
        checked = self.settings.check_bounds and rules_read(self.kernel)
        program = self._derived(made.kernel, replace(self.settings, check_bounds=checked))
        if of is not None and of.ordered:
            program = program.in_series()
        program.adjoint_of = AdjointProgram(self, program, made, active, label, entry)
        return program.adjoint_of

    def _keep(self, key: Any, make: Callable[[], Any]) -> Any:
        found = self._kept.get(key)
        return kept(self._kept, key, make) if found is None else found


class ProgramParts:
    """A program cut into several, and the memories between them.

    Attributes
    ----------
    programs : tuple of Program
        They run in this order.
    between : tuple of Memory
        Single numbers that go from one to another.
    """

    def __init__(self, programs: tuple[Program, ...], between: tuple[Memory, ...]) -> None:
        self.programs = programs
        self.between = between


class AdjointProgram:
    """The adjoint of `primal`, with what it asks of the values that the primal leaves.

    Attributes
    ----------
    program : Program
        What runs.
    active : frozenset of MemoryKey
        What it is the adjoint with respect to.
    label : str
        What the companions that hold the adjoints are called.
    entry : frozenset of MemoryKey
        The memories that it finds as they were before the primal ran.
    needed, lost, ordered, whole
        See `dsim.autodiff.Adjoint`.
    conflicts : tuple of Overwrite
        Needed values that the primal itself overwrites, of memories that are not in `entry`.
    keeps : bool
        Whether the primal leaves all that it needs.
    watched : bool
        Whether the primal shows what its lines assign; its adjoint then counts launches backwards.
    """

    def __init__(
        self, primal: Program, program: Program, made: Adjoint, active: Keys, label: str, entry: Keys
    ) -> None:
        self.primal, self.program = primal, program
        self.active, self.label, self.entry = active, label, entry
        self.needed, self.lost, self.ordered, self.whole = made.needed, made.lost, made.ordered, made.whole
        self.conflicts = self._conflicts()
        self.keeps = not self.conflicts and not self.lost
        self.watched = any(isinstance(s, Probe) for s in statements(primal.kernel.body))

    @once
    def launched(self) -> Program:
        """What to launch in the place of `primal`."""
        return self.primal.in_series() if self.ordered else self.primal

    @once
    def own(self) -> tuple[frozenset[int], frozenset[int]]:
        """The sites of what it reads, and of what the primal writes, of the memories `entry`."""
        touched = [s for s in accesses(self.primal.kernel.body) if s.memory.key in self.entry]
        reads = frozenset(s.site for s in touched if s.site in self.needed)
        return reads, frozenset(s.site for s in touched if not isinstance(s, Load))

    def _conflicts(self) -> tuple[Overwrite, ...]:
        if not self.needed:
            return ()
        facts = effects(self.primal.kernel)
        found = overwritten(self.primal.kernel, self.needed, facts)
        among = [c for c in found if c.read.memory.key not in self.entry]
        told = {c.read.memory.key for c in among}
        return (*among, *(_any_overwrite(facts, key) for key in sorted(self.whole - self.entry - told)))

    # -- when the primal overwrites what it reads

    def cuts(self) -> frozenset[int]:
        """Before which top-level statements to cut, so that reads and what overwrites them stand apart.

        A statement that overwrites what it reads itself stands alone. Nothing is cut of what has an adjoint
        as a whole only.
        """
        if self.whole:
            return frozenset()
        at = self._tops()
        pairs = [(at[c.read.site], at[c.write.site]) for c in self.conflicts]
        pairs += [(at[item.by.site], at[item.by.site]) for item in self.lost]
        cuts: set[int] = {n for p, q in pairs if p == q for n in (p, p + 1)}
        for p, q in sorted(pairs, key=lambda pair: pair[1]):
            if p < q and not any(p < cut <= q for cut in cuts):
                cuts.add(q)
        return frozenset(cuts)

    def _tops(self) -> dict[int, int]:
        """The number of the top-level statement that each access is in."""
        found: dict[int, int] = {}
        for n, top in enumerate(self.primal.kernel.body.statements):
            found.update((s.site, n) for s in accesses(Block((top,))))
        return found

    def from_entry(self) -> AdjointProgram:
        """The adjoint that finds what the primal overwrites as it was before.

        To write those memories again it may need more that the primal overwrites.
        """
        if self.keeps:
            return self
        spoilt = {c.read.memory.key for c in self.conflicts} | {item.by.memory.key for item in self.lost}
        return self.primal.adjoint(self.active, self.label, self.entry | spoilt).from_entry()

    def differentiable(self) -> AdjointProgram:
        """This, or one that has an adjoint itself.

        One that writes memories again has it if it reads no values as the primal left them.
        """
        kernel = self.program.kernel
        if not self.keeps or not writes_again(kernel):
            return self
        read = {s.memory.key for s in accesses(kernel.body) if isinstance(s, Load)}
        results = (read & self.active).intersection(self.primal.written) - self.entry
        if not results:
            return self
        more = self.primal.adjoint(self.active, self.label, self.entry | results)
        return more.from_entry().differentiable()


def _any_overwrite(facts: Effects, key: MemoryKey) -> Overwrite:
    """A read and a write of a memory that has both."""
    accesses = facts.by_memory[key]
    read = next(a for a in accesses if a.kind == "load")
    return Overwrite(read, next(filter(is_write, accesses)), certain=False)


class ProgramRecording:
    """What a tape needs to know of a program for certain active memories.

    Attributes
    ----------
    active : frozenset of MemoryKey
        Those, and what is written from values that vary with them.
    reached : tuple of MemoryKey
        What is active only because of this program.
    returns : bool
        Whether a value that it returns varies.
    bits : Let or None
        An expression that takes a number which varies for its bits.
    """

    def __init__(self, program: Program, keys: Keys) -> None:
        self._program: Program = weakref.proxy(program)  # which owns this
        self.active = program.spread(keys)
        self.reached = tuple(sorted(self.active - keys))
        body = program.kernel.body
        casts = [s for s in statements(body) if isinstance(s, Let) and s.op == "bit_cast"]
        varies = of_kernel(program.kernel, self.active).varies if body.yields or casts else None
        self.returns = varies is not None and any(map(varies, body.yields))
        self.bits = next((s for s in casts if varies is not None and varies(s.args[0])), None)

    @once
    def adjoint(self) -> AdjointProgram | None:
        """The adjoint, or None when nothing is active."""
        if not self.active:
            return None
        return self._program.adjoint(self.active, self._program.label_apart(self.active, "bar"))

    @once
    def saving(self) -> AdjointProgram | frozenset[int] | None:
        """What to record where overwritten values are saved: the adjoint, or where to cut and record parts.

        The adjoint is another one where the launch overwrites what its own adjoint reads.
        """
        made = self.adjoint
        if made is None or made.keeps:
            return made
        # A part begins with what it is brought: to cut it once more would make a part of that, and so on.
        cuts: frozenset[int] = frozenset() if self._program.is_part else made.cuts()
        return cuts if len(self._program.parts(cuts).programs) > 1 else made.from_entry()
