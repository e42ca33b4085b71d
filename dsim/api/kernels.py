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
    """Decorator: the function is compiled, and calling it launches it.

    Its outermost loops run in parallel where their iterations are independent. It is compiled when it is
    first launched; parameters have type annotations. One annotated with `template()` takes a field, or
    anything else that kernels know at compile time; there is then a kernel for each that is passed.

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
    """A function that kernels call: its body becomes part of theirs. Outside kernels it is plain Python."""

    word = "func"

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = self.__dsim_func__ = function
        self.__dsim_rules__: Rules | None = None

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Runs it as plain Python."""
        return self.function(*args, **named)

    def __get__(self, owner: Any, kind: type | None = None) -> Func:
        """The func as a method of `owner`."""
        if owner is None:
            return self
        bound = bound_once(self, owner)
        bound.__dsim_rules__ = self.__dsim_rules__
        return bound

    @outermost
    def derivative(self, *, jvp: Func | None = None, vjp: Func | None = None, check: bool = True) -> Func:
        """Gives the func a custom derivative, in both modes, instead of that of its body.

        Parameters
        ----------
        jvp : func, optional
            Takes the arguments and then the tangents of those that are floats, and returns the tangent of
            the result; of several results, those of the float ones. It is linear in the tangents.
        vjp : func, optional
            Takes the arguments and then the adjoint of the result (of several, those of the float ones),
            and returns the adjoints of the float arguments, in their order. It is linear in the adjoints.
        check : bool
            Whether to compare both, or one with its transpose, when a kernel that uses them is compiled:
            ⟨w, jvp(x, v)⟩ = ⟨vjp(x, w), v⟩ must hold for random numbers.

        Returns
        -------
        Func
            The func itself.

        Raises
        ------
        TypeError
            When what is given is no func, or its parameters do not fit.

        Notes
        -----
        One of both is enough: the other is its transpose, which dsim makes. Each may have a parameter
        ``*, result`` and gets the value of the func by it. Fields that the func or the derivative reads count
        as constants; a gradient that would go through one is refused. Of a method, the derivative's
        funcs are methods too, and given in the class.

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
        """Compares the func's own derivative with differences of its values, and jvp and vjp with each other.

        Everything is computed in double precision. Returns when all agree.

        Parameters
        ----------
        *args
            Where to look: an argument for each parameter.
        tolerance : float
            What may differ, relative to the size of the numbers.

        Raises
        ------
        GradientError
            When something differs, or when the func or its derivative is not finite there.

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
    """Decorator of Taichi's for funcs that are compiled once; here it is `func`, which is inlined."""
    return func(function)


def pyfunc(function: Callable[..., Any]) -> Func:
    """Decorator of Taichi's for funcs that Python calls, too; here it is `func`: all funcs can be."""
    return func(function)


experimental = SimpleNamespace(real_func=real_func)  # where older programs look for it


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
    """Decorator of Taichi's for classes with kernels as methods; here they need none."""
    return kind


class Derivative:
    """The derivative of a func; kernels call it like a func."""

    def __init__(self, mode: str, function: Any) -> None:
        self.__dsim_derivative__ = (mode, function)
        name = getattr(function, "__name__", type(function).__name__)
        self.__name__ = f"{'forward' if mode == 'jvp' else 'grad'}({name})"

    def __call__(self, *_: Any) -> Any:
        """Refuses: there is nothing to run outside kernels."""
        message = f"`{self.__name__}` is called inside kernels only"
        raise LaunchTypeError(Diagnostic("argument", message, help="write a kernel that calls it"))

    def __repr__(self) -> str:
        return f"<func {self.__name__}>"


@outermost
def forward(function: Any) -> Derivative:
    """The derivative of a func in forward mode, for use in kernels.

    Of a func of one float scalar, ``forward(f)(x)`` is df/dx. Otherwise the call takes the arguments and
    then their tangents: ``forward(f)(x, y, dx, dy)``. May be nested: ``forward(forward(f))``.
    """
    return _derivative("jvp", function, "forward")


@outermost
def grad(function: Any) -> Derivative:
    """The gradient of a func that returns one number, for use in kernels.

    Of one float argument, ``grad(f)(x)`` has the shape of `x`; of several it is a tuple.
    """
    return _derivative("vjp", function, "grad")


def _derivative(mode: str, function: Any, name: str) -> Derivative:
    if callables.of(function) is None:
        kind = "a kernel" if isinstance(function, Kernel) else type(function).__name__
        raise TypeError(f"{name}() takes a func or a plain Python function, not {kind}")
    return Derivative(mode, function)


# Inside kernels, too: there the frontend makes the derivative.
forward.__dsim_builtin__ = "forward"  # type: ignore[attr-defined]
grad.__dsim_builtin__ = "grad"  # type: ignore[attr-defined]
