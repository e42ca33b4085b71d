"""Undo logs: logs of (place, value) pairs in memory that grows, freed at the end of their function.

An undo log is four words on the stack: where its entries are, how many there are, for how many there is
room, and how many there were at the newest mark. Each function makes the undo logs in it once, so that a loop
which opens one in every trip uses the same room again. What they take is counted against the limit of private
buffers. Before a long one grows, what no mark stands between is put together (`log_compaction.py`).
"""

from __future__ import annotations

from dsim.backends.llvm.memory import log_compaction
from dsim.backends.llvm.memory.access import guarded
from dsim.backends.llvm.memory.log_compaction import ENTRIES, LENGTH, MARKED, ROOM
from dsim.backends.llvm.places import MemRef
from dsim.backends.llvm.text import PLAIN, STORED, WIDTH, Function
from dsim.backends.llvm.writer import Allocation, Writer
from dsim.ir.nodes import Append, Compact, LogMark, RollBack, UndoLog

_UNDO = f"""define void @dsim_undoBITS(PARAMSptr %log, ptr %base) {PLAIN} {{
entry:
  ENTRIES
  %length_at = getelementptr inbounds i64, ptr %log, i64 {LENGTH}
  %length = load i64, ptr %length_at, align 8
  br label %test
test:
  %n = phi i64 [ %length, %entry ], [ %last, %back ]
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %back, label %end
back:
  %last = sub i64 %n, 1
  ENTRY
  %offset = load i64, ptr %at, align 8
  VALUE
  %value = load iBITS, ptr %value_at, align WIDTH
  %target = getelementptr inbounds i8, ptr %base, i64 %offset
  store iBITS %value, ptr %target, align WIDTH
  br label %test
end:
  store i64 0, ptr %length_at, align 8
  ret void
}}"""


def _undo(w: Writer, s: UndoLog, slot: str) -> str:
    """The instruction that puts all that an undo log holds back into its field."""
    place = w.places.get(s.memory.key)
    if place is None or s.memory.private or w.dry:
        return ""
    bits = 8 * WIDTH[place.memory.type]
    text = _UNDO.replace("BITS", str(bits)).replace("WIDTH", str(bits // 8))
    heap = w.target.heap
    text = text.replace("ENTRIES", heap.entries).replace("ENTRY", heap.entry.format(at="at", number="last"))
    text = text.replace("VALUE", heap.value.format(at="at", value="value_at")).replace("PARAMS", heap.handed)
    name = w.f.module.share(f"dsim_undo{bits}", text)
    return f"call void @{name}({heap.handed}ptr {slot}, ptr {place.base})"


def hoist(w: Writer, found: list[UndoLog]) -> None:
    """Makes, at a function's start, the undo logs `found` in it."""
    if not found:
        return
    f = w.f
    heap = w.target.heap
    for name in ("dsim_grow", "dsim_discard"):
        f.module.share(name, heap.functions[name])
    for s in found:
        slot = f.slot("[4 x i64]")
        for word in (ENTRIES, LENGTH, ROOM, MARKED):
            f.do(f"store i64 0, ptr {_word(f, slot, word)}, align 8")
        w.logs[s.log.key] = slot
        w.held.append(
            Allocation(slot, f"call void @dsim_discard({heap.source}, ptr {slot})", _undo(w, s, slot))
        )
    for s in found:
        if s.beside is not None:
            w.beside.setdefault(s.beside.key, []).append(w.logs[s.log.key])


def _word(f: Function, slot: str, word: int) -> str:
    return f.let(f"getelementptr inbounds i64, ptr {slot}, i64 {word}")


def _read(f: Function, slot: str, word: int) -> str:
    return f.let(f"load i64, ptr {_word(f, slot, word)}, align 8")


def _write(f: Function, slot: str, word: int, value: str) -> None:
    f.do(f"store i64 {value}, ptr {_word(f, slot, word)}, align 8")


def _entry(w: Writer, slot: str, number: str) -> tuple[str, str]:
    """The addresses of entry `number`: of its place, and of its value."""
    f = w.f
    heap = w.target.heap
    entries = heap.known(f, f.let(f"load ptr, ptr {_word(f, slot, ENTRIES)}, align 8"))
    apart = heap.apart(f)
    if apart == 1:
        at = f.let(f"getelementptr inbounds [2 x i64], ptr {entries}, i64 {number}")
    else:
        words = w.times(w.times(number, 2), apart)
        at = f.let(f"getelementptr inbounds i64, ptr {entries}, i64 {words}")
    return at, f.let(f"getelementptr inbounds i64, ptr {at}, i64 {apart}")


def start(w: Writer, s: UndoLog) -> None:
    """A `UndoLog`: the one made at the function's start, empty."""
    for word in (LENGTH, MARKED):
        _write(w.f, w.logs[s.log.key], word, "0")


def record(w: Writer, s: Append) -> None:
    """A `Record`; skipped where a checked index is out of bounds, as the write that follows is."""
    place, slot = w.places[s.memory.key], w.logs[s.log.key]
    guarded(w, s, place, "", lambda at: _append(w, s, place, slot, at))


def _append(w: Writer, s: Append, place: MemRef, slot: str, address: str) -> None:
    f, stored = w.f, STORED[place.memory.type]
    before = _read(f, slot, LENGTH)
    grow, ready = f.label("grow"), f.label("ready")
    enough = f.let(f"icmp slt i64 {before}, {_read(f, slot, ROOM)}")
    full = f.block
    f.fork(enough, ready, grow, w.likely)
    f.open(grow)
    if not w.dry:
        done = log_compaction.loose(w, slot, place, _read(f, slot, ROOM), _read(f, slot, MARKED))
        _or_fault(w, s, done, slot)
    _or_fault(w, s, f.call("i1", "dsim_grow", w.target.heap.source, f"ptr {slot}"), slot)
    fewer, grown = _read(f, slot, LENGTH), f.block
    f.jump(ready)
    f.open(ready)
    length = f.phi("i64", [(before, full), (fewer, grown)])
    first, here = f.let(f"ptrtoint ptr {place.base} to i64"), f.let(f"ptrtoint ptr {address} to i64")
    at, kept = _entry(w, slot, length)
    f.do(f"store i64 {f.let(f'sub i64 {here}, {first}')}, ptr {at}, align 8")
    value = f.let(f"load {stored}, ptr {address}, align {WIDTH[place.memory.type]}")
    f.do(f"store {stored} {value}, ptr {kept}, align 8")
    _write(f, slot, LENGTH, f.let(f"add nsw i64 {length}, 1"))


def mark(w: Writer, s: LogMark) -> None:
    """A `Mark`."""
    slot = w.logs[s.log.key]
    w.env[s.var] = _read(w.f, slot, LENGTH)
    for each in (slot, *w.beside.get(s.log.key, ())):
        _write(w.f, each, MARKED, w.env[s.var])


def compact(w: Writer, s: Compact) -> None:
    """A `Forget`."""
    place, slot, mark = w.places[s.memory.key], w.logs[s.log.key], w.value(s.mark)
    if not w.dry:
        _or_fault(w, s, log_compaction.behind(w, slot, place, mark), slot)
    _write(w.f, slot, MARKED, mark)


def _or_fault(w: Writer, s: Append | Compact, done: str, slot: str) -> None:
    """Goes on where `done` holds; else memory is lacking."""
    f = w.f
    ready, lacking = f.label("ready"), f.label("lacking")
    f.fork(done, ready, lacking, w.likely)
    f.open(lacking)
    w.fault("memory", s, (_read(f, slot, LENGTH),))
    w.free_all()
    f.jump(w.leave)
    f.open(ready)


def roll_back(w: Writer, s: RollBack) -> None:
    """A `Rewind`."""
    f, place, slot = w.f, w.places[s.memory.key], w.logs[s.log.key]
    stored, width = STORED[place.memory.type], WIDTH[place.memory.type]
    down_to = w.value(s.mark)
    test, back, end = f.label("roll_back"), f.label("back"), f.label("rolled_back")
    f.jump(test)
    f.open(test)
    length = _read(f, slot, LENGTH)
    f.fork(f.let(f"icmp sgt i64 {length}, {down_to}"), back, end)
    f.open(back)
    last = f.let(f"sub nsw i64 {length}, 1")
    _write(f, slot, LENGTH, last)
    at, kept = _entry(w, slot, last)
    offset = f.let(f"load i64, ptr {at}, align 8")
    value = f.let(f"load {stored}, ptr {kept}, align 8")
    target = f.let(f"getelementptr inbounds i8, ptr {place.base}, i64 {offset}")
    if not (w.dry and not place.memory.private):
        f.do(f"store {stored} {value}, ptr {target}, align {width}")
    f.jump(test)
    f.open(end)
    _write(f, slot, MARKED, length)
