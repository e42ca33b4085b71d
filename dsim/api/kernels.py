"""The decorators `kernel` and `func`, and derivatives of funcs that kernels can call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from dsim.api import rules
from dsim.api.rules import rules_of
from dsim.diagnostics import Diagnostic, LaunchTypeError
from dsim.diagnostics.frames import outermost
from dsim.frontend.inlining import callables
from dsim.frontend.inlining.custom_derivatives import Rules
from dsim.frontend.source import source
from dsim.frontend.values.types import Template
from dsim.runtime.kernels.kernel import Kernel
from dsim.runtime.kernels.methods import bound_once
from dsim.runtime.state.references import ByName

template = Template


@outermost
def kernel(function: Callable[..., Any]) -> Kernel:
    """Decorator: compiles the function; a call launches it.

    Its outermost loops run in parallel where their iterations are independent. It is compiled when
    first launched. Parameters need type annotations. A parameter annotated with `template()` takes a field or
    another compile-time value; the kernel is compiled once for each value passed.

    Examples
    --------
    >>> import dsim as ti
    >>> x = ti.field(ti.f32, shape=4)
    >>> @ti.kernel
    ... def count(step: ti.f32):
    ...     for i in x:
    ...         x[i] = i * step
    >>> count(0.5)
    >>> x.to_numpy().tolist()
    [0.0, 0.5, 1.0, 1.5]
    """
    _refuse_other(function, "kernel")
    source.remember(function)
    return Kernel(function)


class Func(ByName):
    """A function that kernels call; the compiler inlines it. Outside kernels it is plain Python."""

    word = "func"

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.__dsim_rules__: Rules | None = None

    @property
    def __dsim_func__(self) -> Any:
        """The Python function: of the class, since `functools.wraps` copies what an object has itself."""
        return self.function

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Runs it as plain Python."""
        return self.function(*args, **named)

    def __get__(self, owner: Any, kind: type | None = None) -> Func:
        """Binds the func as a method of `owner`."""
        if owner is None:
            return self
        bound = bound_once(self, owner)
        bound.__dsim_rules__ = self.__dsim_rules__
        return bound

    @outermost
    def derivative(self, *, jvp: Func | None = None, vjp: Func | None = None, check: bool = True) -> Func:
        """Defines a custom derivative for both modes, which replaces that of the body.

        Parameters
        ----------
        jvp : func, optional
            Takes the arguments and then the tangents of those that are floats, and returns the tangent of
            the result; of several results, those of the float ones. It is linear in the tangents.
        vjp : func, optional
            Takes the arguments and then the adjoint of the result (of several, those of the float ones),
            and returns the adjoints of the float arguments, in their order. It is linear in the adjoints.
        check : bool
            Whether to test both, or one and its transpose, when a kernel that uses them is compiled:
            ⟨w, jvp(x, v)⟩ = ⟨vjp(x, w), v⟩ must hold for random numbers.

        Returns
        -------
        Func
            The func itself.

        Raises
        ------
        TypeError
            When an argument is not a func, or its parameters do not fit.

        Notes
        -----
        One of the two is enough: dsim derives the other by transposition. Each may have a parameter
        ``*, result``, which receives the value of the func. Fields that the func or the derivative reads are
        constants; a gradient with respect to one is refused. For a method, the derivative's
        funcs are methods too, defined in the class.

        Examples
        --------
        >>> import dsim as ti
        >>> @ti.func
        ... def root(x):
        ...     y = x
        ...     for _ in range(30):
        ...         y = 0.5 * (y + x / y)
        ...     return y
        >>> @ti.func
        ... def root_jvp(x, x_dot, *, result):
        ...     return x_dot / (2.0 * result)
        >>> root.derivative(jvp=root_jvp)
        <func root>
        >>> slope = ti.grad(root)
        >>> @ti.kernel
        ... def slope_at(x: float) -> float:
        ...     return slope(x)
        >>> slope_at(4.0)
        0.25
        """
        self.__dsim_rules__ = rules_of(self, jvp, vjp, check)
        return self

    @outermost
    def check_derivative(self, *args: Any, tolerance: float = 1e-4) -> None:
        """Compares the custom derivative with finite differences, and jvp with vjp.

        Computes in double precision. Returns when all agree.

        Parameters
        ----------
        *args
            The point of comparison: an argument for each parameter.
        tolerance : float
            The relative tolerance.

        Raises
        ------
        GradientError
            When they differ, or when the func or its derivative is not finite there.

        Examples
        --------
        >>> import dsim as ti
        >>> @ti.func
        ... def cube(x):
        ...     return x * x * x
        >>> @ti.func
        ... def cube_jvp(x, x_dot):
        ...     return 3.0 * x * x * x_dot
        >>> cube.derivative(jvp=cube_jvp).check_derivative(2.0)
        """
        rules.check(self, args, tolerance)

    def __repr__(self) -> str:
        return f"<func {self.__name__}>"


@outermost
def func(function: Callable[..., Any]) -> Func:
    """Decorator: the function can be called in kernels and in other funcs."""
    _refuse_other(function, "func")
    source.remember(function)
    return Func(function)


def real_func(function: Callable[..., Any]) -> Func:
    """Taichi's decorator for funcs compiled separately; here the same as `func`, which is inlined."""
    return func(function)


def pyfunc(function: Callable[..., Any]) -> Func:
    """Taichi's decorator for funcs that Python also calls; here the same as `func`, which Python can call."""
    return func(function)


experimental = SimpleNamespace(real_func=real_func)  # the name that older programs use


def _refuse_other(function: object, what: str) -> None:
    if isinstance(function, Kernel | Func):
        kind = "kernel" if isinstance(function, Kernel) else "func"
        message = f"`@{what}` decorates a function, and `{function.__name__}` is a {kind} already"
        help = f"remove one of the two decorators above `def {function.__name__}`"
        raise LaunchTypeError(Diagnostic("argument", message, help=help))
    if not callable(function) or not hasattr(function, "__code__"):
        message = f"`@{what}` decorates a function, not {type(function).__name__}"
        help = f"write `@{what}` above a `def`"
        if isinstance(function, property | classmethod | staticmethod):
            help = f"write `@{what}` below `@{type(function).__name__}`, next to the `def`"
        raise LaunchTypeError(Diagnostic("argument", message, help=help))


def data_oriented(kind: type) -> type:
    """Taichi's decorator for classes with kernels as methods; here it is not needed and changes nothing."""
    return kind


class Derivative:
    """The derivative of a func; kernels call it like a func."""

    def __init__(self, mode: str, function: Any) -> None:
        self._of = mode, function
        name = getattr(function, "__name__", type(function).__name__)
        self.__name__ = f"{'forward' if mode == 'jvp' else 'grad'}({name})"

    @property
    def __dsim_derivative__(self) -> tuple[str, Any]:
        """The mode and the function: of the class, see `Func`."""
        return self._of

    def __call__(self, *_: Any) -> Any:
        """Raises: a derivative can only be called in kernels."""
        message = f"`{self.__name__}` is called inside kernels only"
        raise LaunchTypeError(Diagnostic("argument", message, help="write a kernel that calls it"))

    def __repr__(self) -> str:
        return f"<func {self.__name__}>"


@outermost
def forward(function: Any) -> Derivative:
    """The derivative of a func in forward mode, for use in kernels.

    For a func of one float scalar, ``forward(f)(x)`` is df/dx. Otherwise the call takes the arguments and
    then their tangents: ``forward(f)(x, y, dx, dy)``. May be nested: ``forward(forward(f))``.
    """
    return _derivative("jvp", function, "forward")


@outermost
def grad(function: Any, wrt: Any = None, out: Any = None) -> Any:
    """The gradient of a func for use in kernels, or of a run with respect to fields, in Python.

    Parameters
    ----------
    function : callable
        Without `wrt` and `out` a func that returns one number: the result is a func, and with one float
        argument ``grad(f)(x)`` has the shape of `x`, with several it is a tuple. With them a kernel, or a
        function that launches kernels.
    wrt : Field, ndarray, or list of them, optional
        What to differentiate by.
    out : Field, optional
        A single number that the run computes.

    Returns
    -------
    Derivative or callable
        With `wrt` and `out` a function that gives the gradient: see `value_and_grad`.

    Examples
    --------
    >>> import dsim as ti
    >>> x = ti.field(ti.f64, shape=())
    >>> y = ti.field(ti.f64, shape=())
    >>> @ti.kernel
    ... def f():
    ...     y[None] = x[None] ** 3 + 2 * x[None] ** 2 - 3 * x[None] + 1
    >>> dfdx = ti.grad(f, wrt=x, out=y)
    >>> float(dfdx(1.0))
    4.0
    """
    if wrt is not None or out is not None:
        from dsim.runtime.transforms.functions import gradient_of  # noqa: PLC0415 (of many programs unused)

        return gradient_of(function, wrt, out)
    return _derivative("vjp", function, "grad")


def _derivative(mode: str, function: Any, name: str) -> Derivative:
    if callables.of(function) is None:
        kind = "a kernel" if isinstance(function, Kernel) else type(function).__name__
        raise TypeError(f"{name}() takes a func or a plain Python function, not {kind}")
    return Derivative(mode, function)


# In kernels the frontend resolves these names: it generates derivatives, and local functions are funcs.
func.__dsim_builtin__ = "func"  # type: ignore[attr-defined]
real_func.__dsim_builtin__ = "real_func"  # type: ignore[attr-defined]
pyfunc.__dsim_builtin__ = "pyfunc"  # type: ignore[attr-defined]
forward.__dsim_builtin__ = "forward"  # type: ignore[attr-defined]
grad.__dsim_builtin__ = "grad"  # type: ignore[attr-defined]
