"""Adjoints of kernels that overwrite needed values, compared with finite differences on both backends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dsim.analysis.access_rules import overwritten
from dsim.autodiff import Adjoint, compares_final_values, forward, reverse
from dsim.backends.cpu.machine import compile_kernel
from dsim.backends.reference.source import run
from dsim.ir.check import check
from dsim.ir.nodes import KernelIR, MemoryKey
from dsim.ir.sites import number
from dsim.passes.parallelization import parallel
from dsim.passes.simplify import finish, simplify

Buffers = dict[MemoryKey, np.ndarray]
STEP = 1e-6


def copied(buffers: Mapping[MemoryKey, np.ndarray]) -> Buffers:
    return {key: a.copy() for key, a in buffers.items()}


def from_entry(kernel: KernelIR, active: frozenset[MemoryKey]) -> tuple[Adjoint, frozenset[MemoryKey]]:
    """The adjoint that finds as they were before the primal just the memories that it must."""
    entry: frozenset[MemoryKey] = frozenset()
    while True:
        adjoint = reverse(kernel, active, entry=entry)
        spoilt = {o.read.memory.key for o in overwritten(kernel, adjoint.needed)}
        spoilt |= {item.by.memory.key for item in adjoint.lost}
        if spoilt <= entry:
            return adjoint, entry
        entry |= spoilt


def ready(kernel: KernelIR) -> KernelIR:
    """`kernel` as it is launched."""
    done = parallel(simplify(number(kernel)))
    check(done)
    return done


def launch(kernel: KernelIR, buffers: Buffers, compiled: int) -> None:
    """Runs `kernel` by the reference, or by machine code for so many threads."""
    if compiled:
        own = {m.key: buffers[m.key] for m in kernel.memories}
        compile_kernel(finish(kernel), threads=compiled).bind(own)()
    else:
        run(kernel, buffers, ())


def bar(key: MemoryKey) -> MemoryKey:
    return key[0], (*key[1], "bar")


def dot(key: MemoryKey) -> MemoryKey:
    return key[0], (*key[1], "dot")


@dataclass
class Case:
    """A kernel at a state, its adjoint, and which memories that finds in their entry state."""

    kernel: KernelIR
    buffers: Buffers
    seed: int = 0

    def __post_init__(self) -> None:
        self.kernel = replace(self.kernel, exact=compares_final_values(self.kernel))
        check(self.kernel)
        self.active = frozenset(key for key, a in self.buffers.items() if a.dtype.kind == "f")
        self.adjoint, self.entry = from_entry(self.kernel, self.active)
        check(self.adjoint.kernel)
        rng = np.random.default_rng(self.seed)
        shapes = {key: self.buffers[key].shape for key in sorted(self.active)}
        self.direction = {key: rng.uniform(-1, 1, shape) for key, shape in shapes.items()}
        self.weights = {key: rng.uniform(-1, 1, shape) for key, shape in shapes.items()}

    def after(self, buffers: Buffers, compiled: int = 0) -> Buffers:
        """The state that the primal leaves."""
        found = copied(buffers)
        launch(self.kernel, found, compiled)
        return found

    def moved(self, by: float) -> Buffers:
        """The state before the primal, moved by so much along the direction."""
        found = copied(self.buffers)
        for key, d in self.direction.items():
            found[key] += (by * d).astype(found[key].dtype)
        return found

    def state(self, before: Buffers, compiled: int = 0) -> Buffers:
        """What the adjoint finds: memories as before or after the primal, and the weights."""
        after = self.after(before, compiled)
        state = {key: (before if key in self.entry else after)[key].copy() for key in before}
        return state | {bar(key): w.astype(state[key].dtype) for key, w in self.weights.items()}

    def swept(self, kernel: KernelIR, before: Buffers, compiled: int = 0) -> Buffers:
        """The state after the adjoint `kernel`: by the reference, or by machine code for so many threads."""
        state = self.state(before, compiled)
        given = copied(state)
        launch(kernel, state, compiled)
        for key in self.buffers:
            assert state[key].tobytes() == given[key].tobytes(), f"{key} was left changed"
        return state

    def slope(self, values: Buffers) -> float:
        """The derivative along the direction by the adjoints in `values`."""
        return sum(float(np.sum(values[bar(key)] * d)) for key, d in self.direction.items())

    def difference(self) -> float:
        """The derivative along the direction by differences."""
        high, low = self.after(self.moved(STEP)), self.after(self.moved(-STEP))
        return sum(float(np.sum(w * (high[k] - low[k]))) for k, w in self.weights.items()) / (2 * STEP)

    def hold(self, rtol: float = 1e-6, atol: float = 1e-7) -> None:
        """Asserts that the adjoint is right, on both backends, simplified or not."""
        plain = self.swept(self.adjoint.kernel, self.buffers)
        np.testing.assert_allclose(self.slope(plain), self.difference(), rtol=rtol, atol=atol)
        self.agree(plain, rtol=1e-9)

    def agree(self, plain: Buffers, rtol: float) -> None:
        """Asserts that the simplified and the compiled adjoint give what `plain` has."""
        done = ready(self.adjoint.kernel)
        for threads in (0, 1, 2):
            found = self.swept(done, self.buffers, threads)
            for key in self.weights:
                np.testing.assert_allclose(found[bar(key)], plain[bar(key)], rtol=rtol, atol=rtol)

    def tangent_of_adjoint(self) -> None:
        """Asserts that forward mode over the adjoint is right."""
        adjoint = number(self.adjoint.kernel)
        keys = self.active | {bar(key) for key in self.active}
        over = forward(adjoint, keys)
        check(over)
        state = self.state(self.buffers)
        tangents = forward(self.kernel, self.active)
        before = {dot(key): d.copy() for key, d in self.direction.items()}
        after = copied(self.buffers) | copied(before)
        run(tangents, after, ())
        for key in self.active:
            state[dot(key)] = (before if key in self.entry else after)[dot(key)].copy()
            state[dot(bar(key))] = np.zeros_like(state[key])
        given = copied(state)
        for kernel in (over, ready(over)):
            found = copied(given)
            run(kernel, found, ())
            high = self.swept(adjoint, self.moved(STEP))
            low = self.swept(adjoint, self.moved(-STEP))
            for key in self.active:
                np.testing.assert_allclose(
                    found[dot(bar(key))],
                    (high[bar(key)] - low[bar(key)]) / (2 * STEP),
                    rtol=1e-4,
                    atol=1e-5,
                )
                assert found[dot(key)].tobytes() == given[dot(key)].tobytes()
