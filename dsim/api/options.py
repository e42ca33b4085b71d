"""`init`, `reset`, `sync`, and the names of architectures and log levels."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dsim.backends.cpu import disk_cache
from dsim.backends.cpu.disk_cache import CacheChoice
from dsim.backends.cuda import toolchain
from dsim.diagnostics import DeviceError, Diagnostic
from dsim.diagnostics.frames import outermost
from dsim.ir.types import ScalarType
from dsim.runtime.fields import layout
from dsim.runtime.fields.storage import drop_all
from dsim.runtime.state import randomness, settings
from dsim.runtime.state.settings import LOOP_MEMORY, Settings
from dsim.runtime.state.stack import opened


@dataclass(frozen=True, slots=True)
class Arch:
    """An architecture that kernels can run on."""

    name: str

    def __repr__(self) -> str:
        return self.name


cpu, x64, x86_64, arm64 = Arch("cpu"), Arch("x64"), Arch("x86_64"), Arch("arm64")
cuda, gpu, vulkan, metal, opengl, gles = map(Arch, ("cuda", "gpu", "vulkan", "metal", "opengl", "gles"))
amdgpu, dx11, dx12, cc, wasm = map(Arch, ("amdgpu", "dx11", "dx12", "cc", "wasm"))
_CPUS = (cpu, x64, x86_64, arm64)

TRACE, DEBUG, INFO, WARN, ERROR, CRITICAL = "trace", "debug", "info", "warn", "error", "critical"
_LEVELS = (TRACE, DEBUG, INFO, WARN, ERROR, CRITICAL)
_log = {"level": INFO}

# Further options of Taichi's init(): accepted, without effect.
_OPTIONS = """
    opt_level packed print_ir print_preprocessed_ir cfg_optimization validate_autodiff
    print_accessor_ir print_evaluator_ir use_llvm print_benchmark_stat print_struct_llvm_ir
    print_kernel_llvm_ir print_kernel_llvm_ir_optimized print_kernel_asm print_kernel_nvptx
    print_kernel_amdgcn simplify_before_lower_access simplify_after_lower_access lower_access
    move_loop_invariant_outside_if cache_loop_invariant_global_vars default_cpu_block_dim
    cpu_block_dim_adaptive default_gpu_block_dim gpu_max_reg saturating_grid_dim max_block_dim
    verbose_kernel_launches verbose demote_dense_struct_fors kernel_profiler timeline default_up
    device_memory_GB device_memory_fraction advanced_optimization ad_stack_size
    flatten_if make_thread_local make_block_local detect_read_only real_matrix_scalarize
    half2_vectorization make_cpu_multithreading_loop offline_cache_cleaning_policy
    offline_cache_cleaning_factor num_compile_threads vk_api_version cuda_stack_limit quant_opt_store_fusion
    quant_opt_atomic_demotion make_mesh_block_local mesh_localize_to_end_mapping
    mesh_localize_from_end_mapping optimize_mesh_reordered_mapping
    mesh_localize_all_attr_mappings demote_no_access_mesh_fors experimental_auto_mesh_local
    allow_nv_shader_extension print_ir_dbg_info
    auto_mesh_local_default_occupacy force_scalarize_matrix gdb_trigger
    short_circuit_operators print_full_traceback unrolling_limit ndarray_use_cached_allocator
    ad_stack_experimental_enabled debug_dump_path
    use_mesh real_matrix dynamic_index require_version _test_mode
"""
_ACCEPTED = frozenset(_OPTIONS.split())


@outermost
def init(
    arch: Any = None,
    default_fp: Any = None,
    default_ip: Any = None,
    debug: bool = False,
    random_seed: int = 0,
    check_bounds: bool = True,
    check_out_of_bound: bool | None = None,
    cpu_max_num_threads: int = 0,
    deterministic: bool = False,
    strict: bool = False,
    fast_math: bool = True,
    log_level: str = INFO,
    loop_memory: int = LOOP_MEMORY,
    offline_cache: bool = True,
    offline_cache_file_path: str | os.PathLike[str] = "",
    offline_cache_max_size_of_files: int = disk_cache.LIMIT,
    enable_fallback: bool = True,
    **options: Any,
) -> None:
    """Sets the options of kernels and fields created from now on. Without a call the defaults apply.

    Existing fields do not change; kernels are recompiled at their next launch.

    Parameters
    ----------
    arch : Arch or list of Arch
        `cpu`. For `cuda`, `gpu` and other devices the CPU is used, with a line that says why: dsim writes
        PTX for CUDA's devices, which ``k.ptx`` shows, and does not launch it yet.
    default_fp, default_ip : ScalarType
        The types of Python's `float` and `int` and of literals; f32 and i32 by default.
    debug : bool
        Accepted, without effect: indices and assertions are always checked.
    random_seed : int
        The seed of the random numbers.
    check_bounds : bool
        Whether an index outside a field is an error. Taichi's `check_out_of_bound` is the same.
    cpu_max_num_threads : int
        The maximum number of threads of a launch; 0 for all available.
    deterministic : bool
        Whether sums of floats are bitwise reproducible on one machine, for any number of threads.
    strict : bool
        Whether warnings about kernels are errors.
    fast_math : bool
        Whether floating point may be reordered and contracted. ``(a + b) - b`` may then be `a`, which
        breaks compensated summation: it needs ``fast_math=False``. NaN and infinity keep their
        meaning either way. Subnormal floats are zeros in launches.
    log_level : str
        The lowest level that `init` prints: a note about a missing device is a warning.
    loop_memory : int
        The approximate limit in bytes on the residuals of one kernel's loops. A loop that needs more
        saves one checkpoint segment at a time, and runs most trips twice.
    offline_cache : bool
        Whether machine code is kept on disk for later processes.
    offline_cache_file_path : str or path
        The folder for it, instead of that of ``DSIM_CACHE_DIR`` or of the user's own for caches.
    offline_cache_max_size_of_files : int
        The bytes that its files may take, approximately; those not used for longest go first.
    enable_fallback : bool
        Whether the CPU is used where no kernel can run on `arch`; otherwise that is an error.
    **options
        Taichi's other options are accepted and have no effect.

    Raises
    ------
    DeviceError
        With ``enable_fallback=False``, when kernels cannot run on `arch`.
    TypeError
        For an unknown option, or a value of the wrong kind.
    """
    unknown = sorted(set(options) - _ACCEPTED)
    if unknown:
        raise TypeError(f"init() got the unknown option{'s' * (len(unknown) > 1)} {', '.join(unknown)}")
    set_logging_level(log_level)
    if loop_memory < 1:
        raise TypeError(f"loop_memory must be a positive number of bytes, got {loop_memory!r}")
    _choose_arch(arch, bool(enable_fallback))
    _choose_cache(offline_cache, offline_cache_file_path, offline_cache_max_size_of_files)
    before = settings.current()
    chosen = replace(
        Settings(),
        default_fp=_type(default_fp, "default_fp", True) or Settings().default_fp,
        default_ip=_type(default_ip, "default_ip", False) or Settings().default_ip,
        debug=bool(debug),
        check_bounds=bool(check_bounds if check_out_of_bound is None else check_out_of_bound or check_bounds),
        random_seed=int(random_seed),
        threads=int(cpu_max_num_threads),
        deterministic=bool(deterministic),
        strict=bool(strict),
        fast_math=bool(fast_math),
        loop_memory=int(loop_memory),
        backend=before.backend,
    )
    layout.root.forget()
    randomness.restart(chosen.random_seed)
    settings.change(chosen)


def _choose_cache(used: bool, folder: Any, limit: Any) -> None:
    if not isinstance(folder, str | os.PathLike):
        raise TypeError(f"offline_cache_file_path must be a path, got {folder!r}")
    if not isinstance(limit, int) or limit < 1:
        raise TypeError(f"offline_cache_max_size_of_files must be a positive number of bytes, got {limit!r}")
    path = Path(folder).expanduser().absolute() if os.fspath(folder) else None
    disk_cache.choose(CacheChoice(bool(used), path, limit))


def is_arch_supported(arch: Arch, use_gles: bool = False) -> bool:
    """Whether kernels can run on `arch`.

    Examples
    --------
    >>> is_arch_supported(cpu), is_arch_supported(vulkan)
    (True, False)
    """
    return arch in _CPUS


class _Config:
    """The current options, read as ``cfg.default_fp``; `init` changes them."""

    def __getattr__(self, name: str) -> Any:
        now = settings.current()
        known = {
            "arch": cpu,
            "default_fp": now.default_fp,
            "default_ip": now.default_ip,
            "debug": now.debug,
            "check_out_of_bound": now.check_bounds,
            "random_seed": now.random_seed,
            "cpu_max_num_threads": now.threads,
            "fast_math": now.fast_math,
            "loop_memory": now.loop_memory,
            "offline_cache": disk_cache.choice().used,
            "offline_cache_file_path": str(disk_cache.disk_cache().folder or ""),
            "offline_cache_max_size_of_files": disk_cache.choice().limit,
        }
        if name not in known:
            raise AttributeError(f"no option {name!r} has an effect here: there are {', '.join(known)}")
        return known[name]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"options are chosen by init({name}=…)")


cfg = _Config()


def _type(given: Any, what: str, floats: bool) -> ScalarType | None:
    if given is None:
        return None
    if not isinstance(given, ScalarType) or (not given.is_float if floats else not given.is_integer):
        kind = "a float type such as f32" if floats else "an integer type such as i32"
        raise TypeError(f"{what} must be {kind}, got {given!r}")
    return given


def _choose_arch(arch: Any, fallback: bool) -> None:
    wanted = list(arch) if isinstance(arch, list | tuple) else [arch]
    for a in wanted:
        if a is not None and not isinstance(a, Arch):
            raise TypeError(f"arch must be cpu, cuda or gpu, got {a!r}")
    if any(a is None or a in _CPUS for a in wanted):
        return
    reason = _why_not(wanted)
    if not fallback:
        advice = (
            "leave out `enable_fallback=False` to run on the CPU; `dsim doctor` says what is here of CUDA"
        )
        raise DeviceError(
            Diagnostic("device", f"kernels cannot run on {_listed(wanted)}: {reason}", help=advice)
        )
    if is_logging_effective(WARN):
        sys.stderr.write(f"[dsim] kernels run on the CPU, not on {_listed(wanted)}: {reason}\n")


def _listed(wanted: list[Arch]) -> str:
    return " or ".join(f"`{a.name}`" for a in wanted)


def _why_not(wanted: list[Arch]) -> str:
    """Why kernels cannot run on any of these."""
    if not any(a in (cuda, gpu) for a in wanted):
        return "CUDA's are the only devices that dsim writes code for"
    if not toolchain.has_driver():
        return "there is no NVIDIA driver"
    return "dsim writes PTX for CUDA's devices, but does not launch it yet"


def set_logging_level(level: str) -> None:
    """Sets the lowest level that `init` prints, from `TRACE` to `CRITICAL`.

    Warnings about programs are Python warnings, which the module `warnings` filters.

    Examples
    --------
    >>> set_logging_level(ERROR)
    >>> is_logging_effective(WARN), is_logging_effective(CRITICAL)
    (False, True)
    >>> set_logging_level(INFO)
    """
    if level not in _LEVELS:
        raise ValueError(f"a logging level is one of {', '.join(_LEVELS)}, got {level!r}")
    _log["level"] = level


def is_logging_effective(level: str) -> bool:
    """Whether messages of `level` are printed."""
    return _LEVELS.index(level) >= _LEVELS.index(_log["level"])


def reset() -> None:
    """Restores the defaults, as if `init` had not been called, and frees all fields and arrays.

    Their later use is an error. `init` alone changes the options and frees nothing.

    Raises
    ------
    RuntimeError
        Inside a tape or forward mode.

    Examples
    --------
    >>> import dsim as ti
    >>> x = ti.field(ti.f32, shape=3)
    >>> reset()
    >>> x.shape, x.placed
    ((3,), False)
    """
    if opened():
        raise RuntimeError("`reset()` inside of a tape or of forward mode: its fields are still needed")
    layout.root.forget()
    drop_all()
    randomness.restart(0)
    disk_cache.choose(CacheChoice())
    settings.change(replace(Settings(), backend=settings.current().backend))


def sync() -> None:
    """Waits for all launches to finish. On the CPU a launch is synchronous."""
