"""Struct types for tests of struct fields."""

import dsim as ti

Spin = ti.types.struct(axis=ti.math.vec2, rate=ti.f64)


@ti.dataclass
class Ball:
    pos: ti.math.vec2
    mass: ti.f64
    hits: ti.i32
    spin: Spin

    @ti.func
    def push(self, by):
        self.pos += by
        self.hits += 1

    @ti.func
    def energy(self):
        return 0.5 * self.mass * self.pos.norm_sqr()
