"""Private buffers and undo logs in the heap of this process, by the C library.

Memory in use is counted against a limit, so that too large a buffer is a fault that names its line and not
the end of the process.
"""

from __future__ import annotations

from dsim.backends.llvm import frame
from dsim.backends.llvm.memory.log_compaction import ENTRY, ROOM, doubled
from dsim.backends.llvm.target import Heap
from dsim.backends.llvm.text import PLAIN

_UNCOUNTED = 1 << 16  # bytes below which a buffer is not counted against the limit
_SPARE = 128
_FIRST_ROOM = 64  # entries


def _counted(op: str, size: str) -> str:
    """Takes bytes from the limit, or adds them to it."""
    return f"""\
  %at = getelementptr inbounds i8, ptr %frame, i64 {frame.RUNTIME * 8}
  %runtime = load ptr, ptr %at, align 8
  %left = getelementptr inbounds i8, ptr %runtime, i64 {frame.MEMORY_LEFT * 8}
  %before = atomicrmw {op} ptr %left, i64 {size} monotonic"""


_ALLOC = f"""define noalias ptr @dsim_alloc(ptr %frame, ptr %spare, i64 %size, i1 %zeroed) {PLAIN} {{
entry:
  %small = icmp sle i64 %size, {_SPARE}
  br i1 %small, label %here, label %heap
here:
  call void @llvm.memset.p0.i64(ptr align 8 %spare, i8 0, i64 {_SPARE}, i1 false)
  ret ptr %spare
heap:
  %large = icmp sgt i64 %size, {_UNCOUNTED}
  br i1 %large, label %count, label %get
count:
{_counted("sub", "%size")}
  %fits = icmp sge i64 %before, %size
  br i1 %fits, label %get, label %refuse
get:
  br i1 %zeroed, label %zeros, label %raw
zeros:
  %p = call ptr @calloc(i64 1, i64 %size)
  ret ptr %p
raw:
  %q = call ptr @malloc(i64 %size)
  ret ptr %q
refuse:
  %undone = atomicrmw add ptr %left, i64 %size monotonic
  ret ptr null
}}"""

_FREE = f"""define void @dsim_free(ptr %frame, ptr %p, i64 %size) {PLAIN} {{
entry:
  %small = icmp sle i64 %size, {_SPARE}
  br i1 %small, label %end, label %heap
heap:
  call void @free(ptr %p)
  %large = icmp sgt i64 %size, {_UNCOUNTED}
  br i1 %large, label %count, label %end
count:
{_counted("add", "%size")}
  br label %end
end:
  ret void
}}"""

_GROW = f"""define i1 @dsim_grow(ptr %frame, ptr %log) {PLAIN} {{
entry:
{doubled(_FIRST_ROOM)}
  %more = sub i64 %new, %room
  %bytes = mul i64 %more, {ENTRY}
{_counted("sub", "%bytes")}
  %fits = icmp sge i64 %before, %bytes
  br i1 %fits, label %get, label %refuse
get:
  %old = load ptr, ptr %log, align 8
  %size = mul i64 %new, {ENTRY}
  %entries = call ptr @realloc(ptr %old, i64 %size)
  %got = icmp ne ptr %entries, null
  br i1 %got, label %keep, label %refuse
keep:
  store ptr %entries, ptr %log, align 8
  store i64 %new, ptr %room_at, align 8
  ret i1 true
refuse:
  %undone = atomicrmw add ptr %left, i64 %bytes monotonic
  ret i1 false
}}"""

_DISCARD = f"""define void @dsim_discard(ptr %frame, ptr %log) {PLAIN} {{
entry:
  %entries = load ptr, ptr %log, align 8
  call void @free(ptr %entries)
  %room_at = getelementptr inbounds i64, ptr %log, i64 {ROOM}
  %room = load i64, ptr %room_at, align 8
  %bytes = mul i64 %room, {ENTRY}
{_counted("add", "%bytes")}
  ret void
}}"""

HEAP = Heap(
    source="ptr %frame",
    functions={
        "dsim_alloc": _ALLOC,
        "dsim_free": _FREE,
        "dsim_grow": _GROW,
        "dsim_discard": _DISCARD,
    },
    take="%values = call ptr @malloc(i64 %size)",
    give_back="call void @free(ptr %values)",
    on_stack=4096,
    stack=65536,
    spare=_SPARE,
)
