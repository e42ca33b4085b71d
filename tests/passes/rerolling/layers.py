"""Random loops over the rows of matrices: sums of products in any order, and what spoils them."""

from __future__ import annotations

import random
from collections.abc import Callable

from dsim.ir.nodes import KernelIR
from dsim.ir.term import Term
from tests.building import Building


class Layer:
    """A kernel of one loop, the `seed`-th.

    Its numbers stay whole and small: products of three values at most, of numbers below 5.
    """

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.k = k = Building(f"layer_{seed}")
        rng = self.rng
        self.rows, self.columns = rng.choice([1, 3, 8, 17]), rng.choice([6, 8, 9, 20])
        self.first = rng.choice([0, 0, 2])
        shape = self.rows, self.columns + self.first
        self.w, self.gw, self.v = (k.field(n, *shape) for n in ("w", "gw", "v"))
        self.q, self.gq, self.y, self.b = (k.field(n, 32) for n in ("q", "gq", "y", "b"))
        self.p = k.param("p")
        with k.loop("i", 0, self.rows) as i:
            self.i = i.i
            self._body()
        self.kernel: KernelIR = k.kernel()

    def _some_columns(self) -> list[int]:
        columns = [j + self.first for j in range(self.columns)]
        spoil = self.rng.random()
        if spoil < 0.1:
            columns.remove(self.rng.choice(columns))
        elif spoil < 0.2:
            columns.append(self.rng.choice(columns))
        if self.rng.random() < 0.3:
            self.rng.shuffle(columns)
        return columns

    def _factor(self, j: int) -> Term:
        """Something that is the same in all trips, as a rule."""
        k = self.k
        made: list[Callable[[], Term]] = [
            lambda: k.load(self.q, j),
            lambda: k.load(self.q, j) * 2.0,
            lambda: k.load(self.q, j) - k.load(self.q, 0),
            lambda: self.p + 1.0,
            lambda: k.load(self.b, self.i) if self.rng.random() < 0.1 else k.load(self.q, 0),
        ]
        return self.rng.choice(made)()

    def _dot(self) -> Term:
        k, rng = self.k, self.rng
        matrix = self.v if rng.random() < 0.2 else self.w
        s = k.load(self.b, self.i) if rng.random() < 0.5 else k.load(matrix, self.i, self.first) * self.p
        for j in self._some_columns():
            element = k.load(self.v if rng.random() < 0.01 else matrix, self.i, j)
            product = self._factor(j) * element if rng.random() < 0.5 else element * self._factor(j)
            if rng.random() < 0.1:
                product = product * 2.0
            if rng.random() < 0.05:
                product = element
            turn = rng.random()
            s = s - product if turn < 0.2 else product + s if turn < 0.4 else s + product
        return s

    def _body(self) -> None:
        k, rng = self.k, self.rng
        values = [self._dot() for _ in range(rng.choice([1, 1, 2]))]
        for s in values:
            k.store(self.y, self.i, s * 2.0 + (s.op("max", 0.0) if rng.random() < 0.5 else s))
        bars = [*values, k.load(self.b, self.i), k.load(self.b, self.i) + 1.0]
        if rng.random() < 0.8:
            self._outer(bars)
        if rng.random() < 0.5:
            k.accumulate(self.b if rng.random() < 0.2 else self.gq, self.i, rng.choice(bars))

    def _outer(self, bars: list[Term]) -> None:
        """An adjoint: additions to all of a row, and of products with it to the inputs."""
        k, rng = self.k, self.rng
        z = rng.choice(bars)
        center = k.load(self.b, 0) * 0.0
        for j in self._some_columns():
            bar = z if rng.random() < 0.97 else rng.choice(bars)
            bar = bar * 2.0 if rng.random() < 0.3 else bar
            k.accumulate(self.gw, self.i, j, self._factor(j) * bar)
            back = k.load(self.w, self.i, j) * bar
            turn = rng.random()
            if turn < 0.2:
                center = center - back
            elif turn < 0.3:
                center = back + center
            k.accumulate(self.gq, j, back if turn < 0.9 else -back)
        k.accumulate(self.gq, 31, center)
