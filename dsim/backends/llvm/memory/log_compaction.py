"""Room in undo logs. They are compacted: of an element's entries between two marks only the oldest is kept.

The entries are gone through once, oldest first. An element met for the first time gets the number of its
entry written into it, by which it is known when it is met again; what stood there is put back at the end. So
there is no table, only room for as many values as there are entries.

Not its job: how undo logs are kept otherwise (`undo_logs.py`).
"""

from __future__ import annotations

from dsim.backends.llvm.places import MemRef
from dsim.backends.llvm.target import Heap
from dsim.backends.llvm.text import WIDTH
from dsim.backends.llvm.writer import Writer

ENTRIES, LENGTH, ROOM, MARKED = range(4)  # an undo log's words
ENTRY = 16  # bytes: the distance of the element from the memory's start, and the value
_SHORT = 1 << 12  # entries up to which an undo log just grows
_NEVER = 1 << 62


def doubled(first: int) -> str:
    """The head of a function that makes more room in an undo log, and says whether there was memory for it.

    It is done if half of the room is free. Else it goes on, to make room for ``%new`` entries: twice as many,
    `first` at first.
    """
    return f"""\
  %room_at = getelementptr inbounds i64, ptr %log, i64 {ROOM}
  %room = load i64, ptr %room_at, align 8
  %length_at = getelementptr inbounds i64, ptr %log, i64 {LENGTH}
  %length = load i64, ptr %length_at, align 8
  %used = mul i64 %length, 2
  %enough = icmp slt i64 %used, %room
  br i1 %enough, label %done, label %double
done:
  ret i1 true
double:
  %none = icmp eq i64 %room, 0
  %twice = mul i64 %room, 2
  %new = select i1 %none, i64 {first}, i64 %twice"""


def behind(w: Writer, log: str, place: MemRef, mark: str) -> str:
    """Appends what keeps, behind entry number `mark`, only the oldest entry of each element.

    Gives whether there was memory for that.
    """
    return _call(w, log, place, mark, "2")


def loose(w: Writer, log: str, place: MemRef, room: str, marked: str) -> str:
    """The same behind the newest mark, where that is half of a long undo log."""
    f = w.f
    long = f.let(f"icmp sgt i64 {room}, {_SHORT}")
    half = f.let(f"lshr i64 {room}, 1")
    least = f.let(f"select i1 {long}, i64 {half}, i64 {_NEVER}")
    return _call(w, log, place, marked, least)


def _call(w: Writer, log: str, place: MemRef, mark: str, least: str) -> str:
    bits = 8 * WIDTH[place.memory.type]
    name = w.f.module.share(f"dsim_compact{bits}", _text(bits, w.target.heap))
    return w.f.call(
        "i1", name, f"{w.target.heap.handed}ptr {log}", f"ptr {place.base}", f"i64 {mark}", f"i64 {least}"
    )


def _text(bits: int, heap: Heap) -> str:
    """The function for elements of so many bits; it does nothing for fewer than `least` entries.

    Numbers that do not fit into so many bits are not written.
    """
    t, width = f"i{bits}", bits // 8
    widened = f"zext {t} %now to i64" if bits < 64 else "add i64 %now, 0"
    number = f"trunc i64 %nth to {t}" if bits < 64 else "add i64 %nth, 0"
    most = 1 << min(bits, 62)

    def entry(at: str, number: str) -> str:
        return heap.entry.format(at=at, number=number)

    def value(name: str, at: str) -> str:
        return heap.value.format(value=name, at=at)

    def kept(at: str, number: str) -> str:
        return heap.kept.format(at=at, number=number, type=t)

    own = f"{heap.handed}ptr %log, ptr %base, i64 %mark, i64 %least"
    head = f"define i1 @dsim_compact{bits}({own}) nounwind noinline"
    return f"""{head} {{
entry:
  %length_at = getelementptr inbounds i64, ptr %log, i64 {LENGTH}
  %length = load i64, ptr %length_at, align 8
  {heap.entries}
  %count = sub i64 %length, %mark
  %several = icmp sge i64 %count, %least
  br i1 %several, label %room, label %done
room:
  %size = mul i64 %count, {max(width, heap.least)}
  {heap.take}
  %got = icmp ne ptr %values, null
  br i1 %got, label %test, label %lacking
test:
  %i = phi i64 [ %mark, %room ], [ %next, %after ]
  %kept = phi i64 [ %mark, %room ], [ %more, %after ]
  %inside = icmp slt i64 %i, %length
  br i1 %inside, label %entry_i, label %back
entry_i:
  {entry("from", "i")}
  %place = load i64, ptr %from, align 8
  {value("value_at", "from")}
  %value = load i64, ptr %value_at, align 8
  %element = getelementptr inbounds i8, ptr %base, i64 %place
  %now = load {t}, ptr %element, align {width}
  %number = {widened}
  %nth = sub i64 %kept, %mark
  %maybe = icmp ult i64 %number, %nth
  br i1 %maybe, label %look, label %new
look:
  %which = add i64 %mark, %number
  {entry("there", "which")}
  %its = load i64, ptr %there, align 8
  %same = icmp eq i64 %its, %place
  br i1 %same, label %after, label %new
new:
  {entry("to", "kept")}
  store i64 %place, ptr %to, align 8
  {value("to_value", "to")}
  store i64 %value, ptr %to_value, align 8
  {kept("now_at", "nth")}
  store {t} %now, ptr %now_at, align {width}
  %fits = icmp ult i64 %nth, {most}
  %short = {number}
  %name = select i1 %fits, {t} %short, {t} %now
  store {t} %name, ptr %element, align {width}
  %one_more = add i64 %kept, 1
  br label %after
after:
  %more = phi i64 [ %kept, %look ], [ %one_more, %new ]
  %next = add i64 %i, 1
  br label %test
back:
  %j = phi i64 [ %mark, %test ], [ %j_next, %put ]
  %left = icmp slt i64 %j, %kept
  br i1 %left, label %put, label %end
put:
  {entry("at", "j")}
  %at_place = load i64, ptr %at, align 8
  %nth_j = sub i64 %j, %mark
  {kept("was_at", "nth_j")}
  %was = load {t}, ptr %was_at, align {width}
  %target = getelementptr inbounds i8, ptr %base, i64 %at_place
  store {t} %was, ptr %target, align {width}
  %j_next = add i64 %j, 1
  br label %back
end:
  {heap.give_back}
  store i64 %kept, ptr %length_at, align 8
  br label %done
done:
  ret i1 true
lacking:
  ret i1 false
}}"""
