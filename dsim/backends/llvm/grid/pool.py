"""Memory for private buffers and undo logs on a device: a pool for each launch.

The buffers of the outermost block come first, for all tasks. The rest is split evenly among the threads of
each kernel: whether memory is lacking depends on the numbers of threads, never on their order. A thread's
buffers grow upwards in its part, and go in the reverse order; its undo logs grow downwards, and go together,
at the end of its function.

Parts are interleaved: word by word, first those of all threads, then the next ones. So threads of a warp that
are at the same place in their parts read and write neighbouring words. An element takes a word at least.
"""

from __future__ import annotations

from dsim.backends.llvm import frame
from dsim.backends.llvm.grid import slots
from dsim.backends.llvm.grid.device import GLOBAL, global_address, in_global_memory
from dsim.backends.llvm.memory.log_compaction import ENTRY, doubled
from dsim.backends.llvm.target import Heap
from dsim.backends.llvm.text import Function

UNIT = 16  # bytes: all sizes are multiples
_WORD = 8  # bytes
_FIRST_ROOM = 16  # entries of an undo log
# A thread's part: addresses of its free memory, from and to, and of where all of it ends; how many words
# lie from one of its own to the next, which is how many threads there are.
_TOP, _END, _LIMIT, _APART = 0, 8, 16, 24
PART = "[4 x i64]"

_STEP = f"""  %apart_at = getelementptr inbounds i8, ptr %own, i64 {_APART}
  %apart = load i64, ptr %apart_at, align 8"""

_ROOM = f"""  %own_end_at = getelementptr inbounds i8, ptr %own, i64 {_END}
  %own_top = load ptr, ptr %own, align 8
  %own_end = load ptr, ptr %own_end_at, align 8
  %own_from = ptrtoint ptr %own_top to i64
  %own_to = ptrtoint ptr %own_end to i64
  %own_room = sub i64 %own_to, %own_from"""


def _each_word(prefix: str, before: str, words: str, write: str, behind: str) -> str:
    """A loop over so many words of a part, which goes on at the label `behind`; ``%at`` counts from 0."""
    return f"""\
  br label %{prefix}_test
{prefix}_test:
  %at = phi i64 [ 0, %{before} ], [ %at_next, %{prefix}_word ]
  %some = icmp slt i64 %at, {words}
  br i1 %some, label %{prefix}_word, label %{behind}
{prefix}_word:
  %distance = mul i64 %at, %apart
  {write}
  %at_next = add i64 %at, 1
  br label %{prefix}_test"""


_ALLOC = f"""define ptr @dsim_alloc(ptr %own, ptr %spare, i64 %size, i1 %zeroed) nounwind {{
entry:
{_STEP}
{_ROOM}
  %more = add i64 %size, {UNIT - 1}
  %whole = and i64 %more, {-UNIT}
  %there = udiv i64 %own_room, %apart
  %fits = icmp sle i64 %whole, %there
  br i1 %fits, label %get, label %refuse
get:
  %taken = mul i64 %whole, %apart
  %new = getelementptr inbounds i8, ptr %own_top, i64 %taken
  store ptr %new, ptr %own, align 8
  br i1 %zeroed, label %zeros, label %done
zeros:
  call void @dsim_zero(ptr %own, ptr %own_top, i64 %size)
  br label %done
done:
  ret ptr %own_top
refuse:
  ret ptr null
}}"""

_CLEAR = """%to = getelementptr inbounds i64, ptr %base, i64 %distance
  store i64 0, ptr %to, align 8"""

_ZERO = f"""define void @dsim_zero(ptr %own, ptr %p, i64 %size) nounwind {{
entry:
{_STEP}
  %base = call ptr @dsim_global(ptr %p)
  %more = add i64 %size, {_WORD - 1}
  %words = lshr i64 %more, 3
{_each_word("zero", "entry", "%words", _CLEAR, "end")}
end:
  ret void
}}"""

_FREE = """define void @dsim_free(ptr %own, ptr %p, i64 %size) nounwind {
entry:
  store ptr %p, ptr %own, align 8
  ret void
}"""

_COPY = """%from = getelementptr inbounds i64, ptr %old, i64 %distance
  %to = getelementptr inbounds i64, ptr %entries, i64 %distance
  %word = load i64, ptr %from, align 8
  store i64 %word, ptr %to, align 8"""

_GROW = f"""define i1 @dsim_grow(ptr %own, ptr %log) nounwind {{
entry:
{doubled(_FIRST_ROOM)}
{_STEP}
{_ROOM}
  %bytes = mul i64 %new, {ENTRY}
  %there = udiv i64 %own_room, %apart
  %fits = icmp sle i64 %bytes, %there
  br i1 %fits, label %get, label %refuse
get:
  %taken = mul i64 %bytes, %apart
  %back = sub i64 0, %taken
  %begin = getelementptr inbounds i8, ptr %own_end, i64 %back
  store ptr %begin, ptr %own_end_at, align 8
  %entries = call ptr @dsim_global(ptr %begin)
  %old_anywhere = load ptr, ptr %log, align 8
  %old = call ptr @dsim_global(ptr %old_anywhere)
  %words = mul i64 %length, {ENTRY // _WORD}
{_each_word("copy", "get", "%words", _COPY, "copied")}
copied:
  store ptr %begin, ptr %log, align 8
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

_TAKE = f"""{_ROOM}
  %own_there = udiv i64 %own_room, %apart
  %own_fits = icmp sle i64 %size, %own_there
  %values_here = call ptr @dsim_global(ptr %own_top)
  %values = select i1 %own_fits, ptr %values_here, ptr null"""


def _apart(f: Function) -> str:
    at = f.let(f"getelementptr inbounds i8, ptr %own, i64 {_APART}")
    return f.let(f"load i64, ptr {at}, align 8")


HEAP = Heap(
    source="ptr %own",
    functions={
        "dsim_alloc": _ALLOC,
        "dsim_free": _FREE,
        "dsim_zero": _ZERO,
        "dsim_grow": _GROW,
        "dsim_discard": _DISCARD,
    },
    handed="ptr %own, ",
    take=_TAKE.strip(),
    on_stack=1024,
    stack=4096,
    entries=f"""%anywhere = load ptr, ptr %log, align 8
  %entries = call ptr @dsim_global(ptr %anywhere)
{_STEP}
  %pair = mul i64 %apart, 2""",
    entry="""%{at}_words = mul i64 %{number}, %pair
  %{at} = getelementptr inbounds i64, ptr %entries, i64 %{at}_words""",
    value="%{value} = getelementptr inbounds i64, ptr %{at}, i64 %apart",
    kept="""%{at}_words = mul i64 %{number}, %apart
  %{at} = getelementptr inbounds i64, ptr %values, i64 %{at}_words""",
    known=in_global_memory,
    apart=_apart,
    least=_WORD,
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
    """A thread's part of the pool, on its stack."""
    f.module.declare("dsim_global", GLOBAL)
    own = f.slot(PART)
    pool, used = global_address(f, slots.POOL), frame.read(f, slots.POOL_USED, "i64")
    left = f.let(f"sub i64 {frame.read(f, slots.POOL_SIZE, 'i64')}, {used}")
    each = f.let(f"and i64 {f.let(f'udiv i64 {left}, {threads}')}, {-UNIT}")
    begin = f.let(f"add i64 {used}, {f.let(f'mul i64 {thread}, {_WORD}')}")
    top = f.let(f"getelementptr inbounds i8, ptr {pool}, i64 {begin}")
    end = f.let(f"getelementptr inbounds i8, ptr {top}, i64 {f.let(f'mul i64 {each}, {threads}')}")
    for at, value in ((_TOP, f"ptr {top}"), (_END, f"ptr {end}"), (_LIMIT, f"ptr {end}")):
        f.do(f"store {value}, ptr {f.let(f'getelementptr inbounds i8, ptr {own}, i64 {at}')}, align 8")
    f.do(f"store i64 {threads}, ptr {f.let(f'getelementptr inbounds i8, ptr {own}, i64 {_APART}')}, align 8")
    return own
