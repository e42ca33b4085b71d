"""The grid form of a kernel as PTX, by LLVM's own target for it.

The text leaves some functions to the target (`llvm/grid/device.py`, `target.py`); this defines them:
addresses of global memory by a cast that LLVM sees through, so that accesses become those of global memory;
the barrier of a block; C's mathematical functions by those of libdevice, of which only what is called is
kept. Each kernel gets an entry that reads the place of its thread from special registers. No loop is
vectorised: a thread is one lane.

It runs nothing, and needs neither a driver nor a device.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import llvmlite.binding as llvm

from dsim.backends import llvm_passes
from dsim.backends.cuda import toolchain
from dsim.backends.cuda.architectures import OLDEST, VERSIONS, features
from dsim.backends.llvm.grid.device import BARRIER, GLOBAL
from dsim.backends.llvm.grid.module import GridKernel, GridModule
from dsim.backends.locks import NUMBAS_LOCK
from dsim.diagnostics import DeviceError, Diagnostic

THREADS = 256  # the most of a block: of so many threads, each may have all the registers that it can name
_SHARED_BYTES = 48 << 10  # of shared memory, which a block has on every device
_WARP = 32
_TRIPLE = "nvptx64-nvidia-cuda"
_SPEED = 2
_MATH = re.compile(r"^declare (\w+) @dsim_math_(\w+)_(f32|f64)\((.*?)\).*$", re.MULTILINE)

# Through a number: LLVM drops a cast to an address space and back before it has used what the cast says.
_GLOBAL = """\
define internal ptr @dsim_global(ptr %anywhere) alwaysinline {
%number = ptrtoint ptr %anywhere to i64
%global = inttoptr i64 %number to ptr addrspace(1)
%found = addrspacecast ptr addrspace(1) %global to ptr
ret ptr %found
}"""
_BARRIER = """\
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) convergent nounwind
define internal void @dsim_barrier(ptr %unused) alwaysinline convergent {
call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
ret void
}"""
_REGISTERS = {"tid": "tid.x", "ntid": "ntid.x", "cta": "ctaid.x", "ncta": "nctaid.x"}
_SHARED = "@dsim_shared = external addrspace(3) global [0 x i8], align 8"  # as large as a launch says


class Ptx(NamedTuple):
    """A kernel as PTX.

    Attributes
    ----------
    text : str
        The module; a comment at its head lists the entries in the order of a launch.
    architecture : str
        The oldest architecture that it runs on.
    entries : tuple of str
        The names of its entries, one for each of the kernels of the `GridModule`, in their order.
    """

    text: str
    architecture: str
    entries: tuple[str, ...]


def compile_ptx(module: GridModule, name: str, architecture: str = OLDEST) -> Ptx:
    """`module` as PTX.

    Parameters
    ----------
    module : GridModule
        The kernel in grid form.
    name : str
        Its name, for the head of the text.
    architecture : str
        One of `architectures.VERSIONS`.

    Raises
    ------
    ArgumentError
        For an unknown architecture.
    DeviceError
        When it calls mathematical functions, and there is no libdevice.
    """
    version = features(architecture)
    functions = _functions(module.text)
    library = _needed(_libdevice(name, functions), frozenset(functions.values())) if functions else None
    entries = tuple(_entry_name(k) for k in module.kernels)
    with NUMBAS_LOCK:
        target = _machine(architecture, version)
        text = _compiled(_whole(module), library, target, entries)
    return Ptx(f"{_head(module, name, architecture)}\n{text}", architecture, entries)


def _libdevice(name: str, functions: dict[str, str]) -> Path:
    found = toolchain.libdevice()
    if found is None:
        called = ", ".join(sorted({n.removeprefix("dsim_math_").rpartition("_")[0] for n in functions}))
        message = f"`{name}` calls {called}, and libdevice, which has them for devices, is not installed"
        raise DeviceError(Diagnostic("device", message, help=toolchain.LIBDEVICE_HELP))
    return found


# the text ----------------------------------------------------------------------------------------


def _functions(text: str) -> dict[str, str]:
    """The functions of C's library that it calls, each with the name of libdevice's own."""
    found = _MATH.findall(text)
    return {f"dsim_math_{name}_{kind}": _of_libdevice(name, kind) for _, name, kind, _ in found}


def _of_libdevice(name: str, kind: str) -> str:
    return f"__nv_{name}{'f' if kind == 'f32' else ''}"


def _whole(module: GridModule) -> str:
    """The text with all that it leaves to its target."""
    text = module.text.replace(GLOBAL, _GLOBAL).replace(BARRIER, _BARRIER)
    text = _MATH.sub(_by_libdevice, text)
    read = [f"declare i32 @llvm.nvvm.read.ptx.sreg.{r}()" for r in _REGISTERS.values()]
    entries = [_entry(k) for k in module.kernels]
    return "\n".join([f'target triple = "{_TRIPLE}"', text, _SHARED, *read, *entries])


def _by_libdevice(found: re.Match[str]) -> str:
    t, name, kind, types = found.groups()
    called = _of_libdevice(name, kind)
    args = ", ".join(f"{a} %a{i}" for i, a in enumerate(types.split(", ")))
    return (
        f"declare {t} @{called}({types})\n"
        f"define internal {t} @dsim_math_{name}_{kind}({args}) alwaysinline {{\n"
        f"%r = call {t} @{called}({args})\nret {t} %r\n}}"
    )


def _entry_name(kernel: GridKernel) -> str:
    return f"{kernel.name}_entry"


def _entry(kernel: GridKernel) -> str:
    """What a launch calls: it has the frame's address, and finds where its thread is."""
    lines = [f"define ptx_kernel void @{_entry_name(kernel)}(ptr %frame) {{"]
    for name, register in _REGISTERS.items():
        lines.append(f"%{name}32 = call i32 @llvm.nvvm.read.ptx.sreg.{register}()")
        lines.append(f"%{name} = zext i32 %{name}32 to i64")
    shared = "null"
    if kernel.shared_memory(1):
        shared = "%shared"
        lines.append("%shared = addrspacecast ptr addrspace(3) @dsim_shared to ptr")
    where = ", ".join(f"i64 %{name}" for name in _REGISTERS)
    lines.append(f"call void @{kernel.name}_thread(ptr %frame, {where}, ptr {shared}, ptr null)")
    return "\n".join([*lines, "ret void", "}"])


def most_threads(kernel: GridKernel) -> int:
    """The most threads of a block."""
    if kernel.kind == "serial":
        return 1
    if not kernel.shared_bytes:
        return THREADS
    there = _SHARED_BYTES - kernel.block_bytes
    return min(THREADS, there // kernel.shared_bytes // _WARP * _WARP)


def _head(module: GridModule, name: str, architecture: str) -> str:
    """The comment at the head: how it is launched."""
    lines = [f"// {name}: PTX {VERSIONS[architecture]} for {architecture} and newer, launched in this order:"]
    for kernel in module.kernels:
        blocks = "any number of blocks" if kernel.kind == "parallel" else "1 block"
        threads = most_threads(kernel)
        size = f"{blocks} of {f'up to {threads} threads' if threads > 1 else '1 thread'}"
        lines.append(f"//   {_entry_name(kernel)}: {size}{_shared(kernel)}")
    return "\n".join(lines)


def _shared(kernel: GridKernel) -> str:
    """How much shared memory a launch gives to a block."""
    sizes = ((kernel.shared_bytes, "for each"), (kernel.block_bytes, "for the block"))
    first, *more = [(size, whose) for size, whose in sizes if size] or [(0, "")]
    said = f", {first[0]} bytes of shared memory {first[1]}" if first[0] else ""
    return said + "".join(f", and {size} {whose}" for size, whose in more)


# LLVM --------------------------------------------------------------------------------------------


@cache
def _machine(architecture: str, version: str) -> llvm.TargetMachine:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(_TRIPLE)
    return target.create_target_machine(cpu=architecture, features=version, opt=_SPEED)


def _compiled(text: str, library: bytes | None, target: llvm.TargetMachine, entries: tuple[str, ...]) -> str:
    with llvm.parse_assembly(text) as module:
        module.data_layout = str(target.target_data)
        if library is not None:
            module.link_in(llvm.parse_bitcode(library))
        _internalise(module, frozenset(entries))
        options = llvm.create_pipeline_tuning_options(_SPEED)
        options.loop_vectorization = False
        builder = llvm.create_pass_builder(target, options)
        llvm_passes.run(builder.getModulePassManager(), module, builder)
        return target.emit_assembly(module)


@cache
def _needed(path: Path, functions: frozenset[str]) -> bytes:
    """The part of libdevice that these functions are made of, as bitcode: all of it takes longer to link."""
    with NUMBAS_LOCK, llvm.parse_bitcode(path.read_bytes()) as module:
        absent = functions - {f.name for f in module.functions if not f.is_declaration}
        if absent:
            message = f"{path} has no {', '.join(sorted(absent))}"
            raise DeviceError(Diagnostic("device", message, help=toolchain.LIBDEVICE_HELP))
        target = _machine(OLDEST, features(OLDEST))
        module.triple, module.data_layout = _TRIPLE, str(target.target_data)
        _internalise(module, functions)
        manager = llvm.create_new_module_pass_manager()
        manager.add_global_dead_code_eliminate_pass()
        builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(0))
        llvm_passes.run(manager, module, builder)
        return module.as_bitcode()


def _internalise(module: llvm.ModuleRef, kept: frozenset[str]) -> None:
    """Lets no name be seen from outside but these."""
    for function in module.functions:
        if not function.is_declaration and function.name not in kept:
            function.linkage = "internal"
