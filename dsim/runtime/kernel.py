"""A person's kernel: compiled when first launched, again when what it captured changes, differentiable."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from dsim import frontend
from dsim.diagnostics import Diagnostic, GradientError
from dsim.frontend.lowered import Lowered
from dsim.frontend.lowered import Settings as Types
from dsim.runtime import arguments, pipeline, settings, told
from dsim.runtime.arguments import Parameters
from dsim.runtime.contexts import dispatch
from dsim.runtime.fields import Field
from dsim.runtime.forms import Form, Keys, label_apart
from dsim.runtime.notices import warn


class Version:
    """One compilation of a kernel: for certain captured values."""

    def __init__(self, kernel: Kernel, lowered: Lowered, form: Form) -> None:
        self.lowered = lowered
        self.form = form
        self.parameters = Parameters(kernel.__name__, lowered.params, lowered.kernel.origin.span)
        self.last_random = 0
        self.launch = arguments.launcher(self.parameters, lowered, form, kernel._stale, self._remember)

    def _remember(self, number: int) -> None:
        self.last_random = number

    def arguments(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """All of the kernel's arguments for a person's, those of the last launch's random numbers too."""
        if len(args) != len(self.lowered.params):
            raise self.parameters.wrong_count(args)
        values: list[Any] = []
        for n, (p, a) in enumerate(zip(self.lowered.params, args, strict=True)):
            values += self.parameters.entries(n)(a) if p.shape else [self.parameters.number(n)(a)]
        random = (self.last_random,) if self.lowered.random else ()
        return (*values, *arguments.own_values(self.lowered), *random)


class Kernel:
    """A function in the kernel language; calling it launches it.

    Made by the decorator `kernel`. ``k.grad(…)`` runs its adjoint at the current state; `primal`,
    `tangent` and `adjoint` are its forms, to print: ``print(k.adjoint)``, ``print(k.adjoint.python)``.
    """

    __dsim_kernel__ = True

    def __init__(self, function: Callable[..., Any], bound: Mapping[str, Any] | None = None) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._bound = bound  # parameters that are known at compile time
        self._versions: list[Version] = []
        self._promoted: frozenset[str] = frozenset()
        self._current: Version | None = None
        self._launch: Callable[..., Any] = self._stale
        settings.listen(self)

    def __call__(self, *args: Any, **named: Any) -> Any:
        if named:
            args = self.version().parameters.ordered(args, named)
        return self._launch(*args)

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}>"

    # -- compiling

    def settings_changed(self) -> None:
        """Forgets what was compiled under other settings."""
        self._versions, self._current, self._launch = [], None, self._stale

    def _stale(self, *args: Any) -> Any:
        """Launches for the first time, or after something that was compiled in has changed."""
        return self._use(self.version()).launch(*args)

    def version(self) -> Version:
        """The compilation for what is captured now."""
        if self._current is not None and arguments.up_to_date(self._current.lowered):
            return self._current
        for v in self._versions:
            if arguments.up_to_date(v.lowered):
                return self._use(v)
        if self._current is not None:
            captures = self._current.lowered.captures
            moved = (c for c in captures if arguments.changed(c.read(), c.value) and arguments.promotable(c))
            self._promoted |= {c.name for c in moved}
        made = self._compile()
        self._versions.append(made)
        return self._use(made)

    def _use(self, version: Version) -> Version:
        self._current, self._launch = version, version.launch
        return version

    def _compile(self) -> Version:
        chosen = settings.current()
        types = Types(chosen.default_fp, chosen.default_ip, chosen.debug)
        lowered = frontend.lower(self.function, types, self._promoted, bound=self._bound)
        fields: dict[str, Field] = {}
        for name, field in lowered.fields.items():
            assert isinstance(field, Field)
            fields[name] = field.root
            field.root.given_name = field.root.given_name or name
        kernel, diagnostics = pipeline.prepared(lowered.kernel, lowered.loops)
        warn((*lowered.diagnostics, *diagnostics))
        return Version(self, lowered, Form(kernel, fields, chosen.backend, chosen.check_bounds))

    # -- derivatives

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
        version = self.version()
        if named:
            args = version.parameters.ordered(args, named)
        form = version.form
        adjoint = form.adjoint(self._with_gradient(form), "bar")
        if adjoint.conflicts or adjoint.lost:
            raise told.own(adjoint.conflicts, adjoint.lost)
        dispatch(adjoint.form, version.arguments(args))

    def _with_gradient(self, form: Form) -> Keys:
        """The memories that `grad` differentiates with respect to."""
        keys = frozenset(m.key for m, f in form.floats if f.needs_grad)
        if not keys:
            message = f"no field of `{self.__name__}` has a gradient"
            raise GradientError(
                Diagnostic("missing-gradient", message, help="declare fields with `needs_grad=True`")
            )
        reached = form.spread(keys)
        for key in sorted(reached - keys):
            f = form.field(key)
            message = (
                f"`{self.__name__}` writes {f.quoted} from values with gradients, but it has none itself"
            )
            raise GradientError(
                Diagnostic("missing-gradient", message, help=f"declare `{f.name}` with `needs_grad=True`")
            )
        if label_apart(form, reached, "bar") != "bar":
            message = f"`{self.__name__}` works with gradients itself: its adjoint has no place beside them"
            raise GradientError(Diagnostic("not-differentiable", message, help="use `ad.Tape`"))
        return reached

    @property
    def primal(self) -> Form:
        """The kernel as it is launched."""
        return self.version().form

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
        asked = frozenset(m.key for m, f in form.floats if f.needs_grad) or frozenset(
            m.key for m, _ in form.floats
        )
        active = form.spread(asked)
        return form.adjoint(active, label_apart(form, active, "bar")).form
