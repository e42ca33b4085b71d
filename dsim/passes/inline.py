"""Inlining: replaces calls by their bodies, since only derivatives use the custom rules of a call.

Later passes see ordinary statements. Not its job: derivatives; taken after it, they would ignore the rules.
"""

from __future__ import annotations

from dataclasses import replace

from dsim.ir.nodes import Atom, Block, Call, KernelIR, Statement, Var
from dsim.ir.walk import statements, swap, with_blocks, with_operands


def inline(kernel: KernelIR) -> KernelIR:
    """`kernel` without `Call` nodes; itself when it has none."""
    if not any(isinstance(s, Call) for s in statements(kernel.body)):
        return kernel
    return replace(kernel, body=_block(kernel.body, {}))


def _block(block: Block, env: dict[Var, Atom]) -> Block:
    out: list[Statement] = []
    for s in block.statements:
        _statement(s, env, out)
    return Block(tuple(out), tuple(swap(y, env) for y in block.yields))


def _statement(s: Statement, env: dict[Var, Atom], out: list[Statement]) -> None:
    s = with_operands(s, lambda a: swap(a, env))
    if not isinstance(s, Call):
        out.append(with_blocks(s, lambda b: _block(b, env)))
        return
    env.update(zip(s.params, s.args, strict=True))
    body = _block(s.body, env)
    out.extend(body.statements)
    env.update(zip(s.results, body.yields, strict=True))
