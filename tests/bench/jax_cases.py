"""Two of the cases for JAX, as its users write them: whole arrays, `scan` over time, one compiled function.

``python jax_cases.py shallow_water`` prints times as JSON. It runs in the environment of the peers, without
dsim.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

import numpy as np

jax: Any = importlib.import_module("jax")
jnp: Any = importlib.import_module("jax.numpy")


def bump(n: int) -> np.ndarray:
    return np.exp(-(((np.indices((n, n)) - n / 2) / 8) ** 2).sum(0)).astype(np.float32)


def shallow_water(n: int = 128, steps: int = 200) -> tuple[Any, Any]:
    """Three arrays, padded at each step, and steps computed again on the way back: of the forms tried
    (`roll` or `pad`, one array or three, with `checkpoint` or without) the one with the fastest gradient."""

    def wrapped(a: Any) -> Any:
        return jnp.pad(a, 1, mode="wrap")

    def around(a: Any) -> Any:
        return a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]

    def along_x(a: Any) -> Any:
        return a[2:, 1:-1] - a[:-2, 1:-1]

    def along_y(a: Any) -> Any:
        return a[1:-1, 2:] - a[1:-1, :-2]

    @jax.checkpoint
    def step(state: Any, _: Any) -> tuple[Any, None]:
        h, p, q = map(wrapped, state)
        pressure, both = 0.5 * h * h, p * q / h
        new_h = 0.25 * around(h) - 0.05 * (along_x(p) + along_y(q))
        new_p = 0.25 * around(p) - 0.05 * (along_x(p * p / h + pressure) + along_y(both))
        new_q = 0.25 * around(q) - 0.05 * (along_x(both) + along_y(q * q / h + pressure))
        return (new_h, new_p, new_q), None

    def loss(state: Any) -> Any:
        return ((jax.lax.scan(step, state, None, length=steps)[0][0] - 1) ** 2).sum()

    still = jnp.zeros((n, n))
    return loss, (jnp.asarray(1 + 0.1 * bump(n)), still, still)


def fluid(n: int = 128, steps: int = 10, sweeps: int = 20) -> tuple[Any, Any]:
    at = jnp.stack(jnp.meshgrid(jnp.arange(n), jnp.arange(n), indexing="ij"))

    def around(p: Any) -> Any:
        return jnp.roll(p, 1, 0) + jnp.roll(p, -1, 0) + jnp.roll(p, 1, 1) + jnp.roll(p, -1, 1)

    def slope(p: Any, axis: int) -> Any:
        return 0.5 * (jnp.roll(p, -1, axis) - jnp.roll(p, 1, axis))

    def step(v: Any, _: Any) -> tuple[Any, None]:
        back = at - v
        low = jnp.floor(back)
        f = back - low
        a, b = (low.astype(jnp.int32) + n) % n
        c, d = (a + 1) % n, (b + 1) % n
        left = (1 - f[1]) * v[:, a, b] + f[1] * v[:, a, d]
        right = (1 - f[1]) * v[:, c, b] + f[1] * v[:, c, d]
        w = (1 - f[0]) * left + f[0] * right
        div = slope(w[0], 0) + slope(w[1], 1)
        p = jax.lax.scan(
            lambda p, _: (0.25 * (around(p) - div), None), jnp.zeros((n, n)), None, length=sweeps
        )[0]
        return w - jnp.stack([slope(p, 0), slope(p, 1)]), None

    def loss(v: Any) -> Any:
        last = jax.lax.scan(step, v, None, length=steps)[0]
        return ((last - v.transpose(0, 2, 1)) ** 2).sum() / n**2

    angle = 2 * np.pi * np.indices((n, n)) / n
    start = np.stack([np.sin(angle[1]), np.sin(2 * angle[0])])
    noise = np.random.default_rng(0).random((n, n, 2))
    return loss, jnp.asarray(start + 0.1 * np.moveaxis(noise, -1, 0), jnp.float32)


def main(name: str) -> None:
    loss, x = globals()[name]()
    gradient, primal = jax.jit(jax.value_and_grad(loss)), jax.jit(loss)
    began = time.perf_counter()
    value, _ = jax.block_until_ready(gradient(x))
    first = time.perf_counter() - began
    primal(x).block_until_ready()
    times = {}
    for key, f in (("gradient", gradient), ("forward", primal)):
        found: list[float] = []
        began = time.perf_counter()
        while len(found) < 3 or time.perf_counter() - began < 1:
            t = time.perf_counter()
            jax.block_until_ready(f(x))
            found.append(time.perf_counter() - t)
        times[key] = min(found)
    print(json.dumps({"first": first, "loss": float(value), **times}))


if __name__ == "__main__":
    main(sys.argv[1])
