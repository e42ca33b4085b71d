"""The text of a kernel in grid form, run by this processor: loops over blocks and threads, and no device.

`emitted` puts an entry around the text, which runs the kernels of a module on a grid of some size. Blocks run
one after the other, the last first. So do the threads of a block, from barrier to barrier, but for thread 0,
which is first: in a missing barrier it would read what others have not written yet. With `real`, each thread
of a block is one of the operating system, and barriers are real. What a device leaves undefined is filled
with NaN: shared memory, the pool, the blocks' sums.

`grid_form` lets everything that is compiled meanwhile run so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from dsim.backends.cpu import compiled
from dsim.backends.cuda.target import CudaTarget
from dsim.backends.llvm import frame, loops
from dsim.backends.llvm.grid import emit, slots
from dsim.backends.llvm.grid.device import BARRIER, GLOBAL
from dsim.backends.llvm.grid.module import COORDINATES, GridKernel, GridModule
from dsim.backends.llvm.parallel.emit import Emitted
from dsim.backends.llvm.text import Function, Module
from dsim.passes.simplify import finish_for_grid
from dsim.runtime.driver import pipeline

POOL_BYTES = 1 << 22
PRINT_WORDS = 1 << 16
_ARGUMENTS = "ptr %frame, i64 {t}, i64 {threads}, i64 {c}, i64 {blocks}, ptr {shared}, ptr {barrier}"
_BARRIER_CALL = "call void @dsim_barrier(ptr %barrier)"
_OUTSIDE = {
    "malloc": "declare ptr @malloc(i64)",
    "free": "declare void @free(ptr)",
    "llvm.memset.p0.i64": "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
    "pthread_create": "declare i32 @pthread_create(ptr, ptr, ptr, ptr)",
    "pthread_join": "declare i32 @pthread_join(i64, ptr)",
    "pthread_barrier_init": "declare i32 @pthread_barrier_init(ptr, ptr, i32)",
    "pthread_barrier_wait": "declare i32 @pthread_barrier_wait(ptr)",
}


class Grid(NamedTuple):
    """The size of a grid; and whether its threads are real."""

    blocks: int
    threads: int
    real: bool = False


def emitted(module: GridModule, grid: Grid, returns: int) -> Emitted:
    """A module with an entry that runs it; what the kernel returns goes to the slots from `returns` on."""
    text = _defined(module.text, grid.real)
    steps = {k.name: _steps(text, k.name, grid.real) for k in module.kernels}
    text = "\n".join([text, *(body for found in steps.values() for body in found.values())])
    entry = Module(exact=True)
    f = entry.function("define i64 @dsim_entry(ptr %frame)")
    memory = _before(f, module, grid)
    for kernel in module.kernels:
        _launch(f, kernel, list(steps[kernel.name]), grid, memory["shared"])
    _after(f, module, memory, returns)
    missing = [d for name, d in _OUTSIDE.items() if f"@{name}(" in entry.text() + text and d not in text]
    missing = [d for d in missing if not re.search(rf"^declare .*@{_declared(d)}\(", text, re.MULTILINE)]
    text = "\n".join([text, *missing, entry.text()])
    return Emitted(text, {}, module.layout, module.messages, parallel=False, asks=False)


def _declared(text: str) -> str:
    return text[text.index("@") + 1 : text.index("(")]


# what the text leaves to its target --------------------------------------------------------------


def _defined(text: str, real: bool) -> str:
    """The text with definitions of what it declares."""
    text = text.replace(GLOBAL, "define internal ptr @dsim_global(ptr %p) alwaysinline {\nret ptr %p\n}")
    wait = "%n = call i32 @pthread_barrier_wait(ptr %b)\n" if real else "call void @llvm.trap()\n"
    body = f"define internal void @dsim_barrier(ptr %b) {{\n{wait}ret void\n}}"
    text = text.replace(BARRIER, body if real else f"declare void @llvm.trap()\n{body}")
    return re.sub(r"^declare (\w+) @dsim_math_(\w+)_f(\d+)\((.*?)\).*$", _by_libm, text, flags=re.MULTILINE)


def _by_libm(found: re.Match[str]) -> str:
    t, name, bits, types = found.groups()
    called = name + ("f" if bits == "32" else "")
    args = ", ".join(f"{a} %a{i}" for i, a in enumerate(types.split(", ")))
    return (
        f"declare {t} @{called}({types}) memory(none) nounwind willreturn\n"
        f"define internal {t} @dsim_math_{name}_f{bits}({args}) alwaysinline {{\n"
        f"%r = call {t} @{called}({args})\nret {t} %r\n}}"
    )


def _steps(text: str, name: str, real: bool) -> dict[str, str]:
    """The functions that a thread of a kernel runs, and what is to be defined for it: one for each step
    between barriers."""
    found = re.search(rf"define void @{name}_thread\(.*?\n}}", text, re.DOTALL)
    assert found is not None, f"{name} has no function"
    head, *lines = found[0].splitlines()[:-1]
    if _BARRIER_CALL not in lines or real:
        return {f"{name}_thread": _lane(name)} if real else {f"{name}_thread": ""}
    straight = [line for line in lines if not line.startswith(("entry:", _BARRIER_CALL, "call ", "%frame ="))]
    assert straight == ["ret void"], "a barrier that not all threads may reach"
    first = lines[1]  # the address of the frame
    parts = "\n".join(lines[2:-1]).split(_BARRIER_CALL)
    return {
        f"{name}_step_{i}": "\n".join(
            [head.replace(f"@{name}_thread", f"@{name}_step_{i}"), "entry:", first, part, "ret void", "}"]
        )
        for i, part in enumerate(parts)
    }


def _lane(name: str) -> str:
    """The function of a real thread, which finds its arguments in memory."""
    lines = [f"define internal ptr @{name}_lane(ptr %args) {{"]
    types = [part.split()[0] for part in COORDINATES.split(", ")]
    for i, t in enumerate(types):
        lines.append(f"%at{i} = getelementptr i64, ptr %args, i64 {i}")
        lines.append(f"%v{i} = load {t}, ptr %at{i}, align 8")
    args = ", ".join(f"{t} %v{i}" for i, t in enumerate(types))
    return "\n".join([*lines, f"call void @{name}_thread({args})", "ret ptr null", "}"])


# the entry ----------------------------------------------------------------------------------------


def _filled(f: Function, size: int) -> str:
    """New memory, all of its floats NaN."""
    at = f.call("ptr", "malloc", f"i64 {size}")
    f.do(f"call void @llvm.memset.p0.i64(ptr align 16 {at}, i8 -1, i64 {size}, i1 false)")
    return at


def _before(f: Function, module: GridModule, grid: Grid) -> dict[str, str]:
    """Gives a launch its memory, and the frame what it needs; the addresses of what is to be freed."""
    for slot in (frame.STATUS, frame.STOP, *range(slots.POOL, slots.POOL + slots.COUNT)):
        frame.write(f, slot, "i64", "0")
    sums = max((k.sums for k in module.kernels), default=0) * grid.blocks * 8
    shared = max((k.shared_memory(grid.threads) for k in module.kernels), default=0)
    sizes = {"pool": POOL_BYTES * any(k.pool for k in module.kernels), "sums": sums, "shared": shared}
    sizes["prints"] = 8 * PRINT_WORDS * bool(module.messages.prints)
    memory = {name: _filled(f, size) if size else "null" for name, size in sizes.items()}
    for name, slot in (("pool", slots.POOL), ("sums", slots.SUMS), ("prints", slots.PRINTS)):
        frame.write(f, slot, "ptr", memory[name])
    frame.write(f, slots.POOL_SIZE, "i64", str(sizes["pool"]))
    frame.write(f, slots.PRINT_WORDS, "i64", str(sizes["prints"] // 8))
    return memory


def _launch(f: Function, kernel: GridKernel, steps: list[str], grid: Grid, shared: str) -> None:
    blocks = grid.blocks if kernel.kind == "parallel" else 1
    threads = 1 if kernel.kind == "serial" else grid.threads

    def block(i: str) -> None:
        c = f.let(f"sub i64 {blocks - 1}, {i}")
        size = kernel.shared_memory(threads)
        if size:
            f.do(f"call void @llvm.memset.p0.i64(ptr align 16 {shared}, i8 -1, i64 {size}, i1 false)")
        numbers = {"c": c, "blocks": blocks, "threads": threads, "shared": shared}
        if grid.real and kernel.kind != "serial":
            _real_threads(f, kernel.name, numbers)
            return
        for step in steps:

            def thread(i: str, step: str = step) -> None:
                t = f.let(f"urem i64 {f.let(f'sub i64 {threads}, {i}')}, {threads}")
                f.do(f"call void @{step}({_ARGUMENTS.format(t=t, barrier='null', **numbers)})")

            loops.plain(f, "0", str(threads), 1, thread)

    loops.plain(f, "0", str(blocks), 1, block)


def _real_threads(f: Function, name: str, numbers: dict[str, object]) -> None:
    """Runs a block: all of its threads at once."""
    threads = int(str(numbers["threads"]))
    barrier, handles = f.slot("[8 x i64]", 16), f.slot(f"[{threads} x i64]", 16)
    rows = f.slot(f"[{threads} x [7 x i64]]", 16)
    f.call("i32", "pthread_barrier_init", f"ptr {barrier}", "ptr null", f"i32 {threads}")

    def begin(t: str) -> None:
        row = f.let(f"getelementptr [7 x i64], ptr {rows}, i64 {t}")
        for i, part in enumerate(_ARGUMENTS.format(t=t, barrier=barrier, **numbers).split(", ")):
            f.do(f"store {part}, ptr {f.let(f'getelementptr i64, ptr {row}, i64 {i}')}, align 8")
        handle = f.let(f"getelementptr i64, ptr {handles}, i64 {t}")
        f.call("i32", "pthread_create", f"ptr {handle}", "ptr null", f"ptr @{name}_lane", f"ptr {row}")

    def join(t: str) -> None:
        handle = f.let(f"load i64, ptr {f.let(f'getelementptr i64, ptr {handles}, i64 {t}')}, align 8")
        f.call("i32", "pthread_join", f"i64 {handle}", "ptr null")

    loops.plain(f, "0", str(threads), 1, begin)
    loops.plain(f, "0", str(threads), 1, join)


def _after(f: Function, module: GridModule, memory: dict[str, str], returns: int) -> None:
    """Reads the prints, puts the results where a launch expects them, and frees memory."""
    if module.messages.prints:
        _read_prints(f, memory["prints"])
    for i, slot in enumerate(module.results):
        if slot is not None:
            frame.write(f, returns + i, "i64", frame.read(f, slot, "i64"))
    for address in memory.values():
        f.do(f"call void @free(ptr {address})")
    f.do(f"ret i64 {frame.read(f, frame.STATUS, 'i64')}")


def _read_prints(f: Function, rows: str) -> None:
    """Calls the printer for each row of the print buffer, as `prints.rows` gives them."""
    printer = frame.read(f, frame.PRINTER, "ptr", frame.read(f, frame.RUNTIME, "ptr"))
    owner, used = frame.read(f, frame.OWNER, "i64"), frame.read(f, slots.PRINT_USED, "i64")
    words = frame.read(f, slots.PRINT_WORDS, "i64")
    last = f.let(f"select i1 {f.let(f'icmp slt i64 {used}, {words}')}, i64 {used}, i64 {words}")
    head, row, some, end = (f.label(name) for name in ("row", "look", "print", "printed"))
    before = f.block
    f.jump(head)
    f.open(head)
    at, place = f.open_phi("i64", "0", before)
    f.fork(f.let(f"icmp slt i64 {at}, {last}"), row, end)
    f.open(row)
    first = f.let(f"getelementptr i64, ptr {rows}, i64 {at}")
    word = f.let(f"load i64, ptr {first}, align 8")
    f.fork(f.let(f"icmp eq i64 {word}, 0"), end, some)
    f.open(some)
    which = f.let(f"sub i64 {f.let(f'and i64 {word}, {(1 << 32) - 1}')}, 1")
    values = f.let(f"getelementptr i64, ptr {first}, i64 1")
    f.do(f"call void {printer}(i64 {owner}, i64 {which}, ptr {values})")
    count = f.let(f"add i64 {f.let(f'lshr i64 {word}, 32')}, 1")
    following = f.let(f"add i64 {at}, {count}")
    f.close_phi(place, following, f.block)
    f.jump(head)
    f.open(end)


# instead of the processor's own form --------------------------------------------------------------

Change = Callable[[GridModule], GridModule]


class _Emitter:
    def __init__(self, grid: Grid, change: Change) -> None:
        self.grid, self.change = grid, change
        self.modules: list[GridModule] = []

    def emit(self, kernel, target, wishes, facts=None) -> Emitted:
        """Like `dsim.backends.llvm.parallel.emit.emit`."""
        module = self.change(emit.emit(kernel, CudaTarget(), wishes, facts))
        self.modules.append(module)
        return emitted(module, self.grid, module.layout.returns)


@contextmanager
def grid_form(grid: Grid, change: Change = lambda m: m) -> Iterator[list[GridModule]]:
    """What is compiled meanwhile runs in grid form, after `change`; the modules, as they are written."""
    emitter = _Emitter(grid, change)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "emit", emitter)
        patch.setattr(pipeline, "finish", finish_for_grid)
        yield emitter.modules
