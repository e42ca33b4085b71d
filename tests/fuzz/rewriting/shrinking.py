"""Shrinks a failing program: removes every part without which it still fails.

Actions, fields, blocks and statements are left out, loops and branches give way to what is in them, and
expressions to what they are made of, as long as the program stays at fault. A program that is no program any
more, because something has lost its meaning, is not at fault.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz.drawing.program import BlockSpec, KernelSpec, Launch, Program, mentioned

Edit = Callable[[], None]


def shrunk(program: Program, at_fault: Callable[[Program], bool], most: int = 600) -> Program:
    """The smallest program found in `most` trials."""
    left = most
    improved = True
    while improved and left:
        improved = False
        for smaller in _smaller(program):
            left -= 1
            if at_fault(smaller):
                program, improved = smaller, True
                break
            if not left:
                break
    return program


def _smaller(program: Program) -> Iterator[Program]:
    """Programs that are a little smaller, those that lose most first."""
    for n in range(len(program.actions)):
        yield _tidied(replace(program, actions=_without(program.actions, n)))
    for k, kernel in enumerate(program.kernels):
        for n in range(len(kernel.blocks)):
            fewer = replace(kernel, blocks=_without(kernel.blocks, n))
            if fewer.blocks:
                yield _tidied(_with_kernel(program, k, fewer))
    for k, kernel in enumerate(program.kernels):
        for n, block in enumerate(kernel.blocks):
            for lines in _shorter(block.lines):
                blocks = (*kernel.blocks[:n], BlockSpec(lines, block.head), *kernel.blocks[n + 1 :])
                yield _tidied(_with_kernel(program, k, replace(kernel, blocks=blocks)))


def _without(items: tuple, n: int) -> tuple:
    return (*items[:n], *items[n + 1 :])


def _with_kernel(program: Program, k: int, kernel: KernelSpec) -> Program:
    return replace(program, kernels=(*program.kernels[:k], kernel, *program.kernels[k + 1 :]))


def _tidied(program: Program) -> Program:
    """`program` without kernels, funcs and fields that nothing uses."""
    launched = {a.kernel for a in program.actions if isinstance(a, Launch)}
    kernels = tuple(k for k in program.kernels if k.name in launched)
    used = "\n".join([*(k.text() for k in kernels), *(a.text() for a in program.actions), *program.resets])
    funcs = tuple(f for f in program.funcs if mentioned((_name(f),), _beside(program, f, used)))
    names = mentioned(tuple(f.name for f in program.fields), used) | {"loss"}
    fields = tuple(f for f in program.fields if f.name in names or f.is_part)
    return replace(program, kernels=kernels, funcs=funcs, fields=fields)


def _name(func: str) -> str:
    return func.removeprefix("@ti.func\n").removeprefix("def ").replace("(", " ").split()[0]


def _beside(program: Program, func: str, used: str) -> str:
    """What may call `func`."""
    return "\n".join([used, *(f for f in program.funcs if f is not func)])


def _shorter(lines: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The statements `lines` with one thing less."""
    text = "\n".join(lines)
    n = 0
    while True:
        tree = ast.parse(text)
        edits = [*_edits(tree)]
        if n >= len(edits):
            return
        edits[n]()
        yield tuple(ast.unparse(tree).splitlines())
        n += 1


def _edits(tree: ast.Module) -> Iterator[Edit]:
    """What can be done to `tree`, in place; only one of them may be done."""
    for node in ast.walk(tree):
        for body in _bodies(node):
            for n, statement in enumerate(body):
                yield lambda body=body, n=n: body.__setitem__(
                    slice(n, n + 1), [] if len(body) > 1 else [ast.Pass()]
                )
                if isinstance(statement, ast.If | ast.For | ast.While):
                    yield lambda body=body, n=n, inner=statement.body: body.__setitem__(
                        slice(n, n + 1), inner
                    )
                if isinstance(statement, ast.If) and statement.orelse:
                    yield lambda s=statement: s.orelse.clear()
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.BinOp | ast.Call | ast.IfExp | ast.UnaryOp | ast.BoolOp):
                for part in _operands(value):
                    yield lambda node=node, name=name, part=part: setattr(node, name, copy.deepcopy(part))


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse"):
        body = getattr(node, name, None)
        if isinstance(body, list) and body:
            yield body


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, ast.Call):
        yield from node.args
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.BoolOp):
        yield from node.values
