"""Random kernels with parts moved into funcs with rules: all derivatives equal those of the plain kernels."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from dsim.autodiff import forward, reverse
from dsim.autodiff.forward_mode import jvp
from dsim.autodiff.reverse_mode import vjp
from dsim.backends.reference.source import run
from dsim.ir.build import Builder, Names
from dsim.ir.check import check
from dsim.ir.copying import Copier
from dsim.ir.nodes import Atom, Block, Call, For, If, KernelIR, Let, Rule, Statement, Var, While
from dsim.ir.sites import number
from dsim.ir.walk import accesses, binds, bound_names, free, statements, with_blocks
from dsim.passes.inline import inline
from dsim.passes.simplify import simplify
from tests.autodiff.random_kernels import Generator, X, Y

pytestmark = pytest.mark.slow

ACTIVE = frozenset({X.key, Y.key})
TWICE = ACTIVE | {("x", ("dot",)), ("y", ("dot",))}
BACK_TWICE = ACTIVE | {("x", ("bar",)), ("y", ("bar",))}


class Wrapper:
    """Makes calls of some statements of a kernel, those in loops and branches too."""

    def __init__(self, kernel: KernelIR, seed: int) -> None:
        self.random = random.Random(seed)
        self.builder = Builder(Names(bound_names(kernel)))
        self.kernel = number(replace(kernel, body=self.block(kernel.body)))

    def block(self, block: Block) -> Block:
        return Block(tuple(map(self.statement, block.statements)), block.yields)

    def statement(self, s: Statement) -> Statement:
        s = with_blocks(s, self.block)
        results = binds(s)
        whole = isinstance(s, If | For | While) and not any(True for _ in accesses(Block((s,))))
        if not results or not (whole or isinstance(s, Let)) or self.random.random() < 0.2:
            return s
        return self.call(s, results)

    def call(self, s: Statement, results: tuple[Var, ...]) -> Call:
        args = tuple(v for v in free(Block((s,))) if v.type.is_float)
        inner: dict[Var, Atom] = {}
        copier = Copier(self.builder.names)
        params = tuple(copier.variable(v, inner) for v in args)
        body = copier.block(Block((s,), results), inner)
        modes = self.random.choice((("jvp",), ("vjp",), ("jvp", "vjp")))
        rules = {mode: self.rule(mode, params, body, results) for mode in modes}
        return Call("part", params, body, args, results, **rules)

    def rule(self, mode: str, params: tuple[Var, ...], body: Block, results: tuple[Var, ...]) -> Rule:
        b = self.builder

        def fresh(like: list[Var] | tuple[Var, ...], suffix: str) -> tuple[Var, ...]:
            return tuple(b.fresh(f"{v.name}_{suffix}", v.type) for v in like)

        own, outcome = fresh(params, "in"), fresh(results, "out")
        floats = [r for r in results if r.type.is_float]
        seeds = fresh(params, "d") if mode == "jvp" else fresh(floats, "w")
        with b.block() as made:
            derive = jvp if mode == "jvp" else vjp
            yields = derive(b, params, body, own, seeds)
        return Rule((*own, *seeds, *outcome), Block(tuple(made), yields))


Transform = Callable[[KernelIR], KernelIR]


def backward(kernel: KernelIR, active: frozenset, label: str = "bar") -> KernelIR:
    return number(reverse(number(kernel), active, label).kernel)


TRANSFORMS: dict[str, Transform] = {
    "values": lambda k: k,
    "forward": lambda k: forward(k, ACTIVE),
    "reverse": lambda k: backward(k, ACTIVE),
    "forward of forward": lambda k: forward(forward(k, ACTIVE), TWICE, "dot2"),
    "reverse of forward": lambda k: backward(forward(k, ACTIVE), TWICE),
    "forward of reverse": lambda k: forward(backward(k, ACTIVE), BACK_TWICE),
    "reverse of reverse": lambda k: backward(backward(k, ACTIVE), BACK_TWICE, "bar2"),
}


def outcome(kernel: KernelIR, seed: int) -> dict[str, np.ndarray]:
    """All memories after a run, from values that depend on their names alone."""
    check(kernel)
    buffers = {}
    for m in kernel.memories:
        rng = np.random.default_rng((seed, zlib.crc32(repr(m.key).encode())))
        drawn = rng.uniform(-1, 1, (4,)) if m.type.is_float else rng.integers(0, 4, (4,))
        buffers[m.key] = drawn.astype(m.type.numpy)
    plain = inline(kernel)
    check(plain)
    run(plain, buffers, ())
    return {str(key): values for key, values in buffers.items()}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("seed", range(10))
def test_rules_give_what_the_parts_give(seed: int, name: str) -> None:
    kernel = Generator(seed).kernel()
    wrapper = Wrapper(kernel, seed)
    assert any(isinstance(s, Call) for s in statements(wrapper.kernel.body))
    wanted = outcome(TRANSFORMS[name](kernel), seed)
    for before in (wrapper.kernel, simplify(wrapper.kernel)):
        found = outcome(TRANSFORMS[name](before), seed)
        for key in found.keys() & wanted.keys():
            np.testing.assert_allclose(found[key], wanted[key], rtol=1e-9, atol=1e-9)
