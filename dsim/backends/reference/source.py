"""Kernels as plain Python over NumPy scalars: what a user reads, and what the machine code must match.

`source` gives the text; `run` executes exactly that text with every access checked: integers wrap, floats
keep their type, negative indices are errors. Speed does not matter here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from dsim.backends.faults import Fault, FaultKind
from dsim.backends.prints import is_silent
from dsim.backends.reference.writer import PythonText, write
from dsim.ir import arithmetic
from dsim.ir.nodes import Assert, KernelIR, Memory, MemoryKey, Statement
from dsim.ir.types import ALL

_FILE = "<kernel as Python>"


def source(kernel: KernelIR) -> str:
    """`kernel` as a Python module with one function, which runs on NumPy arrays as it is.

    The function takes the kernel's memories in their order (``x``, ``x_bar``, …), then its parameters.

    Raises
    ------
    ValueError
        When `Derive` or `Call` nodes are left; `autodiff.expand` and `passes.inline` replace them.
    """
    return "\n".join(text for text, _ in lines(kernel))


def lines(kernel: KernelIR) -> list[tuple[str, Statement | None]]:
    """The lines of what `source` gives, each with the statement that it comes from.

    A comment comes from that of the line below it.
    """
    written = write(kernel)
    head = f"{written.imports}\n\n\n".lstrip().split("\n")[:-1]
    body: list[tuple[str, Statement | None]] = []
    for n, text in reversed(list(enumerate(written.body.split("\n"), 1))):
        comment = text.lstrip().startswith("#") and bool(body)
        body.append((text, body[-1][1] if comment else written.lines.get(n)))
    return [(text, None) for text in head] + body[::-1]


def run(
    kernel: KernelIR, buffers: Mapping[MemoryKey, np.ndarray], args: Sequence[object] = ()
) -> tuple[Any, ...]:
    """Executes `kernel` on `buffers`, which it changes in place.

    Parameters
    ----------
    kernel : KernelIR
        Without `Derive` and `Call` nodes.
    buffers : mapping of MemoryKey to array
        Arrays of the memories' own types and shapes.
    args : sequence
        The parameters' values.

    Returns
    -------
    tuple of NumPy scalars
        What the kernel returns.

    Raises
    ------
    Fault
        At the first statement that fails.
    ValueError
        When a buffer does not fit its memory.
    """
    return runner(kernel)(buffers, args)


def runner(
    kernel: KernelIR, trips: int | None = None
) -> Callable[[Mapping[MemoryKey, np.ndarray], Sequence[object]], tuple[Any, ...]]:
    """A function that runs `kernel`, for repeated use.

    With `trips`, it raises `TooLongError` when all loops together make more trips than that.
    """
    written = write(kernel)
    namespace = _namespace(written, trips is not None)
    function = namespace[written.name]

    def once(buffers: Mapping[MemoryKey, np.ndarray], args: Sequence[object]) -> tuple[Any, ...]:
        checked = [_Checked(_fitting(m, buffers[m.key])) for m in kernel.memories]
        values = [p.type.numpy.type(a) for p, a in zip(kernel.params, args, strict=True)]
        namespace[_TRIP] = _counter(trips or 0)
        try:
            with np.errstate(all="ignore"):
                return tuple(function(*checked, *values) or ())
        except _Outside as e:
            raise _fault("bounds", written, e) from None
        except AssertionError as e:
            raise _fault("assertion", written, e) from None
        except MemoryError as e:
            raise _fault("memory", written, e) from None

    return once


class TooLongError(Exception):
    """More trips of loops than were allowed."""


class _Outside(Exception):  # noqa: N818
    """An index outside its array; `args` are its parts."""


class _Checked:
    """An array whose elements are reached by indices inside its shape only."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        self._shape = array.shape

    def _inside(self, index: Any) -> tuple[Any, ...]:
        at = index if isinstance(index, tuple) else (index,)
        if len(at) != len(self._shape):
            raise IndexError(f"{len(at)} indices for {len(self._shape)} axes")
        for i, n in zip(at, self._shape, strict=True):
            if not 0 <= i < n:
                raise _Outside(*map(int, at))
        return at

    def __getitem__(self, index: object) -> Any:
        return self._array[self._inside(index)]

    def __setitem__(self, index: object, value: object) -> None:
        self._array[self._inside(index)] = value


def _zeros(shape: tuple[Any, ...], type: type[np.generic]) -> _Checked:
    lengths = tuple(map(int, shape))
    try:
        return _Checked(np.zeros(lengths, type))
    except (MemoryError, ValueError) as e:  # too long, or of negative length
        raise MemoryError(*lengths) from e


def _fitting(memory: Memory, array: np.ndarray) -> np.ndarray:
    if array.dtype != memory.type.numpy or array.shape != memory.shape:
        raise ValueError(f"{memory.name} is {memory.type} {memory.shape}, not {array.dtype} {array.shape}")
    return array


def _print(*parts: Any, **how: Any) -> None:
    if not is_silent():
        print(*parts, **how)  # noqa: T201 (that is what the kernel does)


_BASE: dict[str, Any] = {
    **{name: f for name, f in vars(arithmetic).items() if callable(f)},
    **{t.name: t.numpy.type for t in ALL},
    "np": np,
    "zeros": _zeros,
    "print": _print,
}


def _namespace(written: PythonText, counted: bool) -> dict[str, Any]:
    namespace = dict(_BASE)
    text: str | ast.Module = written.body
    if counted:
        text = _Counted().visit(ast.parse(written.body))
    # optimize=0: the kernel's asserts stay, whatever Python's own flags are
    exec(compile(text, _FILE, "exec", optimize=0), namespace)
    return namespace


_TRIP = "#trip"  # no kernel has such a name


class _Counted(ast.NodeTransformer):
    """Calls `_TRIP` first in each trip of each loop."""

    def visit_For(self, node: ast.For) -> ast.For:
        return self._counted(node)

    def visit_While(self, node: ast.While) -> ast.While:
        return self._counted(node)

    def _counted(self, node: _Loop) -> _Loop:
        self.generic_visit(node)
        call = ast.Expr(ast.Call(ast.Name(_TRIP, ast.Load()), [], []))
        node.body.insert(0, ast.fix_missing_locations(ast.copy_location(call, node)))
        return node


_Loop = TypeVar("_Loop", ast.For, ast.While)


def _counter(trips: int) -> Callable[[], None]:
    left = iter(range(trips))

    def trip() -> None:
        if next(left, None) is None:
            raise TooLongError

    return trip


def _fault(kind: FaultKind, written: PythonText, e: BaseException) -> Fault:
    statement, values = _statement_at(written, e.__traceback__), e.args
    if isinstance(statement, Assert):
        said = e.args[0] if e.args else ()  # every part of the message
        values = tuple(v for v, p in zip(said, statement.parts, strict=True) if not isinstance(p, str))
    return Fault(kind, statement, values)


def _statement_at(written: PythonText, traceback: TracebackType | None) -> Statement:
    """The statement of the line of the kernel's text where the exception passed."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename != _FILE:
        traceback = traceback.tb_next
    assert traceback is not None
    return written.lines[traceback.tb_lineno]
