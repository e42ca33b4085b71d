"""Private buffers: small ones on the stack, others from the target's heap, freed at the end of their block.

A buffer whose size is known when its function starts is made once there and zeroed each time its
`Alloc` runs. Where memory is lacking, that is a fault that names the buffer's line.
"""

from __future__ import annotations

from dsim.backends.llvm.memory import undo_logs
from dsim.backends.llvm.places import Length, MemRef, dense_strides
from dsim.backends.llvm.text import PLAIN, WIDTH, Function
from dsim.backends.llvm.writer import Allocation, Writer
from dsim.ir.nodes import Alloc, Atom, Block, Const, For, Memory, UndoLog, While
from dsim.ir.walk import blocks, statements

_LEAST = 16  # bytes, so that a clamped index into an empty buffer still reads something

_PRODUCT = f"""define i64 @dsim_product(i64 %a, i64 %b) {PLAIN} {{
entry:
  %x = sitofp i64 %a to double
  %y = sitofp i64 %b to double
  %size = fmul double %x, %y
  %huge = fcmp ogt double %size, 0x43C0000000000000
  %exact = mul i64 %a, %b
  %product = select i1 %huge, i64 {1 << 61}, i64 %exact
  ret i64 %product
}}"""


def _need_helpers(w: Writer) -> None:
    functions = w.target.heap.functions
    for name in ("dsim_alloc", "dsim_free", "dsim_zero"):
        if name in functions:
            w.f.module.share(name, functions[name])
    w.f.module.share("dsim_product", _PRODUCT)


def product(f: Function, a: Length, b: Length) -> Length:
    """The product of two lengths; 2^61 for all that are not much less, so that none wraps."""
    if isinstance(a, int) and isinstance(b, int):
        return min(a * b, 1 << 61)
    f.module.share("dsim_product", _PRODUCT)
    return f.call("i64", "dsim_product", f"i64 {a}", f"i64 {b}")


def _memset(f: Function, address: str, size: Length) -> None:
    name = f.module.declare("llvm.memset.p0.i64", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    f.do(f"call void @{name}(ptr align 8 {address}, i8 0, i64 {size}, i1 false)")


def _lengths(w: Writer, s: Alloc) -> tuple[Length, ...]:
    """The length of each axis, not below 0."""
    return tuple(_length(w, n) for n in (w.exact(a) for a in s.shape))


def _length(w: Writer, n: Length) -> Length:
    if isinstance(n, int):
        return max(n, 0)
    positive = w.f.let(f"icmp sgt i64 {n}, 0")
    return w.f.let(f"select i1 {positive}, i64 {n}, i64 0")


def _size(w: Writer, memory: Memory, shape: tuple[Length, ...], least: int = 1) -> Length:
    """The size in bytes, of elements of at least so many."""
    size: Length = max(WIDTH[memory.type], least)
    for n in sorted(shape, key=lambda n: isinstance(n, str)):
        if isinstance(n, int) and isinstance(size, int):
            size *= n
        else:
            _need_helpers(w)
            size = product(w.f, size, n)
    if isinstance(size, int):
        return max(size, _LEAST)
    enough = w.f.let(f"icmp sgt i64 {size}, {_LEAST}")
    return w.f.let(f"select i1 {enough}, i64 {size}, i64 {_LEAST}")


def place(w: Writer, s: Alloc, base: str) -> MemRef:
    """The place of a buffer at address `base`."""
    return _place(w, s.memory, base, _lengths(w, s))


def _place(w: Writer, memory: Memory, base: str, shape: tuple[Length, ...], apart: Length = 1) -> MemRef:
    """The place of a buffer; `apart` elements lie from one of it to the next."""
    strides: list[Length] = []
    distance = apart
    for n in reversed(shape):
        strides.append(distance)
        distance = w.times(distance, n) if len(strides) < len(shape) else distance
    dense = dense_strides(shape) if apart == 1 else None
    return MemRef(memory, base, shape, dense or tuple(reversed(strides)))


def allocate(w: Writer, s: Alloc) -> None:
    """An `Alloc`."""
    hoisted = s.memory.key in w.hoisted
    size = w.hoisted[s.memory.key] if hoisted else _make(w, s, zeroed=True)
    base, heap = w.places[s.memory.key].base, w.target.heap
    from_heap = any(base == h.address for h in w.held)
    if from_heap and hoisted and "dsim_zero" in heap.functions:
        w.f.do(f"call void @dsim_zero({heap.source}, ptr {base}, i64 {size})")
    elif hoisted or not from_heap:
        _memset(w.f, base, size)


def measure(w: Writer, s: Alloc) -> tuple[tuple[Length, ...], Length]:
    """The length of each axis of a buffer, and its size in bytes."""
    shape = _lengths(w, s)
    return shape, _size(w, s.memory, shape)


def _make(w: Writer, s: Alloc, *, zeroed: bool) -> Length:
    """Makes a buffer, from the heap with zeros in it if `zeroed`; its size in bytes."""
    shape, heap = _lengths(w, s), w.target.heap
    if all(isinstance(n, int) for n in shape):
        size = _size(w, s.memory, shape)
        if isinstance(size, int) and size <= heap.on_stack and w.stack + size <= heap.stack:
            w.stack += size
            base = w.f.slot(f"[{size} x i8]", 16)
            w.places[s.memory.key] = _place(w, s.memory, base, shape)
            return size
    size = _size(w, s.memory, shape, heap.least)
    base = _from_heap(w, s, size, shape, zeroed)
    apart = w.times(heap.apart(w.f), -(-heap.least // WIDTH[s.memory.type]))
    w.places[s.memory.key] = _place(w, s.memory, base, shape, apart)
    return size


def _from_heap(w: Writer, s: Alloc, size: Length, shape: tuple[Length, ...], zeroed: bool) -> str:
    _need_helpers(w)
    f, heap = w.f, w.target.heap
    spare = "null" if isinstance(size, int) or not heap.spare else f.slot(f"[{heap.spare} x i8]", 16)
    base = f.call(
        "noalias ptr", "dsim_alloc", heap.source, f"ptr {spare}", f"i64 {size}", f"i1 {int(zeroed)}"
    )
    got = f.let(f"icmp ne ptr {base}, null")
    good, bad = f.label("made"), f.label("lacking")
    f.fork(got, good, bad, w.likely)
    f.open(bad)
    w.fault("memory", s, shape)
    w.free_all()
    f.jump(w.leave)
    f.open(good)
    base = heap.known(f, base)
    w.held.append(Allocation(base, f"call void @dsim_free({heap.source}, ptr {base}, i64 {size})"))
    return base


def hoist(w: Writer, block: Block) -> None:
    """Makes the undo logs in `block`, and the buffers of loops in it whose sizes are known already."""
    undo_logs.hoist(w, [s for s in statements(block) if isinstance(s, UndoLog)])
    for s in block.statements:
        for inner in blocks(s):
            _hoist(w, inner, isinstance(s, For | While))


def _hoist(w: Writer, block: Block, looped: bool) -> None:
    for s in block.statements:
        if looped and isinstance(s, Alloc) and all(_known(w, a) for a in s.shape):
            w.hoisted[s.memory.key] = str(_make(w, s, zeroed=False))
        for inner in blocks(s):
            _hoist(w, inner, looped or isinstance(s, For | While))


def _known(w: Writer, a: Atom) -> bool:
    return isinstance(a, Const) or a in w.env
