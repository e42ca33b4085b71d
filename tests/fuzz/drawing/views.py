"""Random programs whose kernels get arrays: fields, ndarrays, NumPy arrays, and views of one memory.

Two launches may get views that overlap. One launch seldom gets two of which one is written: that is refused.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.fuzz.drawing.expressions import Choosing
from tests.fuzz.drawing.program import (
    Action,
    BlockSpec,
    FieldSpec,
    Head,
    HostWrite,
    KernelSpec,
    Launch,
    written,
)
from tests.fuzz.rewriting.arguments import ArraySpec, Name

ARRAY = "ti.types.ndarray()"
LINES, PLANES = ("A0", "A1"), ("P0",)  # parameters with one axis, and with two


class NumbersSpec(FieldSpec):
    """A NumPy array of floats."""

    @property
    def is_array(self) -> bool:
        """It is one."""
        return True

    @property
    def is_part(self) -> bool:
        """Views of it are what launches name."""
        return True

    def text(self, name: str = "") -> str:
        """Its declaration."""
        return f"{name or self.name} = np.zeros({self.shape})"


def bases(rng: np.random.Generator, n: int, m: int) -> tuple[FieldSpec, ...]:
    """NumPy arrays that views are taken of."""
    shapes = {"line": (n + 2,), "long": (2 * n + 1,), "tall": (n, 2), "block": (m + 1, n), "turned": (n, m)}
    return tuple(
        NumbersSpec(name, shape, np.round(rng.uniform(-1, 1, shape), 2), needs_grad=False)
        for name, shape in shapes.items()
    )


def as_arrays(choosing: Choosing, fields: tuple[FieldSpec, ...]) -> tuple[FieldSpec, ...]:
    """The fields, some of them as ndarrays."""
    return tuple(
        ArraySpec(**vars(f)) if f.name != "loss" and not f.is_part and choosing.chance(40) else f
        for f in fields
    )


class Views(Choosing):
    """Chooses what launches get."""

    def __init__(self, choosing: Choosing, sizes: tuple[int, int], fields: tuple[FieldSpec, ...]) -> None:
        super().__init__(choosing.random)
        self.fields = fields
        n, m = sizes
        self.forms = {
            LINES: ("x", "y", f"line[0:{n}]", f"line[1:{n + 1}]", f"line[2:{n + 2}]", f"long[::2][:{n}]",
                f"long[1::2][:{n}]", "tall[:, 0]", "tall[:, 1]", f"block[{m}]", "block[0]", f"long[{n}:0:-1]",
                f"block.ravel()[1:{n + 1}]", f"turned[:, {m - 1}]", f"line[:{n}]"),
            PLANES: ("u", "block[1:]", "block[:-1]", f"block[:{m}]", "turned.T"),
        }  # fmt: skip
        self.memory = {f.name: np.arange(f.start.size).reshape(f.shape) for f in fields if not f.entry}

    def specs(self) -> tuple[FieldSpec, ...]:
        """The parameters, as what statements may read and write."""
        n, m = self.memory["x"].shape[0], self.memory["u"].shape[0]
        lines = tuple(FieldSpec(name, (n,), np.zeros(n)) for name in LINES)
        return (*lines, *(FieldSpec(name, (m, n), np.zeros((m, n))) for name in PLANES))

    def taking(self, kernel: KernelSpec) -> KernelSpec:
        """The kernel, with these parameters."""
        return replace(kernel, params=(*kernel.params, *((name, ARRAY) for name in (*LINES, *PLANES))))

    def launch(self, kernel: KernelSpec, launch: Launch) -> Launch:
        """The launch, with arrays."""
        changed = written((*LINES, *PLANES, "x", "y", "u"), kernel.text())
        while True:
            chosen = {name: self.pick(*forms) for names, forms in self.forms.items() for name in names}
            if not self.clash(chosen, changed) or self.chance(3):
                return replace(launch, args=(*launch.args, *map(Name, chosen.values())))

    def clash(self, chosen: dict[str, str], changed: set[str]) -> bool:
        """Whether two of the arrays overlap without being one, and one is written."""
        for name, form in chosen.items():
            for other, form_2 in chosen.items():
                if name < other and {name, other} & changed:
                    a, b = self.places(form), self.places(form_2)
                    if a != b and set(a) & set(b):
                        return True
        return False

    def places(self, form: str) -> list[tuple[str, int]]:
        """The numbers that it shows, in order."""
        base = form.split("[", maxsplit=1)[0].split(".", maxsplit=1)[0]
        return [(base, int(n)) for n in np.ravel(eval(form, {base: self.memory[base]}))]

    def host_write(self) -> Action:
        """Python writes into a NumPy array."""
        base = self.pick(*(f for f in self.fields if f.is_array))
        at = [self.some(0, size - 1) for size in base.shape]
        places = [str(a) for a in at]
        if self.chance(30):
            places[-1] = f"{at[-1]}:{base.shape[-1]}"
        return HostWrite(base.name, "{0}[" + f"{', '.join(places)}] = {self.some(-3, 4) * 0.25}")

    def measured(self, kernel: KernelSpec) -> KernelSpec:
        """What adds to the loss, with the NumPy arrays as parameters."""
        blocks, params = [], []
        for number, f in enumerate(f for f in self.fields if f.is_array):
            params.append((name := f"B{number}", ARRAY))
            names = ("i", "j")[: len(f.shape)]
            space = f"range({f.shape[0]})" if len(names) == 1 else f"ti.ndrange{f.shape}"
            head = Head(names, tuple((0, s) for s in f.shape), f"for {', '.join(names)} in {space}:")
            line = f"loss[None] += (0.4 - 0.15 * {' - 0.3 * '.join(names)}) * {name}[{', '.join(names)}]"
            blocks.append(BlockSpec((line,), head))
        return replace(kernel, params=tuple(params), blocks=(*kernel.blocks, *blocks))

    def measure(self) -> Launch:
        """The launch of that."""
        return Launch("measure", tuple(Name(f.name) for f in self.fields if f.is_array))
