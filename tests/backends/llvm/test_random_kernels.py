"""Random kernels: machine code equals the readable Python, plain, with checks and with threads."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from dsim.analysis.bounds import bounds
from dsim.backends.cpu.compiled import CompiledKernel
from dsim.backends.cpu.machine import compile_kernel
from dsim.backends.faults import Fault
from dsim.backends.llvm.parallel import plans
from dsim.backends.reference.source import run
from dsim.ir.nodes import KernelIR, Memory
from dsim.ir.term import Term
from dsim.ir.types import ScalarType, f32, f64, i32, i64, u8
from dsim.passes.parallelization import parallel
from dsim.passes.simplify import simplify
from tests.building import Building

pytestmark = pytest.mark.slow

FLOATS, INTEGERS = (f32, f64), (i32, i64, u8)
N = 7  # length of every axis


class Maker:
    """Makes one kernel from a seed: statements, loops and branches over values made so far."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.k = Building()
        self.fields = [self.k.field(f"x{n}", N, type=t) for n, t in enumerate((f32, f64, i32))]
        self.fields.append(self.k.field("m", N, N, type=f64))
        self.values: list[Term] = [self.k.param("a", f64), self.k.param("b", f32), self.k.param("n", i32)]
        self.budget = 40
        self.risk = self.random.choice((0.0, 0.1, 0.3))  # that an index is left as it is

    def kernel(self) -> KernelIR:
        for _ in range(self.random.randint(2, 4)):
            self.statement(0)
        shown = [v for v in self.values if v.type != f32][-3:]
        return self.k.kernel(*shown)

    def some(self, t: ScalarType) -> Term:
        known = [v for v in self.values if v.type == t]
        if known and self.random.random() < 0.8:
            return self.random.choice(known[-6:])
        number = self.random.choice((1.5, -0.5, 2.0)) if t.is_float else self.random.choice((1, 2, 3, 5))
        return self.k.term(self.k.value(number, t))

    def index(self) -> Term:
        i = self.some(i32)
        return i if self.random.random() < self.risk else i.op("mod", N)

    def at(self, m: Memory) -> tuple[Term, ...]:
        return tuple(self.index() for _ in m.shape)

    def expression(self) -> None:
        t = self.random.choice((*FLOATS, f64, *INTEGERS, i32))
        a, b = self.some(t), self.some(t)
        if t.is_float:
            op = self.random.choice(
                ("add", "sub", "mul", "max", "min", "sin", "abs", "tanh", "mul_strong", "cast")
            )
            unary = op in ("sin", "abs", "tanh")
        else:
            op = self.random.choice(("add", "sub", "mul", "floordiv", "mod", "band", "shr", "max", "cast"))
            unary = False
        if op == "cast":
            self.values.append(a.cast(self.random.choice((f32, f64, i32, i64))))
        else:
            self.values.append(a.op(op) if unary else a.op(op, b))

    def memory(self) -> None:
        m = self.random.choice(self.fields)
        kind = self.random.random()
        if kind < 0.4:
            self.values.append(self.k.load(m, *self.at(m)))
        elif kind < 0.6:
            self.k.store(m, *self.at(m), self.some(m.type))
        elif kind < 0.9:
            self.k.accumulate(m, *self.at(m), self.some(m.type), op=self.random.choice(("add", "add", "min")))
        else:
            self.values.append(self.k.swap_in(m, *self.at(m), self.some(m.type)))

    def block(self, depth: int) -> None:
        for _ in range(self.random.randint(1, 4)):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        self.budget -= 1
        kind = self.random.random()
        if depth == 0 and kind < 0.3:
            self.gather()
        elif depth == 0 and kind < 0.6:
            self.loop(depth)
        elif kind < 0.4 or self.budget < 0 or depth > 2:
            self.expression()
        elif kind < 0.7:
            self.memory()
        elif kind < 0.8:
            self.branch(depth)
        elif kind < 0.87:
            self.buffer()
        else:
            self.loop(depth)

    def loop(self, depth: int) -> None:
        step, known = self.random.choice((1, 1, 1, -1, 2)), len(self.values)
        start, stop = (0, N) if step > 0 else (N - 1, -1)
        with self.k.loop("i", start, stop, step=step, s=self.some(f64), c=self.some(i32)) as loop:
            self.values += [loop.i, loop.s, loop.c]
            self.block(depth + 1)
            loop.then(s=self.some(f64) * 0.5 + loop.s, c=self.some(i32).op("mod", 100))
        del self.values[known:]
        self.values += [loop.out("s"), loop.out("c")]

    def gather(self) -> None:
        """A loop that may well be parallel, with indices that are data."""
        k, known = self.k, len(self.values)
        source, target = self.random.sample(self.fields[:2], 2)
        with k.loop("i", 0, N) as loop:
            self.values = [*self.values[:3], loop.i, k.load(self.fields[2], loop.i)]
            for _ in range(self.random.randint(1, 3)):
                self.values.append(k.load(source, self.index()))
            value = self.some(source.type).cast(target.type)
            if self.random.random() < 0.5:
                k.branch(
                    self.some(i32) > self.some(i32), lambda: k.accumulate(target, self.index(), value * value)
                )
            elif self.random.random() < 0.3:
                k.store(target, loop.i, value)
            else:
                k.accumulate(target, self.index(), value)
                k.accumulate(target, self.index(), value + value)
        del self.values[min(3, known) :]

    def branch(self, depth: int) -> None:
        known = len(self.values)
        cond = self.some(f64) > self.some(f64)

        def arm() -> tuple[Term, ...]:
            self.block(depth + 1)
            result = (self.some(f64), self.some(i32))
            del self.values[known:]
            return result

        self.values += self.k.branch(cond, arm, arm)

    def buffer(self) -> None:
        length = self.random.choice((3, 2000, self.some(i32).op("mod", 50) + 1))
        m = self.k.buffer("own", length, type=f64)
        self.k.accumulate(m, 0, self.some(f64))
        self.values.append(self.k.load(m, 0))


Outcome = tuple[tuple, object, dict]  # the results, the fault, the memories


def outcome(launch: Callable[[dict], tuple], kernel: KernelIR, seed: int) -> Outcome:
    rng = np.random.default_rng(seed)
    arrays = {
        m.key: np.array(rng.normal(size=(N,) * len(m.shape)) * 3, m.type.numpy) for m in kernel.memories
    }
    try:
        return launch(arrays), None, arrays
    except Fault as e:
        return (), (e.kind, e.values), arrays


@pytest.mark.parametrize("seed", range(40))
def test_a_random_kernel(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "GRAIN", 1)  # else loops as short as these are not split
    monkeypatch.setattr(plans, "_PRIVATE_ELEMENTS", 0)
    made = Maker(seed).kernel()
    args = (0.75, 0.5, 4)
    for kernel in (made, parallel(simplify(made))):  # an unused load may be removed, with its fault
        expected, fault, wanted = outcome(partial(run, kernel, args=args), kernel, seed)
        for checked, threads in ((False, 1), (True, 1), (True, 2), (True, 16)):
            if fault and not checked:
                continue
            compiled = compile_kernel(kernel, bounds(kernel) if checked else None, threads=threads)

            def launch(arrays: dict, compiled: CompiledKernel = compiled) -> tuple:
                return compiled.bind(arrays)(*args)

            returned, found, arrays = outcome(launch, kernel, seed)
            assert bool(found) == bool(fault) if threads > 1 else found == fault
            np.testing.assert_allclose(
                np.array(returned, float), np.array(expected, float), rtol=1e-4, atol=1e-4
            )
            for key, a in arrays.items() if not fault else ():
                np.testing.assert_allclose(a, wanted[key], rtol=1e-4, atol=1e-4, err_msg=f"{key} {threads}")
