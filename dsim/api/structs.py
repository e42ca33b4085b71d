"""Structs: `Struct`, their types by `struct` and `dataclass`, and fields of them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, NoReturn

from dsim.api.fields import made_of, type_of
from dsim.diagnostics.frames import outermost
from dsim.frontend.expressions import overloads
from dsim.frontend.source import struct_types
from dsim.frontend.values.types import MatrixType
from dsim.runtime.fields import layout
from dsim.runtime.fields.struct_fields import FOR_PEOPLE, StructField
from dsim.runtime.fields.structs import RESERVED, HostStruct, check_names, no_member
from dsim.runtime.kernels.kernel import Kernel
from dsim.runtime.state import settings

METHODS = "__struct_methods"  # Taichi's keyword


class StructType(struct_types.StructTypeBase):
    """A struct type: an annotation, a constructor of structs and of fields.

    Returned by `types.struct` and the decorator `dataclass`.

    Examples
    --------
    >>> import dsim as ti
    >>> Particle = ti.types.struct(pos=ti.math.vec2, mass=ti.f32)
    >>> p = Particle([1.0, 2.0])
    >>> p.mass = 3.0
    >>> p
    Struct(pos=[1.0, 2.0], mass=3.0)
    """

    __slots__ = ()

    def __call__(self, *values: Any, **named: Any) -> HostStruct:
        """A host struct of this type; members without a value are zero."""
        what = f"`{self.name}`" if self.name else "the struct"
        if len(values) > len(self.members):
            raise TypeError(f"{what} has {len(self.members)} members, got {len(values)} values")
        given = dict(zip(self.keys, values, strict=False))
        for name, value in named.items():
            if name not in self.keys:
                raise TypeError(no_member(what, name, self.keys))
            if name in given:
                raise TypeError(f"{what} got the member `{name}` twice")
            given[name] = value
        return HostStruct.typed(self, {n: given[n] if n in given else _zero(t) for n, t in self.members})

    @outermost
    def field(self, shape: Any = None, **options: Any) -> StructField:
        """A field of such structs; see `Struct.field`."""
        return _field(self, shape, **options)

    @outermost
    def __setattr__(self, name: str, value: Any) -> NoReturn:
        what = f"`{self.name}`" if self.name else "the struct"
        raise AttributeError(f"the type {what} cannot be changed: give it a member `{name}`")

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, HostStruct) and value.__dsim_struct__ == self

    def __repr__(self) -> str:
        members = ", ".join(f"{name}: {_type_name(t)}" for name, t in self.members)
        return f"<struct type {self.name}{' ' if self.name else ''}({members})>"


def _type_name(t: Any) -> str:
    if isinstance(t, StructType):
        return t.name or repr(t)
    if isinstance(t, MatrixType):
        return f"{_type_name(t.dtype)}[{', '.join(map(str, t.shape))}]"
    return getattr(t, "__name__", str(t))


def _zero(t: Any) -> Any:
    if isinstance(t, StructType):
        return {name: _zero(inner) for name, inner in t.members}
    return 0


class _AnyStruct(type(HostStruct)):
    """Makes every host struct an instance of `Struct` for `isinstance`."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, HostStruct)


class Struct(HostStruct, metaclass=_AnyStruct):
    """Named values without a type: in kernels a local value, outside an object with these attributes.

    ``Struct.field`` makes fields of structs.

    Examples
    --------
    >>> import dsim as ti
    >>> s = ti.Struct(a=1.0, v=[1.0, 2.0])
    >>> s.v.x + s.a
    2.0
    """

    __slots__ = ()
    _builtin_name = "Struct"

    @staticmethod
    @outermost
    def field(
        members: Mapping[str, Any],
        methods: Mapping[str, Callable[..., Any]] | None = None,
        shape: Any = None,
        name: str = "",
        offset: Any = None,
        needs_grad: bool = False,
        needs_dual: bool = False,
        layout: Any = None,
    ) -> StructField:
        """A field of structs: one field per member, all of one shape.

        Parameters
        ----------
        members : mapping of str to type
            Names and types: scalar types, vector and matrix types, struct types.
        methods : mapping of str to func, optional
            Methods of its elements.
        shape : int or tuple of int, optional
            Without it the field must be placed: ``root.dense(i, n).place(f)``.
        name : str, optional
            Its name in messages.
        needs_grad, needs_dual : bool
            Whether its members have gradients and tangents; integer members never do.
        layout : Layout, optional
            Hint about memory order, as in Taichi; without effect.

        Examples
        --------
        >>> import dsim as ti
        >>> f = ti.Struct.field({"pos": ti.math.vec2, "mass": ti.f32}, shape=3, needs_grad=True)
        >>> f[1].pos = [1.0, 2.0]
        >>> f.pos[1], f.mass.grad.shape
        ([1.0, 2.0], (3,))
        """
        if not isinstance(methods, Mapping | None):
            raise TypeError(f"pass methods as a dictionary, not as {methods!r}; `shape=` goes by name")
        kind = _made(methods or {}, members, "")
        return _field(kind, shape, name, offset, needs_grad, needs_dual)


def _field(
    kind: StructType,
    shape: Any = None,
    name: str = "",
    offset: Any = None,
    needs_grad: bool = False,
    needs_dual: bool = False,
    layout: Any = None,
) -> StructField:
    if offset is not None and shape is None:
        raise ValueError("`offset=` needs `shape=`; without it, give the offset to `place(x, offset=…)`")
    made = _unplaced(kind, name, needs_grad, needs_dual)
    if shape is not None:
        _place(made, shape, offset)
    return made


def _unplaced(kind: StructType, name: str, needs_grad: bool, needs_dual: bool) -> StructField:
    members: dict[str, Any] = {}
    for key, t in kind.members:
        if key in FOR_PEOPLE or hasattr(StructField, key) or key in ("_kind", "_members"):
            raise TypeError(
                f"a member of a struct field cannot be called `{key}`: fields have an attribute of it"
            )
        called = f"{name}.{key}" if name else ""
        if isinstance(t, StructType):
            members[key] = _unplaced(t, called, needs_grad, needs_dual)
            continue
        dtype, entry = (t.dtype, t.shape) if isinstance(t, MatrixType) else (t, ())
        floats = type_of(dtype).is_float
        members[key] = made_of(dtype, entry, None, called, None, needs_grad and floats, needs_dual and floats)
    return StructField(kind, members, name)


def _place(made: StructField, shape: Any, offset: Any) -> None:
    for member in made.__dsim_struct_field__.values():
        if isinstance(member, StructField):
            _place(member, shape, offset)
        else:
            layout.place_at(member, shape, offset)


@outermost
def struct(**members: Any) -> StructType:
    """The type of structs with these members.

    Parameters
    ----------
    **members
        Names and types: scalar types, vector and matrix types, struct types. ``__struct_methods`` takes a
        dictionary of methods, as in Taichi.

    Examples
    --------
    >>> import dsim as ti
    >>> Ball = ti.types.struct(center=ti.math.vec3, radius=float)
    >>> Ball(radius=2.0).center
    [0.0, 0.0, 0.0]
    """
    return _made(members.pop(METHODS, {}), members, "")


def _made(methods: Mapping[str, Any], members: Mapping[str, Any], name: str) -> StructType:
    if not members:
        raise TypeError("a struct needs at least one member")
    check_names(members, methods)
    for key, method in methods.items():
        if key in RESERVED:
            raise TypeError(f"a method of a struct cannot be called `{key}`: structs have an attribute of it")
        if isinstance(method, Kernel) or not callable(method):
            what = "a kernel" if isinstance(method, Kernel) else type(method).__name__
            raise TypeError(f"`{key}` cannot be a method of a struct: it is {what}, not a func")
    types_ = tuple((key, _member_type(key, t)) for key, t in members.items())
    return StructType(types_, tuple(methods.items()), name)


def _member_type(name: str, t: Any) -> Any:
    if isinstance(t, StructType | MatrixType) or settings.default_type(t) is not None:
        return t
    if isinstance(t, Mapping):
        return struct(**t)
    message = f"the member `{name}` of a struct has no type that kernels know, but {t!r}"
    if isinstance(t, str):  # NumPy would accept it as the name of a type
        raise TypeError(message)
    try:
        return type_of(t)
    except TypeError:
        raise TypeError(message) from None


def dataclass(kind: type) -> StructType:
    """Decorator: a class with annotations becomes a struct type, its functions methods.

    Its funcs are callable in kernels; a func that assigns to ``self.x`` modifies the struct that it is
    called on. Default values and inheritance are not supported.

    Examples
    --------
    >>> import dsim as ti
    >>> @ti.dataclass
    ... class Sphere:
    ...     center: ti.math.vec3
    ...     radius: ti.f32
    ...     @ti.func
    ...     def area(self):
    ...         return 4.0 * ti.math.pi * self.radius ** 2
    >>> @ti.kernel
    ... def area(r: ti.f32) -> ti.f32:
    ...     sphere = Sphere(radius=r)
    ...     return sphere.area()
    >>> round(area(1.0), 4)
    12.5664
    """
    if not isinstance(kind, type):
        raise TypeError(f"@dataclass decorates a class, not {type(kind).__name__}")
    if kind.__bases__ != (object,):
        raise TypeError(f"`{kind.__name__}` cannot inherit: a struct has its own members only")
    members = _annotations(kind, sys._getframe(1))
    methods: dict[str, Any] = {}
    for name, value in vars(kind).items():
        if name in members:
            raise TypeError(f"`{kind.__name__}.{name}` cannot have a default value: members start as zeros")
        if name.startswith("__") and name not in overloads.NAMES:
            continue
        if isinstance(value, staticmethod | classmethod | property) or not callable(value):
            raise TypeError(
                f"`{kind.__name__}.{name}` is neither a member nor a method: give it a type, or `@func`"
            )
        methods[name] = value
    return _made(methods, members, kind.__name__)


def _annotations(kind: type, around: FrameType) -> dict[str, Any]:
    """The annotations of a class; strings are evaluated in the scope of its definition."""
    try:
        return inspect.get_annotations(kind, globals=around.f_globals, locals=around.f_locals, eval_str=True)
    except NameError as error:
        raise TypeError(f"a type in `{kind.__name__}` is unknown: {error}") from None
