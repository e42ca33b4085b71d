"""Differentiable simulation in Taichi's dialect: ``import dsim as ti``."""

from importlib import import_module as _module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from dsim import math, tools, types
from dsim._version import __version__
from dsim.api import axes as _axes
from dsim.api import elementary as _elementary
from dsim.api.absent import absent
from dsim.api.axes import *  # noqa: F403 (the table of primitives defines these names)
from dsim.api.bits import bit_shr, raw_div, raw_mod
from dsim.api.elementary import *  # noqa: F403
from dsim.api.fields import (
    FieldsBuilder,
    Layout,
    Matrix,
    Vector,
    field,
    ndarray,
    root,
)
from dsim.api.functions import (
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
    frexp,
    grouped,
    loop_config,
    ndrange,
    one,
    randn,
    random,
    static,
    stop_grad,
    zero,
)
from dsim.api.hints import (
    assume_in_range,
    block_local,
    cache_read_only,
    loop_unique,
    no_activate,
    static_assert,
    static_print,
)
from dsim.api.kernels import (
    data_oriented,
    experimental,
    forward,
    func,
    grad,
    kernel,
    pyfunc,
    real_func,
    template,
)
from dsim.api.kinds import Field, MatrixField, MatrixNdarray, ScalarField, ScalarNdarray, VectorNdarray
from dsim.api.notebooks import offer as _offer_magics
from dsim.api.options import (
    CRITICAL,
    DEBUG,
    ERROR,
    INFO,
    TRACE,
    WARN,
    amdgpu,
    arm64,
    cc,
    cfg,
    cpu,
    cuda,
    dx11,
    dx12,
    gles,
    gpu,
    init,
    is_arch_supported,
    is_logging_effective,
    metal,
    opengl,
    reset,
    set_logging_level,
    sync,
    vulkan,
    wasm,
    x64,
    x86_64,
)
from dsim.api.primitive_types import (
    f16,
    f32,
    f64,
    float16,
    float32,
    float64,
    i8,
    i16,
    i32,
    i64,
    int8,
    int16,
    int32,
    int64,
    u1,
    u8,
    u16,
    u32,
    u64,
    uint1,
    uint8,
    uint16,
    uint32,
    uint64,
)
from dsim.api.structs import Struct, dataclass
from dsim.api.types import ref
from dsim.backends.cpu.stop import stop_launch
from dsim.diagnostics import (
    AccessRuleError,
    ArgumentError,
    BoundsError,
    CompilationError,
    DeviceError,
    DsimError,
    GradientError,
    KernelAssertionError,
    KernelSyntaxError,
    KernelTypeError,
    LaunchError,
    LaunchTypeError,
    NonFiniteError,
)
from dsim.diagnostics.frames import outermost as _outermost
from dsim.runtime.fields.ndarrays import Ndarray
from dsim.runtime.fields.struct_fields import StructField
from dsim.runtime.recording.forward_mode import ForwardMode as FwdMode
from dsim.runtime.recording.gradients import clear_all_gradients
from dsim.runtime.state.notices import DsimWarning, GradientWarning
from dsim.runtime.tapes.custom import grad_for, grad_replaced, no_grad
from dsim.runtime.tapes.tape import Tape

if _TYPE_CHECKING:
    from dsim import ad, algorithms, operations, plot
    from dsim import linalg as linalg
    from dsim.gui import GUI, hex_to_rgb, rgb_to_hex
    from dsim.linalg import eig, polar_decompose, solve, svd, sym_eig
    from dsim.live.adjoint.view import adjoint_view
    from dsim.live.exploring.explore import explore
    from dsim.live.viewing import view
    from dsim.notebook.kernel_report import report
    from dsim.optimization import Optimization, optimize
    from dsim.runtime.graphs.graph import graph
    from dsim.runtime.tapes.gradient_check import check_grad
    from dsim.runtime.transforms.functions import hessian, hvp, jacobian, jvp, linearize, value_and_grad, vjp
    from dsim.runtime.transforms.implicit import implicit
    from dsim.runtime.transforms.problems import objective, residuals

TaichiCompilationError = CompilationError
TaichiSyntaxError = KernelSyntaxError
TaichiTypeError = KernelTypeError
TaichiNameError = CompilationError
TaichiIndexError = CompilationError
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
    "ArgumentError",
    "BoundsError",
    "CompilationError",
    "DeviceError",
    "DsimError",
    "DsimWarning",
    "Field",
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
    "MatrixNdarray",
    "Ndarray",
    "NonFiniteError",
    "Optimization",
    "ScalarField",
    "ScalarNdarray",
    "Struct",
    "StructField",
    "TaichiAssertionError",
    "TaichiCompilationError",
    "TaichiIndexError",
    "TaichiNameError",
    "TaichiRuntimeError",
    "TaichiRuntimeTypeError",
    "TaichiSyntaxError",
    "TaichiTypeError",
    "Tape",
    "Vector",
    "VectorNdarray",
    "__version__",
    "ad",
    "adjoint_view",
    "algorithms",
    "amdgpu",
    "arm64",
    "assume_in_range",
    "atomic_add",
    "atomic_and",
    "atomic_max",
    "atomic_min",
    "atomic_mul",
    "atomic_or",
    "atomic_sub",
    "atomic_xor",
    "bit_cast",
    "bit_shr",
    "block_local",
    "cache_read_only",
    "cast",
    "cc",
    "cfg",
    "check_grad",
    "clear_all_gradients",
    "cpu",
    "cuda",
    "data_oriented",
    "dataclass",
    "dx11",
    "dx12",
    "eig",
    "experimental",
    "explore",
    "f16",
    "f32",
    "f64",
    "field",
    "float16",
    "float32",
    "float64",
    "forward",
    "frexp",
    "func",
    "gles",
    "gpu",
    "grad",
    "grad_for",
    "grad_replaced",
    "graph",
    "grouped",
    "hessian",
    "hex_to_rgb",
    "hvp",
    "i8",
    "i16",
    "i32",
    "i64",
    "implicit",
    "init",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_arch_supported",
    "is_logging_effective",
    "jacobian",
    "jvp",
    "kernel",
    "linearize",
    "loop_config",
    "loop_unique",
    "math",
    "metal",
    "ndarray",
    "ndrange",
    "no_activate",
    "no_grad",
    "objective",
    "one",
    "opengl",
    "operations",
    "optimize",
    "plot",
    "polar_decompose",
    "pyfunc",
    "randn",
    "random",
    "raw_div",
    "raw_mod",
    "real_func",
    "ref",
    "report",
    "reset",
    "residuals",
    "rgb_to_hex",
    "root",
    "set_logging_level",
    "solve",
    "static",
    "static_assert",
    "static_print",
    "stop_grad",
    "stop_launch",
    "svd",
    "sym_eig",
    "sync",
    "template",
    "tools",
    "types",
    "u1",
    "u8",
    "u16",
    "u32",
    "u64",
    "uint1",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "value_and_grad",
    "view",
    "vjp",
    "vulkan",
    "wasm",
    "x64",
    "x86_64",
    "zero",
]  # fmt: skip
__all__ += _axes.__all__
__all__ += _elementary.__all__


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """The path of the JupyterLab extension, as JupyterLab asks for it."""
    return [{"src": "labextension", "dest": "dsim-lab"}]


# Lazy imports: what many programs do not use. `dsim.gui` and `dsim.live` import matplotlib, which takes as
# long to import as all the rest, `%load_ext dsim` and `report` import IPython, and `optimize` SciPy.
_LATER = {
    **{name: f"dsim.{name}" for name in ("ad", "algorithms", "linalg", "operations", "plot")},
    **dict.fromkeys(("eig", "polar_decompose", "solve", "svd", "sym_eig"), "dsim.linalg"),
    "graph": "dsim.runtime.graphs.graph",
    "check_grad": "dsim.runtime.tapes.gradient_check",
    **dict.fromkeys(
        ("hessian", "hvp", "jacobian", "jvp", "linearize", "value_and_grad", "vjp"),
        "dsim.runtime.transforms.functions",
    ),
    "implicit": "dsim.runtime.transforms.implicit",
    "objective": "dsim.runtime.transforms.problems",
    "residuals": "dsim.runtime.transforms.problems",
    "GUI": "dsim.gui",
    "hex_to_rgb": "dsim.gui",
    "rgb_to_hex": "dsim.gui",
    "adjoint_view": "dsim.live.adjoint.view",
    "explore": "dsim.live.exploring.explore",
    "view": "dsim.live.viewing",
    "report": "dsim.notebook.kernel_report",
    "Optimization": "dsim.optimization",
    "optimize": "dsim.optimization",
    "load_ipython_extension": "dsim.notebook",
    "unload_ipython_extension": "dsim.notebook",
}


@_outermost
def __getattr__(name: str) -> object:
    if name in _LATER:
        module = _module(_LATER[name])
        return module if _LATER[name] == f"dsim.{name}" else getattr(module, name)
    raise absent("dsim", name, __all__)


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__", "linalg"})


_offer_magics()
