"""Replaces each `Derive` node by the statements of its derivative, the innermost first."""

from __future__ import annotations

from dataclasses import replace

from dsim.autodiff.forward_mode import jvp
from dsim.autodiff.reverse_mode import vjp
from dsim.diagnostics import CompilationError, Diagnostic
from dsim.ir.build import Builder, Names
from dsim.ir.nodes import Accumulate, Atom, Block, Derive, KernelIR, Statement, Store, Var
from dsim.ir.walk import bound_names, statements, swap, with_blocks, with_operands


def expand(kernel: KernelIR) -> KernelIR:
    """`kernel` without `Derive` nodes.

    Raises
    ------
    CompilationError
        When a function whose derivative is taken writes to a field.
    """
    if not any(isinstance(s, Derive) for s in statements(kernel.body)):
        return kernel
    builder = Builder(Names(bound_names(kernel)))
    return replace(kernel, body=_block(builder, kernel.body, {}))


def _block(builder: Builder, block: Block, env: dict[Var, Atom]) -> Block:
    with builder.block() as made:
        for s in block.statements:
            _statement(builder, s, env)
    return Block(tuple(made), tuple(swap(y, env) for y in block.yields))


def _statement(builder: Builder, s: Statement, env: dict[Var, Atom]) -> None:
    s = with_operands(s, lambda a: swap(a, env))
    s = with_blocks(s, lambda b: _block(builder, b, env))
    if not isinstance(s, Derive):
        builder.add(s)
        return
    _refuse_effects(s)
    derive = jvp if s.mode == "jvp" else vjp
    with builder.at(s.origin):
        values = derive(builder, s.params, s.body, s.args, s.seeds)
    env.update(zip(s.results, values, strict=True))


def _refuse_effects(s: Derive) -> None:
    for inner in statements(s.body):
        if isinstance(inner, Store | Accumulate) and not inner.memory.private:
            raise CompilationError(
                Diagnostic(
                    "not-differentiable",
                    f"a func that writes to the field `{inner.memory.name}` has no derivative as a function",
                    inner.origin.span,
                    "written here",
                    help="return the value from the func and write it in the kernel",
                )
            )
