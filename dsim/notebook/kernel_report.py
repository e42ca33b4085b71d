"""`report`: the report of `%%kernel` for a kernel that exists, from scripts, tests and any notebook."""

from __future__ import annotations

import json
import operator
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from dsim.diagnostics import ArgumentError, Diagnostic, GradientError, LaunchTypeError
from dsim.diagnostics.frames import outermost
from dsim.files import replaced
from dsim.ir.probe_buffer import AXES
from dsim.notebook.cell.options import SHOWN, Options
from dsim.notebook.cell.request import CellRequest, float_members
from dsim.notebook.forms.page import document, page
from dsim.notebook.forms.plain import text
from dsim.notebook.forms.showing import Bundle, bundle
from dsim.notebook.report.locations import Json
from dsim.notebook.report.reporting import CompiledCell, ReportRun, compile_cell, touched
from dsim.notebook.report.subject import Definition
from dsim.notebook.running import state
from dsim.runtime.checking.differences import GradientCheck
from dsim.runtime.fields.fields import Field, kind_of
from dsim.runtime.fields.loss import check as check_loss
from dsim.runtime.fields.struct_fields import StructField
from dsim.runtime.kernels.findings import Findings
from dsim.runtime.kernels.kernel import Kernel
from dsim.runtime.state.references import uncopied
from dsim.runtime.tapes.tape import Tape

Fields = Field | StructField | Iterable[Field | StructField]


@dataclass(frozen=True)
class LineValue:
    """What one line assigned in the iteration that was inspected.

    Attributes
    ----------
    line : int
        Its number in the kernel's file or cell.
    name : str
        What it assigned to: ``r``, ``U[None]``.
    value : number or ndarray
        The value; for ``+=`` the amount that was added.
    gradient : number, ndarray or None
        The gradient of the loss with respect to it, in forward mode its tangent; None where there is none.
    """

    line: int
    name: str
    value: Any
    gradient: Any


class KernelReport:
    """A report of a kernel; `dsim.report` makes it. ``print`` shows it, and so does a notebook.

    Attributes
    ----------
    json : dict
        The data of all forms, as the page on the report describes them.
    diagnostics : Findings
        Its diagnostics, each with `level`, `code`, `message` and `span`; ``print`` shows them with carets.
    values : tuple of LineValue
        What the lines assigned in the iteration that was inspected; empty when nothing ran.
    heat : dict of int to float
        By line, the root mean square of the adjoints of what the line computes.
    loss : float or None
        The value of the loss.
    gradients : dict of str to ndarray
        The gradients of the loss, by the names of fields.
    tangents : dict of str to ndarray
        In forward mode the tangents of the fields that were written.
    tape : Tape or None
        What was recorded, with a loss.
    check : GradientCheck or None
        The comparison with differences, with ``check=True``.
    """

    def __init__(self, run: ReportRun) -> None:
        self.json: Json = run.report
        self.diagnostics = Findings(dict.fromkeys(run.found))
        self.values = tuple(_values(run))
        heat: Mapping[str, Any] = run.report["heat"] or {"lines": ()}
        self.heat = {each["line"]: float(each["adjoint"]) for each in heat["lines"]}
        self.loss, self.gradients, self.tangents = run.value, run.gradients, run.tangents
        self.tape: Tape | None = run.recorded
        self.check: GradientCheck | None = run.check
        self._tape = run.tape

    def __repr__(self) -> str:
        return text(self.json)

    @outermost
    def __reduce__(self) -> tuple[Any, ...]:
        uncopied("a report of a kernel", 'copy its data: `report.json`, or `report.save("report.json")`')

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Bundle:
        return bundle(self.json, self._tape)

    @outermost
    def save(self, path: str | PathLike[str]) -> None:
        """Writes it to a file: a page (``.html``), its data (``.json``) or text (``.txt``).

        Parameters
        ----------
        path : str or path
            Its suffix says which. The page needs no other file and no network.
        """
        forms = {
            ".html": lambda: document(self.json["summary"]["text"], page(self.json, self._tape)),
            ".json": lambda: json.dumps(self.json, ensure_ascii=False, allow_nan=False, indent=1) + "\n",
            ".txt": lambda: f"{self!r}\n",
        }
        form = forms.get(Path(path).suffix.lower())
        if form is None:
            raise _wrong(
                f"a report is saved as {', '.join(forms)}, not as {str(path)!r}", 'save("report.html")'
            )
        with replaced(path) as beside:
            beside.write_text(form(), "utf-8")


@outermost
def report(  # noqa: PLR0913 (the options of `%%kernel`)
    kernel: Kernel,
    *args: Any,
    loss: Field | None = None,
    wrt: Fields = (),
    forward: Fields = (),
    run: bool = False,
    probe: int | Iterable[int] | None = None,
    check: bool = False,
    show: str | None = None,
) -> KernelReport:
    """The report of a kernel, as `%%kernel` shows it below a cell.

    Without `loss`, `forward`, `run` and `probe` the kernel is compiled and checked, but not run. A run leaves
    no trace: all fields, gradients, tangents and random numbers are as they were.

    Parameters
    ----------
    kernel : Kernel
        Defined in any file or cell.
    *args
        The arguments of its launch.
    loss : Field, optional
        Runs it under a tape, with this field of one number as the loss.
    wrt : Field or sequence of Field, optional
        The fields whose gradient is reported; by default all fields with a gradient that the kernel uses. A
        field of structs stands for its members.
    forward : Field or sequence of Field, optional
        Runs it in forward mode, with tangents of 1 in these fields.
    run : bool
        Runs it once, without derivatives.
    probe : int or sequence of int, optional
        Runs it, and inspects this iteration of the outermost loop; by default one that reaches many lines.
    check : bool
        Compares the gradient with differences of the loss.
    show : {"adjoint", "ir", "python", "llvm", "ptx"}, optional
        Opens with this listing.

    Returns
    -------
    KernelReport
        Print it, `save` it, or let a notebook show it; `values`, `gradients` and `diagnostics` are its data.

    Raises
    ------
    CompilationError
        When the kernel cannot be compiled.
    GradientError
        When a gradient cannot be had.
    LaunchTypeError
        When the arguments do not fit.
    ArgumentError
        When an option lacks another one, or does not fit the kernel's loops.

    Examples
    --------
    >>> import dsim as ti
    >>> x = ti.field(ti.f64, shape=3, needs_grad=True)
    >>> U = ti.field(ti.f64, shape=(), needs_grad=True)
    >>> @ti.kernel
    ... def energy():
    ...     for i in x:
    ...         a = 2 * x[i]
    ...         U[None] += a ** 2
    >>> x.from_numpy([1.0, 2.0, 3.0])
    >>> found = ti.report(energy, loss=U, probe=1)
    >>> found.loss, found.gradients["x"]
    (56.0, array([ 8., 16., 24.]))
    >>> [(v.name, v.value, v.gradient) for v in found.values]
    [('a', 4.0, 8.0), ('U[None]', 16.0, 1.0)]
    """
    begin = time.perf_counter()
    if not isinstance(kernel, Kernel):
        message = f"`report` takes a kernel, not {kind_of(kernel)}"
        raise LaunchTypeError(Diagnostic("argument", message, help="decorate it with `@ds.kernel`"))
    if loss is not None:
        check_loss(loss)
    by, along = _with_gradient(_fields(wrt, "wrt")), _fields(forward, "forward")
    name = None if loss is None else loss.name
    options = Options(name, run=run, probe=_indices(probe), check=check, show=show)
    _refuse_lonely(options, by)
    runs = options.runs or bool(along)
    asked = CellRequest((kernel,), replace(options, run=runs), loss, {}, {}, args)
    compiled = compile_cell(asked)
    subject = Definition.of(kernel, _captured(kernel, args, compiled))
    by_name, along_name = _named(by), _named(along)  # kernels name the fields that they use
    name = None if loss is None else loss.name
    options = replace(options, loss=name, wrt=tuple(by_name), forward=tuple(along_name))
    asked = CellRequest((kernel,), options, loss, by_name, along_name, args)
    with state.unnoticed(touched(asked, compiled)):
        made = ReportRun(subject, asked, compiled, begin)
    made.timed()
    return KernelReport(made)


def _captured(kernel: Kernel, args: tuple[Any, ...], compiled: CompiledCell) -> list[Any]:
    """The objects that are compiled into it: funcs, fields, classes."""
    if compiled.form is None:
        return []
    objects, _ = kernel.captured(*args) if kernel.generic else kernel.captured()
    return [each.value for each in objects]


def _fields(given: Fields, option: str) -> list[Field]:
    """The fields that an option names, of structs their members of floats."""
    found: list[Field] = []
    for whole in [given] if isinstance(given, Field | StructField) else given:
        if not isinstance(whole, Field | StructField):
            message = f"`{option}` takes fields, not {kind_of(whole)}"
            raise LaunchTypeError(Diagnostic("argument", message, help=f"`{option}=x`, or several in a list"))
        found += float_members("", whole).values() if isinstance(whole, StructField) else [whole]
    for f in found:
        f.require()
        if not f.dtype.is_float:
            message = f"`{option}` takes fields of floats, {f.quoted} holds {f.dtype}"
            raise GradientError(Diagnostic("argument", message, help="integers have no derivatives"))
    return found


def _with_gradient(fields: list[Field]) -> list[Field]:
    for f in fields:
        if not f.needs_grad:
            message, advice = f"{f.quoted} has no gradient", "declare it with `needs_grad=True`"
            raise GradientError(Diagnostic("missing-gradient", message, help=advice))
    return fields


def _named(fields: Iterable[Field]) -> dict[str, Field]:
    """Fields by their names; of several with one name the later ones by their numbers, too."""
    found: dict[str, Field] = {}
    for f in dict.fromkeys(fields):
        found[f.name if f.name not in found else f"{f.name} {f.number}"] = f
    return found


def _indices(probe: int | Iterable[int] | None) -> tuple[int, ...] | None:
    if probe is None:
        return None
    advice = "such as `probe=3`, or `probe=(3, 4)` for two indices"
    try:
        found = tuple(map(operator.index, probe if isinstance(probe, Iterable) else [probe]))
    except TypeError:
        raise _wrong(f"`probe` takes whole numbers, not {probe!r}", advice) from None
    if not 0 < len(found) <= AXES:
        raise _wrong(f"`probe` takes 1 to {AXES} numbers, one for each index of the outermost loop", advice)
    return found


def _wrong(message: str, advice: str) -> ArgumentError:
    return ArgumentError(Diagnostic("argument", message, help=advice))


def _refuse_lonely(options: Options, wrt: Sequence[Field]) -> None:
    """Refuses options that require another one, and listings that there are none of."""
    for name, given in (("wrt", wrt), ("check", options.check)):
        if given and options.loss is None:
            raise _wrong(f"`{name}` needs a loss", "`loss=U`, a field of shape () that the kernel writes")
    if options.show is not None and options.show not in SHOWN:
        raise _wrong(f"`show` is one of {', '.join(SHOWN)}, not {options.show!r}", 'such as `show="adjoint"`')


def _values(run: ReportRun) -> Iterable[LineValue]:
    for w in () if run.seen is None else run.seen.results:
        if w.value is not None and run.places.inside(w.slot.span):
            yield LineValue(w.slot.span.line, w.slot.name, _number(w.value), _number(w.gradient))


def _number(value: np.ndarray | None) -> Any:
    """A number as Python has it, an array as its own copy."""
    if value is None:
        return None
    return np.array(value) if np.ndim(value) else np.asarray(value).item()
