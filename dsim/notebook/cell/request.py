"""The request of a `%%kernel` cell, with its names looked up in the notebook: kernels, fields, arguments.

The names that a cell defines are in the notebook while it is compiled; when that fails, they are
restored.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np
from IPython.core.error import UsageError

from dsim.api.kernels import kernel as decorator
from dsim.diagnostics import Diagnostic, KernelSyntaxError, LaunchTypeError
from dsim.diagnostics.similar import similar
from dsim.frontend.expressions.records import RecordType
from dsim.frontend.source.captures import is_function, is_host_matrix, is_host_struct
from dsim.notebook.cell.cells import Cell, body_function, definitions, run
from dsim.notebook.cell.options import Header, Options
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.struct_fields import StructField
from dsim.runtime.kernels.kernel import Kernel

T = TypeVar("T")
_NONE: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CellRequest:
    """Kernels of a cell, and what to do with the last one.

    Attributes
    ----------
    loss, wrt, forward
        The fields of the options, by the names that stand there.
    args : tuple
        The arguments of its call.
    given : mapping of str to float
        Those of them that an explorer has set.
    """

    kernels: tuple[Kernel, ...]
    options: Options
    loss: Field | None
    wrt: Mapping[str, Field]
    forward: Mapping[str, Field]
    args: tuple[Any, ...]
    given: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @property
    def kernel(self) -> Kernel:
        """The kernel that the options apply to."""
        return self.kernels[-1]


class CellDefinitions(NamedTuple):
    """What a cell defines: kernels, of which only a cell of funcs has none, and the names of its funcs."""

    kernels: tuple[Kernel, ...]
    funcs: tuple[str, ...]


@contextmanager
def defined(cell: Cell, head: Header, shell: Any) -> Iterator[CellDefinitions]:
    """Puts what the cell defines into the notebook; after an exception it is as before."""
    namespace: dict[str, Any] = shell.user_ns
    if head.name is not None:
        found = {head.name: decorator(body_function(cell, head, shell))}
        with _restored(namespace, [head.name]):
            namespace.update(found)
            yield CellDefinitions(tuple(found.values()), ())
        return
    tree, names, plain = definitions(cell, shell)
    with _restored(namespace, names):
        run(cell, tree, shell)
        namespace.update({name: decorator(namespace[name]) for name in plain})
        kernels = tuple(v for v in (namespace[n] for n in dict.fromkeys(names)) if isinstance(v, Kernel))
        funcs = tuple(n for n in dict.fromkeys(names) if is_function(namespace[n]))
        if not kernels:
            _refuse_without(cell, head, funcs)
        yield CellDefinitions(kernels, funcs)


def _refuse_without(cell: Cell, head: Header, funcs: tuple[str, ...]) -> None:
    """Refuses a cell without a kernel, if it has no funcs either, or options that are about a kernel."""
    message = "the cell defines no kernel"
    help = "write `def step(): …`, or name the kernel whose body this is: `%%kernel step`"
    if funcs:
        message += ", only funcs, and the options apply to a kernel"
        help = "remove the options, or write the kernel: `def step(): …`"
    if not funcs or head.options != Options():
        raise KernelSyntaxError(Diagnostic("syntax", message, cell.whole_line(cell.first), help=help))


@contextmanager
def _restored(namespace: dict[str, Any], names: list[str]) -> Iterator[None]:
    before = {n: namespace[n] for n in names if n in namespace}
    try:
        yield
    except BaseException:
        for n in names:
            namespace.pop(n, None)
        namespace.update(before)
        raise


def request(
    kernels: tuple[Kernel, ...],
    options: Options,
    namespace: Mapping[str, Any],
    given: Mapping[str, float] = _NONE,
) -> CellRequest:
    """The kernels with the names in `options` looked up; `given` are arguments that come before all others.

    Raises
    ------
    UsageError
        With one line that names the wrong name.
    """
    loss = None if options.loss is None else field(options.loss, "--loss", namespace)
    if loss is not None:
        _refuse_as_loss(options.loss or "", loss)
    wrt = _fields(options.wrt, "--wrt", namespace)
    for name, f in wrt.items():
        if not f.dtype.is_float:
            raise UsageError(f"--wrt {name}: {name} holds {f.dtype}, and integers have no gradient")
        if not f.needs_grad:
            raise UsageError(f"--wrt {name}: {name} has no gradient, declare it with needs_grad=True")
    forward = _fields(options.forward, "--forward", namespace)
    for name, f in forward.items():
        if not f.dtype.is_float:
            raise UsageError(f"--forward {name}: {name} holds {f.dtype}, and integers have no tangent")
    args = arguments(kernels[-1], namespace, given) if options.runs else ()
    return CellRequest(kernels, options, loss, wrt, forward, args, given)


def _fields(names: Iterable[str], option: str, namespace: Mapping[str, Any]) -> dict[str, Field]:
    """The fields that `names` lead to; a field of structs stands for its members of floats."""
    found: dict[str, Field] = {}
    for name in names:
        whole = looked_up(name, option, namespace, (Field, StructField), "a field")
        parts = float_members(name, whole) if isinstance(whole, StructField) else {name: whole}
        found.update({of: _placed(f, of, option) for of, f in parts.items()})
    return found


def float_members(name: str, whole: StructField) -> dict[str, Field]:
    """The members of `whole` that are floats, by ``name.member``."""
    found: dict[str, Field] = {}
    for key in whole.keys:
        f = whole.get_member_field(key)
        if isinstance(f, StructField):
            found.update(float_members(f"{name}.{key}", f))
        elif f.dtype.is_float:
            found[f"{name}.{key}"] = f
    return found


def field(text: str, option: str, namespace: Mapping[str, Any]) -> Field:
    """The field that `text`, a name or a path like ``sim.x``, leads to."""
    return _placed(looked_up(text, option, namespace, Field, "a field"), text, option)


def _placed(found: Field, text: str, option: str) -> Field:
    if found.root.dropped:
        raise UsageError(f"{option} {text}: this field was dropped by `reset()`, create it again")
    if not found.placed:
        raise UsageError(f"{option} {text}: this field has not been placed yet")
    return found


def looked_up(
    text: str, option: str, namespace: Mapping[str, Any], kind: type[T] | tuple[type[T], ...], noun: str
) -> T:
    """What `text`, a name or a path of attributes, leads to in the notebook: something of type `kind`."""
    first, *rest = text.split(".")
    if first not in namespace:
        near = similar(first, [n for n, v in namespace.items() if isinstance(v, kind)])
        advice = "" if near is None else f", did you mean {near}?"
        raise UsageError(f"{option} {text}: there is no {first} in this notebook{advice}".lstrip())
    found = namespace[first]
    for name in rest:
        if not hasattr(found, name):
            raise UsageError(f"{option} {text}: there is no {name} in it".lstrip())
        found = getattr(found, name)
    if not isinstance(found, kind):
        raise UsageError(f"{option} takes {noun}, and {text} is of type {type(found).__name__}")
    return found


def leads_to(text: str, namespace: Mapping[str, Any]) -> Any:
    """What `text`, a name or a path of attributes, leads to in the notebook.

    Raises
    ------
    LookupError, AttributeError
        When it leads nowhere.
    """
    first, *rest = text.split(".")
    found = namespace[first]
    for name in rest:
        found = getattr(found, name)
    return found


def _refuse_as_loss(text: str, loss: Field) -> None:
    if math.prod(loss.full_shape) != 1:
        raise UsageError(f"--loss takes a field of a single number, and {text} has shape {loss.full_shape}")
    if not loss.dtype.is_float:
        raise UsageError(f"--loss takes a float field, and {text} holds {loss.dtype}")
    if not loss.needs_grad:
        raise UsageError(f"--loss {text}: {text} has no gradient, declare it with needs_grad=True")


def borrowed(kernel: Kernel) -> list[str]:
    """The parameters of `kernel` without a default: a run takes what the notebook has by their names."""
    signature = inspect.signature(kernel.function)
    return [name for name, p in signature.parameters.items() if p.default is p.empty]


def parameters(asked: CellRequest) -> list[str]:
    """The parameters whose arguments are single numbers."""
    names = inspect.signature(asked.kernel.function).parameters
    given = zip(names, asked.args, strict=False)
    return [name for name, a in given if isinstance(a, int | float | np.number) and not isinstance(a, bool)]


def arguments(
    kernel: Kernel, namespace: Mapping[str, Any], given: Mapping[str, float] = _NONE
) -> tuple[Any, ...]:
    """With what to call `kernel`: `given`, its parameters' defaults, what the notebook has by their names.

    Raises
    ------
    UsageError
        When there is neither.
    """
    found = []
    for name, p in inspect.signature(kernel.function).parameters.items():
        if name in given:
            found.append(given[name])
        elif p.default is not p.empty:
            found.append(kept(p.default, kernel.records.get(name)))
        elif name in namespace:
            found.append(kept(namespace[name], kernel.records.get(name)))
        else:
            advice = f"give its parameter {name} a default, or define {name} in the notebook"
            raise UsageError(f"to run {kernel.__name__}, {advice}")
    return tuple(found)


@contextmanager
def sources_named(asked: CellRequest) -> Iterator[None]:
    """Lets errors about an argument say where its value comes from: there is no call to look at."""
    try:
        yield
    except LaunchTypeError as error:
        found = [_with_source(d, asked) for d in error.diagnostics]
        raise LaunchTypeError(*found).with_traceback(error.__traceback__) from None


def _with_source(d: Diagnostic, asked: CellRequest) -> Diagnostic:
    found = re.match(rf"argument `(\w+)[\w.]*` of `{asked.kernel.__name__}` ", d.message)
    if found is None or found.group(1) in asked.given:
        return d
    name = found.group(1)
    if name in borrowed(asked.kernel):
        source = f"the notebook's variable `{name}`"
        help = f"change `{name}` in the notebook, or give the parameter a default"
    else:
        source, help = "its default", "change the default, or the annotation"
    return dataclasses.replace(d, message=f"{d.message} ({source})", help=d.help or help)


def kept(value: Any, record: RecordType | None = None) -> Any:
    """A copy of `value`: later inspections use the numbers of this run. Fields and arrays have snapshots."""
    if record is not None:
        return record.copied(value, kept)
    if is_host_matrix(value) or is_host_struct(value):
        return copy.deepcopy(value)
    if type(value) is dict:
        return {key: kept(v) for key, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(kept, value))
    return value
