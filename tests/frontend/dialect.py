"""Stand-ins that the frontend's tests lower: fields without memory, and the dialect's names as markers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from dsim.backends.reference import source
from dsim.frontend import Lowered, LoweringSettings, MatrixType, Template, lower
from dsim.frontend.source.struct_types import StructTypeBase
from dsim.ir import show
from dsim.ir.check import check
from dsim.ir.types import f32, f64, i8, i32, i64, u1, u8, u32, u64


@dataclass(eq=False)
class FakeField:
    """A field as the frontend's protocol has it."""

    dtype: Any = f64
    shape: tuple[int, ...] = ()
    entry_shape: tuple[int, ...] = ()
    placed: bool = True
    derivative: tuple[str, ...] = ()
    primal: FakeField | None = None
    needs_grad: bool = True
    values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    dropped: bool = False

    __dsim_field__ = True
    offset = component = ()

    def __post_init__(self) -> None:
        self.values = np.zeros((*self.shape, *self.entry_shape), self.dtype.numpy)
        self._companions: dict[str, FakeField] = {}

    @property
    def whole(self) -> FakeField:
        return self

    @property
    def root(self) -> FakeField:
        return self if self.primal is None else self.primal

    @property
    def snode(self) -> Any:
        raise NotImplementedError

    def parent(self, n: int = 1) -> Any:
        raise NotImplementedError

    def _companion(self, kind: str) -> FakeField | None:
        if not self.needs_grad:
            return None
        if kind not in self._companions:
            self._companions[kind] = FakeField(
                self.dtype, self.shape, self.entry_shape, True, (*self.derivative, kind), self.root
            )
        return self._companions[kind]

    @property
    def grad(self) -> FakeField | None:
        return self._companion("bar")

    @property
    def dual(self) -> FakeField | None:
        return self._companion("dot")

    def __getitem__(self, index: Any) -> Any:
        """For running the same function as plain Python."""
        return self.values[() if index is None else index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.values[() if index is None else index] = value

    def at(self, derivative: tuple[str, ...]) -> FakeField:
        found = self
        for kind in derivative:
            found = found._companion(kind)
            assert found is not None
        return found


@dataclass(eq=False)
class FakeStructField:
    """A field of structs as the frontend's protocol has it."""

    kind: StructTypeBase
    members: dict[str, Any]
    offset = ()

    @property
    def __dsim_struct__(self) -> StructTypeBase:
        return self.kind

    @property
    def __dsim_struct_field__(self) -> dict[str, Any]:
        return self.members

    @property
    def shape(self) -> tuple[int, ...]:
        return next(iter(self.members.values())).shape

    @property
    def placed(self) -> bool:
        return all(m.placed and m.shape == self.shape for m in self.members.values())

    @property
    def grad(self) -> FakeStructField:
        return FakeStructField(self.kind, {name: m.grad for name, m in self.members.items()})


def structs(kind: StructTypeBase, *shape: int) -> FakeStructField:
    """A field of structs."""
    members: dict[str, Any] = {}
    for name, t in kind.members:
        if isinstance(t, StructTypeBase):
            members[name] = structs(t, *shape)
        else:
            of, entry = (t.dtype, t.shape) if isinstance(t, MatrixType) else (t, ())
            members[name] = f(*shape, dtype=f64 if of is float else of, entry=entry)
    return FakeStructField(kind, members)


def f(
    *shape: int, dtype: Any = f64, entry: tuple[int, ...] = (), values: Any = None, **options: Any
) -> FakeField:
    made = FakeField(dtype, shape, entry, **options)
    if values is not None:
        made.values[...] = values
    return made


def mark(name: str) -> Any:
    """A function that the frontend knows as `name`."""

    def function(*args: Any, **named: Any) -> Any:
        raise AssertionError(f"{name} is for kernels")

    function.__dsim_builtin__ = name
    return function


def marked(name: str, function: Any) -> Any:
    """`function`, known to the frontend as `name`."""
    function.__dsim_builtin__ = name
    return function


_NAMES = [
    "acos", "asin", "atan", "atan2", "atomic_add", "atomic_and", "atomic_max", "atomic_min", "atomic_mul",
    "atomic_or", "atomic_sub", "atomic_xor", "bit_cast", "cast", "ceil", "cos", "cosh", "exp", "floor",
    "grouped", "log", "loop_config", "max", "min", "ndrange", "pow", "randn", "random", "round", "rsqrt",
    "select", "sin", "sinh", "sqrt", "static", "static_assert", "stop_grad", "tan", "tanh", "abs", "sign",
]  # fmt: skip
_MATH = [
    "clamp",
    "cross",
    "distance",
    "dot",
    "fract",
    "length",
    "mix",
    "mod",
    "normalize",
    "smoothstep",
    "step",
]


def _constructor(name: str, *makers: str) -> Any:
    made = mark(name)
    for maker in makers:
        setattr(made, maker, mark(f"{name}.{maker}"))
    return made


class Kernel:
    __dsim_kernel__ = True


class Func:
    def __init__(self, function: Any) -> None:
        self.__dsim_func__ = function

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.__dsim_func__(*args, **named)


def _func(function: Any) -> Func:
    return Func(function)


def dataclass_of(kind: type) -> StructTypeBase:
    """What the decorator of the dialect makes of a class."""
    methods = {name: v for name, v in vars(kind).items() if isinstance(v, Func)}
    return StructTypeBase(tuple(kind.__annotations__.items()), tuple(methods.items()), kind.__name__)


class Derivative:
    def __init__(self, mode: str, function: Any) -> None:
        self.__dsim_derivative__ = (mode, function)


ti = SimpleNamespace(
    **{name: mark(name) for name in _NAMES},
    Vector=_constructor("Vector", "zero", "one", "unit"),
    Matrix=_constructor("Matrix", "zero", "one", "unit", "identity", "diag", "rows", "cols"),
    math=SimpleNamespace(
        **{name: mark(name) for name in _MATH},
        vec2=MatrixType(float, (2,)),
        vec3=MatrixType(float, (3,)),
        mat2=MatrixType(float, (2, 2)),
    ),
    types=SimpleNamespace(
        vector=lambda n, t: MatrixType(t, (n,)),
        struct=lambda **members: StructTypeBase(tuple(members.items())),
    ),
    Struct=mark("Struct"),
    dataclass=dataclass_of,
    template=Template,
    func=marked("func", _func),
    forward=marked("forward", lambda g: Derivative("jvp", g)),
    grad=marked("grad", lambda g: Derivative("vjp", g)),
    f32=f32, f64=f64, i8=i8, i32=i32, i64=i64, u1=u1, u8=u8, u32=u32, u64=u64,
)  # fmt: skip

DOUBLE = LoweringSettings(default_fp=f64)


def lowered(function: Callable[..., Any], settings: LoweringSettings = DOUBLE, **options: Any) -> Lowered:
    """`function` lowered, and the result checked."""
    result = lower(function, settings, **options)
    check(result.kernel)
    return result


def text(function: Callable[..., Any], settings: LoweringSettings = DOUBLE, **options: Any) -> str:
    """The printed kernel."""
    return show.show(lowered(function, settings, **options).kernel)


def run(
    function: Callable[..., Any],
    *args: Any,
    settings: LoweringSettings = DOUBLE,
    launch: int = 0,
    **options: Any,
) -> Any:
    """Lowers `function` and runs it on the values of its fields; gives what it returns."""
    result = lowered(function, settings, **options)
    buffers = {}
    for m in result.kernel.memories:
        root = result.fields[m.name]
        assert isinstance(root, FakeField)
        buffers[m.key] = root.at(m.derivative).values
    flat = [x for a in args for x in np.ravel(a)]
    hidden = result.launch_numbers.now()
    assert hidden is not None
    returned = source.run(result.kernel, buffers, [*flat, *hidden, *([launch] if result.random else [])])
    if result.returns is None:
        return None
    if result.returns.shape:
        return np.array(returned).reshape(result.returns.shape)
    return returned[0].item()


def refused(function: Callable[..., Any], settings: LoweringSettings = DOUBLE, **options: Any) -> str:
    """What is said of a function that cannot be lowered: codes and messages, and the help, line by line."""
    from dsim.diagnostics import CompilationError

    try:
        lower(function, settings, **options)
    except CompilationError as error:
        return "\n".join(
            line
            for d in error.diagnostics
            for line in (f"{d.code}: {d.message}", *([f"help: {d.help}"] if d.help else []))
        )
    raise AssertionError("it was lowered")


def agrees(function: Callable[..., Any], fields: list[FakeField], *args: Any, **options: Any) -> None:
    """The lowered kernel does what Python does with the same function."""
    before = [x.values.copy() for x in fields]
    wanted = function(*args)
    results = [x.values.copy() for x in fields]
    for x, v in zip(fields, before, strict=True):
        x.values[...] = v
    got = run(function, *args, **options)
    for x, v in zip(fields, results, strict=True):
        np.testing.assert_allclose(x.values, v, rtol=1e-12, err_msg=function.__name__)
    if wanted is not None:
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


def counted(n: int = 12):
    return f(n, dtype=ti.i32)


def close(field, wanted) -> None:
    np.testing.assert_allclose(field.values, wanted, rtol=1e-10, atol=1e-12)
