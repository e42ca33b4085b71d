"""A user's kernel: compiled when first launched, again when what it captured changes, differentiable."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from weakref import ref

import numpy as np

from dsim.diagnostics import (
    CompilationError,
    Diagnostic,
    GradientError,
    LaunchTypeError,
    left,
)
from dsim.diagnostics.frames import outermost, trimmed
from dsim.frontend.expressions.records import RecordType
from dsim.frontend.source.lowered import Capture
from dsim.frontend.source.methods import class_of
from dsim.runtime.fields.fields import Field
from dsim.runtime.fields.tensor_gradients import as_ndarrays, requires_gradient
from dsim.runtime.kernels import by_hand
from dsim.runtime.kernels.arrays import Arrays
from dsim.runtime.kernels.findings import Findings, overwrites
from dsim.runtime.kernels.methods import bound_once, owns
from dsim.runtime.kernels.signatures import Signature
from dsim.runtime.kernels.specialisations import Specialisations
from dsim.runtime.kernels.versions import Instance
from dsim.runtime.launching.forms import Form
from dsim.runtime.launching.probe_buffers import Looking
from dsim.runtime.state import settings
from dsim.runtime.state.references import ByName
from dsim.runtime.state.stack import opened

_MOST = 1000  # combinations of objects whose kernel is found at once
_FOR_PEOPLE = frozenset(["adjoint", "check", "function", "grad", "of", "primal", "ptx", "tangent"])


class Kernel(ByName):
    """A function in the kernel language; calling it launches it.

    Made by the decorator `kernel`. ``k.grad(…)`` runs its adjoint at the current state; `primal`,
    `tangent` and `adjoint` are its forms, to print: ``print(k.adjoint)``, ``print(k.adjoint.python)``,
    ``print(k.adjoint.ptx)``.
    """

    __dsim_kernel__ = True
    word = "kernel"

    def __init__(
        self,
        function: Callable[..., Any],
        bound: Mapping[str, Any] | None = None,
        looking: Looking | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._signature = Signature(function, bound or {})
        self._class = None if bound else class_of(function)
        numbers_only = self._class is None and not (self._signature.templates or self._signature.arrays)
        self._count = self._signature.count if self._class is None else -1
        self._numbers = self._count if numbers_only else -1  # how many, where there are no other arguments
        self._bound = {**(bound or {}), **self._signature.records}
        self._looking = looking
        self._instance = Instance(function, self._bound, looking=looking)
        self._kernels, self._named = Specialisations(), Specialisations()
        self._of_objects: dict[tuple[int, ...], ref[Kernel]] = {}  # which hold these objects
        self._arrays: Arrays | None = None
        if self._signature.arrays and not self._signature.templates:
            self._arrays = Arrays(function, self._bound, self._signature, self._with_fields, looking)
        settings.listen(self)

    def redefine(self, new: Kernel) -> None:
        """Becomes what `new` is, for those who hold this one."""
        self.__init__(new.function)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Launches it; gives what it returns, as Python numbers.

        A kernel in a class that is called by the class's name, or as a property, takes its owner first.
        """
        try:
            if len(args) == self._numbers and not named:
                return self._instance.launch(*args)
            if named or len(args) != self._count:
                if self._class is not None and args and owns(args[0], self._class):
                    return bound_once(self, args[0])(*args[1:], **named)
                args = self._signature.complete(args, named)
            chosen = self
            if self._signature.templates:
                chosen, args = self._chosen(args)
            if chosen._arrays is not None:
                return chosen._arrays.launch(args)
            return chosen._instance.launch(*args)
        except KeyboardInterrupt as stop:
            raise left(stop) from None
        except BaseException as error:
            trimmed(error)
            raise

    def launched(self, args: tuple[Any, ...]) -> Any:
        """Launches it for all its arguments, in order, without templates."""
        if self._arrays is not None:
            return self._arrays.launch(args)
        return self._instance.launch(*args)

    def __get__(self, owner: Any, kind: type | None = None) -> Kernel:
        """The kernel as a method of `owner`, which it knows at compile time."""
        return self if owner is None else bound_once(self, owner)

    def __dir__(self) -> list[str]:
        return [n for n in object.__dir__(self) if n.startswith("__") or n in _FOR_PEOPLE]

    def __repr__(self) -> str:
        templates = ", ".join(self._signature.names[n] for n in self._signature.templates)
        return f"<kernel {self.__name__}{f' of {templates}' if templates else ''}>"

    # -- compile-time parameters

    @outermost
    def of(self, *values: Any) -> Kernel:
        """The kernel for these values of its ``template()`` parameters, or also of those for arrays.

        They are given in the order of the parameters. An array is a field or an ndarray here. Of a method
        that was looked up in a class, the object or class that it belongs to comes before them.
        """
        chosen = self._signature.templates
        if len(values) != len(chosen):
            every = tuple(sorted((*chosen, *self._signature.arrays)))
            method = self._method_of(values, len(every))
            if method is not None:
                return method.of(*values[1:]) if values[1:] else method
            chosen = every
        names = [self._signature.names[n] for n in chosen]
        if len(values) != len(names):
            listed = ", ".join(names) or "none"
            message = f"`{self.__name__}` has the template parameters {listed}, got {len(values)} values"
            raise LaunchTypeError(Diagnostic("argument", message))
        for n, value in zip(chosen, values, strict=True):
            if n in self._signature.arrays and not isinstance(value, Field):
                name = self._signature.names[n]
                message = f"`{self.__name__}.of` takes a field or an ndarray as `{name}`"
                raise LaunchTypeError(Diagnostic("argument", message))
        key = (chosen, *map(_identity, values))

        def make() -> Kernel:
            more = dict(zip(names, values, strict=True))
            return Kernel(self.function, {**self._bound, **more}, self._looking)

        return self._kernels.kept(key, values, make)

    def _method_of(self, values: tuple[Any, ...], expected: int) -> Kernel | None:
        """The kernel as a method of the first of these values, where `of` is given an owner."""
        if self._class is not None:
            return bound_once(self, values[0]) if values and owns(values[0], self._class) else None
        own = getattr(self.function, "__self__", None)
        if own is None or not values or values[0] is not own:
            return None
        return self if len(values) == expected + 1 or not self._signature.templates else None

    @property
    def generic(self) -> bool:
        """Whether it is compiled separately for some arguments: arrays, or ``template()`` parameters."""
        return bool(self._signature.templates or self._signature.arrays)

    @property
    def records(self) -> Mapping[str, RecordType]:
        """By name, the parameters that are dataclasses."""
        return self._signature.records

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of those parameters that are numbers, vectors or structs when it is launched."""
        signature = self._signature
        decided = {*signature.templates, *signature.arrays}
        return tuple(name for n, name in enumerate(signature.names) if n not in decided)

    def default(self, name: str) -> Any:
        """The default of a parameter that has one."""
        return self._signature.defaults[name]

    def taken_apart(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of a launch, with the members of dataclasses in their place."""
        return self._signature.complete(args, {})

    def _with_fields(self, fields: dict[str, Any]) -> Kernel:
        """The kernel for which these parameters are known fields, because it names them itself."""
        key = tuple((name, id(f)) for name, f in fields.items())
        bound = {**self._bound, **fields}
        return self._named.kept(key, fields.values(), lambda: Kernel(self.function, bound, self._looking))

    def _chosen(self, args: tuple[Any, ...]) -> tuple[Kernel, tuple[Any, ...]]:
        """The kernel for the compile-time arguments among `args`, and the others."""
        chosen = self._signature.templates
        if not chosen:
            return self, args
        pick = args.__getitem__
        objects = tuple(map(id, map(pick, chosen)))
        known = self._of_objects.get(objects)
        kernel = None if known is None else known()
        if kernel is None:
            values = [args[n] for n in chosen]
            identities = [*map(_identity, values)]
            found = self._kernels.get((chosen, *identities))  # as `of` keeps it
            kernel = self.of(*values) if found is None else found
            if all(type(i) is int for i in identities):  # objects, all of which the kernel holds
                if len(self._of_objects) >= _MOST:  # most objects are gone by then
                    self._of_objects.clear()
                self._of_objects[objects] = ref(kernel)
        if len(args) == len(chosen):
            return kernel, ()
        return kernel, tuple([a for n, a in enumerate(args) if n not in chosen])

    def watched_by(self, looking: Looking) -> Kernel:
        """The kernel with probes of what its lines assign, which report to `looking`."""
        return Kernel(self.function, self._bound, looking)

    def settings_changed(self) -> None:
        """Forgets what was compiled under other settings."""
        self._instance.forget()
        if self._arrays is not None:
            self._arrays.forget()

    # -- derivatives

    @outermost
    def check(self, *templates: Any) -> Findings:
        """The diagnostics of the kernel, without running it.

        Errors that its compilation finds, loops that run serially, and values that its own gradient needs
        and that it overwrites: a note where a tape saves them, an error where that cannot be. It raises
        nothing.

        Parameters
        ----------
        *templates
            Values of its ``template()`` parameters; of a kernel that takes arrays examples of these, too.
            They come in the order of the parameters.

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
        kernel = self.of(*templates) if templates or self._signature.templates else self
        try:
            version = kernel._instance.unsaid()
        except (CompilationError, GradientError) as error:
            return Findings(error.diagnostics)
        return Findings((*version.diagnostics, *overwrites(version.form)))

    @outermost
    def grad(self, *args: Any, **named: Any) -> None:
        """Runs the adjoint at the current state: from the outputs' ``.grad`` to the inputs'.

        Call the kernel first. The adjoints of what it stored are used up (set to 0), those of what it
        read are added to. What it writes from values with gradients and has none itself counts as having a
        gradient of 0, with a warning. Of a PyTorch tensor that requires a gradient, the adjoint is its own
        ``.grad``.

        Raises
        ------
        AccessRuleError
            When the kernel overwrites values that its adjoint reads.
        GradientError
            When no field of the kernel has a gradient, or a NumPy array would need one.
        """
        if self._class is not None and args and owns(args[0], self._class):
            bound_once(self, args[0]).grad(*args[1:], **named)
            return
        try:
            self._grad(self._signature.complete(args, named))
        except KeyboardInterrupt as stop:
            raise left(stop) from None

    def _grad(self, args: tuple[Any, ...]) -> None:
        arrays = self._signature.arrays
        if not opened() and any(requires_gradient(args[n]) for n in arrays):
            with as_ndarrays(args, arrays) as given:
                self._grad(given)
            return
        with self._at(args) as (form, values):
            by_hand.backward(form, values)

    @contextmanager
    def at(self, *args: Any, **named: Any) -> Iterator[tuple[Form, tuple[Any, ...]]]:
        """The form that a call with these arguments launches, and its values."""
        with self._at(self._signature.complete(args, named)) as found:
            yield found

    @contextmanager
    def _at(self, args: tuple[Any, ...]) -> Iterator[tuple[Form, tuple[Any, ...]]]:
        kernel, rest = self._chosen(args)
        with kernel.formed(rest) as found:
            yield found

    @contextmanager
    def formed(self, args: tuple[Any, ...]) -> Iterator[tuple[Form, tuple[Any, ...]]]:
        """The kernel as a form, and all of its arguments, for those of its `names` that are no templates."""
        if self._arrays is not None:
            with self._arrays.form(args) as found:
                yield found
        else:
            version = self._instance.version()
            yield version.form, version.arguments(args)

    def unsaid(self) -> Form:
        """The form of a kernel that is not `generic`; its warnings are left to its first launch."""
        return self._instance.unsaid().form

    def captured(self, *args: Any) -> tuple[tuple[Capture, ...], tuple[Capture, ...]]:
        """The captured values of the version for these arguments: objects, and present numbers.

        Only of a `generic` kernel arguments are needed.
        """
        kernel, rest = self._chosen(self._signature.complete(args, {})) if self.generic else (self, ())
        instance = kernel._instance if kernel._arrays is None else kernel._arrays.taken(rest)[0].instance
        lowered = instance.version().lowered
        numbers = (Capture(c.name, c.read(), c.read) for c in (*lowered.captures, *lowered.hidden))
        return lowered.objects, tuple(numbers)

    @property
    @outermost
    def primal(self) -> Form:
        """The kernel as it is launched."""
        chosen = sorted((*self._signature.templates, *self._signature.arrays))
        if not chosen:
            return self._instance.version().form
        combinations = [] if self._arrays is None else list(self._arrays.known.values())
        kernels = self._kernels.all()
        count = len(kernels) + len(combinations)
        if count == 1 and combinations:
            return combinations[0].instance.version().form
        if count != 1:
            names = ", ".join(self._signature.names[n] for n in chosen)
            message = f"`{self.__name__}` has a kernel for each {names}: {count} of them"
            advice = f"choose one: `{self.__name__}.of({names}).adjoint`"
            raise LaunchTypeError(Diagnostic("argument", message, help=advice))
        return kernels[0].primal

    @property
    @outermost
    def ptx(self) -> str:
        """The kernel as PTX, as ``k.primal.ptx`` gives it; ``k.adjoint.ptx`` is that of its adjoint."""
        return self.primal.ptx

    @property
    @outermost
    def tangent(self) -> Form:
        """The kernel in forward mode, with respect to all its float fields."""
        form = self.primal
        active = frozenset(key for key, _ in form.floats)
        return form.tangent(active, form.program.label_apart(active, "dot"))

    @property
    @outermost
    def adjoint(self) -> Form:
        """The kernel's reverse sweep, with respect to the fields with a gradient (to all if none has one)."""
        return adjoint_of(self.primal)


def adjoint_of(form: Form) -> Form:
    """The reverse sweep of `form`, with respect to the fields with a gradient (to all if none has one)."""
    asked = frozenset(key for key, f in form.floats if f.needs_grad)
    active = form.spread(asked or frozenset(key for key, _ in form.floats))
    return form.adjoint(active, form.program.label_apart(active, "bar")).form


def _identity(value: Any) -> Any:
    """The key of compile-time arguments: numbers and strings by value, tuples by their items, others by `id`.

    A table with the `id` of an object as a key must also hold the object. What is derived from a number may
    have more than its value.
    """
    if type(value) in _BY_VALUE or isinstance(value, np.generic):
        return type(value), repr(value)  # 0.0 is not -0.0
    return (tuple, *map(_identity, value)) if type(value) is tuple else id(value)


_BY_VALUE = frozenset({bool, int, float, str, type(None)})
