"""The magics: `%%kernel` compiles a cell and reports, the others inspect existing objects."""

from __future__ import annotations

import time
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand

from dsim.backends.prints import PRINTS
from dsim.notebook.cell.cells import cell_of, from_cell, header_of
from dsim.notebook.cell.options import usage
from dsim.notebook.cell.request import defined, request, sources_named
from dsim.notebook.forms.errors import reported
from dsim.notebook.forms.living import Living
from dsim.notebook.forms.showing import bundle, publish, tape_bundle
from dsim.notebook.inspecting import adjoint_report, check_report, checked, funcs_report, named_tape
from dsim.notebook.report.reporting import ReportRun, compile_cell
from dsim.runtime.checking.differences import GradientCheck
from dsim.runtime.tapes.tape import Tape


@magics_class
class KernelMagics(Magics):
    """dsim's magics.

    Attributes
    ----------
    living : Living
        The reports that they showed.
    """

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.living = Living(shell)
        self._last: Tape | None = None
        self._checks: dict[str, GradientCheck | None] = {}  # by the kernel's name

    @property
    def _names(self) -> dict[str, Any]:
        assert self.shell is not None
        return self.shell.user_ns

    @no_var_expand
    @cell_magic
    def kernel(self, line: str, cell: str) -> None:
        """Help is `_HELP`."""
        begin = time.perf_counter()
        this = cell_of(self.shell, line, cell)
        head = header_of(this)
        with reported(this, self.shell) as state:
            with defined(this, head, self.shell) as (kernels, funcs):
                if not kernels:
                    publish(bundle(funcs_report(this, funcs)))
                    return
                asked = request(kernels, head.options, self._names)
                with sources_named(asked):
                    compiled = from_cell(this, lambda: compile_cell(asked))
            state.compiled = asked.kernel.__name__
            with PRINTS.capped(), sources_named(asked):
                run = from_cell(this, lambda: ReportRun(this, asked, compiled, begin))
        self._last = run.recorded or self._last
        self._checks[asked.kernel.__name__] = run.check
        self.living.show(run, this)

    @no_var_expand
    @line_magic("%kernel")
    def misplaced(self, line: str) -> None:
        """Called by IPython for a `%%kernel` that is not the first line."""
        raise UsageError(
            "%%kernel must be the first line of its cell; only empty lines and cell magics may precede it"
        )

    @line_magic
    def tape(self, line: str) -> None:
        """Show what a tape recorded: `%tape NAME`; without a name, of the last `%%kernel` with a loss."""
        publish(tape_bundle(named_tape(line.strip(), self._names, self._last)))

    @line_magic
    def adjoint(self, line: str) -> None:
        """Show the adjoint of a kernel as readable Python: `%adjoint NAME`."""
        publish(bundle(adjoint_report(line.strip(), self._names)))

    @line_magic
    def check(self, line: str) -> None:
        """Show the diagnostics of a kernel before it runs: `%check NAME`.

        With `--plot` draw how far the gradient and differences were apart at each step, when its cell ran
        with `--check`: a V for a right gradient, a line that stays up for a wrong one.
        """
        name, *options = line.split() or [""]
        if not options:
            publish(bundle(check_report(name, self._names)))
        elif options == ["--plot"]:
            checked(name, self._checks).plot()
        else:
            raise UsageError(f"%check takes a kernel and --plot, not {' '.join(options)}")


_HELP = """Compile this cell as a differentiable kernel, and show a report of it inline.

    %%kernel NAME [options]            the cell is the body of the kernel NAME
    %%kernel NAME(t: ds.i32) [options] the same, with arguments
    %%kernel [options]                 the cell holds functions: each becomes a kernel, or a func when it
                                       is decorated so; the options are for the last kernel

Names come from the notebook and go to it: fields, numbers and funcs are used as they are, and NAME can be
launched from any cell. When the cell has a mistake, the kernel of before stays.

Options
{options}

With `--loss` or `--forward` the kernel is run once for the report: a parameter takes its default, or what the
notebook has by its name. Every field is put back as it was; the gradients stay.

Examples
    %%kernel energy --loss U --wrt x
    for i, j in ds.ndrange(N, N):
        r = x[i] - x[j]
        U[None] += -1 / r.norm(1e-3)

    %%kernel step(dt: ds.f64 = 0.01) --loss U --probe 3 --check
    for i in x:
        v[i] -= dt * x[i]
        x[i] += dt * v[i]
        U[None] += 0.5 * x[i] ** 2

    %%kernel --show adjoint
    @ds.func
    def square(a):
        return a * a

    def total():
        for i in x:
            U[None] += square(x[i])
"""
KernelMagics.kernel.__doc__ = _HELP.format(options=usage())
