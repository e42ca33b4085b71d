"""What a kernel's Python function takes: names, defaults, and which parameters are compile-time values."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dsim.diagnostics import Diagnostic, LaunchTypeError
from dsim.frontend.expressions.records import RecordType, is_record, record_type
from dsim.frontend.source.methods import advice
from dsim.frontend.values.types import array_type, is_template


class Signature:
    """The parameters of a kernel as Python sees them, without the owner of a method and without `bound` ones.

    Attributes
    ----------
    names : tuple of str
        In order; each member of a dataclass is a parameter: ``p.x``.
    count : int
        The number of arguments; -1 when a dataclass is among them.
    records : dict of str to RecordType
        By name, the parameters that are dataclasses.
    templates : tuple of int
        Positions of the parameters that are compile-time values: annotated ``template()``.
    arrays : dict of int to ArrayType
        By position, the parameters that take arrays: annotated ``types.ndarray()``.
    """

    def __init__(self, function: Callable[..., Any], bound: Mapping[str, Any]) -> None:
        python = function.__func__ if isinstance(function, types.MethodType) else function
        code = python.__code__
        skipped = int(isinstance(function, types.MethodType))
        self.function = function.__name__
        self._advice = "" if bound else advice(function)
        every = code.co_varnames[skipped : code.co_argcount + code.co_kwonlyargcount]
        given = python.__defaults__ or ()
        last = code.co_varnames[code.co_argcount - len(given) : code.co_argcount]
        self.defaults = {**dict(zip(last, given, strict=True)), **(python.__kwdefaults__ or {})}
        annotations = {n: _evaluated(python, python.__annotations__.get(n)) for n in every}
        self.records = {
            name: bound[name] if name in bound else record_type(kind, name, lambda t: _evaluated(python, t))
            for name, kind in annotations.items()
            if isinstance(bound.get(name), RecordType) or (name not in bound and is_record(kind))
        }
        found = {name: leaf for name in every for name, leaf in self._leaves(name, annotations[name])}
        kinds = [(name, kind) for name, kind in found.items() if name not in bound]
        self.names = tuple(name for name, _ in kinds)
        self.arrays = {n: a for n, (_, kind) in enumerate(kinds) if (a := array_type(kind)) is not None}
        self.templates = tuple(n for n, (_, kind) in enumerate(kinds) if is_template(kind))
        self._bound = {name: bound[name] for name in found if name in bound}
        taken = (name for name in every if any(leaf in self.names for leaf, _ in self._leaves(name, None)))
        self._given = tuple(taken) if self.records else self.names
        self.count = -1 if self.records else len(self.names)

    def _leaves(self, name: str, annotation: Any) -> Iterable[tuple[str, Any]]:
        record = self.records.get(name)
        return ((name, annotation),) if record is None else record.leaves()

    def complete(self, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments in order of `names`, from positional ones, named ones and defaults.

        Raises
        ------
        LaunchTypeError
            When there are too few, too many, names that the kernel does not have, or no dataclass where one
            is to be.
        """
        if len(args) > len(self._given):
            raise self._wrong_count(len(args) + len(named))
        rest = self._given[len(args) :]
        for name in named:
            if name not in rest:
                twice = name in self._given
                message = (
                    f"`{self.function}` got `{name}` twice"
                    if twice
                    else f"`{self.function}` has no argument `{name}`"
                )
                raise LaunchTypeError(Diagnostic("argument", message))
        filled = {**self.defaults, **named}
        if any(name not in filled for name in rest):
            raise self._wrong_count(len(args) + len(named))
        args = (*args, *(filled[name] for name in rest))
        return tuple(self._taken_apart(args)) if self.records else args

    def _wrong_count(self, count: int) -> LaunchTypeError:
        wanted = len(self._given)
        listed = ", ".join(self._given)
        takes = f"{wanted} argument{'s' * (wanted != 1)}" + (f" ({listed})" if wanted else "")
        message = f"`{self.function}` takes {takes}, got {count}"
        return LaunchTypeError(Diagnostic("argument", message, help=self._advice))

    # -- dataclasses

    def _taken_apart(self, args: tuple[Any, ...]) -> Iterator[Any]:
        for name, value in zip(self._given, args, strict=True):
            record = self.records.get(name)
            if record is None:
                yield value
            else:
                yield from self._members(record, value)

    def _members(self, record: RecordType, value: Any) -> Iterator[Any]:
        if not isinstance(value, record.kind):
            raise self._no_record(record, value)
        for member, annotation in record.members.items():
            given, name = getattr(value, member, self), f"{record.name}.{member}"
            if given is self:
                message = f"argument `{record.name}` of `{self.function}` has no `{member}`: it was deleted"
                raise LaunchTypeError(Diagnostic("argument", message))
            if isinstance(annotation, RecordType):
                yield from self._members(annotation, given)
            elif name not in self._bound:
                yield given
            elif given is not self._bound[name] and not _same_number(given, self._bound[name]):
                message = f"`{self.function}` is the kernel of another `{name}`"
                help = "pass the value that was given to `of`, or call the kernel itself"
                raise LaunchTypeError(Diagnostic("argument", message, help=help))

    def _no_record(self, record: RecordType, value: Any) -> LaunchTypeError:
        kind, name = record.kind, record.kind.__name__
        got, help = f"got {type(value).__name__}", f"pass an instance: `{name}(…)`"
        if value is kind:
            got = "got the class itself"
        elif type(value).__qualname__ == kind.__qualname__:
            got, help = (
                "got an instance of another class of this name",
                "define the kernel again, after the class",
            )
        message = f"argument `{record.name}` of `{self.function}` is a dataclass `{name}`: {got}"
        return LaunchTypeError(Diagnostic("argument", message, help=help))


def _same_number(a: Any, b: Any) -> bool:
    return type(a) is type(b) and isinstance(a, int | float | str) and a == b


def _evaluated(python: types.FunctionType, annotation: Any) -> Any:
    """An annotation that is written as a string, or under ``from __future__ import annotations``."""
    if not isinstance(annotation, str):
        return annotation
    cells = dict(zip(python.__code__.co_freevars, python.__closure__ or (), strict=True))
    try:
        return eval(annotation, python.__globals__, {n: c.cell_contents for n, c in cells.items()})
    except (NameError, AttributeError, SyntaxError, TypeError, ValueError):
        return None  # the frontend reports the error
