"""Memory for private buffers and undo logs on a device: a pool for each launch.

The buffers of the outermost block come first, for all tasks. The rest is split evenly among the threads of
each kernel: whether memory is lacking depends on the numbers of threads, never on their order. A thread's
buffers grow upwards in its part, and go in the reverse order; its undo logs grow downwards, and go together,
at the end of its function.
"""

from __future__ import annotations

from dsim.backends.llvm import frame
from dsim.backends.llvm.grid import slots
from dsim.backends.llvm.grid.device import GLOBAL, global_address, in_global_memory
from dsim.backends.llvm.memory.log_compaction import ENTRY, doubled
from dsim.backends.llvm.target import Heap
from dsim.backends.llvm.text import Function

UNIT = 16  # bytes: all parts and buffers begin at multiples
_FIRST_ROOM = 16  # entries of an undo log
_TOP, _END, _LIMIT = 0, 8, 16  # bytes in a thread's part: its free memory, from and to; where all of it ends
PART = "[3 x ptr]"

_ROOM = f"""  %own_end_at = getelementptr inbounds i8, ptr %own, i64 {_END}
  %own_top = load ptr, ptr %own, align 8
  %own_end = load ptr, ptr %own_end_at, align 8
  %own_from = ptrtoint ptr %own_top to i64
  %own_to = ptrtoint ptr %own_end to i64
  %own_room = sub i64 %own_to, %own_from
"""

_ALLOC = f"""define ptr @dsim_alloc(ptr %own, ptr %spare, i64 %size, i1 %zeroed) nounwind {{
entry:
{_ROOM}  %fits = icmp sle i64 %size, %own_room
  br i1 %fits, label %get, label %refuse
get:
  %more = add i64 %size, {UNIT - 1}
  %whole = and i64 %more, {-UNIT}
  %new = getelementptr inbounds i8, ptr %own_top, i64 %whole
  store ptr %new, ptr %own, align 8
  br i1 %zeroed, label %zeros, label %done
zeros:
  call void @llvm.memset.p0.i64(ptr align {UNIT} %own_top, i8 0, i64 %size, i1 false)
  br label %done
done:
  ret ptr %own_top
refuse:
  ret ptr null
}}"""

_FREE = """define void @dsim_free(ptr %own, ptr %p, i64 %size) nounwind {
entry:
  store ptr %p, ptr %own, align 8
  ret void
}"""

_GROW = f"""define i1 @dsim_grow(ptr %own, ptr %log) nounwind {{
entry:
{doubled(_FIRST_ROOM)}
  %bytes = mul i64 %new, {ENTRY}
{_ROOM}  %fits = icmp sle i64 %bytes, %own_room
  br i1 %fits, label %get, label %refuse
get:
  %back = sub i64 0, %bytes
  %entries = getelementptr inbounds i8, ptr %own_end, i64 %back
  store ptr %entries, ptr %own_end_at, align 8
  %old_anywhere = load ptr, ptr %log, align 8
  %old = call ptr @dsim_global(ptr %old_anywhere)
  %size = mul i64 %length, {ENTRY}
  call void @llvm.memcpy.p0.p0.i64(ptr align {UNIT} %entries, ptr align {UNIT} %old, i64 %size, i1 false)
  store ptr %entries, ptr %log, align 8
  store i64 %new, ptr %room_at, align 8
  ret i1 true
refuse:
  ret i1 false
}}"""

_DISCARD = f"""define void @dsim_discard(ptr %own, ptr %log) nounwind {{
entry:
  %limit_at = getelementptr inbounds i8, ptr %own, i64 {_LIMIT}
  %limit = load ptr, ptr %limit_at, align 8
  %end_at = getelementptr inbounds i8, ptr %own, i64 {_END}
  store ptr %limit, ptr %end_at, align 8
  ret void
}}"""

_TAKE = f"""{_ROOM}  %own_fits = icmp sle i64 %size, %own_room
  %values = select i1 %own_fits, ptr %own_top, ptr null"""

HEAP = Heap(
    source="ptr %own",
    functions={"dsim_alloc": _ALLOC, "dsim_free": _FREE, "dsim_grow": _GROW, "dsim_discard": _DISCARD},
    compaction=("ptr %own, ", "ptr %own, ", _TAKE.strip(), ""),
    on_stack=1024,
    stack=4096,
    entries="%anywhere = load ptr, ptr %log, align 8\n  %entries = call ptr @dsim_global(ptr %anywhere)",
    known=in_global_memory,
)

_CLAIM = f"""define ptr @dsim_claim(ptr %frame, i64 %size) nounwind {{
entry:
  %pool_at = getelementptr inbounds i8, ptr %frame, i64 {slots.POOL * 8}
  %anywhere = load ptr, ptr %pool_at, align 8
  %pool = call ptr @dsim_global(ptr %anywhere)
  %size_at = getelementptr inbounds i8, ptr %frame, i64 {slots.POOL_SIZE * 8}
  %there = load i64, ptr %size_at, align 8
  %used_at = getelementptr inbounds i8, ptr %frame, i64 {slots.POOL_USED * 8}
  %used = load i64, ptr %used_at, align 8
  %left = sub i64 %there, %used
  %fits = icmp sle i64 %size, %left
  br i1 %fits, label %get, label %refuse
get:
  %all = add i64 %used, %size
  store i64 %all, ptr %used_at, align 8
  %p = getelementptr inbounds i8, ptr %pool, i64 %used
  ret ptr %p
refuse:
  ret ptr null
}}"""


def claim(f: Function, size: str) -> str:
    """The address of so many bytes, a multiple of `UNIT`, for the rest of the launch; null if there are not.

    One thread does that while no other runs.
    """
    f.module.declare("dsim_global", GLOBAL)
    return f.call("ptr", f.module.share("dsim_claim", _CLAIM), "ptr %frame", f"i64 {size}")


def part(f: Function, thread: str, threads: str) -> str:
    """The address of a thread's part of the pool, on its stack."""
    for name, args in (("memset.p0", "ptr, i8, i64, i1"), ("memcpy.p0.p0", "ptr, ptr, i64, i1")):
        f.module.declare(f"llvm.{name}.i64", f"declare void @llvm.{name}.i64({args})")
    own = f.slot(PART)
    pool, used = global_address(f, slots.POOL), frame.read(f, slots.POOL_USED, "i64")
    left = f.let(f"sub i64 {frame.read(f, slots.POOL_SIZE, 'i64')}, {used}")
    each = f.let(f"and i64 {f.let(f'udiv i64 {left}, {threads}')}, {-UNIT}")
    begin = f.let(f"add i64 {used}, {f.let(f'mul i64 {thread}, {each}')}")
    top = f.let(f"getelementptr inbounds i8, ptr {pool}, i64 {begin}")
    end = f.let(f"getelementptr inbounds i8, ptr {top}, i64 {each}")
    for at, value in ((_TOP, top), (_END, end), (_LIMIT, end)):
        f.do(f"store ptr {value}, ptr {f.let(f'getelementptr inbounds i8, ptr {own}, i64 {at}')}, align 8")
    return own
