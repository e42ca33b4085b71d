"""A program as users write it, for a type checker alone: `make lint` checks it, and nothing runs it."""

import numpy as np

import dsim as ds

ds.init(default_fp=ds.f64)
N = 8
vec2 = ds.types.vector(2, ds.f64)
x = ds.Vector.field(2, dtype=ds.f64, shape=N, needs_grad=True)
m = ds.Matrix.field(2, 2, ds.f64, shape=(N, N))
U = ds.field(ds.f64, shape=(), needs_grad=True)
a = ds.ndarray(ds.f32, shape=(N,))


@ds.func
def distance(i: ds.i32, j: ds.i32) -> ds.f64:
    return (x[i] - x[j]).norm(1e-3)


@ds.kernel
def energy(scale: ds.f64, n: ds.i32, exact: ds.u1):
    for i, j in ds.ndrange(n, n):
        if i != j or exact:
            U[None] += -scale / distance(i, j)


@ds.kernel
def total(values: ds.types.ndarray(ds.f32, 1), factor: float) -> ds.f32:  # pyright: ignore[reportInvalidTypeForm]
    s = ds.f32(0)
    for i in range(values.shape[0]):
        s += ds.cast(values[i], ds.f32) * factor
    return s


@ds.data_oriented
class World:
    def __init__(self, n: int) -> None:
        self.n = n
        self.mass = ds.field(ds.f32, shape=n)

    @ds.kernel
    def weigh(self) -> ds.f32:
        s = 0.0
        for i in range(self.n):
            s += self.mass[i]
        return s


x.from_numpy(np.zeros((N, 2)))
with ds.Tape(loss=U) as tape:
    energy(1.0, N, False)
forces: np.ndarray = -x.grad.to_numpy()
first: float = U[None]
tape.backward()
result: float = total(a, 2.0) + World(3).weigh()
