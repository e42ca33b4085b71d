"""Figures for papers, by matplotlib: of fields, their gradients, tapes and trajectories of gradients.

Each function draws into the axes that it is given, or into new ones, and gives them back for labels and
styles of your own. matplotlib is imported by the first call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dsim.diagnostics.frames import outermost
from dsim.diagnostics.render import printable
from dsim.runtime.fields.components import Component
from dsim.runtime.fields.fields import Field, kind_of
from dsim.runtime.inspection.trajectories import GradientTrajectory
from dsim.runtime.tapes.tape import Tape

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["field", "gradient", "tape", "trajectory"]

_ARROWS = 32  # along an axis of a field of vectors, at most
_LINES = 4  # the most numbers of a vector that are drawn as lines
_DECADES = 3  # that linear colours are good for
_SIGNED, _PLAIN = "RdBu_r", "viridis"


@outermost
def field(x: Field | Component | np.ndarray, ax: Axes | None = None) -> Axes:
    """Draws the numbers of a field.

    With one axis as a line, of vectors a line for each of their numbers; with two axes as an image, the first
    index to the right and the second one up, of vectors with two numbers as arrows.

    Parameters
    ----------
    x : Field, component of a field, or ndarray
        With one or two axes.
    ax : Axes, optional
        Where to draw; new ones without it.

    Returns
    -------
    Axes
        What was drawn into.

    Raises
    ------
    ValueError
        When it has another number of axes, or entries that cannot be drawn.

    Examples
    --------
    >>> import dsim as ti
    >>> import matplotlib; matplotlib.use("agg")
    >>> u = ti.field(ti.f64, shape=(4, 3), name="u")
    >>> ax = ti.plot.field(u)
    >>> ax.get_xlabel(), ax.get_ylabel(), ax.get_title()
    ('i', 'j', 'u')
    """
    return _drawn(x, _name(x), ax, signed=False)


@outermost
def gradient(x: Field | Component, ax: Axes | None = None) -> Axes:
    """Draws the gradient of a field as `field` does, with colours that are white at 0.

    Parameters
    ----------
    x : Field or component of a field
        With a gradient.
    ax : Axes, optional
        Where to draw; new ones without it.

    Returns
    -------
    Axes
        What was drawn into.

    Examples
    --------
    >>> import dsim as ti
    >>> import matplotlib; matplotlib.use("agg")
    >>> u = ti.field(ti.f64, shape=5, name="u", needs_grad=True)
    >>> ti.plot.gradient(u).get_title()
    'gradient by u'
    """
    if not isinstance(x, Field | Component):
        raise TypeError(f"gradient takes a field, not {kind_of(x)}")
    return _drawn(x.grad, f"gradient by {_name(x) or 'a field'}", ax, signed=True)


@outermost
def tape(tape: Tape, ax: Axes | None = None) -> Axes:
    """Draws, for each call of a tape, the norm of the gradient after it and the bytes saved for it.

    A tape that was recorded without ``profile=True`` is profiled first: its backward sweep runs once more.

    Parameters
    ----------
    tape : Tape
        After its block.
    ax : Axes, optional
        Where to draw; new ones without it. The bytes have an axis of their own at the right.

    Returns
    -------
    Axes
        Those with the norm.

    Examples
    --------
    >>> import dsim as ti
    >>> import matplotlib; matplotlib.use("agg")
    >>> x = ti.field(ti.f64, shape=(), needs_grad=True)
    >>> @ti.kernel
    ... def double():
    ...     x[None] = 2 * x[None]
    >>> with ti.ad.Tape(x) as recorded:
    ...     for _ in range(3):
    ...         double()
    >>> ti.plot.tape(recorded).lines[0].get_ydata().tolist()
    [4.0, 2.0, 1.0]
    """
    if not isinstance(tape, Tape):
        raise TypeError(f"tape takes a tape, not {kind_of(tape)}")
    norms, saved = tape.profile().gradient_norm, tape.calls.saved_bytes()
    calls, ax = np.arange(len(norms)), _axes(ax)
    ax.plot(calls, norms, "o-", ms=3, label="norm of the gradient")
    _log_if_wide(ax, norms)
    ax.set(xlabel="call", ylabel="norm of the gradient", title=f"tape of {_safe(tape.loss.name)}")
    if saved.any():
        bytes_ = ax.twinx()
        bytes_.bar(calls, saved, width=0.6, color="gray", alpha=0.3, label="saved bytes")
        bytes_.set_ylabel("saved bytes")
        bytes_.set_zorder(ax.get_zorder() - 1)
        ax.patch.set_visible(False)
        handles = [*ax.get_legend_handles_labels()[0], *bytes_.get_legend_handles_labels()[0]]
        ax.legend(handles=handles)
    return ax


@outermost
def trajectory(gradients: GradientTrajectory, ax: Axes | None = None) -> Axes:
    """Draws what `Tape.gradients` gives: as colours by call and element, and the norm as a line over them.

    Parameters
    ----------
    gradients : GradientTrajectory
        Of any field.
    ax : Axes, optional
        Where to draw; new ones without it. The norm has an axis of its own at the right.

    Returns
    -------
    Axes
        Those with the colours.

    Examples
    --------
    >>> import dsim as ti
    >>> import matplotlib; matplotlib.use("agg")
    >>> x = ti.field(ti.f64, shape=(), needs_grad=True)
    >>> @ti.kernel
    ... def double():
    ...     x[None] = 2 * x[None]
    >>> with ti.ad.Tape(x) as recorded:
    ...     for _ in range(3):
    ...         double()
    >>> ax = ti.plot.trajectory(recorded.gradients(x))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('call', 'element of x')
    """
    if not isinstance(gradients, GradientTrajectory):
        raise TypeError(f"trajectory takes what `tape.gradients(…)` gives, not {kind_of(gradients)}")
    if not len(gradients):
        raise ValueError("there are no gradients to draw: the tape has no such call")
    order = np.argsort(gradients.calls)
    calls = gradients.calls[order]
    values = gradients.values[order].reshape(len(calls), -1).astype(np.float64)
    ax = _axes(ax)
    drawn = ax.pcolormesh(
        calls, np.arange(values.shape[1]), values.T, cmap=_SIGNED, norm=_around_0(values), shading="nearest"
    )
    of = _safe(gradients.of.strip("`"))
    ax.set(xlabel="call", ylabel=f"element of {of}", title=f"gradient by {of} after each call")
    norms = np.linalg.norm(values, axis=1)
    right = ax.twinx()
    right.plot(calls, norms, "k.-", linewidth=1, label="norm")
    _log_if_wide(right, norms)
    right.set_ylabel("norm")
    ax.figure.colorbar(drawn, ax=ax, label="gradient", pad=0.15)
    return ax


# ------------------------------------------------------------------ one field


def _drawn(x: Any, title: str, ax: Axes | None, signed: bool) -> Axes:
    values, entry = _numbers(x)
    axes = values.ndim - len(entry)
    if axes not in (1, 2):
        advice = ": draw a part of it, `ds.plot.field(x.to_numpy()[:, :, 0])`" if axes else ""
        raise ValueError(f"{title or 'the array'} has {axes} axes, and 1 or 2 can be drawn{advice}")
    if axes == 1 and len(entry) <= 1 and values.shape[-1 if entry else 0] <= (_LINES if entry else np.inf):
        return _lines(values, title, _axes(ax), signed)
    if axes == 2 and not entry:
        return _image(values, title, _axes(ax), signed)
    if axes == 2 and entry == (2,):
        return _arrows(values, title, _axes(ax))
    of = "×".join(map(str, entry))
    raise ValueError(
        f"{title} has entries of {of} numbers, which cannot be drawn here: take one, `x.get_scalar_field(0)`"
    )


def _numbers(x: Any) -> tuple[np.ndarray, tuple[int, ...]]:
    """The numbers, and the shape of an entry."""
    if isinstance(x, Field | Component):
        return x.to_numpy(), tuple(x.entry_shape)
    if isinstance(x, np.ndarray):
        return x, ()
    raise TypeError(f"field takes a field or a NumPy array, not {kind_of(x)}")


def _lines(values: np.ndarray, title: str, ax: Axes, signed: bool) -> Axes:
    if signed:
        ax.axhline(0, color="gray", linewidth=0.8)
    if values.ndim == 1:
        ax.plot(values)
    else:
        for n, numbers in enumerate(values.T):
            ax.plot(numbers, label=f"[{n}]")
        ax.legend()
    ax.set(xlabel="i", ylabel=title if not signed else "", title=title if signed else "")
    return ax


def _image(values: np.ndarray, title: str, ax: Axes, signed: bool) -> Axes:
    cmap, norm = (_SIGNED, _around_0(values)) if signed else (_PLAIN, None)
    shown = ax.imshow(values.T, origin="lower", cmap=cmap, norm=norm, interpolation="nearest")
    ax.set(xlabel="i", ylabel="j", title=title)
    ax.figure.colorbar(shown, ax=ax)
    return ax


def _arrows(values: np.ndarray, title: str, ax: Axes) -> Axes:
    step = max(1, -(-max(values.shape[:2]) // _ARROWS))
    some = values[::step, ::step]
    i, j = np.meshgrid(*(np.arange(n) * step for n in some.shape[:2]), indexing="ij")
    ax.quiver(i, j, some[..., 0], some[..., 1], angles="xy")
    ax.set(xlabel="i", ylabel="j", title=title, aspect="equal")
    return ax


# ------------------------------------------------------------------ axes, names, colours


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt  # noqa: PLC0415 (takes long)

    return plt.subplots(layout="constrained")[1]


def _name(x: Any) -> str:
    if isinstance(x, Component):
        return _safe(f"{_name(x.whole)}[{', '.join(map(str, x.component))}]")
    return _safe(x.name) if isinstance(x, Field) and x.root.given_name else ""


def _safe(name: str) -> str:
    """A user's name as text: no formula of matplotlib's."""
    return printable(name).replace("$", r"\$")


def _around_0(values: np.ndarray) -> Any:
    """Colours that are the same above and below 0; over many decades on a log scale."""
    from matplotlib.colors import Normalize, SymLogNorm  # noqa: PLC0415 (takes long)

    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    most = float(sizes.max()) if sizes.size else 1.0
    if sizes.size and sizes.min() * 10**_DECADES < most:
        return SymLogNorm(max(float(sizes.min()), most * 1e-6), vmin=-most, vmax=most)
    return Normalize(-most, most)


def _log_if_wide(ax: Axes, values: np.ndarray) -> None:
    """A log scale for numbers over many decades."""
    good = values[np.isfinite(values) & (values > 0)]
    if good.size and good.size == values.size and good.min() * 10**_DECADES < good.max():
        ax.set_yscale("log")
