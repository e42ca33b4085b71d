"""`optimize`: makes an optimisation, and starts it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

from dsim.diagnostics.frames import outermost
from dsim.optimization.guarded import refuse_outside
from dsim.optimization.kept_file import KeptFile
from dsim.optimization.methods import method_named
from dsim.optimization.optimization import Optimization
from dsim.optimization.plan import OptimizationPlan, count
from dsim.optimization.progress import NoProgress, in_a_script
from dsim.optimization.refusal import wrong
from dsim.optimization.working import WORKING
from dsim.runtime.fields.fields import Field
from dsim.runtime.state.evaluations import EVALUATING
from dsim.runtime.state.stack import opened
from dsim.runtime.transforms.objective import Objective
from dsim.runtime.transforms.problems import objective


@outermost
def optimize(  # noqa: PLR0913 (most have names)
    run: Callable[[], Any],
    wrt: Any,
    loss: Any,
    *,
    method: str = "L-BFGS-B",
    steps: int = 100,
    tolerance: float | None = None,
    reset: Callable[[], Any] | None = None,
    bounds: Any = None,
    free: Any = None,
    callback: Callable[[Optimization], Any] | None = None,
    path: Any = None,
    view: Any = None,
    progress: bool = True,
    background: bool | None = None,
    start: bool = True,
    **options: Any,
) -> Optimization:
    """Parameters of a run that minimise its loss. In a notebook, with buttons while it runs.

    It first stops optimisations of one of its fields in other threads; it begins with what they held before.

    Parameters
    ----------
    run, wrt, loss, reset, bounds, free
        As of `objective`.
    method : str, default "L-BFGS-B"
        One of SciPy's that use gradients: L-BFGS-B, BFGS, CG, TNC, SLSQP, trust-constr, and with second
        derivatives Newton-CG, trust-ncg, trust-krylov; or ``"descent"``, ``"momentum"``, ``"Adam"``. Those
        that take bounds are L-BFGS-B, TNC, SLSQP, trust-constr and the last three.
    steps : int, default 100
        How many steps it makes at most.
    tolerance : float, optional
        Of a method of SciPy its `tol`; the others end when no number of the gradient is larger.
    callback : callable, optional
        Called with the optimisation after each step; it may call `stop`.
    path : str, optional
        A file (.npz) in which the state is kept, and from which another call with the same problem goes on.
    view : object, optional
        Its ``update()`` is called with the best parameters in the fields, at most ten times a second.
    progress : bool, default True
        Whether to show the progress.
    background : bool, optional
        Whether it runs in a thread of its own, so that the call returns at once; by default in notebooks.
    start : bool, default True
        Whether it starts now; else `start()` does it.
    **options
        Of a method of SciPy its options; else ``rate`` (0.01), for momentum also ``momentum`` (0.9), for Adam
        ``beta1`` (0.9), ``beta2`` (0.999) and ``epsilon`` (1e-8).

    Returns
    -------
    Optimization
        With `best`, `history` and `status`, and `pause`, `stop`, `resume` and `wait`.

    Raises
    ------
    GradientError
        When arguments do not fit each other, or the file does not fit the problem.
    NonFiniteError
        When the loss or the gradient is NaN or infinite; the fields hold the best parameters.

    Examples
    --------
    >>> import dsim as ds
    >>> x = ds.field(ds.f64, shape=2)
    >>> y = ds.field(ds.f64, shape=())
    >>> @ds.kernel
    ... def rosenbrock():
    ...     y[None] = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    >>> found = ds.optimize(rosenbrock, wrt=x, loss=y, progress=False)
    >>> found.status, x.to_numpy().round(3)
    ('finished', array([1., 1.]))
    """
    f = objective(run, wrt, loss, reset=reset, bounds=bounds, free=free)
    chosen = method_named(method, options, f.bounds is not None)
    if tolerance is not None and not _is_number(tolerance):
        raise wrong(f"`tolerance=` is a number from 0, got {tolerance!r}", "such as `tolerance=1e-6`")
    if callback is not None and not _takes_one(callback):
        raise wrong(
            "`callback=` is a function of the optimisation", "`callback=lambda o: print(o.best.loss)`"
        )
    if view is not None and not callable(getattr(view, "update", None)):
        raise wrong("`view=` has an `update()`, as what `ds.view` gives", "`view=ds.view(x)`")
    if background not in (None, True, False):
        raise wrong(f"`background=` is True, False or None, got {background!r}", "`background=False` waits")
    count(steps, "steps")
    replaces = WORKING.give_way(f) if start and not opened() else ""
    with EVALUATING:
        refuse_outside(f)
    file = None
    if path is not None:
        told = {"method": chosen.name, "fields": _fields(f)}
        file = KeptFile(path, told, f.free, chosen.start(len(f.free)))
    plan = OptimizationPlan(f, chosen, count(steps, "steps"), tolerance, callback, view, file, replaces)
    in_page = _in_notebook()
    behind = in_page if background is None else bool(background)
    if progress and behind and in_page:
        made = _with_panel(plan)
    else:
        made = Optimization(plan, behind, in_a_script() if progress else NoProgress())
    if start:
        made.start()
    return made


def _takes_one(callback: Any) -> bool:
    """Whether it can be called with the optimisation alone."""
    if not callable(callback):
        return False
    try:
        inspect.signature(callback).bind(None)
    except TypeError:
        return False
    except ValueError:  # some functions of C have no signature
        return True
    return True


def _with_panel(plan: OptimizationPlan) -> Optimization:
    """One in a notebook, with its display."""
    from dsim.live.shown import page_budget  # noqa: PLC0415 (imports IPython)
    from dsim.optimization.still_page import OptimizationPage  # noqa: PLC0415
    from dsim.optimization.widget import OptimizationPanel  # noqa: PLC0415 (imports ipywidgets)

    panel = OptimizationPanel() if page_budget() is None else OptimizationPage()
    made = Optimization(plan, True, panel)
    panel.steer(made)
    return made


def _in_notebook() -> bool:
    """Whether there is a notebook's kernel, with a page that may show widgets."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def _fields(f: Objective) -> list[dict[str, Any]]:
    """The inputs, as files describe them."""
    return [
        {
            "name": leaf.root.given_name or None if isinstance(leaf, Field) else "array",
            "shape": list(shape),
            "type": str(dtype),
        }
        for leaf, shape, dtype in zip(f.wrt.leaves, f.wrt.shapes, f.wrt.types, strict=True)
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
