"""`ds.explore`: a run, its loss and its gradient follow sliders, and what a person drags."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dsim.diagnostics.frames import outermost
from dsim.live.exploring.controls import controls_of
from dsim.live.exploring.explorer import Explorer
from dsim.live.scene.numbers import name_by_variables, refused
from dsim.live.view import View
from dsim.runtime.checking import runs
from dsim.runtime.fields.fields import Field, kind_of
from dsim.runtime.fields.loss import check as check_loss


@outermost
def explore(
    run: Callable[..., Any],
    wrt: Field | list[Field] | None = None,
    loss: Field | None = None,
    controls: Any = None,
    *,
    reset: Callable[[], Any] | None = None,
    picture: View | None = None,
) -> Explorer:
    """A run with a slider for each number that it takes; the picture, the loss and its gradient follow.

    Parameters
    ----------
    run : callable
        A kernel or a function that launches kernels. Its parameters with a number as default have sliders.
    wrt : Field or list of Field, optional
        Fields whose gradient is drawn: positions with arrows along the negative gradient. A person can drag
        them. Each run begins with their numbers as they are now, and as they were dragged since.
    loss : Field, optional
        A single number; then the run is differentiated.
    controls : mapping or sequence, optional
        Ends of sliders by parameter or field of one number: ``{"gravity": (0, 20), stiffness: (0, 1e4)}``.
    reset : callable, optional
        Prepares the state before each run; `wrt` and the controls get their numbers after it. Without it,
        too, what a run has written is put back before the next one, with the random numbers that it drew.
    picture : View, optional
        What `ds.view` made; by default a view of the first field of `wrt`. Points at fields of `wrt` can be
        dragged in either.

    Returns
    -------
    Explorer
        The last line of a cell shows it. ``set(name=value)`` moves a slider from Python.

    Raises
    ------
    DsimError
        When a parameter has no number, a control belongs to nothing, or the loss is in `wrt` or `controls`.

    Examples
    --------
    >>> import dsim as ds
    >>> x, y = (ds.field(ds.f64, shape=(), needs_grad=True, name=name) for name in "xy")
    >>> @ds.kernel
    ... def parabola():
    ...     y[None] = (x[None] - 1) ** 2
    >>> seen = ds.explore(parabola, loss=y, controls={x: (-2, 2)})
    >>> seen.set(x=2.0)
    >>> seen
    explorer of parabola: x = 2; y = 1
    >>> seen.found.gradients
    {'x': 2.0}
    """
    if not callable(run):
        raise refused("`run` is a kernel or a function", "pass the function itself: `run`, not `run()`")
    if controls is not None and not isinstance(controls, Mapping | list | tuple | set):
        message = f"`controls` takes ends by parameter or field, not {kind_of(controls)}"
        raise refused(message, "controls={k: (0, 1)}")
    fields = list(wrt) if isinstance(wrt, list | tuple) else [] if wrt is None else [wrt]
    for field in fields:
        if not isinstance(field, Field):
            raise refused(f"`wrt` takes fields, not {kind_of(field)}", "a field, or a list of fields")
        if loss is not None and not field.needs_grad:
            raise refused(
                f"`wrt` takes fields with a gradient, and {field.quoted} has none",
                "declare it with `needs_grad=True`",
            )
    if loss is not None:
        check_loss(loss)
        _refuse_loss(loss, fields, controls or ())
    if reset is not None:
        runs.require(reset)
    if not isinstance(picture, View | None):
        raise refused(f"`picture=` is a view, not {kind_of(picture)}", "pass one: `picture=ds.view(x)`")
    name_by_variables(run, [f for f in (*fields, loss, *(controls or ())) if isinstance(f, Field)])
    made = Explorer(run, fields, loss, controls_of(run, controls), reset)
    made.show(picture)
    return made


def _refuse_loss(loss: Field, wrt: list[Field], controls: Iterable[Any]) -> None:
    """Refuses the loss where a person names what it depends on."""
    for option, named in (("wrt", wrt), ("controls", controls)):
        if any(each is loss for each in named):
            raise refused(
                f"{loss.quoted} is the loss, with 0 in it when a run begins: it cannot be in `{option}=`",
                f"name in `{option}=` what the loss depends on",
            )
