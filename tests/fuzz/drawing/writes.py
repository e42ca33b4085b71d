"""Random writes by Python: elements, whole fields, vectors and matrices, single components, structs."""

from __future__ import annotations

import numpy as np

from tests.fuzz.drawing.expressions import Choosing
from tests.fuzz.drawing.program import Action, FieldSpec, HostWrite


class HostWrites(Choosing):
    """Draws what Python writes to `fields`."""

    def __init__(self, choosing: Choosing, fields: tuple[FieldSpec, ...]) -> None:
        super().__init__(choosing.random)
        self.fields = fields

    def simple(self) -> Action:
        """An element or a whole field of numbers."""
        which = self.pick(*(f for f in self.fields if not f.entry and not f.is_array and f.name != "loss"))
        kind = self.pick("put", "put", "fill", "array", "copy")
        if kind == "copy" and which.name in ("x", "y"):
            return HostWrite(which.name, "{0}.copy_from({1})", ("y" if which.name == "x" else "x",))
        if kind == "array":
            return self.array(which, "{0}")
        if kind == "fill":
            return HostWrite(which.name, "{0}.fill(" + f"{self.number(which)})")
        return HostWrite(which.name, "{0}[" + f"{self.at(which)}] = {self.number(which)}")

    def number(self, which: FieldSpec) -> float:
        """A number that the field may hold."""
        return self.some(0, 3) if which.integers else self.some(-3, 4) * 0.25

    def at(self, which: FieldSpec) -> str:
        """An index."""
        return ", ".join(str(self.some(0, n - 1)) for n in which.shape) or "None"

    def array(self, which: FieldSpec, target: str, *entry: int) -> Action:
        """Numbers for all elements."""
        shape = (*which.shape, *entry)
        values = np.array([self.number(which) for _ in range(int(np.prod(shape)))]).reshape(shape)
        dtype = {"i32": ", dtype=np.int32", "i64": ", dtype=np.int64", "f32": ", dtype=np.float32"}
        text = f"np.array({values.tolist()}{dtype.get(which.dtype, '')})"
        return HostWrite(which.name, f"{target}.from_numpy({text})")

    def any(self) -> Action:
        """Something, of entries too."""
        entries = [f for f in self.fields if f.entry]
        if not entries or self.chance(35):
            return self.other() if self.chance(35) else self.simple()
        which = self.pick(*entries)
        parts = ", ".join(str(self.some(0, size - 1)) for size in which.entry)
        kind = self.pick("entry", "element", "fill", "array", "component", "component", "component")
        if kind == "entry":
            return self.write(which, f"[{self.at(which)}][{parts}] = {self.number(which)}")
        if kind == "element":
            return self.write(which, f"[{self.at(which)}] = {self.numbers(which, which.entry)}")
        if kind == "fill":
            value = self.pick(self.number(which), self.numbers(which, which.entry))
            return self.write(which, f".fill({value})")
        if kind == "array":
            return self.array(which, "{0}", *which.entry)
        return self.component(which, f"{which.name}.get_scalar_field({parts})")

    def component(self, which: FieldSpec, name: str) -> Action:
        """One number of all elements, or of one."""
        kind = self.pick("put", "fill", "array", "copy", "taken")
        if kind == "array":
            return self.array(which, name)
        if kind == "copy":
            return HostWrite(which.name, f"{name}.copy_from({self.pick('x', 'y')})")
        if kind == "taken":
            target = self.pick("x", "y")
            return HostWrite(target, f"{target}.copy_from({name})")
        end = (
            f".fill({self.number(which)})" if kind == "fill" else f"[{self.at(which)}] = {self.number(which)}"
        )
        return HostWrite(which.name, f"{name}{end}")

    def numbers(self, which: FieldSpec, entry: tuple[int, ...]) -> list:
        """An element's numbers."""
        count = int(np.prod(entry))
        return np.array([self.number(which) for _ in range(count)]).reshape(entry).tolist()

    def other(self) -> Action:
        """A struct's member by the element, a whole struct, or the loss."""
        parts = [f for f in self.fields if f.is_part and not f.is_array]
        if not parts:
            return HostWrite("loss", "loss[None] = 0.25")
        which = self.pick(*parts)
        if self.chance(20):
            q, p = self.number(parts[1]), self.numbers(parts[0], (2,))
            return HostWrite(which.name, f"b[{self.at(which)}] = Ball(p={p}, q={q})")
        value = self.numbers(which, which.entry) if which.entry else self.number(which)
        element = which.element(self.at(which), True)
        return HostWrite(which.name, f"{element} = {value}")

    def write(self, which: FieldSpec, end: str) -> Action:
        """One that begins with the field's name."""
        return HostWrite(which.name, f"{which.name}{end}")
