"""A struct type with methods, for tests, and the messages about kernels that misuse it."""

import pytest

from dsim.diagnostics import CompilationError
from dsim.frontend import lower
from tests.frontend.dialect import DOUBLE, ti

vec2 = ti.math.vec2
Spin = ti.types.struct(axis=vec2, rate=ti.f64)


@ti.dataclass
class Ball:
    pos: vec2
    mass: ti.f64
    hits: ti.i32
    spin: Spin

    @ti.func
    def energy(self, g):
        return self.mass * g * self.pos.y

    @ti.func
    def push(self, by):
        self.pos += by
        self.hits += 1

    @ti.func
    def bounce(self, floor):
        if self.pos.y > floor:
            return 0.0
        self.pos.y = 2.0 * floor - self.pos.y
        self.push([1.0, 0.0])
        return 1.0

    @ti.func
    def replace(self, mass):
        self = Ball(mass=mass)  # noqa: PLW0642


def said(function) -> tuple[str, str, str]:
    """The text that an error points to, its message and its help."""
    with pytest.raises(CompilationError) as caught:
        lower(function, DOUBLE)
    (d,) = caught.value.diagnostics
    assert d.span is not None
    return d.span.text, d.message, d.help
