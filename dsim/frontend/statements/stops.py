"""``stop_grad(x)`` of a field, as a statement: reads of `x` from there to the block's end are constants."""

from __future__ import annotations

import ast

from dsim.frontend.frames.builtins import builtin
from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.names import member_field
from dsim.frontend.values.values import FieldValue, Opaque, StructFieldValue


class Reset(ast.Pass):
    """Marks where an inlined block ends: restores the set of stopped fields from before it."""

    def __init__(self, f: Frame, after: ast.stmt) -> None:
        super().__init__()
        self.stopped = f.emit.stopped
        ast.copy_location(self, after)


def reset(f: Frame, s: ast.stmt, needed: frozenset[str] | None) -> None:
    """Restores the stopped fields from before the block that ends at `s`."""
    assert isinstance(s, Reset)
    f.emit.stopped = s.stopped


def said(f: Frame, node: ast.Call) -> bool:
    """Lowers `node` if it is a `stop_grad` statement, and tells whether it was one."""
    if len(node.args) != 1 or node.keywords or not _is_name(node.func) or not _is_name(node.args[0]):
        return False
    called = f.place(node.func)
    if not isinstance(called, Opaque) or builtin(called.value) != "stop_grad":
        return False
    given = f.place(node.args[0])
    if not isinstance(given, FieldValue | StructFieldValue):
        return False
    _stop(f, given, node)
    return True


def _is_name(node: ast.expr) -> bool:
    """Whether `node` is a name, or an attribute of one, which may be evaluated twice."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _stop(f: Frame, field: FieldValue | StructFieldValue, node: ast.AST) -> None:
    """Makes reads of `field` constant from here on."""
    if isinstance(field, StructFieldValue):
        for name in field.keys:
            _stop(f, member_field(f, field, name, node), node)
        return
    if field.field.component:
        message = f"`{field.name}` is a component of a field, and `stop_grad` applies to whole fields"
        f.refuse("argument", message, node, help="write `stop_grad(…)` around each read")
    f.emit.stopped |= {f.c.memories.of(field).key}
