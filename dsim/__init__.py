"""Differentiable simulation in Taichi's dialect: ``import dsim as ti``."""

from importlib import import_module as _module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from dsim import ad, math, tools, types
from dsim._version import __version__
from dsim.api.axes import (
    axes,
    i,
    ij,
    ijk,
    ijkl,
    ijl,
    ik,
    ikl,
    il,
    j,
    ji,
    jk,
    jkl,
    jl,
    k,
    kl,
    l,
)  # fmt: skip
from dsim.api.bits import bit_shr, raw_div, raw_mod
from dsim.api.fields import (
    FieldsBuilder,
    Layout,
    Matrix,
    MatrixField,
    ScalarField,
    Vector,
    field,
    ndarray,
    root,
)
from dsim.api.functions import (
    abs,
    acos,
    asin,
    atan,
    atan2,
    atomic_add,
    atomic_and,
    atomic_max,
    atomic_min,
    atomic_mul,
    atomic_or,
    atomic_sub,
    atomic_xor,
    bit_cast,
    cast,
    ceil,
    cos,
    cosh,
    exp,
    floor,
    grouped,
    log,
    loop_config,
    max,
    min,
    ndrange,
    one,
    pow,
    randn,
    random,
    round,
    rsqrt,
    select,
    sin,
    sinh,
    sqrt,
    static,
    static_assert,
    stop_grad,
    tan,
    tanh,
    zero,
)
from dsim.api.kernels import data_oriented, forward, func, grad, kernel, template
from dsim.api.options import (
    CRITICAL,
    DEBUG,
    ERROR,
    INFO,
    TRACE,
    WARN,
    arm64,
    cpu,
    cuda,
    gles,
    gpu,
    init,
    metal,
    opengl,
    reset,
    sync,
    vulkan,
    x64,
)
from dsim.api.structs import Struct, dataclass
from dsim.diagnostics import (
    AccessRuleError,
    BoundsError,
    CompilationError,
    DsimError,
    GradientError,
    KernelAssertionError,
    KernelSyntaxError,
    KernelTypeError,
    LaunchError,
    LaunchTypeError,
)
from dsim.ir.types import f16, f32, f64, i8, i16, i32, i64, u1, u8, u16, u32, u64
from dsim.linalg import eig, polar_decompose, solve, svd, sym_eig
from dsim.runtime.custom import grad_for, grad_replaced, no_grad
from dsim.runtime.forward_mode import ForwardMode as FwdMode
from dsim.runtime.gradients import clear_all_gradients
from dsim.runtime.ndarrays import Ndarray
from dsim.runtime.notices import DsimWarning, GradientWarning
from dsim.runtime.struct_fields import StructField
from dsim.runtime.tape import Tape

if _TYPE_CHECKING:
    from dsim.gui import GUI as GUI
    from dsim.gui import hex_to_rgb as hex_to_rgb
    from dsim.gui import rgb_to_hex as rgb_to_hex

float16, float32, float64 = f16, f32, f64
int8, int16, int32, int64 = i8, i16, i32, i64
uint8, uint16, uint32, uint64 = u8, u16, u32, u64
TaichiCompilationError = CompilationError
TaichiSyntaxError = KernelSyntaxError
TaichiTypeError = KernelTypeError
TaichiNameError = CompilationError
TaichiAssertionError = KernelAssertionError
TaichiRuntimeError = DsimError
TaichiRuntimeTypeError = LaunchTypeError

__all__ = [
    "CRITICAL",
    "DEBUG",
    "ERROR",
    "GUI",
    "INFO",
    "TRACE",
    "WARN",
    "AccessRuleError",
    "BoundsError",
    "CompilationError",
    "DsimError",
    "DsimWarning",
    "FieldsBuilder",
    "FwdMode",
    "GradientError",
    "GradientWarning",
    "KernelAssertionError",
    "KernelSyntaxError",
    "KernelTypeError",
    "LaunchError",
    "LaunchTypeError",
    "Layout",
    "Matrix",
    "MatrixField",
    "Ndarray",
    "ScalarField",
    "Struct",
    "StructField",
    "TaichiAssertionError",
    "TaichiCompilationError",
    "TaichiNameError",
    "TaichiRuntimeError",
    "TaichiRuntimeTypeError",
    "TaichiSyntaxError",
    "TaichiTypeError",
    "Tape",
    "Vector",
    "__version__",
    "abs",
    "acos",
    "ad",
    "arm64",
    "asin",
    "atan",
    "atan2",
    "atomic_add",
    "atomic_and",
    "atomic_max",
    "atomic_min",
    "atomic_mul",
    "atomic_or",
    "atomic_sub",
    "atomic_xor",
    "axes",
    "bit_cast",
    "bit_shr",
    "cast",
    "ceil",
    "clear_all_gradients",
    "cos",
    "cosh",
    "cpu",
    "cuda",
    "data_oriented",
    "dataclass",
    "eig",
    "exp",
    "f16",
    "f32",
    "f64",
    "field",
    "float16",
    "float32",
    "float64",
    "floor",
    "forward",
    "func",
    "gles",
    "gpu",
    "grad",
    "grad_for",
    "grad_replaced",
    "grouped",
    "hex_to_rgb",
    "i",
    "i8",
    "i16",
    "i32",
    "i64",
    "ij",
    "ijk",
    "ijkl",
    "ijl",
    "ik",
    "ikl",
    "il",
    "init",
    "int8",
    "int16",
    "int32",
    "int64",
    "j",
    "ji",
    "jk",
    "jkl",
    "jl",
    "k",
    "kernel",
    "kl",
    "l",
    "log",
    "loop_config",
    "math",
    "max",
    "metal",
    "min",
    "ndarray",
    "ndrange",
    "no_grad",
    "one",
    "opengl",
    "polar_decompose",
    "pow",
    "randn",
    "random",
    "raw_div",
    "raw_mod",
    "reset",
    "rgb_to_hex",
    "root",
    "round",
    "rsqrt",
    "select",
    "sin",
    "sinh",
    "solve",
    "sqrt",
    "static",
    "static_assert",
    "stop_grad",
    "svd",
    "sym_eig",
    "sync",
    "tan",
    "tanh",
    "template",
    "tools",
    "types",
    "u1",
    "u8",
    "u16",
    "u32",
    "u64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "vulkan",
    "x64",
    "zero",
]  # fmt: skip


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Where JupyterLab finds the extension."""
    return [{"src": "labextension", "dest": "dsim-lab"}]


# Drawing brings matplotlib along, which takes as long to import as all the rest: it comes when asked for.
_LATER = {"GUI": "dsim.gui", "hex_to_rgb": "dsim.gui", "rgb_to_hex": "dsim.gui"}


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(_module(_LATER[name]), name)
    raise AttributeError(f"module 'dsim' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*__all__, *_LATER, "__version__"})
