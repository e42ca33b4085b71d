"""A person's kernel: compiled when first launched, again when what it captured changes, differentiable."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from typing import Any

from dsim.diagnostics import CompilationError, Diagnostic, DsimError, GradientError, LaunchTypeError
from dsim.runtime import settings, told
from dsim.runtime.contexts import dispatch
from dsim.runtime.findings import Findings, overwrites
from dsim.runtime.forms import Form, Keys, label_apart
from dsim.runtime.signatures import Signature
from dsim.runtime.versions import Instance


class Kernel:
    """A function in the kernel language; calling it launches it.

    Made by the decorator `kernel`. ``k.grad(…)`` runs its adjoint at the current state; `primal`,
    `tangent` and `adjoint` are its forms, to print: ``print(k.adjoint)``, ``print(k.adjoint.python)``.
    """

    __dsim_kernel__ = True
    __name__: str

    def __init__(self, function: Callable[..., Any], bound: Mapping[str, Any] | None = None) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._signature = Signature(function, bound or {})
        self._count = len(self._signature.names)
        self._instance = Instance(function, bound or {})
        self._kernels: dict[Any, Kernel] = {}
        settings.listen(self)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Launches it; gives what it returns, as Python numbers."""
        if named or len(args) != self._count:
            args = self._signature.complete(args, named)
        if self._signature.templates:
            kernel, args = self._chosen(args)
            return kernel(*args)
        try:
            return self._instance.launch(*args)
        except DsimError as error:  # what it says stands in the person's lines: dsim's own are left out
            raise error.with_traceback(None) from None

    def __get__(self, owner: Any, kind: type | None = None) -> Kernel:
        """The kernel as a method of `owner`, which it knows at compile time."""
        return self if owner is None else bound_once(self, owner)

    def __repr__(self) -> str:
        templates = ", ".join(self._signature.names[n] for n in self._signature.templates)
        return f"<kernel {self.__name__}{f' of {templates}' if templates else ''}>"

    # -- compile-time parameters

    def of(self, *values: Any) -> Kernel:
        """The kernel for these values of its ``template()`` parameters, in their order."""
        names = [self._signature.names[n] for n in self._signature.templates]
        if len(values) != len(names):
            listed = ", ".join(names) or "none"
            message = f"`{self.__name__}` has the template parameters {listed}, got {len(values)} values"
            raise LaunchTypeError(Diagnostic("argument", message))
        key = tuple(map(_identity, values))
        found = self._kernels.get(key)
        if found is None:
            found = self._kernels[key] = Kernel(self.function, dict(zip(names, values, strict=True)))
        return found

    def _chosen(self, args: tuple[Any, ...]) -> tuple[Kernel, tuple[Any, ...]]:
        """The kernel for the compile-time arguments among `args`, and the others."""
        chosen = self._signature.templates
        if not chosen:
            return self, args
        kernel = self.of(*(args[n] for n in chosen))
        return kernel, tuple(a for n, a in enumerate(args) if n not in chosen)

    def settings_changed(self) -> None:
        """Forgets what was compiled under other settings."""
        self._instance.forget()

    # -- derivatives

    def check(self, *templates: Any) -> Findings:
        """What there is to say of the kernel, without running it.

        Errors that its compilation finds, loops that run serially, and values that its own gradient needs
        and that it overwrites: a note where a tape saves them, an error where that cannot be. It raises
        nothing.

        Parameters
        ----------
        *templates
            Values of its ``template()`` parameters, in their order.

        Returns
        -------
        Findings
            The diagnostics; print it.

        Examples
        --------
        >>> import dsim as ti
        >>> x = ti.field(ti.f32, shape=4, needs_grad=True)
        >>> @ti.kernel
        ... def sine():
        ...     for i in x:
        ...         x[i] = ti.sin(x[i])
        >>> for found in sine.check():
        ...     print(found.level.value, found.code, found.message)
        note overwrites `x[i]` is overwritten after it was read
        """
        kernel = self.of(*templates) if self._signature.templates else self
        try:
            version = kernel._instance.unsaid()
        except (CompilationError, GradientError) as error:
            return Findings(error.diagnostics)
        return Findings((*version.diagnostics, *overwrites(version.form)))

    def grad(self, *args: Any, **named: Any) -> None:
        """Runs the adjoint at the current state: from the outputs' ``.grad`` to the inputs'.

        Call the kernel first. The adjoints of what it stored are used up (set to 0), those of what it
        read are added to.

        Raises
        ------
        AccessRuleError
            When the kernel overwrites values that its adjoint reads.
        GradientError
            When no field of the kernel, or not every one that it needs, has a gradient.
        """
        kernel, rest = self._chosen(self._signature.complete(args, named))
        version = kernel._instance.version()
        adjoint = version.form.adjoint(self._with_gradient(version.form), "bar")
        if adjoint.conflicts or adjoint.lost:
            raise told.own(adjoint.conflicts, adjoint.lost)
        dispatch(adjoint.form.guarded(), version.arguments(rest))

    def _with_gradient(self, form: Form) -> Keys:
        """The memories that `grad` differentiates with respect to."""
        keys = frozenset(m.key for m, f in form.floats if f.needs_grad)
        if not keys:
            message = f"no field of `{self.__name__}` has a gradient"
            advice = "declare fields with `needs_grad=True`"
            raise GradientError(Diagnostic("missing-gradient", message, help=advice))
        reached = form.spread(keys)
        for key in sorted(reached - keys):
            f = form.field(key)
            message = (
                f"`{self.__name__}` writes {f.quoted} from values with gradients, but it has none itself"
            )
            advice = f"declare `{f.name}` with `needs_grad=True`"
            raise GradientError(Diagnostic("missing-gradient", message, help=advice))
        if label_apart(form, reached, "bar") != "bar":
            message = f"`{self.__name__}` works with gradients itself: its adjoint has no place beside them"
            raise GradientError(Diagnostic("not-differentiable", message, help="use `ad.Tape`"))
        return reached

    @property
    def primal(self) -> Form:
        """The kernel as it is launched."""
        if not self._signature.templates:
            return self._instance.version().form
        if len(self._kernels) != 1:
            names = ", ".join(self._signature.names[n] for n in self._signature.templates)
            message = f"`{self.__name__}` is a kernel for each {names}, and there are {len(self._kernels)}"
            advice = f"say which one: `{self.__name__}.of({names}).adjoint`"
            raise LaunchTypeError(Diagnostic("argument", message, help=advice))
        return next(iter(self._kernels.values())).primal

    @property
    def tangent(self) -> Form:
        """The kernel in forward mode, with respect to all its float fields."""
        form = self.primal
        active = frozenset(m.key for m, _ in form.floats)
        return form.tangent(active, label_apart(form, active, "dot"))

    @property
    def adjoint(self) -> Form:
        """The kernel's reverse sweep, with respect to the fields with a gradient (to all if none has one)."""
        form = self.primal
        asked = frozenset(m.key for m, f in form.floats if f.needs_grad)
        active = form.spread(asked or frozenset(m.key for m, _ in form.floats))
        return form.adjoint(active, label_apart(form, active, "bar")).form


def _identity(value: Any) -> Any:
    """What tells compile-time arguments apart: numbers and strings by value, objects by themselves.

    Whoever keeps the identity of an object as a key keeps the object too.
    """
    return (type(value), value) if isinstance(value, int | float | str | type(None)) else id(value)


class _Methods(dict[str, Any]):
    """The kernels and funcs bound to one object, kept by it; a copy of the object starts without any."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (_Methods, ())


def bound_once(method: Any, owner: Any) -> Any:
    """`method`, a kernel or func in a class, bound to `owner`: the same object each time."""
    try:
        known = owner.__dict__.setdefault("_dsim_methods", _Methods())
    except AttributeError:
        message = f"`{type(owner).__name__}` has no room for kernels: its class has `__slots__`"
        raise LaunchTypeError(Diagnostic("argument", message)) from None
    found = known.get(method.__name__)
    if (
        found is None
        or found.function.__self__ is not owner
        or found.function.__func__ is not method.function
    ):
        found = known[method.__name__] = type(method)(types.MethodType(method.function, owner))
    return found
