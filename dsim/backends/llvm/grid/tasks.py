"""The tasks of a kernel as functions of one thread of a grid.

- ``task_k``           what the task does, as one thread does it: inlined into the function of the thread.
- ``task_k_thread``    the function of a thread, which a device runs as a kernel.
- ``task_k_part``, ``task_k_fold``, ``task_k_leave``, ``task_k_gather``, ``task_k_finish``: the steps, between
  barriers, of a loop with sums, and of the kernel ``task_k_combine`` behind it.
- ``task_k_clear``, ``task_k_flush``: the steps before and after, of a loop with copies in shared memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

from dsim.backends.llvm import frame, loops, partials, ranges, stops
from dsim.backends.llvm.grid import copies, pool, rotation, sums
from dsim.backends.llvm.grid.device import GLOBAL, barrier, global_address
from dsim.backends.llvm.grid.module import COORDINATES, GridKernel
from dsim.backends.llvm.grid.nests import LoopNest
from dsim.backends.llvm.grid.plans import Sharing
from dsim.backends.llvm.kernel import KernelWriter, Task, close_body, write_statements
from dsim.backends.llvm.memory import buffers
from dsim.backends.llvm.places import Length
from dsim.backends.llvm.statements import HANDLERS
from dsim.backends.llvm.text import Function
from dsim.backends.llvm.writer import Writer

_INLINED = "nounwind alwaysinline"
_ARGUMENTS = "ptr %frame, i64 %tid, i64 %ntid, i64 %cta, i64 %ncta, ptr %shared"
_STEP = _ARGUMENTS.replace("ptr %frame", "ptr noalias %frame")


def write_serial(k: KernelWriter, task: Task) -> GridKernel:
    """Writes a task that one thread runs."""
    stoppable = k.module.asks
    body = k.function(task.name, f"ptr noalias %frame, ptr noalias %own{k.memory_params(task)}", _INLINED)
    write_statements(k, body, task)
    f = _thread(k, task.name)
    _unless_stopped(f, stoppable)
    args = ["ptr %frame", _part(f, body, "0", "1"), *k.memory_args(f, task)]
    f.do(f"call void @{task.name}({', '.join(args)})")
    f.do("ret void")
    return GridKernel(task.name, "serial", pool=_takes_memory(body))


def write_buffer(k: KernelWriter, task: Task) -> tuple[GridKernel, ...]:
    """Writes the kernels that make a private buffer of several tasks: one takes memory, one zeroes it."""
    stoppable, slot, words = k.module.asks, k.layout.memories[task.buffer.memory.key], k.layout.take(1)
    f = _thread(k, task.name)
    _unless_stopped(f, stoppable)
    w = _writer(k, f)
    k.read_values(w, task)
    shape, size = buffers.measure(w, task.buffer)
    whole = _rounded(f, size)
    base = pool.claim(f, whole)
    good, bad = f.label("made"), f.label("lacking")
    f.fork(f.let(f"icmp ne ptr {base}, null"), good, bad, w.likely)
    f.open(bad)
    w.fault("memory", task.buffer, shape)
    f.do("ret void")
    f.open(good)
    frame.write(f, slot, "ptr", base)
    frame.write(f, words, "i64", f.let(f"lshr i64 {whole}, 3"))
    f.do("ret void")
    _write_zeros(k, task, slot, words)
    return GridKernel(task.name, "serial", pool=True), GridKernel(f"{task.name}_zeros", "parallel")


def _rounded(f: Function, size: Length) -> str:
    if isinstance(size, int):
        return str(-(-size // pool.UNIT) * pool.UNIT)
    return f.let(f"and i64 {f.let(f'add i64 {size}, {pool.UNIT - 1}')}, {-pool.UNIT}")


def _write_zeros(k: KernelWriter, task: Task, slot: int, words: int) -> None:
    f = _thread(k, f"{task.name}_zeros")
    _unless_stopped(f, True)
    base, count = global_address(f, slot), frame.read(f, words, "i64")
    first, step = _place_in_grid(f)

    def one(i: str) -> None:
        f.do(f"store i64 0, ptr {f.let(f'getelementptr inbounds i64, ptr {base}, i64 {i}')}, align 8")

    loops.plain(f, first, count, step, one)
    f.do("ret void")


def write_parallel(k: KernelWriter, task: Task, s: Sharing) -> tuple[GridKernel, ...]:
    """Writes a loop that the threads of a grid share, and the kernel that combines their sums."""
    stoppable = k.module.asks
    body = _write_iterations(k, task, s)
    if not s.sums and not s.copies:
        f = _thread(k, task.name)
        _unless_stopped(f, stoppable)
        run = _runner(k, f, task, s, body)
        first, step = _place_in_grid(f)
        run(first, _trips(k, f, task, s), step, "null")
        f.do("ret void")
        return (GridKernel(task.name, "parallel", pool=_takes_memory(body)),)
    size = sums.WORD * len(s.sums)
    _write_part(k, task, s, body, stoppable)
    if s.copies:
        _write_copies(k, task, s)
    first = GridKernel(task.name, "parallel", size, s.copied_bytes, len(s.sums), _takes_memory(body))
    if not s.sums:
        _write_steps(k, task, task.name, s, "part", "")
        return (first,)
    sums.write_fold(k, f"{task.name}_fold", s.sums)
    _write_alone(k, task, "leave", lambda w: sums.leave(w, s.sums), False)
    _write_steps(k, task, task.name, s, "part", "leave")
    combine = f"{task.name}_combine"
    f = k.function(f"{task.name}_gather", _STEP, _INLINED)
    sums.gather(_writer(k, f), s.sums)
    f.do("ret void")
    _write_alone(k, task, "finish", lambda w: sums.finish(k, w, task, s.sums), k.module.asks)
    _write_steps(k, task, combine, s._replace(copies=()), "gather", "finish")
    return first, GridKernel(combine, "combine", size)


def _write_steps(k: KernelWriter, task: Task, name: str, s: Sharing, before: str, after: str) -> None:
    """Writes a thread's function: one step, the folds of the block's sums, another step.

    What is done to a block's copies comes first and last.
    """
    f = _thread(k, name)

    def step(which: str) -> None:
        f.do(f"call void @{task.name}_{which}({_ARGUMENTS})")

    if s.copies:
        step("clear")
        barrier(f)
    step(before)
    if s.sums:
        sums.fold(f, f"{task.name}_fold")
        step(after)
    else:
        barrier(f)
    if s.copies:
        step("flush")
    f.do("ret void")


def _write_copies(k: KernelWriter, task: Task, s: Sharing) -> None:
    """Writes what the threads of a block do with its copies before and after their iterations."""
    size = sums.WORD * len(s.sums)
    f = k.function(f"{task.name}_clear", _STEP, _INLINED)
    copies.clear(f, s.copies, size)
    f.do("ret void")
    f = k.function(f"{task.name}_flush", _STEP, _INLINED)
    copies.flush(f, s.copies, size, {c.memory.key: k.address(f, c.memory) for c in s.copies})
    f.do("ret void")


def _write_part(k: KernelWriter, task: Task, s: Sharing, body: Function, stoppable: bool) -> None:
    """Writes what a thread does before the first barrier: its iterations, piece by piece."""
    f = k.function(f"{task.name}_part", _STEP, _INLINED)
    w = _writer(k, f)
    total, here = (f.slot(f"[{len(s.sums)} x i64]") for _ in range(2))
    partials.clear(w, s.sums, total)
    ready = f.label("ready")
    if stoppable:
        run_it = f.label("run")
        f.fork(stops.unstopped(f), run_it, ready)
        f.open(run_it)
    run = _runner(k, f, task, s, body)
    first, step = _place_in_grid(f)
    trips, length = _trips(k, f, task, s), f.let(f"mul i64 {step}, {s.block}")

    def piece(start: str) -> None:
        partials.clear(w, s.sums, here)
        behind = f.let(f"add i64 {start}, {length}")
        whole = f.let(f"icmp slt i64 {behind}, {trips}")
        run(start, f.let(f"select i1 {whole}, i64 {behind}, i64 {trips}"), step, here)
        partials.join(w, s.sums, total, here)

    if s.sums:
        loops.plain(f, first, str(trips), length, piece)
    else:
        run(first, trips, step, "null")
    f.jump(ready)
    f.open(ready)
    sums.share(w, s.sums, total)
    f.do("ret void")


def _write_alone(
    k: KernelWriter, task: Task, step: str, write: Callable[[Writer], None], stoppable: bool
) -> None:
    """Writes a step that only thread 0 of a block does, not after a launch was stopped."""
    f = k.function(f"{task.name}_{step}", _STEP, _INLINED)
    alone, end = f.label("alone"), f.label("end")
    f.fork(f.let("icmp eq i64 %tid, 0"), alone, end)
    f.open(alone)
    if stoppable:
        go = f.label("go")
        f.fork(stops.unstopped(f), go, end)
        f.open(go)
    write(_writer(k, f))
    f.jump(end)
    f.open(end)
    f.do("ret void")


# the iterations of one thread --------------------------------------------------------------------


def _write_iterations(k: KernelWriter, task: Task, s: Sharing) -> Function:
    """Writes ``task_k``: the iterations from ``%first`` to ``%stop`` by ``%step``; sums to ``%partial``."""
    params = "ptr noalias %frame, ptr noalias %own, i64 %first, i64 %stop, i64 %step, ptr noalias %partial"
    f = k.function(task.name, params + k.memory_params(task), _INLINED)
    w = k.writer(f, task)
    for key in s.atomic:
        w.places[key].atomic = True
    w.rotate = partial(rotation.turned, s.rotated)
    partials.start(w, s.sums)
    buffers.hoist(w, task.block)
    carried = _iterations(w, s.nest)
    partials.stop(w, s.sums, _totals(w, s.nest, carried))
    close_body(w)
    return f


def _iterations(w: Writer, nest: LoopNest) -> tuple[str, ...]:
    """Writes the iterations of a nest; gives the sums that its innermost loop carries."""
    _write_first(w, nest)
    f, starts = w.f, [w.exact(loop.start) for loop in nest.loops]
    lengths = [ranges.trip_count(w, loop) for loop in nest.loops[1:]]
    test, inside, end = f.label("grid"), f.label("trip"), f.label("done")
    before = f.block
    f.jump(test)
    f.open(test)
    number, at = f.open_phi("i64", "%first", before)
    carried = loops.Carried(w, nest.loops[-1].carried, nest.identities[-1], before)
    results = w.values(nest.loops[-1].carried)
    f.fork(f.let(f"icmp slt i64 {number}, %stop"), inside, end)
    f.open(inside)
    for loop, start, trip in zip(nest.loops, starts, _trips_of(f, number, lengths), strict=True):
        distance = trip if loop.step == 1 else f.let(f"mul i64 {trip}, {loop.step}")
        loops.bind_index(w, loop, f.let(f"add i64 {start}, {distance}"))
    values = w.trip(nest.body)
    following = f.let(f"add nsw i64 {number}, %step")
    carried.close(values, f.block)
    f.close_phi(at, following, f.block)
    f.jump(test)
    f.open(end)
    return results


def _write_first(w: Writer, nest: LoopNest) -> None:
    for s in nest.first:
        w.handlers[type(s)](w, s)


def _trips_of(f: Function, number: str, lengths: list[Length]) -> list[str]:
    """The trip of each loop of a nest in an iteration, by its number; the innermost goes fastest."""
    found: list[str] = []
    for length in reversed(lengths):
        around = f.let(f"udiv i64 {number}, {length}")
        found.append(f.let(f"sub nuw nsw i64 {number}, {f.let(f'mul nuw nsw i64 {around}, {length}')}"))
        number = around
    return [number, *reversed(found)]


def _totals(w: Writer, nest: LoopNest, sums: tuple[str, ...]) -> tuple[str, ...]:
    """What a thread's sums are to the outermost loop; adds what is for a memory to the register for it."""
    for outer, identities, behind, inner in nest.levels():
        w.env.update(zip(inner.results, sums, strict=True))
        w.env.update(zip(outer.carried, identities, strict=True))
        for s in behind:
            w.handlers[type(s)](w, s)
        sums = w.values(outer.body.yields)
    return sums


# the function of a thread ------------------------------------------------------------------------


def _thread(k: KernelWriter, name: str) -> Function:
    """A new function of a thread."""
    f = k.module.function(f"define void @{name}_thread({COORDINATES}) nounwind")
    f.module.declare("dsim_global", GLOBAL)
    f.do("%frame = call ptr @dsim_global(ptr %given)")
    return f


def _writer(k: KernelWriter, f: Function) -> Writer:
    return Writer(f, k.target, HANDLERS, k.wishes.unchecked, k.messages)


def _unless_stopped(f: Function, stoppable: bool) -> None:
    """Ends the function if the launch was stopped, where a task before may have done that."""
    if stoppable:
        go, end = f.label("go"), f.label("stopped")
        f.fork(stops.unstopped(f), go, end)
        f.open(end)
        f.do("ret void")
        f.open(go)


def _place_in_grid(f: Function) -> tuple[str, str]:
    """The number of a thread, and how many there are."""
    number = f.let(f"add i64 {f.let('mul i64 %cta, %ntid')}, %tid")
    return number, f.let("mul i64 %ncta, %ntid")


def _trips(k: KernelWriter, f: Function, task: Task, s: Sharing) -> Length:
    """How many iterations there are."""
    w = _writer(k, f)
    k.read_values(w, task)
    _write_first(w, s.nest)
    return reduce(partial(buffers.product, f), (ranges.trip_count(w, loop) for loop in s.nest.loops))


def _part(f: Function, body: Function, thread: str, threads: str) -> str:
    """The argument for the thread's part of the pool, if `body` takes memory."""
    return f"ptr {pool.part(f, thread, threads) if _takes_memory(body) else 'null'}"


def _takes_memory(body: Function) -> bool:
    return any("%own" in line for line in body.lines)


def _runner(k: KernelWriter, f: Function, task: Task, s: Sharing, body: Function) -> Callable[..., None]:
    """What writes a call of a loop's iterations: from, to, step, and where their sums go."""
    args = ["ptr %frame", _part(f, body, *_place_in_grid(f))]
    own = {c.memory: copies.address(f, c, sums.WORD * len(s.sums)) for c in s.copies}
    memories = [f"ptr {own.get(m) or k.address(f, m)}" for m in k.memories(task)]

    def run(first: str, stop: Length, step: str, partial: str) -> None:
        edges = [f"i64 {first}", f"i64 {stop}", f"i64 {step}", f"ptr {partial}"]
        f.do(f"call void @{task.name}({', '.join([*args, *edges, *memories])})")

    return run
