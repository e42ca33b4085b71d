"""What a launch, its record and its adjoint cost beside their work."""

import dsim as ds
from tests.bench.cases.fields import Case, random, scalars


def launches(count: int = 1000) -> Case:
    """Kernels of one element: what a launch, its record and its adjoint cost."""
    x, last = scalars(count + 1), scalars()
    x[0] = 1.0

    @ds.kernel
    def step(t: ds.i32):
        for _ in range(1):
            x[t + 1] = x[t] * 1.0001

    @ds.kernel
    def measure():
        last[None] += x[count]

    def run() -> None:
        for t in range(count):
            step(t)
        measure()

    return run, last, x


def batches(count: int = 200, size: int = 64) -> Case:
    """Small launches that get their data as NumPy arrays, another one each time."""
    weights, misfit = ds.ndarray(float, size, needs_grad=True), ds.ndarray(float, (), needs_grad=True)
    data = random(count, size).astype(weights.to_numpy().dtype)

    @ds.kernel
    def fit(w: ds.types.ndarray(), row: ds.types.ndarray(), out: ds.types.ndarray()):
        for i in w:
            out[None] += (w[i] - row[i]) ** 2

    def run() -> None:
        for row in data:
            fit(weights, row, misfit)

    return run, misfit, weights
