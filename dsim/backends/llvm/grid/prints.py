"""Printing on a device: rows in a buffer, which are read after the launch.

A row is a word with the number of the statement plus 1, and in its upper half how many values follow, then
these values. Where a row does not fit any more, all that come later are only counted, as `PRINT_LOST`: a word
0 stands behind the last one that fits, unless that fills the buffer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dsim.backends.llvm.grid import slots
from dsim.backends.llvm.grid.device import GLOBAL
from dsim.backends.llvm.text import Function

_COUNT = 32  # from which bit on a row's first word counts its values


def write(f: Function, which: int, values: list[str]) -> None:
    """Prints by statement number `which`."""
    f.module.declare("dsim_global", GLOBAL)
    name = f.module.share(f"dsim_print_{len(values)}", _text(len(values)))
    args = "".join(f", i64 {v}" for v in values)
    f.do(f"call void @{name}(ptr %frame, i64 {which}{args})")


def rows(buffer: Sequence[int], used: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The numbers of statements, and their values as 64 bits, in the words of a print buffer.

    Examples
    --------
    >>> list(rows([1 + (2 << 32), 7, 8, 2, 0, 5], used=9))
    [(0, (7, 8)), (1, ())]
    """
    at, end = 0, min(used, len(buffer))
    while at < end and buffer[at]:
        count, number = divmod(buffer[at], 1 << _COUNT)
        yield number - 1, tuple(buffer[at + 1 : at + 1 + count])
        at += 1 + count


def _text(count: int) -> str:
    """The function that writes a row of so many values."""
    params = "".join(f", i64 %v{i}" for i in range(count))

    def slot(name: str, which: int) -> str:
        return f"%{name} = getelementptr inbounds i8, ptr %frame, i64 {which * 8}"

    lines = [
        f"define void @dsim_print_{count}(ptr %frame, i64 %which{params}) cold nounwind {{",
        "entry:",
        slot("used_at", slots.PRINT_USED),
        slot("words_at", slots.PRINT_WORDS),
        slot("prints_at", slots.PRINTS),
        "%anywhere = load ptr, ptr %prints_at, align 8",
        "%prints = call ptr @dsim_global(ptr %anywhere)",
        f"%at = atomicrmw add ptr %used_at, i64 {count + 1} monotonic",
        "%room = load i64, ptr %words_at, align 8",
        f"%end = add i64 %at, {count + 1}",
        "%row = getelementptr inbounds i64, ptr %prints, i64 %at",
        "%fits = icmp sle i64 %end, %room",
        "br i1 %fits, label %put, label %full",
        "put:",
        f"%head = add i64 %which, {(count << _COUNT) + 1}",
        "store i64 %head, ptr %row, align 8",
    ]
    for i in range(count):
        lines.append(f"%at{i} = getelementptr inbounds i64, ptr %row, i64 {i + 1}")
        lines.append(f"store i64 %v{i}, ptr %at{i}, align 8")
    lines += [
        "ret void",
        "full:",
        slot("lost_at", slots.PRINT_LOST),
        "%lost = atomicrmw add ptr %lost_at, i64 1 monotonic",
        "%edge = icmp slt i64 %at, %room",
        "br i1 %edge, label %close, label %leave",
        "close:",
        "store i64 0, ptr %row, align 8",
        "br label %leave",
        "leave:",
        "ret void",
        "}",
    ]
    return "\n".join(lines)
