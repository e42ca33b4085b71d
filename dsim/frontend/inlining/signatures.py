"""Signatures of inlined functions: which argument goes where, as what type, and what is returned."""

from __future__ import annotations

import ast
import types
from dataclasses import replace
from typing import Any, get_args, get_origin

from dsim.frontend.control.exits import assigned
from dsim.frontend.expressions import records
from dsim.frontend.expressions.elements import cast
from dsim.frontend.expressions.local_values import buffered, fixed
from dsim.frontend.expressions.structs import as_type
from dsim.frontend.frames.frame import Frame
from dsim.frontend.frames.names import imported
from dsim.frontend.source.lowered import AnyReturn, OneReturn, Returns, SeveralReturns, StructReturns
from dsim.frontend.source.paths import Path
from dsim.frontend.values.operators import elementwise, operand
from dsim.frontend.values.structure import scalars
from dsim.frontend.values.types import (
    ArrayType,
    array_type,
    describe_array,
    is_template,
    matrix_type,
    scalar_type,
    struct_type,
)
from dsim.frontend.values.values import (
    FieldValue,
    Keywords,
    LocalFunc,
    Mat,
    Value,
    describe,
    is_scalar,
)


def annotated(f: Frame, python: types.FunctionType) -> dict[str, Any]:
    """The annotations of the parameters and the result; string annotations are evaluated."""
    around = {name: path.read() for name, path in f.surroundings.closure().items()}
    found: dict[str, Any] = {}
    for name, annotation in python.__annotations__.items():
        found[name] = _evaluated(annotation, python.__globals__, around)
    return found


def _evaluated(annotation: Any, module: dict[str, Any], around: dict[str, Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, module, around)  # the user's own text, as `typing.get_type_hints` does it
    except (NameError, AttributeError):
        return None


def declared_result(f: Frame, annotation: Any, node: ast.FunctionDef) -> AnyReturn | None:
    """The declared result type of a function, if any."""
    if annotation is None:
        return None
    several = annotation if isinstance(annotation, tuple) else ()
    if get_origin(annotation) is tuple:
        several = get_args(annotation)
    parts = [_one_result(f, a) for a in several] if several else [_one_result(f, annotation)]
    found = [p for p in parts if p is not None]
    if len(found) == len(parts):
        return SeveralReturns(tuple(found)) if several else found[0]
    if f.kind == "kernel":
        at, help = node.returns or node, "for example `-> ds.f32`, or `-> tuple[ds.f32, ds.i32]`"
        if any(map(records.is_record, several or (annotation,))):
            help = "return its members, or make the class a struct: `@ds.dataclass`"
        f.refuse("return", "a kernel returns scalars, vectors, matrices and structs", at, help=help)
    return None


def _one_result(f: Frame, annotation: Any) -> OneReturn | None:
    scalar, vector = scalar_type(annotation, f.emit.settings), matrix_type(annotation)
    if scalar is not None:
        return Returns(scalar)
    if vector is not None:
        entry = scalar_type(vector.dtype, f.emit.settings)
        assert entry is not None
        return Returns(entry, vector.shape)
    kind = struct_type(annotation)
    return None if kind is None else StructReturns(kind)


def arguments_of(
    f: Frame, inner: Frame, python: Any, args: list[Value], keywords: dict[str, Value], node: ast.AST
) -> dict[str, Value]:
    """The value of every parameter, in the order of the signature."""
    spec = inner.text.node.args
    names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    named = {a.arg for a in (*spec.args, *spec.kwonlyargs)}
    given = dict(zip(names, args, strict=False))
    more: dict[str, Value] = {}
    if len(args) > len(names) and spec.vararg is None:
        f.refuse("argument", f"`{inner.name}` takes {_many(len(names))}, got {len(args)}", node)
    for name, value in keywords.items():
        if name in named and name not in given:
            given[name] = value
        elif spec.kwarg is not None and name not in named:
            more[name] = value
        else:
            f.refuse("argument", f"`{inner.name}` got an unexpected or repeated argument `{name}`", node)
    for name, value in _defaults(inner, python, names).items():
        given.setdefault(name, value)
    if spec.vararg is not None:
        given[spec.vararg.arg] = tuple(args[len(names) :])
    if spec.kwarg is not None:
        given[spec.kwarg.arg] = Keywords(more)
    order = [a.arg for a in every(spec)]
    missing = [n for n in order if n not in given]
    if missing:
        f.refuse("argument", f"`{inner.name}` lacks the argument `{missing[0]}`", node)
    return {name: given[name] for name in order}


def every(spec: ast.arguments) -> list[ast.arg]:
    """All parameters, in the order of the signature."""
    found = (*spec.posonlyargs, *spec.args, spec.vararg, *spec.kwonlyargs, spec.kwarg)
    return [a for a in found if a is not None]


def bind(
    f: Frame,
    inner: Frame,
    python: Any,
    types_: dict[str, Any],
    args: list[Value],
    keywords: dict[str, Value],
    node: ast.AST,
) -> None:
    """Binds every parameter to its argument."""
    changed = set(assigned(inner.text.node.body))
    for name, value in arguments_of(f, inner, python, args, keywords, node).items():
        _parameter(f, inner, name, value, types_.get(name), name in changed, node)


def _many(count: int) -> str:
    return "1 argument" if count == 1 else f"{count} arguments"


def _defaults(inner: Frame, python: Any, names: list[str]) -> dict[str, Value]:
    if isinstance(python, LocalFunc):
        return dict(python.defaults)
    values = python.__defaults__ or ()
    found = dict(zip(names[len(names) - len(values) :], values, strict=True)) | (python.__kwdefaults__ or {})
    return {
        name: imported(inner, v, _default_path(inner, python, v), inner.text.node)
        for name, v in found.items()
    }


def _default_path(inner: Frame, python: types.FunctionType, value: object) -> Path | None:
    """The path by which each launch compares a default: a list may change in place, a number cannot."""
    if isinstance(value, int | float | str | None):
        return None
    return inner.c.captures.rooted(Path(python.__name__, lambda: value), id(value), python.__name__)


def _parameter(
    f: Frame, inner: Frame, name: str, value: Value, annotation: Any, changed: bool, node: ast.AST
) -> None:
    """Binds one parameter in the func's scope."""
    if isinstance(annotation, type) and issubclass(annotation, object) and is_template(annotation):
        annotation = annotation()
    if is_template(annotation):
        inner.templates.add(name)
    if is_template(annotation) and changed and scalars(value) and name not in inner.kept:
        help = "return the new value instead"
        f.refuse("argument", f"`{inner.name}` assigns to its template parameter `{name}`", node, help=help)
    value = typed(f, inner, name, value, annotation)
    if changed and (scalars(value) or isinstance(value, list)):
        value = fixed(f, name, value, node)
    if isinstance(value, Mat) and (inner.name, name) in f.c.buffered:
        value = buffered(f, name, value)
    inner.scope.bind(name, value, None)


def _check_array(f: Frame, inner: Frame, name: str, value: Value, wanted: ArrayType) -> None:
    settings = f.emit.settings
    takes = f"`{inner.name}` takes {wanted.describe(settings)} as `{name}`"
    if not isinstance(value, FieldValue):
        f.emit.refuse("type", f"{takes}, got {describe(value)}")
    given = value.field
    if wanted.needs_grad is False and not getattr(given.root, "constant", False):
        advice = f"write `needs_grad=False` where the kernel takes `{value.name}`, or use `stop_grad`"
        f.emit.refuse(
            "type", f"{takes} with `needs_grad=False`, but `{value.name}` is declared without it", help=advice
        )
    if not wanted.fits(given.dtype, tuple(given.shape), tuple(given.entry_shape), settings):
        f.emit.refuse("type", f"{takes}, got {describe_array(given.dtype, given.shape, given.entry_shape)}")


def typed(f: Frame, inner: Frame, name: str, value: Value, annotation: Any) -> Value:
    """`value` converted to a parameter's annotated type; annotations that are not types have no effect."""
    array = array_type(annotation)
    if array is not None:
        _check_array(f, inner, name, value, array)
        return replace(value, clamped=array.clamped)
    to, vector = scalar_type(annotation, f.emit.settings), matrix_type(annotation)
    if to is not None:
        if not is_scalar(value):
            f.emit.refuse("type", f"`{inner.name}` takes a scalar `{name}`, got {describe(value)}")
        return cast(f, value, to, f"`{name}` of `{inner.name}`", name)
    if vector is not None:
        given = operand(f.emit, value)
        if not isinstance(given, Mat) or given.shape != vector.shape:
            f.emit.refuse(
                "shape",
                f"`{inner.name}` takes {describe(Mat(vector.shape, ()))} as `{name}`, got {describe(value)}",
            )
        entry = scalar_type(vector.dtype, f.emit.settings)
        assert entry is not None
        what = f"`{name}` of `{inner.name}`"
        return elementwise(f.emit, lambda s, hint: cast(f, s, entry, what, hint), given, hint=name)
    kind = struct_type(annotation)
    if kind is not None:
        return as_type(f, value, kind, name)
    if records.is_record(annotation):
        records.check(f, inner.name, name, value, annotation)
    if isinstance(value, list) and value and all(is_scalar(v) or isinstance(v, Mat | list) for v in value):
        return operand(f.emit, value)
    return value
